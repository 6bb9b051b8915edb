"""Which ranks do the same work, so that one that takes longer is slower?

Peers make the same calls in the same order and stand at the same stage of a pipeline. A stage is
counted along first messages: a rank stands one behind the rank whose first message it receives.
Where messages go in a circle (ring attention), or some ranks send and receive nothing, there are no
stages. A rank whose calls no other
makes is compared with all ranks of its stage, and with none where stages differ and it is alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....base.arrays import F64, I64
from ..matching import Matches
from ..model import POINT_TO_POINT, RankDigest


def calls_in_order(
    digest: RankDigest, matches: Matches, member: int
) -> tuple[I64, tuple[tuple[int, str], ...]]:
    """The entries of a digest in the order of its calls, and the step and operation of each."""
    calls, here = digest.calls, matches.entries_of(member)
    here = here[np.argsort(calls.issue_ns[matches.call[here]], kind="stable")]
    rows = matches.call[here]
    steps, kinds = calls.step[rows].tolist(), calls.kind[rows].tolist()
    return here, tuple((step, digest.text(kind)) for step, kind in zip(steps, kinds, strict=True))


def peers_of(digests: Sequence[RankDigest], matches: Matches) -> tuple[I64, ...]:
    """For each digest the digests that it is compared with, itself among them, ascending.

    Ranks with the same peers share one array.
    """
    stage = _stages(digests, matches)
    by_calls: dict[object, list[int]] = {}
    by_stage: dict[int, list[int]] = {}
    keys = []
    for m, one in enumerate(digests):
        keys.append((stage[m], calls_in_order(one, matches, m)[1]))
        by_calls.setdefault(keys[-1], []).append(m)
        by_stage.setdefault(stage[m], []).append(m)
    alike = {key: np.array(members, np.int64) for key, members in by_calls.items()}
    near = {number: np.array(members, np.int64) for number, members in by_stage.items()}
    return tuple(alike[key] if len(alike[key]) > 1 else near[key[0]] for key in keys)


def _stages(digests: Sequence[RankDigest], matches: Matches) -> list[int]:
    """The stage of each digest, by the sender of the first message of a pair; 0 without any."""
    count = len(digests)
    behind: dict[int, set[int]] = {}
    met: set[frozenset[int]] = set()
    for i in np.flatnonzero([kind in POINT_TO_POINT for kind in matches.kind]).tolist():
        ends = {}
        here = matches.entries(i)
        for m, row in zip(matches.member[here].tolist(), matches.call[here].tolist(), strict=True):
            ends[digests[m].text(int(digests[m].calls.kind[row]))] = m
        pair = frozenset(ends.values())
        if ends.keys() == {"send", "recv"} and pair not in met:
            met.add(pair)
            behind.setdefault(ends["send"], set()).add(ends["recv"])
    if len(set().union(*met)) < count:
        return [0] * count
    stage, left = [0] * count, count
    changed = True
    while changed and left >= 0:
        changed, left = False, left - 1
        for m, others in behind.items():
            for other in others:
                if stage[other] <= stage[m]:
                    stage[other], changed = stage[m] + 1, True
    return [0] * count if changed else stage


def above_peers(own: F64, peers: Sequence[I64]) -> F64:
    """Own time (R, S) beyond the median of the other peers, as a share of it; NaN unknown."""
    result = np.full_like(own, np.nan)
    done: set[int] = set()
    for m, mine in enumerate(peers):
        if len(mine) < 2 or m in done:
            continue
        values = own[mine].T
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = (values / others_median(values) - 1).T
        if m in mine and peers[int(mine[0])] is mine and all(peers[int(x)] is mine for x in mine):
            result[mine] = shares
            done.update(mine.tolist())
        else:
            result[m] = shares[int(np.searchsorted(mine, m))]
    return np.where(np.isfinite(result), result, np.nan)


def others_median(values: F64) -> F64:
    """For each cell the median of the other known cells of its row; NaN where there are none.

    Each row is sorted once: without a cell, those behind it move up by one.
    """
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    place = np.argsort(order, axis=1, kind="stable")
    known = ~np.isnan(values)
    left = known.sum(axis=1, keepdims=True) - known  # how many others there are
    middle = []
    for at in ((left - 1) // 2, left // 2):
        moved = at + (known & (place <= at))
        middle.append(np.take_along_axis(ordered, np.clip(moved, 0, values.shape[1] - 1), axis=1))
    result: F64 = np.where(left > 0, (middle[0] + middle[1]) / 2, np.nan)
    return result
