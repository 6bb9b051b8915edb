"""What does a recording hold as a whole: functions and operators by step, totals of each device?

Stored once per trace, so that an answer in one call reads no columns of events.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from ...base.arrays import I32, I64, ColumnTable
from ...base.artifact_spec import ArtifactSpec, opens, stores
from ...base.group_sums import sums_by
from ...base.intervals import Intervals, merge, subtract, union
from ...trace.model import DeviceClass, HostKind, Trace
from ..call_tree.paths import innermost
from ..device_work import DeviceWork, used_devices
from ..host_activity import hosts_of
from ..idle.causes import IdleCauses
from ..idle.names import HeldNames
from ..idle.places import is_own_frame
from ..steps import Windows, step_windows

STEM = "whole"
UNKNOWN = -1


class FunctionTable(ColumnTable, frozen=True, eq=False):
    """The user's functions, a row for each that ran in a step; times of threads are added.

    A step is its range on the host here: device work that it launched ends later.
    A call that recursion opened counts once in ``inclusive_ns``. ``exclusive_ns`` is without the
    user's functions that it called; what it called of libraries counts as its own.
    """

    step: I32
    name: I32  # place in ``WholeRecording.names``
    inclusive_ns: I64
    exclusive_ns: I64
    calls: I64  # calls that began in the step
    idle_ns: I64  # the busiest device was idle meanwhile; −1 without devices


class StepOperators(ColumnTable, frozen=True, eq=False):
    """Operators on the host, a row for each that began in a step; times of threads are added."""

    step: I32
    name: I32  # place in ``WholeRecording.operator_names``
    self_ns: I64
    total_ns: I64  # with what each call calls
    calls: I64


class DeviceTotals(ColumnTable, frozen=True, eq=False):
    """One device over the whole recording, outside of steps too; unions count no instant twice."""

    device: I32  # row of Trace.devices
    length_ns: I64  # of the recording
    busy_ns: I64  # union of all its work
    compute_sum_ns: I64  # kernels, without collectives
    compute_ns: I64  # … union
    communication_sum_ns: I64
    communication_ns: I64  # … union
    exposed_communication_ns: I64  # of that union: no kernel computes
    copy_sum_ns: I64
    copy_ns: I64  # … union
    launches: I64  # calls that launched its work


class WholeRecording(Struct, frozen=True, eq=False):
    """Everything that is stored."""

    names: tuple[str, ...]  # frames of the user's code, as the recorder writes them
    functions: FunctionTable
    operator_names: tuple[str, ...]
    operators: StepOperators
    devices: DeviceTotals


def whole_of(trace: Trace) -> WholeRecording:
    """The functions and totals of a trace."""
    works = used_devices(trace)
    windows = step_windows(trace)
    names, functions = _functions(trace, windows, works)
    totals = [_totals(trace, work) for work in works]
    columns = zip(*totals, strict=True) if totals else ((),) * len(DeviceTotals.__struct_fields__)
    kinds = (np.int32, *(np.int64,) * (len(DeviceTotals.__struct_fields__) - 1))
    return WholeRecording(
        names,
        functions,
        *_operators(trace, len(windows)),
        DeviceTotals(*(np.array(one, kind) for one, kind in zip(columns, kinds, strict=True))),
    )


def _totals(trace: Trace, work: DeviceWork) -> tuple[int, ...]:
    def summed(klass: DeviceClass) -> int:
        return int(work.dur[work.klass == klass].sum())

    launched = work.launch[work.is_launched]
    return (
        work.device,
        trace.end_ns,
        work.busy.total_ns,
        summed(DeviceClass.COMPUTE),
        work.compute.total_ns,
        summed(DeviceClass.COMMUNICATION),
        work.communication.total_ns,
        subtract(work.communication, work.compute).total_ns,
        summed(DeviceClass.COPY),
        work.copies.total_ns,
        len(np.unique(launched)),
    )


def _functions(
    trace: Trace, windows: Windows, works: tuple[DeviceWork, ...]
) -> tuple[tuple[str, ...], FunctionTable]:
    host, hosts = trace.host, hosts_of(trace)
    own_names = hosts.ask_names(is_own_frame, np.bool_)
    own = np.flatnonzero(own_names[host.name] & (host.kind == HostKind.PYTHON))
    if not len(own) or not len(windows):
        nothing = np.empty(0, np.int64)
        none = np.empty(0, np.int32)
        return (), FunctionTable(none, none, nothing, nothing, nothing, nothing)
    codes, name = np.unique(host.name[own], return_inverse=True)
    mark = np.full(len(host), -1, np.int32)
    mark[own] = np.arange(len(own), dtype=np.int32)
    nearest = innermost(mark, host.parent)
    above = host.parent[own]
    caller = np.where(above >= 0, nearest[np.maximum(above, 0)], -1)
    start, end = host.ts[own], host.ts[own] + host.dur[own]
    low, high = map(np.maximum.accumulate, (windows.host_start, windows.host_end))
    # Which steps each call is open in; a function around all steps is in each of them.
    first = np.searchsorted(high, start, "right")
    last = np.searchsorted(low, end, "left")
    count = np.maximum(last - first, 0)
    at = np.repeat(np.arange(len(own)), count)
    step = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count) + first[at]
    begin = np.maximum(start[at], low[step])
    until = np.maximum(np.minimum(end[at], high[step]), begin)
    groups = len(codes) * len(windows)
    key = name[at] * len(windows) + step
    length = until - begin
    top = _outermost(name, host.thread[own], start, end)[at]
    inclusive = sums_by(key[top], length[top], groups)
    called = caller[at]
    inner = called >= 0
    exclusive = sums_by(key, length, groups)
    exclusive -= sums_by(name[called[inner]] * len(windows) + step[inner], length[inner], groups)
    begun = (start[at] >= low[step]) & (start[at] < high[step])
    calls = sums_by(key[begun], np.ones(int(begun.sum()), np.int64), groups)
    idle = np.full(groups, UNKNOWN, np.int64)
    if works:
        unused = _idle_until(_idle(max(works, key=lambda work: work.busy.total_ns), windows))
        idle = sums_by(key[top], unused(until[top]) - unused(begin[top]), groups)
    kept = np.flatnonzero((inclusive > 0) | (calls > 0))
    return tuple(trace.strings[code] for code in codes.tolist()), FunctionTable(
        step=(kept % len(windows)).astype(np.int32),
        name=(kept // len(windows)).astype(np.int32),
        inclusive_ns=inclusive[kept],
        exclusive_ns=np.maximum(exclusive[kept], 0),  # a call may outlive its caller
        calls=calls[kept],
        idle_ns=idle[kept],
    )


def _operators(trace: Trace, steps: int) -> tuple[tuple[str, ...], StepOperators]:
    host = trace.host
    rows = np.flatnonzero((host.kind == HostKind.OP) & (host.step >= 0))
    # Few of all pairs of a name and a step are there.
    keys, pair = np.unique(host.name[rows] * np.int64(max(steps, 1)) + host.step[rows],
                           return_inverse=True)  # fmt: skip
    codes, name = np.unique(keys // max(steps, 1), return_inverse=True)
    return tuple(trace.strings[code] for code in codes.tolist()), StepOperators(
        step=(keys % max(steps, 1)).astype(np.int32),
        name=name.astype(np.int32),
        self_ns=sums_by(pair, host.self_ns[rows], len(keys)),
        total_ns=sums_by(pair, host.dur[rows], len(keys)),
        calls=np.bincount(pair, minlength=len(keys)).astype(np.int64),
    )


def idle_meanwhile(trace: Trace, ts: I64, dur: I64) -> I64:
    """Idle time of the busiest device, in steps, during stretches of time; −1 without devices."""
    works = used_devices(trace)
    if not works:
        return np.full(len(ts), UNKNOWN, np.int64)
    busiest = max(works, key=lambda work: work.busy.total_ns)
    unused = _idle_until(_idle(busiest, step_windows(trace)))
    return np.asarray(unused(ts + dur) - unused(ts), np.int64)


def _outermost(name: I64, thread: I32, start: I64, end: I64) -> np.ndarray:
    """Calls that lie in no other call of the same name on their thread."""
    order = np.lexsort((-end, start, thread, name))
    group = np.cumsum(
        (np.diff(name[order], prepend=-1) != 0) | (np.diff(thread[order], prepend=-1) != 0)
    )
    # Instants of one group are far behind those of the group before: one running maximum does.
    shift = group * (int(end.max()) - int(min(start.min(), 0)) + 1)
    reach = np.maximum.accumulate(end[order] + shift)
    before = np.concatenate([np.array([-1], np.int64), reach[:-1]])
    found = np.empty(len(name), np.bool_)
    found[order] = start[order] + shift >= before
    return found


def _idle(work: DeviceWork, windows: Windows) -> Intervals:
    """When a device was idle, within the steps."""
    causes = IdleCauses(HeldNames(work.trace, hosts_of(work.trace)), windows)
    unknown = merge(work.busy, causes.start_up(work).time)
    return subtract(union(windows.start, windows.end), unknown)


def _idle_until(idle: Intervals) -> Callable[[I64], I64]:
    """Idle time before an instant, so that that of any stretch is one difference."""
    length = idle.end - idle.start
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(length)])

    def until(ts: I64) -> I64:
        at = np.searchsorted(idle.start, ts, "right")
        inside = np.append(idle.end, 0)[at - 1]
        over = np.where(at > 0, np.maximum(inside - ts, 0), 0)
        return np.asarray(before[at] - over, np.int64)

    return until


make_whole = stores(whole_of, STEM)
WHOLE = ArtifactSpec("whole-3", f"{__name__}:make_whole", opens(WholeRecording, STEM))
"""The artifact of ``kinetoscope explain``."""
