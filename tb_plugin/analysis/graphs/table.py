"""Graphs as rows of the kernel table: their kernels, and the spread of their replays."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import F64, I64
from ..operators.groups import group, in_steps
from ..operators.kernels import ChosenKernels, KernelGroups, kernel_rows, whole_ns
from ..operators.model import OperatorColumns
from .model import WORK, GraphColumns

OUTSIDE = 0
"""The key of the row of all kernels outside of graphs; graph g has g + 1."""


class GraphGroups(KernelGroups, frozen=True, eq=False, dict=True, kw_only=True):
    """The kernels by graph, with figures of the replays in the chosen steps; NaN outside graphs."""

    graphs: GraphColumns
    steps: tuple[int, ...] | None

    @cached_property
    def of_graph(self) -> tuple[NDArray[np.intp], ...]:
        """The replays of each row in the chosen steps, in order of time."""
        rows = np.flatnonzero(in_steps(self.graphs.replays.step, self.steps))
        rows = rows[np.argsort(self.graphs.replays.graph[rows], kind="stable")]
        graph = self.graphs.replays.graph[rows]
        # Kernels outside of graphs have no replay: no replay is of graph −1.
        own = self.groups.key - 1
        low, high = (np.searchsorted(graph, own, side=side) for side in ("left", "right"))
        bounds = zip(low.tolist(), high.tolist(), strict=True)
        return tuple(rows[first:end] for first, end in bounds)

    @cached_property
    def span_ns(self) -> I64:
        """Length of each replay of the trace, from the start of its work to the end."""
        return self.graphs.replays.end - self.graphs.replays.ts

    @cached_property
    def replays(self) -> F64:
        """Number of replays of each graph."""
        return np.array(
            [
                len(rows) if key != OUTSIDE else np.nan
                for key, rows in zip(self.groups.key.tolist(), self.of_graph, strict=True)
            ],
            np.float64,
        )

    @cached_property
    def nodes(self) -> F64:
        """Nodes of its largest replay: device work, host calls, events."""
        return self._each(lambda rows: float(self.graphs.replays.node_count[rows].max()))

    @cached_property
    def node_ns(self) -> F64:
        """Mean length of the device work in its replays."""
        work, count = self._work
        spent = self._each(lambda rows: float(work[rows].sum()))
        number = self._each(lambda rows: float(count[rows].sum()))
        return spent / number

    @cached_property
    def _work(self) -> tuple[I64, I64]:
        """Summed length of the device work of each replay, and how much there is."""
        members, nodes = self.graphs.members, self.graphs.nodes
        rows = np.flatnonzero(np.isin(nodes.kind[members.node], WORK) & (members.replay >= 0))
        spent = np.zeros(len(self.graphs.replays), np.int64)
        np.add.at(spent, members.replay[rows], members.dur_ns[rows])
        return spent, np.bincount(members.replay[rows], minlength=len(spent)).astype(np.int64)

    @cached_property
    def replay_min_ns(self) -> F64:
        """The shortest replay."""
        return self.replay_quantile(0)

    @cached_property
    def replay_p50_ns(self) -> F64:
        """The median replay."""
        return self.replay_quantile(0.5)

    @cached_property
    def replay_p95_ns(self) -> F64:
        """The 95th percentile of the replays."""
        return self.replay_quantile(0.95)

    @cached_property
    def replay_max_ns(self) -> F64:
        """The longest replay."""
        return self.replay_quantile(1)

    @cached_property
    def replay_ns(self) -> F64:
        """Sum of the replays."""
        return self._each(lambda rows: float(self.span_ns[rows].sum()))

    @cached_property
    def inside_idle_ns(self) -> F64:
        """Time inside the replays in which none of their work ran."""
        idle = self.span_ns - self.graphs.replays.busy_ns
        return self._each(lambda rows: float(idle[rows].sum()))

    def replay_quantile(self, share: float) -> F64:
        """The least length of a replay that this share of them does not exceed (nearest rank)."""

        def of(rows: NDArray[np.intp]) -> float:
            spans = np.sort(self.span_ns[rows])
            return float(spans[max(int(np.ceil(share * len(spans))), 1) - 1])

        return self._each(of)

    def _each(self, value: Callable[[NDArray[np.intp]], float]) -> F64:
        return np.array([value(rows) if len(rows) else np.nan for rows in self.of_graph])


def graph_table(
    operators: OperatorColumns, graphs: GraphColumns, chosen: ChosenKernels
) -> GraphGroups:
    """The chosen kernels by graph. All rows sum to all kernels, as in every other grouping."""
    rows = kernel_rows(operators, chosen)
    key = graphs.of_activity + 1
    groups = group(rows, key, operators.activities.dur_ns)
    whole = whole_ns(operators, chosen)
    return GraphGroups(operators, groups, "graph", whole, graphs=graphs, steps=chosen.steps)
