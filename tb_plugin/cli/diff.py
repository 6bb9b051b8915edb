"""``kinetoscope diff BASE OTHER``: what changed between two recordings, and is it real?"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

import click
import msgspec

from ..base.errors import UnavailableError
from ..base.regex import regex
from ..base.units import NBSP, count, duration, flops, share, size
from ..session.recordings import start_of
from ..session.session import ChosenTrace, FileSession, Wanted, choose
from ..views.diff.contract import (
    Diff,
    DiffCount,
    DiffGroup,
    DiffQuery,
    DiffRow,
    DiffTable,
    DiffTableQuery,
)
from ..views.diff.rows import Pair, Recorded
from ..views.diff.view import VIEW
from ..views.origins import lending
from ..views.table import Table, table_from
from ..views.view import TracePlace
from .entry import FORMAT, PATH, START_HELP, as_json, printable, say, write
from .render import (
    TableLayout,
    escaped,
    markdown_table,
    print_tables,
    progress_bar,
    width_of,
    wrapped,
    write_csv,
)

F = TypeVar("F", bound=Callable[..., Any])
ROWS = 15
BASELINE = "baseline"
"""Worker of the recordings that ``check --keep`` keeps: each belongs to another start."""
_GROUPS: tuple[DiffGroup, ...] = ("operators", "kernels", "modules", "memory")
_TITLES = {
    "operators": "Operators",
    "kernels": "Kernels",
    "modules": "Modules",
    "memory": "Allocation sites",
}


def choosing(command: F) -> F:
    """Gives a command what chooses a trace, and steps of it, of OTHER and of BASE."""
    for prefix, of in (("base-", "BASE"), ("", "OTHER")):
        for name, said in (
            ("steps", f"Steps of {of} by their numbers.  [default: all usual]"),
            ("span", f"Span of {of}: 1, 2, … in time order.  [default: the last]"),
            ("worker", f"Worker of {of}.  [default: {_DEFAULT_WORKER[of]}]"),
            ("start", START_HELP.replace("of the run", f"of the run of {of}")),
            ("run", f"Run of {of}: the folder of the trace, below it.  [default: the newest]"),
        ):
            kind = int if name == "start" else str
            command = click.option(f"--{prefix}{name}", type=kind, help=said)(command)
    return command


_DEFAULT_WORKER = {
    "BASE": "that of the same name, else of the same rank",
    "OTHER": "the first",
}


class DiffReport(msgspec.Struct, frozen=True):
    """Output of ``--format json``."""

    diff: Diff
    tables: tuple[DiffTable, ...]


@click.command()
@click.argument("base", metavar="BASE", type=PATH)
@click.argument("other", metavar="OTHER", type=PATH)
@click.option("--format", "form", **FORMAT)
@choosing
@click.option(
    "--limit", type=click.IntRange(min=1), default=ROWS, show_default=True, help="Rows of a table."
)
@click.option(
    "--budget",
    type=click.FloatRange(0, 10),
    default=0.02,
    show_default=True,
    help="A change of the step below this share is none.",
)
@click.option(
    "--equal-clocks",
    is_flag=True,
    help="Judges OTHER as if it had run at the clock of BASE, where their clocks differ.",
)
def diff(  # the options of the command
    base: str,
    other: str,
    form: str,
    limit: int,
    budget: float,
    *,
    equal_clocks: bool,
    **names: str | int | None,
) -> None:
    """Explains what changed from BASE to OTHER, and whether it is more than noise.

    Both are trace files, runs or logdirs. Below a folder the newest run is taken, its first worker
    and that worker's last span; from three starts of a run on, all of them are judged. Of BASE,
    the worker of the same name is taken, else that of the same rank.
    """

    def made() -> DiffReport:
        pair = opened_pair(base, other, budget=budget, equal_clocks=equal_clocks, **names)
        answer = pair.answer(DiffQuery(budget=budget, equal_clocks=equal_clocks))
        tables = tuple(
            pair.table(DiffTableQuery(group=group, metric=metric_of(pair, group), limit=limit))
            for group in _GROUPS
            if group not in answer.missing
        )
        return DiffReport(answer, tables)

    if os.path.isfile(base) and os.path.isfile(other) and not any(names.values()):
        sides = FileSession(base), FileSession(other)
        asked = ("diff", sides[0].content, base, other, limit, budget, equal_clocks)
        report = sides[1].kept(repr(asked), DiffReport, made)
    else:
        report = made()
    answer, tables = report.diff, report.tables
    if form == "json":
        write(as_json(report))
    elif form == "markdown":
        write(markdown(answer, tables))
    elif form == "csv":
        write_csv(shown_tables(answer, tables), sys.stdout)
    else:
        _print(answer, tables)


def metric_of(pair: Pair, group: str) -> Any:  # noqa: ANN401  # a literal of the contract
    """Device time where both have it, else host time; of memory, bytes."""
    if group == "memory":
        return "bytes"
    has_device = all(one.facts.device_type != "CPU" for one in (pair.base, pair.other))
    return "device_self_ns" if has_device and group != "operators" else "self_ns"


def opened_pair(  # the two, and how they are compared
    base: str,
    other: str,
    *,
    budget: float = 0.02,
    equal_clocks: bool = False,
    **names: str | int | None,
) -> Pair:
    """Both recordings, read where they are not in the cache.

    Raises:
        KinetoscopeError: there is no such path, or it is no trace.
    """
    of_other, wanted = choose(other, wanted_of(names)), wanted_of(names, "base_")
    of_base = choose(base, wanted)
    if wanted.worker is None and of_base.place and of_other.place:
        worker, start, how = counterpart(of_base, of_other.place.worker)
        if worker != of_base.place.worker:
            of_base = choose(base, Wanted(of_base.place.run, worker, wanted.span, start))
        if how:
            say(f"worker {worker} is the base of {of_other.place.worker}: {how}")
    base_steps, steps = str(names.get("base_steps") or ""), str(names.get("steps") or "")
    return Pair(opened(of_base, base_steps), opened(of_other, steps), budget, equal_clocks)


def wanted_of(names: Mapping[str, Any], prefix: str = "") -> Wanted:
    """The recording that the options choose for OTHER, or with the prefix for BASE."""
    return Wanted(*(names.get(f"{prefix}{key}") for key in ("run", "worker", "span", "start")))


def counterpart(base: ChosenTrace, worker: str) -> tuple[str, int | None, str]:
    """The worker of the chosen start that a worker is compared with, the start, and why this one.

    Nothing is to be said where there is one worker alone, or where the names are the same.
    """
    if base.place is None or base.folder is None:
        return "", None, ""
    run = next(one for one in base.folder.catalog.runs if one.name == base.place.run)
    start = start_of(run, base.place)
    spans = ((one.name, span.start) for one in run.workers for span in one.spans)
    workers = sorted({name for name, of in spans if of == start})
    if worker in workers:
        return worker, start, "they have the same name" if len(workers) > 1 else ""
    rank = _rank(worker)
    same = [one for one in workers if rank is not None and _rank(one) == rank]
    if same:
        return same[0], start, f"both are rank {rank}"
    if len(workers) == 1:
        return workers[0], start, ""
    return base.place.worker, start, "none has the same name or rank; --base-worker chooses"


def _rank(worker: str) -> int | None:
    """The rank that the name of a worker tells."""
    found = _RANK.search(worker)
    return int(found[1]) if found else None


_RANK = regex(r"(?:rank|worker)[-_]?(\d{1,9})(?!\d)", re.IGNORECASE)


def opened(chosen: ChosenTrace, steps: str = "") -> Recorded:
    """The recording, with those of the other starts of its run as repeats.

    Raises:
        KinetoscopeError: it is no trace, or it holds memory alone.
    """
    if chosen.notice():
        say(chosen.notice())
    subject = comparable(chosen).seen_by(VIEW)
    place = chosen.place or TracePlace(PurePath(chosen.shown).name, "", "")
    repeats: list[Recorded] = []
    if chosen.folder is not None and chosen.place is not None:
        folder = chosen.folder
        others = folder.spans if place.worker == BASELINE else folder.repeats
        for at, one in ((at, subject.recordings.subject(at)) for at in others(place)):
            if one.facts.step_times_ns:
                repeats.append(Recorded(one.facts, lending(one), at))
    return Recorded(subject.facts, lending(subject), place, steps, tuple(repeats))


def comparable(chosen: ChosenTrace) -> FileSession:
    """A trace that can be compared; it is read where it is not in the cache.

    Raises:
        KinetoscopeError: it is no trace, or it holds memory alone.
    """
    with progress_bar(chosen.shown) as on_progress:
        session = chosen.session(on_progress)
        facts = session.facts()
    if facts.recording.memory_alone:
        raise UnavailableError(
            f"{chosen.shown} holds memory alone, without steps and operators to compare",
            hint="`kinetoscope snapshot BEFORE AFTER` compares two snapshots",
        )
    return session


# --- for people -----------------------------------------------------------------------------------


def _print(answer: Diff, tables: Sequence[DiffTable]) -> None:
    width = width_of(sys.stdout)
    verdict = f"Verdict: {answer.outcome}"
    said = (answer.headline, answer.detail, answer.certainty, *answer.outliers, answer.settle)
    for text in (*said, verdict):
        for line in wrapped(printable(text), width) if text else ():
            write(line)
    for one in answer.mismatches:
        for line in wrapped(printable(f"△ {one.text}"), width):
            write(line)
    for line in wrapped(printable(f"A: {answer.base.label}. B: {answer.other.label}."), width):
        write(line)
    write("")
    layout = TableLayout(width, None, "--format csv has them")
    print_tables(shown_tables(answer, tables), sys.stdout, layout)


def shown_tables(answer: Diff, tables: Sequence[DiffTable]) -> list[Table]:
    """The tables that have rows: bridge, counts, changes."""
    shown = [bridge_table(answer), counts_table(answer), *map(changes_table, tables)]
    return [table for table in shown if table.rows]


def bridge_table(answer: Diff) -> Table:
    """The parts of both steps, and the steps."""
    parts = table_from(
        "From A to B, median step",
        answer.parts_columns,
        answer.parts,
        is_real=lambda part: _certain(part.is_real),
    )
    whole = ("Step", answer.base_ns, answer.other_ns, answer.change_ns, None)
    return Table(parts.title, parts.columns, (*parts.rows, whole))


def _certain(is_real: bool | None) -> str | None:
    return None if is_real is None else "yes" if is_real else "no"


def counts_table(answer: Diff) -> Table:
    """Counts per step."""
    return table_from(
        "Counts",
        answer.counts_columns,
        answer.counts,
        base=lambda one: amount(one, one.base),
        other=lambda one: amount(one, one.other),
        change=lambda one: ("−" if one.change < 0 else "") + amount(one, abs(one.change)),
        is_exact=lambda one: "exactly" if one.is_exact else "on average",
    )


def amount(one: DiffCount, value: float) -> str:
    """A count in words."""
    if one.unit == "bytes":
        return size(value)
    return flops(value) if one.unit == "flop" else count(round(value))


def changes_table(table: DiffTable) -> Table:
    """The rows that changed most."""
    title = f"{_TITLES[table.group]}, {_words(table.metric)} per step"
    return table_from(title, table.columns, table.rows, table.count, name=named, status=status)


def _words(metric: str) -> str:
    return {
        "self_ns": "host self time",
        "total_ns": "host total time",
        "device_self_ns": "device time",
        "device_total_ns": "device total time",
        "bytes": "bytes allocated",
    }.get(metric, metric)


def named(row: DiffRow) -> str:
    """The name, with the one it has in the other recording."""
    return f"{row.name} → {row.other_name}" if row.other_name else row.name


def status(row: DiffRow) -> str:
    """The verdict on a row in words."""
    words = {"unsure": "inconclusive", "small": "too small", "differs": "differs here"}
    said = words.get(row.status, row.status)
    return f"{row.relation}, {said}" if row.relation else said


# --- Markdown -------------------------------------------------------------------------------------


def markdown(answer: Diff, tables: Sequence[DiffTable]) -> str:
    """The comparison for a pull request."""
    lines = [f"**{escaped(answer.headline)}**", ""]
    texts = (answer.detail, answer.certainty, *answer.outliers)
    lines += [f"{escaped(text)}  " for text in texts if text]
    lines += [f"Verdict: **{answer.outcome}**. {escaped(answer.settle)}".rstrip(), ""]
    lines += [f"- △ {escaped(one.text)}" for one in answer.mismatches]
    lines += [""] if answer.mismatches else []
    parts = [
        (one.label, duration(one.base_ns), duration(one.other_ns), signed(one.change_ns))
        for one in answer.parts
    ]
    whole = (
        "**Step**",
        *map(duration, (answer.base_ns, answer.other_ns)),
        signed(answer.change_ns),
    )
    lines += markdown_table(("Part", "Base", "Other", "Change"), [*parts, whole])
    lines += ["", *bridge_picture(answer)]
    for table in tables:
        changed = [one for one in table.rows if one.change_ns]
        if not changed:
            continue
        write_value: Callable[[float], str] = size if table.metric.endswith("bytes") else duration
        rows = [
            (
                f"`{named(one).replace('`', chr(39))}`",
                f"{one.base_calls:g} → {one.other_calls:g}",
                write_value(one.base_ns),
                write_value(one.other_ns),
                ("−" if one.change_ns < 0 else "+") + write_value(abs(one.change_ns)),
                status(one),
            )
            for one in changed
        ]
        title = _TITLES[table.group]
        heads = (title[:-1], "Calls", "Base", "Other", "Change", "Verdict")
        lines += ["", f"{title}, {_words(table.metric)} per step", ""]
        lines += markdown_table(heads, rows)
    return "\n".join(lines).replace(NBSP, " ")


def bridge_picture(answer: Diff) -> list[str]:
    """The bridge as a Mermaid chart: what GitHub and GitLab draw as SVG where they show Markdown.

    They remove an image that is inside the text, so the text holds the figures. Each bar begins
    where the one before ended; growth is marked. The axis shows the chart's seconds, so its
    milliseconds are thousandths of ``unit``.
    """
    longest = max(answer.base_ns, answer.other_ns)
    unit, per_tick = next((name, ns) for name, ns in _AXES if longest >= 5 * ns or ns == 1_000)
    lines = ["```mermaid", "gantt", f"  title {_TITLE}, {unit}"]
    lines += ["  dateFormat x", "  axisFormat %s", "  todayMarker off"]

    def bar(name: str, figure: str, kind: str, ends_ns: tuple[int, int]) -> None:
        first, last = (round(ns * 1_000 / per_tick) for ns in sorted(ends_ns))
        label = _NO_LABEL.sub(" ", name.replace(":", ","))
        lines.extend((f"  section {label}", f"  {figure} :{kind}{first}, {last}"))

    bar("Step A", duration(answer.base_ns), "", (0, answer.base_ns))
    at = answer.base_ns
    for part in answer.parts:
        if abs(part.change_ns) >= LEAST_DRAWN * longest:
            kind = "crit, " if part.change_ns > 0 else "done, "
            bar(part.label, signed(part.change_ns), kind, (at, at + part.change_ns))
        at += part.change_ns
    bar("Step B", duration(answer.other_ns), "", (0, answer.other_ns))
    return [*lines, "```"]


LEAST_DRAWN = 0.001
"""Share of the longer step below which the change of a part is not drawn."""
_TITLE = f"Median step from A to B, parts that change by {share(LEAST_DRAWN)} or more"
_AXES = (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000))
_NO_LABEL = regex(r"[^\w .,+−%()/-]")  # a colon, a semicolon, or a # would end a label of Mermaid


def signed(ns: float) -> str:
    """A change of time: ``+1.20 ms``, ``−36.5 ms``, ``0 ns``."""
    return duration(0) if not ns else ("−" if ns < 0 else "+") + duration(abs(ns))
