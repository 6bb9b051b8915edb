"""What holds for every rule."""

from __future__ import annotations

import re

import pytest

from kinetoscope.analysis.overview.findings import Finding
from kinetoscope.analysis.rules import RULES
from kinetoscope.analysis.rules.rule import check_all, severity_of
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.analysis.rules.checks import NCCL
from tests.drawing import LOADER, V100, draw, memory


def everything() -> tuple[Finding, ...]:
    """All rules fire on this one."""
    trace = draw(
        """
        step   |11111111111111111111|
        note   |DDDDD               |
        op     |     PPPPPPPPP      |
        op     |     QQQQQQQQQ      |
        op     |     mmmm           |
        call   |     a  bn          |
        gpu0   |        aa          |
        gpu1   |        bbb         |
        gpu1.9 |            nnnnnn  |
        note2  |            gg      |
        """,
        names={
            "D": LOADER,
            "P": "DataParallel.forward",
            "Q": "DistributedDataParallel.forward",
            "m": "aten::mm",
            "a": "volta_sgemm_64x64_nt",
            "b": "volta_sgemm_64x64_nt",
            "n": NCCL.replace("nccl", "hccl"),
            "g": "gloo:all_reduce",
        },
        deviceProperties=[{**V100, "id": 0}, {**V100, "id": 1}],
        events=[memory(1, 1, 31 << 30)],
    )
    findings, unchecked = check_all(RULES, select(summarize(trace)))
    assert unchecked == ()
    return findings


def test_ids_are_unique_and_rules_say_what_they_check() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES) == 7
    assert all(rule.title and rule.needs for rule in RULES)


def test_every_rule_can_fire_and_the_largest_gain_comes_first() -> None:
    findings = everything()
    assert {one.id for one in findings} == {rule.id for rule in RULES}
    order = ["high", "medium", "low", "info"]
    ranks = [order.index(one.severity) for one in findings]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("found", everything(), ids=lambda one: one.id)
def test_wording(found: Finding) -> None:
    for text in (found.title, found.text, found.verify):
        assert "!" not in text
        assert "please" not in text.lower()
        assert text.count("`") % 2 == 0
        assert "  " not in text
        assert not re.search(r"\bnan\b|None", text)
    assert not found.title.endswith(".")
    assert found.text.endswith(".")
    assert re.search(r"\d|`", found.text), "no evidence"
    assert found.evidence
    assert found.scope
    for link in found.links:
        assert bool(link.view) != bool(link.url)
        assert link.view in ("", "overview", "timeline", "health")
        assert link.url.startswith("https://docs.pytorch.org/") or not link.url


def test_a_gain_is_a_ceiling_within_the_step() -> None:
    for one in everything():
        if one.gain is not None:
            assert 0 < one.gain.ratio <= 1
            assert one.gain.method
            assert one.gain.claims


def test_severity_follows_the_gain() -> None:
    findings = everything()
    for one in findings:
        if one.gain is not None:
            limits = {"high": 0.15, "medium": 0.05, "low": 0.01, "info": 0.0}
            assert one.gain.ratio >= limits[severity_of(one.gain)]


def test_a_trace_without_anything_leaves_every_rule_unchecked() -> None:
    findings, unchecked = check_all(RULES, select(summarize(draw(""))))
    assert findings == ()
    assert {one.id for one in unchecked} == {rule.id for rule in RULES}
    assert all(one.needs and one.title for one in unchecked)
