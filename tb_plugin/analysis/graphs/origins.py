"""Which call does each piece of device work come from, in replayed graphs as well?

Inside a replay no operator is recorded. A recording of the capture has the launches that became the
nodes of the graph (``captures``). ``with_origins`` adds a call for each piece of work whose launch
was found there, and credits the work to it. So every table of calls has operators, and its sums
stay: what a lent call gains, the call that replays the graph loses. Links of the recording itself
win: only work that no op launched is lent an origin.

Host time is never lent: a lent call has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import I32, I64, Mask
from ...base.group_sums import summed
from ..operators.model import CallKind, CallPaths, Calls, OperatorColumns, Stacks
from ..operators.stacks import own_frames
from ..overview.utilization import MatrixUse
from .captures import Lent, lend
from .model import NONE, WORK, CaptureColumns, GraphColumns


class GraphOrigin(Struct, frozen=True, eq=False):
    """Operators of a graph, taken from a capture; ``lent`` is None without a launch to compare."""

    graph: int
    kernel_ns: int  # of all its replays
    lent: Lent | None


class OperatorOrigins(Struct, frozen=True, eq=False):
    """Calls of the recording, then those taken from captures; and the origin of each graph."""

    operators: OperatorColumns
    graphs: tuple[GraphOrigin, ...]
    lent_ns: int  # device time that has an operator from a capture
    graph_ns: int  # device time in replays

    @property
    def ratio(self) -> float:
        """Share of the device time in replays that has an operator from a capture."""
        return self.lent_ns / self.graph_ns if self.graph_ns else 0.0


def origin_of(operators: OperatorColumns, row: int) -> tuple[int, bool]:
    """Call behind a row of the device table, −1 for none; and True if a capture recorded it."""
    call = int(operators.activities.call[row])
    return call, call >= len(operators.calls) - operators.lent_count


class Loans(Struct, frozen=True, eq=False):
    """One entry per lent piece of work."""

    row: I64  # of the device table
    capture: I64  # place in the list of recordings
    launch: I64  # row of its launches
    replay: I64  # row of the replays
    has_place: NDArray[np.bool_]  # False: several pieces are alike, and which one is not known


@lru_cache(maxsize=8)
def with_origins(
    operators: OperatorColumns, graphs: GraphColumns, captures: tuple[CaptureColumns, ...]
) -> OperatorOrigins:
    """The calls of a recording with those that recordings of its captures lend."""
    found = origins_of_graphs(graphs, captures)
    in_graph = graphs.of_activity >= 0
    graph_ns = int(operators.activities.dur_ns[in_graph].sum())
    kinds = np.append(operators.calls.kind, np.int8(CallKind.RUNTIME))
    call = operators.activities.call
    no_op = (call < 0) | (kinds[call] == CallKind.RUNTIME)  # at −1 the last one is read
    loans = loans_of(no_op, graphs, captures, found)
    if not len(loans.row):
        return OperatorOrigins(operators, found, 0, graph_ns)
    lent_ns = int(operators.activities.dur_ns[loans.row].sum())
    return OperatorOrigins(_with_calls(operators, captures, loans), found, lent_ns, graph_ns)


def batch_sizes(graphs: GraphColumns, graph: int) -> tuple[int, ...]:
    """The batch sizes that names around the launches of a graph tell."""
    sizes = graphs.replays.batch[graphs.replays.graph == graph]
    return tuple(sorted(set(sizes[sizes >= 0].tolist())))


def _of_graph(graphs: GraphColumns, graph: int, captures: Sequence[CaptureColumns]) -> GraphOrigin:
    low, high = graphs.first_member[graphs.first_node[graph : graph + 2]].tolist()
    spent = int(graphs.members.dur_ns[low:high].sum())
    batch = max(batch_sizes(graphs, graph), default=NONE)
    return GraphOrigin(graph, spent, lend(graphs, graph, batch, captures))


@lru_cache(maxsize=8)
def origins_of_graphs(
    graphs: GraphColumns, captures: tuple[CaptureColumns, ...]
) -> tuple[GraphOrigin, ...]:
    """Origin of each graph: the capture whose launches match its nodes."""
    return tuple(_of_graph(graphs, graph, captures) for graph in range(len(graphs.graphs)))


def loans_of(
    no_op: Mask,
    graphs: GraphColumns,
    captures: Sequence[CaptureColumns],
    found: Sequence[GraphOrigin],
) -> Loans:
    """The launch of each piece of work; ``no_op``: by device row, whether no op launched it."""
    rows, places, launches, replays, known = [], [], [], [], []
    members, nodes = graphs.members, graphs.nodes
    for one in found:
        if one.lent is None or not one.lent.fits:
            continue
        low, high = graphs.first_node[one.graph : one.graph + 2].tolist()
        mine = np.arange(graphs.first_member[low], graphs.first_member[high])
        mine = mine[np.isin(nodes.kind[members.node[mine]], WORK) & (members.replay[mine] >= 0)]
        launch = one.lent.launch_of_node[members.node[mine] - low].astype(np.int64)
        has = (launch >= 0) & no_op[members.row[mine]]
        mine, launch = mine[has], launch[has]
        moved, is_known = _piece(graphs, one, captures[one.lent.capture], members.replay[mine])
        rows.append(members.row[mine].astype(np.int64))
        places.append(np.full(len(mine), one.lent.capture))
        launches.append(launch + moved)
        replays.append(members.replay[mine].astype(np.int64))
        known.append(is_known)
    if not rows:
        nothing = np.zeros(0, np.int64)
        return Loans(nothing, nothing, nothing, nothing, np.zeros(0, np.bool_))
    columns = (rows, places, launches, replays, known)
    return Loans(*(np.concatenate(column) for column in columns))


def _piece(
    graphs: GraphColumns, one: GraphOrigin, capture: CaptureColumns, replay: I32
) -> tuple[I64, NDArray[np.bool_]]:
    """Offset from the compared launches to those of each replay, and True where it is known.

    Equal layers are captured one by one, with equal launches. The k-th replay of a step is the k-th
    of these captures, if a step has as many replays; else which layer it is stays unknown.
    """
    zero = np.zeros(len(replay), np.int64)
    alike = _alike(capture, one.lent)
    if len(alike) < 2:
        return zero, np.ones(len(replay), np.bool_)
    mine = np.flatnonzero(graphs.replays.graph == one.graph)
    step = graphs.replays.step[mine]
    turn, count = np.zeros(len(graphs.replays), np.int64), np.zeros(len(graphs.replays), np.int64)
    for value in np.unique(step).tolist():
        some = mine[step == value]  # in order of time
        turn[some], count[some] = np.arange(len(some)), len(some)
    fits = count[replay] == len(alike)
    first = np.searchsorted(capture.launches.sequence, alike)
    at = np.minimum(turn[replay], len(alike) - 1)
    return np.where(fits, first[at] - first[_place(capture, one.lent, alike)], zero), fits


def _alike(capture: CaptureColumns, lent: Lent | None) -> I64:
    """Captured sequences with the same launches as the matched one, which is included."""
    if lent is None:
        return np.zeros(0, np.int64)
    launches, sequences = capture.launches, capture.sequences
    own = _sequence(capture, lent)
    first = np.searchsorted(launches.sequence, np.arange(len(sequences) + 1))
    names = launches.name[first[own] : first[own + 1]]
    found = [
        one
        for one in range(len(sequences))
        if sequences.batch[one] == sequences.batch[own]
        and sequences.captured[one] == sequences.captured[own]
        and np.array_equal(launches.name[first[one] : first[one + 1]], names)
    ]
    return np.array(found, np.int64)


def _sequence(capture: CaptureColumns, lent: Lent) -> int:
    some = lent.launch_of_node[lent.launch_of_node >= 0]
    return int(capture.launches.sequence[some[0]])


def _place(capture: CaptureColumns, lent: Lent | None, alike: I64) -> int:
    return int(np.searchsorted(alike, _sequence(capture, lent))) if lent is not None else 0


# --- lent calls -----------------------------------------------------------------------------------


class _Codes:
    """The strings of a recording, to which those of captures are added."""

    def __init__(self, strings: tuple[str, ...]) -> None:
        self._codes = {text: code for code, text in enumerate(strings)}
        self._strings = list(strings)

    def of(self, strings: tuple[str, ...], codes: I32) -> I32:
        """Codes of another recording as codes here; −1 stays."""
        table: dict[int, int] = {NONE: NONE}
        for code in np.unique(codes).tolist():
            if code >= 0:
                table[code] = self.code(strings[code])
        values = np.array(sorted(table), np.int64)
        return np.array([table[one] for one in values.tolist()], np.int32)[
            np.searchsorted(values, codes)
        ]

    def code(self, text: str) -> int:
        found = self._codes.setdefault(text, len(self._strings))
        if found == len(self._strings):
            self._strings.append(text)
        return found

    def frozen(self) -> tuple[str, ...]:
        return tuple(self._strings)


def _with_calls(
    operators: OperatorColumns, captures: Sequence[CaptureColumns], loans: Loans
) -> OperatorColumns:
    codes = _Codes(operators.strings)
    count = len(loans.row)
    name, shapes, module, stack = (np.full(count, NONE, np.int32) for _ in range(4))
    stacks = operators.stacks
    for place in np.unique(loans.capture).tolist():
        mine = np.flatnonzero(loans.capture == place)
        columns, launch = captures[place], loans.launch[mine]
        launches = columns.launches
        op = np.where(launches.op[launch] >= 0, launches.op[launch], NONE)
        name[mine] = codes.of(columns.strings, op)
        shapes[mine] = codes.of(columns.strings, launches.shapes[launch])
        known = loans.has_place[mine]
        module[mine] = codes.of(
            columns.strings, np.where(known, launches.module[launch], np.int32(NONE))
        )
        below = launches.stack[launch]
        stack[mine] = np.where(known & (below >= 0), below + len(stacks), NONE)
        stacks = Stacks(
            np.append(
                stacks.parent,
                np.where(columns.stacks.parent >= 0, columns.stacks.parent + len(stacks), NONE),
            ).astype(np.int32),
            np.append(stacks.frame, codes.of(columns.strings, columns.stacks.frame)),
        )
    # Work whose launch lies in no op stays with the call that replays.
    kept = np.flatnonzero((name >= 0) & (operators.activities.call[loans.row] >= 0))
    return _appended(
        operators, loans.row[kept], codes.frozen(), stacks,
        {"name": name[kept], "shapes": shapes[kept], "module": module[kept], "stack": stack[kept]},
    )  # fmt: skip


def _appended(
    operators: OperatorColumns,
    row: I64,
    strings: tuple[str, ...],
    stacks: Stacks,
    told: Mapping[str, I32],
) -> OperatorColumns:
    """The columns with a call for each of these pieces of device work."""
    calls, activities = operators.calls, operators.activities
    by = activities.call[row].astype(np.int64)  # the call that replays
    dur = activities.dur_ns[row]
    tensor = np.where(activities.tensor_core[row] == MatrixUse.YES, dur, 0)
    paths, path = _paths(operators.paths, calls.path[by], told["name"])
    zero, none = np.zeros(len(row), np.int64), np.full(len(row), NONE, np.int32)
    lent: dict[str, NDArray[np.generic]] = {
        **told,
        "host": calls.host[by],
        "kind": np.full(len(row), CallKind.OP, np.int8),
        "thread": calls.thread[by],
        "step": activities.step[row],
        "ts": calls.ts[by],
        "total_ns": zero,
        "self_ns": zero,
        "device_total_ns": dur,
        "device_self_ns": dur,
        "tensor_core_total_ns": tensor,
        "tensor_core_self_ns": tensor,
        "kernels": np.ones(len(row), np.int32),
        "types": none,
        "path": path,
        "annotation": calls.annotation[by],
        "owner": np.append(own_frames(stacks, strings), np.int32(NONE))[told["stack"]],
        "flops": np.full(len(row), np.nan),
    }
    own: dict[str, NDArray[np.generic]] = {
        "device_self_ns": calls.device_self_ns - _moved(by, dur, len(calls)),
        "tensor_core_self_ns": calls.tensor_core_self_ns - _moved(by, tensor, len(calls)),
        "kernels": calls.kernels - np.bincount(by, minlength=len(calls)).astype(np.int32),
    }
    columns = {
        field: np.append(own.get(field, getattr(calls, field)), lent[field]).astype(
            getattr(calls, field).dtype
        )
        for field in Calls.__struct_fields__
        if field != "frames_ns"
    }
    frames = calls.frames_ns
    call = activities.call.copy()
    call[row] = len(calls) + np.arange(len(row), dtype=np.int32)
    return replace(
        operators,
        strings=strings,
        calls=Calls(frames_ns=np.append(frames, zero) if len(frames) else frames, **columns),
        stacks=stacks,
        paths=paths,
        activities=replace(activities, call=call),
        lent_count=len(row),
    )


def _moved(by: I64, ns: I64, count: int) -> I64:
    return summed(ns.astype(np.int64), by.astype(np.int32), count)


def _paths(paths: CallPaths, around: I32, name: I32) -> tuple[CallPaths, I32]:
    """The paths with one for each operator below the call that replays it."""
    key = around.astype(np.int64) << 32 | name
    values, index = np.unique(key, return_inverse=True)
    parent, code = (values >> 32).astype(np.int32), (values & 0xFFFFFFFF).astype(np.int32)
    found = CallPaths(
        np.append(paths.parent, parent).astype(np.int32),
        np.append(paths.name, code).astype(np.int32),
        np.append(paths.kind, np.full(len(values), CallKind.OP)).astype(np.int8),
    )
    return found, (len(paths) + index).astype(np.int32)
