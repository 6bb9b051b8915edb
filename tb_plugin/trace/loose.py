"""Events as Python values of any type → columns, one by one. Slow, and the definition of what is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .args import COLUMN, ORDER, arg_value, fit_int64
from .faults import FaultLog
from .raw import COUNTER_ARGS, ID_INT, ID_TEXT, MISSING, NO_DUR
from .raw_columns import DENSE, RawColumns
from .timestamps import dur_ns, ts_ns
from .values import canonical_int, is_text, json_text

Place = Callable[[int], int]
"""Index of an event in its chunk → its offset in the text."""

_NOTHING = object()


def add_loose(
    columns: RawColumns, faults: FaultLog, events: Sequence[Mapping[str, Any]], place: Place
) -> None:
    """Appends events; numbers with a fraction must be ``NumberText``."""
    chunk = _Chunk(columns, faults, place)
    for index, event in enumerate(events):
        chunk.event(index, event)
    for name, (row, value) in chunk.sparse.items():
        columns.add_sparse(name, np.array(row, np.int32), np.array(value))
    columns.add_dense({name: np.array(chunk.dense[name], DENSE[name]) for name in DENSE})


class _Chunk:
    def __init__(self, columns: RawColumns, faults: FaultLog, place: Place) -> None:
        self.codes = columns.codes
        self.faults = faults
        self.place = place
        self.dense: dict[str, list[int]] = {name: [] for name in DENSE}
        self.sparse: dict[str, tuple[list[int], list[Any]]] = {}

    def note(self, kind: str, index: int, key: str, value: object) -> None:
        self.faults.add(kind, f"{key}: {json_text(value)}", self.place(index))

    def event(self, index: int, event: Mapping[str, Any]) -> None:
        dense = self.dense
        phase = self.text(index, event, "ph")
        if len(phase) > 1 or phase > "\xff":
            self.note("odd_field", index, "ph", phase)
            phase = ""
        dense["phase"].append(ord(phase) if phase else 0)
        dense["category"].append(self.codes[self.text(index, event, "cat")])
        dense["name"].append(self.codes[self.text(index, event, "name")])
        dense["pid"].append(self.codes[self.text(index, event, "pid")])
        dense["tid"].append(self.codes[self.text(index, event, "tid")])
        dense["ts"].append(self.time(index, event, "ts", ts_ns, MISSING))
        dense["dur"].append(self.time(index, event, "dur", dur_ns, NO_DUR))
        self.id(index, event)
        args = event.get("args", _NOTHING)
        if isinstance(args, dict):
            self.args(index, args)
            if phase == "C":
                self.put(COUNTER_ARGS, index, self.codes[json_text(args)])
        elif args is not _NOTHING:
            self.note("odd_args", index, "args", args)

    def text(self, index: int, event: Mapping[str, Any], key: str) -> str:
        value = event.get(key, _NOTHING)
        if value is _NOTHING:
            return ""
        if is_text(value):
            return str(value)
        if key in ("pid", "tid") and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        self.note("odd_field", index, key, value)
        return "" if value is None else json_text(value)

    def time(
        self, index: int, event: Mapping[str, Any], key: str, read: Callable[[object], int], missing: int
    ) -> int:
        value = event.get(key, _NOTHING)
        if value is _NOTHING:
            return missing
        ns = read(value)
        if ns == missing:
            self.note(f"bad_{key}", index, key, value)
        return ns

    def id(self, index: int, event: Mapping[str, Any]) -> None:
        value = event.get("id", _NOTHING)
        if value is _NOTHING:
            return
        if is_text(value):
            number = canonical_int(value)
            if number is None:
                self.put(ID_TEXT, index, self.codes[value])
            else:
                self.put(ID_INT, index, number)
        elif isinstance(value, int) and not isinstance(value, bool):
            number, fault = fit_int64(value)
            if fault:
                self.note(fault, index, "id", value)
            if number is not None:
                self.put(ID_INT, index, number)
        else:
            self.note("odd_field", index, "id", value)
            if value is not None:
                self.put(ID_TEXT, index, self.codes[json_text(value)])

    def args(self, index: int, args: Mapping[str, Any]) -> None:
        for key in sorted(COLUMN.keys() & args.keys(), key=ORDER.__getitem__):
            value, fault = arg_value(key, args[key])
            if fault:
                self.note(fault, index, key, args[key])
            if value is not None:
                self.put(COLUMN[key], index, self.codes[value] if isinstance(value, str) else value)

    def put(self, column: str, index: int, value: float) -> None:
        row, values = self.sparse.setdefault(column, ([], []))
        if not row or row[-1] != index:
            row.append(index)
            values.append(value)
