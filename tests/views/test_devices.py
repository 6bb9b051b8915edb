"""How a query names a device: views/shared."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import QueryError
from kinetoscope.views.shared import device_place, device_row
from tests.drawing import draw

KEYS = ("cuda:0", "cuda:2", "cpu")


@pytest.mark.parametrize(
    ("text", "place"),
    [("0", 0), ("2", 1), ("cuda:2", 1), (" CUDA:2 ", 1), ("hip:2", 1), ("gpu:0", 0), ("cpu", 2)],
)
def test_a_number_or_a_key_names_a_device(text: str, place: int) -> None:
    assert device_place(text, KEYS) == place


@pytest.mark.parametrize("text", ["1", "cuda:1", "cuda", "xpu:0", "-1", "cpu:0"])
def test_what_names_no_device_lists_them(text: str) -> None:
    with pytest.raises(QueryError, match="there is no device") as error:
        device_place(text, KEYS)
    assert error.value.hint == "Devices: cuda:0, cuda:2, cpu."


def test_a_number_of_two_devices_is_refused() -> None:
    with pytest.raises(QueryError, match="several devices have the number '0'"):
        device_place("0", ("cuda:0", "xpu:0"))


def test_a_row_is_that_of_the_devices_number_not_of_its_place() -> None:
    """The first device did nothing: GPU 2 is row 1."""
    facts = summarize(draw("op |aa  |\ncall |k   |\ngpu |  kk|"))
    (gpu,) = facts.devices
    idle = replace(gpu, used=False, index=1)
    second = replace(gpu, index=2, vendor="AMD")
    facts = replace(facts, devices=(idle, second))
    assert device_row(facts, "2") == device_row(facts, "hip:2") == 1
    assert device_row(facts, "") is None
    with pytest.raises(QueryError, match="there is no device '1'") as error:
        device_row(facts, "1")
    assert error.value.hint == "Devices: hip:2."
