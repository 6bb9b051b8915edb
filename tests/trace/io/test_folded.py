"""Folded stacks open like a trace: the flame graph has the numbers of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.call_tree.flame import folded
from kinetoscope.analysis.operators.artifact import operators_of
from kinetoscope.analysis.operators.flame import flame_tree
from kinetoscope.analysis.operators.model import CallKind
from kinetoscope.base.errors import NotFoundError, TraceFormatError
from kinetoscope.trace.io import folded as folding
from kinetoscope.trace.read import read

FRAMES = frozenset({CallKind.PYTHON, CallKind.MODULE})


def written_again(path: Path) -> dict[str, int]:
    operators = operators_of(read(path))
    lines = folded(flame_tree(operators, None, "host", FRAMES))
    return {(parts := line.rsplit(" ", 1))[0]: int(parts[1]) for line in lines}


def test_what_is_read_is_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "cpu.stacks"
    path.write_text("main;step;mm 40\nmain;step;relu 10\nmain 5\nmain;step;mm 2.5\n")
    assert written_again(path) == {
        "main;step;mm": 42_500,
        "main;step;relu": 10_000,
        "main": 5_000,
    }


@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcd"), min_size=1, max_size=5), st.integers(1, 99)),
        min_size=1,
        max_size=30,
    )
)
def test_every_path_keeps_its_number(
    tmp_path_factory: pytest.TempPathFactory, stacks: list[tuple[list[str], int]]
) -> None:
    path = tmp_path_factory.mktemp("folded") / "x.stacks"
    path.write_text("".join(f"{';'.join(frames)} {value}\n" for frames, value in stacks))
    expected: dict[str, int] = {}
    for frames, value in stacks:
        key = ";".join(frames)
        expected[key] = expected.get(key, 0) + 1000 * value
    # Frames of one name inside one another are one call there; their sum stays.
    assert sum(written_again(path).values()) == sum(expected.values())


@pytest.mark.parametrize(
    ("text", "kind"),
    [("", "folded_empty"), ("\n \n", "folded_empty"), ("main;step\n", "folded_line")],
)
def test_what_is_no_folded_stack_is_told(tmp_path: Path, text: str, kind: str) -> None:
    path = tmp_path / "x.stacks"
    path.write_text(text)
    with pytest.raises(TraceFormatError) as caught:
        read(path)
    assert caught.value.kind == kind
    with pytest.raises(NotFoundError):
        read(tmp_path / "none.stacks")


def test_what_would_take_all_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.stacks"
    monkeypatch.setattr(folding, "MOST_FRAMES", 100)
    monkeypatch.setattr(folding, "MOST_LINE", 1000)
    for text in ("a;b 1\n" * 20 + "".join(f"f{n};g{n} 1\n" for n in range(60)), "a;" * 900 + "a 1"):
        path.write_text(text)
        with pytest.raises(TraceFormatError) as caught:
            read(path)
        assert caught.value.kind == "folded_too_large"
        assert "x.stacks" in caught.value.message
    path.write_text("a;b 1\n" * 5000)  # many lines, few frames
    assert len(read(path).host) == 2
