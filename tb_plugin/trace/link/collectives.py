"""What is communication: which device work, and which calls of collectives?

The class of a device activity is decided by the first evidence that there is (``classify``):

1. the category: copies and memsets;
2. collective args on the kernel itself;
3. the innermost op around its launch is a collective: communication, unless the name of the kernel
   is plainly a helper (FSDP copies into and out of its buffers inside such ops). What lies above
   that op says nothing: some back ends keep the range of a collective open while other ops run;
4. the name of the kernel, by ``NAME_RULES``;
5. none: compute.

A collective call of this rank is one row, even where a recorder wrote several events:

c10d::allreduce_ ███████████████████
record_param_comms ████████████████      one call: its outermost marked event
  nccl:all_reduce    ███████████         gives the name where the args do not
    cudaLaunchKernel   ███ → kernel      device rows

What lies below another op belongs to that op.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import (
    I8,
    I32,
    Sparse,
    cells,
    distinct,
    equal,
    is_any,
    lookup,
    put,
    take,
    where,
    where_code,
)
from ...base.regex import regex
from ..build.device import Activity
from ..build.host import Host, HostRows
from ..model import CollectiveTable, DeviceClass, DeviceKind, HostKind
from ..raw import Texts
from .flows import op_above

# --- which device work communicates ---------------------------------------------------------------


class NameRule(Struct, frozen=True):
    """A kernel whose name matches is of this class."""

    pattern: re.Pattern[str]
    klass: DeviceClass
    why: str


def _rule(pattern: str, klass: DeviceClass, why: str) -> NameRule:
    return NameRule(regex(pattern, re.IGNORECASE), klass, why)


NAME_RULES: tuple[NameRule, ...] = (
    _rule(r"(^|[^a-z])(nccl|rccl)", DeviceClass.COMMUNICATION, "NCCL or RCCL"),
    _rule(r"^hcom_|hccl", DeviceClass.COMMUNICATION, "HCCL"),
    _rule(
        r"oneccl|(^|[^a-z])xccl|ccl_[a-z]+_(kernel|collective)", DeviceClass.COMMUNICATION, "oneCCL"
    ),
    _rule(r"mscclpp?", DeviceClass.COMMUNICATION, "MSCCL"),
    _rule(
        r"cross_device_reduce|(one|two)_?shot_(all_?reduce|reduce)|custom_?all_?reduce"
        r"|quick_?reduce|allreduce_(fusion|one_?shot|two_?shot)|trtllm_allreduce",
        DeviceClass.COMMUNICATION,
        "custom all-reduce of an inference engine",
    ),
    _rule(r"multimem_|nvshmem|rocshmem|symm_mem", DeviceClass.COMMUNICATION, "symmetric memory"),
    _rule(
        r"get_dispatch_layout|(::ep|deep_ep|hybrid_ep)::(\w+::)*\w*(layout|permute|scan)",
        DeviceClass.COMPUTE,
        "counts or sorts on its own rank what will be sent",
    ),
    _rule(
        r"::ep::|deep_ep|hybrid_ep|(intra|inter)node(_ll)?::",
        DeviceClass.COMMUNICATION,
        "expert-parallel exchange",
    ),
    _rule(r"__amd_rocclr_copyBuffer", DeviceClass.COPY, "copy by a ROCm kernel"),
    _rule(r"__amd_rocclr_fillBuffer", DeviceClass.MEMSET, "fill by a ROCm kernel"),
)

# Each pattern has one of these in it: most names need no search.
_WORDS = (
    "ccl", "hcom_", "reduce", "multimem_", "shmem", "symm_mem", "dispatch_layout", "::ep", "_ep",
    "node",
)  # fmt: skip

COLLECTIVE_OPS = regex(
    r"record_param_comms$|c10d::|_?c10d_functional|(nccl|gloo|xccl|hccl|ucc|mpi):"
    r"|symm_mem::|.*(all_reduce|allreduce|all_gather|allgather|reduce_scatter|all_to_all|alltoall)",
    re.IGNORECASE,
)
RANGES = regex(r"(nccl|gloo|xccl|hccl|ucc|mpi):", re.IGNORECASE)
# Work that collectives' wrappers do beside the exchange.
HELPER_KERNELS = regex(
    r"at::native|at_cuda_detail|cub::|hipcub|rocprim|thrust::|elementwise|multi_tensor_apply"
    r"|CatArray|copy|memset|memcpy|fill|index|gather_kernel|scatter_kernel|split_with_sizes|chunk_cat"
    r"|reduce_kernel|triton_|gemm|cutlass|cublas",
    re.IGNORECASE,
)
_BY_KIND = {
    DeviceKind.KERNEL: DeviceClass.COMPUTE,
    DeviceKind.OTHER: DeviceClass.COMPUTE,
    DeviceKind.MEMCPY: DeviceClass.COPY,
    DeviceKind.MEMSET: DeviceClass.MEMSET,
}
_NO_RULE = -1


def class_of_name(name: str) -> int:
    """The class that the name of a kernel proves, −1 when it proves none."""
    lower = name.lower()
    if not any(word in lower for word in _WORDS):
        return _NO_RULE
    for rule in NAME_RULES:
        if rule.pattern.search(name):
            return int(rule.klass)
    return _NO_RULE


def classify(texts: Texts, host: Host, device: Activity, op: I32) -> I8:
    """``DeviceClass`` of every device activity; ``op`` is the host row around its launch."""
    result = take(lookup(_BY_KIND, max(DeviceKind) + 1), device.kind.view(np.uint8))
    open_ = is_any(device.kind, (DeviceKind.KERNEL, DeviceKind.OTHER))
    names = distinct(take(device.name, where(open_)), len(texts))
    # Tables by text hold 0 for what was not asked, so answers are shifted by one.
    by_name = take(texts.table(names, lambda text: class_of_name(text) + 1, np.int8), device.name)
    by_name -= 1
    known = by_name != _NO_RULE
    np.copyto(result, by_name, where=open_ & known)

    helper = texts.table(names, lambda text: HELPER_KERNELS.search(text) is not None, np.bool_)
    inside = open_ & ~known & in_collective(texts, host, op)
    result[inside & ~take(helper, device.name)] = DeviceClass.COMMUNICATION
    if (collective := device.args.get("collective")) is not None:
        marked = collective.row[open_[collective.row]]
        result[marked] = DeviceClass.COMMUNICATION
    categories = texts.table(
        device.category, lambda text: text.casefold() == "collective_comm", np.bool_
    )
    if categories.any():
        result[categories[device.category]] = DeviceClass.COMMUNICATION
    return result


def in_collective(texts: Texts, host: Host, op: I32) -> NDArray[np.bool_]:
    """True for each op that is the call of a collective; False for −1 and for ranges left open."""
    is_collective = texts.table(
        host.names, lambda text: COLLECTIVE_OPS.match(text) is not None, np.bool_
    )
    result = np.zeros(len(op), np.bool_)
    if not is_collective.any():
        return result
    asked = where(op >= 0)
    name = take(host.name, take(op, asked))
    put(result, asked, take(is_collective, name))
    is_range = texts.table(host.names, lambda text: RANGES.match(text) is not None, np.bool_)
    asked = asked[take(is_collective & is_range, name)]
    if len(asked):
        result[asked] = ~_left_open(host, is_collective)[op[asked]]
    return result


def _left_open(host: Host, is_collective: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Ops with other ops below them that are not collectives."""
    others = where(equal(host.kind, HostKind.OP) & ~is_collective[host.name])
    above = op_above(host)[others]
    result = np.zeros(len(host), np.bool_)
    result[above[above >= 0]] = True
    return result


# --- the calls ------------------------------------------------------------------------------------


PARAMETERS = "record_param_comms"
_BACKEND = regex(r"(?:nccl|gloo|xccl|hccl|ucc|mpi|rccl|eccl):(\S+)")
# Bookkeeping that is written like a collective.
_NOT_CALLS = frozenset({"wait", "init", "end"})


class MarkedRows(Struct, frozen=True, eq=False):
    """Host rows of calls of collectives, several of one call where the recorder wrote so.

    ``name`` and ``group`` are codes, −1 where a row does not tell; a call of which no row tells the
    name has ``silent``.
    """

    row: I32
    name: I32
    group: I32
    silent: int


def mark_collectives(texts: Texts, host: HostRows, args: Mapping[str, Sparse]) -> MarkedRows:
    """The rows of the host that belong to calls; operations that only they name become texts."""
    nothing = np.empty(0, np.int32)
    named_so = texts.table(host.names, _is_mark, np.bool_)
    if not named_so.any():
        return MarkedRows(nothing, nothing, nothing, -1)
    rows = where_code(host.name, named_so)
    rows = rows[is_any(host.kind[rows], (HostKind.OP, HostKind.ANNOTATION))]
    if not len(rows):
        return MarkedRows(nothing, nothing, nothing, -1)
    name = _names(texts, host.name[rows], cells(args.get("collective"), rows, -1).astype(np.int32))
    group = cells(args.get("group_name"), rows, -1).astype(np.int32)
    # Without args and without an annotation it is the wait for a call, unless nothing has either.
    return MarkedRows(rows, name, group, texts.code("wait" if (name >= 0).any() else PARAMETERS))


def find_collectives(
    texts: Texts, host: Host, told: MarkedRows, launch: I32, op: I32, klass: I8
) -> CollectiveTable:
    """Calls in the order of time, with the device activity that each launched."""
    rows = told.row
    if not len(rows):
        return _none()
    marked = np.zeros(len(host), bool)
    marked[rows] = True
    top = np.searchsorted(rows, _outermost(host, marked, rows))
    name, group = _first_of_call(told.name, top), _first_of_call(told.group, top)
    calls = np.flatnonzero(top == np.arange(len(rows)))
    said = np.where(name[calls] >= 0, name[calls], told.silent)
    calls = calls[~texts.table(said, lambda text: text in _NOT_CALLS, np.bool_)[said]]
    calls = calls[np.argsort(host.ts[rows[calls]], kind="stable")]
    call_rows = rows[calls]
    return CollectiveTable(
        host=call_rows,
        name=np.where(name[calls] >= 0, name[calls], host.name[call_rows]),
        group=group[calls],
        device_rows=_device_rows(host, marked, call_rows, launch, op, klass),
    )


def _first_of_call(code: I32, top: NDArray[np.intp]) -> I32:
    """For each marked row the first code (−1 = none) among the rows with its outermost row."""
    result = np.full(len(code), -1, np.int32)
    telling = np.flatnonzero(code >= 0)[::-1]
    result[top[telling]] = code[telling]  # of several the last that is written stays
    return result


def _none() -> CollectiveTable:
    nothing = np.empty(0, np.int32)
    return CollectiveTable(nothing, nothing, nothing, ())


def _is_mark(name: str) -> bool:
    return name == PARAMETERS or _BACKEND.match(name) is not None


def _outermost(host: Host, marked: NDArray[np.bool_], rows: I32) -> I32:
    """For each row the highest marked row among itself and its ancestors, up to any other op."""
    parent: I32 = host.nesting.parent
    top: I32 = rows.copy()
    at, place = parent[rows], np.arange(len(rows))
    while True:
        going = at >= 0
        at, place = at[going], place[going]
        if not len(at):
            return top
        hit = marked[at]
        top[place[hit]] = at[hit]
        going = hit | (host.kind[at] != HostKind.OP)
        at, place = parent[at[going]], place[going]


def _nearest(host: Host, marked: NDArray[np.bool_], rows: I32) -> I32:
    """For each row the lowest marked row among itself and its ancestors; itself where none is."""
    found: I32 = rows.copy()
    at, place = rows, np.arange(len(rows))
    while len(at):
        hit = marked[at]
        found[place[hit]] = at[hit]
        at, place = host.nesting.parent[at[~hit]], place[~hit]
        at, place = at[at >= 0], place[at >= 0]
    return found


def _names(texts: Texts, written: I32, operation: I32) -> I32:
    """Operation by the args, else by the annotation: "nccl:all_reduce" is all_reduce."""
    result: I32 = operation.copy()
    silent = np.flatnonzero(result < 0)
    names = written[silent]
    by_name = np.full(len(texts), -1, np.int32)
    used, first = np.unique(names, return_index=True)
    for code in used[np.argsort(first)].tolist():
        if match := _BACKEND.match(texts[code]):
            by_name[code] = texts.code(match[1])
    result[silent] = by_name[names]
    return result


def _device_rows(
    host: Host, marked: NDArray[np.bool_], calls: I32, launch: I32, op: I32, klass: I8
) -> tuple[I32, ...]:
    """Communication on the device below each call."""
    device = np.flatnonzero(klass == DeviceClass.COMMUNICATION).astype(np.int32)
    origin = np.where(launch[device] >= 0, launch[device], op[device])
    device, origin = device[origin >= 0], origin[origin >= 0]
    # A kernel that is known to communicate belongs to the nearest range, whatever op is in between.
    nearest = _nearest(host, marked, origin)
    top = _outermost(host, marked, nearest)
    own = marked[top]
    device, top = device[own], top[own]
    order = np.argsort(top, kind="stable")
    device, top = device[order], top[order]
    low = np.searchsorted(top, calls, side="left")
    high = np.searchsorted(top, calls, side="right")
    return tuple(device[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True))
