"""Columns as Arrow: no value is copied where the column has no NULL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .sources import Plain, SourceColumn
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
    """One column."""
    if isinstance(values, TextColumn):
        codes = np.ascontiguousarray(values.codes)
        if codes.dtype.itemsize < 4 or codes.dtype.kind != "i":
            codes = codes.astype(np.int32)
        mask = codes < 0
        indices = pa.array(codes, mask=mask if mask.any() else None)
        return pa.DictionaryArray.from_arrays(indices, _texts(values.strings))
    if isinstance(values, WholeColumn):
        mask = values.values == values.absent
        return pa.array(values.values, mask=mask if mask.any() else None)
    if isinstance(values, np.ndarray):
        if values.dtype.kind == "f":
            return pa.array(values, from_pandas=True)
        return pa.array(values)
    return _plain(values)


def _plain(values: Plain) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values])
    if len(kinds) > 1:
        return _texts([None if value is None else str(value) for value in values])
    if kinds == {str}:
        return _texts(values)
    return pa.array(values) if kinds else pa.array(values, pa.string())


def _texts(strings: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(strings, pa.string())
    except UnicodeEncodeError:  # a text may hold what is no valid UTF-8
        return pa.array(
            [
                None if one is None else one.encode("utf-8", "backslashreplace").decode()
                for one in strings
            ],
            pa.string(),
        )
