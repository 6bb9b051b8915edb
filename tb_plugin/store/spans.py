"""Numbers for the spans of a run: equal numbers on two workers mean the same cycle.

Every worker counts its spans 1, 2, … in time order. Where a worker missed a cycle, plain counting
would pair cycles that have nothing to do with each other; then time decides:

    worker 0   █      █      █          1  2  3
    worker 1   █             █          1     3
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from .names import TraceName


def number(run: Mapping[str, Sequence[TraceName]]) -> dict[str, list[str]]:
    """Keys of the spans of each worker, in the order in which the names were given.

    Stamped files get "1", "2", …; the one without a stamp is "default", further ones "default-2", …
    """
    stamped = {
        worker: sorted((n.order, i) for i, n in enumerate(names) if n.stamp is not None)
        for worker, names in run.items()
    }
    numbers = _by_time(stamped) or {w: list(range(1, len(s) + 1)) for w, s in stamped.items()}
    keys: dict[str, list[str]] = {}
    for worker, names in run.items():
        mine = ["" for _ in names]
        for (_, index), cycle in zip(stamped[worker], numbers[worker], strict=False):
            mine[index] = str(cycle)
        bare = [i for i, name in enumerate(names) if name.stamp is None]
        for count, index in enumerate(bare, start=1):
            mine[index] = "default" if count == 1 else f"default-{count}"
        keys[worker] = mine
    return keys


def _by_time(
    stamped: Mapping[str, Sequence[tuple[tuple[int, int], int]]],
) -> dict[str, list[int]] | None:
    """Cycle numbers from gaps in time; None where counting is right already or time cannot tell.

    Two cycles are apart by at least half the smallest distance between two spans of one worker, and
    spans of one cycle by less than a quarter of it.
    """
    if len({len(spans) for spans in stamped.values() if spans}) <= 1:
        return None
    times = {worker: [order[1] for order, _ in spans] for worker, spans in stamped.items()}
    if any(order[0] != 2 for spans in stamped.values() for order, _ in spans):
        return None  # no wall clock
    period = min((b - a for mine in times.values() for a, b in itertools.pairwise(mine)), default=0)
    cycle_of: dict[int, int] = {}
    cycle, previous = 0, None
    for time in sorted({t for mine in times.values() for t in mine}):
        if previous is None or time - previous >= period / 2:
            cycle += 1
        elif time - previous >= period / 4:
            return None
        cycle_of[time] = cycle
        previous = time
    numbers = {worker: [cycle_of[t] for t in mine] for worker, mine in times.items()}
    if any(len(set(mine)) != len(mine) for mine in numbers.values()):
        return None  # two spans of one worker in one cycle
    return numbers
