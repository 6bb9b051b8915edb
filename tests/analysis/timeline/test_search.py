"""Which names match, how often, where, and which hit comes next; against every slice in turn."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.timeline import search
from kinetoscope.analysis.timeline.build.names import BadPattern, NameTexts, columns_of
from kinetoscope.analysis.timeline.timeline import Opened
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.asked import FRAMES, Plain, ask, plain, traces

NAMES = (
    "aten::mm",
    "aten::addmm",
    "AddmmBackward0",
    "void gemm<float, 128>(int)",
    "größer",
    "",
    "half \ud800",
    "a.b",
)


def found(text: str, mode: str = "text") -> list[str]:
    """The names that match."""
    return [NAMES[code] for code in NameTexts(NAMES).find(text, mode)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("mm", ["aten::mm", "aten::addmm", "AddmmBackward0", "void gemm<float, 128>(int)"]),
        ("ADDMM back", ["AddmmBackward0"]),
        ("back addmm", ["AddmmBackward0"]),
        ("GRÖSSER", ["größer"]),
        ("a.b", ["a.b"]),
        (".*", []),
        ("", []),
        ("   ", []),
        ("\ud800", ["half \ud800"]),
    ],
)
def test_every_word_occurs_in_any_case(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"^aten::\w*mm$", ["aten::mm", "aten::addmm"]),
        (r"(?i)^add", ["AddmmBackward0"]),
        (r"gemm<float, \d+>", ["void gemm<float, 128>(int)"]),
        (r"gr.{1,2}er", ["größer"]),
    ],
)
def test_regular_expressions(pattern: str, names: list[str]) -> None:
    assert found(pattern, "regex") == names


@pytest.mark.parametrize(("text", "count"), [("aten::mm", 1), ("aten::", 0), ("", 1), ("A.B", 0)])
def test_exactly(text: str, count: int) -> None:
    assert len(found(text, "exact")) == count


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a{9999}", r"(?<=a)b", r"\1", "*"])
def test_what_is_no_expression_says_why(pattern: str) -> None:
    with pytest.raises(BadPattern, match="no regular expression: "):
        found(pattern, "regex")


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(\w+\s?)+!", r"(a|a)*b", r"(.*)*x", r"^(a?){200}$"]
)
def test_no_expression_takes_for_ever(pattern: str) -> None:
    began = time.process_time()
    NameTexts(["a" * 5000, "word " * 2000]).find(pattern, "regex")
    assert time.process_time() - began < 20  # backtracking would outlast us all


def chosen_by(of: Opened, trace: Trace, codes: list[int], tracks: list[int] | None) -> list[Plain]:
    """The slices of these names on these tracks in order of time."""
    names = {of.timeline.names[code] for code in codes}
    return sorted(
        (
            one
            for one in plain(of, trace)
            if one.track >= 0 and one.name in names and (tracks is None or one.track in tracks)
        ),
        key=lambda one: (one.ts, one.id),
    )


searches = st.tuples(
    traces(),
    st.sampled_from(["split", "filtered"]),
    st.sampled_from(["aten", "a", "train", FRAMES[1], "gemm", "e"]),
    st.sampled_from([None, [0], [0, 1], [1]]),
)


@settings(max_examples=60)
@given(searches, st.sampled_from([16, 100]), st.booleans())
def test_sums_are_those_of_the_hits(
    case: tuple[Trace, str, str, list[int] | None], columns: int, many: bool
) -> None:
    trace, layout, text, tracks = case
    of = ask(trace, layout)
    tracks = [t for t in tracks if t < len(of.layout.tracks)] if tracks is not None else None
    codes = of.texts.find(text, "text")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_MANY", -1 if many else 1 << 20)
        hits = search.hits_of(of, codes, columns, tracks)
    expected = chosen_by(of, trace, codes.tolist(), tracks)
    assert hits.count.sum() == len(expected)
    assert hits.total.sum() == sum(one.dur for one in expected)
    assert hits.density.sum() == len(expected)
    for code, count, total, first in zip(
        hits.codes.tolist(), hits.count.tolist(), hits.total.tolist(), hits.first.tolist(),
        strict=True,
    ):  # fmt: skip
        mine = [one for one in expected if one.name == of.timeline.names[code]]
        assert (count, total, first) == (len(mine), sum(one.dur for one in mine), mine[0].id)
    for number in range(len(of.layout.tracks)):
        assert hits.tracks.get(number, 0) == sum(one.track == number for one in expected)


@settings(max_examples=60)
@given(searches, st.integers(-2, 60), st.booleans(), st.booleans())
def test_hits_are_walked_in_order_of_time(
    case: tuple[Trace, str, str, list[int] | None], start: int, forward: bool, many: bool
) -> None:
    trace, layout, text, tracks = case
    of = ask(trace, layout)
    tracks = [t for t in tracks if t < len(of.layout.tracks)] if tracks is not None else None
    codes = of.texts.find(text, "text")
    expected = chosen_by(of, trace, codes.tolist(), tracks)
    at = (start * 1000, -1)
    rest = [one.id for one in expected if (one.ts, one.id) > at]
    if not forward:
        rest = [one.id for one in expected if (one.ts, one.id) < at][::-1]
    walked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_MANY", -1 if many else 1 << 20)
        patch.setattr(search, "_FIRST_LOOK", 1)
        while (hit := search.next_hit(of, codes, tracks, at, forward=forward)) is not None:
            walked.append(hit.slice)
            assert hit.count == len(expected)
            if hit.position:
                assert expected[hit.position - 1].id == hit.slice
            at = int(of.timeline.slices.ts[hit.slice]), hit.slice
    assert walked == rest


@given(st.integers(1, 2**62), st.integers(16, 4096), st.data())
def test_columns_are_those_of_the_minimap(end: int, columns: int, data: st.DataObject) -> None:
    instants = data.draw(st.lists(st.integers(0, end), min_size=1, max_size=20))
    instants += [column * end // columns for column in range(columns + 1)][:50]
    found = columns_of(np.array(instants, np.int64), end, columns).tolist()
    edges = [column * end // columns for column in range(columns)]
    for instant, column in zip(instants, found, strict=True):
        expected = max(place for place, edge in enumerate(edges) if edge <= instant)
        assert column == expected
