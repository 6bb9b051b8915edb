"""What the main thread did in a recording without a device: names, parts, places, threads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.idle import names as module
from kinetoscope.analysis.idle.holders import HeldRows
from kinetoscope.analysis.idle.names import labels_of
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.native import native
from tests.drawing import LOADER, draw
from tests.trace.drawn import drawn, launch


def test_names_by_exclusive_time_with_the_part_of_the_step_and_the_line() -> None:
    chosen = select(
        summarize(
            draw(
                """
                step   |11111111111111111111|
                frame  |tttttttttttttttttttt|
                frame  |dddddddddd          |
                op     |          mmmm      |
                note   |                LLLL|
                """,
                names={
                    "t": "train.py(9): main",
                    "d": "data.py(3): decode",
                    "L": LOADER,
                },
            )
        )
    )
    found = {one.name: (one.cause, one.idle_ns) for one in chosen.host_held}
    assert found == {
        "data.py(3): decode": ("python_ns", 10_000),
        "aten::m": ("forward_ns", 4_000),
        LOADER: ("dataloader_ns", 4_000),
        "train.py(9): main": ("python_ns", 2_000),
    }
    op = next(one for one in chosen.host_held if one.name == "aten::m")
    assert op.place is not None
    assert op.place.frame == "train.py(9): main"


def test_threads_that_work_at_once() -> None:
    facts = summarize(
        draw(
            """
            step   |1111111111|
            op     |aaaaaaaa  |
            op2    |  bbbbbb  |
            op3    |      cc  |
            """
        )
    )
    assert (facts.steps[0].parallel_ns, facts.steps[0].threads) == (16_000, 3)


def test_launches_whose_work_was_not_recorded() -> None:
    """Of a long call it is asked which kernel it launched first; here no kernel is known."""
    facts = summarize(drawn([launch(0, 2_000, 1), launch(3_000, 4_000, 2)]))
    (held,) = facts.steps[0].host_held
    assert facts.idle.names[held.name].name == "cudaLaunchKernel"
    assert (held.count, held.longest_ns, held.first) == (2, 4_000_000, "")


CAUSES = 3
HOLDS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, CAUSES - 1), st.integers(1, 99)))


@pytest.mark.parametrize("way", ["library", "reference", "of many names"])
@given(
    holds=HOLDS,
    name=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    marks=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_labels_are_in_order_of_name_and_cause(
    way: str, holds: list[tuple[int, int, int]], name: list[int], marks: list[bool]
) -> None:
    if way == "library" and native().library is None:
        pytest.skip(f"no native library: {native().reason}")
    row, cause, idle = (np.array([one[at] for one in holds], np.int64) for at in range(3))
    rows = HeldRows(row.astype(np.int32), row.astype(np.int32), idle, cause.astype(np.int8))
    trace: Any = SimpleNamespace(
        strings=["a", "b", "c", "d"], host=SimpleNamespace(name=np.array(name, np.int32))
    )
    hosts: Any = SimpleNamespace(marker=np.array(marks, np.bool_))
    with pytest.MonkeyPatch.context() as patch:
        if way != "library":
            patch.setattr(module, "call", lambda *_: None)
        if way == "of many names":
            patch.setattr(module, "MOST_LABELS", 1)
        label, total, occurs = labels_of(trace, hosts, rows, CAUSES)
    assert label.dtype == np.int32
    keys = [None if marks[at] else (name[at], why) for at, why, _ in holds]
    for one, key in zip(label.tolist(), keys, strict=True):
        assert (one == 0) == (key is None)
        mine = [held[2] for held, other in zip(holds, keys, strict=True) if other == key]
        assert (total[one], occurs[one]) == (sum(mine), len(mine))
    pairs = sorted({pair for pair in zip(label.tolist(), keys, strict=True) if pair[1]})
    assert [key for _, key in pairs] == sorted(key for _, key in pairs if key)
    assert len({one for one, _ in pairs}) == len(pairs)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=30))
def test_names_of_the_longest_calls_are_kept(entries: list[tuple[int, int]]) -> None:
    label = np.array([one[0] for one in entries], np.int32)
    idle = np.array([one[1] for one in entries], np.int64)
    kept = np.zeros(6, np.bool_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_CALLS", 3)
        module._keep_longest(kept, idle, label, int((label == 0).sum()))
    calls = sorted((one for one in entries if one[0]), key=lambda one: -one[1])
    limit = calls[:3][-1][1] if calls else 0
    sure = {one for one, length in calls if length > limit}
    tied = {one for one, length in calls if length == limit}
    found = set(np.flatnonzero(kept).tolist())
    assert sure <= found <= sure | tied
    room = 3 - sum(length > limit for _, length in calls)
    assert min(len(tied), 1) <= len(found & tied)
    assert len(found - sure) <= room
    if sum(length == limit for _, length in calls) <= room:
        assert found == sure | tied
