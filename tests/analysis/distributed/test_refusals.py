"""Limits of a replay's error and of what it cannot model: ``comparison``, ``lateness.replay``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from kinetoscope.analysis.distributed.comparison import _not_modelled, _refusal
from kinetoscope.analysis.distributed.lateness.replay import Residual


def residual(median: float = 0.0, early: int = 0) -> Residual:
    return Residual(median, 2 * median, np.zeros((2, 1)), early)


def refusal(error: Residual) -> str:
    digests = [
        SimpleNamespace(refused="", host_name="a", on_device=True, steps=SPAN) for _ in range(2)
    ]
    matches = drawn(["all_reduce"], [0])
    return _refusal(cast("Any", digests), (), cast("Any", matches), error, on_device=True)


SPAN = SimpleNamespace(start_ns=np.array([0]), end_ns=np.array([1000]))


def drawn(kinds: list[str], spent: list[int]) -> Any:
    """Matches of one call each."""
    return SimpleNamespace(
        kind=tuple(kinds),
        collective=np.arange(len(kinds)),
        unmatched=np.zeros(2, np.int64),
        inside=np.zeros(2, np.int64),
        calls=lambda _digests, _name: np.array(spent),
        group=np.zeros(0, np.int64),
    )


@pytest.mark.parametrize(
    ("median", "is_refused"), [(0.0, False), (0.03, False), (0.0301, True), (0.5, True)]
)
def test_a_replay_is_off_by_at_most_three_percent(median: float, is_refused: bool) -> None:
    said = refusal(residual(median))
    assert bool(said) is is_refused
    if is_refused:
        of = {0.0301: ("3.0", "6.0"), 0.5: ("50.0", "100")}[median]
        assert "off by {} % in the median (at most {} %)".format(*of) in said.replace("\u00a0", " ")


@pytest.mark.parametrize(("early", "is_refused"), [(0, False), (1, False), (2, True)])
def test_one_early_end_a_step_may_be_chance(early: int, is_refused: bool) -> None:
    assert bool(refusal(residual(early=early))) is is_refused


def test_no_step_no_replay() -> None:
    assert refusal(residual(np.nan)) == "The recordings hold no step to replay."


@pytest.mark.parametrize(
    ("kind", "on_device", "spent", "is_refused"),
    [
        ("gather", True, 21, True),
        ("gather", True, 20, False),
        ("broadcast", True, 21, True),
        ("broadcast", False, 21, False),
        ("all_reduce", True, 900, False),
    ],
)
def test_what_cannot_be_modelled_may_take_a_hundredth(
    kind: str, on_device: bool, spent: int, is_refused: bool
) -> None:
    digests = [SimpleNamespace(on_device=on_device, steps=SPAN) for _ in range(2)]
    matches = drawn(["all_reduce", kind], [500, spent])
    assert bool(_not_modelled(cast("Any", digests), matches)) is is_refused
