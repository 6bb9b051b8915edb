"""Runs of many ranks with one planted fault, made from one real rank.

The graph of one rank of a real recording is repeated for several steps and ranks. Every rank gets
its own jitter on every edge, its own clock, and a random start; one fault is planted, or none. The
run is then played through, and each rank's digest is what a recording of it would say.

Ranks are clones of one, because real ranks differ already. The truth of a fault that moves the step
by less than 2 % is "none".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kinetoscope.analysis.distributed.lateness.max_plus import leveled
from kinetoscope.analysis.distributed.model import (
    DigestFamilies,
    DigestSteps,
    Edges,
    Junction,
    Junctions,
    RankDigest,
    RankGroup,
    WorkPart,
)
from kinetoscope.analysis.distributed.rank.digest import shortest_transfers

FAULTS = (
    "none", "slower_kernels", "more_work", "host", "input", "copies", "backward", "inherited",
    "link", "brought_in", "node",
)  # fmt: skip
CAUSES = {"backward": "host", "inherited": "host", "node": "slower_kernels"}
"""The cause to be named where it is not called as the fault is."""
RANKS = (4, 6, 8, 12, 16, 24, 32, 64)
RANK_SHARES = (0.2, 0.15, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05)
I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """What a made run is to be."""

    fault: str
    ranks: int
    steps: int
    jitter: float  # of every edge, as a share
    seed: int
    device_bound: bool  # kernels four times as long, the host four times as fast
    two_groups: bool  # some collectives are of halves of the ranks
    size: float  # of the fault, as a share of the step (of kernels and transfers: a factor)


@dataclass(frozen=True)
class MadeRun:
    """A run, and what is true of it."""

    digests: tuple[RankDigest, ...]
    rank: int  # that is at fault, −1 for none
    node: tuple[int, ...]  # ranks of the node that is at fault
    cause: str  # "" for none, "link" for slow links
    effect: float  # by how much the fault lengthens the steps, as a share
    effect_ns: float
    group: tuple[int, ...]  # ranks of the slow links
    clock_error_ns: I64  # by which each clock is off


def made_run(base: RankDigest, plan: Plan) -> MadeRun:
    """Plays a run through, with its fault and without."""
    rng = np.random.default_rng(plan.seed)
    shape = _Shape(base, plan)
    weights = [shape.weights(rng) for _ in range(plan.ranks)]
    transfer = shape.transfers(rng)
    most = 30e6 if plan.fault == "brought_in" else 8e6
    starts = np.rint(rng.uniform(0, most, plan.ranks)).astype(np.int64)
    culprit = int(rng.integers(plan.ranks))
    halves = shape.halves()
    plain = shape.play(weights, transfer, starts)
    step = float(shape.mean_step(plain))
    edited, slow = list(weights), transfer.copy()
    families = [1.0, 1.0]  # factors of length and count of the culprit's kernels
    culprits = node_of(culprit, plan.ranks) if plan.fault == "node" else (culprit,)
    if plan.fault in ("slower_kernels", "more_work", "node"):
        for one in culprits:
            edited[one] = shape.scaled(weights[one], WorkPart.KERNELS, 1 + plan.size)
        families[plan.fault == "more_work"] = 1 + plan.size
    elif plan.fault in ("host", "inherited", "backward", "input", "copies"):
        where = {"input": "first", "backward": "late"}.get(plan.fault, "one")
        part = {"input": WorkPart.LOADER, "copies": WorkPart.COPIES}.get(plan.fault, WorkPart.HOST)
        edited[culprit] = shape.added(weights[culprit], part, round(plan.size * step), where, rng)
    elif plan.fault == "link":
        slow[shape.is_half(0)] = np.rint(slow[shape.is_half(0)] * (1 + plan.size))
    played = shape.play(edited, slow, starts)
    effect = float(shape.mean_step(played)) - step
    clock = np.rint(rng.uniform(-5e6, 5e6, plan.ranks)).astype(np.int64)
    clock[0] = 0
    guilty = effect >= 0.02 * step and plan.fault not in ("none", "brought_in")
    return MadeRun(
        digests=tuple(
            shape.digest(r, edited[r], played[r], clock[r],
                         families if r in culprits else [1, 1], rng)
            for r in range(plan.ranks)
        ),
        rank=culprit if guilty and plan.fault not in ("link", "node") else -1,
        node=culprits if guilty and plan.fault == "node" else (),
        cause=CAUSES.get(plan.fault, plan.fault) if guilty else "",
        effect=effect / step,
        effect_ns=effect,
        group=halves[0] if guilty and plan.fault == "link" else (),
        clock_error_ns=clock,
    )  # fmt: skip


def ranks_of_a_node(ranks: int) -> int:
    """Four, or so many that both halves of the ranks are on as many nodes."""
    return 3 if ranks == 6 else 4


def node_of(rank: int, ranks: int) -> tuple[int, ...]:
    """The ranks on the machine of a rank."""
    size = ranks_of_a_node(ranks)
    return tuple(range(rank // size * size, (rank // size + 1) * size))


class _Shape:
    """One rank's graph, repeated; edges by part."""

    def __init__(self, base: RankDigest, plan: Plan) -> None:
        self.base = base
        self.plan = plan
        calls = len(base.calls)
        size, steps = len(base.junctions), plan.steps
        edges = base.edges
        shift = np.repeat(np.arange(steps) * size, len(edges))
        self.source = np.tile(edges.source, steps).astype(np.int64) + shift
        self.target = np.tile(edges.target, steps).astype(np.int64) + shift
        parts = np.tile(edges.parts, (steps, 1)).astype(np.float64)
        if plan.device_bound:
            parts[:, WorkPart.KERNELS] *= 6
            parts[:, WorkPart.HOST] *= 0.25
            parts[:, WorkPart.BLOCKED] *= 0.25
            parts[:, WorkPart.LATENCY] *= 0.25
        kind = np.tile(base.junctions.kind, steps)
        ends = np.flatnonzero(kind == Junction.STEP_END)
        begins = np.flatnonzero(kind == Junction.STEP_START)
        # A step begins when the one before has ended: the base waits for its device there.
        self.source = np.concatenate([self.source, ends[:-1]])
        self.target = np.concatenate([self.target, begins[1:]])
        self.parts = np.concatenate([parts, np.zeros((steps - 1, parts.shape[1]))])
        self.op = np.concatenate([np.tile(edges.op, steps), np.zeros(steps - 1, np.int32)])
        self.line = np.concatenate([np.tile(edges.line, steps), np.zeros(steps - 1, np.int32)])
        order = np.argsort(self.target, kind="stable")
        self.source, self.target = self.source[order], self.target[order]
        self.parts, self.op, self.line = self.parts[order], self.op[order], self.line[order]
        self.kind = kind
        self.step = np.repeat(np.arange(steps), size)
        self.call = np.tile(base.junctions.call, steps)
        self.call[self.call >= 0] += (self.step * calls)[self.call >= 0]
        self.calls = calls * steps
        self.begins, self.ends = begins, ends
        self.of_half = np.zeros(self.calls, np.bool_)
        if plan.two_groups:
            for step in range(steps):
                self.of_half[step * calls + 1 : step * calls + 4] = True

    def halves(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        middle = self.plan.ranks // 2
        return tuple(range(middle)), tuple(range(middle, self.plan.ranks))

    def is_half(self, half: int) -> NDArray[np.bool_]:
        """Collectives of one half, in the order of ``transfers``."""
        result = np.zeros((3, self.calls), np.bool_)
        result[1 + half] = self.of_half
        return result

    def weights(self, rng: np.random.Generator) -> I64:
        """The parts of all edges of a rank with its jitter."""
        factor = np.exp(rng.normal(0, self.plan.jitter, len(self.parts)))
        result: I64 = np.rint(self.parts * factor[:, None]).astype(np.int64)
        return result

    def transfers(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Transfer of each collective by group: all ranks, first half, second half."""
        base = np.tile(shortest_transfers(self.base.calls), self.plan.steps).astype(np.float64)
        spans = self.base.junctions.time_ns
        step = float(spans.max() - spans.min())
        base[self.of_half] = 0.02 * step
        return base * np.exp(rng.normal(0, self.plan.jitter, (3, self.calls)))

    def scaled(self, parts: I64, part: WorkPart, factor: float) -> I64:
        result: I64 = parts.copy()
        result[:, part] = np.rint(result[:, part] * factor)
        return result

    def added(
        self, parts: I64, part: WorkPart, ns: int, where: str, rng: np.random.Generator
    ) -> I64:
        """With so much time added in every step: at one place, at the first, or late in it."""
        result: I64 = parts.copy()
        host = np.isin(self.kind[self.target], (Junction.ISSUE,))
        for step in range(self.plan.steps):
            here = np.flatnonzero(host & (self.step[self.target] == step))
            # The way of the host leads through the calls: one edge into each from the one before.
            chain = here[
                np.isin(self.kind[self.source[here]], (Junction.ISSUE, Junction.STEP_START))
            ]
            if where == "first":
                chosen = chain[:1]
            elif where == "late":
                chosen = chain[len(chain) // 2 :]
            else:
                chosen = chain[rng.integers(len(chain)) :][:1]
            for edge in chosen.tolist():
                into = np.flatnonzero(self.target == self.target[edge])
                # Whatever led there before leads there later now.
                result[into, part] += ns // len(chosen)
        return result

    def play(self, weights: Sequence[I64], transfer: NDArray[np.float64], starts: I64) -> list[I64]:
        """The time of every junction of every rank."""
        size, ranks = len(self.kind), len(weights)
        source = [self.source + r * size for r in range(ranks)]
        target = [self.target + r * size for r in range(ranks)]
        weight = [one.sum(axis=1) for one in weights]
        arrival = {int(self.call[j]): j for j in np.flatnonzero(self.kind == Junction.ARRIVAL)}
        release = {int(self.call[j]): j for j in np.flatnonzero(self.kind == Junction.RELEASE)}
        points = size * ranks
        extra: list[tuple[int, int, int]] = []
        for call in range(self.calls):
            whole = tuple(range(ranks))
            groups = self.halves() if self.of_half[call] else (whole,)
            for number, members in enumerate(groups):
                row = 1 + number if self.of_half[call] else 0
                took = round(float(transfer[row, call]))
                extra.extend((arrival[call] + r * size, points, 0) for r in members)
                extra.extend((points, release[call] + r * size, took) for r in members)
                points += 1
        ties = np.array(extra, np.int64)
        every = np.concatenate([*target, ties[:, 1]])
        graph = leveled(points, np.concatenate([*source, ties[:, 0]]), every)
        begin = np.full(points, -(1 << 61), np.int64)
        begin[self.begins[0] + np.arange(ranks) * size] = starts
        lost = np.flatnonzero(np.bincount(every, minlength=points) == 0)
        begin[lost[begin[lost] < 0]] = 0
        times = graph.times(begin, np.concatenate([*weight, ties[:, 2]]))
        return [times[r * size : (r + 1) * size] for r in range(ranks)]

    def mean_step(self, played: Sequence[I64]) -> float:
        return float(np.mean([one[self.ends] - one[self.begins] for one in played]))

    def digest(
        self,
        rank: int,
        parts: I64,
        times: I64,
        clock: int,
        families: Sequence[float],
        rng: np.random.Generator,
    ) -> RankDigest:
        """What a recording of this rank would say; its clock is off by ``clock``."""
        base, plan = self.base, self.plan
        arrival = self._of_calls(times, Junction.ARRIVAL)
        release = self._of_calls(times, Junction.RELEASE)
        issue = self._of_calls(times, Junction.ISSUE)
        release = release + rng.integers(0, 7_000, len(release))  # kernels end µs apart
        order = np.argsort(times, kind="stable")
        place = np.argsort(order)
        target = place[self.target]
        by_target = np.argsort(target, kind="stable")
        world = tuple(range(plan.ranks))
        half = self.halves()[0 if rank in self.halves()[0] else 1]
        table = base.families
        fields = {name: np.tile(getattr(table, name), plan.steps)
                  for name in DigestFamilies.__struct_fields__}  # fmt: skip
        fields["step"] = np.repeat(np.arange(plan.steps), len(table)).astype(np.int32)
        for name in ("total_ns", "p50_ns", "p95_ns"):
            scale = families[0] * (families[1] if name == "total_ns" else 1)
            fields[name] = np.rint(
                fields[name] * (6 if plan.device_bound else 1) * scale
                * np.exp(rng.normal(0, plan.jitter / 4, len(fields[name])))
            ).astype(np.int64)  # fmt: skip
        fields["count"] = np.rint(fields["count"] * families[1]).astype(np.int64)
        calls: dict[str, Any] = {
            name: np.concatenate([getattr(base.calls, name)] * plan.steps)
            for name in type(base.calls).__struct_fields__
        }
        calls["step"] = np.repeat(np.arange(plan.steps), len(base.calls)).astype(np.int32)
        calls["group"] = self.of_half.astype(np.int32)
        calls["arrival_ns"], calls["release_ns"], calls["issue_ns"] = arrival, release, issue
        calls["exposed_ns"] = release - arrival
        calls["covered"] = np.zeros_like(calls["covered"])
        shown = times.copy()
        ends = np.flatnonzero(self.kind == Junction.RELEASE)
        shown[ends] = release[self.call[ends]]
        steps = {name: np.zeros((plan.steps, *getattr(base.steps, name).shape[1:]),
                                getattr(base.steps, name).dtype)
                 for name in DigestSteps.__struct_fields__}  # fmt: skip
        steps["number"] = np.arange(plan.steps, dtype=np.int64)
        steps["start_ns"], steps["end_ns"] = times[self.begins], times[self.ends]
        steps["idle_ns"] = steps["end_ns"] - steps["start_ns"]
        return msgspec.structs.replace(
            base,
            rank=rank,
            host_name=f"node{rank // ranks_of_a_node(plan.ranks)}",
            world_size=plan.ranks,
            base_ns=base.base_ns + int(clock),
            resolution_ns=1,
            groups=(
                RankGroup("0", "world", world, len(world), "args", "nccl"),
                *([RankGroup("1", "half", half, len(half), "args", "nccl")]
                  if plan.two_groups else []),
            ),
            steps=DigestSteps(**steps),
            families=DigestFamilies(**fields),
            calls=type(base.calls)(**calls),
            junctions=Junctions(
                kind=self.kind[order].astype(np.int8),
                step=self.step[order].astype(np.int32),
                call=self.call[order].astype(np.int32),
                time_ns=shown[order],
            ),
            edges=Edges(
                source=place[self.source][by_target].astype(np.int32),
                target=target[by_target].astype(np.int32),
                weight_ns=parts.sum(axis=1)[by_target],
                parts=parts[by_target],
                op=self.op[by_target].astype(np.int32),
                line=self.line[by_target].astype(np.int32),
                op_ns=parts.max(axis=1)[by_target],
            ),
        )  # fmt: skip

    def _of_calls(self, times: I64, kind: Junction) -> I64:
        """The time of a junction of each call; a call without one has that of its arrival."""
        result = np.full(self.calls, -1, np.int64)
        for one in (Junction.ARRIVAL, kind):
            rows = np.flatnonzero(self.kind == one)
            result[self.call[rows]] = times[rows]
        return result


def random_plan(rng: np.random.Generator, fault: str, jitter: float) -> Plan:
    """A plan for one draw: 4 to 64 ranks on nodes of three or four, three to five steps."""
    sizes = {"slower_kernels": (0.1, 1.0), "more_work": (0.1, 1.0), "link": (1.0, 9.0),
             "node": (0.1, 1.0)}  # fmt: skip
    low, high = sizes.get(fault, (0.03, 0.3))
    ranks = int(rng.choice(RANKS, p=RANK_SHARES))
    return Plan(
        fault=fault,
        ranks=max(ranks, 12) if fault == "node" else ranks,
        steps=int(rng.integers(3, 6)),
        jitter=jitter,
        seed=int(rng.integers(1 << 31)),
        device_bound=fault in ("slower_kernels", "more_work", "node") or bool(rng.integers(2)),
        two_groups=fault in ("link", "inherited") or bool(rng.integers(2)),
        size=float(rng.uniform(low, high)),
    )
