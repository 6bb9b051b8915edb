"""How long would the steps be if ranks or a group were like their median, or input were free?

The joint graph is replayed with other weights. The replay's own error without an edit is part of
every answer, and no gain is given that is within it, or that removing any other rank would give as
well; of the ranks that the verdict names, the gain is the verdict's. Transfers are exchanged on
devices only: on a host back end that alone moves steps by a third.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ....base.arrays import F64, I64
from ....base.units import duration, listing, share
from ..comparison import Comparison
from ..model import WorkPart
from .excess import end_excess, without_excess
from .own_time import (
    CLEARLY,
    LEAST_GAIN,
    OwnTime,
    is_beyond_chance,
    is_often_longest,
    mean_length,
    usual_above,
)
from .replay import JointGraph, lengths

MOST_NAMED = 8


class Edit(Struct, frozen=True):
    """Subject of an edit: work of ranks, transfers of a group, or the input of all ranks."""

    kind: str  # "ranks" | "transfers" | "input"
    members: tuple[int, ...] = ()  # digests, for "ranks": a rank, or all ranks of a stage
    group: int = -1  # for "transfers"


class WhatIf(Struct, frozen=True):
    """The answer; times are means over the chosen steps of all ranks."""

    refused: str  # why there is no answer, "" where there is
    sentence: str
    step_ns: int  # replayed without an edit; −1
    edited_ns: int  # −1
    gain_ns: int  # −1: none is claimed
    error_median: float  # of the replay without an edit; NaN unknown
    error_most: float


def what_if(run: Comparison, change: Edit) -> WhatIf:
    """Replays a run with one change."""
    replay = run.replay
    error = replay.error
    median = error.median if error is not None else float("nan")
    most = error.most if error is not None else float("nan")
    if replay.refused or replay.joint is None or replay.own is None:
        return WhatIf(replay.refused or "There is no replay.", "", -1, -1, -1, median, most)
    joint, own = replay.joint, replay.own
    if change.kind == "transfers" and not run.digests[0].on_device:
        return WhatIf(
            "On a back end of the host the transfer of a collective depends on which threads run, "
            "so changing it alone says nothing.", "", -1, -1, -1, median, most,
        )  # fmt: skip
    weight = _edited(run, joint, change)
    before = mean_length(lengths(joint, joint.times()), own.chosen)
    after = mean_length(lengths(joint, joint.times(weight)), own.chosen)
    gain = round(before - after)
    least = median * before
    is_named = change.kind == "ranks" and set(change.members) == set(run.verdict.members)
    if change.kind == "ranks" and not is_named:
        # Taking anything off a rank shortens something: what others would gain too is no gain.
        others = np.delete(np.maximum(own.gain_ns, 0), list(change.members))
        least = max(least, LEAST_GAIN * before, CLEARLY * float(others.max(initial=0)))
    said = (
        f"Replayed unchanged, a step takes {duration(round(before))}, off by {share(median)} in "
        f"the median and {share(most)} at most. "
    )
    what = _in_words(run, change)
    if gain <= least:
        said += f"With {what} nothing beyond that is gained ({share(max(gain, 0) / before)})."
        return WhatIf("", said, round(before), round(after), -1, median, most)
    chance = ""
    if change.kind == "ranks" and len(change.members) == 1 and not is_named:
        chance = _by_chance(own, change.members[0])
    if chance:
        said += f"With {what} {share(gain / before)} would go, but {chance}: none is claimed."
        return WhatIf("", said, round(before), round(after), -1, median, most)
    said += f"With {what} it takes {duration(round(after))}: {share(gain / before)} less."
    return WhatIf("", said, round(before), round(after), gain, median, most)


def _in_words(run: Comparison, change: Edit) -> str:
    if change.kind == "input":
        return "each batch there in time"
    if change.kind == "transfers":
        return f"transfers of {run.groups[change.group].label} like those of other groups"
    if len(change.members) == 1:
        return f"rank {run.rank(change.members[0])} like its peers"
    if len(change.members) > MOST_NAMED:
        return f"{len(change.members)} ranks like their peers"
    return f"ranks {listing([str(run.rank(m)) for m in change.members])} like their peers"


def _by_chance(own: OwnTime, m: int) -> str:
    """Why a gain of a rank may be chance, by the rules that also name a late rank; "" if not."""
    if not is_beyond_chance(own, [m], usual_above(own, [m])):
        return "the other ranks differ as much among themselves"
    if not is_often_longest(own, [m]):
        return "in more than a third of the steps another rank needs longer"
    return ""


def _edited(run: Comparison, joint: JointGraph, change: Edit) -> I64:
    own = run.replay.own
    assert own is not None
    if change.kind == "transfers":
        return _usual_transfers(run, joint, change.group)
    if change.kind == "input":
        return _without_loader(run, joint)
    alone = joint.alone()
    over = end_excess(joint, alone)
    return without_excess(joint, alone, own.excess_ns, over, change.members)


def _without_loader(run: Comparison, joint: JointGraph) -> I64:
    """As if the next batch were always there: edges without the time of the DataLoader."""
    weight: I64 = joint.weight.copy()
    for m, one in enumerate(run.digests):
        low, high = joint.first_edge[m : m + 2].tolist()
        weight[low:high] -= one.edges.parts[:, WorkPart.LOADER]
    return weight


def _usual_transfers(run: Comparison, joint: JointGraph, group: int) -> I64:
    """With the median transfer of its operation and size, over all groups, for one group."""
    matches, transfer = run.matches, joint.transfer_ns
    size = np.log2(np.maximum(run.bandwidth.bytes, 1)).astype(np.int64)
    usual: F64 = transfer.astype(np.float64)
    kinds = np.array(matches.kind)
    for i in np.flatnonzero(matches.group == group).tolist():
        alike = (
            (kinds == kinds[i])
            & (size == size[i])
            & (run.bandwidth.ranks == run.bandwidth.ranks[i])
        )
        others = alike & (matches.group != group)
        usual[i] = float(np.median(transfer[others if others.any() else alike]))
    change = np.rint(usual).astype(np.int64) - transfer
    weight: I64 = joint.weight.copy()
    first = int(joint.first_edge[-1])
    of_point: dict[int, int] = {}
    for i in np.flatnonzero(matches.group == group).tolist():
        ends = joint.release[matches.entries(i)]
        of_point |= dict.fromkeys(ends[ends >= 0].tolist(), i)
    for edge in range(first, len(weight)):
        at = of_point.get(int(joint.target[edge]))
        if at is not None:
            weight[edge] = max(int(weight[edge]) + int(change[at]), 0)
    return weight
