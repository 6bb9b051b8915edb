"""What does each module cost, by step and phase: device time, time of ops, FLOPs, idle, memory?

Everything is credited once: to the module and phase of the innermost row around it that begins work
of a module, else to the reason why it is of none. So modules and reasons sum to the whole.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I8, I32, I64, distinct_values, is_any, take, where
from ...base.group_sums import summed
from ...trace.model import DeviceClass, HostKind, Link, Trace
from ..call_tree.paths import innermost
from ..device_work import used_devices
from ..host_activity import HostRole, hosts_of, roles_of
from ..idle.causes import IdleCauses
from ..idle.names import HeldNames
from ..memory.events import SHARED, Counted, hosts_of_events, pair, sort_events
from ..memory.model import NEVER
from ..operators.calls import spread
from ..operators.credit import credit
from ..operators.flops import flops_of
from ..speed_of_light.models import FLOPS_OPS
from ..steps import Windows
from ..timeline.tracks import HOST
from .model import NONE, ModuleBusy, ModuleSums, Outside, OutsideSums, Phase
from .sources import FoundModules

_PHASES, _REASONS = len(Phase), len(Outside)
_TABLE_CELLS = 1 << 24
_NOTHING = np.empty(0, np.int64)


class Owners(Struct, frozen=True, eq=False):
    """The owner of each row: ``module`` or −1, its ``phase``, and the ``reason`` for −1."""

    module: I32
    phase: I8
    reason: I8


def owners_of_host(trace: Trace, found: FoundModules) -> Owners:
    """The owner of each host row."""
    host = trace.host
    role = roles_of(trace.strings, host.name)
    index = np.arange(len(host), dtype=np.int32)
    reason = np.full(len(host), Outside.OTHER, np.int8)
    reason[found.in_backward] = Outside.BACKWARD
    for kind, why in (
        (HostRole.OPTIMIZER, Outside.OPTIMIZER),
        (HostRole.COMMUNICATION, Outside.COMMUNICATION),
    ):
        inside = innermost(np.where(role == kind, index, np.int32(NONE)), host.parent)
        reason[inside >= 0] = why
    return Owners(found.module_of, found.phase_of, reason)


def owners_of_device(trace: Trace, found: FoundModules, host: Owners) -> Owners:
    """The owner of each device activity: by its annotation, else the owner of its call."""
    device = trace.device
    row = np.append(credit(device).host, np.int32(NONE))[:-1]
    module = np.append(host.module, np.int32(NONE))[row]
    phase = np.append(host.phase, np.int8(Phase.FORWARD))[row]
    reason = np.append(host.reason, np.int8(Outside.UNLINKED))[row]
    replayed = device.link == Link.GRAPH
    reason[replayed & (row >= 0) & (reason == Outside.OTHER)] = Outside.GRAPH
    reason[(device.klass == DeviceClass.COMMUNICATION) & (row >= 0)] = Outside.COMMUNICATION
    reason[device.link == Link.PROLOGUE] = Outside.PROLOGUE
    named = found.by_annotation >= 0
    module[named] = found.by_annotation[named]
    phase[named] = Phase.FORWARD
    return Owners(module, phase, reason)


class Costs(Struct, frozen=True, eq=False):
    """The costs of modules, and of what belongs to none."""

    sums: ModuleSums
    busy: ModuleBusy
    outside: OutsideSums


Part = tuple[I64, NDArray[Any]]  # keys, ascending, and a value of each


def costs(trace: Trace, found: FoundModules, windows: Windows) -> Costs:
    """All costs."""
    host, device = trace.host, trace.device
    of_host = owners_of_host(trace, found)
    of_device = owners_of_device(trace, found, of_host)
    modules = len(found.tree)
    inside: dict[str, Part] = {}
    outside: dict[str, Part] = {}

    def add(name: str, owners: Owners, step: NDArray[np.integer], value: NDArray[Any]) -> None:
        inside[name], outside[name] = _by_cell(owners, step, value, modules)

    add("device_ns", of_device, device.step, device.dur)
    add("activities", of_device, device.step, np.ones(len(device), np.int64))
    busy = where(is_any(host.kind, (HostKind.OP, HostKind.RUNTIME)))
    add("op_ns", _some(of_host, busy), take(host.step, busy), take(host.self_ns, busy))
    outer = _outermost_ops(trace, found)
    add("ops", _some(of_host, outer), host.step[outer], np.ones(len(outer), np.int64))
    rows, flops = _innermost_flops(trace)
    add("flops", _some(of_host, rows), host.step[rows], flops)
    window, owners, idle_ns = _idle(trace, windows, of_device)
    add("idle_ns", owners, window, idle_ns)
    born = _born(trace, found)
    owners = _owners_or_none(of_host, born.host)
    step = np.append(host.step, np.int32(NONE))[born.host]
    add("born_bytes", owners, step, born.bytes)
    add("kept_bytes", owners, step, np.where(owners.phase == Phase.BACKWARD, 0, born.kept_bytes))
    return Costs(
        _module_sums(inside, modules),
        busy_times(trace.device, found.tree.parent, of_device.module),
        _outside_sums(outside),
    )


class TimedWork(Protocol):
    """Device work by row, as of ``DeviceTable``."""

    @property
    def step(self) -> I32: ...
    @property
    def device(self) -> I32: ...
    @property
    def ts(self) -> I64: ...
    @property
    def dur(self) -> I64: ...


def busy_times(device: TimedWork, parent: I32, module: I32) -> ModuleBusy:
    """Busy time of the devices for each module and the modules inside it, by step.

    ``parent`` is of the modules, ``module`` of the device rows. The work of a module is looked at
    once for each module around it.
    """
    steps = int(device.step.max(initial=NONE)) + 2
    devices = int(device.device.max(initial=0)) + 1
    in_time = np.argsort(device.ts, kind="stable")
    ts, end = device.ts[in_time], (device.ts + device.dur)[in_time]
    place = device.device[in_time].astype(np.int64) * steps + device.step[in_time] + 1
    # Lengths are compared as ranks, so that those of all groups fit beside each other.
    by_end = np.argsort(end, kind="stable")
    rank = np.empty(len(end), np.int64)
    rank[by_end] = np.arange(len(end))
    known_end = end[by_end]
    above = np.append(parent, np.int32(NONE))
    parts: list[tuple[I64, I64, I64]] = []
    around = np.zeros(len(end), np.int64)  # all work, then modules; -1 has no more around it
    rows = np.arange(len(end))
    owner = module[in_time]
    while len(rows):
        group, of_rows = _dense(around * (devices * steps) + place[rows])
        order = np.argsort(of_rows, kind="stable")
        at, code = rows[order], of_rows[order].astype(np.int64)
        reach = np.maximum.accumulate(rank[at] + code * len(end)) - code * len(end)
        covered = np.empty(len(at), np.int64)
        covered[:1] = ts[at[:1]]
        covered[1:] = np.where(code[1:] == code[:-1], known_end[reach[:-1]], ts[at[1:]])
        busy = summed(
            np.maximum(end[at] - np.maximum(ts[at], covered), 0), code.astype(np.int32), len(group)
        )
        one, rest = np.divmod(group, devices * steps)
        parts.append((one - 1, rest % steps - 1, busy))
        going = owner[rows] >= 0
        rows = rows[going]
        around = owner[rows].astype(np.int64) + 1
        owner[rows] = above[owner[rows]]
    keys, ns = _summed(
        np.concatenate([(one + 1) * steps + step + 1 for one, step, _ in parts] or [_NOTHING]),
        np.concatenate([busy for *_, busy in parts] or [_NOTHING]),
    )
    one, step = np.divmod(keys[ns > 0], steps)
    return ModuleBusy((one - 1).astype(np.int32), (step - 1).astype(np.int32), ns[ns > 0])


def _some(owners: Owners, rows: NDArray[np.integer]) -> Owners:
    return Owners(take(owners.module, rows), take(owners.phase, rows), take(owners.reason, rows))


def _by_cell(
    owners: Owners, step: NDArray[np.integer], value: NDArray[Any], modules: int
) -> tuple[Part, Part]:
    """Sums by step, module and phase, and by step and reason."""
    inside = owners.module >= 0
    module = owners.module[inside].astype(np.int64)
    key = (step[inside].astype(np.int64) + 1) * modules + module
    reasons = (step[~inside].astype(np.int64) + 1) * _REASONS + owners.reason[~inside]
    return (
        _summed(key * _PHASES + owners.phase[inside], value[inside]),
        _summed(reasons, value[~inside]),
    )


def _summed(key: I64, value: NDArray[Any]) -> Part:
    keys, code = _dense(key)
    if value.dtype.kind == "f":
        return keys, np.bincount(code, value, len(keys))
    return keys, summed(value.astype(np.int64), code.astype(np.int32), len(keys))


def _dense(key: I64) -> tuple[I64, NDArray[np.integer]]:
    """Distinct keys, ascending, and the place of each."""
    top = int(key.max(initial=-1)) + 1
    if top > _TABLE_CELLS:
        keys, code = np.unique(key, return_inverse=True)
        return keys, code
    seen = np.zeros(top, bool)
    seen[key] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[key]


def _joined(parts: dict[str, Part]) -> tuple[I64, dict[str, NDArray[Any]]]:
    """The keys of all parts, and a column of each part, 0 where it has no value."""
    keys = distinct_values(np.concatenate([part[0] for part in parts.values()]))
    columns = {}
    for name, (known, value) in parts.items():
        columns[name] = np.zeros(len(keys), value.dtype)
        columns[name][np.searchsorted(keys, known)] = value
    return keys, columns


def _module_sums(inside: dict[str, Part], modules: int) -> ModuleSums:
    keys, columns = _joined(inside)
    rest, phase = np.divmod(keys, _PHASES)
    step, module = np.divmod(rest, max(modules, 1))
    return ModuleSums(
        module=module.astype(np.int32),
        phase=phase.astype(np.int8),
        step=(step - 1).astype(np.int32),
        **columns,
    )


def _outside_sums(outside: dict[str, Part]) -> OutsideSums:
    told = ("device_ns", "activities", "op_ns", "idle_ns", "born_bytes")
    keys, columns = _joined({name: outside[name] for name in told})
    step, reason = np.divmod(keys, _REASONS)
    return OutsideSums(reason.astype(np.int8), (step - 1).astype(np.int32), **columns)


def _outermost_ops(trace: Trace, found: FoundModules) -> NDArray[np.intp]:
    """Ops that no op of the same module and phase contains."""
    host = trace.host
    op = np.asarray(host.kind == HostKind.OP)
    index = np.where(op, np.arange(len(host), dtype=np.int32), np.int32(NONE))
    around = np.append(innermost(index, host.parent), np.int32(NONE))[host.parent]
    rows = np.flatnonzero(op)
    above = around[rows]
    same = above >= 0
    same &= found.module_of[above] == found.module_of[rows]
    same &= found.phase_of[above] == found.phase_of[rows]
    return rows[~same]


def _innermost_flops(trace: Trace) -> tuple[I32, F64]:
    """Ops with a model that contain no other one, and their operations."""
    host = trace.host
    modelled = np.array([name in FLOPS_OPS for name in trace.strings], bool)
    rows = where(modelled[host.name])
    shapes = spread(host.args.get("input_dims"), len(host))[rows]
    flops, _ = flops_of(trace, rows, shapes)
    known = ~np.isnan(flops)
    rows, flops = rows[known], flops[known]
    index = np.full(len(host) + 1, NONE, np.int32)
    index[rows] = rows
    around = np.append(innermost(index[:-1].copy(), host.parent), np.int32(NONE))[host.parent]
    contains = np.zeros(len(host) + 1, bool)
    contains[around[rows]] = True
    contains[-1] = False
    return rows[~contains[rows]], flops[~contains[rows]]


def _idle(trace: Trace, windows: Windows, owners: Owners) -> tuple[I64, Owners, I64]:
    """Idle time of all devices by window; a stretch is of the owner of the work that ends it."""
    causes = IdleCauses(HeldNames(trace, hosts_of(trace)), windows)
    pieces = [causes.pieces(work) for work in used_devices(trace)]
    nothing = [np.empty(0, np.int64)]
    window = np.concatenate(nothing + [one.window for one in pieces])
    following = np.concatenate(nothing + [one.following for one in pieces])
    length = np.concatenate(nothing + [one.end - one.start for one in pieces])
    module = np.append(owners.module, np.int32(NONE))[following]
    phase = np.append(owners.phase, np.int8(Phase.FORWARD))[following]
    reason = np.append(owners.reason, np.int8(Outside.NOTHING))[following]
    return window, Owners(module, phase, reason), length


class Born(Struct, frozen=True, eq=False):
    """One entry per allocation: the host row around it, its bytes, and those that outlive a call.

    ``kept_bytes`` are the bytes if they were not released by the end of the innermost call of a
    module around the allocation; 0 outside of calls.
    """

    host: I32
    bytes: I64
    kept_bytes: I64


def allocations(trace: Trace) -> tuple[Counted, ...]:
    """The allocator events that count for modules: those of accelerators, else of the host."""
    counted = sort_events(trace)
    accelerators = tuple(one for one in counted if one.kind != HOST)
    return accelerators or tuple(one for one in counted if one.key != SHARED)


def _born(trace: Trace, found: FoundModules) -> Born:
    memory = trace.memory
    host_row = hosts_of_events(trace)
    call_of, ends = np.append(found.call_of, np.int32(NONE)), np.append(found.calls.end, NONE)
    parts: list[tuple[NDArray[Any], ...]] = []
    for one in allocations(trace):
        ts, size = memory.ts[one.rows], memory.bytes[one.rows]
        blocks = pair(ts, size, memory.address[one.rows])
        end = np.full(len(one.rows), NEVER, np.int64)
        known = blocks.allocation >= 0
        end[blocks.allocation[known]] = blocks.end[known]
        call = call_of[host_row[one.rows]]
        outlives = (call >= 0) & (end >= ends[call])
        grows = size > 0
        kept = np.where(outlives, size, 0)
        parts.append((host_row[one.rows][grows], size[grows], kept[grows]))
    if not parts:
        nothing = np.empty(0, np.int64)
        return Born(np.empty(0, np.int32), nothing, nothing)
    return Born(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _owners_or_none(owners: Owners, rows: I32) -> Owners:
    """The owners of some rows; −1 belongs to no module."""
    return Owners(
        np.append(owners.module, np.int32(NONE))[rows],
        np.append(owners.phase, np.int8(Phase.FORWARD))[rows],
        np.append(owners.reason, np.int8(Outside.OTHER))[rows],
    )
