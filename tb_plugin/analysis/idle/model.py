"""Stored columns of idle time: holders by call path, and critical paths.

Apart from what makes it (``artifact``), so that the first screen waits for none of that.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ...base.arrays import I8, I32, I64, ColumnTable
from ...base.artifact_spec import ArtifactSpec, opens
from ...base.group_sums import summed
from ...trace.model import DeviceClass, HostKind
from ..call_tree.flame import FlameTree
from ..facts import IDLE_CAUSES
from ..wording import CAUSE_NAMES

STEM = "idle"
_KIND_NAMES = (*(kind.name.lower() for kind in HostKind), "cause")
CAUSES = (*IDLE_CAUSES, "start_up_ns")
CAUSE = {name.removeprefix("idle_").removesuffix("_ns"): at for at, name in enumerate(CAUSES)}
"""Short name of a cause → its place in ``CAUSES``: ``CAUSE["dataloader"]``.

Start-up comes last. Only calls and critical paths have it, because it is no idle time.
"""

PATH_CLASSES = {
    DeviceClass.COMPUTE: "compute",
    DeviceClass.COMMUNICATION: "communication_device",
    DeviceClass.COPY: "copy",
    DeviceClass.MEMSET: "memset",
}
PATH_KINDS = (*PATH_CLASSES.values(), *CAUSE)
"""Kind of a part of the path: device work by class, else a cause of idle time."""


class IdleNodes(ColumnTable, frozen=True, eq=False):
    """Call paths with idle time below them; parents come first."""

    parent: I32
    name: I32  # code into ``strings``; beyond them a place in IDLE_CAUSES
    kind: I8  # HostKind; beyond them: a cause


class IdleCells(ColumnTable, frozen=True, eq=False):
    """Idle time by step, device and path."""

    step: I32
    device: I32  # row of Trace.devices
    node: I32
    idle_ns: I64
    count: I64  # events


class PathParts(ColumnTable, frozen=True, eq=False):
    """The parts of the paths of all steps, in order of time; those of a step tile its window."""

    start: I64
    end: I64
    step: I32
    kind: I8  # place in PATH_KINDS
    on: I8  # 0: ``row`` is of the host table; 1: of the device table; −1: of none
    row: I32  # −1: nothing recorded
    thread: I32  # of the host part, −1
    slack: I64  # ns until another chain is the longer one; −1: none is known
    inferred: I8  # 1: reached by a dependency that is inferred


class PathNames(ColumnTable, frozen=True, eq=False):
    """Names behind the parts of a critical path, by part."""

    name: I32  # code; −1: nothing recorded
    slice: I32  # of the timeline; −1


class IdleColumns(Struct, frozen=True, eq=False):
    """Everything that is stored."""

    strings: tuple[str, ...]
    nodes: IdleNodes
    cells: IdleCells
    path: PathParts
    path_names: PathNames
    certain: PathParts  # without inferred dependencies; empty where none was inferred
    certain_names: PathNames
    inferred_count: int

    def flame(self, steps: tuple[int, ...], device: int) -> FlameTree:
        """The call tree of the chosen steps and device, by idle time."""
        cells = self.cells
        some = np.flatnonzero((cells.device == device) & np.isin(cells.step, steps))
        node, count = cells.node[some], len(self.nodes)
        tree = FlameTree(
            parent=self.nodes.parent,
            name=self.nodes.name,
            kind=self.nodes.kind.astype(np.int32),
            own=summed(cells.idle_ns[some], node, count),
            count=summed(cells.count[some], node, count),
            names=self.strings,
            labels=tuple(f"({CAUSE_NAMES[name]})" for name in IDLE_CAUSES),
            kinds=_KIND_NAMES,
        )
        return tree.only(tree.value > 0)


IDLE = ArtifactSpec("idle-1", f"{__package__}.artifact:make_idle", opens(IdleColumns, STEM))
"""The artifact of the Overview and of the critical path in the Trace view."""
