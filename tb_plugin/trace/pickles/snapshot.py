"""Contents of a memory snapshot of torch: the device allocator's present blocks and its history.

``torch.cuda.memory._dump_snapshot()`` writes it as a pickle. All vintages from torch 2.0 on are
read: with and without times, with pinned host memory, pools, user metadata and the marks of
profiler steps. Records become rows while the file is read, so memory grows with the columns alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...base.errors import TraceFormatError
from ...base.native import native
from ..io.source import Source, Text
from ..memory_model import (
    HOST,
    MISSING,
    MOST_BYTES,
    AllocatorEvents,
    Codes,
    Ints,
    Mark,
    SegmentBlocks,
    Segments,
    Snapshot,
)
from ..raw import FaultLog, OnProgress, Progress
from .native import read_natively
from .pickle_bytes import text_of
from .records import (
    BlockRow,
    EventRow,
    GrowingColumns,
    RecordTables,
    ValueCodes,
    int_or,
    one_by_one,
    pool_code,
    pools_of,
    rows_of,
    stack_row,
)
from .unpickle import unpickle


def read_snapshot(source: Source, on_progress: OnProgress | None = None) -> Snapshot:
    """Read a snapshot, plain or gzip; ``on_progress`` hears of stored bytes.

    Raises:
        NotFoundError: there is no such file.
        TraceFormatError: the pickle names code, is beyond a limit, or is no snapshot.
    """
    with Text(source, FaultLog()) as text:
        found = read_natively(_Reported(text, on_progress))
    if found is None:
        raise _refused(source)
    tables, damage = found
    return _Snapshots(tables).finish(tables.root, damage)


def _refused(source: Source) -> TraceFormatError:
    """Why the native library reads no snapshot here.

    Raises:
        TraceFormatError: the pickle names code, or is beyond a limit.
    """
    if native().library is None:
        return TraceFormatError(
            "snapshot",
            f"Memory snapshots are read by the native library alone: {native().reason}.",
            hint=f"{native().remedy}.",
        )
    with Text(source, FaultLog()) as text:
        root = unpickle(text).value
    if not _is_snapshot(root):
        return _no_snapshot()
    return TraceFormatError(
        "pickle",
        "This memory snapshot is damaged: it holds values that torch does not write.",
        hint="Copy the file again, or record another one.",
    )


def _is_snapshot(root: object) -> bool:
    return isinstance(root, dict) and bool({"segments", "device_traces"} & root.keys())


def _no_snapshot() -> TraceFormatError:
    return TraceFormatError(
        "pickle",
        "This is a Python pickle, and no memory snapshot.",
        hint="Memory snapshots are written by `_dump_snapshot()` of `torch.cuda.memory`"
        " and `torch.xpu.memory`.",
    )


MOST_NAME = 1000
MOST_FRAME_TEXT = 1 << 28


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


class _Snapshots:
    """Makes a snapshot of rows and of the containers around them."""

    def __init__(self, tables: RecordTables) -> None:
        self.tables = tables
        names = (f"{first} {second}" for first, second in tables.pools)
        self.pools = ValueCodes((pool, code) for code, pool in enumerate(names))
        self.skipped: dict[str, int] = {}

    def finish(self, root: object, damage: str) -> Snapshot:
        """The snapshot of all rows, in the order that the outermost containers give them.

        Raises:
            TraceFormatError: the outermost value is no snapshot.
        """
        if isinstance(root, list) and root and _is_segment(root[0]):
            root = {"segments": root}  # torch.cuda.memory_snapshot() alone
        if not isinstance(root, dict) or not _is_snapshot(root):
            raise _no_snapshot()
        event_rows, devices = self._traces(root)
        segments, blocks = self._segments(root)
        settings = root.get("allocator_settings")
        self._bound_texts()
        return Snapshot(
            events=self._events(event_rows, devices),
            segments=segments,
            blocks=blocks,
            stacks=self.tables.stacks,
            pools=pools_of(self.pools),
            marks=self._marks(root.get("external_annotations")),
            settings=_plain(settings) if isinstance(settings, dict) else {},
            damage=damage,
            skipped=dict(self.skipped),
        )

    def _bound_texts(self) -> None:
        stacks = self.tables.stacks
        if sum(map(len, stacks.name)) + sum(map(len, stacks.filename)) > MOST_FRAME_TEXT:
            raise TraceFormatError(
                "pickle_limit",
                f"The frames of this snapshot have more than {MOST_FRAME_TEXT:,} characters.",
                hint="No file that torch writes is like this one.",
            )

    def _skip(self, what: str, many: int = 1) -> None:
        if many:
            self.skipped[what] = self.skipped.get(what, 0) + many

    def _list(self, value: object, what: str) -> Sequence[Any]:
        if isinstance(value, list) or (isinstance(value, tuple) and not value):
            return cast("Sequence[Any]", value)
        if value is not None:
            self._skip(what)
        return []

    def _traces(self, root: dict[Any, Any]) -> tuple[Ints, Ints]:
        rows, devices = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        traces = [
            *enumerate(one_by_one(self._list(root.get("device_traces"), "device traces"))),
            *((HOST, trace) for trace in _host_traces(root.get("host_traces"))),
        ]
        for device, trace in traces:
            found, odd = rows_of(self._list(trace, "a device's events"), EventRow)
            self._skip("an event", odd)
            rows.append(found)
            devices.append(np.full(len(found), device))
        return np.concatenate(rows), np.concatenate(devices)

    def _events(self, rows: Ints, devices: Ints) -> AllocatorEvents:
        table = self.tables.events
        count = len(table["action"])
        sizes = _sane(table["size"])
        self._skip("the size of an event", int(np.count_nonzero(sizes[rows] < 0)))
        # Mostly all of them in order: then nothing is copied.
        is_all = len(rows) == count and bool((rows == np.arange(count)).all())

        def column(name: str) -> Ints:
            return table[name] if is_all else table[name][rows]

        def codes(name: str) -> Codes:
            return column(name).astype(np.int32, copy=False)

        return AllocatorEvents(
            device=devices.astype(np.int32),
            action=codes("action"),
            address=column("address"),
            size=sizes if is_all else sizes[rows],
            stream=column("stream"),
            time_us=column("time_us"),
            stack=codes("stack"),
            pool=codes("pool"),
            context=codes("context"),
            metadata=codes("metadata"),
            actions=self.tables.actions,
            texts=self.tables.texts,
        )

    def _segments(self, root: dict[Any, Any]) -> tuple[Segments, SegmentBlocks]:
        table = GrowingColumns(_SEGMENT_COLUMNS)
        kinds: list[str] = []
        rows, owners = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        first = array("q", [0])
        found = [
            *((None, one) for one in one_by_one(self._list(root.get("segments"), "segments"))),
            *((HOST, one) for one in one_by_one(self._list(root.get("host_segments"), "host"))),
        ]
        for device, one in found:
            if not _is_segment(one):
                self._skip("a segment")
                continue
            number = table.add(
                int_or(one.get("device"), 0) if device is None else device,
                int_or(one.get("address")),
                int_or(one.get("total_size"), 0),
                int_or(one.get("allocated_size"), 0),
                int_or(one.get("active_size"), 0),
                int_or(one.get("requested_size")),
                int_or(one.get("stream"), 0),
                pool_code(self.pools, one.get("segment_pool_id", (0, 0))),
                stack_row(one.get("frames")),
                bool(one.get("is_expandable", False)),
            )
            kinds.append(text_of(one.get("segment_type", ""), MOST_NAME))
            own, odd = rows_of(self._list(one["blocks"], "a segment's blocks"), BlockRow)
            self._skip("a block", odd)
            rows.append(own)
            owners.append(np.full(len(own), number))
            first.append(first[-1] + len(own))
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
        return segments, self._block_table(np.concatenate(rows), np.concatenate(owners), segments)

    def _block_table(self, rows: Ints, owners: Ints, segments: Segments) -> SegmentBlocks:
        size = _sane(self.tables.blocks["size"][rows])
        self._skip("the size of a block", int(np.count_nonzero(size < 0)))
        size = np.maximum(size, 0)
        # Old vintages give no address: blocks follow each other from the segment's start.
        before = np.concatenate(([0], np.cumsum(size)))
        owners = owners.astype(np.int64)
        behind = before[:-1] - before[segments.first_block[owners]]
        address = self.tables.blocks["address"][rows]
        return SegmentBlocks(
            segment=owners.astype(np.int32),
            address=np.where(address == MISSING, segments.address[owners] + behind, address),
            size=size,
            requested=self.tables.blocks["requested"][rows],
            state=self.tables.blocks["state"][rows].astype(np.int32),
            stack=self.tables.blocks["stack"][rows].astype(np.int32),
            states=self.tables.states,
        )

    def _marks(self, found: object) -> tuple[Mark, ...]:
        marks = []
        for one in one_by_one(self._list(found, "annotations")):
            stage = text_of(one.get("stage")) if isinstance(one, dict) else ""
            if stage in ("START", "END"):
                marks.append(
                    Mark(
                        text_of(one.get("name", ""), MOST_NAME),
                        stage == "START",
                        int_or(one.get("device")),
                        int_or(one.get("time_us")),
                    )
                )
            else:
                self._skip("an annotation")
        return tuple(marks)


def _sane(sizes: Ints) -> Ints:
    """Sizes; ``MISSING`` for those that no memory has, whose sums would leave int64."""
    return np.where((sizes > MOST_BYTES) | (sizes < -MOST_BYTES), MISSING, sizes)


def _plain(settings: dict[Any, Any]) -> dict[str, Any]:
    return {
        text_of(name): value[:MOST_NAME] if isinstance(value, str) else value
        for name, value in settings.items()
        if isinstance(value, str | bool | float) or int_or(value, 1) == int_or(value, 0)
    }


def _is_segment(one: object) -> bool:
    size = int_or(one.get("total_size")) if isinstance(one, dict) and "blocks" in one else MISSING
    return 0 <= size <= MOST_BYTES


def _host_traces(found: object) -> list[Any]:
    """Traces of pinned host memory: a list of lists, or one list."""
    if not isinstance(found, list):
        return []
    # A trace without events has become an empty tuple.
    return found if all(isinstance(trace, list | tuple) for trace in found) else [found]
