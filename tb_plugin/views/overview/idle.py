"""Idle time in the Overview: longest gaps, flame graph, critical path."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from ...analysis.facts import Facts, Gap
from ...analysis.findings import Reference, at_time
from ...analysis.idle.model import IDLE, PATH_KINDS, IdleColumns, PathNames, PathParts
from ...analysis.steps import GapSeen, Selection, select
from ...analysis.wording import CAUSE_NAMES, as_recorded, device_name, short_frame
from ...base.group_sums import group_sums
from ...base.units import duration, plural, share
from ..legend import PARTITION, path_kind
from ..shared import DeviceName, Flame, Steps, device_row, flame_of, option
from ..table import Column, column, heads
from ..view import Part, Subject
from .document import AdvicePath, plain

_CATEGORY = {part.key: part.category for part in PARTITION}


def _has_steps(noun: str) -> bool:
    return noun != "recording"


class IdleGap(Struct, frozen=True):
    """One of the longest stretches in which the chosen device was idle."""

    step: Annotated[
        str,
        column(
            "Step", "The number of the step in which it lies.", is_sortable=True, when=_has_steps
        ),
    ]
    dur_ns: Annotated[int, column("Length", "Time without device work.")]
    cause: Annotated[  # "Python code"
        str,
        column(
            "Cause",
            "Cause of most of the gap; the rest has other causes.",
            kind="words",
            is_sortable=True,
        ),
    ]
    cause_ns: Annotated[int, column("Of it", "The part of the gap that has this cause.")]
    held: Annotated[  # "" unknown
        str,
        column(
            "Held by",
            "The event that held the device longest in the gap.",
            kind="name",
            is_sortable=True,
        ),
    ]
    held_ns: Annotated[int, column("For", "Time as the innermost open event, in the gap.")]
    op: Annotated[  # "" none
        str, column("In op", "The op around that event.", kind="name", is_minor=True)
    ]
    frame: Annotated[  # "" none
        str,
        column(
            "At",
            "The innermost line of your code around it, else of any code; needs recorded stacks.",
            kind="name",
            is_sortable=True,
        ),
    ]
    following: Annotated[  # "" where none follows
        str, column("Then", "The work that ended the gap.", kind="name", is_sortable=True)
    ]
    start_ns: Annotated[int, column("Begins (ns)", "From the start of the trace.", is_minor=True)]
    category: str  # colour of that cause
    link: Reference  # into the Trace view


class IdleFigure(Struct, frozen=True):
    """A figure about the chosen device and its launches, with its meaning."""

    label: Annotated[str, column("What", "The counted or measured quantity.")]
    value: Annotated[str, column("Value", "Its figure, with the unit.", kind="words")]
    help: Annotated[str, column("Meaning", "What it means.", kind="text")]


class IdleQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The chosen steps and device, and a part of the flame graph."""

    steps: Annotated[str, option("as in the Overview")] = ""
    device: Annotated[DeviceName, option("", "the busiest")] = ""
    min_ratio: Annotated[float, Meta(ge=0, le=1), option('narrower boxes are in "…"')] = 0.001
    focus: Annotated[int | None, option("the box to show by itself", "all")] = None


class PathQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The chosen steps, and whether inferred dependencies count."""

    steps: Steps = ""
    inferred: Annotated[bool, option("follow dependencies that are only inferred, too")] = True


class PathShare(Struct, frozen=True):
    """All parts of the critical paths of the chosen steps that are of one kind."""

    kind: str
    label: str
    category: str
    ghost: bool  # no work: the device waits
    ns: int
    ratio: float
    certain_ratio: float | None  # without inferred dependencies; None where none was inferred


class PathRow(Struct, frozen=True):
    """All parts of one kind and name."""

    kind: str
    label: Annotated[
        str,
        column(
            "Kind",
            "Type of the part: ops, kernels, launches, waiting.",
            is_sortable=True,
        ),
    ]
    name: Annotated[
        str, column("Name", "The event of which it is a part.", kind="name", is_sortable=True)
    ]
    ns: Annotated[
        int,
        column(
            "On the path",
            "Its parts of the longest chain, added up. All rows sum to the steps.",
        ),
    ]
    ratio: Annotated[float, column("Share", "Of the length of the chosen steps.")]
    count: Annotated[int, column("Parts", "Number of its pieces in the chain.")]
    slack_ns: Annotated[  # the most of its parts
        int | None,
        column(
            "Slack",
            "Greatest possible saving on a part of it, before another chain becomes longer.",
        ),
    ]
    longest_ns: Annotated[
        int, column("Longest", "The longest of these pieces; leads to it in Trace.")
    ]
    link: Reference


class CriticalPathAnswer(Struct, frozen=True):
    """The critical path of the chosen steps: by kind, and by name, the largest first."""

    total_ns: int  # the chosen steps without start-up: the parts sum to it
    shares: tuple[PathShare, ...]
    columns: tuple[Column, ...]
    rows: tuple[PathRow, ...]
    more: int  # rows beyond those
    inferred: int  # dependencies that are inferred
    note: str  # where the inferred ones decide the answer; "" = they do not


_MOST_ROWS = 100
_NAMES = 3
_LEAST_OF_PATH = 0.01
_DIFFERENT = 0.10


def gaps_of(selection: Selection) -> tuple[IdleGap, ...]:
    """The longest idle stretches of the chosen steps, the longest first; without kernels none."""
    if "kernels" in selection.facts.unavailable:
        return ()
    return tuple(_gap(selection, one) for one in selection.gaps)


def _gap(selection: Selection, seen: GapSeen) -> IdleGap:
    gap: Gap = seen.gap
    label = CAUSE_NAMES[seen.cause]
    return IdleGap(
        step=str(selection.facts.steps[seen.step].number),
        start_ns=gap.ts,
        dur_ns=gap.dur_ns,
        cause=label[0].upper() + label[1:],
        category=_CATEGORY[seen.cause],
        cause_ns=gap.cause_ns,
        held=seen.held.name if seen.held else "",
        held_ns=gap.held_ns,
        op=seen.place.op if seen.place else "",
        frame=short_frame(seen.place.frame) if seen.place else "",
        following=seen.following,
        link=at_time("This gap in the trace", gap.ts, gap.dur_ns),
    )


def figures_of(selection: Selection) -> tuple[IdleFigure, ...]:
    """Learned figures of the device: latency, and quality of launches, copies and collectives."""
    device = selection.device_facts
    if device is None:
        return ()
    found: list[IdleFigure] = []
    learned = device.learned
    for label, ns, samples, what in (
        ("Launch latency", learned.latency_ns, learned.latency_samples,
         "From a launch's return to its work on an empty device."),
        ("Kernel gap", learned.gap_ns, learned.gap_samples,
         "Between two queued neighbours of one stream."),
    ):  # fmt: skip
        told = f"90th percentile of {plural(samples, 'sample')}" if samples else "a usual value"
        found.append(
            IdleFigure(
                label, duration(ns), f"{what} Up to this, a gap is the device's own: {told}."
            )
        )
    if device.lead_ns is not None:
        _, middle, _ = device.lead_ns
        low, _, high = (duration(max(ns, 0)) for ns in device.lead_ns)
        found.append(
            IdleFigure(
                "Run-ahead",
                duration(max(middle, 0)),
                "From a launch's return to its work's begin, median "
                f"(10th percentile {low}, 90th {high}). Near the launch latency, the host "
                "cannot keep ahead.",
            )
        )
    calls = selection.launches
    if calls.count:
        found.append(
            IdleFigure(
                "Launches that outlast their kernel",
                share(calls.short_count / calls.count),
                f"{plural(calls.short_count, 'kernel')} below 10 µs ran shorter than the call that "
                f"launched them; these calls took {duration(calls.short_ns)}.",
            )
        )
        if calls.slow_count:
            found.append(
                IdleFigure(
                    "Slow launches",
                    f"{calls.slow_count:,}",
                    "Calls above 50 µs and ten times the median of their name; they took "
                    f"{duration(calls.slow_ns)}.",
                )
            )
    told_of = selection.communication
    if told_of.exposed_ns:
        found.append(
            IdleFigure(
                "Blocking communication",
                duration(selection.mean(told_of.blocking_ns)),
                "Per step, of exposed communication: the next kernel was launched, or the host "
                "waited for the collective. During "
                f"{duration(selection.mean(told_of.host_limited_ns))} the host had not launched it "
                f"yet; of {duration(selection.mean(told_of.unknown_ns))} it is not known.",
            )
        )
    for copy in selection.copies:
        rate = f", {copy.bytes / copy.ns:.3g} GB/s" if copy.bytes and copy.ns else ""
        memory = f", {copy.memory}" if copy.memory else ""
        found.append(
            IdleFigure(
                f"Copies {copy.kind or 'of unknown direction'}{memory}",
                duration(selection.mean(copy.exposed_ns)),
                "Per step, exposed: nothing computes meanwhile. "
                f"{plural(copy.count, 'copy', 'copies')} took {duration(copy.ns)} in all{rate}; "
                f"{copy.small_count:,} below 64 KiB.",
            )
        )
    return tuple(replace(one, help=as_recorded(one.help, selection.facts)) for one in found)


def flame(subject: Subject, query: IdleQuery) -> Flame:
    """Holders of the idle device, by call path.

    Raises:
        QueryError: there are no such steps, device or box.
    """
    selection = select(subject.facts, query.steps, device_row(subject.facts, query.device))
    if selection.device is None:
        return Flame("ns", 0, (), 0, "No device activity was recorded, so no device was idle.")
    if why := subject.facts.unavailable.get("kernels"):
        return Flame("ns", 0, (), 0, f"Idle time is not known. {why}")
    columns: IdleColumns = subject.other_artifact(IDLE)
    tree = columns.flame(selection.indexes, selection.device)
    name = device_name(subject.facts.devices[selection.device])
    missing = "" if len(tree) else f"{name} was not idle in these steps."
    return flame_of(tree, "ns", query.min_ratio, query.focus, missing)


def path(subject: Subject, query: PathQuery) -> CriticalPathAnswer:
    """The critical path of the chosen steps as tables.

    Raises:
        QueryError: there are no such steps.
    """
    selection = select(subject.facts, query.steps)
    columns: IdleColumns = subject.other_artifact(IDLE)
    parts, names = columns.path, columns.path_names
    certain = columns.certain
    if not query.inferred and columns.inferred_count:
        parts, names = columns.certain, columns.certain_names
    some = _judged(parts, selection)
    total = int((parts.end - parts.start)[some].sum())
    shares = _by_kind(parts, some)
    others = None
    if columns.inferred_count:
        others = _by_kind(certain, _judged(certain, selection))
    listed = tuple(
        PathShare(
            kind=kind,
            label=(told := path_kind(kind, subject.facts)).label,
            category=told.category,
            ghost=told.ghost,
            ns=ns,
            ratio=ns / total if total else 0.0,
            certain_ratio=None if others is None else others.get(kind, 0) / max(total, 1),
        )
        for kind, ns in sorted(shares.items(), key=lambda one: -one[1])
    )
    rows = _by_name(columns, parts, names, some, total, subject.facts)
    return CriticalPathAnswer(
        total_ns=total,
        shares=listed,
        columns=heads(PathRow),
        rows=tuple(rows[:_MOST_ROWS]),
        more=max(0, len(rows) - _MOST_ROWS),
        inferred=columns.inferred_count,
        note=_without_kernels(subject.facts) or _note(listed, columns.inferred_count),
    )


def path_by_kind(subject: Subject, steps: str) -> tuple[AdvicePath, ...]:
    """The critical path by kind, with the names that are most of each.

    Raises:
        QueryError: there are no such steps.
    """
    found = path(subject, PathQuery(steps))
    count = max(select(subject.facts, steps).count, 1)
    names: dict[str, list[str]] = {}
    for row in found.rows:
        names.setdefault(row.kind, []).append(plain(row.name))
    return tuple(
        AdvicePath(one.label, one.ns / count, one.ratio, tuple(names.get(one.kind, ())[:_NAMES]))
        for one in found.shares
        if one.ratio >= _LEAST_OF_PATH
    )


def _without_kernels(facts: Facts) -> str:
    why = facts.unavailable.get("kernels")
    return f"The path leads past the kernels, which are not known. {why}" if why else ""


def _note(shares: tuple[PathShare, ...], inferred: int) -> str:
    moved = [
        one for one in shares
        if one.certain_ratio is not None and abs(one.ratio - one.certain_ratio) > _DIFFERENT
    ]  # fmt: skip
    if not moved:
        return ""
    worst = max(moved, key=lambda one: abs(one.ratio - (one.certain_ratio or 0.0)))
    return (
        f"{plural(inferred, 'dependency', 'dependencies')} between streams are inferred, and "
        f"decide: without them {worst.label} takes {share(worst.certain_ratio or 0.0)} of the "
        f"path, not {share(worst.ratio)}."
    )


def _judged(parts: PathParts, selection: Selection) -> np.ndarray:
    """The parts in the chosen steps, without start-up."""
    is_start = parts.kind == PATH_KINDS.index("start_up")
    return np.flatnonzero(np.isin(parts.step, selection.indexes) & ~is_start)


def _by_kind(parts: PathParts, some: np.ndarray) -> dict[str, int]:
    sums = group_sums(
        parts.kind[some].astype(np.int32), (parts.end - parts.start)[some], len(PATH_KINDS)
    ).total.tolist()
    return {PATH_KINDS[at]: int(ns) for at, ns in enumerate(sums) if ns}


def _by_name(
    columns: IdleColumns,
    parts: PathParts,
    names: PathNames,
    some: np.ndarray,
    total: int,
    facts: Facts,
) -> list[PathRow]:
    length = (parts.end - parts.start)[some]
    label = names.name[some].astype(np.int64) + 1
    key = label * len(PATH_KINDS) + parts.kind[some]
    order = np.lexsort((-length, key))
    head = np.flatnonzero(np.diff(key[order], prepend=-1))
    if not len(head):
        return []
    sums = np.add.reduceat(length[order], head)
    counts = np.diff(np.append(head, len(order)))
    slack = np.maximum.reduceat(parts.slack[some][order], head)
    found = []
    for at in np.argsort(-sums, kind="stable").tolist():
        top = some[order[head[at]]]
        kind = PATH_KINDS[int(parts.kind[top])]
        code = int(names.name[top])
        start, longest = int(parts.start[top]), int(parts.end[top] - parts.start[top])
        found.append(
            PathRow(
                kind=kind,
                label=path_kind(kind, facts).label,
                name=columns.strings[code] if code >= 0 else "(nothing recorded)",
                ns=int(sums[at]),
                ratio=int(sums[at]) / total if total else 0.0,
                count=int(counts[at]),
                longest_ns=longest,
                slack_ns=int(slack[at]) if slack[at] >= 0 else None,
                link=_on_the_path(start, longest, int(names.slice[top])),
            )
        )
    return found


def _on_the_path(ts: int, dur_ns: int, number: int) -> Reference:
    """A link to a part in the Trace view, with the path shown and its slice selected."""
    link = at_time("The longest of it in the trace", ts, dur_ns)
    select = {"select": str(number)} if number >= 0 else {}
    return Reference(link.text, link.view, {**link.params, **select, "path": "1"})


PARTS = (
    Part("idle", IdleQuery, Flame, flame),
    Part("path", PathQuery, CriticalPathAnswer, path),
)
