"""The columns of one block of events, whole before anything of them is appended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

from .args import arg_value, fit_int64, text_value
from .decimals import column_ns
from .faults import FaultLog
from .layout import FLOAT, INT, TEXT, Slot
from .places import Places
from .raw import COUNTER_ARGS, ID_INT, ID_TEXT, MISSING, NO_DUR, TEXT_ARGS
from .raw_columns import Columns, sparse_dtype
from .strict import decode_strict, is_read_as_int
from .values import Json, canonical_int, shown

_NULL = -1


class OddBlock(Exception):
    """Strict JSON, but with values of types that only the loose way reads."""


class NestedCodes(dict[bytes, int]):
    """Code of the compact text of a nested value, by the text in the file."""

    def __init__(self, codes: Mapping[str, int]) -> None:
        super().__init__()
        self._codes = codes

    def __missing__(self, text: bytes) -> int:
        value = decoded(text)
        code = self[text] = _NULL if value is None else self._codes[_text(value)]
        return code


class Chunk:
    """Dense columns by name, sparse columns as values and marks, and faults to be noted."""

    def __init__(self, codes: Mapping[str, int], rows: int) -> None:
        self._codes = codes
        self._rows = rows
        self.dense: dict[str, NDArray[Any]] = {}
        self._sparse: dict[str, tuple[NDArray[Any], NDArray[np.bool_]]] = {}
        self._notes: list[tuple[str, int, str, Json]] = []

    def append_to(self, columns: Columns, faults: FaultLog, places: Places) -> None:
        """Hands everything over."""
        for name, (values, given) in self._sparse.items():
            rows = np.flatnonzero(given)
            columns.add_sparse(name, rows, values[rows])
        columns.add_dense(self.dense)
        for kind, row, key, value in self._notes:
            at = partial(places.of, row)
            faults.add(kind, f"{key}: {shown(value)}", at, floor=places.floor)

    def coded(
        self, code: Callable[[Any], int], values: list[Any], dtype: type[np.generic] = np.int32
    ) -> NDArray[Any]:
        """The code of each value."""
        return np.fromiter(map(code, values), dtype, len(values))

    def times(self, starts: list[Raw], durations: list[Raw]) -> None:
        """Fills ts and dur from their texts; both at once, since a call costs more than a row."""
        texts = starts + durations
        try:
            ns, unread = column_ns(texts)
        except ValueError:
            raise OddBlock from None
        for at in unread:
            key, row = ("ts", at) if at < self._rows else ("dur", at - self._rows)
            self._notes.append((f"bad_{key}", row, key, decoded(bytes(texts[at]))))
        self.dense["ts"] = ns[: self._rows]
        dur = ns[self._rows :]
        dur[dur == NO_DUR] = NO_DUR - 1
        dur[dur == MISSING] = NO_DUR
        self.dense["dur"] = dur

    def ids(self, values: list[Any]) -> None:
        """Fills the columns of the flow and async ids."""
        rows = [row for row, value in enumerate(values) if value is not None]
        given = [values[row] for row in rows]
        if str not in set(map(type, given)) and self._put_all(ID_INT, np.array(rows, int), given):
            return
        for row, value in zip(rows, given, strict=True):
            number = canonical_int(value) if isinstance(value, str) else value
            if number is None:
                self._put_one(ID_TEXT, row, self._codes[value])
                continue
            fitting, fault = fit_int64(number)
            if fault and not is_read_as_int(number):
                raise OddBlock
            if fault:
                self._notes.append((fault, row, "id", value))
            if fitting is not None:
                self._put_one(ID_INT, row, fitting)

    def slot(self, slot: Slot, rows: NDArray[Any], values: list[Any], nested: NestedCodes) -> None:
        """Fills one argument of one category; None where an event does not have it."""
        numeric = slot.kind in (INT, FLOAT)
        # To NumPy, None is a float.
        whole = slot.kind == INT or None not in values
        if numeric and whole and self._put_all(slot.column, rows, values):
            return
        keep = [at for at, value in enumerate(values) if value is not None]
        rows = rows[keep]
        values = [values[at] for at in keep]
        if slot.kind == TEXT:
            self._put(slot.column, rows, self.coded(self._codes.__getitem__, values))
        elif not numeric and slot.key in TEXT_ARGS:
            texts = b"\0".join(values).split(b"\0") if values else []  # no JSON text has a zero
            codes = self.coded(nested.__getitem__, texts)
            there = codes != _NULL
            self._put(slot.column, rows[there], codes[there])
        elif not numeric:
            self._one_by_one(slot, rows, [decoded(bytes(value)) for value in values])
        elif not self._put_all(slot.column, rows, values):
            self._one_by_one(slot, rows, values)

    def counter(self, row: int, args: Raw) -> None:
        """Fills the args of a counter event."""
        self._put_one(COUNTER_ARGS, row, self._codes[_text(decoded(bytes(args)))])

    def _one_by_one(self, slot: Slot, rows: NDArray[Any], values: list[Any]) -> None:
        for row, value in zip(rows.tolist(), values, strict=True):
            if isinstance(value, int) and not is_read_as_int(value):
                raise OddBlock
            number, fault = arg_value(slot.key, value)
            if fault:
                self._notes.append((fault, row, slot.key, value))
            if number is not None:
                self._put_one(slot.column, row, number)

    def _put_all(self, column: str, rows: NDArray[Any], values: list[Any]) -> bool:
        """Fills in numbers; False when one is missing or does not fit."""
        try:
            numbers = np.fromiter(values, sparse_dtype(column), len(values))
        except (TypeError, OverflowError):
            return False
        if numbers.dtype == np.float64:
            numbers += 0.0  # −0 is 0
        self._put(column, rows, numbers)
        return True

    def _put(self, column: str, rows: NDArray[Any], values: NDArray[Any]) -> None:
        values_given = self._sparse.get(column)
        if values_given is None:
            values_given = (np.zeros(self._rows, sparse_dtype(column)), np.zeros(self._rows, bool))
            self._sparse[column] = values_given
        values_given[0][rows] = values
        values_given[1][rows] = True

    def _put_one(self, column: str, row: int, value: float | str) -> None:
        self._put(column, np.array([row]), np.array([value]))


def decoded(text: bytes) -> Json:
    """The value of a text that was JSON to one decoder.

    Raises:
        OddBlock: not to the other.
    """
    try:
        return decode_strict(text)
    except ValueError:
        raise OddBlock from None


def _text(value: Json) -> str:
    text, fault = text_value(value)
    if fault or text is None:
        raise OddBlock
    return text
