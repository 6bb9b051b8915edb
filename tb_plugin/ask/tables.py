"""Tables of events: a column is declared once, for DataFrames, SQL, files and their dictionary.

All instants are int64 ns from the start of the trace. A link is the row of the table that its help
names, and NULL where there is none; ``id`` is the row itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..analysis.call_tree.paths import innermost
from ..analysis.idle.places import is_own_frame
from ..analysis.overview.whole import idle_meanwhile
from ..base.arrays import Sparse, dense, of_names
from ..trace.model import DeviceClass, DeviceKind, HostKind, Link, Trace
from ..trace.raw import FLOAT_ARGS, INT_ARGS, TEXT_ARGS

Codes: TypeAlias = NDArray[Any]


class TextColumn(Struct, frozen=True, eq=False):
    """TextColumn by their codes; −1 is NULL."""

    codes: Codes
    strings: Sequence[str]


class WholeColumn(Struct, frozen=True, eq=False):
    """WholeColumn numbers, of which one is NULL."""

    values: Codes
    absent: int = -1


Values: TypeAlias = TextColumn | WholeColumn | NDArray[Any]


class EventColumn(Struct, frozen=True):
    """A column: its id, which ends with its unit, its meaning, and its values."""

    key: str
    help: str
    of: Callable[[Trace], Values]


class EventTableSpec(Struct, frozen=True):
    """A table of a trace; ``args`` are the sparse columns that some rows have."""

    name: str
    help: str
    count: Callable[[Trace], int]
    columns: tuple[EventColumn, ...]
    args: Callable[[Trace], Mapping[str, Sparse]] | None = None

    def all_columns(self, trace: Trace) -> Iterator[EventColumn]:
        """The declared columns, then those of arguments that the file has."""
        yield from self.columns
        taken = {column.key for column in self.columns}
        for name, sparse in (self.args(trace) if self.args else {}).items():
            key = ARG_KEYS.get(name, name)
            if key not in taken:
                of = partial(_of_arg, name, sparse, self.count)
                yield EventColumn(key, ARG_HELP.get(name, "As recorded."), of)


ARG_KEYS: Mapping[str, str] = {
    "bytes": "bytes",
    "shared_memory": "shared_memory_bytes",
    "bandwidth": "bandwidth_bytes_per_s",
    "occupancy": "occupancy_percent",
}
"""Arguments whose unit is not in their name → the id with the unit."""
ARG_HELP: Mapping[str, str] = {
    column: f"As recorded: {key!r}."
    for key, column in {**INT_ARGS, **FLOAT_ARGS, **TEXT_ARGS}.items()
} | {
    "bandwidth": "Memory bandwidth of a copy.",
    "occupancy": "Estimated achieved occupancy.",
    "overrun": "Time (ns) that the event outlives the one around it.",
}
_TEXT, _FLOAT = frozenset(TEXT_ARGS.values()), frozenset(FLOAT_ARGS.values())


def _of_arg(name: str, sparse: Sparse, count: Callable[[Trace], int], trace: Trace) -> Values:
    rows = count(trace)
    if name in _TEXT:
        return TextColumn(dense(sparse, rows, -1), trace.strings)
    if name in _FLOAT:
        numbers = np.full(rows, np.nan)
        numbers[sparse.row] = sparse.value
        return numbers * 1e9 if name == "bandwidth" else numbers
    least = np.iinfo(np.int64).min
    values = np.full(rows, least, np.int64)
    values[sparse.row] = sparse.value
    return WholeColumn(values, least)


# --- columns --------------------------------------------------------------------------------------


def _id(count: Callable[[Trace], int]) -> EventColumn:
    return EventColumn("id", "The row.", lambda trace: np.arange(count(trace), dtype=np.int64))


def _times(table: Callable[[Trace], Any]) -> tuple[EventColumn, ...]:
    return (
        EventColumn("start_ns", "Begin.", lambda trace: table(trace).ts),
        EventColumn("dur_ns", "Length.", lambda trace: table(trace).dur),
        EventColumn("end_ns", "End.", lambda trace: table(trace).ts + table(trace).dur),
    )


def _named(key: str, text: str, codes: Callable[[Trace], Codes]) -> EventColumn:
    return EventColumn(key, text, lambda trace: TextColumn(codes(trace), trace.strings))


def _enum(key: str, kinds: type[IntEnum], codes: Callable[[Trace], Codes]) -> EventColumn:
    names = tuple(kind.name.lower() for kind in kinds)
    return EventColumn(
        key, f"One of: {', '.join(names)}.", lambda trace: TextColumn(codes(trace), names)
    )


def _link(key: str, text: str, rows: Callable[[Trace], Codes], absent: int = -1) -> EventColumn:
    return EventColumn(key, text, lambda trace: WholeColumn(rows(trace), absent))


def _plain(key: str, text: str, values: Callable[[Trace], Codes]) -> EventColumn:
    return EventColumn(key, text, values)


def step_numbers(trace: Trace, steps: Codes) -> WholeColumn:
    """The number that each step carries (N of ProfilerStep#N)."""
    least = np.iinfo(np.int64).min
    numbers = np.append(trace.steps.number, np.int64(least))  # the last one stands for −1
    return WholeColumn(numbers[steps], least)


def _step(table: Callable[[Trace], Any], text: str) -> EventColumn:
    return EventColumn("step", text, lambda trace: step_numbers(trace, table(trace).step))


def thread_labels(trace: Trace) -> list[str]:
    """``pid/tid name`` of each thread."""
    table = trace.threads
    found = []
    for pid, tid, name in zip(table.pid, table.tid, table.name, strict=True):
        found.append(f"{trace.text(pid)}/{trace.text(tid)} {trace.text(name)}".rstrip())
    return found


def device_labels(trace: Trace) -> list[str]:
    """``GPU 0`` of each device."""
    return [f"{device.type} {device.index}" for device in trace.devices]


def stream_labels(trace: Trace) -> list[str]:
    """The label of each stream."""
    return [trace.text(name) for name in trace.streams.name]


def _thread(table: Callable[[Trace], Any]) -> EventColumn:
    return EventColumn(
        "thread",
        "Process, thread and name of the thread.",
        lambda trace: TextColumn(table(trace).thread, thread_labels(trace)),
    )


def _place(table: Callable[[Trace], Any]) -> tuple[EventColumn, ...]:
    return (
        EventColumn(
            "device", "Type and number.", lambda t: TextColumn(table(t).device, device_labels(t))
        ),
        EventColumn(
            "stream",
            "Label of the stream.",
            lambda t: TextColumn(table(t).stream, stream_labels(t)),
        ),
    )


def _op_name(trace: Trace) -> TextColumn:
    names = np.append(trace.host.name, np.int32(-1))  # the last one stands for −1
    return TextColumn(names[trace.device.op], trace.strings)


def _function(trace: Trace) -> TextColumn:
    """Names of the innermost frames of the user's code."""
    host = trace.host
    own = of_names(trace.strings, host.name, is_own_frame, np.bool_)
    own &= host.kind == HostKind.PYTHON
    return TextColumn(innermost(np.where(own, host.name, np.int32(-1)), host.parent), trace.strings)


# --- tables ---------------------------------------------------------------------------------------


def _host(trace: Trace) -> Any:  # noqa: ANN401  # a table of the trace
    return trace.host


def _device(trace: Trace) -> Any:  # noqa: ANN401
    return trace.device


def _memory(trace: Trace) -> Any:  # noqa: ANN401
    return trace.memory


HOST = EventTableSpec(
    "host",
    "Duration events of host threads: ops, annotations, Python frames, runtime calls.",
    lambda trace: len(trace.host),
    (
        _named("name", "Name as recorded.", lambda t: t.host.name),
        _enum("kind", HostKind, lambda t: t.host.kind),
        _named("category", "Category in the file.", lambda t: t.host.category),
        _thread(_host),
        *_times(_host),
        _plain("self_ns", "Time without events inside it.", lambda t: t.host.self_ns),
        _step(_host, "Number of the step in which it begins; NULL outside."),
        _plain("depth", "Events around it on its thread.", lambda t: t.host.depth),
        _link("parent", "Row of host: the innermost event around it.", lambda t: t.host.parent),
        _link("forward", "Row of host: the forward op of this one.", lambda t: t.host.forward),
        EventColumn(
            "idle_ns",
            "The busiest device idles meanwhile, in steps.",
            lambda t: WholeColumn(idle_meanwhile(t, t.host.ts, t.host.dur)),
        ),
        EventColumn("function", "Innermost frame of your code, itself or around it.", _function),
        _link(
            "correlation", "Number that ties a launch to its work.", lambda t: t.host.correlation
        ),
        _link("external_id", "Number of the op as recorded.", lambda t: t.host.external_id),
        _id(lambda trace: len(trace.host)),
    ),
    lambda trace: trace.host.args,
)
DEVICE = EventTableSpec(
    "device",
    "Device activity: kernels, copies, memsets.",
    lambda trace: len(trace.device),
    (
        _named("name", "Name as recorded.", lambda t: t.device.name),
        _enum("kind", DeviceKind, lambda t: t.device.kind),
        _enum("class", DeviceClass, lambda t: t.device.klass),
        *_place(_device),
        *_times(_device),
        _step(_device, "Number of the step that launched it; NULL outside."),
        _link("launch", "Row of host: the call that launched it.", lambda t: t.device.launch),
        _link("op", "Row of host: the innermost op around the launch.", lambda t: t.device.op),
        EventColumn("op_name", "Name of that op.", _op_name),
        _enum("link", Link, lambda t: t.device.link),
        _link("correlation", "Number that ties it to its launch.", lambda t: t.device.correlation),
        _id(lambda trace: len(trace.device)),
    ),
    lambda trace: trace.device.args,
)
MEMORY = EventTableSpec(
    "memory",
    "Allocator events in time order.",
    lambda trace: len(trace.memory),
    (
        _plain("start_ns", "When it happened.", lambda t: t.memory.ts),
        _plain("bytes", "Allocated; negative is a release.", lambda t: t.memory.bytes),
        _plain("device_type", "c10 DeviceType: 0 CPU, 1 CUDA, 6 HIP, 12 XPU.",
               lambda t: t.memory.device_type),
        _link("device_id", "Number of the device.", lambda t: t.memory.device_id),
        _link("address", "Address of the block.", lambda t: t.memory.address, 0),
        _link("total_allocated_bytes", "Allocated in all, after it.",
              lambda t: t.memory.total_allocated),
        _link("total_reserved_bytes", "Reserved in all, after it.",
              lambda t: t.memory.total_reserved),
        _thread(_memory),
    ),
)  # fmt: skip
COUNTERS = EventTableSpec(
    "counters",
    "Samples of counters.",
    lambda trace: len(trace.counters),
    (
        _named("name", "Name of the counter.", lambda t: t.counters.name),
        EventColumn(
            "device", "Type and number.", lambda t: TextColumn(t.counters.device, device_labels(t))
        ),
        _plain("start_ns", "When it was taken.", lambda t: t.counters.ts),
        _named("values", "The sample as JSON.", lambda t: t.counters.values),
    ),
)


def ranges(name: str, text: str, table: Callable[[Trace], Any]) -> EventTableSpec:
    """A table of plain ranges."""
    return EventTableSpec(
        name,
        text,
        lambda trace: len(table(trace)),
        (
            _named("name", "Name as recorded.", lambda t: table(t).name),
            _named("category", "Category in the file.", lambda t: table(t).category),
            *_place(table),
            *_times(table),
        ),
        lambda trace: table(trace).args,
    )


DEVICE_ANNOTATIONS = ranges(
    "device_annotations", "Annotations as the device saw them.", lambda t: t.device_annotations
)
SYNCS = ranges("syncs", "Records of waiting: they are no work.", lambda t: t.syncs)
EVENT_TABLES = (HOST, DEVICE, MEMORY, COUNTERS, DEVICE_ANNOTATIONS, SYNCS)
