"""Both sides of each bound of the Trace, Memory and Module views: below it, at it, above it."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kinetoscope.analysis.memory.snapshots.out_of_memory import explain
from kinetoscope.base.errors import NotFoundError, QueryError
from kinetoscope.session.session import TraceSession
from kinetoscope.views.memory import words
from kinetoscope.views.timeline.common import (
    blocks,
    check_range,
    check_slice,
    numbers,
    tile_numbers,
    tracks,
)
from kinetoscope.views.timeline.details import inputs_of, stream_text
from kinetoscope.views.timeline.path import PathArrowsQuery, path_arrows
from kinetoscope.views.timeline.tiles import names_frame
from kinetoscope.views.timeline.view import VIEW
from tests.analysis.memory.snapshots.test_out_of_memory import oom
from tests.drawing import draw
from tests.trace.pickles.drawn_snapshot import MIB, block, reread, segment, snapshot
from tests.views.parts import asked

US = 1000


def test_lists_of_numbers() -> None:
    assert numbers("5", "tiles", 1) == [5]
    assert numbers("0,4-7,5", "tiles", 5) == [0, 4, 5, 6, 7]
    assert numbers("3-3", "tiles", 1) == [3]
    assert numbers("9" * 18, "tiles", 1) == [10**18 - 1]
    for text, reason in (
        ("", "no list"), ("a", "no list"), ("1,", "no list"), ("1" * 19, "no list"),
        ("-1", "no list"),
        ("7-6", "runs backwards"), ("4-9", "more than 5"), ("0,1,2,3,4,5", "more than 5"),
        ("0-2,5-7", "more than 5"), ("0-99999999999999", "more than 5"),
    ):  # fmt: skip
        with pytest.raises(QueryError, match=reason):
            numbers(text, "tiles", 5)
    with pytest.raises(QueryError, match=re.escape(repr("x" * 40))):
        numbers("x" * 41, "tiles", 5)


def test_tiles_are_at_most_sixteen_and_end_before_all_time() -> None:
    assert tile_numbers("0-15", 0) == [*range(16)]
    with pytest.raises(QueryError, match="more than 16"):
        tile_numbers("0-16", 0)
    # 512 buckets of 2^50 ns: the sixteenth tile ends at 2^63.
    assert tile_numbers("14", 50) == [14]
    with pytest.raises(QueryError, match="tile 15 of level 50"):
        tile_numbers("15", 50)


def test_blocks_of_lanes() -> None:
    layout = SimpleNamespace(name="split", tracks=[SimpleNamespace(lanes=17)] * 2)
    opened: Any = SimpleNamespace(layout=layout)
    assert blocks("0.0,1.16,0.0", opened) == [(0, 0), (1, 16)]
    for text, reason in (
        ("0.0.0", "no list of track.lane"), ("0", "no list of track.lane"),
        ("0.8", "multiple of 16"), ("2.0", "no track 2"), ("1.32", "track 1 has no lane 32"),
        (",".join(f"{at}.0" for at in range(65)), "more than 64"),
    ):  # fmt: skip
        with pytest.raises(QueryError, match=reason):
            blocks(text, opened)
    layout.tracks = layout.tracks * 32
    assert len(blocks(",".join(f"{at}.0" for at in range(64)), opened)) == 64
    layout.tracks[0] = SimpleNamespace(lanes=16)
    with pytest.raises(QueryError, match="no lane 16"):
        blocks("0.16", opened)


def test_tracks_of_a_list() -> None:
    opened: Any = SimpleNamespace(layout=SimpleNamespace(name="split", tracks=[None] * 3))
    assert tracks("", opened) is None
    assert tracks("0-2", opened) == (0, 1, 2)
    with pytest.raises(QueryError, match="no track 3"):
        tracks("3", opened)
    with pytest.raises(QueryError, match="more than 3"):
        tracks("0-3", opened)


def test_slices_and_ranges_that_there_are() -> None:
    opened: Any = SimpleNamespace(timeline=SimpleNamespace(slices=range(4)))
    assert check_slice(opened, 3) == 3
    with pytest.raises(NotFoundError, match="no slice 4"):
        check_slice(opened, 4)
    check_range(5, 6)
    check_range(-(1 << 61), (1 << 61) - 1)
    for start, end, reason in ((5, 5, "empty"), (6, 5, "empty"), (-(1 << 61), 1 << 61, "longer")):
        with pytest.raises(QueryError, match=reason):
            check_range(start, end)


def test_texts_of_arguments_are_cut_at_4000_characters(tmp_path: Path) -> None:
    args = {"a": {"just": "x" * 4000, "more": "x" * 4001, "k" * 201: 1}}
    view = asked(tmp_path, "op |aaa|", args=args)
    shown = {arg.key: arg for arg in view("slice", slice=0).args}
    assert [(len(shown[key].text), shown[key].cut) for key in ("just", "more")] == [
        (4000, False),
        (4000, True),
    ]
    assert "k" * 200 in shown


@pytest.mark.parametrize(("frames", "more"), [(2000, ""), (2001, "1\u00a0outer frame"),
                                              (2003, "3\u00a0outer frames")])  # fmt: skip
def test_of_a_written_stack_two_thousand_frames_are_shown(
    tmp_path: Path, frames: int, more: str
) -> None:
    stack = ";".join(f"/home/me/train.py({at}): f" for at in range(frames))
    view = asked(tmp_path, "op |aaa|", args={"a": {"Call stack": stack}})
    answer = view("slice", slice=0)
    assert len(answer.stack) == min(frames, 2000)
    assert answer.stack_missing.startswith(more)
    assert bool(answer.stack_missing) == bool(more)


def test_inputs_are_as_many_as_shapes_or_types() -> None:
    assert inputs_of({"Input Dims": [[1, 2]], "Input type": ["float", "int"]}) == (
        ("[1, 2]", "float"),
        ("", "int"),
    )
    assert inputs_of({"Input dims": "[[8, 3], []]"}) == (("[8, 3]", ""), ("[]", ""))
    assert inputs_of({"Input type": "[float, int]"}) == (("", "float"), ("", "int"))
    assert inputs_of({"Input Dims": "", "Input type": 4}) == ()


@pytest.mark.parametrize(
    ("args", "kind", "text"),
    [
        ({"stream": 7}, None, ""),
        ({"stream": 7}, "stream", ""),
        ({"stream": 7}, "graph", "stream 7"),
        ({}, "graph", ""),
        ({"stream": 7, "original_stream": 7}, "stream", "stream 7"),
        ({"stream": 7, "original_stream": 9}, "stream", "stream 9, drawn on lane 7"),
        ({"stream": 7, "annotated_stream": 9}, "stream", "stream 7, captured as stream 9"),
        (
            {"stream": 7, "original_stream": 3, "annotated_stream": 9},
            None,
            "stream 3, drawn on lane 7, captured as stream 9",
        ),
    ],
)
def test_which_stream_ran_it(args: dict[str, int], kind: str | None, text: str) -> None:
    track: Any = SimpleNamespace(kind=kind) if kind else None
    assert stream_text(args, track) == text


def test_names_are_cut_where_an_answer_would_exceed_its_bytes() -> None:
    def held(texts: tuple[str, ...], most: int) -> int:
        frame = names_frame(0, texts, 0.0, most)
        return int(np.frombuffer(frame, "<u4", 1, 36)[0])

    names = ("a" * 96, "b" * 96, "c" * 96)
    assert [held(names, most) for most in (99, 200, 299, 300, 301)] == [
        1,
        2,
        2,
        3,
        3,
    ]  # one at least


def test_a_name_is_cut_between_characters() -> None:
    def texts(*names: str) -> list[int]:
        frame = names_frame(0, names)
        ends = np.frombuffer(frame, "<u4", len(names), int(np.frombuffer(frame, "<u4", 1, 40)[0]))
        return [int(length) for length in np.diff(ends, prepend=0)]

    assert texts("a" * 512, "a" * 513, "é" * 256, "é" * 257, "a" + "é" * 256) == [
        512, 512, 512, 512, 511,
    ]  # fmt: skip


def test_arrows_of_a_path_are_at_most_two_hundred() -> None:
    """Each call launches a kernel, and another waits for it: two arrows."""
    for steps in (100, 101):
        events = []
        for at in range(steps):
            begin = 20 * at
            told = {"correlation": at + 1}
            events += [
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1,
                 "ts": begin + 1, "dur": 2, "args": told},
                {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": begin + 5,
                 "dur": 6 + at % 5, "args": {"device": 0, "stream": 7, **told}},
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 100,
                 "tid": 1, "ts": begin + 4, "dur": 8 + at % 5, "args": {}},
            ]  # fmt: skip
        subject = TraceSession(draw("", events=events)).subject(VIEW)
        found = path_arrows(subject, PathArrowsQuery(start_ns=0, end_ns=20 * steps * US))
        assert found.count > 0
        assert len(found.arrows) == min(found.count, 200)
        assert [one.leave_ns for one in found.arrows] == sorted(
            one.leave_ns for one in found.arrows
        )


@pytest.mark.parametrize(("held", "splits"), [(9, 100), (10, 100), (11, 0)])
def test_a_segment_that_is_a_tenth_full_is_held_open(held: int, splits: int) -> None:
    room = segment(
        1 << 30,
        block(held * MIB, "active_allocated"),
        block((100 - held) * MIB, "inactive"),
    )
    found = explain(reread(snapshot(oom(95 * MIB, 0), segments=(room,))))
    assert found is not None
    assert found.splits == splits * MIB


def test_leaks_are_told_with_their_line() -> None:
    columns: Any = SimpleNamespace(
        blocks=SimpleNamespace(frame=np.array([0, -1])), strings=("/home/me/net.py(7): forward",)
    )
    growth: Any = SimpleNamespace(bytes_per_step=3 * MIB, rising=4, steps=6)
    for block_, said in ((0, "`forward` (net.py:7)"), (1, "at the end of 4 of 5 steps")):
        site: Any = SimpleNamespace(block=block_)
        assert said in words.leak_words(columns, growth, (site,))
    assert "at the end of 4 of 5 steps" in words.leak_words(columns, growth, ())
