"""Whatever is asked, the answer is one, or says what is wrong with the question."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.views.shared import parse
from kinetoscope.views.timeline.view import VIEW
from kinetoscope.views.view import Part
from tests.drawing import memory
from tests.views.parts import Asked, asked

PICTURE = """
    step   |11111111112222222222|
    frame  | ffffffffffffffff   |
    op     |  aaaaaa   b        |
    call   |   l k     n        |
    gpu    |     llkkk   nn     |
    """


@cache
def view() -> Asked:
    """A small trace of everything."""
    folder = Path(tempfile.mkdtemp(prefix="kinetoscope-test-"))
    return asked(folder, PICTURE, events=[memory(3, 512, 512), memory(9, -512, 0)])


_WORDS = """
    0 0-3 0.0 1.0,0.0 2.0 0,0,0 -1 1- 1.5.0 nan 1e9 (a+)+$ true null split filtered regex next -dur
    count child \x00
"""
_TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["", *_WORDS.split()]))
_NUMBERS = st.one_of(
    st.integers(-3, 25_000),
    st.sampled_from([2**31 - 1, 2**31, 2**53, 2**62, -(2**62), 2**63, 10**30]),
).map(str)
_SHARES = st.one_of(st.floats(), st.floats(0, 0.1)).map(str)


def queries(part: Part) -> st.SearchStrategy[dict[str, str]]:
    """Parameters of a part: some of them, most of them sensible."""
    info = msgspec.inspect.type_info(part.query)
    assert isinstance(info, msgspec.inspect.StructType)
    by_type: dict[type, st.SearchStrategy[str]] = {
        msgspec.inspect.IntType: _NUMBERS,
        msgspec.inspect.FloatType: _SHARES,
    }
    required: dict[str, st.SearchStrategy[str]] = {}
    optional: dict[str, st.SearchStrategy[str]] = {}
    for field in info.fields:
        values = by_type.get(type(field.type), _TEXTS)
        if isinstance(field.type, msgspec.inspect.LiteralType):
            values = st.one_of(st.sampled_from([str(v) for v in field.type.values]), _TEXTS)
        (required if field.required else optional)[field.name] = values
    return st.fixed_dictionaries(required, optional=optional)


@pytest.mark.parametrize("part", VIEW.parts, ids=lambda part: part.stem)
@settings(max_examples=150)
@given(data=st.data())
def test_every_part_answers_or_says_why_not(part: Part, data: st.DataObject) -> None:
    given_ = data.draw(queries(part))
    answer = answer_of(part, given_)
    if isinstance(answer, KinetoscopeError):
        assert answer.status in {400, 404}
        assert answer.message
    elif part.answer is None:
        assert len(answer) <= 4 << 20
    else:
        text = msgspec.json.encode(answer)
        assert msgspec.json.decode(text, type=part.answer) == answer


def answer_of(part: Part, given_: dict[str, str]) -> Any:
    """What a part answers, or the error that it raises."""
    try:
        query = parse(given_, part.query)
        built = part.build(view().subject, query)
        if part.file is None:
            return built
        assert "/" not in part.file(view().subject, query)
        return b"".join(built)
    except KinetoscopeError as error:
        return error
