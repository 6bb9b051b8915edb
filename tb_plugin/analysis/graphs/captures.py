"""Which operators launched the kernels of a graph, by a recording made while it was captured?

While a graph is captured nothing runs: the recorder sees ops, their shapes and stacks, and calls
that launch. A replay has kernels without ops. Where both have kernels of the same names in the same
order, each kernel takes the op of its launch. HIP writes the kernel's name beside the launch; where
it is not written (CUDA), work of the same recording that ran at once, such as the warm-up before
a capture, stands for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from ...base.alignment import align
from ...base.arrays import I32, I64, Sparse, is_any, matches, of_names
from ...base.regex import regex
from ...trace.link.iterations import batch_of
from ...trace.model import DeviceKind, HostKind, Link, Trace
from ..call_tree.paths import call_paths, innermost
from ..modules.sources import module_rows
from ..operators.calls import spread
from ..operators.model import Stacks
from ..operators.stacks import add_written_stacks
from ..speed_of_light.light import has_model
from .model import (
    NONE,
    CaptureColumns,
    GraphColumns,
    LaunchTable,
    NodeKind,
    SequenceTable,
)
from .replays import coded

LEAST_SHARE = 0.9
"""Share of a graph's kernel time that must find its launch before operators are taken over."""
MOST_PLACES = 20_000  # of a sequence: longer ones are not aligned

_BEGIN = regex(r"StreamBeginCapture")
_END = regex(r"StreamEndCapture")
_LAUNCH = regex(r"Launch\w*Kernel|LaunchKernel")
_SUFFIX = " [clone .kd]"
_ARGUMENTS = {
    "dims": "input_dims",
    "types": "input_types",
    "strides": "input_strides",
    "values": "concrete_inputs",
}


def captures_of(trace: Trace) -> CaptureColumns:
    """All launches of a recording that may have become nodes of graphs, in sequences."""
    host = trace.host
    count = len(host)
    captured, captures = _captured(trace)
    name = _kernel_names(trace, captured >= 0)
    launching = (host.kind == HostKind.RUNTIME) & matches(trace.strings, host.name, _LAUNCH)
    unnamed = int(np.count_nonzero(launching & (captured >= 0) & (name < 0)))
    rows = np.flatnonzero(name >= 0)
    own = np.full(count, NONE, np.int32)
    marked = np.flatnonzero(host.kind == HostKind.ANNOTATION)
    sizes = np.full(count, NONE, np.int32)
    sizes[marked] = of_names(trace.strings, host.name[marked], batch_of, np.int32)
    own[sizes >= 0] = np.flatnonzero(sizes >= 0)
    around = innermost(own, host.parent)
    batch = np.where(around >= 0, sizes[around], NONE)
    # Captures one by one; what ran at once by the range around it that tells a batch size.
    code = coded(captured[rows], np.where(captured[rows] >= 0, NONE, around[rows]))
    order = np.lexsort((host.ts[rows], code))
    rows, code = rows[order], code[order]
    first = np.flatnonzero(np.diff(code, prepend=-1))
    strings, stacks, launches = _launches(trace, rows, code, name)
    return CaptureColumns(
        strings=strings,
        sequences=SequenceTable(
            batch=batch[rows[first]].astype(np.int32),
            captured=(captured[rows[first]] >= 0).astype(np.int8),
        ),
        launches=launches,
        stacks=stacks,
        captures=captures,
        unnamed=unnamed,
    )


def _captured(trace: Trace) -> tuple[I32, int]:
    """The capture that each host row lies in, −1 for none; and how many captures there are."""
    host = trace.host
    result = np.full(len(host), NONE, np.int32)
    runtime = host.kind == HostKind.RUNTIME
    begins = runtime & matches(trace.strings, host.name, _BEGIN)
    edge = np.flatnonzero(begins | (runtime & matches(trace.strings, host.name, _END)))
    number = 0
    # Rows are in order by thread and time: a begin holds until the next edge of its thread.
    for at, low in enumerate(edge.tolist()):
        if not begins[low]:
            continue
        thread_end = int(np.searchsorted(host.thread, host.thread[low], side="right"))
        high = int(edge[at + 1]) if at + 1 < len(edge) else thread_end
        result[low : min(high, thread_end)] = number
        number += 1
    return result, number


def _kernel_names(trace: Trace, captured: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> I32:
    """By host row the name of the kernel that the call launches, −1: as written, or as it ran."""
    host, device = trace.host, trace.device
    result = np.full(len(host), NONE, np.int32)
    ran = np.flatnonzero(
        is_any(device.kind, (DeviceKind.KERNEL, DeviceKind.OTHER))
        & (device.link == Link.CORRELATION)
        & (device.launch >= 0)
    )[::-1]
    result[device.launch[ran]] = device.name[ran]
    written: Sparse | None = host.args.get("kernel")
    if written is not None:
        inside = captured[written.row]
        result[written.row[inside]] = written.value[inside]
    return result


def _calls(trace: Trace) -> I32:
    """By host row the innermost op with a model around it; without one the innermost op; −1."""
    host = trace.host
    every = np.arange(len(host), dtype=np.int32)
    is_op = host.kind == HostKind.OP
    op = innermost(np.where(is_op, every, np.int32(NONE)), host.parent)
    modelled = is_op & of_names(trace.strings, host.name, has_model, np.bool_)
    found = innermost(np.where(modelled, every, np.int32(NONE)), host.parent)
    return np.where(found >= 0, found, op).astype(np.int32)


def _launches(
    trace: Trace, rows: I64, code: I64, name: I32
) -> tuple[tuple[str, ...], Stacks, LaunchTable]:
    host = trace.host
    every = np.arange(len(host), dtype=np.int32)
    op = innermost(np.where(host.kind == HostKind.OP, every, np.int32(NONE)), host.parent)[rows]
    frame = is_any(host.kind, (HostKind.PYTHON, HostKind.MODULE))
    above, frames, around = call_paths(frame, host.name, host.parent)
    strings, stacks, stack = add_written_stacks(
        trace.strings, Stacks(above, frames), around, host.args.get("call_stack")
    )
    modules = np.where(module_rows(trace), host.name, np.int32(NONE))
    known = op >= 0
    shapes = np.full(len(rows), NONE, np.int32)
    shapes[known] = spread(host.args.get("input_dims"), len(host))[op[known]]
    of_op = np.full(len(rows), NONE, np.int32)
    of_op[known] = host.name[op[known]]
    call = _calls(trace)[rows]
    own = stack[rows]
    own[known] = np.where(own[known] >= 0, own[known], stack[op[known]])
    launches = LaunchTable(
        sequence=code.astype(np.int32),
        name=name[rows],
        op=of_op,
        shapes=shapes,
        module=innermost(modules, host.parent)[rows],
        stack=own.astype(np.int32),
        call=call,
        call_op=np.append(host.name, np.int32(NONE))[call],
        **{
            key: np.append(spread(host.args.get(name), len(host)), np.int32(NONE))[call]
            for key, name in _ARGUMENTS.items()
        },
    )
    return strings, stacks, launches


# --- a graph and a capture ------------------------------------------------------------------------


class Lent(Struct, frozen=True, eq=False):
    """The best fitting sequence of launches for a graph, and the operators taken from it.

    ``ratio`` is the part of the graph's kernel time whose launch was found.
    """

    capture: int  # place in the list of recordings
    batch: int
    captured: bool
    ratio: float
    matched: int  # kernels of the graph …
    kernels: int  # … of so many
    launch_of_node: I32  # by node of the graph: row of the launches, −1

    @property
    def fits(self) -> bool:
        """True if enough nodes match to trust the order of the rest."""
        return self.ratio >= LEAST_SHARE


def lend(
    graphs: GraphColumns, graph: int, batch: int, captures: Sequence[CaptureColumns]
) -> Lent | None:
    """The sequence that explains most kernel time of a graph; None where there is none to compare.

    Sequences of the same batch size are compared, where there are none those of the next larger
    one (a smaller batch is padded to a captured size), and those whose size no name tells.
    """
    low, high = graphs.first_node[graph], graphs.first_node[graph + 1]
    passed = np.append(0, np.cumsum(graphs.members.dur_ns))
    spent = np.diff(passed[graphs.first_member[low : high + 1]])
    kernels = np.flatnonzero(graphs.nodes.kind[low:high] == NodeKind.KERNEL)
    if not len(kernels):
        return None
    orders = [kernels]
    numbers = graphs.nodes.number[low:high][kernels]
    if (numbers >= 0).all():
        # Ids count the order of capture; what runs at the same time may start in any order.
        orders.insert(0, kernels[np.argsort(numbers, kind="stable")])
    names = [plain_name(graphs.strings[code]) for code in graphs.nodes.name[low:high].tolist()]
    weight = {int(at): int(spent[at]) for at in kernels}
    whole = sum(weight.values())
    best: Lent | None = None
    for place, sequence in _candidates(captures, batch):
        columns = captures[place]
        first, last = np.searchsorted(columns.launches.sequence, (sequence, sequence + 1)).tolist()
        launched = [
            plain_name(columns.strings[code]) for code in columns.launches.name[first:last].tolist()
        ]
        if max(len(launched), len(kernels)) > MOST_PLACES:
            continue
        if best is not None and whole and _ceiling(names, weight, launched) <= best.ratio * whole:
            continue
        for order in orders:
            pairs = align([names[at] for at in order.tolist()], launched)
            found = sum(weight[int(order[mine])] for mine, _ in pairs)
            ratio = found / whole if whole else len(pairs) / len(kernels)
            if best is None or ratio > best.ratio:
                row = np.full(high - low, NONE, np.int32)
                for mine, theirs in pairs:
                    row[order[mine]] = first + theirs
                best = Lent(
                    capture=place,
                    batch=int(columns.sequences.batch[sequence]),
                    captured=bool(columns.sequences.captured[sequence]),
                    ratio=ratio,
                    matched=len(pairs),
                    kernels=len(kernels),
                    launch_of_node=row,
                )
    return best


def plain_name(name: str) -> str:
    """The name of a kernel without what only one of two recorders of one library writes."""
    return name.removesuffix(_SUFFIX)


def _candidates(captures: Sequence[CaptureColumns], batch: int) -> Iterable[tuple[int, int]]:
    """(recording, sequence) to compare; captured ones first."""
    every = [
        (not columns.sequences.captured[at], place, at, int(columns.sequences.batch[at]))
        for place, columns in enumerate(captures)
        for at in range(len(columns.sequences))
    ]
    every.sort()
    sizes = {size for *_, size in every if size >= max(batch, 0)}
    wanted = {NONE, min(sizes)} if batch >= 0 and sizes else {size for *_, size in every}
    if batch >= 0 and not sizes:
        wanted = {NONE}
    return [(place, at) for _, place, at, size in every if size in wanted]


def _ceiling(names: Sequence[str], weight: dict[int, int], launched: Sequence[str]) -> int:
    """The most time that could match: kernels whose names were launched often enough."""
    left = Counter(launched)
    total = 0
    for at in sorted(weight, key=lambda place: -weight[place]):
        if left[names[at]] > 0:
            left[names[at]] -= 1
            total += weight[at]
    return total
