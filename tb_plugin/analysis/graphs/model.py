"""The columns behind replayed graphs, and behind recordings of their capture (contract).

A *graph* is launched as one, each time as a *replay*: the device work of one launch on one device.
Work at the same place of every replay is a *node*. Where the recorder writes no graph ids, replays
that hold work of the same names on one device count as one graph, apart by their batch size; where
it writes no node ids, the k-th work of a name in a replay is one node.

Device rows and slices are numbered as on the timeline: a *row* is one of the device table, or
behind those, one of ``Trace.syncs`` (a call of the host or an event that the graph holds).
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property

import numpy as np
from msgspec import Struct

from ...base.arrays import F64, I8, I32, I64, ColumnTable
from ..operators.model import Stacks

NONE = -1


class NodeKind(IntEnum):
    """Kind of a graph node."""

    KERNEL = 0
    COPY = 1
    SET = 2
    HOST = 3  # a call of the host, for which the graph waits: no device work
    EVENT = 4  # an event that is recorded: no device work


WORK = (NodeKind.KERNEL, NodeKind.COPY, NodeKind.SET)


class IdleKind(IntEnum):
    """Cause of idle time inside a replay."""

    LATENCY = 0  # what the next node depends on had ended: the launch inside the graph
    HOST = 1  # a call of the host that the next node depends on
    OTHER = 2  # other work ran on the device meanwhile
    UNKNOWN = 3  # no dependency of the next node is recorded


class GraphTable(ColumnTable, frozen=True, eq=False):
    """The graphs, those with most kernel time first."""

    device: I32  # row of Trace.devices
    number: I64  # the id as recorded, −1 where none is
    node_ids: I8  # 1: its nodes have recorded ids


class ReplayTable(ColumnTable, frozen=True, eq=False):
    """One row per launch of a graph, in order of time."""

    graph: I32
    launch: I32  # row of the host table, −1 where none is recorded
    step: I32
    batch: I32  # batch size, as a name around the launch tells it; −1
    ts: I64  # when the first of its work starts …
    end: I64  # … and the last ends
    busy_ns: I64  # the union of its work
    node_count: I32  # device work, calls of the host and events


class GraphNodeTable(ColumnTable, frozen=True, eq=False):
    """The nodes of all graphs, by graph and by their mean start within a replay."""

    graph: I32
    kind: I8  # NodeKind
    name: I32  # code
    number: I64  # the id as recorded, −1
    start_ns: F64  # mean, from the start of the replay
    ahead: I32  # row of this table: the dependency that ended last in the longest replay; −1


class MemberTable(ColumnTable, frozen=True, eq=False):
    """Everything that replays hold, by graph, node and time."""

    row: I32
    replay: I32  # −1: of which replay is not known
    node: I32
    slice: I32  # of the timeline
    ts: I64
    dur_ns: I64


class IdleTable(ColumnTable, frozen=True, eq=False):
    """Idle time inside replays; sums to their spans without their work exactly."""

    replay: I32
    kind: I8  # IdleKind
    waited: I32  # row of GraphNodeTable: what was waited for; −1
    next: I32  # row of MemberTable: what ran next
    ns: I64
    inferred: I8  # 1: by the order of time, not by a recorded dependency


class GraphColumns(Struct, frozen=True, eq=False, dict=True):
    """All graphs of a trace."""

    strings: tuple[str, ...]
    graphs: GraphTable
    replays: ReplayTable
    nodes: GraphNodeTable
    members: MemberTable
    idle: IdleTable
    of_activity: I32  # by row of the device table: the graph, −1 outside of graphs
    devices: tuple[str, ...]  # "GPU 0"
    has_edges: bool  # whether dependencies are recorded; else the order of time stands for them

    def label(self, graph: int) -> str:
        """The name "graph 5" by its recorded id; "graph A", "graph B" … where it has none."""
        number = int(self.graphs.number[graph])
        if number >= 0:
            if np.count_nonzero(self.graphs.number == number) == 1:
                return f"graph {number}"
            return f"graph {number}, {self.devices[int(self.graphs.device[graph])]}"
        text, left = "", graph + 1
        while left:
            left, digit = divmod(left - 1, 26)
            text = chr(ord("A") + digit) + text
        return f"graph {text}"

    @cached_property
    def first_node(self) -> I64:
        """Where the nodes of each graph begin, and where the last end."""
        return np.searchsorted(self.nodes.graph, np.arange(len(self.graphs) + 1)).astype(np.int64)

    @cached_property
    def first_member(self) -> I64:
        """Where the members of each node begin, and where the last end."""
        return np.searchsorted(self.members.node, np.arange(len(self.nodes) + 1)).astype(np.int64)


class LaunchTable(ColumnTable, frozen=True, eq=False):
    """Launches of named kernels, by sequence and in their order."""

    sequence: I32
    name: I32  # code of the kernel's name
    op: I32  # code of the innermost op around the launch, −1
    shapes: I32  # code of the text of its input shapes, −1
    module: I32  # code of the innermost module's name, −1
    stack: I32  # row of Stacks: the innermost Python frame around it, −1
    # The innermost op with a model of speed of light; without one the innermost op. Codes, −1.
    call: I32  # its row of the host table, which launches of one op share
    call_op: I32
    dims: I32
    types: I32
    strides: I32
    values: I32


class SequenceTable(ColumnTable, frozen=True, eq=False):
    """Sequences of launches that may have become a graph."""

    batch: I32  # batch size, as a name around it tells it; −1
    captured: I8  # 1: between the begin and the end of a capture; 0: launched to run at once


class CaptureColumns(Struct, frozen=True, eq=False):
    """Launches of a recording of a capture."""

    strings: tuple[str, ...]
    sequences: SequenceTable
    launches: LaunchTable
    stacks: Stacks
    captures: int  # how many captures the recording holds
    unnamed: int  # launches within captures whose kernel is not recorded
