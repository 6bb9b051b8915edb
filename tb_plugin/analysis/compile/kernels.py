"""Which nodes and lines of the user is a fused kernel made of?

Kernels of Triton are on the device. Those in C++ are ops, ``graph_0_cpp_fused_add_0``, and only
where Inductor was asked to mark them. A kernel belongs to a graph by its name; where graphs share a
name, by the compiled region around its launch. Calls of one graph are told apart by their order.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import I64, distinct
from ...base.regex import regex
from ...trace.compile_record import CompileRecord, FusedKernel
from ...trace.model import HostKind, Trace
from .model import GRAPH_MARK, MOST_KERNELS, KernelSource

_FUSED = regex(
    r"^(?:graph_\d+_)?(?P<kernel>(?:triton|cpp|cutlass|pallas)_(?:[a-z]{3}_)?fused_(?P<nodes>.+?)(?:_\d+)?)"
    r"(?:_kernel|_\d+d\w*)?$"
)
_REGION = regex(r"^Torch-Compiled Region: (?P<id>\d+/\d+)$")
_MOST_LEVELS = 64


class _Candidate(Struct, frozen=True):
    """A kernel of a graph of the record."""

    id: str
    backward: bool
    kernel: FusedKernel


def kernel_sources(
    trace: Trace, record: CompileRecord
) -> tuple[tuple[KernelSource, ...], int, int]:
    """The fused kernels of a trace, the time of all, and of those with a line."""
    known: dict[str, list[_Candidate]] = {}
    for graph in record.graphs:
        for kernel in graph.kernels:
            known.setdefault(kernel.name, []).append(
                _Candidate(graph.compilation, graph.backward, kernel)
            )
    found: dict[tuple[str, str, bool, tuple[str, ...]], KernelSource] = {}
    for name, dur, launch in _runs(trace):
        some = known.get(name, [])
        ids = [""] * len(launch) if _same_graph(some) else _regions_of(trace, launch)
        for one, part in _split(some, ids):
            source = _source(name, one, int(dur[part].sum()), len(part))
            key = name, source.id, source.backward, source.lines
            if (before := found.get(key)) is not None:
                source = replace(
                    source,
                    nodes=tuple(dict.fromkeys((*before.nodes, *source.nodes))),
                    calls=before.calls + source.calls,
                    total_ns=before.total_ns + source.total_ns,
                )
            found[key] = source
    rows = sorted(found.values(), key=lambda one: -one.total_ns)
    whole = sum(one.total_ns for one in rows)
    return tuple(rows[:MOST_KERNELS]), whole, sum(one.total_ns for one in rows if one.lines)


def _runs(trace: Trace) -> Iterable[tuple[str, I64, I64]]:
    """Name, durations and launching host rows of each fused kernel."""
    device, host = trace.device, trace.host
    strings = trace.strings
    for code in distinct(device.name, len(strings)).tolist():
        if _FUSED.match(strings[code]):
            rows = np.flatnonzero(device.name == code)
            yield strings[code], device.dur[rows], device.op[rows].astype(np.int64)
    for code in distinct(host.name, len(strings)).tolist():
        if GRAPH_MARK.match(strings[code]) and _FUSED.match(strings[code]):
            rows = np.flatnonzero((host.name == code) & (host.kind == HostKind.OP))
            yield GRAPH_MARK.sub("", strings[code]), host.dur[rows], rows.astype(np.int64)


def _regions_of(trace: Trace, rows: I64) -> list[str]:
    """The compile id of the region around each row; "" outside, as in a backward."""
    host = trace.host
    ids = [""] + [match["id"] if (match := _REGION.match(one)) else "" for one in trace.strings]
    is_region = np.array([bool(one) for one in ids])
    at, found = rows.copy(), np.zeros(len(rows), np.int64)
    for _ in range(_MOST_LEVELS):
        code = np.where(at >= 0, host.name[np.maximum(at, 0)] + 1, 0)
        found = np.where((found == 0) & is_region[code], code, found)
        at = np.where((at >= 0) & (found == 0), host.parent[np.maximum(at, 0)], -1)
        if not (at >= 0).any():
            break
    return [ids[one] for one in found.tolist()]


def _split(some: list[_Candidate], ids: list[str]) -> Iterable[tuple[_Candidate | None, list[int]]]:
    """The runs of a name by the graph that they belong to; None: which one is not known.

    A graph may call a kernel at several places, each with lines of its own: in every run of the
    graph they take turns.
    """
    is_one, parts = _same_graph(some), dict[tuple[int, ...], list[int]]()
    for row, identity in enumerate(ids):
        fits = tuple(
            i
            for i, one in enumerate(some)
            if is_one or (one.backward == (not identity) and one.id == (identity or one.id))
        )
        parts.setdefault(fits, []).append(row)
    for fits, rows in parts.items():
        calls = [some[i] for i in fits]
        if len({(one.kernel.nodes, one.kernel.lines) for one in calls}) == 1:
            yield calls[0], rows
        elif not calls or not _same_graph(calls):
            yield None, rows
        elif len(rows) % len(calls):
            yield _together(calls), rows
        else:
            yield from ((one, rows[i :: len(calls)]) for i, one in enumerate(calls))


def _same_graph(some: list[_Candidate]) -> bool:
    return len({(one.id, one.backward) for one in some}) <= 1


def _together(calls: list[_Candidate]) -> _Candidate:
    """A kernel with the nodes and lines of all its calls in a graph."""
    nodes = dict.fromkeys(node for one in calls for node in one.kernel.nodes)
    lines = dict.fromkeys(line for one in calls for line in one.kernel.lines)
    kernel = FusedKernel(calls[0].kernel.name, tuple(nodes), tuple(lines))
    return _Candidate(calls[0].id, calls[0].backward, kernel)


def _source(name: str, one: _Candidate | None, total_ns: int, calls: int) -> KernelSource:
    match = _FUSED.match(name)
    lines = [f"{file}:{line}" for file, line, _ in one.kernel.lines] if one else []
    nodes = (
        one.kernel.nodes if one and one.kernel.nodes else nodes_of(match["nodes"] if match else "")
    )
    return KernelSource(
        name=name,
        id=one.id if one else "",
        backward=bool(one and one.backward),
        nodes=tuple(nodes),
        lines=tuple(dict.fromkeys(lines)),
        calls=calls,
        total_ns=total_ns,
    )


def nodes_of(part: str) -> tuple[str, ...]:
    """The operations in a kernel's name, if the name separates them.

    >>> nodes_of("add_mul_native_layer_norm__to_copy")
    ('add', 'mul', 'native_layer_norm', '_to_copy')
    """
    found: list[str] = []
    rest = part
    while rest:
        known = next((one for one in _LONG if rest == one or rest.startswith(one + "_")), None)
        if known is None:
            head, _, tail = rest.partition("_") if not rest.startswith("_") else _private(rest)
            known, rest = head, tail
        else:
            rest = rest[len(known) + 1 :]
        if known and not known.isdecimal():
            found.append(known)
    return tuple(found)


def _private(rest: str) -> tuple[str, str, str]:
    head, _, tail = rest[1:].partition("_")
    return f"_{head}", "_", tail


_LONG = (
    "_native_batch_norm_legit_functional", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention", "native_layer_norm_backward", "native_group_norm",
    "native_layer_norm", "native_dropout_backward", "native_dropout", "nll_loss_forward",
    "nll_loss_backward", "threshold_backward", "embedding_dense_backward", "constant_pad_nd",
    "_log_softmax_backward_data", "_softmax_backward_data", "_log_softmax", "_softmax",
    "max_pool2d_with_indices_backward", "max_pool2d_with_indices", "_adaptive_avg_pool2d",
    "_unsafe_view", "_unsafe_index", "_to_copy", "index_put", "masked_fill", "scalar_tensor",
    "new_zeros", "zeros_like", "ones_like", "full_like", "empty_like", "logical_not", "logical_and",
    "logical_or", "bitwise_and", "bitwise_or", "bitwise_not", "as_strided", "select_backward",
    "slice_backward", "slice_scatter", "select_scatter", "sigmoid_backward", "silu_backward",
    "gelu_backward", "tanh_backward", "convolution_backward", "sum_to_size",
    "prepare_softmax_online",
)  # fmt: skip
