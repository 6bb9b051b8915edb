"""What do the records of a memory snapshot become? Rows, while the pickle is read.

This is the reference of ``native``: it defines what a frame, a stack, an event and a block are.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..memory_model import MISSING, FrameStacks, Ints
from .pickle_bytes import text_of

_LARGEST = (1 << 63) - 1


def int_or(value: object, missing: int = MISSING) -> int:
    """A whole number that int64 holds, else ``missing``."""
    is_number = type(value) is int or type(value) is bool  # and no row
    return int(value) if is_number and -_LARGEST <= value <= _LARGEST else missing  # type: ignore[call-overload, operator]


class RecordTables(Struct, frozen=True, eq=False):
    """The rows of a snapshot, in the order in which they were read, and what holds them.

    Attributes:
        events, blocks: by the names of their columns.
        pools: identities of memory pools, by code.
        root: the outermost value; with rows in place of records.
    """

    events: Mapping[str, NDArray[Any]]
    blocks: Mapping[str, NDArray[Any]]
    stacks: FrameStacks
    actions: tuple[str, ...]
    states: tuple[str, ...]
    texts: tuple[str, ...]
    pools: tuple[tuple[int, int], ...]
    root: object


class FrameRow(int):
    """Row of a frame, in its place."""

    __slots__ = ()


class CallStackRow(int):
    """Row of a list of frames, in its place."""

    __slots__ = ()


class EventRow(int):
    """Row of an allocator event, in its place."""

    __slots__ = ()


class BlockRow(int):
    """Row of a block, in its place."""

    __slots__ = ()


_ROWS = {b"e": EventRow, b"b": BlockRow, b"f": FrameRow, b"s": CallStackRow}


def revived(value: object) -> object:
    """The outermost value of the native reader with objects for rows; runs of them stay short."""
    if isinstance(value, dict):
        return {key: revived(one) for key, one in value.items()}
    if isinstance(value, list):
        return [revived(one) for one in value]
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[0], bytes):
        kind, first, stop = _ROWS[value[0]], value[1], value[2]
        return kind(first) if stop == first + 1 else RowRun(kind, first, stop)
    if isinstance(value, tuple):
        return tuple([revived(one) for one in value])
    return value


class RowRun(Struct, frozen=True):
    """Consecutive rows, in their place."""

    kind: type[int]
    first: int
    stop: int


def one_by_one(values: Sequence[Any]) -> Iterator[Any]:
    """The members of a list; each of rows that follow each other."""
    for value in values:
        if type(value) is RowRun:
            yield from map(value.kind, range(value.first, value.stop))
        else:
            yield value


def rows_of(values: Sequence[Any], kind: type[int]) -> tuple[Ints, int]:
    """The rows that a list holds, and how many of its members are none."""
    parts = [np.empty(0, np.int64)]
    singles = array("q")
    odd = 0
    for value in values:
        if type(value) is kind:
            singles.append(value)
        elif type(value) is RowRun and value.kind is kind:
            parts += [np.array(singles, np.int64), np.arange(value.first, value.stop)]
            singles = array("q")
        else:
            odd += value.stop - value.first if type(value) is RowRun else 1
    return np.concatenate([*parts, np.array(singles, np.int64)]), odd


class ValueCodes(dict[Any, int]):
    """Values by code, in the order in which they first appear."""

    def __missing__(self, value: object) -> int:
        self[value] = code = len(self)
        return code


class GrowingColumns:
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


EVENT_COLUMNS = (
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
BLOCK_COLUMNS = ("address", "size", "requested", "state", "stack")


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


def stack_row(value: object) -> int:
    """The row of a call stack; ``MISSING`` for anything else."""
    return int(value) if type(value) is CallStackRow else MISSING


def pool_code(pools: ValueCodes, value: object) -> int:
    """The code of a pool, which two numbers name; ``MISSING`` for anything else."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return pools[f"{int_or(value[0], 0)} {int_or(value[1], 0)}"]
    return MISSING


def pools_of(pools: ValueCodes) -> tuple[tuple[int, int], ...]:
    """The two numbers of each pool; as text they are keys whose hashes no file can choose."""
    pairs = (pool.split() for pool in pools)
    return tuple((int(first), int(second)) for first, second in pairs)


# The docs of torch say the one, its files the other.
_STATE = {"active_awaiting_free": "active_pending_free"}
