"""Tables that are made of several things: steps, idle time, functions, collectives, findings.

A table says what a row is, what its columns mean, and how all of them are made together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..analysis.device_work import used_devices
from ..analysis.facts import IDLE_CAUSES
from ..analysis.host_activity import hosts_of
from ..analysis.overview.whole import WHOLE
from ..analysis.recording import configuration
from ..analysis.steps import select
from ..analysis.wording import CAUSE_NAMES
from ..base.intervals import length_within
from ..trace.model import Trace
from ..views.table import unit_of
from .gaps import unanswered
from .tables import (
    HOST,
    TextColumn,
    Values,
    WholeColumn,
    device_labels,
    step_numbers,
    stream_labels,
    thread_labels,
)

if TYPE_CHECKING:
    from .sources import Source

Plain = Sequence[Any]
"""Values of Python, where they are few."""


class SourceColumn(NamedTuple):
    """One column: its meaning, and what makes its values."""

    key: str
    help: str
    of: Callable[[], Values | Plain]

    @property
    def unit(self) -> str:
        """The unit that its id ends with."""
        return unit_of(self.key)


class MadeTable(NamedTuple):
    """Table whose columns are computed together."""

    help: str
    columns: tuple[tuple[str, str], ...]  # id, meaning
    values: Callable[[Source], Sequence[Values | Plain]]

    def of(self, source: Source) -> Iterator[SourceColumn]:
        """The columns; the values are made at the first use of any."""
        made: list[Sequence[Values | Plain]] = []

        def value(at: int) -> Values | Plain:
            if not made:
                made.append(self.values(source))
            return made[0][at]

        for at, (key, text) in enumerate(self.columns):
            yield SourceColumn(key, text, partial(value, at))


_CAUSES = tuple(CAUSE_NAMES[cause] for cause in IDLE_CAUSES)
_LEAST = np.iinfo(np.int64).min
_TIMES = (("start_ns", "Begin."), ("dur_ns", "Length."), ("end_ns", "End."))


def transposed(rows: Sequence[Sequence[Any]], count: int) -> list[Plain]:
    """So many columns of some rows."""
    return [[row[at] for row in rows] for at in range(count)]


def _steps(source: Source) -> Sequence[Values | Plain]:
    facts = source.session.facts()
    chosen = select(facts)
    rows = []
    for step in facts.steps:
        seen = chosen.device_step(step)
        part = seen.partition if seen else None
        rows.append(
            (
                step.number,
                step.name,
                step.start_ns,
                step.end_ns - step.start_ns,
                step.end_ns,
                step.index in chosen.indexes,
                step.excluded,
                *(None if part is None else getattr(part, key) for key in _PARTS),
                None if seen is None else seen.communication.total_ns,
            )
        )
    return [*transposed(rows, 8 + len(_PARTS)), WholeColumn(source.trace.steps.host)]


_PARTS: Mapping[str, str] = {
    "compute_ns": "The busiest device computes.",
    "exposed_communication_ns": "It communicates and does not compute.",
    "exposed_copy_ns": "It only copies.",
    "memset_ns": "It only sets memory.",
    "idle_ns": "It does nothing.",
    "start_up_ns": "It does nothing while first calls start the process: no idle time.",
    "overlap_ns": "It computes and communicates.",
}


def _idle(source: Source) -> Sequence[Values | Plain]:
    trace = source.trace
    parts = source.idle_by_piece
    start = joined([one.pieces.start for _, one in parts])
    end = joined([one.pieces.end for _, one in parts])
    device = joined([np.full(len(one.pieces.start), row) for row, one in parts])
    step = joined([one.pieces.window for _, one in parts])
    cause = joined([one.ns.argmax(axis=1) for _, one in parts])
    return (
        np.arange(len(start)),
        start,
        end - start,
        end,
        TextColumn(device, device_labels(trace)),
        trace.steps.number[step],
        TextColumn(cause, _CAUSES),
        joined([one.ns.max(axis=1, initial=0) for _, one in parts]),
        WholeColumn(joined([one.pieces.following for _, one in parts])),
    )


def _idle_causes(source: Source) -> Sequence[Values | Plain]:
    parts = source.idle_by_piece
    first = np.cumsum([0, *(len(one.pieces.start) for _, one in parts)])
    found = [np.nonzero(one.ns) for _, one in parts]
    return (
        joined([piece + low for (piece, _), low in zip(found, first, strict=False)]),
        TextColumn(joined([cause for _, cause in found]), _CAUSES),
        joined([one.ns[at] for (_, one), at in zip(parts, found, strict=True)]),
    )


def _idle_host(source: Source) -> Sequence[Values | Plain]:
    trace, parts = source.trace, source.idle_by_piece
    first = np.cumsum([0, *(len(one.pieces.start) for _, one in parts)])
    row = joined([one.rows.row for _, one in parts])
    own = next(column for column in HOST.columns if column.key == "function")
    around = own.of(trace)
    assert isinstance(around, TextColumn)
    return (
        joined([one.rows.window + low for (_, one), low in zip(parts, first, strict=False)]),
        row,
        TextColumn(trace.host.name[row], trace.strings),
        TextColumn(around.codes[row], trace.strings),
        joined([one.rows.idle for _, one in parts]),
        TextColumn(joined([one.rows.cause for _, one in parts]), _CAUSES),
    )


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The parts one behind the other, as int64."""
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


def _functions(source: Source) -> Sequence[Values | Plain]:
    whole, facts = source.session.artifact(WHOLE), source.session.facts()
    table = whole.functions
    numbers = np.array([step.number for step in facts.steps], np.int64)
    return (
        TextColumn(table.name, whole.names),
        numbers[table.step],
        table.inclusive_ns,
        table.exclusive_ns,
        table.calls,
        WholeColumn(table.idle_ns),
    )


def _collectives(source: Source) -> Sequence[Values | Plain]:
    trace = source.trace
    table, host, device = trace.collectives, trace.host, trace.device
    counts = np.array([len(rows) for rows in table.device_rows], np.int64)
    rows = joined(table.device_rows)
    owner = np.repeat(np.arange(len(counts)), counts)
    far = np.iinfo(np.int64).max
    begin, until = np.full(len(counts), far), np.full(len(counts), -1, np.int64)
    np.minimum.at(begin, owner, device.ts[rows])
    np.maximum.at(until, owner, device.ts[rows] + device.dur[rows])
    spent, exposed = np.zeros((2, len(counts)), np.int64)
    np.add.at(spent, owner, device.dur[rows])
    np.add.at(exposed, owner, _exposed(trace, rows))
    spent[counts == 0] = exposed[counts == 0] = _LEAST
    return (
        table.host,
        TextColumn(table.name, trace.strings),
        TextColumn(table.group, trace.strings),
        host.ts[table.host],
        host.dur[table.host],
        host.ts[table.host] + host.dur[table.host],
        step_numbers(trace, host.step[table.host]),
        WholeColumn(begin, far),
        WholeColumn(until),
        WholeColumn(spent, _LEAST),
        WholeColumn(exposed, _LEAST),
        counts,
    )


def _exposed(trace: Trace, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Time of each device row in which no kernel of its device computes."""
    device = trace.device
    found = device.dur[rows].astype(np.int64)
    for work in used_devices(trace):
        some = device.device[rows] == work.device
        start = device.ts[rows[some]]
        found[some] -= length_within(work.compute, start, start + device.dur[rows[some]])
    return found


def _findings(source: Source) -> Sequence[Values | Plain]:
    rows = [
        (
            *(one.id, one.title, one.severity),
            *((one.gain.ns_per_step, one.gain.ratio) if one.gain else (None, None)),
            *(one.frame or None, one.text, one.action.text),
        )
        for one in source.advice.findings
    ]
    return transposed(rows, 8)


def _evidence(source: Source) -> Sequence[Values | Plain]:
    low = len(source.trace.host)
    rows = [
        (
            one.id,
            seen.slice if seen.slice >= 0 else None,
            seen.slice if 0 <= seen.slice < low else None,
            seen.slice - low if seen.slice >= low else None,
            seen.name,
            seen.start_ns,
            seen.end_ns - seen.start_ns,
            seen.end_ns,
        )
        for one in source.advice.findings
        for seen in one.evidence
    ]
    return transposed(rows, 8)


def _threads(source: Source) -> Sequence[Values | Plain]:
    main = hosts_of(source.trace).main
    labels = thread_labels(source.trace)
    return labels, [at == main for at in range(len(labels))]


def _streams(source: Source) -> Sequence[Values | Plain]:
    table = source.trace.streams
    return TextColumn(table.device, device_labels(source.trace)), stream_labels(source.trace)


def _devices(source: Source) -> Sequence[Values | Plain]:
    told = source.trace.devices
    totals = source.session.artifact(WHOLE).devices
    place = {row: at for at, row in enumerate(totals.device.tolist())}
    columns = [getattr(totals, key).tolist() for key in _TOTALS]
    return (
        device_labels(source.trace),
        [one.name or None for one in told],
        [one.vendor or None for one in told],
        [one.memory_bytes for one in told],
        [one.used for one in told],
        *(
            [values[place[row]] if row in place else None for row in range(len(told))]
            for values in columns
        ),
    )


_TOTALS: Mapping[str, str] = {
    "length_ns": "Length of the recording.",
    "busy_ns": "Union of all its work.",
    "compute_sum_ns": "Compute kernels, added.",
    "compute_ns": "Compute kernels, union.",
    "communication_sum_ns": "Collectives, added.",
    "communication_ns": "Collectives, union.",
    "exposed_communication_ns": "Of that union, while no kernel computes.",
    "copy_sum_ns": "Copies, added.",
    "copy_ns": "Copies, union.",
    "launches": "Calls that launched its work.",
}


def _recording(source: Source) -> Sequence[Values | Plain]:
    facts = source.session.facts()
    rows = {"Path": facts.path, "Length (ns)": str(facts.duration_ns), **configuration(facts)}
    return list(rows), list(rows.values())


def _cannot_tell(source: Source) -> Sequence[Values | Plain]:
    return transposed([*unanswered(source.advice)], 2)


MADE: Mapping[str, MadeTable] = {
    "steps": MadeTable(
        "Steps as the views count them: a step ends with the last device work that it launched.",
        (
            ("number", "Number of the step."),
            ("name", "Name as recorded."),
            *_TIMES,
            ("chosen", "The views count it."),
            ("excluded", "Why they do not."),
            *_PARTS.items(),
            ("communication_ns", "Union of the collectives of the busiest device."),
            ("host", "Row of host."),
        ),
        _steps,
    ),
    "idle": MadeTable(
        "Stretches in which a device does nothing, cut at the edges of steps.",
        (
            ("id", "The row."),
            *_TIMES,
            ("device", "Type and number."),
            ("step", "Number of the step."),
            ("cause", "Cause of most of it."),
            ("cause_ns", "The part of it that has this cause."),
            ("ended_by", "Row of device: the work that ends it."),
        ),
        _idle,
    ),
    "idle_causes": MadeTable(
        "Causes of idle time, exact: those of a stretch sum to its length.",
        (
            ("idle", "Row of idle."),
            ("cause", "The cause."),
            ("idle_ns", "Idle time of this cause."),
        ),
        _idle_causes,
    ),
    "idle_host": MadeTable(
        "Innermost events of the launching thread during idle time.",
        (
            ("idle", "Row of idle."),
            ("host", "Row of host."),
            ("name", "Name of that event."),
            ("function", "Innermost frame of your code around it."),
            ("idle_ns", "Idle time in which it is innermost."),
            ("cause", "Cause of that idle time."),
        ),
        _idle_host,
    ),
    "functions": MadeTable(
        "Your functions, a row for each step in which one ran.",
        (
            ("name", "Frame of your code."),
            ("step", "Number of the step."),
            ("inclusive_ns", "Including callees; recursion counts once."),
            ("exclusive_ns", "Without your functions that it calls."),
            ("calls", "Calls that begin in the step."),
            ("idle_ns", "The busiest device idles meanwhile."),
        ),
        _functions,
    ),
    "collectives": MadeTable(
        "Calls of collectives on this rank, in host order.",
        (
            ("host", "Row of host."),
            ("name", "Operation."),
            ("group_name", "Process group."),
            ("start_ns", "Begin of the call."),
            ("dur_ns", "Length of the call on the host."),
            ("end_ns", "End of the call."),
            ("step", "Number of the step."),
            ("device_start_ns", "Its first kernel begins."),
            ("device_end_ns", "Its last kernel ends."),
            ("device_ns", "Its kernels, added."),
            ("exposed_ns", "Of that, while no kernel computes."),
            ("kernels", "Number of its kernels."),
        ),
        _collectives,
    ),
    "findings": MadeTable(
        "The advice for the counted steps.",
        (
            ("id", "Rule."),
            ("title", "What it found."),
            ("severity", "high, medium, low or info."),
            ("ns_per_step", "Most that it can save per step."),
            ("step_ratio", "Of the step."),
            ("place", "Frame of your code."),
            ("text", "Evidence and remedy."),
            ("action", "What to do."),
        ),
        _findings,
    ),
    "evidence": MadeTable(
        "Events behind the findings.",
        (
            ("finding", "Id of the finding."),
            ("slice", "Number in ids of events."),
            ("host", "Row of host."),
            ("device", "Row of device."),
            ("name", "Name of the event."),
            *_TIMES,
        ),
        _evidence,
    ),
    "threads": MadeTable(
        "Host threads.",
        (("thread", "As in host."), ("is_main", "It runs the steps.")),
        _threads,
    ),
    "streams": MadeTable(
        "Streams of devices.",
        (("device", "As in device."), ("stream", "As in device.")),
        _streams,
    ),
    "devices": MadeTable(
        "Devices of the file, with totals of the whole recording.",
        (
            ("device", "As in device."),
            ("name", "Model."),
            ("vendor", "Maker."),
            ("memory_bytes", "Size of its memory."),
            ("used", "It has activity here."),
            *_TOTALS.items(),
        ),
        _devices,
    ),
    "recording": MadeTable(
        "Facts about the recording.",
        (("what", "The fact."), ("value", "Its value.")),
        _recording,
    ),
    "cannot_tell": MadeTable(
        "Questions that this recording cannot answer.",
        (
            ("what", "The question."),
            ("record", "Option that records it, or the reason why none does."),
        ),
        _cannot_tell,
    ),
}
"""Table → how it is made."""
