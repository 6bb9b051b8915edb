"""One column of numbers or texts: as Arrow sees it, and in the fewest bytes.

Arrow's own conversions import pandas where it is installed: half a second before the first picture.
Numbers without gaps are one buffer either way.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .arrays import take, where

Array = NDArray[Any]

_PACKED = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)
_FEW = 8  # one row in so many


def narrowest(values: Array) -> Array:
    """Numbers from 0 on in the smallest of our types that holds them all."""
    most = int(values.max(initial=0))
    for dtype in (np.uint16, np.uint32):
        if most <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """The numbers of a column in fewer bytes.

    ``value`` is what nearly all rows have, and then ``rows`` are those that have something else,
    None where no row has. Without a value, ``rows`` is None and the numbers are of all rows.
    """

    numbers: Array
    rows: Array | None = None
    value: float | None = None


def packed(column: Array) -> Packed:
    """A column in as few bytes as its numbers allow; real ones only where all of them are equal."""
    if not column.size or column.dtype.kind not in "iuf":
        return Packed(column)
    if column.dtype.kind == "f":
        # By their bits, because NaN, which stands for what is not known, equals nothing.
        bits = column.view(f"i{column.itemsize}")
        is_one = (bits == bits.flat[0]).all()
        return Packed(column[:0], value=float(column.flat[0])) if is_one else Packed(column)
    low, high = int(column.min()), int(column.max())
    if low == high:
        return Packed(column[:0], value=low)
    small = next((one for one in _PACKED if _holds(np.iinfo(one), low, high)), np.int64)
    dtype = np.dtype(small) if np.dtype(small).itemsize < column.itemsize else column.dtype
    # What is not there is 0 or −1: the least.
    others = column != low
    if column.ndim == 1 and np.count_nonzero(others) * _FEW <= column.size:
        rows = where(others)
        return Packed(take(column, rows).astype(dtype), rows, low)
    return Packed(column.astype(dtype, copy=False))


def _holds(room: np.iinfo[Any], low: int, high: int) -> bool:
    return room.min <= low and high <= room.max


def arrow_column(column: Array) -> pa.Array:
    """The same memory as Arrow sees it.

    Raises:
        ValueError: a value is not of whole bytes there.
    """
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
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    content = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(kind, len(encoded), content)


def read_only(column: Array) -> Array:
    """The same column, which nobody can change from now on."""
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
