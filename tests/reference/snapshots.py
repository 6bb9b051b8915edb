"""Reader of memory snapshots in Python, with which the native one agrees.

It defines what a frame, a call stack, an event and a block of a pickle are.
"""

from __future__ import annotations

from array import array
from typing import Any

import msgspec
import numpy as np

from kinetoscope.trace.memory_model import FrameStacks
from kinetoscope.trace.pickles.pickle_bytes import ByteStream, text_of
from kinetoscope.trace.pickles.records import (
    BLOCK_COLUMNS,
    EVENT_COLUMNS,
    BlockRow,
    CallStackRow,
    EventRow,
    FrameRow,
    GrowingColumns,
    RecordTables,
    ValueCodes,
    int_or,
    pool_code,
    pools_of,
    stack_row,
)
from kinetoscope.trace.pickles.unpickle import unpickle


def read_records(stream: ByteStream) -> tuple[RecordTables, str]:
    """The rows of a snapshot and its damage, "" if it is whole."""
    records = SnapshotRecords()
    result = unpickle(stream, records.fold)
    return msgspec.structs.replace(records.tables(), root=result.value), result.damage


class SnapshotRecords:
    """Turns the records of a snapshot into rows while they are read: the reference."""

    def __init__(self) -> None:
        self.frames, self.stacks = ValueCodes(), ValueCodes()
        self.actions, self.states = ValueCodes(), ValueCodes()
        self.texts, self.pools = ValueCodes(), ValueCodes()
        self.events = GrowingColumns(EVENT_COLUMNS)
        self.blocks = GrowingColumns(BLOCK_COLUMNS)

    # --- while reading --------------------------------------------------------------------------

    def fold(self, container: dict[Any, Any] | list[Any]) -> object:
        """Row of a complete record; the container itself if it is none."""
        if isinstance(container, list):
            return self._list(container)
        if "action" in container and "size" in container:
            return EventRow(self._event(container))
        if "filename" in container and "name" in container:
            name, filename = text_of(container["name"]), text_of(container["filename"])
            return FrameRow(self.frames[name, filename, int_or(container.get("line"), 0)])
        if "state" in container and "size" in container:
            return BlockRow(self._block(container))
        return container

    def _list(self, members: list[Any]) -> object:
        if not members:
            return ()  # each record without a stack has one
        if type(members[0]) is FrameRow and self._only_frames(members):
            # As bytes: what a file makes of numbers could have one hash.
            return CallStackRow(self.stacks[array("i", members).tobytes()])
        return members

    def _only_frames(self, members: list[Any]) -> bool:
        return all(type(member) is FrameRow for member in members)

    def _event(self, one: dict[Any, Any]) -> int:
        # "addr" is the block; an oom has the free bytes of the device in its place.
        address = one.get("addr", one.get("device_free"))
        return self.events.add(
            self.actions[text_of(one["action"])],
            int_or(address),
            int_or(one["size"]),
            int_or(one.get("stream"), 0),
            int_or(one.get("time_us")),
            stack_row(one.get("frames")),
            pool_code(self.pools, one.get("pool_id", one.get("segment_pool_id"))),
            self.texts[text_of(one.get("compile_context", ""))],
            self.texts[text_of(one.get("user_metadata", ""))],
        )

    def _block(self, one: dict[Any, Any]) -> int:
        # Torch 2.0 kept the request and the frames of a block in its history.
        history = one.get("history")
        first = history[0] if isinstance(history, list) and history else {}
        if not isinstance(first, dict):
            first = {}
        requested = one.get("requested_size", first.get("real_size"))
        state = text_of(one["state"])
        return self.blocks.add(
            int_or(one.get("address")),
            int_or(one["size"]),
            int_or(requested),
            self.states[_STATE.get(state, state)],
            stack_row(one.get("frames", first.get("frames"))),
        )

    def tables(self) -> RecordTables:
        """All rows."""
        stacks = [np.frombuffer(stack, np.int32) for stack in self.stacks]
        lengths = [len(stack) for stack in stacks]
        return RecordTables(
            events={name: self.events[name] for name in EVENT_COLUMNS},
            blocks={name: self.blocks[name] for name in BLOCK_COLUMNS},
            stacks=FrameStacks(
                name=tuple(name for name, _, _ in self.frames),
                filename=tuple(filename for _, filename, _ in self.frames),
                line=np.array([line for _, _, line in self.frames], np.int64),
                starts=np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64),
                frames=np.concatenate([np.empty(0, np.int32), *stacks]),
            ),
            actions=tuple(self.actions),
            states=tuple(self.states),
            texts=tuple(self.texts),
            pools=pools_of(self.pools),
            root=None,
        )


# The docs of torch say the one, its files the other.
_STATE = {"active_awaiting_free": "active_pending_free"}
