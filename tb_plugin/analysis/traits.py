"""What kind of job is this? The facts that advice asks for apart from times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trace.model import DeviceClass, Link, Trace
from .facts import RunTraits
from .gauges import are_eligible
from .hosts import Hosts
from .names import PAGEABLE, Role, distinct, matches, of_names

_LOADER = re.compile(r"^enumerate\((Data(?:Loader|Pipe))\)#(?:(.+)\.__next__)?")
_BACKEND = re.compile(r"^(nccl|gloo|mpi|ucc|xccl|hccl|rccl|oneccl|ccl):")
_NCCL_KERNEL = re.compile(r"nccl(Dev)?Kernel", re.IGNORECASE)
_KNOWN = ("nccl", "gloo", "mpi", "ucc", "xccl", "hccl")
_MOST_OPS = 8
_SHARDED = re.compile(r"^(FSDP::|FullyShardedDataParallel\.|fsdp::)")
_COMPILED = re.compile(r"^(Torch-Compiled Region|CompiledFunction|## Call CompiledFxGraph)")

OPERATIONS: tuple[tuple[str, str], ...] = (
    ("experts", r"::ep::|deep_ep|moe_(dispatch|combine)"),
    ("reduce_scatter", r"reduce_?scatter"),
    ("all_reduce", r"all_?reduce"),
    ("all_gather", r"all_?gather"),
    ("all_to_all", r"all_?to_?all"),
    ("broadcast", r"broadcast"),
    ("send_recv", r"send|recv|p2p"),
    ("barrier", r"barrier"),
)
"""What a collective does → names of calls and kernels that do it; the first match wins."""
OTHER_OPERATION = "other"
_OPERATIONS = tuple((kind, re.compile(text, re.IGNORECASE)) for kind, text in OPERATIONS)
_REDUCE_GRADIENTS = ("all_reduce", "reduce_scatter")

# Frames, ops and annotations of what serves models; each takes nearly all memory when it starts.
_SERVING: tuple[tuple[str, str], ...] = (
    ("vLLM", r"(^|/)vllm/\S+\.py\(|^vllm::|^_C_cache_ops::|^_vllm_\w+::"),
    ("SGLang", r"(^|/)sglang/\S+\.py\(|^sgl_kernel::|^sglang::"),
    ("TensorRT-LLM", r"(^|/)tensorrt_llm/\S+\.py\(|^trtllm::"),
    ("LMDeploy", r"(^|/)lmdeploy/\S+\.py\("),
    ("TGI", r"(^|/)text_generation_server/\S+\.py\("),
)

_SERVES = tuple((framework, re.compile(text)) for framework, text in _SERVING)


def traits(trace: Trace, hosts: Hosts) -> RunTraits:
    """Reads the traits of a run from its names, its metadata and its device activity."""
    host = trace.host
    names = {trace.strings[code] for code in distinct(host.name, len(trace.strings))}
    loader = np.flatnonzero(hosts.loader)
    pageable = matches(trace.strings, trace.device.name, PAGEABLE)
    pageable &= trace.device.klass == DeviceClass.COPY
    return RunTraits(
        data_parallel="DataParallel.forward" in names,
        distributed_data_parallel="DistributedDataParallel.forward" in names,
        communication_backends=_backends(trace, names),
        dataloader_class=_loader_class(trace, loader),
        dataloader_longest_ns=int(host.dur[loader].max()) if len(loader) else 0,
        dataloader_shortest_ns=int(host.dur[loader].min()) if len(loader) else 0,
        pageable_copy_count=int(pageable.sum()),
        eligible_ops=_eligible(trace),
        backward=bool((hosts.with_role(Role.BACKWARD) & hosts.op).any()),
        fully_sharded=any(_SHARDED.match(name) for name in names),
        **_collective_traits(trace, hosts),
        serving=_serving(trace),
        compiled=any(_COMPILED.match(name) for name in names),
        graph_launches=_graph_launches(trace),
    )


def _backends(trace: Trace, names: set[str]) -> tuple[str, ...]:
    """Communication libraries seen at work or named by the recording."""
    found = {match[1] for name in names if (match := _BACKEND.match(name))}
    kernels = distinct(trace.device.name, len(trace.strings))
    if any(_NCCL_KERNEL.search(trace.strings[code]) for code in kernels):
        found.add("nccl")
    declared = _declared(trace.recording.backend, trace.recording.metadata)
    return tuple(sorted(found | {name for name in _KNOWN if name in declared}))


def _declared(backend: str | None, metadata: Mapping[str, Any]) -> str:
    """Everything distributedInfo says of back ends, for example "cpu:gloo,cuda:nccl"."""
    info = metadata.get("distributedInfo")
    groups = info.get("pg_config") if isinstance(info, Mapping) else None
    texts = [backend or ""]
    if isinstance(groups, list):
        texts += [str(g.get("backend_config", "")) for g in groups if isinstance(g, Mapping)]
    return " ".join(texts).lower()


def _loader_class(trace: Trace, rows: np.ndarray) -> str | None:
    """The iterator of the DataLoader that took most time."""
    if not len(rows):
        return None
    codes = trace.host.name[rows]
    time = np.bincount(codes, trace.host.dur[rows])
    match = _LOADER.match(trace.strings[int(time.argmax() if time.any() else codes[0])])
    return (match[2] or match[1]) if match else None


def _eligible(trace: Trace) -> tuple[str, ...]:
    """Names of ops that could use tensor cores, by the time of the kernels they launched."""
    op = trace.device.op
    rows = np.flatnonzero((op >= 0) & (trace.device.klass == DeviceClass.COMPUTE))
    if not len(rows):
        return ()
    rows = rows[are_eligible(trace, op[rows])]
    time = np.bincount(trace.host.name[op[rows]], trace.device.dur[rows])
    order = np.argsort(-time, kind="stable")[:_MOST_OPS]
    return tuple(trace.strings[code] for code in order if time[code] > 0)


def operation_of(name: str) -> str:
    """What a collective does, by the name of its call or kernel.

    >>> operation_of("ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
    'all_reduce'
    """
    return next((kind for kind, text in _OPERATIONS if text.search(name)), OTHER_OPERATION)


def _collective_traits(trace: Trace, hosts: Hosts) -> dict[str, Any]:
    """What the ranks exchange, by time, and whether gradients are a part of it."""
    calls = trace.collectives
    device = trace.device
    kinds = [operation_of(trace.strings[int(code)]) for code in calls.name]
    spent: dict[str, int] = {}
    running = np.flatnonzero(device.klass == DeviceClass.COMMUNICATION)
    if len(running):
        number = {kind: i for i, (kind, _) in enumerate(OPERATIONS)}
        by_name = of_names(
            trace.strings,
            device.name[running],
            lambda name: number.get(operation_of(name), len(number)),
            np.int8,
        )
        kind_of = np.full(len(device), len(number), np.int8)
        kind_of[running] = by_name
        for kind, rows in zip(kinds, calls.device_rows, strict=True):
            if kind in number and len(rows):
                kind_of[rows] = number[kind]
        time = np.bincount(kind_of[running], device.dur[running], len(number) + 1)
        spent = dict(zip([*number, OTHER_OPERATION], map(int, time), strict=True))
    else:
        for kind, row in zip(kinds, calls.host, strict=True):
            spent[kind] = spent.get(kind, 0) + int(trace.host.dur[row])
    of_gradients = _during_backward(trace, hosts, running, kinds)
    return {
        "collective_ns": {kind: ns for kind, ns in spent.items() if ns},
        "gradient_collectives": bool(len(of_gradients)),
        "gradient_dtype": _dtype(trace, of_gradients),
    }


def _during_backward(
    trace: Trace, hosts: Hosts, running: NDArray[np.intp], kinds: Sequence[str]
) -> NDArray[np.int64]:
    """Host rows of reductions that began while autograd ran: their calls, else their launches."""
    rows = [int(row) for kind, row in zip(kinds, trace.collectives.host, strict=True)
            if kind in _REDUCE_GRADIENTS]  # fmt: skip
    launch = trace.device.launch[running]
    reduces = of_names(
        trace.strings,
        trace.device.name[running],
        lambda name: operation_of(name) in _REDUCE_GRADIENTS,
        np.bool_,
    )
    begun = np.array([*rows, *launch[reduces & (launch >= 0)].tolist()], np.int64)
    if not len(begun):
        return begun
    backward = hosts.ranges(hosts.with_role(Role.BACKWARD) & hosts.op)
    ts = trace.host.ts[begun]
    at = np.searchsorted(backward.start, ts, side="right") - 1
    inside = at >= 0
    inside[inside] = ts[inside] < backward.end[at[inside]]
    return begun[inside]


def _dtype(trace: Trace, rows: NDArray[np.int64]) -> str:
    """The type of what most of these calls send; "" where the recorder does not write it."""
    column = trace.host.args.get("collective_dtype")
    if column is None or not len(rows):
        return ""
    # A call's arguments stand on its own row or on one below it.
    low, high = trace.host.ts[rows], trace.host.ts[rows] + trace.host.dur[rows]
    ts = trace.host.ts[column.row]
    order = np.argsort(ts, kind="stable")
    at = np.searchsorted(ts[order], low, side="left")
    known = at < len(order)
    known[known] = ts[order][at[known]] <= high[known]
    codes = column.value[order[at[known]]]
    return trace.strings[int(np.bincount(codes).argmax())] if len(codes) else ""


def _serving(trace: Trace) -> str:
    """The framework that serves a model here, by what only its own code is named."""
    for name in (trace.strings[code] for code in distinct(trace.host.name, len(trace.strings))):
        for framework, text in _SERVES:
            if text.search(name):
                return framework
    return ""


def _graph_launches(trace: Trace) -> int:
    rows = trace.device.launch[trace.device.link == Link.GRAPH]
    return len(np.unique(rows[rows >= 0]))
