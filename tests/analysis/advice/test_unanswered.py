"""A cause without a finding has a reason and a link."""

from __future__ import annotations

import pytest

from kinetoscope.analysis import headline as headlines
from kinetoscope.analysis.advice.unanswered import CAPTURE, CUT, unanswered
from kinetoscope.analysis.findings import Sentence
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.drawing import draw

CAUSES = [*headlines._DEVICE_CAUSES, *headlines._HOST_CAUSES, *headlines._HOST_WORK, "compute_ns"]


@pytest.mark.parametrize("cause", [*CAUSES, CUT, CAPTURE])
def test_what_the_sentence_blames_has_a_finding_or_a_reason(cause: str) -> None:
    chosen = select(summarize(draw("op |aaa|")))
    why = unanswered(chosen, Sentence("", "", cause=cause), ())
    assert why is not None
    assert why.text.endswith(".")
    assert why.links


@pytest.mark.parametrize(
    ("drawn", "link"),
    [
        ("op |aaa|", "The recording in the trace"),
        ("step |111|\nop   |aaa|", "These steps in the trace"),
    ],
)
def test_a_recording_without_steps_is_led_to_as_a_whole(drawn: str, link: str) -> None:
    chosen = select(summarize(draw(drawn)), "all")
    why = unanswered(chosen, Sentence("", "", cause=CAPTURE), ())
    assert why is not None
    assert [one.text for one in why.links] == [link]
