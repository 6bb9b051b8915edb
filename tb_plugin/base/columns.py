"""One column of numbers or texts: as Arrow sees it, and in the fewest bytes.

Arrow's own conversions import pandas where it is installed: half a second before the first picture.
Numbers without gaps are one buffer either way.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .arrays import B, SomeRows, Sparse, filled, take, where
from .native import call

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[Any]

_PACKED = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)
_ALIGNED = 64  # bytes, as in files of Arrow
_FEW = 8  # one row in so many
_MANY = 1 << 12  # rows for which a call is worth it


def narrowest(values: Array) -> Array:
    """Numbers from 0 on in the smallest of our types that holds them all."""
    most = int(values.max(initial=0))
    for dtype in (np.uint16, np.uint32):
        if most <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype(np.int64)


class Numbers(NamedTuple):
    """Numbers in fewer bytes than their column has.

    ``value`` is what nearly all rows have, and then ``rows`` are those that have something else,
    None where no row has. Without a value, ``rows`` is None and the numbers are of all rows.
    """

    numbers: Array
    rows: Array | None = None
    value: float | None = None


class Packed(Struct, frozen=True, eq=False):
    """A column in fewer bytes, and the type and the shape that it has when it is read."""

    small: Numbers
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def is_listed(self, most_bytes: int) -> bool:
        """True if it stores its numbers and reading them takes no more bytes."""
        small = self.small
        size = math.prod(self.shape) * self.dtype.itemsize
        return size <= most_bytes and (small.value is None or small.rows is not None)

    def widened(self) -> Array:
        """The column as it was."""
        small = self.small
        if small.value is None:
            return small.numbers.astype(self.dtype, copy=False).reshape(self.shape)
        column = np.full(self.shape, small.value, self.dtype)
        column[small.rows] = small.numbers
        return column


def packed(column: Array) -> Packed:
    """A column in as few bytes as its numbers allow.

    Real ones keep their bytes where fewer than most of them are equal to the first.
    """
    return Packed(_small(column), column.dtype, column.shape)


def packed_rows(column: Array, rows: SomeRows) -> Packed:
    """``packed`` of some rows of a column."""
    small = _small_rows(column, rows) or _small(take(column, rows.number))
    return Packed(small, column.dtype, (len(rows),))


def packed_few(column: Sparse, count: int) -> Packed:
    """``packed`` of a column of ``count`` rows; 0 in rows that the sparse one lacks."""
    known = where(column.value != 0)
    row, value = take(column.row, known), take(column.value, known)
    if len(known) * _FEW > count:
        return packed(filled(Sparse(row, value), count))
    if not len(known):
        small = Numbers(value, value=0)
    else:
        small = Numbers(_narrow(value, min(int(value.min()), 0), int(value.max())), row, 0)
    return Packed(small, value.dtype, (count,))


def _small(column: Array) -> Numbers:
    if not column.size or column.dtype.kind not in "iuf":
        return Numbers(column)
    if column.dtype.kind == "f":
        # By their bits, because NaN, which stands for what is not known, equals nothing.
        bits = column.view(f"i{column.itemsize}")
        others, usual = bits != bits.flat[0], float(column.flat[0])
        return _without_usual(column, others, usual) or Numbers(column)
    low, high = int(column.min()), int(column.max())
    if low == high:
        return Numbers(column[:0], value=low)
    numbers = _narrow(column, low, high)
    # What is not there is 0 or −1: the least.
    return _without_usual(numbers, column != low, low) or Numbers(numbers)


def _small_rows(column: Array, rows: SomeRows) -> Numbers | None:
    """The native way to the same of some rows, in two passes; None: there is none."""
    is_whole = column.dtype.kind == "i" and column.ndim == 1 and column.flags.c_contiguous
    if len(rows) < _MANY or not is_whole or column.itemsize not in (1, 4, 8):
        return None
    room, told = np.empty(len(rows) * column.itemsize, np.uint8), np.empty(3, np.int64)
    given = column, len(column), column.itemsize, rows.mask
    others = call("kinetoscope_rows_pack", *given, room, len(rows), told)
    if others is None:
        return None
    low, high, width = told.tolist()
    if low == high:
        return Numbers(column[:0], value=low)
    is_narrow = width < column.itemsize
    dtype = np.dtype(f"{'i' if low < 0 else 'u'}{width}") if is_narrow else column.dtype
    found = room[: len(rows) * width].view(dtype)
    few = _without_usual(found, found != low, low) if others * _FEW <= len(rows) else None
    return few or Numbers(found)


def _without_usual(numbers: Array, others: B, usual: float) -> Numbers | None:
    """The few rows that have something else; None where those are more than few."""
    count = np.count_nonzero(others)
    if not count:
        return Numbers(numbers[:0], value=usual)
    if numbers.ndim != 1 or count * _FEW > numbers.size:
        return None
    rows = where(others)
    return Numbers(take(numbers, rows), rows, usual)


def _narrow(column: Array, low: int, high: int) -> Array:
    small = next((one for one in _PACKED if _holds(np.iinfo(one), low, high)), np.int64)
    dtype = np.dtype(small) if np.dtype(small).itemsize < column.itemsize else column.dtype
    return column.astype(dtype, copy=False)


def _holds(room: np.iinfo[Any], low: int, high: int) -> bool:
    return room.min <= low and high <= room.max


def arrow_column(column: Array) -> pa.Array:
    """The same memory as Arrow sees it.

    Raises:
        ValueError: a value is not of whole bytes there.
    """
    import pyarrow as pa

    kind = pa.from_numpy_dtype(column.dtype)
    if kind.bit_width % 8:
        raise ValueError(f"a column of {column.dtype}")
    content = pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(kind, column.size, [None, content])


def numbers(column: pa.Array) -> Array:
    """The same memory as numpy sees it.

    Raises:
        ValueError: there are gaps, or the column is not of whole bytes.
    """
    if column.null_count or column.type.bit_width % 8:
        raise ValueError(f"a column of {column.type} with {column.null_count} gaps")
    dtype = np.dtype(column.type.to_pandas_dtype())
    if not len(column):
        return read_only(np.empty(0, dtype))
    content = column.buffers()[1]
    return np.frombuffer(content, dtype, len(column), column.offset * dtype.itemsize)


def texts_array(encoded: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Texts or bytes of a large kind as a column."""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    content = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(encoded), content)


# --- small columns, as they are in memory ---------------------------------------------------------


class PlainFile:
    """A file of columns, one behind the other, while it is written."""

    def __init__(self, file: Path, stack: ExitStack) -> None:
        self.name = file.name
        self._stream = stack.enter_context(file.open("wb"))
        self._size = 0

    def append(self, column: Array) -> int:
        """Where in the file the column begins.

        Raises:
            OSError: no room, or no permission.
            ValueError: its values are no numbers.
        """
        if column.dtype.kind not in "iuf":
            raise ValueError(f"a column of {column.dtype}")
        start = -(-self._size // _ALIGNED) * _ALIGNED
        self._stream.write(bytes(start - self._size))
        self._stream.write(np.ascontiguousarray(column).data)
        self._size = start + column.nbytes
        return start


def plain_column(content: bytes | mmap, offset: int, kind: str, shape: tuple[int, ...]) -> Array:
    """A column of the content of such a file, as a view of it.

    Raises:
        ValueError: the content ends before.
    """
    if not (count := math.prod(shape)):
        return read_only(np.empty(shape, kind))
    return np.frombuffer(content, kind, count, offset).reshape(shape)


def read_only(column: Array) -> Array:
    """The same column, read-only."""
    column.flags.writeable = False
    return column


# --- how much memory columns take that are in no file ---------------------------------------------

_held = 0
_lock = threading.Lock()


def held_bytes() -> int:
    """Memory of columns that were inflated or widened, while anything has them."""
    return _held


def counted(column: Array) -> Array:
    """The same column, whose memory is counted until nothing has it any more."""
    _add(column.nbytes)
    weakref.finalize(column, _add, -column.nbytes).atexit = False
    return column


def _add(size: int) -> None:
    global _held  # noqa: PLW0603  one number for the process, as its memory is
    with _lock:
        _held += size
