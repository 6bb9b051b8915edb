"""Growing columns of a scan, chunk by chunk, and the places of the events in the text.

No object per event outlives its chunk. The place of an event is recorded when it is read, or, in a
block of strict JSON, found only when a fault asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import Sparse, chunks
from ...base.errors import TraceFormatError
from ..raw import (
    COUNTER_ARGS,
    FLOAT_ARGS,
    ID_INT,
    ID_TEXT,
    INT_ARGS,
    NAMING,
    TEXT_ARGS,
    Blocks,
    RawEvents,
)
from .cursor import starts_of_members

DENSE: Mapping[str, type[np.generic]] = {
    "phase": np.uint8,
    "category": np.int32,
    "name": np.int32,
    "pid": np.int32,
    "tid": np.int32,
    "ts": np.int64,
    "dur": np.int64,
}
_CODED = ("category", "name", "pid", "tid")
INTS = tuple(dict.fromkeys((ID_INT, *INT_ARGS.values())))
FLOATS = tuple(dict.fromkeys(FLOAT_ARGS.values()))
TEXTS = tuple(dict.fromkeys((ID_TEXT, *TEXT_ARGS.values(), COUNTER_ARGS)))
"""The sparse columns, in the order in which they are handed over."""
_DTYPES: Mapping[str, type[np.generic]] = {
    **dict.fromkeys(INTS, np.int64),
    **dict.fromkeys(FLOATS, np.float64),
    **dict.fromkeys(TEXTS, np.int32),
}


class FinishedColumns(Struct, frozen=True, eq=False):
    """The columns of a RawTrace; ``raw`` describes them."""

    events: RawEvents
    ints: dict[str, Sparse]
    floats: dict[str, Sparse]
    texts: dict[str, Sparse]
    strings: tuple[str, ...]


def sparse_dtype(column: str) -> type[np.generic]:
    """Type of the values of a sparse column; texts are codes."""
    return _DTYPES[column]


class Columns(Protocol):
    """Columns that grow while a file is scanned."""

    @property
    def codes(self) -> Mapping[str, int]:
        """Text → code; a new text gets the next one."""
        ...

    @property
    def rows(self) -> int:
        """The number of rows."""
        ...

    def expect(self, rows: int) -> None:
        """Make room for so many rows in all, if that saves anything."""
        ...

    def add_dense(self, chunk: Mapping[str, NDArray[Any]]) -> None:
        """Appends one chunk of every dense column; the chunk's sparse values go in before."""
        ...

    def add_sparse(self, name: str, row: NDArray[Any], value: NDArray[Any]) -> None:
        """Appends values of the current chunk; ``row`` counts from the chunk's first row."""
        ...

    def add_block(self, offset: int, length: int, rows: int) -> None:
        """Note that the last ``rows`` rows came from this part of the text."""
        ...

    def check_phases(self) -> None:
        """Check that some row has a phase.

        Raises:
            TraceFormatError: the members of the array are no events.
        """
        ...

    def finish(self) -> FinishedColumns:
        """All columns in one piece; takes them out."""
        ...

    def blocks(self) -> Blocks:
        """The places of the rows in the text."""
        ...


class BlockTable:
    """Grows the blocks of a RawTrace."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int, int]] = []

    def add(self, offset: int, length: int, first_row: int) -> None:
        """Appends a block that begins with this row."""
        self._blocks.append((offset, length, first_row))

    def finish(self, rows: int) -> Blocks:
        """The places of ``rows`` rows."""
        table = np.array(self._blocks, np.int64).reshape(-1, 3)
        first_row = np.append(table[:, 2], rows)
        return Blocks(table[:, 0].copy(), table[:, 1].copy(), first_row)


def not_events() -> TraceFormatError:
    """The error for an array in which no member has a phase."""
    return TraceFormatError(
        "not_events",
        "This is a JSON array, but not of trace events.",
        hint="A trace is what export_chrome_trace() writes.",
    )


class SharedRows:
    """Rows of sparse columns: those that are the same are one array."""

    def __init__(self) -> None:
        self._by_length: dict[int, list[NDArray[np.int32]]] = {}

    def share(self, row: NDArray[np.int32]) -> NDArray[np.int32]:
        """``row``, or an equal array that was shared before."""
        alike = self._by_length.setdefault(len(row), [])
        for known in alike:
            if np.array_equal(known, row):
                return known
        alike.append(row)
        return row


class Codes(dict[str, int]):
    """Codes of texts; a new text gets the next code, the empty text has code 0."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code


class _Growing:
    """An array that grows at its end in place, so that its data is never in memory twice."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._data: NDArray[Any] = np.empty(1024, dtype)
        self._used = 0

    def add(self, values: NDArray[Any]) -> None:
        used = self._used + len(values)
        if used > len(self._data):
            # Nobody else holds the array before it is taken.
            self._data.resize(max(used, len(self._data) * 3 // 2), refcheck=False)
        self._data[self._used : used] = values
        self._used = used

    def take(self) -> NDArray[Any]:
        self._data.resize(self._used, refcheck=False)
        return self._data

    def used(self) -> NDArray[Any]:
        return self._data[: self._used]


class RawColumns:
    """The columns so far, and where their rows are in the text."""

    def __init__(self) -> None:
        self.codes = Codes()
        self.rows = 0
        self._dense = {name: _Growing(dtype) for name, dtype in DENSE.items()}
        self._sparse: dict[str, tuple[_Growing, _Growing]] = {}
        self._blocks = BlockTable()

    def expect(self, rows: int) -> None:
        """Nothing: its arrays grow where they are."""

    def add_dense(self, chunk: Mapping[str, NDArray[Any]]) -> None:
        """Appends one chunk of every dense column; the chunk's sparse values go in before."""
        for name, column in self._dense.items():
            column.add(chunk[name])
        self.rows += len(chunk["phase"])

    def add_sparse(self, name: str, row: NDArray[Any], value: NDArray[Any]) -> None:
        """Appends values of the current chunk; ``row`` counts from the chunk's first row."""
        column = self._sparse.get(name)
        if column is None:
            column = self._sparse[name] = (_Growing(np.int32), _Growing(_DTYPES[name]))
        column[0].add(row + self.rows)
        column[1].add(value)

    def add_block(self, offset: int, length: int, rows: int) -> None:
        """Note that the last ``rows`` rows came from this part of the text."""
        if rows:
            self._blocks.add(offset, length, self.rows - rows)

    def check_phases(self) -> None:
        """Check that some row has a phase.

        Raises:
            TraceFormatError: the members of the array are no events.
        """
        if not self._dense["phase"].used().any():
            raise not_events()

    def finish(self) -> FinishedColumns:
        """All columns in one piece; takes them out."""
        dense = {name: column.take() for name, column in self._dense.items()}
        rows = SharedRows()
        sparse = {
            name: Sparse(rows.share(row.take()), _narrow(name, value.take()))
            for name, (row, value) in self._sparse.items()
            if len(row.used())
        }
        return in_order_of_use(
            FinishedColumns(
                events=RawEvents(**dense),
                ints={name: sparse[name] for name in INTS if name in sparse},
                floats={name: sparse[name] for name in FLOATS if name in sparse},
                texts={name: sparse[name] for name in TEXTS if name in sparse},
                strings=tuple(self.codes),
            )
        )

    def blocks(self) -> Blocks:
        """The places of the rows in the text."""
        return self._blocks.finish(self.rows)


def _narrow(name: str, value: NDArray[Any]) -> NDArray[Any]:
    """The column as int32, if it should be and all values fit."""
    if name not in NAMING:
        return value
    narrow = value.astype(np.int32)
    return narrow if np.array_equal(narrow, value) else value


def in_order_of_use(found: FinishedColumns) -> FinishedColumns:
    """The columns with codes in the order of their first use, as ``raw`` demands.

    Texts without use go. Codes are changed in place.
    """
    everywhere = np.arange(len(found.events), dtype=np.int32)
    uses = [(getattr(found.events, name), everywhere) for name in _CODED]
    uses += [(sparse.value, sparse.row) for sparse in found.texts.values()]
    renumber, order = _by_first_use(len(found.strings), uses)
    for column, _ in uses:
        for part in chunks(len(column)):
            column[part] = renumber[column[part]]
    return replace(found, strings=tuple(found.strings[code] for code in order.tolist()))


def _by_first_use(
    count: int, uses: list[tuple[NDArray[Any], NDArray[np.int32]]]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Old code → new code, and the old codes in the new order; 0 stays, codes without use go."""
    never = np.iinfo(np.int64).max
    first = np.full(count, never)
    for rank, (codes, rows) in enumerate(uses):
        row = np.full(count, -1, np.int64)
        # Of several assignments the last one stays: that of the first row.
        for part in reversed(list(chunks(len(codes)))):
            row[codes[part][::-1]] = rows[part][::-1]
        place = np.where(row < 0, never, row * len(uses) + rank)
        np.minimum(first, place, out=first)
    first[0] = -1
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < never)]
    renumber = np.zeros(count, np.int32)
    renumber[order] = np.arange(len(order), dtype=np.int32)
    return renumber, order


class Places(Protocol):
    """Places of the events of a chunk."""

    @property
    def floor(self) -> int:
        """No event of the chunk begins before."""
        ...

    def of(self, index: int) -> int:
        """The place of the event with this index in the chunk."""
        ...


class KnownPlaces:
    """Places that were noted when the events were read."""

    def __init__(self, starts: Sequence[int]) -> None:
        self._starts = starts
        self.floor = starts[0]

    def of(self, index: int) -> int:
        """The place of the event with this index in the chunk."""
        return self._starts[index]


class BlockPlaces:
    """Places in a block of strict JSON: of the members of ``array``, the first at ``floor``."""

    def __init__(self, array: bytes, floor: int) -> None:
        self._array = array
        self._starts: list[int] = []
        self.floor = floor

    def of(self, index: int) -> int:
        """The place of the event with this index in the chunk."""
        if not self._starts:
            self._starts = list(starts_of_members(self._array))
        return self.floor - 1 + self._starts[index]
