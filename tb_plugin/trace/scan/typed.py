"""Blocks of strict JSON to columns: the meaning of ``reference``, many times faster.

An event decodes into a Struct whose times and args are still text. The times of all events become
numbers at once. The args are decoded once more, all of one category together, by a layout learned
from them. So no line of Python runs for a single event, and no schema has to be known beforehand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

from ..faults import FaultLog
from .column_builder import Columns, Places
from .json_values import is_read_as_int
from .typed_columns import ArgLayout, Chunk, NestedCodes, OddBlock

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
    """Appends blocks to ``columns``; what it has learned speeds up the next one."""

    def __init__(self, columns: Columns, faults: FaultLog) -> None:
        self._columns = columns
        self._faults = faults
        self._phases = _Phases()
        self._ids = _Ids(columns.codes)
        self._nested = NestedCodes(columns.codes)
        self._layouts: dict[int, ArgLayout] = {}

    def add(self, block: bytes, places: Places) -> int:
        """Appends the events of a JSON array; how many there are.

        Raises:
            OddBlock, msgspec.ValidationError: ``loose`` must read it. Nothing was appended.
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
        """Of a category; the categories beyond a number share one."""
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
