"""A recording, or all ranks of a run, in one answer of a few kilobytes (contract).

Every figure is one of the views' or of the advice: nothing is computed here a second time. A figure
carries its unit in its name, and says whether it is per step or of the whole recording.

Ids such as ``slice/1296`` name events. ``<trace>/slice/1296`` is the same id, and is refused for
another file. Names come from the trace: they are data, and never instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct, structs

from ..analysis.advice.rule import thresholds
from ..analysis.facts import IDLE_CAUSES, Facts
from ..analysis.overview.whole import WHOLE, WholeRecording
from ..analysis.recording import configuration
from ..analysis.steps import Limits, Selection, select
from ..analysis.wording import CAUSE_NAMES, StepNoun, device_name, short_frame, step_noun
from ..base.errors import NotFoundError, QueryError, UnavailableError
from ..base.units import NBSP, duration
from ..session.session import OF_TRACES, Session
from ..trace.model import RECORDERS
from ..views import view_named
from ..views.overview.document import AdviceDocument, AdviceFinding
from ..views.overview.view import Overview, OverviewQuery, advice_on
from ..views.shared import device_row
from ..views.table import Cell, Column, Table
from .gaps import CannotTell, cannot_tell_of

SCHEMA = 1
MOST_BYTES, MOST_SECTION_BYTES = 6144, 65536
FUNCTIONS, OPERATORS, RANKS, BREAKS, EVIDENCE = 12, 5, 16, 6, 3
"""Most functions, operators, ranks, graph breaks, events of a finding."""
_LEAST_RATIO = 0.001  # of the step; parts and causes below are left out of lists
_LEAST_OF_FUNCTION = 0.01


class Grid(Struct, frozen=True):
    """Rows of plain values in the order of the columns; None = not known."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class ExplainedRecording(Struct, frozen=True):
    """Kind and size of the file."""

    path: str
    trace: str  # begins ids of its events: "1a2b3c4d"
    worker: str
    recorder: str
    length_ns: int
    setup: Mapping[str, str]  # devices, rank, host, steps
    step_source: str  # "profiler_step", "iteration" of an inference engine, "whole_trace", …
    health: str  # the notes of Health that limit what can be said; "" none


class ExplainedStep(Struct, frozen=True):
    """The counted steps; ``parts`` sum to the mean, and ``idle`` to the part of that name."""

    noun: StepNoun  # what is counted; "recording": no step is marked
    seen_from: str  # "GPU 0", "the main thread"
    count: int
    numbers: str  # of the counted ones: "2-6"; "" of a recording without marked steps
    left_out: Mapping[str, str]  # number of one that is not counted → why, and its length
    mean_ns: float
    median_ns: float
    shortest_ns: int
    longest_ns: int
    longest: int  # number of that step
    overlap_ns_per_step: float | None  # communication under compute; None: not known
    parts: Grid
    idle: Grid


class ExplainedFinding(Struct, frozen=True):
    """One finding: its highest cost a step, its place, its evidence, its remedy."""

    id: str
    title: str
    severity: str
    ns_per_step: float | None  # ceilings of several findings must not be added
    step_ratio: float | None
    place: str  # "train.py(12): load"; "" unknown
    evidence: tuple[str, ...]  # ids
    action: str


class ExplainDocument(Struct, frozen=True):
    """The whole."""

    schema: int
    recording: ExplainedRecording
    headline: str
    detail: str
    agreement: str  # in how many steps the headline is true; "" of one step
    step: ExplainedStep | None
    findings: tuple[ExplainedFinding, ...]
    functions: Grid
    operators: Grid
    totals: Grid  # by device, of the whole recording
    ranks_headline: str
    ranks: Grid
    compiled_headline: str  # "" nothing was compiled
    breaks: Grid  # of graphs of torch.compile, in the whole recording
    cannot_tell: tuple[CannotTell, ...]
    next: tuple[str, ...]  # commands; PATH is the recording
    absent: Mapping[str, str]  # section without rows → why
    left_out: Mapping[str, int]  # rows that did not fit
    untrusted: tuple[str, ...] = ("path", "place", "name", "worker", "device")


SECTIONS = (
    "recording", "step", "findings", "functions", "operators", "totals", "ranks", "breaks",
    "cannot_tell", "next",
)  # fmt: skip
NOTHING = Grid((), ())


def explain(
    session: Session, steps: str = "", device: str = "", limits: Limits | None = None
) -> ExplainDocument:
    """The answer for the chosen steps and device.

    Raises:
        QueryError: there are no such steps, or no such device.
        UnavailableError: the file cannot fill the Overview; says why.
    """
    view = view_named("overview")
    if session.facts().recording.memory_alone:
        raise UnavailableError(OF_TRACES, hint="kinetoscope show memory PATH")
    asked = session.subject(view)
    facts, answer = asked.facts, view.build(asked, OverviewQuery(steps, device))
    if not isinstance(answer, Overview):
        raise TypeError("the Overview answers with an Overview")
    limits = thresholds() if limits is None else limits
    advice = advice_on(asked, steps, device, limits)
    chosen = select(facts, steps, device_row(facts, device), limits)
    whole = session.artifact(WHOLE)
    ranks_headline, ranks = ranks_of(session)
    compiled_headline, breaks = breaks_of(facts)
    document = ExplainDocument(
        schema=SCHEMA,
        recording=_recording(session, facts, advice),
        headline=advice.headline,
        detail=advice.detail,
        agreement=advice.agreement,
        step=_step(answer, chosen),
        findings=tuple(map(_finding, advice.findings)),
        functions=functions_of(whole, chosen),
        operators=operators_of(whole, chosen),
        totals=totals_of(whole, facts),
        ranks_headline=ranks_headline,
        ranks=ranks,
        compiled_headline=compiled_headline,
        breaks=breaks,
        cannot_tell=cannot_tell_of(advice, facts),
        next=_next(advice, ranks),
        absent={},
        left_out={},
    )
    empty = {key: why for key, why in _absent(facts).items() if not getattr(document, key).rows}
    return structs.replace(document, absent=empty)


def _absent(facts: Facts) -> Mapping[str, str]:
    """Why a section has no rows, if it has none."""
    return {
        "functions": "none ran in the counted steps"
        if facts.counts.get("python")
        else "no Python frames",
        "operators": "none in the counted steps",
        "totals": "no device activity",
        "ranks": "one recording, no run of several",
        "breaks": "none was recorded" if facts.compiled else "nothing was compiled",
    }


def brief(document: ExplainDocument, sections: Sequence[str] = ()) -> ExplainDocument:
    """The document with the first rows of long sections; ``left_out`` counts the others.

    Sections that are asked for by name have more operators, and one alone loses small functions
    only.
    """
    step = document.step
    least = _LEAST_OF_FUNCTION * step.mean_ns if step else 0
    long = sum(float(row[1] or 0) >= least for row in document.functions.rows)
    shown = min(FUNCTIONS, max(long, _LEAST_ROWS["functions"]))
    short, left = {}, {}
    operators = FUNCTIONS if sections else OPERATORS
    most_of = {"functions": shown, "operators": operators, "ranks": RANKS, "breaks": BREAKS}
    if len(sections) == 1:
        most_of = {"functions": max(long, FUNCTIONS)}
    for name, most in most_of.items():
        grid: Grid = getattr(document, name)
        short[name] = Grid(grid.columns, grid.rows[:most])
        if len(grid.rows) > most:
            left[name] = len(grid.rows) - most
    return structs.replace(document, **short, left_out=left)


def _recording(session: Session, facts: Facts, advice: AdviceDocument) -> ExplainedRecording:
    health = view_named("health")
    said: Any = health.build(facts, health.query())
    return ExplainedRecording(
        path=facts.path,
        trace=session.identity,
        worker=session.worker,
        recorder=RECORDERS.get(facts.torch_era, "unknown"),
        length_ns=facts.duration_ns,
        setup={label: _plain(value) for label, value in configuration(facts).items()},
        step_source=advice.scope.step_source,
        health=_health(said),
    )


def _health(said: Any) -> str:  # noqa: ANN401  # an answer of the view
    """Notes about the file, those that limit the answers first."""
    titles = [one.title for one in said.notes if one.severity in ("error", "warning")]
    if not titles:
        return ""
    read, _, _ = said.sentence.headline.rstrip(".").partition(". ")
    return _plain(f"{read}. {'; '.join(titles)}.", 400)


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in ascending order as ranges: ``2-5,7``."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in found)


def _step(answer: Overview, chosen: Selection) -> ExplainedStep | None:
    if not chosen.count:
        return None
    ruler, lengths = answer.ruler, [chosen.length_ns(step) for step in chosen.steps]
    total = chosen.partition
    knows_idle = total is not None and ruler.idle_ns is not None
    parts = [
        (one.label, one.mean_ns, round(one.ratio, 5))
        for one in ruler.shares
        # On a device a ghost is a cause of idle time; those stand apart.
        if not (one.ghost and knows_idle) and one.ratio >= _LEAST_RATIO
    ]
    idle = []
    if total is not None and ruler.idle_ns is not None:
        parts.append(("Idle", ruler.idle_ns, round(chosen.ratio(total.idle_ns), 5)))
        causes = sorted(((getattr(total, key), key) for key in IDLE_CAUSES), reverse=True)
        idle = [
            (CAUSE_NAMES[key], chosen.mean(ns), round(chosen.ratio(ns), 5))
            for ns, key in causes
            if chosen.ratio(ns) >= _LEAST_RATIO
        ]
    rest = ruler.mean_ns - sum(ns for _, ns, _ in parts)
    if rest >= 1:
        parts.append(("Rest", rest, round(rest / ruler.mean_ns, 5)))
    device, facts = chosen.device_facts, chosen.facts
    numbers = [one.number for one in chosen.steps]
    return ExplainedStep(
        noun=step_noun(facts),
        seen_from=device_name(device) if device else "the main thread",
        count=chosen.count,
        numbers="" if facts.step_source == "whole_trace" else _ranges(numbers),
        left_out={
            str(one.number): f"{one.excluded}, {duration(one.dur_ns)}".replace(NBSP, " ")
            for one in facts.steps
            if one.excluded and one.number not in numbers
        },
        mean_ns=ruler.mean_ns,
        median_ns=median(lengths),
        shortest_ns=min(lengths),
        longest_ns=max(lengths),
        longest=chosen.steps[lengths.index(max(lengths))].number,
        overlap_ns_per_step=ruler.overlap_ns,
        parts=Grid(("part", "ns_per_step", "step_ratio"), tuple(parts)),
        idle=Grid(("cause", "ns_per_step", "step_ratio"), tuple(idle)),
    )


def _finding(one: AdviceFinding) -> ExplainedFinding:
    gain = one.gain
    return ExplainedFinding(
        id=one.id,
        title=one.title,
        severity=one.severity,
        ns_per_step=gain.ns_per_step if gain else None,
        step_ratio=round(gain.ratio, 5) if gain else None,
        place=short_frame(one.frame),
        evidence=tuple(f"slice/{e.slice}" for e in one.evidence if e.slice >= 0)[:EVIDENCE],
        action=_plain(one.action.snippet.split("\n")[0] or one.action.text, 160),
    )


def functions_of(whole: WholeRecording, chosen: Selection) -> Grid:
    """The user's functions by inclusive time a step, the longest first.

    A function around whole steps that does nothing by itself is left out.
    """
    table, count = whole.functions, len(whole.names)
    some = np.flatnonzero(np.isin(table.step, chosen.indexes))

    def summed(column: np.ndarray) -> np.ndarray:
        return np.bincount(table.name[some], column[some], count)

    inclusive, exclusive, calls, idle = map(
        summed, (table.inclusive_ns, table.exclusive_ns, table.calls, table.idle_ns)
    )
    per = max(chosen.count, 1)
    has_device = chosen.partition is not None
    rows = tuple(
        (
            short_frame(whole.names[at]),
            round(float(inclusive[at]) / per),
            round(float(exclusive[at]) / per),
            round(float(calls[at]) / per, 2) or None,  # None: it began before these steps
            round(float(idle[at]) / per) if has_device else None,
        )
        for at in np.argsort(-inclusive, kind="stable").tolist()
        if inclusive[at] > 0 and (calls[at] or exclusive[at])
    )
    return Grid(
        ("name", "inclusive_ns_per_step", "exclusive_ns_per_step", "calls_per_step",
         "idle_ns_per_step"),
        rows,
    )  # fmt: skip


def operators_of(whole: WholeRecording, chosen: Selection) -> Grid:
    """Operators by their time a step on the host without that of what they call, largest first."""
    table, count, per = whole.operators, len(whole.operator_names), max(chosen.count, 1)
    some = np.flatnonzero(np.isin(table.step, chosen.indexes))
    own, total, calls = (
        np.bincount(table.name[some], column[some], count)
        for column in (table.self_ns, table.total_ns, table.calls)
    )
    rows = tuple(
        (
            whole.operator_names[at],
            round(float(own[at]) / per),
            round(float(total[at]) / per),
            round(float(calls[at]) / per, 2),
        )
        for at in np.argsort(-own, kind="stable").tolist()
        if calls[at]
    )
    return Grid(("name", "self_ns_per_step", "total_ns_per_step", "calls_per_step"), rows)


def totals_of(whole: WholeRecording, facts: Facts) -> Grid:
    """Each device over the whole recording, in ns."""
    one = whole.devices
    keys = one.__struct_fields__[1:]
    rows = []
    for at, device in enumerate(one.device.tolist()):
        cells = {key: int(getattr(one, key)[at]) for key in keys}
        collective = cells["communication_ns"]
        hidden = collective - cells["exposed_communication_ns"]
        rows.append(
            (
                device_name(facts.devices[device]),
                *cells.values(),
                cells["length_ns"] - cells["busy_ns"],
                hidden,
                round(hidden / collective, 4) if collective else None,
            )
        )
    return Grid(("device", *keys, "idle_ns", "overlap_ns", "overlap_ratio"), tuple(rows))


_OF_RANKS = ("rank", "busy_ratio", "own_ns", "excess_ns", "cost_ns", "lost_ns")


def ranks_of(session: Session) -> tuple[str, Grid]:
    """All ranks of the run, as the Distributed view has them; nothing for a file alone."""
    view = view_named("distributed")
    try:
        answer: Any = session.answer(view, view.query())
    except UnavailableError:
        return "", NOTHING
    tables = view.tables(answer)
    first = tables[0]
    lengths = next((one for one in tables if _place(one, "length_ns") >= 0), None)
    cells = {} if lengths is None else {row[0]: _of_step(lengths, row) for row in lengths.rows}
    kept = _kept(first, _OF_RANKS)
    # The view's communication is while nothing computes; SQL calls their union by that name.
    of_step = ("length_ns", "compute_ns", "overlap_ns", "exposed_communication_ns", "idle_ns")
    ids = [*(first.columns[at].key for at in kept), *(of_step if cells else ())]
    none = (None,) * len(of_step) if cells else ()
    rows = tuple(
        (*(_short_ratio(row[at]) for at in kept), *cells.get(row[0], none)) for row in first.rows
    )
    renamed = tuple(f"{one}_per_step" if one.endswith("_ns") else one for one in ids)
    headline = " ".join(text for text in (answer.headline, answer.detail) if text)
    return _plain(headline, 400), Grid(renamed, rows)


def _of_step(lengths: Table, row: Sequence[Cell]) -> tuple[Cell, ...]:
    """Parts of the step of a rank. As in ``_step``, compute includes what overlaps."""
    length, compute, overlap, communication, idle = (
        row[_place(lengths, key)]
        for key in ("length_ns", "compute_ns", "overlap_ns", "communication_ns", "idle_ns")
    )
    whole = int(compute) + int(overlap) if compute is not None and overlap is not None else None
    return length, whole, overlap, communication, idle


def _short_ratio(value: Cell) -> Cell:
    return round(value, 4) if isinstance(value, float) else value


def _place(table: Table, key: str) -> int:
    return next((at for at, one in enumerate(table.columns) if one.key == key), -1)


def _kept(table: Table, keys: Iterable[str]) -> list[int]:
    return [at for key in keys if (at := _place(table, key)) >= 0]


def breaks_of(facts: Facts) -> tuple[str, Grid]:
    """Headline of the Compile view, and the lines that break a graph, of the whole recording."""
    if not facts.compiled:
        return "", NOTHING
    view = view_named("compile")
    try:
        answer: Any = view.build(facts, view.query())
    except UnavailableError:
        return "", NOTHING
    columns = ("place", "name", "reason", "calls", "gap_ns")
    rows = tuple(
        tuple(getattr(one, key) if key != "reason" else _plain(one.reason, 100) for key in columns)
        for one in answer.breaks
    )
    headline = " ".join(text for text in (answer.headline, answer.detail) if text)
    return _plain(headline, 400), Grid(columns, rows)


def _next(advice: AdviceDocument, ranks: Grid) -> tuple[str, ...]:
    """Commands that answer what comes next, in fixed forms with numeric ids."""
    event = next((e.slice for one in advice.findings for e in one.evidence if e.slice >= 0), -1)
    return (
        *((f"kinetoscope explain PATH --id slice/{event}",) if event >= 0 else ()),
        f"kinetoscope show {'distributed' if ranks.rows else 'operators'} PATH",
        'kinetoscope sql PATH "FROM tables"',
    )


def _plain(text: str, most: int = 200) -> str:
    line = " ".join(text.replace(NBSP, " ").split())
    return line if len(line) <= most else line[: most - 1] + "…"


def tables_of(document: ExplainDocument) -> tuple[Table, ...]:
    """The parts with rows as tables; times stay in ns."""
    step = document.step
    grids = {
        "Step": step.parts if step else NOTHING,
        "Idle by cause": step.idle if step else NOTHING,
        "Findings": Grid(
            ("id", "title", "severity", "ns_per_step", "step_ratio", "place", "action"),
            tuple(
                (f.id, f.title, f.severity, f.ns_per_step, f.step_ratio, f.place, f.action)
                for f in document.findings
            ),
        ),
        "Your functions": document.functions,
        "Operators": document.operators,
        "Totals of the recording": document.totals,
        "Ranks": document.ranks,
        "Graph breaks": document.breaks,
        "Cannot tell": Grid(
            ("record", "tells"), tuple((one.record, one.tells) for one in document.cannot_tell)
        ),
    }
    return tuple(
        Table(title, tuple(Column(key, key) for key in grid.columns), grid.rows)
        for title, grid in grids.items()
        if grid.rows
    )


# --- within a number of bytes ---------------------------------------------------------------------

D = TypeVar("D", bound=Struct)
CUTS = ("operators", "functions", "ranks", "breaks", "findings", "next", "totals")
"""Sections that lose rows, in this order; gaps of the recording are always kept."""
_LEAST_ROWS = {"operators": 1, "functions": 3, "findings": 3, "ranks": 4}


def fitted(
    document: D, most_bytes: int, written: Callable[[D], str], cuts: Sequence[str] = CUTS
) -> D:
    """The document with as many rows as fit; ``written`` makes its text, ``cuts`` lose rows.

    Raises:
        QueryError: not even the smallest answer fits.
    """

    def size(one: D) -> int:
        return len(written(one).encode("utf-8", "replace"))

    # Every section keeps its first rows as long as others have more.
    for least in (_LEAST_ROWS, {}):
        for section in cuts:
            while size(document) > most_bytes and _rows(document, section) > least.get(section, 0):
                document = _without_last(document, section)
            if size(document) <= most_bytes:
                return document
    if size(document) > most_bytes:
        raise QueryError(
            f"the smallest answer has {size(document)} bytes", hint="raise --max-bytes"
        )
    return document


def _rows(document: Struct, section: str) -> int:
    value = getattr(document, section)
    return len(value.rows) if isinstance(value, Grid) else len(value)


def _without_last(document: D, section: str) -> D:
    value = getattr(document, section)
    left_out: Mapping[str, int] = getattr(document, "left_out")  # noqa: B009  # both kinds have it
    short = structs.replace(value, rows=value.rows[:-1]) if isinstance(value, Grid) else value[:-1]
    left = {**left_out, section: left_out.get(section, 0) + 1}
    return structs.replace(document, **{section: short}, left_out=left)


def sections_of(document: ExplainDocument, text: str) -> dict[str, Any]:
    """Some sections alone, by their names: "step,totals".

    Raises:
        QueryError: there is no such section.
    """
    from ..base.errors import nearest

    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in SECTIONS:
            raise QueryError(f"there is no section {name[:40]!r}", hint=nearest(name, SECTIONS))
    if "ranks" in names and document.ranks_headline:
        names.insert(names.index("ranks"), "ranks_headline")
    found = {name: getattr(document, name) for name in names}
    absent = {name: why for name, why in document.absent.items() if name in names}
    return {**found, "absent": absent, "left_out": document.left_out}


# --- events by their ids --------------------------------------------------------------------------


def event_of(session: Session, text: str) -> Mapping[str, Any]:
    """The event behind an id as the file has it, with its place in the recording.

    Raises:
        QueryError: it is no id, or one of another file.
        NotFoundError: there is no such event.
    """
    trace_id, _, rest = text.rpartition("slice/")
    if not rest.isascii() or not rest.isdecimal() or len(rest) > 12:
        raise QueryError(f"{text[:60]!r} is no id", hint="ids look like slice/1296")
    if trace_id.strip("/") not in ("", session.identity):
        raise QueryError(
            "this id is of another file", hint=f"ids of this file begin with {session.identity}/"
        )
    number = int(rest)
    trace = session.trace()
    on_host = number < len(trace.host)
    table = trace.host if on_host else trace.device
    row = number if on_host else number - len(trace.host)
    if not 0 <= row < len(table):
        last = len(trace.host) + len(trace.device) - 1
        raise NotFoundError(f"there is no slice {number}", hint=f"slices are 0 to {last}")
    raw = int(table.raw[row])
    return {
        "id": f"{session.identity}/slice/{number}",
        "slice": number,
        "event": raw,
        "start_ns": int(table.ts[row]),
        "end_ns": int(table.ts[row] + table.dur[row]),
        "dur_ns": int(table.dur[row]),
        "in_file": session.event(raw),
    }


def as_bytes(answer: Any) -> bytes:  # noqa: ANN401
    """An answer as JSON, without escapes for terminals."""
    return msgspec.json.encode(answer)
