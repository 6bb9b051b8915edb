"""Findings of real runs, and the four sums the view has always shown."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.distributed.findings import findings
from kinetoscope.analysis.distributed.lateness.what_if import Edit, what_if
from tests.conftest import requires_traces

from .sets import compared

pytestmark = requires_traces


def test_the_rank_that_sleeps_is_a_finding() -> None:
    said = findings(compared("fresh_torch2.13/ddp4_straggler_rank2"))
    assert [one.id for one in said.found] == ["CO5"]
    assert "Rank 2" in said.found[0].title
    assert said.found[0].gain is not None


@pytest.mark.parametrize("folder", ["dlrm_8rank_v100", "fresh_torch2.13/fsdp2_gpt"])
def test_a_run_without_a_slow_rank_has_no_finding(folder: str) -> None:
    assert findings(compared(folder)).found == ()


def test_a_rule_without_its_data_says_what_it_needs() -> None:
    unchecked = {one.id: one.needs for one in findings(compared("dlrm_8rank_v100")).unchecked}
    assert "two groups" in unchecked["CO4"]
    assert "sizes of its parts" in unchecked["EP1"]


@pytest.mark.parametrize("folder", ["dlrm_8rank_v100", "fresh_torch2.13/ddp4_straggler_rank2"])
def test_the_sums_of_a_step_are_its_length(folder: str) -> None:
    run = compared(folder)
    for m, one in enumerate(run.digests):
        spans = one.steps.end_ns - one.steps.start_ns
        assert (run.pictures.overlap_ns[m].sum(axis=1) == spans).all()
        assert (run.pictures.overlap_ns[m] >= 0).all()
        assert (run.pictures.transfer_ns[m] >= 0).all()


def test_eight_ranks_transfer_alike_and_wait_differently() -> None:
    moved, waited = compared("dlrm_8rank_v100").pictures.transfer_ns[:, 0].T
    assert np.ptp(moved) == 0
    assert waited.min() < 2_000_000 < waited.max()


def test_what_no_rank_would_gain_is_not_claimed() -> None:
    run = compared("dlrm_8rank_v100")
    for m in range(8):
        answer = what_if(run, Edit("ranks", (m,)))
        assert answer.refused == ""
        assert answer.gain_ns == -1
        assert "off by <\u00a00.1\u00a0%" in answer.sentence


def test_a_refused_replay_answers_no_question() -> None:
    answer = what_if(compared("fresh_torch2.13/coll4"), Edit("ranks", (0,)))
    assert "whom each rank waits for in them is not known" in answer.refused
    assert answer.step_ns == answer.gain_ns == -1
