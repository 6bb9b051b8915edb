"""The columns of the Memory view from a memory snapshot.

Blocks and totals come from the history and from the state at its end; Python frames stand where a
trace has ops. Categories are concluded from the stack of an allocation and from how long it lived.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec import Struct

from ....base.arrays import I8, I32, I64
from ....base.units import plural
from ....trace.memory_model import HOST, FrameStacks, Snapshot
from ....trace.model import Trace
from ....trace.pickles.history import first_us, has_times
from ..address_map import bands_of
from ..categories import (
    AUTOGRAD_BY_STACK,
    COLLECTIVE,
    GRADIENTS_BY_STACK,
    LOADED,
    LOST,
    NO_RULE,
    OF_MODULE,
    OF_OPTIMIZER,
    OTHER_STACK,
    PERSISTENT,
    RULES,
    STATES_BY_STACK,
)
from ..model import (
    BEFORE,
    NEVER,
    NONE,
    AddressBands,
    AllocatorCalls,
    FailedAllocation,
    MemoryBlocks,
    MemoryColumns,
    MemoryDevice,
    MemoryEvents,
    OpPaths,
    OpTimes,
    SegmentPool,
    SegmentSpans,
    StepRanges,
    Strays,
)
from ..totals import joined, with_totals
from .allocator import own_frames
from .lives import BlockLives, Reserved, SegmentLife, block_lives, segment_lives
from .out_of_memory import explain, in_short, sentence

CUDA, CPU = 1, 0
NO_MODULES = "A memory snapshot names no modules: blocks are grouped by lines of code."
NO_STACKS = (
    "Stacks were not recorded: call `_record_memory_history(stacks='python')` of the device's"
    " module (`torch.cuda.memory`, `torch.xpu.memory`)."
)
NO_STEPS = (
    "No step is marked in the snapshot, so growth from step to step is not known: record it while"
    " `torch.profiler.profile()` runs, and call `prof.step()` after each step."
)
_AUTOGRAD = ("torch::autograd::Engine::", "_engine_run_backward")
_MODULE_FILE = "torch/nn/modules/module.py"


def memory_of_snapshot(trace: Trace, snapshot: Snapshot, steps: StepRanges) -> MemoryColumns:
    """The columns of a snapshot; ``trace`` is its empty trace."""
    stacks = _stacks(snapshot.stacks)
    times = _times(snapshot)
    strings = list(stacks.strings)
    steps, strings = _with_names(trace, steps, strings)
    pools: dict[SegmentPool, int] = {}
    tables: list[_DeviceTables] = []
    for number in np.union1d(snapshot.segments.device, snapshot.events.device).tolist():
        tables.append(_device(snapshot, number, _Shared(stacks, times, pools), tables))
    missing = {"modules": NO_MODULES}
    if not stacks.any_frame:
        missing["stacks"] = NO_STACKS
    if not steps.marked:
        missing["steps"] = NO_STEPS
    dropped = sum(one.dropped for one in tables)
    if dropped:
        missing["releases"] = (
            f"{plural(dropped, 'allocation')} of the history are neither released in it nor there"
            " at its end: their releases were not recorded, so they are in no figure."
        )
    nothing = np.empty(0, np.int64)
    found = MemoryColumns(
        strings=tuple(strings),
        devices=tuple(one.device for one in tables),
        events=joined(MemoryEvents, [one.events for one in tables]),
        blocks=joined(MemoryBlocks, [one.blocks for one in tables]),
        strays=joined(Strays, [one.strays for one in tables]),
        bands=joined(AddressBands, [one.bands for one in tables]),
        paths=stacks.paths,
        ops=OpTimes(nothing, nothing.astype(np.int32), nothing, nothing.astype(np.int32)),
        steps=steps,
        allocator=AllocatorCalls(
            nothing, nothing, nothing.astype(np.int32), nothing.astype(np.int32)
        ),
        end_ns=trace.end_ns,
        trains=False,
        missing=missing,
        segments=joined(SegmentSpans, [one.segments for one in tables]),
        pools=tuple(pools),
        failures=tuple(
            failure for one in tables if (failure := _failure(snapshot, one.device, times))
        ),
        is_snapshot=True,
    )
    devices = tuple(with_totals(found, device, 0) for device in found.devices)
    return msgspec.structs.replace(found, devices=devices)


def _times(snapshot: Snapshot) -> I64:
    """Ns from the start of the history, of each event; per device they never run backwards."""
    events = snapshot.events
    by_time = has_times(snapshot)
    ts = np.zeros(len(events.size), np.int64)
    for device in np.unique(events.device).tolist():
        rows = np.flatnonzero(events.device == device)
        if by_time:
            ts[rows] = np.maximum.accumulate((events.time_us[rows] - first_us(snapshot)) * 1000)
        else:
            ts[rows] = np.arange(len(rows)) * 1000
    return ts


def _with_names(
    trace: Trace, steps: StepRanges, strings: list[str]
) -> tuple[StepRanges, list[str]]:
    """The steps with codes into ``strings``, to which their names are added."""
    names = [trace.text(code) for code in steps.name.tolist()]
    code = np.arange(len(strings), len(strings) + len(names), dtype=np.int32)
    return StepRanges(code, steps.number, steps.start, steps.end, steps.marked), strings + names


# --- stacks ---------------------------------------------------------------------------------------


class _Stacks(Struct, frozen=True, eq=False):
    """Columns per stack; the last row is for allocations without one."""

    strings: tuple[str, ...]
    paths: OpPaths
    path: I32
    frame: I32  # code of the innermost frame of the user's own
    kept: I8  # rule of what is not released
    freed: I8  # rule of what is
    any_frame: bool


def _stacks(stacks: FrameStacks) -> _Stacks:
    strings: dict[str, int] = {}
    trie: dict[tuple[int, int], int] = {}
    count = len(stacks.starts) - 1
    path, frame = np.full(count + 1, NONE, np.int32), np.full(count + 1, NONE, np.int32)
    kept, freed = np.full(count + 1, NO_RULE, np.int8), np.full(count + 1, NO_RULE, np.int8)
    kinds = _frame_kinds(stacks)
    for stack in range(count):
        own = own_frames(stacks, stack)
        at = NONE
        for name in reversed(own):
            code = strings.setdefault(name, len(strings))
            at = trie.setdefault((at, code), len(trie))
        path[stack] = at
        if own:
            frame[stack] = strings[own[0]]
        numbers = stacks.frames[stacks.starts[stack] : stacks.starts[stack + 1]]
        kept[stack], freed[stack] = _rules_of({kinds[number] for number in numbers.tolist()})
    parents = np.fromiter((parent for parent, _ in trie), np.int32, len(trie))
    names = np.fromiter((code for _, code in trie), np.int32, len(trie))
    return _Stacks(tuple(strings), OpPaths(parents, names), path, frame, kept, freed, bool(strings))


def _frame_kinds(stacks: FrameStacks) -> list[str]:
    def kind(name: str, filename: str) -> str:
        place = filename.replace("\\", "/")
        if "torch/optim/" in place:
            return "optimizer"
        if "torch/distributed/" in place:
            return "collective"
        if "torch/utils/data/" in place:
            return "loader"
        if any(word in name for word in _AUTOGRAD):
            return "autograd"
        return "module" if place.endswith(_MODULE_FILE) else ""

    return [kind(*one) for one in zip(stacks.name, stacks.filename, strict=True)]


def _rules_of(kinds: set[str]) -> tuple[int, int]:
    """The rule of an allocation of such frames that stays, and of one that is released."""
    for kind, rules in (
        ("optimizer", (STATES_BY_STACK, OF_OPTIMIZER)),
        ("collective", (COLLECTIVE, COLLECTIVE)),
        ("loader", (LOADED, LOADED)),
        ("autograd", (GRADIENTS_BY_STACK, AUTOGRAD_BY_STACK)),
        ("module", (OF_MODULE, OF_MODULE)),
    ):
        if kind in kinds:
            return rules
    return OTHER_STACK, OTHER_STACK


# --- one device -----------------------------------------------------------------------------------


class _Shared(Struct, frozen=True):
    """Data that the devices have in common."""

    stacks: _Stacks
    times: I64
    pools: dict[SegmentPool, int]


class _DeviceTables(Struct, frozen=True, eq=False):
    device: MemoryDevice
    events: MemoryEvents
    blocks: MemoryBlocks
    strays: Strays
    bands: AddressBands
    segments: SegmentSpans
    dropped: int


def _device(
    snapshot: Snapshot, number: int, shared: _Shared, before: list[_DeviceTables]
) -> _DeviceTables:
    """Rows count behind those of the devices before."""
    first = sum(len(one.events) for one in before)
    first_block = sum(len(one.blocks) for one in before)
    first_band = sum(len(one.bands) for one in before)
    first_segment = sum(len(one.segments) for one in before)
    lives, segments = block_lives(snapshot, number), segment_lives(snapshot, number)
    order = np.lexsort((lives.born, lives.born >= 0))
    rows, is_birth, block = _ends(lives, order)
    size = lives.size[order][block]
    change = np.where(is_birth, size, -size)
    # Without any event there is none to show it with.
    lost = np.flatnonzero(lives.lost[order] & bool(len(rows)))
    # With the allocation that shows it; with the last event where that one is left out.
    lost_at = np.searchsorted(rows, lives.freed[order][lost]).clip(max=max(len(rows) - 1, 0))
    explained = np.zeros(len(rows), np.int64)
    np.add.at(explained, lost_at, lives.size[order][lost])
    base = int(lives.size[lives.born < 0].sum())
    table = _blocks(lives, order, (rows, is_birth, block), first, shared)
    bands = bands_of(
        np.concatenate([table.address, np.array([one.what.address for one in segments], np.int64)]),
        np.concatenate([table.bytes, np.array([one.what.size for one in segments], np.int64)]),
    )
    table.offset[:] = bands.of_block[: len(table)]
    spans = _spans(segments, bands.of_block[len(table) :], shared)
    stack = snapshot.events.stack[rows]
    events = MemoryEvents(
        ts=shared.times[rows],
        bytes=change,
        allocated=base + np.cumsum(change - explained),
        reserved=_reserved_after(segments, rows),
        path=shared.stacks.path[stack],
        block=(block + first_block).astype(np.int32),
        op=np.full(len(rows), NONE, np.int32),
        raw=rows.astype(np.int32),
    )
    found = AddressBands(bands.address, bands.offset, bands.bytes)
    return _DeviceTables(
        device=_described(
            number,
            slice(first, first + len(rows)),
            slice(first_block, first_block + len(table)),
            slice(first_band, first_band + len(found)),
            slice(first_segment, first_segment + len(spans)),
            base,
        ),
        events=events,
        blocks=table,
        strays=_strays(table, lost, lost_at + first),
        bands=found,
        segments=spans,
        dropped=lives.dropped,
    )


def _ends(lives: BlockLives, order: I64) -> tuple[I64, np.ndarray, I64]:
    """Births and releases by event: row of the snapshot, whether it is a birth, place of block."""
    born, freed = lives.born[order], lives.freed[order]
    births = np.flatnonzero(born >= 0)
    deaths = np.flatnonzero((freed != NEVER) & ~lives.lost[order])
    rows = np.concatenate([born[births], freed[deaths]])
    by_row = np.argsort(rows, kind="stable")
    is_birth = by_row < len(births)
    block = np.concatenate([births, deaths])[by_row]
    return rows[by_row], is_birth, block


def _blocks(
    lives: BlockLives,
    order: I64,
    ends: tuple[I64, np.ndarray, I64],
    first: int,
    shared: _Shared,
) -> MemoryBlocks:
    rows, is_birth, block = ends
    born, freed, stack = lives.born[order], lives.freed[order], lives.stack[order]
    allocation, release = (np.full(len(order), NONE, np.int32) for _ in range(2))
    place = np.arange(first, first + len(rows), dtype=np.int32)
    allocation[block[is_birth]] = place[is_birth]
    release[block[~is_birth]] = place[~is_birth]
    times = np.append(shared.times, 0)  # the last one is not used
    survives = freed == NEVER
    rule = np.where(survives, shared.stacks.kept[stack], shared.stacks.freed[stack])
    rule = np.where(born < 0, np.where(survives, PERSISTENT, LOST), rule).astype(np.int8)
    category = np.array([one.category for one in RULES], np.int8)
    nothing = np.full(len(order), NONE, np.int32)
    return MemoryBlocks(
        start=np.where(born >= 0, times[born.clip(0)], BEFORE),
        end=np.where(survives, NEVER, times[np.where(survives, 0, freed)]),
        bytes=lives.size[order],
        address=lives.address[order],
        offset=np.zeros(len(order), np.int64),
        allocation=allocation,
        release=release,
        path=shared.stacks.path[stack],
        op=nothing,
        module=nothing,
        frame=shared.stacks.frame[stack],
        category=category[rule],
        rule=rule,
    )


def _strays(blocks: MemoryBlocks, lost: I64, event: I64) -> Strays:
    """A block whose release was lost ends as its address is given out again."""
    order = np.argsort(event, kind="stable")
    lost = lost[order]
    return Strays(event[order].astype(np.int32), blocks.category[lost], -blocks.bytes[lost])


def _spans(segments: tuple[SegmentLife, ...], offset: I64, shared: _Shared) -> SegmentSpans:
    times = np.append(shared.times, 0)

    def column(values: list[int]) -> I64:
        return np.array(values, np.int64)

    born, freed = (
        column([one.born for one in segments]),
        column([one.freed for one in segments]),
    )
    pool = [shared.pools.setdefault(pool_of(one.what), len(shared.pools)) for one in segments]
    return SegmentSpans(
        start=np.where(born >= 0, times[born.clip(0)], BEFORE),
        end=np.where(freed == NEVER, NEVER, times[np.where(freed == NEVER, 0, freed)]),
        address=column([one.what.address for one in segments]),
        offset=offset,
        bytes=column([one.what.size for one in segments]),
        pool=np.array(pool, np.int32),
    )


def pool_of(segment: Reserved) -> SegmentPool:
    """The pool of a segment; only this pool serves a request of its kind."""
    size = "small" if segment.is_small else "large"
    stream = "default stream" if segment.stream == 0 else f"stream {segment.stream}"
    private = f", private pool {segment.pool[0]}.{segment.pool[1]}" if segment.is_private else ""
    return SegmentPool(f"{size}, {stream}{private}", segment.is_private)


def _reserved_after(segments: tuple[SegmentLife, ...], rows: I64) -> I64:
    """Reserved memory after each of these events."""
    born = np.array([one.born for one in segments], np.int64)
    freed = np.array([one.freed for one in segments], np.int64)
    size = np.array([one.what.size for one in segments], np.int64)
    total = np.zeros(len(rows) + 1, np.int64)
    np.add.at(total, np.searchsorted(rows, born), size)
    np.add.at(total, np.searchsorted(rows, freed), -size)
    return np.cumsum(total)[:-1]


def _described(
    number: int, events: slice, blocks: slice, bands: slice, segments: slice, base: int
) -> MemoryDevice:
    is_host = number == HOST
    return MemoryDevice(
        key="pinned" if is_host else f"cuda:{number}",
        label="Pinned host memory" if is_host else f"GPU {number}",
        kind=CPU if is_host else CUDA,
        number=number,
        capacity_bytes=None,
        first=events.start,
        stop=events.stop,
        first_block=blocks.start,
        stop_block=blocks.stop,
        first_band=bands.start,
        stop_band=bands.stop,
        has_totals=True,
        has_reserved=True,
        has_addresses=True,
        base_bytes=base,
        kept_bytes=0,
        gradient_bytes=0,
        kept_states_bytes=0,
        first_segment=segments.start,
        stop_segment=segments.stop,
    )


def _failure(snapshot: Snapshot, device: MemoryDevice, times: I64) -> FailedAllocation | None:
    found = explain(snapshot, device=device.number)
    if found is None:
        return None
    failed = snapshot.events.is_action("oom") & (snapshot.events.device == device.number)
    return FailedAllocation(
        device=device.key,
        ts=int(times[found.row]),
        requested_bytes=found.requested,
        headline=in_short(found),
        sentence=sentence(found),
        failures=int(failed.sum()),
        holders=tuple(
            (site.frames[0] if site.frames else "", site.size, site.count) for site in found.sites
        ),
    )
