"""Tables of the records of a memory snapshot: frames, call stacks, events and blocks as rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..memory_model import MISSING, FrameStacks, Ints

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
