"""Speed of light: light and waste that are unknown are left out, and are no zeros."""

from __future__ import annotations

from kinetoscope.session.session import TraceSession
from kinetoscope.views.speed_of_light.contract import SpeedQuery
from kinetoscope.views.speed_of_light.view import VIEW, build
from tests.drawing import draw


def test_light_and_waste_are_left_out_where_no_kernel_has_a_figure() -> None:
    trace = draw("step |1111111111|\nop   |aaaa      |\ncall |k         |\ngpu  |  kkkk    |")
    answer = build(TraceSession(trace).subject(VIEW), SpeedQuery())
    keys = [part.key for part in answer.parts]
    assert {"no_figure", "idle"} <= set(keys)
    assert not {"light", "waste"} & set(keys)
