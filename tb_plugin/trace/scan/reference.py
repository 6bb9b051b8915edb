"""The reference decoder: events as Python values of any type to columns, one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..raw import COUNTER_ARGS, ID_INT, ID_TEXT, MISSING, NO_DUR, FaultLog
from .column_builder import DENSE, Columns, Places
from .json_values import (
    COLUMN,
    ORDER,
    Json,
    arg_value,
    canonical_int,
    dur_ns,
    fit_int64,
    is_text,
    shown,
    text_value,
    ts_ns,
    whole_number,
)

_NOTHING = object()


def add_by_reference(
    columns: Columns, faults: FaultLog, events: Sequence[Mapping[str, Json]], places: Places
) -> None:
    """Appends events; numbers with a fraction must be ``NumberText``."""
    chunk = _Chunk(columns, faults, places)
    for index, event in enumerate(events):
        chunk.event(index, event)
    for name, (row, value) in chunk.sparse.items():
        columns.add_sparse(name, np.array(row, np.int32), np.array(value))
    columns.add_dense({name: np.array(chunk.dense[name], DENSE[name]) for name in DENSE})


class _Chunk:
    def __init__(self, columns: Columns, faults: FaultLog, places: Places) -> None:
        self.codes = columns.codes
        self.faults = faults
        self.places = places
        self.dense: dict[str, list[int]] = {name: [] for name in DENSE}
        self.sparse: dict[str, tuple[list[int], list[float]]] = {}

    def note(self, kind: str, index: int, key: str, value: Json) -> None:
        self.faults.add(
            kind,
            f"{key}: {shown(value)}",
            lambda: self.places.of(index),
            floor=self.places.floor,
        )

    def event(self, index: int, event: Mapping[str, Json]) -> None:
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
                self.counter(index, args)
        elif args is not _NOTHING:
            self.note("odd_args", index, "args", args)

    def text(self, index: int, event: Mapping[str, Json], key: str) -> str:
        value = event.get(key, _NOTHING)
        if value is _NOTHING:
            return ""
        if is_text(value):
            return str(value)
        number = whole_number(value) if key in ("pid", "tid") else None
        if number is not None:
            return str(number)
        self.note("odd_field", index, key, value)
        return "" if value is None else text_value(value)[0] or ""

    def time(
        self,
        index: int,
        event: Mapping[str, Json],
        key: str,
        read: Callable[[object], int],
        missing: int,
    ) -> int:
        value = event.get(key, _NOTHING)
        if value is _NOTHING:
            return missing
        ns = read(value)
        if ns == missing:
            self.note(f"bad_{key}", index, key, value)
        return ns

    def id(self, index: int, event: Mapping[str, Json]) -> None:
        value = event.get("id", _NOTHING)
        if value is _NOTHING:
            return
        if is_text(value):
            number = canonical_int(value)
            if number is None:
                self.put(ID_TEXT, index, value)
            else:
                self.put(ID_INT, index, number)
            return
        whole = whole_number(value)
        if whole is not None:
            number, fault = fit_int64(whole)
            if fault:
                self.note(fault, index, "id", value)
            if number is not None:
                self.put(ID_INT, index, number)
        else:
            self.note("odd_field", index, "id", value)
            text = None if value is None else text_value(value)[0]
            if text is not None:
                self.put(ID_TEXT, index, text)

    def args(self, index: int, args: Mapping[str, Json]) -> None:
        for key in sorted(COLUMN.keys() & args.keys(), key=ORDER.__getitem__):
            value, fault = arg_value(key, args[key])
            if fault:
                self.note(fault, index, key, args[key])
            if value is not None:
                self.put(COLUMN[key], index, value)

    def counter(self, index: int, args: Json) -> None:
        text, fault = text_value(args)
        if fault:
            self.note(fault, index, "args", args)
        if text is not None:
            self.put(COUNTER_ARGS, index, text)

    def put(self, column: str, index: int, value: float | str) -> None:
        row, values = self.sparse.setdefault(column, ([], []))
        if not row or row[-1] != index:
            row.append(index)
            # Only what is used gets a code: the native scanner does not renumber.
            values.append(self.codes[value] if isinstance(value, str) else value)
