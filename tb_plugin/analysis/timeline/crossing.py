"""Slices that are open at an instant, and how much of their self time was spent by then.

Rows of a thread are in order of their start, and the self time of a slice are the instants at which
it is the latest started one still open. At an instant t let P₁, P₂ … be the open ones. What started
between Pₖ and Pₖ₊₁ has ended by t, and none of it was the latest once Pₖ₊₁ had started. So until t

    spent(Pₖ) = start(Pₖ₊₁) − start(Pₖ) − Σ self of what started in between

and for the last one with t in place of the start of the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .model import I64, Slices

CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """A thread at an instant: the slices that are open, by their start, and what they have spent.

    ``last`` is the first slice of the thread that does not start before the instant.
    """

    rows: I64
    spent: I64
    last: int


def latest_ends(slices: Slices, count: int) -> I64:
    """The latest end among each 4,096 of the first ``count`` slices."""
    found = [
        int((slices.ts[low : low + CHUNK] + slices.dur[low : low + CHUNK]).max())
        for low in range(0, count, CHUNK)
    ]
    return np.array(found, np.int64)


def crossing(slices: Slices, ends: I64, thread: tuple[int, int], instant: int) -> Crossing:
    """The slices [first, behind) of a thread at an instant; ``ends`` are their latest ends."""
    first, behind = thread
    last = first + int(np.searchsorted(slices.ts[first:behind], instant))
    # Only where one of so many ends later there is something to look for.
    chunks = np.flatnonzero(ends[first // CHUNK : -(-last // CHUNK)] > instant) + first // CHUNK
    found = [np.empty(0, np.int64)]
    for chunk in chunks.tolist():
        low, high = max(chunk * CHUNK, first), min((chunk + 1) * CHUNK, last)
        found.append(low + np.flatnonzero(slices.ts[low:high] + slices.dur[low:high] > instant))
    rows = np.concatenate(found)
    edges = np.append(rows, last)
    starts = np.append(slices.ts[rows], instant)
    between = [
        int(slices.self_ns[low + 1 : high].sum())
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    return Crossing(rows, np.diff(starts) - np.array(between, np.int64), last)
