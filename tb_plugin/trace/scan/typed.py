"""Blocks of strict JSON to columns: the meaning of ``reference``, many times faster.

An event decodes into a Struct whose times and args are still text. The times of all events become
numbers at once. The args are decoded once more, all of one category together, by a layout learned
from them. So no line of Python runs for a single event, and no schema has to be known beforehand.

* ``column_ns`` turns decimal texts into int64 ns; ``json_values`` defines what each means.
* An ``ArgLayout`` holds the args that a category of events has, learned from its events, and
  decodes them into typed slots. A key that it does not know, or a value of another type than usual,
  makes it fail and learn. So what it decodes is complete, with the speed of a schema.
* A ``Chunk`` is whole before anything of it is appended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

from ...base.regex import regex
from ..raw import (
    COUNTER_ARGS,
    FLOAT_ARGS,
    ID_INT,
    ID_TEXT,
    INT_ARGS,
    MISSING,
    NO_DUR,
    TEXT_ARGS,
    FaultLog,
)
from .column_builder import Columns, Places, sparse_dtype
from .json_values import (
    COLUMN,
    ORDER,
    Json,
    arg_value,
    canonical_int,
    decode_strict,
    fit_int64,
    is_read_as_int,
    nanoseconds,
    shown,
    text_value,
)

# --- columns of one block -------------------------------------------------------------------------

_NUMBER_BYTES = b"0123456789.-\n"
_QUOTED = regex(rb'(?:"?-?\d{1,18}(?:\.\d{1,3})?"?\n|\n)*')  # Ascend writes ts as strings.
_SCALE = np.array([1000, 100, 10, 1], np.int64)  # by the number of decimals
_LIMIT = np.array([9 * 10**15, 9 * 10**16, 9 * 10**17, 9 * 10**18], np.int64)  # within int64 ns


def column_ns(texts: Sequence[object]) -> tuple[NDArray[np.int64], list[int]]:
    """The JSON texts of times in µs (buffers; empty = absent) as ns, and the rows without a time.

    MISSING where absent or unreadable; only the unreadable rows are listed.

    Raises:
        ValueError: a text is no strict JSON.
    """
    joined = b"\n".join(texts) + b"\n"  # type: ignore[arg-type]
    if joined.translate(None, _NUMBER_BYTES):
        if not _QUOTED.fullmatch(joined):
            return _one_by_one(texts)
        joined = joined.translate(None, b'"')
    flat = np.frombuffer(joined, np.uint8)
    end = np.flatnonzero(flat == ord("\n"))
    point = np.flatnonzero(flat == ord("."))
    row = np.searchsorted(end, point)
    decimals = np.zeros(len(end), np.int64)
    decimals[row] = end[row] - point - 1
    given = np.flatnonzero(np.diff(end, prepend=-1) > 1)
    decimals = decimals[given]
    number = np.fromstring(joined.replace(b".", b""), np.int64, sep="\n")
    kind = np.minimum(decimals, 3)
    ns = np.full(len(texts), MISSING, np.int64)
    ns[given] = number * _SCALE[kind]
    # Beyond int64 the number is its limit; beyond three decimals it must be rounded.
    odd = given[(decimals > 3) | (number > _LIMIT[kind]) | (number < -_LIMIT[kind])]
    ns[odd], unread = _read([texts[row] for row in odd.tolist()])
    return ns, odd[unread].tolist()


def _one_by_one(texts: Sequence[object]) -> tuple[NDArray[np.int64], list[int]]:
    given = [row for row, text in enumerate(texts) if bytes(text)]  # type: ignore[call-overload]
    ns = np.full(len(texts), MISSING, np.int64)
    ns[given], unread = _read([texts[row] for row in given])
    return ns, [given[at] for at in unread]


def _read(texts: Sequence[object]) -> tuple[NDArray[np.int64], list[int]]:
    """The ns of texts that are there, MISSING where there is no time, and which those are."""
    times = [nanoseconds(decode_strict(bytes(text))) for text in texts]  # type: ignore[call-overload]
    unread = [row for row, time in enumerate(times) if time is None]
    return np.array([MISSING if time is None else time for time in times], np.int64), unread


MAX_KEYS = 64
INT, FLOAT, TEXT, ODD, IGNORED = "int", "float", "text", "odd", "ignored"
_TYPES: dict[str, Any] = {
    INT: int | None,
    FLOAT: float | None,
    TEXT: str | None,
    ODD: Raw,
    IGNORED: Raw,
}
_DICTS = msgspec.json.Decoder(list[dict[str, Raw]])
_NO_FIELD = regex(r'[\x00-\x1f"\\]')  # msgspec has no field of such a name

_FITS = {
    INT: regex(rb"-?\d+|null"),
    FLOAT: regex(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|null"),
    TEXT: regex(rb'".*|null', re.DOTALL),
}


def _usual_kind(key: str) -> str:
    if key in INT_ARGS:
        return INT
    if key in FLOAT_ARGS:
        return FLOAT
    return TEXT if key in TEXT_ARGS else IGNORED


class Slot(Struct, frozen=True):
    """One argument of a layout."""

    key: str
    column: str
    kind: str
    get: Callable[[Any], Any]


class ArgLayout:
    """Args of one category: key → kind, and the decoder made of them."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._open = False
        self._decoder: msgspec.json.Decoder[list[Any]] | None = None
        self.slots: list[Slot] = []

    def decode(self, args: Sequence[Raw]) -> list[Any] | None:
        """Objects whose ``slots`` hold the values (None = absent or null; ODD is the Raw text).

        None when some args are no object: then they are another's business.
        """
        joined = b"[" + b",".join(args) + b"]"
        for learn in (None, self._learn_keys, self._learn_types):
            if learn is not None and not learn(joined):
                return None
            if self._decoder is not None:
                try:
                    return self._decoder.decode(joined)
                except msgspec.ValidationError:
                    pass
        return None

    def _learn_keys(self, joined: bytes) -> bool:
        try:
            dicts = _DICTS.decode(joined)
        except (msgspec.DecodeError, RecursionError):
            return False
        for key in set().union(*dicts):
            if _NO_FIELD.search(key):
                self._open = True
            else:
                self._kinds.setdefault(key, _usual_kind(key))
        self._build()
        return True

    def _learn_types(self, joined: bytes) -> bool:
        dicts = _DICTS.decode(joined)
        for key, kind in self._kinds.items():
            fits = _FITS.get(kind)
            if fits and not all(fits.fullmatch(args[key]) for args in dicts if key in args):
                self._kinds[key] = ODD
        self._build()
        return True

    def _build(self) -> None:
        if self._open or len(self._kinds) > MAX_KEYS:
            self._open = True
            self._kinds = {key: kind for key, kind in self._kinds.items() if kind != IGNORED}
            for key in (*INT_ARGS, *FLOAT_ARGS, *TEXT_ARGS):
                self._kinds.setdefault(key, ODD)
        fields = [
            (f"f{index}", _TYPES[kind], msgspec.field(name=key, default=None))
            for index, (key, kind) in enumerate(self._kinds.items())
        ]
        struct = msgspec.defstruct("Args", fields, gc=False, forbid_unknown_fields=not self._open)
        self._decoder = msgspec.json.Decoder(list[struct])  # type: ignore[valid-type]
        slots = [
            Slot(key, COLUMN[key], kind, attrgetter(f"f{index}"))
            for index, (key, kind) in enumerate(self._kinds.items())
            if kind != IGNORED
        ]
        # Of two spellings of one column the first in the tables is written last, and stays.
        self.slots = sorted(slots, key=lambda slot: -ORDER[slot.key])


_NULL = -1


class OddBlock(Exception):
    """Strict JSON with values of types that only the reference reads."""


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
        """Append the chunk to the columns."""
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


# --- blocks ---------------------------------------------------------------------------------------


MAX_LAYOUTS = 64
MAX_NESTED = 500_000
_SHARED = -1
_ABSENT = Raw(b"")


class _Event(Struct, gc=False):
    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = ""
    tid: int | str = ""
    ts: Raw = _ABSENT
    dur: Raw = _ABSENT
    id: int | str = None  # type: ignore[assignment]  # absent; a null in the file is odd
    args: Raw = None  # type: ignore[assignment]  # absent


_EVENTS = msgspec.json.Decoder(list[_Event])


class _Phases(dict[str, int]):
    """Character of a phase → its code."""

    def __missing__(self, phase: str) -> int:
        if len(phase) > 1 or phase > "\xff":
            raise OddBlock
        code = self[phase] = ord(phase) if phase else 0
        return code


class _Ids(dict["int | str", int]):
    """Code of a pid or tid: 7 and "7" are one text."""

    def __init__(self, codes: Mapping[str, int]) -> None:
        super().__init__()
        self._codes = codes

    def __missing__(self, key: int | str) -> int:
        if isinstance(key, int) and not is_read_as_int(key):
            raise OddBlock
        code = self[key] = self._codes[str(key)]
        return code


class TypedBlocks:
    """Appends blocks to ``columns``; layouts learned from one block speed up the next."""

    def __init__(self, columns: Columns, faults: FaultLog) -> None:
        self._columns = columns
        self._faults = faults
        self._phases = _Phases()
        self._ids = _Ids(columns.codes)
        self._nested = NestedCodes(columns.codes)
        self._layouts: dict[int, ArgLayout] = {}

    def add(self, block: bytes, places: Places) -> int:
        """Append the events of a JSON array, and return their number.

        Raises:
            OddBlock, msgspec.ValidationError: ``reference`` must read it. Nothing was appended.
            msgspec.DecodeError: it is not JSON.
        """
        events = _EVENTS.decode(block)
        if len(self._nested) > MAX_NESTED:
            self._nested.clear()
        chunk = Chunk(self._columns.codes, len(events))
        self._fields(chunk, events)
        self._args(chunk, events)
        chunk.append_to(self._columns, self._faults, places)
        return len(events)

    def _fields(self, chunk: Chunk, events: Sequence[_Event]) -> None:
        phase = self._phases.__getitem__
        text = self._columns.codes.__getitem__
        number = self._ids.__getitem__
        chunk.dense["phase"] = chunk.coded(phase, [event.ph for event in events], np.uint8)
        chunk.dense["category"] = chunk.coded(text, [event.cat for event in events])
        chunk.dense["name"] = chunk.coded(text, [event.name for event in events])
        chunk.dense["pid"] = chunk.coded(number, [event.pid for event in events])
        chunk.dense["tid"] = chunk.coded(number, [event.tid for event in events])
        chunk.times([event.ts for event in events], [event.dur for event in events])
        chunk.ids([event.id for event in events])

    def _args(self, chunk: Chunk, events: Sequence[_Event]) -> None:
        args = [event.args for event in events]
        given = np.flatnonzero(np.fromiter([raw is not None for raw in args], bool, len(args)))
        groups = []
        for code, rows in _by_category(chunk.dense["category"], given):
            layout = self._layout(code)
            objects = layout.decode([args[row] for row in rows.tolist()])
            if objects is None:
                raise OddBlock
            # A layout may learn more from the next group: these are the slots of these objects.
            groups.append((rows, layout.slots, objects))
        for rows, slots, objects in groups:
            for slot in slots:
                chunk.slot(slot, rows, list(map(slot.get, objects)), self._nested)
        for row in given[chunk.dense["phase"][given] == ord("C")].tolist():
            chunk.counter(row, args[row])

    def _layout(self, code: int) -> ArgLayout:
        """The layout of a category; beyond a number of categories, one is shared."""
        if code not in self._layouts and len(self._layouts) >= MAX_LAYOUTS:
            code = _SHARED
        return self._layouts.setdefault(code, ArgLayout())


def _by_category(
    category: NDArray[np.int32], rows: NDArray[np.intp]
) -> list[tuple[int, NDArray[np.intp]]]:
    """The rows of each category; all together when there are too many categories."""
    of_row = category[rows]
    codes = np.unique(of_row).tolist()
    if len(codes) > MAX_LAYOUTS:
        return [(_SHARED, rows)]
    return [(code, rows[of_row == code]) for code in codes]
