"""The columns behind the Operator and Kernel views: one row per call, one per kernel (contract).

Host times follow ``torch.profiler``'s own summary: a call's children are those its interval
contains strictly on its thread; ``self`` is the call without its direct children; a call whose only
child has its own name is one call with it. So a table of these rows equals ``key_averages()``. In
recordings of torch 1.11 Python frames are no children in the table, as in torch's own; in the flame
graph they are.

Device time is credited to the op around the launch: ``device_self_ns`` of a call is the summed
duration of the kernels, copies and sets whose innermost op it is, ``device_total_ns`` includes the
calls inside it. Work that no op launched is ``unattributed``, each piece with its reason; so the
device_self_ns of all calls and the unattributed pieces sum to all device activity exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I8, I32, I64, ColumnTable
from ...trace.model import DeviceKind
from ..counters.samples import Series


class CallKind(IntEnum):
    """Kind of a row of the operator table; each kind has separate rows."""

    OP = 0
    ANNOTATION = 1
    PYTHON = 2  # a Python frame
    MODULE = 3  # the frame of an nn.Module call
    RUNTIME = 4
    OTHER = 5


class Calls(ColumnTable, frozen=True, eq=False):
    """One row per call, in the order of the host table; shape (n,)."""

    host: I32  # row of the host table, which is also the slice id on the timeline
    name: I32  # code into Operators.strings
    kind: I8  # CallKind
    thread: I32  # row of the thread table
    step: I32  # index of the step, −1
    ts: I64
    total_ns: I64
    self_ns: I64
    frames_ns: I64  # what torch counts as self time too; empty where it is nothing, see ``own_ns``
    device_total_ns: I64
    device_self_ns: I64
    tensor_core_total_ns: I64  # device time of kernels that use tensor cores by their name
    tensor_core_self_ns: I64
    kernels: I32  # device activities launched by the call itself
    shapes: I32  # code of the input shapes' text, −1 where not recorded
    types: I32  # code of the input types' text, −1
    stack: I32  # row of Stacks: the innermost Python frame around it, −1
    path: I32  # row of Paths: the call with everything around it
    module: I32  # code of the innermost module's name, of backward that of its forward op, −1
    owner: I32  # code of the user's innermost frame, likewise, −1
    annotation: I32  # code of the innermost annotation's name, −1
    flops: F64  # by a model of the op and its shapes; NaN where there is none

    @property
    def own_ns(self) -> I64:
        """Self time as the torch of the recording computes it: 1.11 has no frames there."""
        return self.self_ns + self.frames_ns if len(self.frames_ns) else self.self_ns


class Stacks(ColumnTable, frozen=True, eq=False):
    """Distinct stacks of Python frames as a trie: a stack is the one around it and a frame."""

    parent: I32  # row of this table, −1 at the root
    frame: I32  # code of the frame's name: "train.py(12): step"


class CallPaths(ColumnTable, frozen=True, eq=False):
    """Distinct call paths of calls of every kind as a trie; parents come before their children.

    Names are normalized: all steps are one, and addresses of objects are left out.
    """

    parent: I32  # row of this table, −1 at the root
    name: I32
    kind: I8  # CallKind


class Activities(ColumnTable, frozen=True, eq=False):
    """One row per kernel, memcpy and memset, in the order of the device table; shape (n,).

    Row i is slice ``Operators.first_slice + i`` of the timeline.
    """

    name: I32
    kind: I8  # DeviceKind of trace/model.py
    klass: I8  # DeviceClass
    tensor_core: I8  # MatrixUse of analysis/overview/utilization.py: no, yes, unknown, none
    device: I32
    stream: I32
    step: I32
    ts: I64
    dur_ns: I64
    call: I32  # row of Calls: the op it is credited to, −1
    link: I8  # Link of trace/model.py
    reason: I8  # row of credit.REASONS where call is −1, else −1
    launch_ns: I64  # start of the call to start on the device; −1 where no call is known
    queue_ns: I64  # end of the call to start on the device, at least 0; −1
    grid: I32  # code of the text, −1
    block: I32
    registers: I32  # −1 where not recorded
    shared_bytes: I64  # −1
    blocks_per_sm: F64  # NaN
    occupancy: F64  # est. achieved, percent; NaN
    bytes: I64  # of copies and sets, −1
    source: I32  # code of the file a generated (Triton) kernel came from, −1


class Thread(Struct, frozen=True):
    """A host thread with its name and ids for display."""

    label: str


class NamedSums(Struct, frozen=True, eq=False):
    """Count and total duration of each name among rows of one kind; shape (names,)."""

    count: I64
    ns: I64


class NamedLight(NamedTuple):
    """Speed of light of all calls, or kernels, of a name (``speed_of_light``)."""

    light_ratio: float  # light ÷ measured time
    waste_ns: int  # measured time − light
    bound: str  # "compute", "memory"


class OperatorColumns(Struct, frozen=True, eq=False, dict=True):
    """All columns behind both views and the flame graph; arrays may be memory-mapped."""

    strings: tuple[str, ...]
    calls: Calls
    stacks: Stacks
    paths: CallPaths
    activities: Activities
    first_slice: int  # of the activities on the timeline
    threads: tuple[Thread, ...]
    devices: tuple[str, ...]
    steps: tuple[str, ...]
    missing: Mapping[str, str]  # "shapes", "modules", "device", …: why it is not there
    counters: tuple[Series, ...] = ()  # what was sampled of the devices
    lent_count: int = 0  # calls at the end that a recording of a capture lends (graphs/origins)

    @cached_property
    def sums_by_name(self) -> Mapping[str, NamedSums]:
        """Sums of every searchable name: ``op``, ``annotation`` without steps, ``kernel``."""
        calls, activities = self.calls, self.activities
        annotations = self._sums(calls.name, calls.total_ns, calls.kind == CallKind.ANNOTATION)
        marks = set(self.steps)
        annotations.count[[code for code, name in enumerate(self.strings) if name in marks]] = 0
        return {
            "op": self._sums(calls.name, calls.total_ns, calls.kind == CallKind.OP),
            "annotation": annotations,
            "kernel": self._sums(
                activities.name,
                activities.dur_ns,
                (activities.kind == DeviceKind.KERNEL) | (activities.kind == DeviceKind.OTHER),
            ),
        }

    def _sums(self, name: I32, ns: I64, rows: NDArray[np.bool_]) -> NamedSums:
        names = len(self.strings)
        # Weights are doubles: exact up to 104 days of nanoseconds in sum.
        return NamedSums(
            np.bincount(name[rows], minlength=names).astype(np.int64),
            np.bincount(name[rows], ns[rows], names).astype(np.int64),
        )
