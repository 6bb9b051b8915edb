"""How often is a verdict on step times wrong, and how often does it see 5 %?

    python benchmarks/diff_noise.py [--draws 400]

Prints the table of docs/diff.md: pairs of drawn recordings without a change, with 0.2 % and with
5 %; and of the 5 % that are not found, how many are after recording what the verdict asks for.
Steps have noise of which a part lasts to the next, and one in twenty is far off.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter

import numpy as np

from kinetoscope.analysis.diff.noise import TimeVerdict, judge_times

KINDS = (
    (6, 0.01, 0.3), (8, 0.01, 0.3), (12, 0.01, 0.3), (20, 0.01, 0.3),
    (20, 0.02, 0.3), (30, 0.02, 0.3), (50, 0.02, 0.3), (50, 0.02, 0.6), (80, 0.02, 0.6),
    (20, 0.03, 0.3), (60, 0.03, 0.3), (80, 0.03, 0.3),
)  # fmt: skip
PLANTS = (1.0, 1.002, 1.05)
MOST_STEPS = 3000  # a recording that is drawn again has no more


def steps(generator: np.random.Generator, count: int, sigma: float, phi: float) -> list[int]:
    """Step times about 100 ms, in ns."""
    noise = np.empty(count)
    last = generator.normal()
    for at in range(count):
        last = noise[at] = phi * last + math.sqrt(1 - phi**2) * generator.normal()
    times = 1e8 * np.exp(sigma * noise)
    times *= np.where(generator.random(count) < 0.05, 1 + generator.exponential(0.2, count), 1)
    return [int(one) for one in times]


def settled(
    generator: np.random.Generator, kind: tuple[int, float, float], said: TimeVerdict, plant: float
) -> bool:
    """Whether recording what the verdict asks for shows the change."""
    count, sigma, phi = kind
    sides: list[list[list[int]]] = []
    length = min(count + said.more_steps, MOST_STEPS)
    for factor in (1.0, plant):
        drawn = (steps(generator, length, sigma, phi) for _ in range(1 + said.more_repeats))
        sides.append([[round(one * factor) for one in recording] for recording in drawn])
    return judge_times(sides[0], sides[1]).outcome == "worse"


def main() -> None:
    """Print a line for each kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    draws = parser.parse_args().draws
    for count, sigma, phi in KINDS:
        generator = np.random.default_rng(count)
        later = np.random.default_rng(count)
        shares = []
        found: Counter[str] = Counter()
        for plant in PLANTS:
            found.clear()
            for _ in range(draws):
                base = steps(generator, count, sigma, phi)
                other = [round(one * plant) for one in steps(generator, count, sigma, phi)]
                said = judge_times([base], [other])
                found[said.outcome] += 1
                if plant == PLANTS[-1] and said.outcome == "cannot tell":
                    found["later"] += settled(later, (count, sigma, phi), said, plant)
            shares.append(found["worse"] / draws)
        missed = f"{found['cannot tell']} of {draws - found['worse']}: {found['later']}"
        cells = [
            f"{count}",
            f"{sigma:.0%}",
            f"{phi}",
            *(f"{share:.1%}" for share in shares),
            missed,
        ]
        print(f"| {' | '.join(cells)} |".replace("%", " %"), flush=True)


if __name__ == "__main__":
    main()
