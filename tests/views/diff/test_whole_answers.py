"""Drawn pairs of recordings, each different in one respect: verdicts, tables, pieces, budgets.

python -m tests.views.diff.test_whole_answers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from kinetoscope.analysis.diff.bridge import apportioned, divisions, median_step
from kinetoscope.analysis.diff.budget import Budget, Checked, check_budget, culprits, known_keys
from kinetoscope.analysis.diff.changes import changes
from kinetoscope.analysis.diff.flame import pair_flame
from kinetoscope.analysis.diff.noise import (
    correlation,
    holm,
    judge_times,
    noise_of,
    p_values,
    rank_test,
    t_quantile,
    two_sided,
    welch,
)
from kinetoscope.analysis.diff.pieces import MainThread, phases, pieces_at
from kinetoscope.analysis.diff.sides import kernel_items, operator_items
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.session.session import TraceSession
from kinetoscope.views.diff import contract as asked
from kinetoscope.views.diff.rows import Pair, Recorded
from kinetoscope.views.operators.view import VIEW
from kinetoscope.views.origins import lending
from kinetoscope.views.view import TracePlace
from tests.drawn_loop import Loop, Twist
from tests.golden import holds, write

TABLE = Path(__file__).with_name("whole_answers.txt")
DAY, NIGHT = 1, 2  # seeds of noise
QUERIES: Sequence[dict[str, Any]] = (
    {},
    {"metric": "total_ns", "sort_by": "name", "ascending": True},
    {"group": "operators", "metric": "device_total_ns", "by_shape": True},
    {"group": "kernels"},
    {"group": "kernels", "kernels_by": "family", "sort_by": "other_ns"},
    {"group": "kernels", "kernels_by": "launch", "limit": 3, "offset": 1},
    {"group": "kernels", "kernels_by": "role"},
    {"group": "modules"},
    {"group": "memory", "metric": "bytes"},
    {"group": "memory", "metric": "peak_bytes"},
    {"search": "linear"},
)
FIRST_OP = "aten::linear"


def of(noise: int = DAY, steps: int = 12, sigma: float = 0.01, **more: Any) -> Twist:
    return Twist(noise=noise, steps=steps, sigma=sigma, **more)


PAIRS: Mapping[str, tuple[int, Twist, int, Twist]] = {
    # name: seed and twist of the base, seed and twist of the other
    "the same file": (1, of(), 1, of()),
    "another day": (1, of(), 1, of(NIGHT)),
    "a slower host": (1, of(), 1, of(NIGHT, host=1.3)),
    "a longer wait for data": (1, of(), 1, of(NIGHT, loader=30)),
    "less wait for data": (1, of(loader=30), 1, of(NIGHT)),
    "a slower op": (22, of(), 22, of(NIGHT, slower={"aten::linear": 3, "aten::relu": 3,
                                                   "aten::conv2d": 3, "aten::layer_norm": 3})),
    "a faster op": (22, of(slower={"aten::linear": 3, "aten::relu": 3}), 22, of(NIGHT)),
    "another name": (4, of(), 4, of(NIGHT, renamed={
        "aten::linear": "mine::linear", "aten::relu": "mine::relu",
        "ampere_sgemm_128x64_tn": "cutlass_gemm", "loss_fn": "my_loss"})),
    "an op twice": (4, of(), 4, of(NIGHT, twice="aten::relu")),
    "a faster clock": (22, of(), 22, of(NIGHT, clock=0.8)),
    "a slower clock": (4, of(), 4, of(NIGHT, clock=1.25)),
    "few steps": (4, of(steps=4), 4, of(NIGHT, steps=4, clock=2)),
    "six steps": (4, of(steps=6), 4, of(NIGHT, steps=6, host=2)),
    "another device": (22, of(), 22, of(NIGHT, device={"name": "NVIDIA H100 80GB HBM3"})),
    "half of the memory": (22, of(), 22, of(NIGHT, device={"totalGlobalMem": 20 << 30})),
    "host and device": (7, of(), 4, of(NIGHT)),
    "another loop": (1, of(), 22, of(NIGHT)),
    "a loop on the host": (7, of(), 7, of(NIGHT, slower={"aten::relu": 4, "aten::linear": 4})),
    "a slower machine": (7, of(), 7, of(NIGHT, host=1.4, clock=1.4)),
    "much noise": (22, of(sigma=0.1), 22, of(NIGHT, sigma=0.1, clock=1.3)),
    "unequal steps": (1, Twist(), 1, Twist(noise=3)),
    "unequal loops": (6, Twist(), 18, Twist()),
    "without steps": (2, Twist(), 2, Twist(noise=3)),
    "without and with steps": (2, Twist(), 22, Twist()),
    "other options": (22, of(), 22, of(NIGHT, metadata={"with_stack": 1, "record_shapes": 1})),
}  # fmt: skip


@cache
def recorded(seed: int, twist: Twist, steps: str = "") -> Recorded:
    """One recording as the view takes it."""
    subject = TraceSession(Loop(seed, twist).trace).subject(VIEW)
    return Recorded(subject.facts, lending(subject), TracePlace("run", f"{seed}", ""), steps)


def tried(ask: Any) -> Any:
    try:
        return ask()
    except KinetoscopeError as error:
        return {"refused": error.message}


def answers(
    base: Recorded, other: Recorded, *, budget: float = 0.02, equal_clocks: bool = False
) -> Mapping[str, Any]:
    """All that is said of a pair."""
    pair = Pair(base, other, budget, equal_clocks)
    sides = (base.side, other.side)
    found: dict[str, Any] = {"comparison": tried(lambda: pair.comparison)}
    for seen in ("", "host"):
        found[f"answer {seen}"] = tried(
            lambda seen=seen: pair.answer(asked.DiffQuery(base_run="run", seen=seen))
        )
    for query in QUERIES:
        found[f"table {query}"] = tried(
            lambda query=query: pair.table(asked.DiffTableQuery(base_run="run", **query))
        )
    threads = MainThread(sides[0]), MainThread(sides[1])
    paths: list[list[int]] = [[]]
    for path in paths:
        some, trail = tried(lambda path=path: pieces_at(*threads, path)) or ((), ())
        found[f"pieces {path}"] = [
            (one.name, one.other_name, one.kind, one.has_inside,
             [(side.host_ns, side.device_ns, side.total_ns, sorted(side.segments),
               len(thread.rows_in(side.segments)))
              for side, thread in zip((one.base, one.other), threads, strict=True)])
            for one in some
        ] + [len(trail)]  # fmt: skip
        inner = [at for at, one in enumerate(some) if one.has_inside]
        paths += [[*path, at] for at in inner[:3]] if len(path) < 3 else []
    found["phases"] = [phases(one, one.top) for one in threads]
    for metric in ("host", "device", "calls"):
        found[f"flame {metric}"] = pair_flame(*sides, metric, 0.01)
    rows = [
        changes([items(sides[0])], [items(sides[1])], metric, sides[0].mean_ns)
        for items, metric in ((operator_items, "self_ns"), (kernel_items, "device_self_ns"))
    ]
    checked = Checked(*sides, pair.comparison, *rows)
    found["culprits"] = culprits(checked)
    for most in (0.0, 0.05, 0.3):
        limits = Budget(
            step=most,
            parts=dict.fromkeys(known_keys("parts"), most),
            counts=dict.fromkeys(known_keys("counts"), most),
            operators=dict.fromkeys(("aten::linear", "aten::relu", "aten::copy_", "none"), most),
            peak_memory=most,
        )
        found[f"budget {most}"] = tried(lambda limits=limits: check_budget(checked, limits))
    return found


def _pair(name: str, **options: Any) -> Mapping[str, Any]:
    seed, base, other_seed, other = PAIRS[name]
    return answers(recorded(seed, base), recorded(other_seed, other), **options)


def _repeated(factor: float, count: tuple[int, int]) -> Mapping[str, Any]:
    """Several recordings a side."""
    sides = []
    for side, (number, clock) in enumerate(zip(count, (1.0, factor), strict=True)):
        some = [
            recorded(4, of(10 * side + at, steps=6, clock=clock * (1 + 0.01 * at)))
            for at in range(number)
        ]
        one = some[0]
        sides.append(Recorded(one.facts, one.artifact, one.place, "", tuple(some[1:])))
    return answers(*sides)


# --- step times alone -----------------------------------------------------------------------------


def _lengths(random: Random, count: int, level: float, spread: float, carry: float) -> list[int]:
    found, mood = [], 0.0
    for _ in range(count):
        mood = carry * mood + random.choice((-2, -1, -1, 0, 0, 0, 1, 1, 3))
        found.append(round(level * (1 + spread * mood)))
    return found


def times(seed: int) -> Mapping[str, Any]:
    """Verdicts on drawn step times, with one recording a side and with more."""
    random = Random(seed)
    found: dict[str, Any] = {}
    for at, (count, recordings) in enumerate(product((1, 4, 5, 6, 8, 13, 40), (1, 2, 3, 4))):
        sides = []
        change = random.choice((1, 1.015, 1.03, 1.09, 1.12, 1.4, 0.7))
        spread = random.choice((0.0, 0.002, 0.01, 0.05, 0.2))
        for side in range(2):
            level = (1e6, 1e8)[at % 2] * (change if side else 1)
            more = recordings if not side or seed % 2 else max(1, recordings - 1)
            sides.append(
                [
                    _lengths(random, count + (side and at % 3), level * (1 + 0.01 * day), spread,
                             random.choice((0, 0.5, 0.9)))
                    for day in range(more)
                ]
            )  # fmt: skip
        for budget in (0.02, 0.15):
            found[f"{count} steps, {recordings} recordings, {budget}"] = judge_times(
                sides[0], sides[1], budget
            )
        found[f"noise {at}"] = [[noise_of(one) for one in side] for side in sides]
    values = [np.array(_lengths(random, n, 1e6, 0.03, 0.4), np.float64) for n in (2, 3, 6, 9, 17)]
    pairs = [*product(values, values)]
    found["correlation"] = [correlation(one) for one in values]
    found["ranks"] = [tried(lambda a=a, b=b: rank_test(a, b)) for a, b in pairs]
    levels = [np.array(_lengths(random, 4 * n, 1e6, 0.02, 0.0), np.float64).reshape(4, n)
              for n in (3, 5, 8, 8)]  # fmt: skip
    many = np.arange(995.0) % 11
    found["many ranks"] = [rank_test(values[2], many[:994]), rank_test(values[2], many)]
    found["welch"] = [welch(a, b) for a, b in product(levels, levels)]
    found["p"] = [
        p_values([a, a * 1.01, b], [b, a * 1.02]) for a, b in product(levels[2:], levels[2:])
    ]
    chances = np.array([random.choice((0.001, 0.004, 0.01, 0.0125, 0.02, 0.05)) for _ in range(9)])
    found["holm"] = [holm(chances, rate) for rate in (0.01, 0.05, 0.1)]
    found["two sided"] = [two_sided(t, n) for t in (0.0, 0.5, 2.0, 9.0) for n in (1, 2.5, 9, 200)]
    found["quantiles"] = [t_quantile(n) for n in (1, 1.5, 2, 4, 30, 1000)]
    found["apportioned"] = [apportioned([values[3] / n, values[3] / 7]) for n in (3, 7, 11)]
    found["median step"] = [median_step(one.astype(np.int64)) for one in levels]
    return found


CASES = {
    **{name: partial(_pair, name) for name in PAIRS},
    **{f"{name}, equal clocks": partial(_pair, name, equal_clocks=True, budget=0.1)
       for name in ("a faster clock", "a slower clock", "a slower machine")},
    **{f"repeats {count}": partial(_repeated, factor, count)
       for factor, count in ((1.4, (3, 3)), (1.03, (3, 4)), (0.6, (3, 1)), (1.2, (2, 2)))},
    **{f"times {seed}": partial(times, seed) for seed in range(6)},
}  # fmt: skip
NAMES = [*CASES]


@pytest.mark.parametrize("case", NAMES[-6:])
def test_no_verdict_on_times_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", NAMES[:11])
def test_no_figure_of_a_pair_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", NAMES[11:25])
def test_no_figure_of_another_pair_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", NAMES[25:-6])
def test_no_figure_of_repeats_and_clocks_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


def test_each_division_is_of_both_sides() -> None:
    device, host = (recorded(seed, of()).side.selection for seed in (1, 7))
    assert divisions(device, device) == ("device", "classic")
    assert divisions(host, host) == ("host", "classic")
    assert divisions(device, host) == divisions(host, device) == ("classic",)


if __name__ == "__main__":
    write(CASES)
