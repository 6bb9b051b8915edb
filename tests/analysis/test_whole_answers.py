"""Facts of drawn recordings, and what any choice of steps makes of them.

python -m tests.analysis.test_whole_answers
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.steps import (
    Selection,
    outliers,
    scope_of,
    select,
    step_parameter,
    step_windows,
)
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import QueryError
from kinetoscope.trace.model import Trace
from tests.drawn_loop import GPU, Loop, scatter
from tests.golden import holds, write
from tests.trace.drawn import drawn

TABLE = Path(__file__).with_name("whole_answers.txt")
SEEDS = range(24)
OF_A_CHOICE = tuple(
    name
    for name, one in vars(Selection).items()
    if not name.startswith("_")
    and name not in ("facts", "steps", "device_facts", "indexes", "device", "limits", "use")
    and not callable(one)
)


def answers(trace: Trace) -> Mapping[str, Any]:
    """All facts, and all that is asked of some steps."""
    facts = summarize(trace)
    found: dict[str, Any] = {
        **{name: getattr(facts, name) for name in Facts.__struct_fields__ if name != "path"},
        "windows": step_windows(trace),
        "outliers": outliers(facts),
        "parameters": [step_parameter(facts, step.index) for step in facts.steps],
    }
    numbers = [step.number for step in facts.steps] or [0]
    first, last = numbers[0], numbers[-1]
    for text in ("", "all", "everything", f"{last}", f"{first}-{last}", f" {first} , i0", "i1-0",
                 f"{last + 1}", "i1-2", "x"):  # fmt: skip
        try:
            scope = scope_of(facts, text)
            chosen = select(facts, text)
        except QueryError as error:
            found[f"steps {text}"] = (error.message, error.hint)
            continue
        found[f"scope {text}"] = (
            scope.steps, scope.tells_outside, scope.count(facts), scope.divisor(facts),
            scope.wall_ns(facts),
        )  # fmt: skip
        found[f"choice {text}"] = {name: getattr(chosen, name) for name in OF_A_CHOICE}
        found[f"gauges {text}"] = [
            chosen.gauges(row) for row, one in enumerate(facts.devices) if one.used
        ]
    return found


def of_loop(seed: int) -> Mapping[str, Any]:
    return answers(Loop(seed).trace)


def of_few_events(first: int) -> Mapping[str, Any]:
    """A line for each of ten recordings of a few events."""
    return {
        f"{seed}": answers(drawn(scatter(seed), deviceProperties=[{**GPU, "id": 0}]))
        for seed in range(first, first + 10)
    }


CASES = {
    **{f"recording {seed}": partial(of_loop, seed) for seed in SEEDS},
    **{f"few events {first}": partial(of_few_events, first) for first in range(500, 600, 10)},
}


@pytest.mark.parametrize("case", [*CASES][len(SEEDS) :])
def test_no_fact_of_few_events_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


@pytest.mark.parametrize("case", [*CASES][: len(SEEDS)])
def test_no_fact_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


if __name__ == "__main__":
    write(CASES)
