"""Digests of ranks, drawn: collectives with their times, nothing else.

run = [rank(0, [call("all_reduce", 0, 10)]), rank(1, [call("all_reduce", 4, 10)])]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinetoscope.analysis.distributed.comparison import Comparison
from kinetoscope.analysis.distributed.model import (
    DigestCalls,
    DigestFamilies,
    DigestRanges,
    DigestSteps,
    DigestSums,
    Edges,
    Junction,
    Junctions,
    RankDigest,
    RankGroup,
    TrainingPass,
    WorkPart,
)
from kinetoscope.analysis.facts import IDLE_CAUSES

US = 1000


@dataclass(frozen=True)
class Drawn:
    """A collective; times in µs."""

    kind: str
    arrival: int
    release: int
    ranks: tuple[int, ...]
    sequence: int
    comms_id: str
    elements: int
    dtype_bytes: int
    out_elements: int
    peer: int
    splits: tuple[int, ...]
    step: int
    phase: TrainingPass


def call(
    kind: str,
    arrival: int,
    release: int,
    ranks: tuple[int, ...] = (),
    *,
    sequence: int = -1,
    comms_id: str = "",
    elements: int = 256,
    dtype_bytes: int = 4,
    out_elements: int = -1,
    peer: int = -1,
    splits: tuple[int, ...] = (),
    step: int = 0,
    phase: TrainingPass = TrainingPass.UNKNOWN,
) -> Drawn:
    """One collective, of all ranks unless some are given."""
    return Drawn(kind, arrival, release, ranks, sequence, comms_id, elements, dtype_bytes,
                 out_elements, peer, splits, step, phase)  # fmt: skip


def rank(
    number: int,
    calls: Sequence[Drawn],
    *,
    world: int = 2,
    base_us: int = 0,
    host: str = "",
    on_device: bool = True,
    steps: Sequence[int] = (0,),
    length: int = 1000,
    idle_around: int = 0,
    wrappers: tuple[str, ...] = (),
) -> RankDigest:
    """The digest of a rank; each step is ``length`` µs long. Work leads from call to call."""
    strings = [""]

    def code(text: str) -> int:
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    everyone = tuple(range(world))
    members = list(dict.fromkeys(one.ranks or everyone for one in calls))
    count = len(calls)

    def column(values: list[int], dtype: type = np.int64) -> np.ndarray:
        return np.array(values, dtype)

    splits: list[int] = []
    first = []
    for one in calls:
        first.append(len(splits) if one.splits else -1)
        splits.extend(one.splits)
    span = column([one.release - one.arrival for one in calls]) * US
    zeros = np.zeros(count, np.int64)
    table = DigestCalls(
        step=column([one.step for one in calls], np.int32),
        group=column([members.index(one.ranks or everyone) for one in calls], np.int32),
        kind=column([code(one.kind) for one in calls], np.int32),
        sequence=column([one.sequence for one in calls]),
        comms_id=column([code(one.comms_id) for one in calls], np.int32),
        shape=column([code(f"{one.dtype_bytes} {one.elements}") for one in calls], np.int32),
        in_bytes=column([one.elements * one.dtype_bytes for one in calls]),
        out_bytes=column(
            [one.out_elements * one.dtype_bytes if one.out_elements >= 0 else -1 for one in calls]
        ),
        issue_ns=column([one.arrival for one in calls]) * US,
        arrival_ns=column([one.arrival for one in calls]) * US,
        release_ns=column([one.release for one in calls]) * US,
        exposed_ns=span,
        blocking_ns=zeros,
        unknown_ns=zeros,
        covered=np.zeros((count, 8), np.int64),
        peer=column([one.peer for one in calls], np.int32),
        on_device=np.full(count, on_device, np.int8),
        name=column([code(one.kind) for one in calls], np.int32),
        raw=column(list(range(count)), np.int32),
        splits=column(first, np.int32),
        phase=column([one.phase for one in calls], np.int8),
    )
    start = np.arange(len(steps), dtype=np.int64) * length * US
    junctions, edges = _graph(calls, len(steps), length)
    nothing = np.zeros(0, np.int64)
    none = np.zeros(0, np.int32)
    empty = np.zeros(len(steps), np.int64)
    return RankDigest(
        rank=number,
        world_size=world,
        host_name=host,
        backend="nccl",
        trace_id="",
        step_source="profiler_step",
        base_ns=base_us * US,
        duration_ns=length * US * len(steps),
        resolution_ns=1,
        graph_launches=0,
        on_device=on_device,
        refused="",
        devices=(),
        groups=tuple(
            RankGroup(str(at), "", ranks, len(ranks), "args", "nccl")
            for at, ranks in enumerate(members)
        ),
        declared=(),
        strings=tuple(strings),
        notes=(),
        wrappers=wrappers,
        steps=DigestSteps(
            number=np.array(steps, np.int64),
            start_ns=start,
            end_ns=start + length * US,
            excluded=np.zeros(len(steps), np.int8),
            **dict.fromkeys(
                ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "memset_ns",
                 "idle_ns", "overlap_ns", "communication_ns", "loader_ns",
                 "start_up_ns"),
                empty,
            ),
            idle_around_ns=np.full(len(steps), idle_around * US, np.int64),
            idle_causes=np.zeros((len(steps), len(IDLE_CAUSES)), np.int64),
        ),
        sums=DigestSums(none, none, none, nothing, nothing, nothing, nothing, nothing, nothing,
                        np.zeros((0, 9), np.int64)),
        families=DigestFamilies(none, none, nothing, nothing, nothing, nothing, nothing),
        ranges=DigestRanges(none, none, nothing),
        names=nothing,
        calls=table,
        split_bytes=np.array(splits, np.int64),
        junctions=junctions,
        edges=edges,
    )  # fmt: skip


def _graph(calls: Sequence[Drawn], steps: int, length: int) -> tuple[Junctions, Edges]:
    """Step start → arrival → release → arrival … → step end; what lies between is host time."""
    kind: list[int] = []
    time: list[int] = []
    step, call_of = [], []
    source, target, weight = [], [], []
    last = -1

    def keep(what: Junction, at: int, in_step: int, number: int, *, linked: bool = True) -> None:
        nonlocal last
        if last >= 0 and linked:
            source.append(last)
            target.append(len(kind))
            weight.append(at * US - time[last])
        last = len(kind)
        kind.append(what)
        step.append(in_step)
        call_of.append(number)
        time.append(at * US)

    for number in range(steps):
        keep(Junction.STEP_START, number * length, number, -1)
        for at, one in enumerate(calls):
            if one.step == number:
                keep(Junction.ARRIVAL, one.arrival, number, at)
                keep(Junction.RELEASE, one.release, number, at, linked=False)
        keep(Junction.STEP_END, (number + 1) * length, number, -1)
    parts = np.zeros((len(weight), len(WorkPart)), np.int64)
    parts[:, WorkPart.HOST] = weight
    return (
        Junctions(
            kind=np.array(kind, np.int8),
            step=np.array(step, np.int32),
            call=np.array(call_of, np.int32),
            time_ns=np.array(time, np.int64),
        ),
        Edges(
            source=np.array(source, np.int32),
            target=np.array(target, np.int32),
            weight_ns=np.array(weight, np.int64),
            parts=parts,
            op=np.zeros(len(weight), np.int32),
            line=np.zeros(len(weight), np.int32),
            op_ns=np.array(weight, np.int64),
        ),
    )


def matched(run: Comparison) -> list[list[int]]:
    """Of each collective the call of each digest, −1 of one that takes no part."""
    matches = run.matches
    found: list[list[int]] = matches.table(matches.call, np.arange(len(matches))).tolist()
    return found
