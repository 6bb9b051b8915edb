"""Is the right rank named, with the right cause? Made runs with one planted fault each.

    python -m benchmarks.fault_score [DRAWS] [FOLDER]

FOLDER holds the recordings of one run of several ranks on devices; each draw clones one of them.
Prints how many faults that move the step by at least 2 % were named with rank and cause, how many
runs without one had a name, and how far gains are from the true effect.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.trace.read import read

from .made_runs import FAULTS, MadeRun, Plan, made_run, random_plan

DRAWS = 320
JITTERS = (0.02, 0.10)


@dataclass(frozen=True)
class Draw:
    """One made run and what was said of it."""

    plan: Plan
    run: MadeRun
    named: int  # rank, −1
    node: tuple[int, ...]  # ranks of the node that is named
    cause: str
    links: tuple[tuple[int, ...], ...]  # ranks of groups said to be slow
    gain_ns: int
    refused: str
    clock_inside: float  # share of clocks whose error is within the printed uncertainty

    @property
    def guilty(self) -> bool:
        return self.run.rank >= 0 or bool(self.run.group or self.run.node)

    @property
    def right_rank(self) -> bool:
        if self.run.group:
            return self.named < 0 and not self.node and self.run.group in self.links
        return self.named == self.run.rank and self.node == self.run.node

    @property
    def right(self) -> bool:
        return self.right_rank and (bool(self.run.group) or self.cause == self.run.cause)

    @property
    def alarm(self) -> bool:
        return not self.guilty and (self.named >= 0 or bool(self.links or self.node))


def judged(plan: Plan, run: MadeRun, said: Comparison) -> Draw:
    """What was said of a run."""
    member = said.verdict.member
    clocks = said.clocks
    true = run.clock_error_ns - run.clock_error_ns[0]
    inside = (
        np.abs(clocks.offset_ns - true) <= clocks.uncertainty_ns
        if clocks.comparable
        else np.ones(len(true), np.bool_)  # nothing was printed
    )
    return Draw(
        plan=plan,
        run=run,
        named=said.rank(member) if member >= 0 else -1,
        node=tuple(said.rank(m) for m in said.nodes[said.verdict.node].members)
        if said.verdict.node >= 0
        else (),
        cause=said.verdict.cause.name if said.verdict.cause else "",
        links=tuple(one.ranks for one in said.bandwidth.slow_links),
        gain_ns=said.verdict.gain_ns,
        refused=said.replay.refused,
        clock_inside=float(inside.mean()),
    )


def draws(bases: Sequence[RankDigest], count: int, seed: int = 20) -> list[Draw]:
    """So many draws, faults and jitters in turn."""
    rng = np.random.default_rng(seed)
    result = []
    for number in range(count):
        fault = FAULTS[number % len(FAULTS)]
        plan = random_plan(rng, fault, JITTERS[number // len(FAULTS) % 2])
        base = bases[int(rng.integers(len(bases)))]
        run = made_run(base, plan)
        said = compare(run.digests, [str(r) for r in range(plan.ranks)])
        result.append(judged(plan, run, said))
    return result


def report(found: Sequence[Draw]) -> str:
    """The score as text."""
    guilty = [one for one in found if one.guilty]
    lines = [f"{len(found)} runs, {len(guilty)} with a fault that moves the step by 2 % or more"]
    if guilty:
        ranks = sum(one.right_rank for one in guilty)
        both = sum(one.right for one in guilty)
        lines.append(f"right rank {ranks}, right rank and cause {both} of {len(guilty)}"
                     f" ({both / len(guilty):.1%})")  # fmt: skip
    for jitter in JITTERS:
        free = [one for one in found if not one.guilty and one.plan.jitter == jitter]
        alarms = sum(one.alarm for one in free)
        lines.append(f"jitter {jitter:.0%}: {alarms} false alarms in {len(free)} runs without one")
    by_fault = defaultdict(list)
    for one in guilty:
        by_fault[one.plan.fault].append(one)
    for fault, here in by_fault.items():
        said = Counter((one.cause or "nobody") if not one.right else "right" for one in here)
        lines.append(f"  {fault}: {dict(said)}")
    gains = [abs(one.gain_ns - one.run.effect_ns) / (one.run.effect_ns / one.run.effect) * 100
             for one in guilty if one.right_rank and one.gain_ns >= 0]  # fmt: skip
    if gains:
        lines.append(f"gain off by {np.median(gains):.2f} points of the step in the median, "
                     f"{np.quantile(gains, 0.95):.2f} at 95 %")  # fmt: skip
    lines.append(f"clocks inside the printed uncertainty: "
                 f"{np.mean([one.clock_inside for one in found]):.1%}")  # fmt: skip
    refused = Counter(one.refused for one in found if one.refused)
    lines.extend(f"refused {count}: {why}" for why, count in refused.items())
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Prints the score."""
    count = int(arguments[0]) if arguments else DRAWS
    folder = Path(arguments[1] if len(arguments) > 1 else "../shared/traces/dlrm_8rank_v100")
    bases = [digest_of(read(file)) for file in sorted(folder.glob("*.json.gz"))]
    print(report(draws(bases, count)))


if __name__ == "__main__":
    main(sys.argv[1:])
