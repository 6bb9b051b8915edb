"""The Overview of drawn recordings: every figure, table and sentence of it.

python -m tests.views.overview.test_whole_answers
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinetoscope.analysis.overview.utilization import measures
from kinetoscope.analysis.overview.whole import whole_of
from kinetoscope.analysis.steps import select
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.session.session import TraceSession
from kinetoscope.views.overview.document import as_markdown, fitted
from kinetoscope.views.overview.idle import path_by_kind
from kinetoscope.views.overview.view import VIEW, OverviewQuery, advice_on, badge, build
from tests.drawn_loop import Loop
from tests.golden import holds, write

TABLE = Path(__file__).with_name("whole_answers.txt")
SEEDS = range(24, 42)
PARTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("idle", {}),
    ("idle", {"steps": "all", "min_ratio": 0}),
    ("path", {"inferred": True}),
    ("path", {"inferred": False, "steps": "all"}),
)


def answers(seed: int) -> Mapping[str, Any]:
    """The view, its parts, and what is advised, for usual and for all steps."""
    trace = Loop(seed).trace
    subject = TraceSession(trace).subject(VIEW)
    found: dict[str, Any] = {"badge": badge(subject), "whole": whole_of(trace)}
    for steps in ("", "all", f"i{len(subject.facts.steps) - 1}"):
        try:
            answer = build(subject, OverviewQuery(steps))
        except KinetoscopeError as error:
            found[f"refused {steps}"] = error.message
            continue
        chosen = select(subject.facts, steps)
        found[f"view {steps}"] = answer
        found[f"tables {steps}"] = VIEW.tables(answer)
        found[f"path by kind {steps}"] = path_by_kind(subject, steps)
        if chosen.device is not None:
            found[f"measures {steps}"] = measures(chosen, chosen.device)
        document = advice_on(subject, steps, "", {})
        found[f"advice {steps}"] = document
        found[f"short advice {steps}"] = [fitted(document, size) for size in (900, 2000, 4000)]
        found[f"markdown {steps}"] = as_markdown(document)
    for stem, query in PARTS:
        part = next(one for one in VIEW.parts if one.stem == stem)
        try:
            found[f"{stem} {query}"] = part.build(subject, msgspec.convert(query, part.query))
        except KinetoscopeError as error:
            found[f"{stem} {query}"] = error.message
    return found


CASES = {f"recording {seed}": partial(answers, seed) for seed in SEEDS}


@pytest.mark.parametrize("case", CASES)
def test_no_figure_of_the_overview_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


if __name__ == "__main__":
    write(CASES)
