"""Slices that are open at an instant, and how much of their self time was spent by then.

Rows of a thread are in order of their start, and the self time of a slice are the instants at which
it is the latest started one still open. At an instant t let P₁, P₂ … be the open ones. What started
between Pₖ and Pₖ₊₁ has ended by t, and none of it was the latest once Pₖ₊₁ had started. So until t

    spent(Pₖ) = start(Pₖ₊₁) − start(Pₖ) − Σ self of what started in between

and for the last one with t in place of the start of the next.
"""

from __future__ import annotations

import numpy as np

from .model import I64
from .opened import Opened

_CHUNK = 1 << 20


def spent_before(opened: Opened, instant: int) -> dict[int, int]:
    """Self time before an instant, by id, of the host slices that are open then."""
    found: dict[int, int] = {}
    slices = opened.timeline.slices
    for thread in range(len(opened.threads.first) - 1):
        rows, last = open_at(opened, thread, instant)
        if not len(rows):
            continue
        starts = np.append(slices.ts[rows], instant).tolist()
        edges = [*rows.tolist(), last]
        for k, row in enumerate(edges[:-1]):
            between = int(slices.self_ns[row + 1 : edges[k + 1]].sum())
            found[row] = starts[k + 1] - starts[k] - between
    return found


def open_at(opened: Opened, thread: int, instant: int) -> tuple[I64, int]:
    """Slices of a thread that are open at an instant, and the first that starts then or later.

    Open is what started before the instant and ends after it.
    """
    slices = opened.timeline.slices
    first, end = opened.threads.span(thread)
    last = first + int(np.searchsorted(slices.ts[first:end], instant))
    found = [
        low + np.flatnonzero(slices.ts[low:high] + slices.dur[low:high] > instant)
        for low, high in ((at, min(at + _CHUNK, last)) for at in range(first, last, _CHUNK))
    ]
    return np.concatenate(found) if found else np.empty(0, np.int64), last
