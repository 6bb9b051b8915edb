"""What holds for every rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from msgspec.structs import replace

from kinetoscope.analysis.advice import RULES, check_all
from kinetoscope.analysis.advice.claims import is_noise
from kinetoscope.analysis.findings import Finding
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.analysis.advice.checks import NCCL, finding
from tests.analysis.advice.drawn import FIRES, host, run
from tests.analysis.advice.test_serving import findings as of_servers
from tests.drawing import LOADER, V100, Event, draw, memory
from tests.trace.drawn import drawn_by_others, x

OF_DEVICES = ("IN1", "CO1", "CO7", "CO9", "UT1", "DT2", "ME1")


@cache
def everything() -> tuple[Finding, ...]:
    """A finding of every rule: those of devices on one run, each other one on its own."""
    found = [finding(fires(), rule) for rule, (fires, _) in FIRES.items()]
    return (*of_devices(), *of_servers(), *(one for one in found if one is not None))


@cache
def of_devices() -> tuple[Finding, ...]:
    """Some rules fire together on this one."""
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
    findings, unchecked = check_all(select(summarize(trace)))
    assert not {one.id for one in unchecked} & set(OF_DEVICES)
    return tuple(one for one in findings if one.id in OF_DEVICES)


def test_ids_are_unique_and_rules_say_what_they_check() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert all(rule.title and rule.needs for rule in RULES)


def test_every_rule_can_fire() -> None:
    assert {one.id for one in everything()} == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", FIRES)
def test_a_rule_fires_and_names_what_it_saw(rule: str) -> None:
    found = finding(FIRES[rule][0](), rule)
    assert found is not None
    assert found.events
    of_totals = rule in ("ME2", "ME4")  # no event of the host is open where these are drawn
    assert all(one.event >= 0 and (one.slice >= 0 or of_totals) for one in found.events)
    assert found.links
    assert found.action


@pytest.mark.parametrize("rule", FIRES)
def test_a_rule_is_silent_where_it_must_be(rule: str) -> None:
    assert finding(FIRES[rule][1](), rule) is None


def test_the_largest_gain_comes_first() -> None:
    order = ["high", "medium", "low", "info"]
    ranks = [order.index(one.severity) for one in of_devices()]
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
        assert link.view in ("", "overview", "timeline", "health", "memory", "operators", "compile")
        assert link.url.startswith("https://docs.pytorch.org/") or not link.url


def test_a_gain_is_a_ceiling_within_the_step() -> None:
    for one in everything():
        if one.gain is not None:
            assert 0 < one.gain.ratio <= 1
            assert one.gain.method
            assert one.gain.claims


def test_severity_follows_the_gain() -> None:
    limits = {"high": 0.15, "medium": 0.05, "low": 0.01, "info": 0.0}
    for one in everything():
        if one.gain is not None:
            assert one.gain.ratio >= limits[one.severity]


def test_a_row_of_tiny_ops_goes_on_where_the_thread_was_interrupted() -> None:
    def interrupted(at: float) -> Iterator[Event]:
        ts = at + 10
        for i in range(130):
            dur = 150.0 if i == 40 else 2.0  # an op during which another program ran
            yield host("op", "aten::add", ts, dur)
            ts += dur + (140.0 if i == 80 else 1.0)  # and a pause of the same kind

    found = finding(run(interrupted), "LA2")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == 676_000  # from the first op to the last


def test_a_share_that_varies_more_than_its_excess_is_noise() -> None:
    assert is_noise([0.02, 0.09, 0.01, 0.10, 0.12], 0.05)
    assert not is_noise([0.20, 0.22, 0.19, 0.21], 0.05)
    assert not is_noise([0.02, 0.3, 0.4], 0.05)  # too few steps to tell, and it holds in most
    assert is_noise([0.02, 0.04, 0.4], 0.05)
    assert is_noise([0.02, 0.4], 0.05)
    assert not is_noise([0.06, 0.4], 0.05)
    assert not is_noise([0.06], 0.05)


def test_a_trace_without_anything_leaves_every_rule_unchecked() -> None:
    findings, unchecked = check_all(select(summarize(draw(""))))
    assert findings == ()
    assert {one.id for one in unchecked} == {rule.id for rule in RULES}
    assert all(one.needs and one.title for one in unchecked)


def test_what_rules_lack_is_advised_to_torch_profiler_alone() -> None:
    chosen = select(summarize(drawn_by_others(x("f", 0, 90, cat="fee"))))
    _, unchecked = check_all(chosen)
    assert unchecked
    assert [one.needs for one in unchecked if "record with" in one.needs.lower()] == []


@pytest.mark.parametrize("vendor", ["AMD", "Ascend", "Intel"])
def test_no_recorder_is_advised_that_the_device_has_not(vendor: str) -> None:
    facts = summarize(draw("op |aaaa|\n call | l  |\n gpu0 |  ll|"))
    devices = tuple(replace(one, vendor=vendor) for one in facts.devices)
    _, unchecked = check_all(select(replace(facts, devices=devices)))
    assert [one.needs for one in unchecked if "Cuspy" in one.needs] == []


def test_measured_waste_comes_before_what_a_device_could_do() -> None:
    """Whatever the sizes; what only informs comes last."""
    theoretical = {rule.id for rule in RULES if rule.theoretical}
    assert theoretical == {"DT1", "DT2", "DT3", "KE1", "KE2", "KE3", "KE4", "KE6", "OP2"}
    for fires, _ in FIRES.values():
        found = check_all(select(summarize(fires())))[0]
        loud = [one.id in theoretical for one in found if one.severity != "info"]
        assert loud == sorted(loud)
        kinds = [one.severity == "info" for one in found]
        assert kinds == sorted(kinds)
