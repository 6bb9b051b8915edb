"""What do sets of ranks say: nodes, stages of a pipeline, experts? And who is late first?"""

from __future__ import annotations

import numpy as np

from ...analysis.distributed.comparison import Comparison
from ...analysis.distributed.hang import said_ranks
from ...analysis.distributed.lateness.nodes import rows_of
from ...base.arrays import I64
from ...base.units import duration, plural, share
from .declared import DistributedNode, PipelineStage
from .rows import RunRows
from .what_if import stages

MOSTLY = 0.5
"""Share of a rank's cost to others that must be inherited to be mentioned."""
WORTH_SAYING = 0.1
"""Of all waiting."""


# --- nodes ----------------------------------------------------------------------------------------


def node_rows(rows: RunRows) -> tuple[DistributedNode, ...]:
    """The nodes of the run over the chosen steps; () for fewer than two."""
    of = rows.of
    if len(of.nodes) < 2:
        return ()
    node = np.array(rows_of(of.nodes, len(of.digests)), np.int64)
    entries, matches = rows.known_entries, of.matches
    by = node[of.waiting.last[rows.collective[entries]]]
    mine = node[matches.member[entries]]
    here = (by >= 0) & (mine >= 0) & (by != mine)
    waits = of.waiting.wait_ns[entries]
    cost, lost = np.zeros(len(of.nodes), np.int64), np.zeros(len(of.nodes), np.int64)
    np.add.at(cost, by[here], waits[here])
    np.add.at(lost, mine[here], waits[here])
    several = np.intersect1d(rows.collective[entries[here]], rows.uneven)
    last = np.bincount(node[of.waiting.last[several]], minlength=len(of.nodes))
    own = of.replay.own
    return tuple(
        DistributedNode(
            name=one.name,
            ranks=said_ranks(of.rank(m) for m in one.members),
            count=len(one.members),
            own_ns=_median(own.own_ns[np.ix_(np.array(one.members), rows.steps)])
            if own is not None
            else None,
            cost_ns=int(cost[number]) // rows.per,
            lost_ns=int(lost[number]) // rows.per,
            times_last=int(last[number]),
            is_late=of.verdict.node == number and not rows.compared.waiting,
        )
        for number, one in enumerate(of.nodes)
    )


def _median(values: np.ndarray) -> int | None:
    known = values[~np.isnan(values)]
    return round(float(np.median(known))) if len(known) else None


# --- who is late first, and who after it ----------------------------------------------------------


def inherited_text(rows: RunRows) -> str:
    """Sentence on the rank with most inherited cost; "" if it is small."""
    if rows.of.origins is None or rows.compared.waiting:
        return ""
    total, whom = rows.inherited()
    most = int(np.argmax(total))
    if total[most] < max(MOSTLY * rows.cost[most], WORTH_SAYING * rows.cost.sum(), 1):
        return ""
    return (
        f"Rank {rows.of.rank(most)} is late mostly because it had waited for rank"
        f" {rows.of.rank(int(whom[most]))} before: that is {duration(total[most] / rows.per)} of"
        " the waiting, and no fault of its own."
    )


def first_late(rows: RunRows) -> str:
    """Where the rank that is named is late first by its own work; "" nowhere."""
    of = rows.of
    member, collective = of.verdict.first_late
    if member < 0 or collective < 0 or rows.compared.waiting:
        return ""
    step = int(rows.step[collective])
    when = f" of step {of.step_numbers[step]}" if step >= 0 and len(of.step_numbers) > 1 else ""
    group = rows.labels[of.matches.group[collective]]
    where = f" in {group}" if len(of.groups) > 1 else ""
    return f"It is first late at {of.matches.kind[collective]} #{collective + 1}{when}{where}."


# --- stages ---------------------------------------------------------------------------------------


def stage_rows(of: Comparison) -> tuple[PipelineStage, ...]:
    """The stages of all pipelines of the run; slack is of the messages that a stage receives."""
    slack: dict[int, list[I64]] = {}
    bubble: dict[int, list[int]] = {}
    for one in of.pipelines:
        for number in range(len(one.stages)):
            slack.setdefault(number, []).append(one.slack_ns[one.slack_to == number])
            bubble.setdefault(number, []).append(int(one.bubble_ns[number]))
    least = [one.theory for one in of.pipelines if not np.isnan(one.theory)]
    found = []
    for number, (shares, ranks) in enumerate(stages(of)):
        known = np.concatenate(slack[number])
        found.append(
            PipelineStage(
                number=number,
                ranks=said_ranks(of.rank(rank) for rank in ranks),
                bubble_ns=round(float(np.mean(bubble[number]))),
                bubble_ratio=None if np.isnan(shares).all() else float(np.nanmean(shares)),
                slack_ns=int(np.median(known)) if len(known) else None,
                waited_ratio=float((known < 0).mean()) if len(known) else None,
                least_ratio=float(np.median(least)) if least else None,
            )
        )
    return tuple(found)


def pipeline_text(of: Comparison) -> str:
    """Number of stages, and their least possible bubble; "" for none."""
    if not of.pipelines:
        return ""
    one = of.pipelines[0]
    said = f"{plural(len(one.stages), 'stage')}"
    if len(of.pipelines) > 1:
        said += f" in each of {len(of.pipelines)} pipelines; of the first"
    if one.micro_batches > 0 and not np.isnan(one.theory):
        batches = f"{one.micro_batches} micro-batch{'' if one.micro_batches == 1 else 'es'}"
        said += (
            f", {batches} a step: GPipe and 1F1B have a bubble of at least {share(one.theory)},"
            " (p − 1) / (m + p − 1)"
        )
    if len(one.slack_ns):
        said += f"; the receiver waited for {share(one.receiver_waited)} of the messages"
    return f"{said}. {one.why}".strip()


# --- experts --------------------------------------------------------------------------------------


def experts_text(of: Comparison) -> str:
    """Worst imbalance of the parts of all_to_all; "" without any."""
    found = of.bandwidth.imbalance
    if not found:
        return ""
    worst = max(found, key=lambda one: one.most_to_mean)
    return (
        f"Of {plural(worst.instances, 'all_to_all')}, the rank that receives most receives"
        f" {worst.most_to_mean:.2f} times the mean."
    )
