"""Tables of a trace as pandas DataFrames: codes become categoricals, −1 becomes <NA>."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .ask.made import SourceColumn
from .ask.tables import TextColumn, Values, WholeColumn
from .base.units import NBSP
from .views.table import Column, Table, per_step

Codes = NDArray[Any]


def frame_of(columns: Sequence[SourceColumn]) -> pd.DataFrame:
    """Columns of a table by the ids of SQL; ``attrs`` has their definitions.

    The index is the row of the table.
    """
    frame = _frame({column.key: _values(column.of()) for column in columns})
    frame.attrs = {"definitions": {column.key: column.help for column in columns}}
    return frame


def _values(values: Values | Sequence[Any]) -> object:
    if isinstance(values, TextColumn):
        return _categorical(values.codes, lambda code: values.strings[code])
    if isinstance(values, WholeColumn):
        whole = values.values.astype(np.int64)
        return pd.arrays.IntegerArray(whole, values.values == values.absent)
    return values if isinstance(values, np.ndarray) else _cells(Column("", ""), values)


def table_frame(table: Table) -> pd.DataFrame:
    """A table of a view: texts as categoricals, whole numbers with <NA> where nothing is known.

    A sum over the chosen steps is followed by what it is per step.
    """
    table = per_step(table, has_sums=True)
    cells = zip(*table.rows, strict=True) if table.rows else ((),) * len(table.columns)
    frame = _frame(
        {c.key: _cells(c, values) for c, values in zip(table.columns, cells, strict=True)}
    )
    frame.attrs = {
        "title": table.title,
        "definitions": {c.key: c.help for c in table.columns if c.help},
    }
    return frame


def _cells(column: Column, values: Sequence[str | int | float | None]) -> object:
    kinds = {type(value) for value in values if value is not None}
    if not kinds and column.kind != "value":
        kinds = {str}
    if kinds == {bool}:
        return pd.Series(list(values), dtype="boolean" if None in values else "bool")
    if kinds == {int}:
        if None not in values:
            return np.array(values, np.int64)
        return pd.Series(list(values), dtype="Int64")
    if kinds <= {int, float}:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    texts = [None if value is None else str(value).replace(NBSP, " ") for value in values]
    # object: a text may hold what is no valid UTF-8, which other dtypes refuse
    categories = pd.Index(list(dict.fromkeys(t for t in texts if t is not None)), dtype=object)
    return pd.Categorical(texts, categories=categories)


def _frame(columns: Mapping[str, object]) -> pd.DataFrame:
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame


# --- columns --------------------------------------------------------------------------------------


def _categorical(codes: Codes, text_of: Callable[[int], str]) -> pd.Categorical:
    """Codes as a categorical of the texts that occur; −1 is missing."""
    used, place = np.unique(codes, return_inverse=True)
    texts = [text_of(int(code)) for code in used if code >= 0]
    # Two threads may be called the same: categories have to differ.
    categories = list(dict.fromkeys(texts))
    index = {text: number for number, text in enumerate(categories)}
    lookup = np.array([-1] * int((used < 0).sum()) + [index[text] for text in texts], np.int64)
    chosen = lookup[place] if len(used) else np.empty(0, np.int64)
    # object: a text may hold what is no valid UTF-8, which other dtypes refuse
    return pd.Categorical.from_codes(chosen, categories=pd.Index(categories, dtype=object))
