"""Tables of a trace as pandas DataFrames: codes become categoricals, −1 becomes <NA>."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .base.arrays import Sparse, dense
from .base.units import NBSP
from .trace.model import DeviceClass, DeviceKind, HostKind, Link, RangeTable, Trace
from .trace.raw import FLOAT_ARGS, TEXT_ARGS
from .views.table import Column, Table

Codes = NDArray[Any]

TEXT_COLUMNS = frozenset(TEXT_ARGS.values())
FLOAT_COLUMNS = frozenset(FLOAT_ARGS.values())
UNITS: Mapping[str, str] = {
    "bytes": "bytes",
    "shared_memory": "shared_memory_bytes",
    "bandwidth": "bandwidth_gb_per_s",
    "occupancy": "occupancy_percent",
}
"""Args whose unit is not in their name → the name with the unit."""


def host_frame(trace: Trace) -> pd.DataFrame:
    """One row per duration event of a host thread; the index is the row of ``trace.host``."""
    table = trace.host
    columns = {
        "name": _text(trace, table.name),
        "kind": _enum(HostKind, table.kind),
        "category": _text(trace, table.category),
        "thread": _labels(_thread_labels(trace), table.thread),
        "ts_ns": table.ts,
        "dur_ns": table.dur,
        "self_ns": table.self_ns,
        "step": _step_numbers(trace, table.step),
        "depth": table.depth,
        "parent": _rows(table.parent),
        "forward": _rows(table.forward),
        "correlation": _rows(table.correlation),
        "external_id": _rows(table.external_id),
    }
    return _frame(columns | _args(trace, table.args, len(table), columns))


def device_frame(trace: Trace) -> pd.DataFrame:
    """One row per kernel, copy, memset; the index is the row of ``trace.device``."""
    table = trace.device
    columns = {
        "name": _text(trace, table.name),
        "kind": _enum(DeviceKind, table.kind),
        "class": _enum(DeviceClass, table.klass),
        "device": _labels(_device_labels(trace), table.device),
        "stream": _labels(_stream_labels(trace), table.stream),
        "ts_ns": table.ts,
        "dur_ns": table.dur,
        "step": _step_numbers(trace, table.step),
        "launch": _rows(table.launch),
        "op": _rows(table.op),
        "op_name": _text_of_row(trace, table.op),
        "link": _enum(Link, table.link),
        "correlation": _rows(table.correlation),
    }
    return _frame(columns | _args(trace, table.args, len(table), columns))


def range_frame(trace: Trace, table: RangeTable) -> pd.DataFrame:
    """One row per range: device annotations, syncs."""
    columns = {
        "name": _text(trace, table.name),
        "category": _text(trace, table.category),
        "device": _labels(_device_labels(trace), table.device),
        "stream": _labels(_stream_labels(trace), table.stream),
        "ts_ns": table.ts,
        "dur_ns": table.dur,
    }
    return _frame(columns | _args(trace, table.args, len(table), columns))


def memory_frame(trace: Trace) -> pd.DataFrame:
    """One row per allocation (bytes > 0) or release (bytes < 0), in time order."""
    table = trace.memory
    return _frame(
        {
            "ts_ns": table.ts,
            "bytes": table.bytes,
            "device_type": table.device_type,
            "device_id": _rows(table.device_id),
            "address": _rows(table.address, absent=0),
            "total_allocated_bytes": _rows(table.total_allocated),
            "total_reserved_bytes": _rows(table.total_reserved),
            "thread": _labels(_thread_labels(trace), table.thread),
        }
    )


def step_frame(trace: Trace) -> pd.DataFrame:
    """One row per step, host side as recorded."""
    table = trace.steps
    return _frame(
        {
            "number": table.number,
            "name": _text(trace, table.name),
            "ts_ns": table.ts,
            "dur_ns": table.end - table.ts,
            "host": _rows(table.host),
        }
    )


def counter_frame(trace: Trace) -> pd.DataFrame:
    """One row per sample; ``values`` is the JSON text of the sample."""
    table = trace.counters
    return _frame(
        {
            "name": _text(trace, table.name),
            "device": _labels(_device_labels(trace), table.device),
            "ts_ns": table.ts,
            "values": _text(trace, table.values),
        }
    )


def table_frame(table: Table) -> pd.DataFrame:
    """A table of a view: texts as categoricals, whole numbers with <NA> where nothing is known."""
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


def _text(trace: Trace, codes: Codes) -> pd.Categorical:
    return _categorical(codes, lambda code: trace.strings[code])


def _labels(labels: Sequence[str], rows: Codes) -> pd.Categorical:
    return _categorical(rows, lambda row: labels[row])


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


def _enum(kinds: type[IntEnum], codes: Codes) -> pd.Categorical:
    names = [kind.name.lower() for kind in kinds]
    return pd.Categorical.from_codes(codes.astype(np.int64), categories=pd.Index(names))


def _rows(values: Codes, absent: int = -1) -> pd.arrays.IntegerArray:
    """Integers of which one value means that there is none."""
    return pd.arrays.IntegerArray(values.astype(np.int64), values == absent)


def _step_numbers(trace: Trace, steps: Codes) -> pd.arrays.IntegerArray:
    """The number that the step carries (N of ProfilerStep#N), <NA> outside of steps."""
    numbers = np.append(trace.steps.number, np.int64(0))  # the last one stands for −1
    return pd.arrays.IntegerArray(numbers[steps], steps < 0)


def _text_of_row(trace: Trace, rows: Codes) -> pd.Categorical:
    names = np.append(trace.host.name, np.int32(-1))  # the last one stands for −1
    return _text(trace, names[rows])


def _args(
    trace: Trace, args: Mapping[str, Sparse], count: int, taken: Mapping[str, object]
) -> dict[str, Any]:
    """The args that some rows have, as columns with missing values."""
    found = {}
    for name in args:
        column = UNITS.get(name, name)
        if column not in taken:
            found[column] = _sparse(trace, name, args[name], count)
    return found


def _sparse(trace: Trace, name: str, sparse: Sparse, count: int) -> Any:  # noqa: ANN401  # any array
    if name in TEXT_COLUMNS:
        return _text(trace, dense(sparse, count, -1))
    if name in FLOAT_COLUMNS:
        numbers = np.full(count, np.nan)
        numbers[sparse.row] = sparse.value
        return numbers
    values, absent = np.zeros(count, np.int64), np.ones(count, bool)
    values[sparse.row] = sparse.value
    absent[sparse.row] = False
    return pd.arrays.IntegerArray(values, absent)


# --- labels ---------------------------------------------------------------------------------------


def _thread_labels(trace: Trace) -> list[str]:
    table = trace.threads
    labels = []
    for pid, tid, name in zip(table.pid, table.tid, table.name, strict=True):
        label = f"{trace.text(pid)}/{trace.text(tid)}"
        labels.append(f"{label} {trace.text(name)}".rstrip())
    return labels


def _device_labels(trace: Trace) -> list[str]:
    return [f"{device.type} {device.index}" for device in trace.devices]


def _stream_labels(trace: Trace) -> list[str]:
    return [trace.text(name) for name in trace.streams.name]
