"""How often is a verdict on step times wrong, and how often does it find a change?

    python -m benchmarks.verdict_rates [--draws 200]

Prints the tables of docs/diff.md. Pairs of recordings are drawn: step times that are normal, have
heavy tails (Student's t, 3 degrees of freedom), outliers (one step in twenty) or correlated
neighbours (0.5), with a deviation of 1, 3, 10 and 20 %. Each recording is slower or faster by a day
effect of its own. A verdict is false if *better* or *worse* is said of equal code.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from kinetoscope.analysis.diff.noise import judge_times

Kind = Literal["normal", "heavy tails", "outliers", "correlated"]
KINDS: tuple[Kind, ...] = ("normal", "heavy tails", "outliers", "correlated")
QUIET, LOUD = (0.01, 0.03), (0.1, 0.2)
DAYS = (0.0, 0.03, 0.06)
STEPS = ((5, 6, 7), (8, 10, 12), (20,), (50,))
CHANGES = {1: 1.2, 3: 1.1}  # recordings a side → the change that is to be found
CLAIMS = ("better", "worse")


def steps(generator: np.random.Generator, kind: Kind, count: int, sigma: float) -> list[int]:
    """Step times about 100 ms, in ns."""
    noise = generator.normal(size=count)
    if kind == "heavy tails":
        noise = generator.standard_t(3, count) / math.sqrt(3)
    if kind == "correlated":
        for at in range(1, count):
            noise[at] = 0.5 * noise[at - 1] + math.sqrt(0.75) * noise[at]
    times = 1e8 * np.exp(sigma * noise)
    if kind == "outliers":
        times *= np.where(generator.random(count) < 0.05, 1 + generator.exponential(0.3, count), 1)
    return [int(one) for one in times]


def said(
    generator: np.random.Generator,
    count: int,
    recordings: int,
    sigma: float,
    day: float,
    plant: float,
    draws: int,
) -> list[str]:
    """The outcomes of some pairs, of all kinds of noise in turns."""

    def side(kind: Kind, factor: float) -> list[list[int]]:
        levels = factor * np.exp(day * generator.normal(size=recordings))
        drawn = (steps(generator, kind, count, sigma) for _ in range(recordings))
        return [
            [round(one * level) for one in times]
            for level, times in zip(levels, drawn, strict=True)
        ]

    kinds = [KINDS[at % len(KINDS)] for at in range(draws)]
    return [judge_times(side(kind, 1), side(kind, plant)).outcome for kind in kinds]


def rate(
    counts: Sequence[int],
    recordings: int,
    sigmas: Sequence[float],
    day: float,
    plant: float,
    outcomes: Sequence[str],
    draws: int,
) -> float:
    """The share of pairs with one of these outcomes, over numbers of steps and deviations."""
    generator = np.random.default_rng(len(counts) * recordings + round(100 * day))
    found = [
        one
        for count in counts
        for sigma in sigmas
        for one in said(generator, count, recordings, sigma, day, plant, draws)
    ]
    return sum(one in outcomes for one in found) / len(found)


def main() -> None:
    """Print a table for one recording a side, and one for three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200, help="pairs of a cell")
    draws = parser.parse_args().draws
    for recordings, plant in CHANGES.items():
        for counts in STEPS:
            cells = [f"{counts[0]}–{counts[-1]}" if len(counts) > 1 else f"{counts[0]}"]
            for day in DAYS:
                every = (*QUIET, *LOUD)
                false = rate(counts, recordings, every, day, 1.0, CLAIMS, draws)
                found = [
                    rate(counts, recordings, sigmas, day, plant, ("worse",), draws)
                    for sigmas in (QUIET, LOUD)
                ]
                cells.append(" / ".join(f"{100 * one:.1f}" for one in (false, *found)))
            print(f"| {recordings} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
