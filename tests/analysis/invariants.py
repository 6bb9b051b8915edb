"""What must hold of the facts of any trace, drawn, made up or real."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import structs

from kinetoscope.analysis.facts import (
    IDLE_CAUSES,
    Breakdown,
    Facts,
    Gauges,
    HostPartition,
    Partition,
    StepFacts,
)
from kinetoscope.views.overview.view import Overview


def microseconds(parts: Breakdown | Partition | HostPartition) -> dict[str, int]:
    """The parts of a step that are not zero, in µs: ``{"kernel": 6}``."""
    named = structs.asdict(parts)
    return {key.removesuffix("_ns"): ns // 1000 for key, ns in named.items() if ns}


def check_facts(facts: Facts) -> None:
    """Sums are exact, windows tile, nothing is negative, nan or infinite."""
    for step in facts.steps:
        check_step(step)
    check_tiling(facts)
    for path, value in leaves(msgspec.to_builtins(facts)):
        assert not isinstance(value, float) or math.isfinite(value), path
    assert msgspec.json.decode(msgspec.json.encode(facts), type=Facts) == facts


def check_step(step: StepFacts) -> None:
    length = step.end_ns - step.start_ns
    assert length >= 0
    assert sum(whole(step.breakdown)) == length
    for one in step.devices:
        part = one.partition
        assert min(whole(part)) >= 0
        assert length == (
            part.compute_ns
            + part.exposed_communication_ns
            + part.exposed_copy_ns
            + part.memset_ns
            + part.idle_ns
            + part.start_up_ns
        )
        assert part.idle_ns == sum(getattr(part, cause) for cause in IDLE_CAUSES)
        assert part.overlap_ns <= part.compute_ns
        sums = one.communication
        assert sums.exposed_ns == part.exposed_communication_ns
        assert sums.exposed_ns == sums.blocking_ns + sums.host_limited_ns + sums.unknown_ns
        assert min(sums.blocking_ns, sums.host_limited_ns, sums.unknown_ns) >= 0
        assert sums.total_ns == sums.exposed_ns + part.overlap_ns
        assert all(0 <= copy.exposed_ns <= length for copy in one.copies)
        check_gauges(one.gauges, length)
    assert (step.host is None) == bool(step.devices)
    if step.host is not None:
        assert min(whole(step.host)) >= 0
        assert sum(whole(step.host)) - step.host.overlap_ns == length
        # The two ways to see a step agree on its collectives, to the nanosecond.
        if not device_time(step.breakdown):
            told = step.host.communication_ns + step.host.overlap_ns
            assert told == step.breakdown.communication_ns


def device_time(parts: Breakdown) -> int:
    return parts.kernel_ns + parts.memcpy_ns + parts.memset_ns


def check_gauges(gauges: Gauges, length: int) -> None:
    assert 0 <= gauges.busy_ns <= length
    assert gauges.busy_ns <= gauges.kernel_ns
    assert gauges.sm_ns is None or -1e-6 <= gauges.sm_ns <= gauges.busy_ns * (1 + 1e-9)
    assert gauges.tensor_core_ns + gauges.tensor_core_unknown_ns <= gauges.op_kernel_ns
    assert gauges.eligible_plain_ns <= gauges.eligible_ns <= gauges.op_kernel_ns
    assert gauges.op_kernel_ns <= gauges.kernel_ns


def check_tiling(facts: Facts) -> None:
    """Windows and the gaps between them tile [first start, last end]."""
    assert all(one.gap.kernel_ns == 0 for step in facts.steps[:1] for one in step.devices)
    reached = None
    for step in facts.steps:
        assert reached is None or step.start_ns >= reached
        reached = step.end_ns
    for before, after in zip(facts.steps, facts.steps[1:], strict=False):
        gap = after.start_ns - before.end_ns
        for one in after.devices:
            assert 0 <= one.gap.busy_ns <= gap


def check_overview(answer: Overview) -> None:
    """What is shown sums to what is said."""
    ruler = answer.ruler
    assert math.isclose(sum(one.mean_ns for one in ruler.shares), ruler.mean_ns, abs_tol=1e-3)
    if ruler.busy_ns is not None and ruler.idle_ns is not None:
        assert math.isclose(ruler.busy_ns + ruler.idle_ns, ruler.mean_ns, abs_tol=1e-3)
    assert math.isclose(
        sum(row.mean_ns for row in answer.summary[1:]), answer.summary[0].mean_ns, abs_tol=1e-3
    )
    for card in answer.devices:
        for gauge in card.gauges:
            assert (gauge.ratio is None) == bool(gauge.reason), gauge
            assert gauge.ratio is None or 0 <= gauge.ratio <= 1 + 1e-9, gauge
    for one in answer.findings:
        assert one.gain is None or 0 <= one.gain.ratio <= 1, one
    for path, value in leaves(msgspec.to_builtins(answer)):
        assert not isinstance(value, float) or math.isfinite(value), path
        assert not isinstance(value, float | int) or value >= 0, path


def whole(parts: msgspec.Struct) -> tuple[int, ...]:
    values: tuple[int, ...] = structs.astuple(parts)
    return values


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value below, with its path."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, f"{path}.{key}")
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from leaves(one, f"{path}[{i}]")
    else:
        yield path, value
