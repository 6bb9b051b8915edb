"""What does the time of a host event count as, where a device waits for the host?

By the ranges around it (the DataLoader, compilation, the optimizer, …), else by what it is itself.
Names are asked where nothing but the name tells.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I8, I32, equal, matches, median, take, where
from ...base.intervals import EMPTY, Intervals, clip, merge, union
from ...base.regex import regex
from ...trace.model import HostKind, Trace
from ..call_tree.paths import innermost
from ..facts import HeldKind
from ..host_activity import Hosts
from .model import CAUSE

# Ranges whose time is of one cause, whatever runs inside; the innermost counts.
_SCOPES: tuple[tuple[str, str], ...] = (
    ("gc", r"^Python GC\b|^<built-in (method|function) collect\b"),
    ("compile", r"\(dynamo_timed\)$|^(entire_frame_compile|backend_compile|_compile\b|compile_fx)"),
    ("compile", r"(^|/)torch/_dynamo/convert_frame\.py\(|(^|/)triton/compiler/compiler\.py\("),
    ("compile", r"^(nv|hip)rtcCompile"),
    ("profiler", r"(^|/)torch/(autograd/profiler\w*|profiler/\w+)\.py\(\d+\): (?!__call__)"),
    ("optimizer", r"^Optimizer\.(step|zero_grad)\b"),
    ("communication", r"^gloo:|^mpi:|^c10d::(barrier|monitored_barrier)|wait_tensor$"),
    ("communication", r"^<built-in method (wait|synchronize) of [\w.]*(c10d|Work)"),
)
_SCOPE_PATTERNS = tuple((CAUSE[name], regex(text)) for name, text in _SCOPES)
_ALLOCATES = regex(
    r"^(cuda|cu|hip|musa)(Mem)?(Malloc|Free|Alloc|HostAlloc|HostFree|HostMalloc)|"
    r"^(\w+@)?aclrt(Malloc|Free)"
)
LOADS_CODE = regex(r"^(cu|hip)(Module|Library)Load|^cuda(Library|Module)Load")
LOADING = regex(r"(Lazy Function|Runtime Triggered Module) Loading")
"""The recorder's own events about the driver loading code."""

# What a kind of event counts as without a range around it that tells, and what it is called.
_OF_KIND: dict[HostKind, tuple[str, HeldKind]] = {
    HostKind.OP: ("dispatch", "op"),
    HostKind.ANNOTATION: ("uninstrumented", "annotation"),
    HostKind.PYTHON: ("python", "python"),
    HostKind.MODULE: ("python", "python"),
    HostKind.RUNTIME: ("launch", "runtime"),
    HostKind.OVERHEAD: ("profiler", "other"),
    HostKind.OTHER: ("dispatch", "other"),
}
_CAUSE_OF_KIND = np.zeros(max(_OF_KIND) + 1, np.int8)
_CAUSE_OF_KIND[list(_OF_KIND)] = [CAUSE[name] for name, _ in _OF_KIND.values()]

FIRST_CALL_NS, FIRST_ALLOCATION_NS = 1_000_000, 50_000_000
FIRST_CALL_RATIO = 20  # so many times as long as the median of the later ones of its name
# Without later ones: what starts a process, where no device has worked yet.
_STARTS = regex(
    r"^(cuda|cu|hip|musa)(Free|Init|SetDevice|GetDevice|DeviceGetStreamPriorityRange|CtxCreate"
    r"|DevicePrimaryCtx|StreamCreate|EventCreate|LaunchKernel|ModuleLoad|LibraryLoad)"
)

_BEGINS, _ENDS, _INSIDE = 1, 2, 3
_CAPTURE_BEGIN = regex(r"^(cuda|cu|hip)(Stream|ThreadExchangeStream)BeginCapture")
_CAPTURE_END = regex(r"^(cuda|cu|hip)(StreamEndCapture|GraphInstantiate)")
# Frames of the capture itself: entering it waits for the device and collects garbage.
_CAPTURE_FRAME = regex(r"torch/cuda/graphs\.py\(\d+\): (__enter__|__exit__|capture_\w+)$")


class HostCauses:
    """The causes of single host events of a trace; made once, when first asked for."""

    def __init__(self, trace: Trace, hosts: Hosts) -> None:
        self._trace, self._hosts = trace, hosts
        self._captured: dict[int, Intervals] = {}
        self._names: dict[int, tuple[int, float | None]] = {}  # see _of_name

    def of(self, rows: NDArray[np.integer]) -> I8:
        """The cause that the time of each of these rows counts as."""
        trace, hosts = self._trace, self._hosts
        cause = take(_CAUSE_OF_KIND, take(trace.host.kind.view(np.uint8), rows))
        scope = take(self._scope, rows)
        around = scope >= 0
        cause[around] = scope[around]
        if not self._has_device:
            # As a part of the step: of such an event it is not known what ran.
            others = where(~around & equal(take(trace.host.kind, rows), HostKind.OTHER))
            cause[others] = CAUSE["uninstrumented"]
        # A call that waits is one within the optimizer and within a collective, too.
        mild = ~around | (scope == CAUSE["optimizer"]) | (scope == CAUSE["communication"])
        calls = where(mild & take(hosts.runtime, rows))
        names = take(trace.host.name, take(rows, calls))
        blocks = take(hosts.blocking, take(rows, calls))
        cause[calls[blocks]] = CAUSE["blocking"]
        strings = trace.strings
        for pattern, name in ((_ALLOCATES, "allocator"), (LOADS_CODE, "first_launch")):
            cause[calls[matches(strings, names, pattern)]] = CAUSE[name]
        self._mark_first_calls(take(rows, calls), calls, cause)
        cause[take(hosts.in_loader, rows)] = CAUSE["dataloader"]
        result: I8 = cause.astype(np.int8)
        return result

    def _mark_first_calls(
        self, rows: NDArray[np.integer], at: I32, cause: NDArray[np.int8]
    ) -> None:
        """Long calls that come for the first time start the process."""
        host = self._trace.host
        mild = np.where(cause[at] == CAUSE["allocator"], FIRST_ALLOCATION_NS, FIRST_CALL_NS)
        for place in np.flatnonzero(take(host.dur, rows) >= mild).tolist():
            row = int(rows[place])
            code = int(host.name[row])
            earliest, later = self._of_name(code)
            if host.ts[row] != earliest:
                continue
            dur = int(host.dur[row])
            if self._hosts.blocking[row]:  # what it waits for is not its own time
                dur -= self._worked_ns(earliest, dur)
            if later is None:
                known = _STARTS.match(self._trace.strings[code]) is not None
                starts = known and earliest < self._first_work
            else:
                starts = FIRST_CALL_RATIO * later <= dur
            if starts and dur >= mild[place]:
                cause[at[place]] = CAUSE["start_up"]

    def _worked_ns(self, ts: int, dur: int) -> int:
        """Nanoseconds of this time in which any device worked."""
        device = self._trace.device
        rows = where((device.ts < ts + dur) & (device.end > ts))
        return clip(union(device.ts[rows], device.end[rows]), ts, ts + dur).total_ns

    def _of_name(self, code: int) -> tuple[int, float | None]:
        """Start of the first event of a name, and the median duration of the later ones."""
        found = self._names.get(code)
        if found is None:
            alike = where(self._trace.host.name == code)
            ts, dur = take(self._trace.host.ts, alike), take(self._trace.host.dur, alike)
            first = int(ts.argmin())
            later = median(np.delete(dur, first)) if len(dur) > 1 else None
            found = self._names[code] = int(ts[first]), later
        return found

    @cached_property
    def _first_work(self) -> int:
        """When any device began to work."""
        return int(self._trace.device.ts.min(initial=np.iinfo(np.int64).max))

    @cached_property
    def _has_device(self) -> bool:
        return any(one.used for one in self._trace.devices)

    def kind(self, row: int) -> HeldKind:
        """The kind of an event that held a device."""
        if self._hosts.blocking[row]:
            return "blocking"
        return _OF_KIND[HostKind(int(self._trace.host.kind[row]))][1]

    @cached_property
    def _scope(self) -> I8:
        """The cause that the innermost range around each row says, −1 without one."""
        host = self._trace.host
        own = take(self._hosts.ask_names(_scope_of, np.int8) - np.int8(1), host.name)
        if not self._has_device:
            # Without a device a collective is work of the host, whatever its back end.
            own[self._hosts.collective & ~self._hosts.under_way] = CAUSE["communication"]
        scope: I8 = innermost(own, host.parent)
        scope[self._hosts.closures.rows & (scope == CAUSE["optimizer"])] = -1
        return scope

    @cached_property
    def loading(self) -> Intervals:
        """When the driver loaded code, by the recorder's own events."""
        host = self._trace.host
        rows = np.flatnonzero(equal(host.kind, HostKind.OVERHEAD))
        hit = matches(self._trace.strings, host.name[rows], LOADING)
        return union(host.ts[rows[hit]], host.ts[rows[hit]] + host.dur[rows[hit]])

    @cached_property
    def _marks(self) -> I8 | None:
        """Part of a capture by the name of each row; None where no name has one."""
        of_name = self._hosts.ask_names(_capture_mark, np.int8)
        return take(of_name, self._trace.host.name) if of_name.any() else None

    def captures(self, thread: int) -> Intervals:
        """When a thread recorded a graph: its launches put nothing on the device."""
        if thread not in self._captured:
            marks = self._marks
            found = EMPTY if marks is None else _capture_ranges(self._hosts, marks, thread)
            self._captured[thread] = found
        return self._captured[thread]


def _scope_of(name: str) -> int:
    """The cause that a range of this name says, plus 1; 0 = none."""
    return next((cause + 1 for cause, pattern in _SCOPE_PATTERNS if pattern.search(name)), 0)


def _capture_ranges(hosts: Hosts, marks: NDArray[np.int8], thread: int) -> Intervals:
    """From the begin of each capture to its end, and to the end of making the graph of it."""
    host = hosts.trace.host
    rows = slice(int(hosts.first[thread]), int(hosts.first[thread + 1]))
    if not marks[rows].any():
        return EMPTY
    found = hosts.ranges(marks >= _ENDS, [thread])
    starts = host.ts[rows][marks[rows] == _BEGINS]
    ends = marks[rows] == _ENDS
    stops = np.sort((host.ts[rows] + host.dur[rows])[ends])
    following = np.searchsorted(stops, starts, side="right")
    closed = following < len(stops)
    return merge(found, union(starts[closed], stops[following[closed]]))


def _capture_mark(name: str) -> int:
    """True if a name begins or ends the capture of a graph, or is a part of it."""
    if not ("Capture" in name or "GraphInstantiate" in name or "graphs.py" in name):
        return 0
    if _CAPTURE_BEGIN.search(name):
        return _BEGINS
    if _CAPTURE_END.search(name):
        return _ENDS
    return _INSIDE if _CAPTURE_FRAME.search(name) else 0
