"""A sample of the fault score: one made run for each kind of fault, and two without one.

The whole score is ``benchmarks/fault_score.py``.
"""

from __future__ import annotations

import pytest
from benchmarks.fault_score import judged
from benchmarks.made_runs import FAULTS, Plan, made_run

from kinetoscope.analysis.distributed.comparison import compare
from kinetoscope.analysis.distributed.lateness.what_if import Edit, what_if
from tests.conftest import requires_traces

from .sets import digests

pytestmark = requires_traces

SIZES = {"slower_kernels": 0.5, "more_work": 0.5, "link": 4.0, "node": 0.5}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_planted_fault_is_named_and_nothing_else(fault: str) -> None:
    plan = Plan(
        fault=fault,
        ranks=12 if fault == "node" else 6,
        steps=3,
        jitter=0.02,
        seed=11,
        device_bound=fault in ("slower_kernels", "more_work", "node"),
        two_groups=fault in ("link", "inherited"),
        size=SIZES.get(fault, 0.15),
    )
    run = made_run(digests("dlrm_8rank_v100")[0], plan)
    said = compare(run.digests, [str(r) for r in range(plan.ranks)])
    outcome = judged(plan, run, said)
    assert outcome.guilty == (fault not in ("none", "brought_in"))
    assert outcome.right if outcome.guilty else not outcome.alarm
    if run.rank >= 0 or run.node:
        late = said.nodes[said.verdict.node].members if run.node else (said.verdict.member,)
        gain = what_if(said, Edit("ranks", tuple(late))).gain_ns
        step = run.effect_ns / run.effect
        assert abs(gain - run.effect_ns) < 0.03 * step
    if fault == "brought_in":
        assert "late; its own work is normal." in said.verdict.sentence


def test_the_gain_is_that_of_twice_the_kernels_on_one_rank() -> None:
    """Kernels lie on all ways through a step: those that bind once the longest is shorter, too."""
    plan = Plan("more_work", ranks=6, steps=3, jitter=0.02, seed=649272946, device_bound=True,
                two_groups=True, size=1.0)  # fmt: skip
    run = made_run(digests("dlrm_8rank_v100")[0], plan)
    said = compare(run.digests, [str(r) for r in range(plan.ranks)])
    gain = what_if(said, Edit("ranks", (said.verdict.member,))).gain_ns
    assert run.effect > 0.3
    assert abs(gain - run.effect_ns) < 0.01 * run.effect_ns / run.effect
