"""The columns behind the Module view: a tree of modules and what each cost in each step (contract).

A *module* is one place in the tree: an ``nn.Module`` with the modules around it. Its calls are the
ranges in which it ran. Every device activity, and the own time of every op and of every call of the
runtime, belongs to one module and one ``Phase``, or to none of the modules and an ``Outside``. So
both sum to all of the recording, to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from msgspec import Struct

from ...base.arrays import F64, I8, I32, I64

NONE = -1
COMPILED = "compiled function"  # the type of a place that is no module


class Phase(IntEnum):
    """When work of a module ran."""

    FORWARD = 0
    BACKWARD = 1  # ops that the forward ops of the module left to autograd
    RECOMPUTE = 2  # the module was called again inside the backward pass


class Outside(IntEnum):
    """Why work belongs to no module."""

    COMMUNICATION = 0  # collectives that no module called
    OPTIMIZER = 1
    BACKWARD = 2  # of the backward pass, of an op that no module called or that is not known
    GRAPH = 3  # replayed by a graph, which says nothing of modules
    OTHER = 4  # ops and calls outside all modules
    PROLOGUE = 5  # launched before the recording began
    UNLINKED = 6  # the file links it to no call and to no op
    NOTHING = 7  # idle time: nothing followed in the step


UNLINKED = (Outside.PROLOGUE, Outside.UNLINKED)


class ModuleTree(Struct, frozen=True, eq=False):
    """One entry per module; parents before children, children in the order of their first call."""

    parent: I32  # row, −1 at a root
    name: I32  # code: "BasicBlock_0" where frames name it, "0.conv1" where it has a name
    type: I32  # code of the class, −1 where it is not known
    qualified: I32  # code of the name in the model: "layer1.0.conv1"; −1 where it is not known

    def __len__(self) -> int:
        return len(self.parent)


class ModuleCalls(Struct, frozen=True, eq=False):
    """One row per call of a module, in the order of the host table."""

    module: I32
    phase: I8  # FORWARD or RECOMPUTE
    host: I32  # row of the host table, which is also the slice id on the timeline
    step: I32  # index of the step, −1
    ts: I64
    dur_ns: I64
    self_ns: I64  # without the calls of modules directly inside it

    def __len__(self) -> int:
        return len(self.module)


class ModuleSums(Struct, frozen=True, eq=False):
    """Costs of modules by step and phase, without those below them; only non-zero values."""

    module: I32
    phase: I8
    step: I32  # index of the step, −1 outside of steps
    device_ns: I64  # durations of kernels, copies and sets
    activities: I64
    op_ns: I64  # own time of ops and of calls of the runtime
    ops: I64  # ops that no other op of the module contains
    flops: F64  # by models of ops and shapes
    idle_ns: I64  # a device was idle, and then ran work of this module
    born_bytes: I64  # allocated; of accelerators, else of the host
    kept_bytes: I64  # … of these, not released by the time the call ended; none of backward


class ModuleBusy(Struct, frozen=True, eq=False):
    """Busy time of modules, with those below them; only non-zero values.

    The union of the work of one step on one device, summed over devices: where kernels run side by
    side an instant counts once. ``module`` is −1 for all work, of modules or not.
    """

    module: I32
    step: I32  # index of the step that launched it, −1 outside of steps
    busy_ns: I64


class OutsideSums(Struct, frozen=True, eq=False):
    """The same for what belongs to no module."""

    reason: I8  # Outside
    step: I32
    device_ns: I64
    activities: I64
    op_ns: I64
    idle_ns: I64
    born_bytes: I64


class ModuleColumns(Struct, frozen=True, eq=False):
    """All columns of the view; arrays may be memory-mapped."""

    strings: tuple[str, ...]
    tree: ModuleTree
    calls: ModuleCalls
    sums: ModuleSums
    busy: ModuleBusy
    outside: OutsideSums
    source: str  # how modules are known: a key of ``sources.SOURCES``
    missing: Mapping[str, str]  # "device", "flops", "memory", "kept": why it is not there
    never_called: tuple[str, ...] = ()  # names in the model; known where the handler has the model
