"""One value out of text that is nearly JSON, and never a part of what follows it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.trace.scan.json_values import plain
from kinetoscope.trace.scan.repair import Unrepairable, repair, repair_front

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(json_values, st.booleans(), st.sampled_from([None, 2]))
def test_what_is_json_already_is_read_as_json(
    value: object, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    read, kinds = repair(text)
    assert plain(read) == value
    assert kinds == ()


@pytest.mark.parametrize(
    ("text", "value", "kinds"),
    [
        ('{"a": [1, 2, ], }', {"a": [1, 2]}, ["stray_comma"]),
        ('{"a": "x" y", "b": 1}', {"a": 'x" y', "b": 1}, ["unescaped_quote"]),
        ('["x" y", "z"]', ['x" y', "z"], ["unescaped_quote"]),
        ('{"a": "D:\\", "b": 1}', {"a": "D:\\", "b": 1}, ["bad_escape"]),
        ("[NaN, -Infinity, N/A, 1.#INF]", [None] * 4, ["not_a_number"]),
        ("[.5, +1, 1., 01]", [0.5, 1.0, 1.0, 1.0], ["bad_number"]),
        ("/* a */ [1] // b", [1], ["comment"]),
        ('{"a": 1, "a": 2}', {"a": 2}, []),
        ('"\\ud83d\\ude00"', "😀", []),
    ],
)
def test_what_is_nearly_json(text: str, value: object, kinds: list[str]) -> None:
    read, found = repair(text.encode())
    assert plain(read) == value
    assert list(found) == kinds


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a": 1', '{"a": 1}}', '{"a": 1} {"b": 2}', '{"a" 1}', '["a}', "]", '{"a": {"b": 1}',
     "[" * 1000],
)  # fmt: skip
def test_what_no_tolerance_makes_a_value(text: str) -> None:
    with pytest.raises(Unrepairable):
        repair(text.encode())


def test_a_value_in_front_of_other_text() -> None:
    assert repair_front(b'{"a": NaN} , "b": 1') == ({"a": None}, 11, ("not_a_number",))
    assert repair_front(b'"x "y"", "b": 1')[:2] == ('x "y"', 7)
