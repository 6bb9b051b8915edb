"""How often is a verdict on step times wrong, and how often does it see 5 %?

    python benchmarks/diff_noise.py [--draws 400]

Prints the table of docs/diff.md: pairs of drawn recordings without a change, with 0.2 % and with
5 %. Steps have noise of which a part lasts to the next, and one in twenty is far off.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter

import numpy as np

from kinetoscope.analysis.diff.noise import judge_times

KINDS = (
    (6, 0.01, 0.3), (8, 0.01, 0.3), (12, 0.01, 0.3), (20, 0.01, 0.3),
    (20, 0.02, 0.3), (30, 0.02, 0.3), (50, 0.02, 0.3), (50, 0.02, 0.6), (80, 0.02, 0.6),
    (20, 0.03, 0.3), (60, 0.03, 0.3), (80, 0.03, 0.3),
)  # fmt: skip
PLANTS = (1.0, 1.002, 1.05)


def steps(generator: np.random.Generator, count: int, sigma: float, phi: float) -> list[int]:
    """Step times about 100 ms, in ns."""
    noise = np.empty(count)
    last = generator.normal()
    for at in range(count):
        last = noise[at] = phi * last + math.sqrt(1 - phi**2) * generator.normal()
    times = 1e8 * np.exp(sigma * noise)
    times *= np.where(generator.random(count) < 0.05, 1 + generator.exponential(0.2, count), 1)
    return [int(one) for one in times]


def main() -> None:
    """Print a line for each kind of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    draws = parser.parse_args().draws
    for count, sigma, phi in KINDS:
        generator = np.random.default_rng(count)
        shares = []
        for plant in PLANTS:
            found: Counter[str] = Counter()
            for _ in range(draws):
                base = steps(generator, count, sigma, phi)
                other = [round(one * plant) for one in steps(generator, count, sigma, phi)]
                found[judge_times([base], [other]).outcome] += 1
            shares.append(found["worse"] / draws)
        cells = [f"{count}", f"{sigma:.0%}", f"{phi}", *(f"{share:.1%}" for share in shares)]
        print(f"| {' | '.join(cells)} |".replace("%", " %"), flush=True)


if __name__ == "__main__":
    main()
