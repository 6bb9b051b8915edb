"""Planted failures of allocations, and hostile pickles: a few of what the benchmark draws."""

from __future__ import annotations

from benchmarks.memory_truth import hostile, planted


def test_planted_failures_of_allocations_are_named_rightly() -> None:
    said = planted(30)
    assert sum(said.values()) == 30
    assert {truth for truth, _ in said} == {"fragmentation", "capacity"}
    assert all(truth == found for truth, found in said)


def test_hostile_pickles_are_refused_with_a_reason() -> None:
    assert [why for *_, why in hostile()] == ["unsafe_pickle"] * 2 + ["pickle_limit"] * 2
