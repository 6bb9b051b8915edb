"""How far off is the what-if? One table: recordings replayed unchanged, and made runs.

    python -m benchmarks.what_if [DRAWS] [TRACES]

TRACES holds sets of recordings as the tests name them.
Of each the table says how far the replay is off without a change (and with what was left of the
durations put back), how many gains are shown where nothing was planted, and how far the gain is
from the truth where something was.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.lateness.what_if import Edit, what_if
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.trace.read import read

from .fault_score import JITTERS
from .made_runs import FAULTS, MadeRun, made_run, random_plan

SETS = (
    "dlrm_8rank_v100", "fresh_torch2.13/fsdp2_gpt", "fresh_torch2.13/ddp2_full",
    "fresh_torch2.13/coll4", "fresh_torch2.13/ddp4_straggler_rank2", "hta/trace_filter",
)  # fmt: skip
DRAWS = 60
SEED = 31


@dataclass
class Row:
    """One line of the table; shares of a step, NaN not known."""

    name: str
    ranks: str
    error: tuple[float, float] = (float("nan"), float("nan"))  # median, most
    with_tails: float = float("nan")
    shown: str = ""  # gains shown where nothing was planted
    off: list[float] = field(default_factory=list)  # points of the step, of planted faults
    refused: str = ""


def digests_of(folder: Path) -> list[RankDigest]:
    """The recordings of a set."""
    return [digest_of(read(file)) for file in sorted(folder.glob("*.json.gz"))]


def gains_shown(run: Comparison) -> int:
    """How many ranks the what-if would have us believe to gain something."""
    return sum(what_if(run, Edit("ranks", (m,))).gain_ns >= 0 for m in range(len(run.digests)))


def recorded(name: str, digests: Sequence[RankDigest]) -> Row:
    """A set of recordings, replayed unchanged."""
    run = compare(digests, [str(number) for number in range(len(digests))])
    row = Row(name, str(len(digests)), refused=run.replay.refused)
    error = run.replay.error
    if error is not None:
        row.error, row.with_tails = (error.median, error.most), error.with_tails
    row.shown = "" if run.replay.refused else f"{gains_shown(run)} of {len(digests)}"
    return row


def made(bases: Sequence[RankDigest], count: int) -> list[Row]:
    """Made runs, by jitter: gains of planted faults, and those shown without any."""
    rng = np.random.default_rng(SEED)
    rows = [Row(f"made runs, jitter {jitter:.0%}", "4 to 64") for jitter in JITTERS]
    errors: list[list[float]] = [[] for _ in rows]
    free, false, brought = [0] * len(rows), [0] * len(rows), [0] * len(rows)
    for number in range(count):
        at = number // len(FAULTS) % len(JITTERS)
        plan = random_plan(rng, FAULTS[number % len(FAULTS)], JITTERS[at])
        run = made_run(bases[int(rng.integers(len(bases)))], plan)
        said = compare(run.digests, [str(r) for r in range(plan.ranks)])
        if said.replay.error is not None:
            errors[at].append(said.replay.error.median)
        if run.rank >= 0 or run.node:
            rows[at].off.extend(_gain_off(run, said))
        elif plan.fault == "none":
            free[at] += plan.ranks
            false[at] += gains_shown(said)
        elif plan.fault == "brought_in":
            brought[at] += gains_shown(said)
    for at, row in enumerate(rows):
        row.error = (float(np.median(errors[at])), max(errors[at]))
        row.shown = f"{false[at]} of {free[at]}; {brought[at]} where lateness was brought in"
    return rows


def _gain_off(run: MadeRun, said: Comparison) -> list[float]:
    """|gain − effect| of the ranks at fault, in points of the step, where a gain is shown."""
    late = run.node or (run.rank,)
    members = tuple(m for m, one in enumerate(said.digests) if one.rank in late)
    gain = what_if(said, Edit("ranks", members)).gain_ns
    return [abs(gain - run.effect_ns) / (run.effect_ns / run.effect) * 100] if gain >= 0 else []


def table(rows: Sequence[Row]) -> str:
    """The rows as a table of Markdown."""
    titles = (
        "recordings", "ranks", "error unchanged, median / most", "with tails",
        "gains shown without a fault", "gain off, points of the step: median / 95 % / most",
    )  # fmt: skip
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for row in rows:
        off = "–"
        if row.off:
            off = " / ".join(f"{value:.2f}" for value in np.quantile(row.off, [0.5, 0.95, 1]))
            off = f"{off} ({len(row.off)})"
        cells = (
            row.name,
            row.ranks,
            f"{_percent(row.error[0])} / {_percent(row.error[1])}",
            _percent(row.with_tails),
            f"refused: {row.refused}" if row.refused else row.shown,
            off,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{share * 100:.2f} %"


def main(arguments: Sequence[str]) -> None:
    """Prints the table."""
    count = int(arguments[0]) if arguments else DRAWS
    traces = Path(arguments[1] if len(arguments) > 1 else "../shared/traces")
    sets = {name: digests_of(traces / name) for name in SETS if (traces / name).is_dir()}
    rows = [recorded(name, digests) for name, digests in sets.items()]
    if SETS[0] in sets:
        rows += made(sets[SETS[0]], count)
    print(table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
