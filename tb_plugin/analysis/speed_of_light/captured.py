"""Work whose sizes another source tells: a recording of a graph's capture, an engine's annotation.

A replay has kernels without ops; the launches of its capture have ops and sizes (``loans_of``).
Attention over pages has the whole pool as its argument; the engine's annotation has the lengths of
the requests. Both are added to the columns of a recording, and marked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import I32, I64, Mask, of_names, with_fields
from ...base.group_sums import first_largest, group_sums
from ...trace.link.iterations import Requests
from ..graphs.model import CaptureColumns, GraphColumns
from ..graphs.origins import Loans, loans_of, origins_of_graphs
from ..serving.model import IterationFacts
from .light import PAGED, CallTexts, StringCodes, dtype_of_lists, figures_of, kind_table
from .model import NONE, KindTable, Reason, SpeedCallTable, SpeedColumns

_NOBODY = ()


class _Lengths(Struct, frozen=True):
    """Lengths of the requests in each iteration, by the time of its work."""

    start: I64
    end: I64
    requests: tuple[tuple[Requests, Requests], ...]

    def at(self, ts: I64) -> I64:
        """The iteration that each instant lies in, −1 for none."""
        found = np.searchsorted(self.start, ts, "right") - 1
        inside = (found >= 0) & (ts < np.append(self.end, 0)[found])
        return np.where(inside, found, NONE)


def with_lengths(columns: SpeedColumns, iterations: Sequence[IterationFacts]) -> SpeedColumns:
    """The columns with the work of attention over pages, launched outside of graphs."""
    kinds, calls = columns.kinds, columns.calls
    waits = (kinds.reason == Reason.LENGTHS) & of_names(
        columns.strings, np.maximum(kinds.op, 0), PAGED.__contains__, np.bool_
    )
    rows = np.flatnonzero(waits[calls.kind])
    if not len(rows) or not iterations:
        return columns
    lengths = _lengths(iterations)
    texts = {
        int(kind): CallTexts(
            op=columns.text(kinds.op[kind]),
            dims=columns.text(kinds.shapes[kind]),
            types=columns.text(kinds.types[kind]),
            kernel=columns.text(kinds.kernel[kind]),
        )
        for kind in np.unique(calls.kind[rows]).tolist()
    }
    keys = [texts[kind] for kind in calls.kind[rows].tolist()]
    return _with_kinds(columns, rows, keys, lengths.at(calls.ts[rows]), lengths, lent=False)


def with_captured(
    columns: SpeedColumns,
    graphs: GraphColumns,
    captures: tuple[CaptureColumns, ...],
    iterations: Sequence[IterationFacts],
) -> SpeedColumns:
    """The columns with ops and sizes of work in replayed graphs, as far as captures tell them."""
    in_graph = columns.kinds.reason[columns.calls.kind[columns.work.call]] == Reason.GRAPH
    no_op: Mask = np.zeros(len(graphs.of_activity), np.bool_)
    no_op[columns.work.row[in_graph]] = True
    loans = loans_of(no_op, graphs, captures, origins_of_graphs(graphs, captures))
    if not len(loans.row):
        return columns
    merged, rows, keys = _merged(columns, captures, loans)
    lengths = _lengths(iterations)
    return _with_kinds(merged, rows, keys, lengths.at(merged.calls.ts[rows]), lengths, lent=True)


def _merged(
    columns: SpeedColumns, captures: Sequence[CaptureColumns], loans: Loans
) -> tuple[SpeedColumns, I64, list[CallTexts]]:
    """Kernels of one op in one replay as one call; the rows of these calls, and their texts."""
    work, calls = columns.work, columns.calls
    launch_call = np.concatenate([one.launches.call for one in captures])
    offset = np.cumsum([0, *(len(one.launches) for one in captures)])
    launch = loans.launch + offset[loans.capture]
    has = launch_call[launch] >= 0
    at = np.searchsorted(work.row, loans.row[has])
    launch, capture, replay = launch[has], loans.capture[has], loans.replay[has]
    key = np.stack([replay, capture, launch_call[launch].astype(np.int64)])
    _, first, call = np.unique(key, axis=1, return_index=True, return_inverse=True)
    call = call.reshape(-1)
    longest = first_largest(call, work.dur_ns[at], len(first))
    # All kernels of such a call go to the row of its longest one.
    target = work.call.copy()
    target[at] = work.call[at[longest]][call]
    used, target = np.unique(target, return_inverse=True)
    target = target.reshape(-1)
    sums = group_sums(target, work.dur_ns, len(used))
    kept = _taken(calls, used)
    merged = replace(
        columns,
        calls=with_fields(kept, measured_ns=sums.total, kernels=sums.count.astype(np.int32)),
        work=with_fields(work, call=target.astype(np.int32)),
    )
    texts = [
        _of_launch(captures[int(capture[one])], int(launch[one] - offset[capture[one]]))
        for one in longest.tolist()
    ]
    return merged, np.searchsorted(used, work.call[at[longest]]).astype(np.int64), texts


def _of_launch(capture: CaptureColumns, row: int) -> CallTexts:
    launches = capture.launches

    def text(code: int) -> str:
        return capture.strings[code] if code >= 0 else ""

    return CallTexts(
        op=text(launches.call_op[row]),
        dims=text(launches.dims[row]),
        types=text(launches.types[row]),
        strides=text(launches.strides[row]),
        values=text(launches.values[row]),
        list_dtype=dtype_of_lists(text(launches.name[row])),
        kernel=text(launches.name[row]),
    )


def _with_kinds(
    columns: SpeedColumns,
    rows: I64,
    keys: Sequence[CallTexts],
    iteration: I64,
    lengths: _Lengths,
    *,
    lent: bool,
) -> SpeedColumns:
    """The columns in which these calls have kinds of their own."""
    calls = columns.calls
    codes = StringCodes(columns.strings, shares=True)
    number: dict[tuple[CallTexts, int, int], int] = {}
    devices, batches = calls.device[rows].tolist(), iteration.tolist()
    kind = np.empty(len(rows), np.int32)
    for place, (text, device, batch) in enumerate(zip(keys, devices, batches, strict=True)):
        key = (text, device, batch if text.op in PAGED else NONE)
        kind[place] = number.setdefault(key, len(number))
    found = [
        figures_of(
            text,
            columns.peaks[device] if device >= 0 else None,
            columns.part_ratios[device] if device >= 0 else 1.0,
            lengths.requests[batch] if batch >= 0 else _NOBODY,
        )
        for text, device, batch in number
    ]
    texts = [text for text, _, _ in number]

    def coded(field: str) -> I32:
        return np.array([codes.code(getattr(one, field)) for one in texts], np.int32)

    table = kind_table(coded("op"), coded("kernel"), coded("dims"), coded("types"), found, codes)
    table = with_fields(table, lent=np.full(len(table), lent, np.int8))
    of_call = calls.kind.copy()
    of_call[rows] = len(columns.kinds) + kind
    return replace(
        columns,
        strings=codes.all(),
        kinds=_joined(columns.kinds, table),
        calls=with_fields(calls, kind=of_call),
    )


# --- tables ---------------------------------------------------------------------------------------


def _joined(first: KindTable, second: KindTable) -> KindTable:
    return KindTable(
        **{
            name: np.concatenate([getattr(first, name), getattr(second, name)])
            for name in KindTable.__struct_fields__
        }
    )


def _taken(calls: SpeedCallTable, rows: I64) -> SpeedCallTable:
    return SpeedCallTable(
        **{name: getattr(calls, name)[rows] for name in SpeedCallTable.__struct_fields__}
    )


def _lengths(iterations: Sequence[IterationFacts]) -> _Lengths:
    order = sorted(iterations, key=lambda one: one.start_ns)
    return _Lengths(
        np.array([one.start_ns for one in order], np.int64),
        np.array([one.end_ns for one in order], np.int64),
        tuple((one.context, one.generation) for one in order),
    )
