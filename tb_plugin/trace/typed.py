"""Blocks of strict JSON → columns, without a Python step per event. Means the same as ``loose``, many times faster.

An event decodes into a Struct whose times and args are still text. The times of all events become numbers at
once. The args are decoded once more, all of one category together, by a layout learned from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

from .args import arg_value, fit_int64
from .decimals import column_ns
from .faults import FaultLog
from .layout import FLOAT, INT, TEXT, Layout, Slot
from .loose import Place
from .raw import COUNTER_ARGS, ID_INT, ID_TEXT, MISSING, NO_DUR, TEXT_ARGS
from .raw_columns import Codes, RawColumns, sparse_dtype
from .strict import decode_strict
from .values import canonical_int, json_text

MAX_LAYOUTS = 64
MAX_NESTED = 500_000
_SHARED = -1
_NULL = -1
_ABSENT = Raw(b"")


class OddBlock(Exception):  # noqa: N818
    """Strict JSON, but with values of types that only the loose way reads."""


class _Event(Struct, gc=False):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = ""
    tid: int | str = ""
    ts: Raw = _ABSENT
    dur: Raw = _ABSENT
    id: int | str = None  # type: ignore[assignment]  # a null in the file is odd
    args: Raw = None  # type: ignore[assignment]


_EVENTS = msgspec.json.Decoder(list[_Event])


class _Phases(dict[str, int]):
    def __missing__(self, phase: str) -> int:
        if len(phase) > 1 or phase > "\xff":
            raise OddBlock
        code = self[phase] = ord(phase) if phase else 0
        return code


class _Ids(dict["int | str", int]):
    """Code of a pid or tid: 7 and "7" are one text."""

    def __init__(self, codes: Codes) -> None:
        super().__init__()
        self._codes = codes

    def __missing__(self, key: int | str) -> int:
        code = self[key] = self._codes[str(key)]
        return code


class _Nested(dict[bytes, int]):
    """Code of the compact text of a nested value, by the text in the file."""

    def __init__(self, codes: Codes) -> None:
        super().__init__()
        self._codes = codes

    def __missing__(self, text: bytes) -> int:
        value, _ = arg_value(next(iter(TEXT_ARGS)), decode_strict(text))
        code = self[text] = _NULL if value is None else self._codes[str(value)]
        return code


class TypedBlocks:
    """Appends blocks to ``columns``; what it has learned speeds up the next one."""

    def __init__(self, columns: RawColumns, faults: FaultLog) -> None:
        self._columns = columns
        self._faults = faults
        self._phases = _Phases()
        self._ids = _Ids(columns.codes)
        self._nested = _Nested(columns.codes)
        self._layouts: dict[int, Layout] = {}

    def add(self, block: bytes, place: Place) -> int:
        """Appends the events of a JSON array; how many there are.

        Raises:
            OddBlock, msgspec.ValidationError: ``loose`` must read it. Nothing was appended.
            msgspec.DecodeError: it is not JSON.
        """
        events = _EVENTS.decode(block)
        if len(self._nested) > MAX_NESTED:
            self._nested.clear()
        chunk = _Chunk(self._columns.codes, len(events))
        self._fields(chunk, events)
        self._args(chunk, events)
        chunk.append_to(self._columns, self._faults, place)
        return len(events)

    def _fields(self, chunk: _Chunk, events: Sequence[_Event]) -> None:
        codes = self._columns.codes.__getitem__
        ids = self._ids.__getitem__
        chunk.dense = {
            "phase": chunk.column(self._phases.__getitem__, [event.ph for event in events], np.uint8),
            "category": chunk.column(codes, [event.cat for event in events]),
            "name": chunk.column(codes, [event.name for event in events]),
            "pid": chunk.column(ids, [event.pid for event in events]),
            "tid": chunk.column(ids, [event.tid for event in events]),
            "ts": chunk.times("ts", [event.ts for event in events]),
            "dur": _durations(chunk.times("dur", [event.dur for event in events])),
        }
        chunk.ids([event.id for event in events])

    def _args(self, chunk: _Chunk, events: Sequence[_Event]) -> None:
        args = [event.args for event in events]
        given = np.array([row for row, raw in enumerate(args) if raw is not None], np.int32)
        category = chunk.dense["category"][given]
        groups = []
        for code in np.unique(category).tolist():
            rows = given[category == code]
            layout = self._layout(code)
            objects = layout.decode([args[row] for row in rows.tolist()])
            if objects is None:
                raise OddBlock
            groups.append((rows, layout, objects))
        for rows, layout, objects in groups:
            for slot in layout.slots:
                chunk.slot(slot, rows, list(map(slot.get, objects)), self._nested)
        counters = np.flatnonzero(chunk.dense["phase"] == ord("C"))
        for row in counters[np.isin(counters, given)].tolist():
            text = json_text(_decoded(bytes(args[row])))
            chunk.put(COUNTER_ARGS, np.array([row]), np.array([self._columns.codes[text]]))

    def _layout(self, code: int) -> Layout:
        layout = self._layouts.get(code)
        if layout is None:
            if len(self._layouts) >= MAX_LAYOUTS:
                code = _SHARED
            layout = self._layouts.setdefault(code, Layout())
        return layout


class _Chunk:
    """The columns of one block, complete before anything of them is appended."""

    def __init__(self, codes: Codes, rows: int) -> None:
        self._codes = codes
        self._rows = rows
        self.dense: dict[str, NDArray[Any]] = {}
        self._sparse: dict[str, tuple[NDArray[Any], NDArray[np.bool_]]] = {}
        self._notes: list[tuple[str, int, str, object]] = []

    def append_to(self, columns: RawColumns, faults: FaultLog, place: Place) -> None:
        for name, (values, given) in self._sparse.items():
            rows = np.flatnonzero(given)
            columns.add_sparse(name, rows, values[rows])
        columns.add_dense(self.dense)
        for kind, row, key, value in self._notes:
            faults.add(kind, f"{key}: {json_text(value)}", place(row))

    def column(
        self, code: Callable[[Any], int], values: list[Any], dtype: type[np.generic] = np.int32
    ) -> NDArray[Any]:
        return np.fromiter(map(code, values), dtype, self._rows)

    def times(self, key: str, texts: list[Raw]) -> NDArray[np.int64]:
        try:
            ns, unread = column_ns(texts)
        except ValueError:
            raise OddBlock from None
        for row in unread:
            self._notes.append((f"bad_{key}", row, key, _decoded(bytes(texts[row]))))
        return ns

    def put(self, column: str, rows: NDArray[Any], values: NDArray[Any]) -> None:
        known = self._sparse.get(column)
        if known is None:
            known = (np.zeros(self._rows, sparse_dtype(column)), np.zeros(self._rows, bool))
            self._sparse[column] = known
        known[0][rows] = values
        known[1][rows] = True

    def ids(self, values: list[Any]) -> None:
        rows = [row for row, value in enumerate(values) if value is not None]
        given = [values[row] for row in rows]
        if str not in set(map(type, given)):
            try:
                numbers = np.fromiter(given, np.int64, len(given))
            except OverflowError:
                pass
            else:
                self.put(ID_INT, np.array(rows, np.int32), numbers)
                return
        for row in rows:
            self._id(row, values[row])

    def _id(self, row: int, value: int | str) -> None:
        at = np.array([row])
        number = canonical_int(value) if isinstance(value, str) else value
        if number is None:
            self.put(ID_TEXT, at, np.array([self._codes[str(value)]]))
            return
        fitting, fault = fit_int64(number)
        if fault:
            self._notes.append((fault, row, "id", value))
        if fitting is not None:
            self.put(ID_INT, at, np.array([fitting]))

    def slot(self, slot: Slot, rows: NDArray[Any], values: list[Any], nested: _Nested) -> None:
        """One argument of one category; None where an event does not have it."""
        if slot.kind == INT or slot.kind == FLOAT:
            try:
                self.put(slot.column, rows, np.fromiter(values, sparse_dtype(slot.column), len(values)))
            except (TypeError, OverflowError):
                pass
            else:
                return
        keep = [at for at, value in enumerate(values) if value is not None]
        rows = rows[keep]
        values = [values[at] for at in keep]
        if slot.kind == TEXT:
            self.put(slot.column, rows, np.fromiter(map(self._codes.__getitem__, values), np.int32, len(values)))
        elif slot.kind == INT or slot.kind == FLOAT:
            try:
                self.put(slot.column, rows, np.fromiter(values, sparse_dtype(slot.column), len(values)))
            except OverflowError:
                self._one_by_one(slot, rows, values)
        elif slot.key in TEXT_ARGS:
            texts = b"\0".join(values).split(b"\0") if values else []
            try:
                codes = np.fromiter(map(nested.__getitem__, texts), np.int32, len(texts))
            except ValueError:
                raise OddBlock from None
            there = codes != _NULL
            self.put(slot.column, rows[there], codes[there])
        else:
            self._one_by_one(slot, rows, [_decoded(bytes(value)) for value in values])

    def _one_by_one(self, slot: Slot, rows: NDArray[Any], values: list[Any]) -> None:
        for row, value in zip(rows.tolist(), values, strict=True):
            number, fault = arg_value(slot.key, value)
            if fault:
                self._notes.append((fault, row, slot.key, value))
            if number is not None:
                self.put(slot.column, np.array([row]), np.array([number]))


def _durations(ns: NDArray[np.int64]) -> NDArray[np.int64]:
    ns[ns == NO_DUR] = NO_DUR - 1
    ns[ns == MISSING] = NO_DUR
    return ns


def _decoded(text: bytes) -> Any:
    try:
        return decode_strict(text)
    except ValueError:
        raise OddBlock from None
