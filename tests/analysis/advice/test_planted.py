"""Trainings with one planted problem, recorded here: the first finding names the planted line.

A few of them; all of them are recorded by ``benchmarks/planted.py``, with the gain of a repair.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from kinetoscope.views.overview.document import AdviceDocument, advise
from tests.conftest import ROOT

pytest.importorskip("torch", reason="torch records these trainings")

RECORDED = ("none", "slow_loader", "decoding", "garbage", "lock", "leak")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, AdviceDocument]:
    """The advice on each of them; one process records all."""
    folder = tmp_path_factory.mktemp("planted")
    ended = subprocess.run(
        [sys.executable, "-m", "tests.planted.training", ",".join(RECORDED), str(folder)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    told = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    return {one["problem"]: advise(select(summarize(read(Path(one["trace"]))))) for one in told}


@pytest.mark.parametrize("problem", [one for one in RECORDED if one != "none"])
def test_the_first_finding_is_the_planted_problem(
    recordings: dict[str, AdviceDocument], problem: str
) -> None:
    from tests.planted.training import FOUND

    rule, frame = FOUND[problem]
    first = recordings[problem].findings[0]
    assert (first.id, first.severity) == (rule, "high")
    assert first.frame.endswith(f": {frame}")
    assert "tests/planted/training.py" in first.frame
    assert first.evidence


def test_the_training_without_a_problem_has_no_finding_above_low(
    recordings: dict[str, AdviceDocument],
) -> None:
    loud = [one for one in recordings["none"].findings if one.severity in ("high", "medium")]
    assert loud == []
