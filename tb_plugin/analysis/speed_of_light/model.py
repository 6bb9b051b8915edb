"""The columns behind the speed-of-light tables (contract).

A *kind* is what makes one row: op, sizes, types, strides, plain arguments and the names of the
kernels. A *call* is one launch of a kind: an op with all its kernels, or a kernel of no op. *Work*
is one compute kernel. A *piece* is the time in one step that a kernel owns: of the compute kernels
that run, each instant belongs to the one that began first.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import F64, I8, I32, I64, ColumnTable
from .devices import DevicePeak

NONE = -1


class Reason(IntEnum):
    """Why a kind has no light."""

    KNOWN = 0
    SHAPES = 1
    DTYPE = 2
    VALUES = 3
    OUTPUT = 4
    MODEL = 5
    LENGTHS = 6
    GRAPH = 7
    NO_OP = 8
    SHEET = 9
    RATE = 10
    FASTER = 11
    ODD = 12


REASONS: Mapping[Reason, tuple[str, str]] = MappingProxyType(
    {
        Reason.SHAPES: ("no shapes", "Record with `record_shapes=True`."),
        Reason.DTYPE: ("no dtype", "The types of a list of tensors are not recorded."),
        Reason.VALUES: ("no plain arguments", "Record with torch 2.2 or later."),
        Reason.OUTPUT: (
            "no output size",
            "It depends on arguments that are not recorded; record with torch 2.2 or later.",
        ),
        Reason.MODEL: (
            "no model of this op",
            "Its FLOPs and bytes do not follow from its sizes. Give your own in `op_models.json`.",
        ),
        Reason.LENGTHS: (
            "lengths not recorded",
            "Sequences are packed, and their lengths are values of a tensor.",
        ),
        Reason.GRAPH: (
            "in a graph",
            "A replay records kernels without ops and sizes. Record the capture of the graph, too.",
        ),
        Reason.NO_OP: ("no op", "Its launch lies before the recording, or is not linked."),
        Reason.SHEET: (
            "no data sheet of this device",
            "Add its rates to `device_peaks.json` in the folder of settings.",
        ),
        Reason.RATE: ("no rate of this type", "The data sheet has no rate for products of it."),
        Reason.FASTER: (
            "faster than the model allows",
            "Data came from a cache, a tensor is passed twice, or the clock is above the sheet.",
        ),
        Reason.ODD: ("impossible arguments", "A size or stride that no call can have had."),
    }
)
"""Reason → its name, and its cause or remedy."""


class KindTable(ColumnTable, frozen=True, eq=False):
    """One row per kind; figures are of one call, −1 or NaN where unknown."""

    op: I32  # code of the op, −1
    kernel: I32  # code of the name of its longest kernel, −1
    shapes: I32  # code of the text of its sizes, −1
    types: I32  # code, −1
    flops: F64
    least: F64
    read: F64
    written: F64
    weights: F64  # of the bytes read: second matrices of products, keys and values of attention
    dtype: I32  # code of the type its products multiply, −1
    unit: I32  # code of what computes them: "16-bit", "TF32", −1
    peak: F64  # TFLOP/s of the unit on the whole device; NaN
    compute_ns: F64  # least FLOPs ÷ peak; NaN where the device has no data sheet
    memory_ns: F64  # bytes ÷ bandwidth
    reason: I8  # Reason
    lent: I8  # 1: op and sizes come from a recording of the capture of a graph


class SpeedCallTable(ColumnTable, frozen=True, eq=False):
    """One row per call."""

    kind: I32
    ts: I64  # of its first kernel; on the host its own
    step: I32  # index, −1
    device: I32  # row of Trace.devices, −1 on the host
    place: I32  # row of SpeedPlaces
    measured_ns: I64  # Σ durations of its kernels; on the host that of the op
    kernels: I32


class SpeedWorkTable(ColumnTable, frozen=True, eq=False):
    """One row per compute kernel, in the order of the device table."""

    row: I32  # of the device table
    call: I32
    name: I32
    dur_ns: I64


class PieceTable(ColumnTable, frozen=True, eq=False):
    """Σ ns of a device and step are its compute time in the Overview, to the nanosecond."""

    work: I32  # row of SpeedWorkTable
    step: I32  # index of the step in whose window it lies
    ns: I64


class SpeedPlaces(Struct, frozen=True, eq=False):
    """Module and phase of each call as the recording has them, and the modules."""

    module: I32  # of each call: row of the modules, −1
    phase: I8  # Phase of the modules: forward, backward, recompute
    parent: I32  # of each module: the one around it, which comes before it; −1
    names: tuple[str, ...]  # of the modules


class SpeedColumns(Struct, frozen=True, eq=False):
    """Everything behind the view."""

    strings: tuple[str, ...]
    kinds: KindTable
    calls: SpeedCallTable
    work: SpeedWorkTable
    pieces: PieceTable
    peaks: tuple[DevicePeak | None, ...]  # by device: its data sheet …
    part_ratios: tuple[float, ...]  # … and which part of the whole device it is
    on_host: bool  # no device activity: calls are ops of the host
    host_peak: DevicePeak | None = None  # rates of the CPU, as measured before the recording
    places: SpeedPlaces | None = None  # cost as much as the rest, and are stored apart

    def peak(self, device: int | None) -> DevicePeak | None:
        """The rates of a device, of a part of it its part; None: of the host."""
        if device is None:
            return self.host_peak
        peak, part = self.peaks[device], self.part_ratios[device]
        return peak and replace(peak, bandwidth_gb_s=peak.bandwidth_gb_s * part)

    def text(self, code: int) -> str:
        """The text of a code; "" for −1."""
        return self.strings[code] if code >= 0 else ""

    def steps_of(self, steps: tuple[int, ...] | None) -> tuple[int, ...]:
        """The steps by index; None: all events, also those in no step."""
        if steps is not None:
            return steps
        return (NONE, *range(int(self.calls.step.max(initial=NONE)) + 1))
