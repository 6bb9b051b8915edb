"""Parameters of addresses: what a wrong value is answered with."""

from __future__ import annotations

from typing import Annotated

import pytest
from msgspec import Meta, Struct

from kinetoscope.base.errors import QueryError
from kinetoscope.views.shared import parse


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    below: Annotated[int, Meta(ge=2, lt=9)] = 3
    upto: Annotated[float, Meta(le=7)] = 1.0
    at_all: int = 0
    is_on: bool = False
    text: Annotated[str, Meta(max_length=3)] = ""


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("below", "x", "a whole number from 2, less than 9"),
        ("upto", "x", "a number to 7"),
        ("at_all", "x", "a whole number"),
        ("is_on", "x", "true or false"),
        ("text", "long", "a text of at most 3 characters"),
    ],
)
def test_a_wrong_value_is_told_the_right_ones(name: str, value: str, wanted: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse({name: value}, Asked)
    told = f"{caught.value.message} {caught.value.hint}"
    assert wanted in told
    if "less than" not in wanted:
        assert "less than" not in told
