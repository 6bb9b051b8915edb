"""How long do the stages of a pipeline stand idle, and does data wait or its receiver?

The ranks of a group that sends and receives are its stages, in their order. The *bubble* of a stage
is the time in which it receives or sends and computes nothing, and in which it is idle before the
first and after the last work of a step; what the DataLoader held up there is none. GPipe and 1F1B
with p stages and m parts of the batch cannot be below (p − 1) / (m + p − 1). The *slack* of a
message is when the receiver was ready minus when the sender was: positive, the data waited;
negative, the receiver did.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ...base.arrays import F64, I64
from .clocks import Clocks
from .matching import Matches, RunGroup
from .model import POINT_TO_POINT, RankDigest

BUBBLE_FACTOR = 1.2


class Pipeline(Struct, frozen=True, eq=False):
    """One pipeline; P stages."""

    group: int
    stages: tuple[int, ...]  # digests in the order of their ranks
    bubble_ns: I64  # (P,) per step
    step_ns: I64  # (P,) mean
    bubble_share: F64  # (P,)
    micro_batches: int  # messages from a stage to the next per step, 0 unknown
    theory: float  # NaN where micro_batches is unknown
    slack_ns: I64  # (messages,) of receives from the stage before
    slack_to: I64  # (messages,) the stage that received
    receiver_waited: float  # share of the messages for which the receiver waited
    why: str  # why slack is not available, "" where it is


def pipelines(
    digests: Sequence[RankDigest],
    groups: Sequence[RunGroup],
    matches: Matches,
    clocks: Clocks,
) -> tuple[Pipeline, ...]:
    """The pipelines of a run, one for each group whose members all send or receive."""
    sends = np.array([kind == "send" for kind in matches.kind], np.bool_)
    result = []
    for group in np.unique(matches.group[sends]).tolist() if sends.any() else []:
        stages = groups[group].members
        if len(stages) < 2:
            continue
        messages = np.flatnonzero(sends & (matches.group == group))
        place = {m: at for at, m in enumerate(stages)}
        bubble, lengths, silent = [], [], 0
        for m in stages:
            one = digests[m]
            usual = np.flatnonzero(one.steps.excluded == 0)
            paired = [
                row
                for row in range(len(one.calls))
                if one.text(int(one.calls.kind[row])) in POINT_TO_POINT
                and one.calls.step[row] in usual
            ]
            silent += not any(one.text(int(kind)) in POINT_TO_POINT for kind in one.calls.kind)
            idle = one.calls.exposed_ns[paired].sum() + one.steps.idle_around_ns[usual].sum()
            bubble.append(int(idle) // max(len(usual), 1))
            spans = (one.steps.end_ns - one.steps.start_ns)[usual]
            lengths.append(int(spans.mean()) if len(spans) else 0)
        if silent:
            continue  # a message beside collectives: each stage of a pipeline sends or receives
        slack, onward = _slack(digests, matches, messages, place, clocks)
        steps = max((len(digests[m].steps) for m in stages), default=1)
        first = sum(1 for one in onward if one == 0)
        micro = round(first / max(steps, 1))
        span = np.array(lengths, np.int64)
        result.append(
            Pipeline(
                group=group,
                stages=stages,
                bubble_ns=np.array(bubble, np.int64),
                step_ns=span,
                bubble_share=np.array(bubble) / np.maximum(span, 1),
                micro_batches=micro,
                theory=theory(len(stages), micro) if micro else float("nan"),
                slack_ns=slack if clocks.comparable else np.zeros(0, np.int64),
                slack_to=np.array(onward if clocks.comparable else [], np.int64) + 1,
                receiver_waited=float((slack < 0).mean())
                if len(slack) and clocks.comparable
                else float("nan"),
                why="" if clocks.comparable else clocks.reason,
            )
        )
    return tuple(result)


def theory(stages: int, micro_batches: int, chunks: int = 1) -> float:
    """The least bubble of GPipe and 1F1B, as a share of the step; ``chunks`` where interleaved.

    Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
    Megatron-LM" (2021), section 2.2.

    >>> theory(4, 12)
    0.2
    """
    return (stages - 1) / (chunks * micro_batches + stages - 1)


def _slack(
    digests: Sequence[RankDigest],
    matches: Matches,
    messages: I64,
    place: dict[int, int],
    clocks: Clocks,
) -> tuple[I64, list[int]]:
    """Receiver ready − sender ready of messages to the next stage, and the stage they left."""
    slack, left = [], []
    for i in messages.tolist():
        ends = {}
        here = matches.entries(i)
        for m, row in zip(matches.member[here].tolist(), matches.call[here].tolist(), strict=True):
            ends[digests[m].text(int(digests[m].calls.kind[row]))] = (
                m,
                int(digests[m].calls.arrival_ns[row] + clocks.shift_ns[m]),
            )
        if len(ends) == 2 and place.get(ends["recv"][0], 0) == place.get(ends["send"][0], 0) + 1:
            slack.append(ends["recv"][1] - ends["send"][1])
            left.append(place[ends["send"][0]])
    return np.array(slack, np.int64), left
