"""What was the host doing, and what kind of job is this?

``Hosts`` holds the host events with their roles as interval sets: built once, used by several
analyses. ``traits`` are the facts apart from times that the advice depends on.

``RULES`` tell the role of an event by its name: data, tried in order, the first match wins. Names
come last in classification: kinds, links and args are asked first where they exist. The rules are
only for facts that nothing but the name shows, such as a DataLoader's range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from functools import cache, cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..base import arrays
from ..base.arrays import I8, I32, distinct, equal, is_any, matches, of_names, search, take
from ..base.group_sums import group_sums
from ..base.intervals import Intervals, holds, merge, subtract, union_where
from ..base.regex import any_of, regex
from ..trace.model import DeviceClass, HostKind, Link, Trace
from .call_tree.paths import innermost
from .facts import RunTraits
from .overview.closures import Closures, closures_of
from .overview.utilization import are_eligible

# --- roles by name --------------------------------------------------------------------------------


class HostRole(IntEnum):
    """The part of a step that a host event is, beyond its kind."""

    NONE = 0
    STEP = 1  # marks a step; is no work itself
    DATALOADER = 2
    COMMUNICATION = 3
    COMPILE = 4
    OPTIMIZER = 5
    BACKWARD = 6
    BLOCKING = 7  # a runtime call that waits for the device, or may
    WAITING = 8  # a Python frame that does nothing but wait


RULES: tuple[tuple[HostRole, str], ...] = (
    (HostRole.STEP, r"^ProfilerStep#\d"),
    (HostRole.DATALOADER, r"^enumerate\(Data(Loader|Pipe)\)#"),
    # Collectives by back end, and the ops that call them.
    (HostRole.COMMUNICATION, r"^(nccl|gloo|mpi|ucc|xccl|hccl|rccl|eccl|ccl|oneccl):"),
    (HostRole.COMMUNICATION, r"^(c10d|_?c10d_functional(_autograd)?|symm_mem|torch_ccl)::"),
    (HostRole.COMMUNICATION, r"^record_param_comms$"),
    (HostRole.OPTIMIZER, r"^Optimizer\.(step|zero_grad)\b"),
    # Compilation that happens inside the window, not the calls of what was compiled before.
    (HostRole.COMPILE, r"\(dynamo_timed\)$"),
    (HostRole.COMPILE, r"^(entire_frame_compile|backend_compile|_compile\b|compile_fx)"),
    (HostRole.COMPILE, r"^((cu|hip)ModuleLoad|(nv|hip)rtcCompile)"),
    (HostRole.BACKWARD, r"^autograd::engine::evaluate_function: "),
    (HostRole.BACKWARD, r"Backward\d*$"),
    (HostRole.BACKWARD, r"run_backward\b"),  # the Python frame that holds the caller meanwhile
    # The C function behind `Work.wait`, locks, queues and processes.
    (HostRole.WAITING, r"^<built-in method (wait|acquire|poll|barrier) of (?!Tensor\b)"),
    # CUDA, HIP, MUSA; Ascend calls are written with their library before them.
    (HostRole.BLOCKING, r"^(cuda|cu|hip|musa)\w*Synchronize"),
    (
        HostRole.BLOCKING,
        r"^(cuda|cu|hip|musa)(Memcpy|MemcpyWithStream|Memcpy[DH]to[DH](_v2)?|MemcpyPeer)$",
    ),
    (
        HostRole.BLOCKING,
        r"^(cuda|cu|hip|musa)(Malloc(Host)?|Free(Host)?|Host(Alloc|Malloc|Free))(_\w+)?$",
    ),
    (HostRole.BLOCKING, r"^cuMem(Alloc|Free)(_v2)?$"),
    (HostRole.BLOCKING, r"^(\w+@)?aclrt(Synchronize|Memcpy(2d)?$|Malloc(Host)?$|Free(Host)?$)"),
    # Level Zero and SYCL, MTIA.
    (HostRole.BLOCKING, r"^((ur|pi)(QueueFinish|EventWait)|ze\w+Synchronize$)"),
    (HostRole.BLOCKING, r"^synchronize(Stream|Device|Event)?$"),
)

BACKEND_RANGE = regex(r"^(nccl|gloo|mpi|ucc|xccl|hccl|rccl|eccl|ccl|oneccl):")
"""Ranges that last as long as a collective is under way, whatever their thread does meanwhile."""

COPY_CALL = regex(r"mem_?cpy|copy", re.IGNORECASE)
"""Runtime calls that copy."""

PAGEABLE = regex(r"Pageable")
"""Copies from or to memory that the operating system may move."""

NEED_NOT_WAIT = regex(r"Pinned|[DP]to[DP]|Device -> Device")
"""Copies that can be enqueued and left to themselves."""

_PATTERNS = tuple((role, regex(pattern)) for role, pattern in RULES)


@cache
def _has_role() -> Callable[[str], bool]:
    """True if any of the rules is about a name."""
    return any_of(pattern for _, pattern in RULES)


def role_of(name: str) -> HostRole:
    """The role of one name."""
    if not _has_role()(name):
        return HostRole.NONE
    for role, pattern in _PATTERNS:
        if pattern.search(name):
            return role
    return HostRole.NONE


def roles_of(strings: Sequence[str], codes: I32) -> I8:
    """The role of each code's name; shape as ``codes``."""
    return of_names(strings, codes, role_of, np.int8)


# --- the host -------------------------------------------------------------------------------------


Mask = NDArray[np.bool_]

_ROWS = 1 << 16
_LONG_CALL_NS = 50_000  # no call that only enqueues a copy takes so long


class Hosts(Struct, frozen=True, eq=False, dict=True):
    """The host events of a trace with their roles; masks have shape (host rows,)."""

    trace: Trace
    first: NDArray[np.int64]  # row of each thread, and behind the last one the number of rows
    main: int  # the thread that runs the steps, see ``main_thread``
    role: NDArray[np.int8]  # Role
    marker: Mask  # ranges that mark steps: no work themselves
    op: Mask
    annotation: Mask
    frame: Mask  # Python frames, those of modules too
    runtime: Mask
    collective: Mask  # calls of collectives, and ranges of collectives under way
    under_way: Mask  # of those, ranges that a back end keeps open: no work of their thread
    left_open: Mask  # of those, ranges in which ops of their thread launch what computes
    loader: Mask  # of the DataLoader; kinds are not asked
    blocking: Mask  # runtime calls that wait for the device, or may; see ``_blocking``

    @cached_property
    def names(self) -> I32:
        """The codes of all names, ascending."""
        return distinct(self.trace.host.name, len(self.trace.strings))

    def ask_names(self, ask: Callable[[str], int], dtype: type[np.generic]) -> NDArray[Any]:
        """``ask(name)`` by code, of all names of host events; 0 for other codes."""
        answer = np.zeros(len(self.trace.strings), dtype)
        for code in self.names.tolist():
            answer[code] = ask(self.trace.strings[code])
        return answer

    def ranges(self, mask: Mask, threads: Iterable[int] | None = None) -> Intervals:
        """When any of the chosen events was open, on all threads or on some."""
        host = self.trace.host
        if threads is None:
            return union_where(mask, host.ts, host.dur)
        spans = [slice(int(self.first[at]), int(self.first[at + 1])) for at in threads]
        return merge(*(union_where(mask[rows], host.ts[rows], host.dur[rows]) for rows in spans))

    def with_role(self, role: HostRole) -> Mask:
        """Events of one role, whatever their kind."""
        return equal(self.role, role)

    @cached_property
    def in_loader(self) -> Mask:
        """All that runs in the DataLoader's ranges, whatever it is."""
        if not self.loader.any():
            return self.loader
        around = innermost(self.loader.view(np.int8) - np.int8(1), self.trace.host.parent)
        return np.asarray(around >= 0)

    @cached_property
    def closures(self) -> Closures:
        """Forward and backward passes that an optimizer's step calls."""
        backward = self.op & self.with_role(HostRole.BACKWARD)
        return closures_of(self.trace, self.with_role(HostRole.OPTIMIZER), backward)

    def optimizing(self, threads: Iterable[int] | None = None) -> Intervals:
        """When the optimizer worked: its ranges without the closures that they call."""
        found = self.ranges(self.with_role(HostRole.OPTIMIZER), threads)
        closures = self.closures
        if not len(closures.time):
            return found
        return merge(subtract(found, closures.time), self.ranges(closures.within, threads))


def hosts_of(trace: Trace) -> Hosts:
    """Sort the host events of a trace by kind and role."""
    host = trace.host
    role = roles_of(trace.strings, host.name)
    marker = equal(role, HostRole.STEP)
    marker[trace.steps.host[trace.steps.host >= 0]] = True
    runtime = equal(host.kind, HostKind.RUNTIME)
    collective = equal(role, HostRole.COMMUNICATION) & ~runtime
    collective[trace.collectives.host[trace.collectives.host >= 0]] = True
    role[collective] = HostRole.COMMUNICATION
    op, annotation = equal(host.kind, HostKind.OP), equal(host.kind, HostKind.ANNOTATION)
    marks = arrays.where(marker)
    op[marks] = annotation[marks] = False
    frame = is_any(host.kind, (HostKind.PYTHON, HostKind.MODULE))
    under_way = collective.copy()
    rows = arrays.where(collective)
    under_way[rows] = matches(trace.strings, host.name[rows], BACKEND_RANGE)
    threads = np.arange(len(trace.threads) + 1, dtype=host.thread.dtype)
    return Hosts(
        trace=trace,
        first=search(host.thread, threads).astype(np.int64),
        main=_main_thread(trace, op),
        role=role,
        marker=marker,
        op=op,
        annotation=annotation,
        frame=frame,
        runtime=runtime,
        collective=collective,
        under_way=under_way,
        left_open=_left_open(trace, under_way),
        loader=equal(role, HostRole.DATALOADER),
        blocking=_blocking(trace, runtime, role),
    )


def _blocking(trace: Trace, runtime: Mask, role: NDArray[np.int8]) -> Mask:
    """Runtime calls in which the host waits for the device.

    * calls whose name says so: synchronizations, plain copies, allocations;
    * calls that copy from or to pageable memory, however they are called: the driver goes through
      a buffer of its own, and the host stands by;
    * calls that copy and last until the copy has ended.

        cudaMemcpyAsync ███████████████          waits
        DtoH                        ███

    A copy that need not be waited for (pinned memory, device to device) may end within its call by
    chance: the call waits where it is long, or mostly the copy.
    """
    host, device = trace.host, trace.device
    result: Mask = equal(role, HostRole.BLOCKING)
    result &= runtime
    copies = arrays.where(
        (device.klass == DeviceClass.COPY) & (device.launch >= 0) & (device.link != Link.GRAPH)
    )
    call = device.launch[copies]
    keep = runtime[call] & matches(trace.strings, host.name[call], COPY_CALL)
    copies, call = copies[keep], call[keep]
    if not len(copies):
        return result
    names = device.name[copies]
    ts, end = device.ts[copies], device.ts[copies] + device.dur[copies]
    begun, returned = host.ts[call], host.ts[call] + host.dur[call]
    spans = (begun <= ts) & (end <= returned) & (returned > begun)
    by_chance = matches(trace.strings, names, NEED_NOT_WAIT)
    by_chance &= (returned - begun < _LONG_CALL_NS) & (2 * (end - ts) < returned - begun)
    waits = matches(trace.strings, names, PAGEABLE) | (spans & ~by_chance)
    result[call[waits]] = True
    return result


def _left_open(trace: Trace, under_way: Mask) -> Mask:
    """Ranges of collectives with computing ops below them: the host does not wait in these."""
    result = np.zeros(len(trace.host), np.bool_)
    if not under_way.any():
        return result
    computing = (trace.device.klass == DeviceClass.COMPUTE) & (trace.device.op >= 0)
    parent, climbed = trace.host.parent, np.zeros(len(trace.host), np.bool_)
    at: NDArray[np.integer] = trace.device.op[computing]
    at = arrays.distinct_values(at[_may_be_below(trace, under_way, at)])
    while len(at):
        above = parent[at]
        above = above[above >= 0]
        at = arrays.distinct_values(above[~climbed[above]])  # the way up is walked once
        climbed[at] = True
        hit = under_way[at]
        result[at[hit]] = True
        at = at[~hit]
    return result


def _may_be_below(trace: Trace, above: Mask, rows: NDArray[np.integer]) -> Mask:
    """False for host rows that begin while none of ``above`` is open, on any thread."""
    chosen = arrays.where(above)
    chosen = chosen[np.argsort(trace.host.ts[chosen], kind="stable")]
    start = trace.host.ts[chosen]
    reach = np.maximum.accumulate(start + trace.host.dur[chosen])
    ts = take(trace.host.ts, rows)
    before = search(start, ts, "right") - 1
    # Where it is −1 it reads the first one.
    possible: Mask = (before >= 0) & (ts <= take(reach, np.maximum(before, 0)))
    return possible


def main_thread(trace: Trace) -> int:
    """The thread that runs the steps, else the one with most op time; −1 when there is no event.

    Cheaper than all of ``hosts_of``.
    """
    return _main_thread(trace, None)


def _main_thread(trace: Trace, op: Mask | None) -> int:
    host = trace.host
    if not len(host):
        return -1
    marked = trace.steps.host[trace.steps.host >= 0]
    if len(marked):
        return int(np.bincount(host.thread[marked]).argmax())
    if op is None:
        op = equal(host.kind, HostKind.OP) & (roles_of(trace.strings, host.name) != HostRole.STEP)
    busy = _time_by_thread(trace, op)
    if not busy.any():
        busy = _time_by_thread(trace, np.ones(len(host), np.bool_))
    return int(busy.argmax())


def _time_by_thread(trace: Trace, mask: Mask) -> NDArray[np.int64]:
    """The exclusive time of the chosen events per thread, in ns."""
    host = trace.host
    total = np.zeros(len(trace.threads), np.int64)
    for low in range(0, len(host), _ROWS):
        part = slice(low, low + _ROWS)
        rows = np.flatnonzero(mask[part])
        time = np.bincount(host.thread[part][rows], host.self_ns[part][rows], len(total))
        total += time.astype(np.int64)
    return total


_LOADER = regex(r"^enumerate\((Data(?:Loader|Pipe))\)#(?:(.+)\.__next__)?")
_BACKEND = regex(r"^(nccl|gloo|mpi|ucc|xccl|hccl|rccl|oneccl|ccl):")
_NCCL_KERNEL = regex(r"nccl(Dev)?Kernel", re.IGNORECASE)
_KNOWN = ("nccl", "gloo", "mpi", "ucc", "xccl", "hccl")
_MOST_OPS = 8
_SHARDED = regex(r"^(FSDP::|FullyShardedDataParallel\.|fsdp::)")
_COMPILED = regex(r"^(Torch-Compiled Region|CompiledFunction|## Call CompiledFxGraph)")

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
"""Collective operation → names of calls and kernels that do it; the first match wins."""
OTHER_OPERATION = "other"
_OPERATIONS = tuple((kind, regex(text, re.IGNORECASE)) for kind, text in OPERATIONS)
_REDUCE_GRADIENTS = ("all_reduce", "reduce_scatter")

# Frames, ops and annotations of what serves models; each takes nearly all memory when it starts.
# Words without which none of its names can be, and the pattern of a name.
_SERVING: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "vLLM",
        ("vllm", "_C_cache_ops"),
        r"(^|/)vllm/\S+\.py\(|^vllm::|^_C_cache_ops::|^_vllm_\w+::",
    ),
    ("SGLang", ("sglang", "sgl_kernel"), r"(^|/)sglang/\S+\.py\(|^sgl_kernel::|^sglang::"),
    ("TensorRT-LLM", ("tensorrt_llm", "trtllm"), r"(^|/)tensorrt_llm/\S+\.py\(|^trtllm::"),
    ("LMDeploy", ("lmdeploy",), r"(^|/)lmdeploy/\S+\.py\("),
    ("TGI", ("text_generation_server",), r"(^|/)text_generation_server/\S+\.py\("),
)


def _pageable_copies(trace: Trace) -> int | None:
    """Copies from or to pageable memory; None where the file tells of no copy what memory it is."""
    copies = trace.device.klass == DeviceClass.COPY
    if trace.recording.file_format == "perfetto" and copies.any():
        return None
    return int((matches(trace.strings, trace.device.name, PAGEABLE) & copies).sum())


def traits(trace: Trace, hosts: Hosts) -> RunTraits:
    """Reads the traits of a run from its names, its metadata and its device activity."""
    host = trace.host
    names = [trace.strings[code] for code in hosts.names.tolist()]
    loader = arrays.where(hosts.loader)
    return RunTraits(
        data_parallel="DataParallel.forward" in names,
        distributed_data_parallel="DistributedDataParallel.forward" in names,
        communication_backends=_backends(trace, names),
        dataloader_class=_loader_class(trace, loader),
        dataloader_longest_ns=int(host.dur[loader].max()) if len(loader) else 0,
        dataloader_shortest_ns=int(host.dur[loader].min()) if len(loader) else 0,
        pageable_copy_count=_pageable_copies(trace),
        eligible_ops=_eligible(trace),
        backward=bool((hosts.op & hosts.with_role(HostRole.BACKWARD)).any()),
        fully_sharded=any(_SHARDED.match(name) for name in names),
        **_collective_traits(trace, hosts),
        serving=_serving(names),
        compiled=any(_COMPILED.match(name) for name in names),
        graph_launches=_graph_launches(trace),
    )


def _backends(trace: Trace, names: Sequence[str]) -> tuple[str, ...]:
    """Communication libraries that were used or that the recording names."""
    found = {match[1] for name in names if (match := _BACKEND.match(name))}
    kernels = distinct(trace.device.name, len(trace.strings)).tolist()
    if any(_NCCL_KERNEL.search(trace.strings[code]) for code in kernels):
        found.add("nccl")
    declared = _declared(trace.recording.backend, trace.recording.metadata)
    return tuple(sorted(found | {name for name in _KNOWN if name in declared}))


def _declared(backend: str | None, metadata: Mapping[str, Any]) -> str:
    """All back ends in distributedInfo, for example "cpu:gloo,cuda:nccl"."""
    info = metadata.get("distributedInfo")
    groups = info.get("pg_config") if isinstance(info, Mapping) else None
    texts = [backend or ""]
    if isinstance(groups, list):
        texts += [str(g.get("backend_config", "")) for g in groups if isinstance(g, Mapping)]
    return " ".join(texts).lower()


def _loader_class(trace: Trace, rows: np.ndarray) -> str | None:
    """The DataLoader iterator that took most time."""
    if not len(rows):
        return None
    codes = trace.host.name[rows]
    time = np.bincount(codes, trace.host.dur[rows])
    match = _LOADER.match(trace.strings[int(time.argmax() if time.any() else codes[0])])
    return (match[2] or match[1]) if match else None


def _eligible(trace: Trace) -> tuple[str, ...]:
    """Names of ops that could use tensor cores, by the time of the kernels they launched."""
    op = trace.device.op
    rows = arrays.where((op >= 0) & (trace.device.klass == DeviceClass.COMPUTE))
    if not len(rows):
        return ()
    rows = rows[are_eligible(trace, take(op, rows))]
    names = take(trace.host.name, take(op, rows))
    time = group_sums(names, take(trace.device.dur, rows), len(trace.strings)).total
    order = np.argsort(-time, kind="stable")[:_MOST_OPS]
    return tuple(trace.strings[code] for code in order if time[code] > 0)


def operation_of(name: str) -> str:
    """The operation of a collective, by the name of its call or kernel.

    >>> operation_of("ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
    'all_reduce'
    """
    return next((kind for kind, text in _OPERATIONS if text.search(name)), OTHER_OPERATION)


def _collective_traits(trace: Trace, hosts: Hosts) -> dict[str, Any]:
    """Collective operations by time, and whether they include gradients."""
    calls = trace.collectives
    device = trace.device
    of_code = {code: operation_of(trace.strings[code]) for code in set(calls.name.tolist())}
    kinds = [of_code[code] for code in calls.name.tolist()]
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
    backward = hosts.ranges(hosts.with_role(HostRole.BACKWARD) & hosts.op)
    return begun[holds(backward, trace.host.ts[begun])]


def _dtype(trace: Trace, rows: NDArray[np.int64]) -> str:
    """The data type that most of these calls send; "" where it is not recorded."""
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


def _serving(names: Sequence[str]) -> str:
    """The framework that serves a model, by names that only its own code has."""
    everything = "\n".join(names)
    possible = [
        (framework, re.compile(text))
        for framework, words, text in _SERVING
        if any(word in everything for word in words)
    ]
    for name in names if possible else ():
        for framework, text in possible:
            if text.search(name):
                return framework
    return ""


def _graph_launches(trace: Trace) -> int:
    rows = trace.device.launch[trace.device.link == Link.GRAPH]
    return len(arrays.distinct_values(rows[rows >= 0]))
