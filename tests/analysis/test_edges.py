"""Figures at the edges of their rules: ``steps``, ``host_activity``, ``headline``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.findings import Sentence
from kinetoscope.analysis.headline import _unnamed
from kinetoscope.analysis.host_activity import HostRole
from kinetoscope.analysis.steps import busiest, select, step_parameter
from kinetoscope.analysis.summarize import summarize
from tests.drawing import draw


@pytest.mark.parametrize(
    ("numbers", "index", "parameter"),
    [
        ([7, 8], 0, "7"),
        ([0, 1], 0, "0"),
        ([5, 5], 1, "i1"),
        ([-1, 3], 0, "i0"),
        ([10**9 - 1], 0, "999999999"),
        ([10**9], 0, "i0"),
    ],
)
def test_a_step_is_addressed_by_its_number_or_its_place(
    numbers: list[int], index: int, parameter: str
) -> None:
    steps = [SimpleNamespace(number=number) for number in numbers]
    assert step_parameter(cast("Facts", SimpleNamespace(steps=steps)), index) == parameter


def test_the_busiest_device_idles_least() -> None:
    facts = summarize(
        draw("step |1111111111|\ncall |ab        |\ngpu0 | aaa      |\ngpu1 |  bbbbbb  |")
    )
    assert busiest(facts) == 1


def test_roles_keep_their_numbers() -> None:
    """They are stored with a trace."""
    assert [role.value for role in HostRole][:9] == list(range(9))


@pytest.mark.parametrize(
    ("cause", "detail", "is_said"),
    [
        ("idle_ns", "", True),
        ("", "", False),
        ("idle_ns", "For 1 ms the thread runs no known operator.", False),
    ],
)
def test_a_large_part_without_a_cause_is_said_once(cause: str, detail: str, is_said: bool) -> None:
    selection = select(summarize(draw("step |11111111111111|\nop   |aa            |")))
    said = Sentence("", detail, cause=cause)
    assert bool(_unnamed(selection, said)) is is_said
