"""The Distributed view of drawn jobs: every figure, table and sentence of it.

python -m tests.views.distributed.test_whole_answers
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from benchmarks.drawn_jobs import traces

from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.session.session import choose
from kinetoscope.views.distributed.view import VIEW
from kinetoscope.views.view import Subject
from tests.analysis.distributed.test_whole_answers import SETS, Documents, plan_of
from tests.golden import holds, write

TABLE = Path(__file__).with_name("whole_answers.txt")
PARTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("", {}),
    ("", {"steps": "everything"}),
    ("", {"steps": "i1", "roles": "0-1=tensor parallel"}),
    ("ops", {}),
    ("ops", {"rank": 1, "steps": "i0"}),
    ("sentence", {}),
    ("clocks", {"workers": "0,1"}),
    ("joined", {"workers": "0,1", "start_ns": 0, "end_ns": 10**8}),
    ("joined", {"workers": "1,0", "offsets": "0,5000", "start_ns": 10**7, "end_ns": 3 * 10**7}),
    *(("what_if", {"kind": one}) for one in ("late", "node", "stage", "group", "input")),
    *(("what_if", {"kind": "rank", "target": one}) for one in (0, 1, 9)),
)
JOBS = ((0, 0), (1, 0), (2, 5), (3, 1), (6, 0), (7, 7), (9, 9), (10, 0), (11, 13), (15, 10))
"""Number of a job, and what is odd in its recordings."""


def answers(job: int, odd: int) -> Mapping[str, Any]:
    """The view and its parts, of the first recording of a folder."""
    found: dict[str, Any] = {}
    documents: Documents = SETS[odd](traces(plan_of(job, 0.01)))
    with TemporaryDirectory() as place:
        for number, one in enumerate(documents):
            file = Path(place, "run", f"worker{number}.pt.trace.json")
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(one))
        with patch.dict(os.environ, KINETOSCOPE_CACHE_DIR=f"{place}/cache"):
            subject = choose(f"{place}/run").session().asked(VIEW)
            assert isinstance(subject, Subject)
            for stem, query in PARTS:
                part = next((one for one in VIEW.parts if one.stem == stem), VIEW)
                key = f"{stem} {query}"
                try:
                    asked = msgspec.convert(query, part.query)
                    found[key] = part.build(subject, asked)
                except (KinetoscopeError, msgspec.ValidationError) as error:
                    found[key] = {"refused": f"{error}"}
                    continue
                if part is VIEW:
                    found[f"tables of {key}"] = VIEW.tables(found[key])
    return found


CASES = {f"job {job}, {odd}": partial(answers, job, odd) for job, odd in JOBS}


@pytest.mark.parametrize("case", CASES)
def test_no_figure_of_the_view_moves(case: str) -> None:
    holds(TABLE, case, CASES[case]())


if __name__ == "__main__":
    write(CASES)
