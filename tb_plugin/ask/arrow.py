"""Columns as Arrow: no value is copied where the column has no NULL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..base.arrays import Mask
from .made import Plain, SourceColumn
from .tables import TextColumn, Values, WholeColumn


def arrow_table(columns: Sequence[SourceColumn], wanted: Collection[str] | None = None) -> pa.Table:
    """Columns of a table, or those that are wanted; meaning and unit are metadata of each field."""
    some = [one for one in columns if wanted is None or one.key in wanted] or list(columns[:1])
    arrays = [arrow_array(one.of()) for one in some]
    fields = [
        pa.field(one.key, array.type, metadata={"meaning": one.help, "unit": one.unit})
        for one, array in zip(some, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def arrow_array(values: Values | Plain) -> pa.Array:
    """One column. Not by ``pa.array``, which imports pandas, a second of a short command."""
    if isinstance(values, TextColumn):
        codes = values.codes
        if codes.dtype.itemsize < 4 or codes.dtype.kind != "i":
            codes = codes.astype(np.int32)
        return pa.DictionaryArray.from_arrays(_numbers(codes, codes < 0), _texts(values.strings))
    if isinstance(values, WholeColumn):
        return _numbers(values.values, values.values == values.absent)
    if isinstance(values, np.ndarray):
        return _numbers(values, np.isnan(values) if values.dtype.kind == "f" else None)
    return _plain(values)


def _numbers(values: NDArray[Any], missing: Mask | None = None) -> pa.Array:
    """Numbers or truth values; the memory is that of ``values``."""
    validity, count = _validity(missing)
    if values.dtype == np.bool_:
        content = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(values), [validity, content], count)
    content = pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [validity, content], count)


def _validity(missing: Mask | None) -> tuple[Any, int]:
    if missing is None or not missing.any():
        return None, 0
    return pa.py_buffer(np.packbits(~missing, bitorder="little")), int(missing.sum())


def _plain(values: Plain) -> pa.Array:
    missing = np.array([value is None for value in values], np.bool_)
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {bool, int, float}:
        dtype = np.bool_ if kinds == {bool} else np.int64 if kinds <= {bool, int} else np.float64
        return _numbers(np.array([0 if one is None else one for one in values], dtype), missing)
    return _texts(values)


def _texts(strings: Sequence[Any]) -> pa.Array:
    """Texts as a column; invalid UTF-8 is written out."""
    missing = np.array([one is None for one in strings], np.bool_)
    encoded = [
        b"" if one is None else str(one).encode("utf-8", "backslashreplace") for one in strings
    ]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    validity, count = _validity(missing)
    content = [validity, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), content, count)
