"""A trace in memory: frozen tables of columns, one per kind of event (contract).

* ``ts`` and ``dur`` are int64 ns; ``ts`` counts from the start of the trace, ``Trace.base_ns`` +
  ``ts`` is wall clock. ``end`` is ``ts + dur``.
* Names, categories and texts are codes into ``Trace.strings``.
* Links are row indexes of the table named beside them, −1 where there is none.
* Every duration event of the file is a row of exactly one table; ``raw`` is its row in file order,
  by which ``read_event`` finds everything else the file says of it.
* ``health`` says what was tolerated, lost or missing, and what follows from it.
* ``args`` holds sparse columns under the names of ``raw.INT_ARGS`` …, ``row`` counts in this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from msgspec import Struct

from ..base.arrays import I8, I16, I32, I64, ColumnTable, Sparse, distinct_values
from .compile_record import CompileRecord
from .health_record import HealthRecord
from .memory_model import MemoryTimeline, Snapshot
from .raw import NO_POINTS, Blocks, SeekIndex

RECORDERS: Mapping[str, str] = {
    "A": "torch 1.7 or earlier, or its legacy profiler",
    "B": "torch 1.8",
    "C": "torch 1.9 or 1.10",
    "D": "torch 1.11 to 1.13",
    "E": "torch 2.0 to 2.3",
    "F1": "a nightly torch of spring 2024",
    "F": "torch 2.4 to 2.11",
    "G": "torch 2.12 or later",
    "H": "torch 2.15 or later, by its Cuspy engine",
    "G-py": "torch 2.13 or later, by its Python export",
    "Ascend": "torch_npu",
    "Perfetto": "a program other than PyTorch",
    "Other": "a program other than PyTorch",
}
"""``RecordingInfo.torch_era`` → who wrote the file, in words."""


def is_of_other_recorder(torch_era: str) -> bool:
    """True for a file that no version of torch.profiler wrote, of Perfetto's format or of JSON.

    So are the traces of browsers, of compilers, of VizTracer, and of other tracers of functions.
    """
    return torch_era in ("Perfetto", "Other")


class HostKind(IntEnum):
    """Kind of a host event, which decides what its time counts as."""

    OP = 0  # cpu_op
    ANNOTATION = 1  # user_annotation, record_function
    PYTHON = 2  # python_function frame
    MODULE = 3  # python_function frame of an nn.Module call
    RUNTIME = 4  # runtime or driver call
    OVERHEAD = 5  # the profiler's own time
    OTHER = 6  # unknown category: kept and shown


class DeviceKind(IntEnum):
    """Kind of device activity, by category; the class of a kernel is ``DeviceClass``."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    OTHER = 3  # device-side event of a vendor category without a kind


class DeviceClass(IntEnum):
    """Class that the time of a device activity counts as (docs: kernel classification)."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2
    MEMSET = 3


class Link(IntEnum):
    """The method that found the launch of a device activity, which is its confidence."""

    CORRELATION = 0  # or an arrow from the call, where the recorder writes no correlation
    EXTERNAL_ID = 1  # no call recorded; the op is known by External id or arrow, launch is −1
    GRAPH = 2  # one graph launch owns many
    PROLOGUE = 3  # launched before the recording began
    UNLINKED = 4


class EventTable(ColumnTable, frozen=True, eq=False):
    """The columns of all duration events."""

    ts: I64
    dur: I64
    name: I32
    category: I32

    @property
    def end(self) -> I64:
        return self.ts + self.dur


class HostTable(EventTable, frozen=True, eq=False):
    """Duration events of host threads, sorted by (thread, ts, −dur); shape (n,)."""

    kind: I8  # HostKind
    thread: I32  # row of ThreadTable
    parent: I32  # row of this table: innermost open event that contains it (see nest.py)
    depth: I16
    self_ns: I64  # exclusive time: instants at which this was the latest started event still open
    step: I32  # row of StepTable whose host range holds ts
    correlation: I32 | I64  # of runtime calls, else −1
    external_id: I32 | I64  # of ops and annotations, else −1
    forward: I32  # row of the forward op of a backward op
    raw: I32
    args: Mapping[str, Sparse]  # + "overrun" (ns it outlives what is open), "finished" (0)


class DeviceTable(EventTable, frozen=True, eq=False):
    """Kernels, copies, memsets, sorted by (stream, ts); shape (n,)."""

    kind: I8  # DeviceKind
    klass: I8  # DeviceClass
    device: I32  # row of Trace.devices
    stream: I32  # row of StreamTable
    correlation: I64
    launch: I32  # row of HostTable: the runtime or driver call
    op: I32  # row of HostTable: the innermost op around the launch
    step: I32  # row of StepTable: the step that launched it
    link: I8  # Link
    raw: I32
    args: Mapping[str, Sparse]  # "occupancy" … without zeros, computed where not recorded

    def rows_of(self, device: int) -> slice:
        """The rows of one device: rows are in order by stream, and streams by device."""
        low, high = np.searchsorted(self.device, (device, device + 1)).tolist()
        return slice(low, high)


class RangeTable(EventTable, frozen=True, eq=False):
    """Plain ranges: device annotations, syncs, spans of the recorder, profiler ranges."""

    device: I32  # row of Trace.devices, −1 on the host
    stream: I32  # row of StreamTable, −1
    raw: I32
    args: Mapping[str, Sparse]


class MemoryTable(ColumnTable, frozen=True, eq=False):
    """Allocator events in time order."""

    ts: I64
    bytes: I64  # negative = free
    device_type: I32  # c10 DeviceType: 0 CPU, 1 CUDA, 6 HIP, 12 XPU, 13 MPS, 20 PrivateUse1
    device_id: I32  # −1 for the CPU
    address: I64  # 0 where the recorder wrote none (see has_addresses)
    total_allocated: I64  # −1 where not written
    total_reserved: I64  # −1 where not written
    thread: I32
    raw: I32

    def allocating_devices(self) -> list[tuple[int, int]]:
        """(device type, device id) of the events, ascending."""
        half = 1 << 31
        number = self.device_id.astype(np.int64) + half  # not negative: type and number in one
        both = self.device_type.astype(np.int64) << 32 | number
        new = np.ones(len(both), np.bool_)  # neighbours are mostly of one device
        np.not_equal(both[1:], both[:-1], out=new[1:])
        known = distinct_values(both[new]).tolist()
        return [(key >> 32, (key & 0xFFFFFFFF) - half) for key in known]


class CounterTable(ColumnTable, frozen=True, eq=False):
    """Counter samples; ``values`` is the JSON text of the sample."""

    ts: I64
    name: I32
    values: I32
    device: I32  # row of Trace.devices, −1 where the sample is of no device
    raw: I32


class FlowTable(ColumnTable, frozen=True, eq=False):
    """Forward→backward flows whose two ends were both found."""

    source: I32  # row of HostTable
    target: I32  # row of HostTable


class GraphEdgeTable(ColumnTable, frozen=True, eq=False):
    """Dependencies inside replayed graphs, if the recorder wrote them.

    A node is a row of DeviceTable, or behind those, one of ``Trace.syncs``: a call of the host or
    an event that the graph holds. A target begins when all its sources have ended.
    """

    source: I32
    target: I32


NO_EDGES = GraphEdgeTable(np.empty(0, np.int32), np.empty(0, np.int32))


class CollectiveTable(ColumnTable, frozen=True, eq=False):
    """Collective calls seen by this rank, in host order (record_param_comms, nccl:*, gloo:*)."""

    host: I32  # row of HostTable
    name: I32  # operation, for example allreduce
    group: I32  # code of the process group name, −1
    device_rows: tuple[I32, ...]  # rows of DeviceTable, one array per collective


class ThreadTable(ColumnTable, frozen=True, eq=False):
    """Host threads: all that have host events or allocator events."""

    pid: I32  # codes
    tid: I32
    name: I32  # code; of "" where unnamed


class StreamTable(ColumnTable, frozen=True, eq=False):
    """Streams of the devices, by device and number."""

    device: I32  # row of Trace.devices
    stream: I64  # number as recorded, −1 when it is not a number
    name: I32  # code of the label


class StepTable(ColumnTable, frozen=True, eq=False):
    """Steps in time order, host side as recorded.

    ``source`` says where they come from: "profiler_step", "annotation" (a regular family of
    annotations, named in ``family``), or "whole_trace" when nothing marks steps.
    """

    number: I64  # N of ProfilerStep#N; running number otherwise
    name: I32
    ts: I64
    end: I64
    host: I32  # row of HostTable, −1 for the whole trace
    source: str
    family: str


class Device(Struct, frozen=True):
    """One accelerator of the file: declared in deviceProperties, used by an event, or both."""

    key: str  # pid text of its events, "" when declared only
    index: int  # number shown: "GPU 0"
    type: str  # "GPU", "XPU", "MTIA", "NPU", "HPU", …
    vendor: str  # "NVIDIA", "AMD", "Intel", "Ascend", "Meta", "" when unknown
    name: str  # "" when the file does not say
    memory_bytes: int | None
    capability: tuple[int, int] | None  # CUDA compute capability, or gfx major.minor
    multiprocessor_count: int | None
    used: bool  # has device activity in this trace


class Recording(Struct, frozen=True):
    """Metadata of the recording; None for unknown."""

    torch_era: str  # era of the format, "A" … "H", "Ascend", "Perfetto", "Other", "unknown"
    resolution_ns: int  # 1000 for whole-microsecond files, else 1
    trace_id: str | None
    host_name: str | None
    backend: str | None  # of distributedInfo
    rank: int | None
    world_size: int | None
    with_stack: bool
    with_modules: bool
    record_shapes: bool
    profile_memory: bool
    with_flops: bool
    handler: Mapping[str, Any]  # what our handler added; empty otherwise
    metadata: Mapping[str, Any]  # every other top-level key
    file_format: str = "json"  # "perfetto": protobuf by torch; "other_perfetto": by someone else


class Trace(Struct, frozen=True, eq=False, weakref=True):
    """All data of one trace file, linked."""

    path: str
    base_ns: int  # wall clock of ts = 0: ns since the epoch, or since the recorder's zero
    end_ns: int  # last instant of the trace, from its start
    strings: tuple[str, ...]
    host: HostTable
    device: DeviceTable
    device_annotations: RangeTable  # gpu_user_annotation
    syncs: RangeTable  # cuda_sync and friends: they wait, they are not work
    ranges: RangeTable  # spans of the recorder, profiler ranges, rows an exporter derived
    memory: MemoryTable
    counters: CounterTable
    flows: FlowTable
    collectives: CollectiveTable
    threads: ThreadTable
    streams: StreamTable
    steps: StepTable
    devices: tuple[Device, ...]
    recording: Recording
    blocks: Blocks
    health: HealthRecord
    seek: SeekIndex = NO_POINTS
    graph_edges: GraphEdgeTable = NO_EDGES
    snapshot: Snapshot | None = None  # of the device allocator, where the file is one
    timeline: MemoryTimeline | None = None  # exported bytes by category, where the file is one
    compile_record: CompileRecord | None = None  # of torch.compile, from the file beside the trace

    @property
    def is_memory_alone(self) -> bool:
        """True if the file has memory data only, no ops or kernels."""
        return self.snapshot is not None or self.timeline is not None

    def text(self, code: int) -> str:
        """The string behind a code."""
        return self.strings[code]
