"""What does a memory snapshot of torch hold? The device allocator's blocks now, and what it did.

``torch.cuda.memory._dump_snapshot()`` writes it as a pickle. All vintages from torch 2.0 on are
read: with and without times, with pinned host memory, pools, user metadata and the marks of
profiler steps. Records become rows while the file is read, so memory grows with the columns alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import TraceFormatError
from ..io.source import Source, Text
from ..raw import FaultLog, OnProgress, Progress
from .unpickle import unpickle

HOST = -1
"""The device of pinned host memory."""

MISSING = -1

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class FrameStacks:
    """Python and C++ frames, each once, and call stacks as lists of them.

    Attributes:
        name, filename: texts per frame.
        line: per frame; 0 where it is unknown.
        starts: for each stack, where its frames begin in ``frames``; and the end of the last.
        frames: numbers of frames, innermost first.
    """

    name: tuple[str, ...]
    filename: tuple[str, ...]
    line: Ints
    starts: Ints
    frames: Codes

    def of(self, stack: int) -> tuple[tuple[str, str, int], ...]:
        """Name, file and line of each frame of a stack, innermost first; none for ``MISSING``."""
        if stack < 0:
            return ()
        numbers = self.frames[self.starts[stack] : self.starts[stack + 1]]
        return tuple((self.name[n], self.filename[n], int(self.line[n])) for n in numbers)


@dataclass(frozen=True, slots=True)
class AllocatorEvents:
    """What the allocator did, in the order of the file: by device, then by time.

    Attributes:
        device: number of the device, ``HOST`` for pinned host memory.
        action: codes into ``actions``: alloc, free_requested, free_completed, segment_alloc,
            segment_free, segment_map, segment_unmap, snapshot, oom, annotate and whatever is new.
        address: of the block or segment; for ``oom`` the free bytes of the device.
        size: in bytes; for ``oom`` what was asked for.
        stream: number of the stream that it belongs to.
        time_us: µs since 1970; ``MISSING`` where the recorder wrote none (torch 2.0).
        stack: row of ``FrameStacks``; ``MISSING`` without frames.
        pool: codes into ``pools``; ``MISSING`` where the recorder wrote none.
        context, metadata: codes into ``texts``: what torch.compile was doing, what the user set.
    """

    device: Codes
    action: Codes
    address: Ints
    size: Ints
    stream: Ints
    time_us: Ints
    stack: Codes
    pool: Codes
    context: Codes
    metadata: Codes
    actions: tuple[str, ...]
    texts: tuple[str, ...]

    def is_action(self, *names: str) -> NDArray[np.bool_]:
        """Per event: is it one of these actions?"""
        codes = [code for code, name in enumerate(self.actions) if name in names]
        return np.isin(self.action, codes)


@dataclass(frozen=True, slots=True)
class Segments:
    """What was reserved from the device when the snapshot was taken; one row a segment.

    Attributes:
        first_block: row of the first block; one more than there are segments.
        kind: "large" or "small".
    """

    device: Codes
    address: Ints
    size: Ints
    allocated: Ints
    active: Ints
    requested: Ints
    stream: Ints
    pool: Codes
    stack: Codes
    is_expandable: NDArray[np.int8]  # 0 or 1
    kind: tuple[str, ...]
    first_block: Ints


@dataclass(frozen=True, slots=True)
class SegmentBlocks:
    """The pieces of the segments, in order of address.

    Attributes:
        segment: row of the segment.
        size: in bytes; the sizes of a segment's blocks sum to its own.
        requested: bytes that were asked for, before rounding; ``MISSING`` where unknown.
        state: codes into ``states``: active_allocated, active_pending_free, inactive.
    """

    segment: Codes
    address: Ints
    size: Ints
    requested: Ints
    state: Codes
    stack: Codes
    states: tuple[str, ...]

    def is_state(self, *names: str) -> NDArray[np.bool_]:
        """Per block: is it in one of these states?"""
        codes = [code for code, name in enumerate(self.states) if name in names]
        return np.isin(self.state, codes)


@dataclass(frozen=True, slots=True)
class Mark:
    """One end of a range that the profiler wrote beside the allocator's events: a step."""

    name: str
    is_start: bool
    device: int
    time_us: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A memory snapshot.

    Attributes:
        pools: identities of memory pools, two numbers each; (0, 0) is the default pool, any other
            is private, mostly of a CUDA graph.
        settings: of the allocator, as recorded.
        damage: why the rest of the file is missing; "" when it is whole.
        skipped: records that could not be understood, by what they should have been.
    """

    events: AllocatorEvents
    segments: Segments
    blocks: SegmentBlocks
    stacks: FrameStacks
    pools: tuple[tuple[int, int], ...]
    marks: tuple[Mark, ...]
    settings: dict[str, Any]
    damage: str
    skipped: dict[str, int]

    @property
    def size(self) -> int:
        """Events of the history, and blocks."""
        return len(self.events.size) + len(self.blocks.size)


def read_snapshot(source: Source, on_progress: OnProgress | None = None) -> Snapshot:
    """Read a snapshot, plain or gzip; ``on_progress`` hears of stored bytes.

    Raises:
        NotFoundError: there is no such file.
        TraceFormatError: the pickle names code, is beyond a limit, or is no snapshot.
    """
    records = _Records()
    with Text(source, FaultLog()) as text:
        result = unpickle(_Reported(text, on_progress), records.fold)
    return records.finish(result.value, result.damage)


class _Reported:
    """The bytes of a text, telling how far they are."""

    def __init__(self, text: Text, on_progress: OnProgress | None) -> None:
        self._text, self._on_progress = text, on_progress

    def read(self, n: int, /) -> bytes:
        if self._on_progress is not None:
            self._on_progress(
                Progress("reading", self._text.bytes_done, self._text.bytes_total, events=0)
            )
        return self._text.read(n)


class _Frame(int):
    """Stands for a frame: its row."""


class _Stack(int):
    """Stands for a list of frames: its row."""


class _Event(int):
    """Stands for an allocator event: its row."""


class _Block(int):
    """Stands for a block: its row."""


class _Codes(dict[Any, int]):
    """Values by code, in the order in which they first appear."""

    def __missing__(self, value: object) -> int:
        self[value] = code = len(self)
        return code


class _Columns:
    """Growing int64 columns."""

    def __init__(self, names: Sequence[str]) -> None:
        self.columns = {name: array("q") for name in names}
        self.rows = 0

    def add(self, *values: int) -> int:
        """Append one row and tell its number."""
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(value)
        self.rows += 1
        return self.rows - 1

    def __getitem__(self, name: str) -> Ints:
        return np.frombuffer(self.columns[name], np.int64) if self.rows else np.empty(0, np.int64)


_EVENT_COLUMNS = (
    "action",
    "address",
    "size",
    "stream",
    "time_us",
    "stack",
    "pool",
    "context",
    "metadata",
)
_BLOCK_COLUMNS = ("address", "size", "requested", "state", "stack")
_SEGMENT_COLUMNS = (
    "device",
    "address",
    "size",
    "allocated",
    "active",
    "requested",
    "stream",
    "pool",
    "stack",
    "is_expandable",
)
_LARGEST = (1 << 63) - 1


def _int(value: object, missing: int = MISSING) -> int:
    """A whole number that int64 holds, else what stands for a missing one."""
    if isinstance(value, int) and -_LARGEST <= value <= _LARGEST:
        return int(value)
    return missing


class _Records:
    """Turns the records of a snapshot into rows while they are read."""

    def __init__(self) -> None:
        self.frames, self.stacks = _Codes(), _Codes()
        self.actions, self.states, self.texts, self.pools = _Codes(), _Codes(), _Codes(), _Codes()
        self.events = _Columns(_EVENT_COLUMNS)
        self.blocks = _Columns(_BLOCK_COLUMNS)
        self.skipped: dict[str, int] = {}

    # --- while reading --------------------------------------------------------------------------

    def fold(self, container: dict[Any, Any] | list[Any]) -> object:
        """The row that stands for a complete record; the container itself if it is none."""
        if isinstance(container, list):
            if container and type(container[0]) is _Frame and self._only_frames(container):
                return _Stack(self.stacks[tuple(map(int, container))])
            return container
        if "action" in container and "size" in container:
            return _Event(self._event(container))
        if "filename" in container and "name" in container:
            name, filename = str(container["name"]), str(container["filename"])
            return _Frame(self.frames[name, filename, _int(container.get("line"), 0)])
        if "state" in container and "size" in container:
            return _Block(self._block(container))
        return container

    def _only_frames(self, members: list[Any]) -> bool:
        return all(type(member) is _Frame for member in members)

    def _stack(self, value: object) -> int:
        return int(value) if type(value) is _Stack else MISSING

    def _pool(self, value: object) -> int:
        if isinstance(value, tuple | list) and len(value) == 2:
            return self.pools[_int(value[0], 0), _int(value[1], 0)]
        return MISSING

    def _event(self, one: dict[Any, Any]) -> int:
        # "addr" is the block; an oom has the free bytes of the device in its place.
        address = one.get("addr", one.get("device_free"))
        return self.events.add(
            self.actions[str(one["action"])],
            _int(address),
            _int(one["size"]),
            _int(one.get("stream"), 0),
            _int(one.get("time_us")),
            self._stack(one.get("frames")),
            self._pool(one.get("pool_id", one.get("segment_pool_id"))),
            self.texts[str(one.get("compile_context", ""))],
            self.texts[str(one.get("user_metadata", ""))],
        )

    def _block(self, one: dict[Any, Any]) -> int:
        # Torch 2.0 kept the request and the frames of a block in its history.
        history = one.get("history")
        first = history[0] if isinstance(history, list) and history else {}
        if not isinstance(first, dict):
            first = {}
        requested = one.get("requested_size", first.get("real_size"))
        return self.blocks.add(
            _int(one.get("address")),
            _int(one["size"]),
            _int(requested),
            self.states[_STATE.get(str(one["state"]), str(one["state"]))],
            self._stack(one.get("frames", first.get("frames"))),
        )

    # --- at the end -----------------------------------------------------------------------------

    def finish(self, root: object, damage: str) -> Snapshot:
        """The snapshot of all rows, in the order that the outermost containers give them.

        Raises:
            TraceFormatError: the outermost value is no snapshot.
        """
        if isinstance(root, list) and root and _is_segment(root[0]):
            root = {"segments": root}  # torch.cuda.memory_snapshot() alone
        if not isinstance(root, dict) or not {"segments", "device_traces"} & root.keys():
            raise TraceFormatError(
                "pickle",
                "This is a Python pickle, and no memory snapshot.",
                hint="Memory snapshots are written by torch.cuda.memory._dump_snapshot().",
            )
        event_rows, devices = self._traces(root)
        segments, blocks = self._segments(root)
        settings = root.get("allocator_settings")
        return Snapshot(
            events=self._events(event_rows, devices),
            segments=segments,
            blocks=blocks,
            stacks=self._stack_table(),
            pools=tuple(self.pools),
            marks=self._marks(root.get("external_annotations")),
            settings=_plain(settings) if isinstance(settings, dict) else {},
            damage=damage,
            skipped=dict(self.skipped),
        )

    def _skip(self, what: str) -> None:
        self.skipped[what] = self.skipped.get(what, 0) + 1

    def _list(self, value: object, what: str) -> list[Any]:
        if isinstance(value, list):
            return value
        if value is not None:
            self._skip(what)
        return []

    def _traces(self, root: dict[Any, Any]) -> tuple[Ints, Ints]:
        rows, devices = array("q"), array("q")
        traces = [
            *enumerate(self._list(root.get("device_traces"), "device traces")),
            *((HOST, trace) for trace in _host_traces(root.get("host_traces"))),
        ]
        for device, trace in traces:
            for event in self._list(trace, "a device's events"):
                if type(event) is _Event:
                    rows.append(event)
                    devices.append(device)
                else:
                    self._skip("an event")
        return np.array(rows, np.int64), np.array(devices, np.int64)

    def _events(self, rows: Ints, devices: Ints) -> AllocatorEvents:
        def codes(name: str) -> Codes:
            return self.events[name][rows].astype(np.int32)

        return AllocatorEvents(
            device=devices.astype(np.int32),
            action=codes("action"),
            address=self.events["address"][rows],
            size=self.events["size"][rows],
            stream=self.events["stream"][rows],
            time_us=self.events["time_us"][rows],
            stack=codes("stack"),
            pool=codes("pool"),
            context=codes("context"),
            metadata=codes("metadata"),
            actions=tuple(self.actions),
            texts=tuple(self.texts),
        )

    def _segments(self, root: dict[Any, Any]) -> tuple[Segments, SegmentBlocks]:
        table = _Columns(_SEGMENT_COLUMNS)
        kinds: list[str] = []
        rows, owners, first = array("q"), array("q"), array("q", [0])
        found = [
            *((None, one) for one in self._list(root.get("segments"), "segments")),
            *((HOST, one) for one in self._list(root.get("host_segments"), "host segments")),
        ]
        for device, one in found:
            if not _is_segment(one):
                self._skip("a segment")
                continue
            number = table.add(
                _int(one.get("device"), 0) if device is None else device,
                _int(one.get("address")),
                _int(one.get("total_size"), 0),
                _int(one.get("allocated_size"), 0),
                _int(one.get("active_size"), 0),
                _int(one.get("requested_size")),
                _int(one.get("stream"), 0),
                self._pool(one.get("segment_pool_id", (0, 0))),
                self._stack(one.get("frames")),
                bool(one.get("is_expandable", False)),
            )
            kinds.append(str(one.get("segment_type", "")))
            for block in self._list(one["blocks"], "a segment's blocks"):
                if type(block) is _Block:
                    rows.append(block)
                    owners.append(number)
                else:
                    self._skip("a block")
            first.append(len(rows))
        segments = Segments(
            device=table["device"].astype(np.int32),
            address=table["address"],
            size=table["size"],
            allocated=table["allocated"],
            active=table["active"],
            requested=table["requested"],
            stream=table["stream"],
            pool=table["pool"].astype(np.int32),
            stack=table["stack"].astype(np.int32),
            is_expandable=table["is_expandable"].astype(np.int8),
            kind=tuple(kinds),
            first_block=np.array(first, np.int64),
        )
        return segments, self._block_table(np.array(rows, np.int64), np.array(owners), segments)

    def _block_table(self, rows: Ints, owners: Ints, segments: Segments) -> SegmentBlocks:
        size = self.blocks["size"][rows]
        # Old vintages give no address: blocks follow each other from the segment's start.
        before = np.concatenate(([0], np.cumsum(size)))
        owners = owners.astype(np.int64)
        behind = before[:-1] - before[segments.first_block[owners]]
        address = self.blocks["address"][rows]
        return SegmentBlocks(
            segment=owners.astype(np.int32),
            address=np.where(address == MISSING, segments.address[owners] + behind, address),
            size=size,
            requested=self.blocks["requested"][rows],
            state=self.blocks["state"][rows].astype(np.int32),
            stack=self.blocks["stack"][rows].astype(np.int32),
            states=tuple(self.states),
        )

    def _stack_table(self) -> FrameStacks:
        lengths = [len(stack) for stack in self.stacks]
        return FrameStacks(
            name=tuple(name for name, _, _ in self.frames),
            filename=tuple(filename for _, filename, _ in self.frames),
            line=np.array([line for _, _, line in self.frames], np.int64),
            starts=np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64),
            frames=np.fromiter(
                (frame for stack in self.stacks for frame in stack), np.int32, sum(lengths)
            ),
        )

    def _marks(self, found: object) -> tuple[Mark, ...]:
        marks = []
        for one in self._list(found, "annotations"):
            if isinstance(one, dict) and one.get("stage") in ("START", "END"):
                marks.append(
                    Mark(
                        str(one.get("name", "")),
                        one["stage"] == "START",
                        _int(one.get("device")),
                        _int(one.get("time_us")),
                    )
                )
            else:
                self._skip("an annotation")
        return tuple(marks)


def _plain(settings: dict[Any, Any]) -> dict[str, Any]:
    return {
        str(name): value
        for name, value in settings.items()
        if isinstance(value, str | bool | float) or _int(value, 0) == value
    }


# The docs of torch say the one, its files the other.
_STATE = {"active_awaiting_free": "active_pending_free"}


def _is_segment(one: object) -> bool:
    return isinstance(one, dict) and "blocks" in one and "total_size" in one


def _host_traces(found: object) -> list[Any]:
    """Traces of pinned host memory: a list of lists, or one list."""
    if not isinstance(found, list):
        return []
    return found if all(isinstance(trace, list) for trace in found) else [found]
