"""The stored columns of the Memory view: made once per trace, then memory-mapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from ...base.arrays import I8, I32, I64, B, distinct, matches, of_names, take, where
from ...base.artifact_spec import ArtifactSpec, opens
from ...base.columnar import Writer
from ...base.regex import regex
from ...base.units import plural
from ...trace.model import HostKind, MemoryTable, Trace
from ...trace.recipes import FRAMES, STACKS, with_option, with_steps
from ..call_tree.paths import call_paths, innermost
from ..host_activity import HostRole, Hosts, hosts_of
from ..idle.places import is_own_frame
from ..modules.sources import module_rows
from ..operators.calls import call_tree
from ..operators.stacks import frame_place, written_frames
from ..recording import says
from .address_map import bands_of
from .categories import (
    RULES,
    BlockEnds,
    backward_passes,
    classify,
    host_places,
    states_per_parameter,
)
from .events import (
    MOST_BYTES,
    SHARED,
    Counted,
    EventPairs,
    damaged,
    has_totals,
    hosts_of_events,
    known_addresses,
    pair,
    sort_events,
)
from .model import (
    BEFORE,
    NONE,
    AddressBands,
    AllocatorCalls,
    MemoryBlocks,
    MemoryColumns,
    MemoryDevice,
    MemoryEvents,
    OpPaths,
    OpTimes,
    SegmentSpans,
    StepRanges,
    Strays,
)
from .snapshots.columns import memory_of_snapshot
from .timeline import memory_of_timeline
from .totals import joined, strays_between, with_totals

_STEM = "memory"
_WRAPPERS = regex(r"^(DataParallel|DistributedDataParallel)\.forward$")
_ALLOCATOR = regex(
    r"^(cuda|hip|musa)(Malloc|Free)(Async|Managed|Pitch)?(_v\d+)?$"
    r"|^(cuMem|hipMem)(Alloc|Free|Create|Map|Unmap|Release|AddressReserve)(Async)?(_v\d+)?$"
    r"|^(ur|pi)(USM\w*Alloc|USMFree)$|^aclrt(Malloc|Free)(Physical|Align32)?$"
)
_RECORD = "record with torch 1.11 or later and `profile_memory=True`"
NO_TOTALS = (
    "The allocator's totals were not recorded, so the curve is the change since the recording"
    f" began: {_RECORD}."
)
NO_TOTALS_OF_FILES = (
    "torch reports files mapped into memory without a total, so the curve is the sum of those that"
    " the recording saw."
)
NO_ADDRESSES = (
    "Addresses were not recorded, so it is not known which release belongs to which allocation:"
    f" {_RECORD}."
)


def memory_of(trace: Trace, on_share: Callable[[float], None] = lambda _: None) -> MemoryColumns:
    """The columns of a trace, a memory snapshot or a memory timeline."""
    if trace.snapshot is not None:
        return memory_of_snapshot(trace, trace.snapshot, step_ranges(trace))
    if trace.timeline is not None:
        return memory_of_timeline(trace, trace.timeline, step_ranges(trace))
    hosts = hosts_of(trace)
    operator = operator_rows(hosts)
    owners = _owners(trace, operator)
    on_share(0.3)
    counted = sort_events(trace)
    rows = np.concatenate([one.rows for one in counted] or [np.empty(0, np.int64)])
    host_row = hosts_of_events(trace)[rows]
    events = _events(trace, counted, rows, owners, host_row)
    on_share(0.5)
    classes = _Classes(hosts, operator)
    devices: list[MemoryDevice] = []
    blocks: list[MemoryBlocks] = []
    strays: list[Strays] = []
    bands: list[AddressBands] = []
    first = first_block = first_band = 0
    for one in counted:
        mine = slice(first, first + len(one.rows))
        address = known_addresses(trace.memory, one.rows)
        has_addresses = bool((address != 0).any())
        pairs = pair(events.ts[mine], events.bytes[mine], address)
        table = _blocks(pairs, address, first, classes.rules(pairs, host_row[mine]))
        found_bands = bands_of(table.address, table.bytes)
        table.offset[:] = found_bands.of_block
        band = AddressBands(found_bands.address, found_bands.offset, found_bands.bytes)
        _add_owners(table, owners, host_row)
        for end in (table.allocation, table.release):
            known = np.flatnonzero(end >= 0)
            events.block[end[known]] = first_block + known
        spans = mine, slice(first_block, first_block + len(table))
        device = _device(trace, one, events, spans, slice(first_band, first_band + len(band)))
        devices.append(_with_base(device, events, table, has_addresses=has_addresses))
        blocks.append(table)
        bands.append(band)
        strays.append(strays_between(device, events, table, pairs))
        first, first_block = mine.stop, first_block + len(table)
        first_band += len(band)
    on_share(0.8)
    found = MemoryColumns(
        strings=owners.strings,
        devices=tuple(devices),
        events=events,
        blocks=joined(MemoryBlocks, blocks),
        strays=joined(Strays, strays),
        bands=joined(AddressBands, bands),
        paths=owners.paths,
        ops=_op_times(trace, operator),
        steps=step_ranges(trace),
        allocator=_allocator_calls(trace),
        end_ns=max(trace.end_ns, int(events.ts.max(initial=-1)) + 1),
        trains=classes.trains,
        missing=_missing(trace, devices),
        segments=no_segments(),
        pools=(),
        failures=(),
        is_snapshot=False,
    )
    states = states_per_parameter(trace)
    return _compact(
        msgspec.structs.replace(
            found, devices=tuple(with_totals(found, device, states) for device in devices)
        )
    )


def operator_rows(hosts: Hosts) -> B:
    """The host rows that count as ops here: no ranges of steps, loaders, optimizers, wrappers."""
    host, strings = hosts.trace.host, hosts.trace.strings
    ranges = np.isin(hosts.role, (HostRole.STEP, HostRole.DATALOADER, HostRole.OPTIMIZER))
    wrapper = matches(strings, host.name, _WRAPPERS)
    return np.asarray((host.kind == HostKind.OP) & ~ranges & ~wrapper & ~hosts.marker)


# --- owners ---------------------------------------------------------------------------------------


class _Owners(Struct, frozen=True, eq=False):
    """Owners around each host row, −1 for none."""

    strings: tuple[str, ...]
    paths: OpPaths
    path: I32
    op: I32
    module: I32  # code
    frame: I32  # code


def _owners(trace: Trace, operator: B) -> _Owners:
    host = trace.host
    tree = call_tree(host)
    up, name, path = call_paths(tree.survives & operator, host.name, tree.parent)
    module = _around(module_rows(trace), host.name, host.parent)
    frame, strings = _frames(trace)
    # What a backward op works for is told by the op of the forward pass that it belongs to.
    forward = innermost(host.forward.astype(np.int32), host.parent)
    for column, always in ((module, False), (frame, True)):
        lent = where(forward >= 0)
        lent = lent[column[forward[lent]] >= 0]
        if not always:
            lent = lent[column[lent] < 0]
        column[lent] = column[forward[lent]]
    op = _around(operator, np.arange(len(host), dtype=np.int32), host.parent)
    return _Owners(strings, OpPaths(up, name), path, op, module, frame)


def _around(mask: B, value: I32, parent: I32) -> I32:
    """The value of the innermost marked row at or above each row, −1 where there is none."""
    return innermost(np.where(mask, value, np.int32(NONE)), parent)


def _frames(trace: Trace) -> tuple[I32, tuple[str, ...]]:
    """The innermost Python frame of the user's code around each host row, else of any; texts.

    Frames that the recorder wrote as text beside an op get codes behind those of the trace.
    """
    host, strings = trace.host, list(trace.strings)
    python = host.kind == HostKind.PYTHON
    python &= of_names(trace.strings, host.name, lambda name: frame_place(name)[1] > 0, np.bool_)
    own_code = np.zeros(len(strings), bool)
    for code in distinct(host.name[python], len(strings)).tolist():
        own_code[code] = is_own_frame(strings[code])
    own = _around(python & own_code[host.name], host.name, host.parent)
    frame = np.where(own >= 0, own, _around(python, host.name, host.parent))
    written = host.args.get("call_stack")
    if written is not None:
        code_of: dict[str, int] = {}
        of_text = np.full(len(strings), NONE, np.int32)
        for code in distinct(written.value.astype(np.int32), len(strings)).tolist():
            frames = written_frames(strings[code])
            text = next((one for one in frames if is_own_frame(one)), frames[0] if frames else "")
            if text:
                of_text[code] = code_of.setdefault(text, len(strings) + len(code_of))
        told = np.full(len(host), NONE, np.int32)
        told[written.row] = of_text[written.value]
        frame = np.where(own >= 0, own, np.where(frame >= 0, frame, innermost(told, host.parent)))
        strings += list(code_of)
    return frame.astype(np.int32), tuple(strings)


# --- events and blocks ----------------------------------------------------------------------------


def _events(
    trace: Trace, counted: Sequence[Counted], rows: I64, owners: _Owners, host_row: I32
) -> MemoryEvents:
    memory = trace.memory
    size, reserved = memory.bytes[rows], memory.total_reserved[rows].copy()
    allocated, first = np.zeros(len(rows), np.int64), 0
    for one in counted:
        mine = slice(first, first + len(one.rows))
        totals = memory.total_allocated[one.rows]
        allocated[mine] = totals if _has_totals(memory, one) else np.cumsum(size[mine])
        known = (reserved[mine] >= 0) & (reserved[mine] < MOST_BYTES)
        if one.key == SHARED or not known.all() or not reserved[mine].any():
            reserved[mine] = NONE
        first = mine.stop
    return MemoryEvents(
        ts=memory.ts[rows],
        bytes=size,
        allocated=allocated,
        reserved=reserved,
        path=_at(owners.path, host_row),
        block=np.full(len(rows), NONE, np.int32),
        op=_at(owners.op, host_row),
        raw=memory.raw[rows].astype(np.int32),
    )


def _has_totals(memory: MemoryTable, one: Counted) -> bool:
    return one.key != SHARED and has_totals(memory, one.rows)


def _at(column: I32, rows: I32) -> I32:
    found = np.full(len(rows), NONE, np.int32)
    known = rows >= 0
    found[known] = take(column, rows[known])
    return found


class _Classes:
    """Rules of blocks; phases are found once for all devices."""

    def __init__(self, hosts: Hosts, operator: B) -> None:
        self._hosts = hosts
        self._places = host_places(hosts, operator)
        self._passes = backward_passes(hosts, self._places)

    @property
    def trains(self) -> bool:
        """True if autograd ran, or kept a record of some op."""
        return bool(len(self._passes) or self._places.recorded.any())

    def rules(self, pairs: EventPairs, host_row: I32) -> I8:
        """The rule of each block; ``host_row`` by event of the device."""
        known = (pairs.allocation >= 0) | (pairs.start == BEFORE)
        ends = BlockEnds(
            pairs.start,
            pairs.end,
            _at(host_row, pairs.allocation.astype(np.int32)),
            _at(host_row, pairs.release.astype(np.int32)),
            np.asarray(known),
        )
        return classify(self._hosts, self._places, self._passes, ends)


def _blocks(pairs: EventPairs, address: I64, first: int, rule: I8) -> MemoryBlocks:
    allocation = np.where(pairs.allocation >= 0, pairs.allocation + first, NONE)
    release = np.where(pairs.release >= 0, pairs.release + first, NONE)
    event = np.where(pairs.allocation >= 0, pairs.allocation, pairs.release)
    category = np.array([one.category for one in RULES], np.int8)
    nothing = np.full(len(pairs.start), NONE, np.int32)
    return MemoryBlocks(
        start=pairs.start,
        end=pairs.end,
        bytes=pairs.bytes,
        address=address[event] if len(event) else address[:0],
        offset=np.zeros(len(event), np.int64),
        allocation=allocation.astype(np.int32),
        release=release.astype(np.int32),
        path=nothing,
        op=nothing.copy(),
        module=nothing.copy(),
        frame=nothing.copy(),
        category=category[rule],
        rule=rule,
    )


def _add_owners(blocks: MemoryBlocks, owners: _Owners, host_row: I32) -> None:
    """Owners by the allocation; blocks from before the recording have the op that releases them."""
    born = _at(host_row, blocks.allocation)
    touched = np.where(born >= 0, born, _at(host_row, np.where(born < 0, blocks.release, NONE)))
    for name, row in (("path", touched), ("op", touched), ("module", born), ("frame", born)):
        getattr(blocks, name)[:] = _at(getattr(owners, name), row)


def _device(
    trace: Trace, one: Counted, events: MemoryEvents, spans: tuple[slice, slice], bands: slice
) -> MemoryDevice:
    mine, blocks = spans
    return MemoryDevice(
        key=one.key,
        label=one.label,
        kind=one.kind,
        number=one.number,
        capacity_bytes=one.capacity_bytes,
        first=mine.start,
        stop=mine.stop,
        first_block=blocks.start,
        stop_block=blocks.stop,
        first_band=bands.start,
        stop_band=bands.stop,
        has_totals=_has_totals(trace.memory, one),
        has_reserved=bool((events.reserved[mine] >= 0).any()),
        has_addresses=False,
        base_bytes=0,
        kept_bytes=0,
        gradient_bytes=0,
        kept_states_bytes=0,
    )


def _with_base(
    device: MemoryDevice, events: MemoryEvents, blocks: MemoryBlocks, *, has_addresses: bool
) -> MemoryDevice:
    base = int(events.allocated[device.first] - events.bytes[device.first])
    there = int(blocks.bytes[blocks.start == BEFORE].sum())
    if not device.has_totals:
        base = there  # at least so much was there
        events.allocated[device.events] += there
    return msgspec.structs.replace(
        device, has_addresses=has_addresses, base_bytes=base, kept_bytes=base - there
    )


# --- the rest -------------------------------------------------------------------------------------


def _op_times(trace: Trace, operator: B) -> OpTimes:
    host = trace.host
    rows = where(operator & call_tree(host).survives)
    ts, name = take(host.ts, rows), take(host.name, rows)
    end = ts + take(host.dur, rows)
    by_start, by_end = np.argsort(ts, kind="stable"), np.argsort(end, kind="stable")
    return OpTimes(ts[by_start], name[by_start], end[by_end], name[by_end])


def step_ranges(trace: Trace) -> StepRanges:
    """The steps on the host."""
    steps = trace.steps
    return StepRanges(steps.name, steps.number, steps.ts, steps.end, steps.source != "whole_trace")


def _allocator_calls(trace: Trace) -> AllocatorCalls:
    host = trace.host
    runtime = where(host.kind == HostKind.RUNTIME)
    found = matches(trace.strings, host.name[runtime], _ALLOCATOR)
    rows = runtime[found]
    rows = rows[np.argsort(host.ts[rows], kind="stable")]
    return AllocatorCalls(host.ts[rows], host.dur[rows], host.name[rows], rows.astype(np.int32))


def no_segments() -> SegmentSpans:
    """Allocator events of a trace do not tell segments."""
    nothing = np.empty(0, np.int64)
    return SegmentSpans(nothing, nothing, nothing, nothing, nothing, nothing.astype(np.int32))


def _missing(trace: Trace, devices: Sequence[MemoryDevice]) -> dict[str, str]:
    host, missing = trace.host, {}
    era = trace.recording.torch_era
    if any(not device.has_totals and device.key != SHARED for device in devices):
        missing["totals"] = NO_TOTALS
    if any(not device.has_addresses for device in devices):
        missing["addresses"] = NO_ADDRESSES
    if left_out := int(damaged(trace.memory).sum()):
        missing["sizes"] = (
            f"{plural(left_out, 'allocator event')} of a petabyte or more: no device has so"
            " much, so they are left out."
        )
    if not module_rows(trace).any():
        missing["modules"] = (
            "Module calls were not recorded, so blocks are not told apart by module:"
            f" {with_option(FRAMES, era)}, or give the trace handler the model, `modules=model`."
        )
    if not (host.kind == HostKind.PYTHON).any() and not says(trace, "call_stack"):
        missing["stacks"] = (
            "Python frames were not recorded, so the line that allocates is not known:"
            f" {with_option(STACKS, era)}."
        )
    if trace.steps.source == "whole_trace":
        missing["steps"] = (
            f"No step is marked, so growth from step to step is not known: {with_steps(era)}."
        )
    return missing


def _compact(columns: MemoryColumns) -> MemoryColumns:
    """The same with those texts only that some column refers to."""
    codes = [
        columns.paths.name, columns.blocks.module, columns.blocks.frame,
        columns.ops.name_by_start, columns.steps.name, columns.allocator.name,
    ]  # fmt: skip
    used = np.zeros(len(columns.strings), bool)
    for column in codes:
        used[column[column >= 0]] = True
    place = np.full(len(used) + 1, NONE, np.int32)  # the last one stands for −1
    kept = np.flatnonzero(used)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    ops, blocks = columns.ops, columns.blocks
    return msgspec.structs.replace(
        columns,
        strings=tuple(columns.strings[code] for code in kept.tolist()),
        paths=msgspec.structs.replace(columns.paths, name=place[columns.paths.name]),
        blocks=msgspec.structs.replace(
            blocks, module=place[blocks.module], frame=place[blocks.frame]
        ),
        ops=msgspec.structs.replace(
            ops, name_by_start=place[ops.name_by_start], name_by_end=place[ops.name_by_end]
        ),
        steps=msgspec.structs.replace(columns.steps, name=place[columns.steps.name]),
        allocator=msgspec.structs.replace(columns.allocator, name=place[columns.allocator.name]),
    )


def make_memory(trace: Trace, folder: Path, on_share: Callable[[float], None]) -> None:
    """Fills an empty folder; tells which share of the work is done.

    Raises:
        OSError: no room, or no permission.
    """
    with Writer(folder) as writer:
        writer.close(memory_of(trace, on_share), _STEM)


MEMORY = ArtifactSpec("memory-4", f"{__name__}:make_memory", opens(MemoryColumns, _STEM))
