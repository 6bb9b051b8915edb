"""One row per call: who is inside whom, whose time it is, and what it launched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.operators.calls import (
    Called,
    call_tree,
    call_tree_in_python,
    find_calls,
)
from kinetoscope.analysis.operators.model import CallKind
from kinetoscope.analysis.operators.stacks import frames_of
from kinetoscope.base.arrays import I32, I64
from kinetoscope.trace.model import HostTable, Trace
from tests.collected import FILES, opened
from tests.conftest import requires_traces
from tests.drawing import draw


def found(trace: Trace) -> Called:
    return find_calls(trace, np.zeros(len(trace.device), np.int8))


def table(trace: Trace) -> dict[str, tuple[int, ...]]:
    """Name → calls, total, self, device total, device self; times in µs."""
    calls = found(trace).calls
    rows = {}
    for code in np.unique(calls.name):
        own = calls.name == code
        columns = (calls.total_ns, calls.self_ns, calls.device_total_ns, calls.device_self_ns)
        sums = (int(column[own].sum()) // 1000 for column in columns)
        rows[trace.strings[code]] = (int(own.sum()), *sums)
    return rows


def test_self_is_what_no_child_covers_and_device_time_rises() -> None:
    trace = draw(
        """
        op   | aaaaaaaaaaaa  d |
        op   |  bbbb  ccc      |
        call |   k     m     n |
        gpu  |     kkkk  mm  nn|
        """
    )
    assert table(trace) == {
        "aten::a": (1, 12, 5, 6, 0),
        "aten::b": (1, 4, 3, 4, 4),
        "aten::c": (1, 3, 2, 2, 2),
        "aten::d": (1, 1, 0, 2, 2),
        "cudaLaunchKernel": (3, 3, 3, 0, 0),
    }


def test_an_only_child_of_the_same_name_is_the_same_call() -> None:
    trace = draw(
        """
        op   | aaaaaaaa   aaaaaaaa |
        op   |  bbbbbb     cc dd   |
        """,
        names={"a": "aten::x", "b": "aten::x", "c": "aten::x", "d": "aten::x"},
    )
    # The first is one call of 8; the second has two children, which are calls of their own.
    assert table(trace) == {"aten::x": (4, 8 + 8 + 2 + 2, 8 + 4 + 2 + 2, 0, 0)}


def test_what_overlaps_is_no_child() -> None:
    trace = draw(
        """
        op   | aaaaaaaa     |
        note |     bbbbbbbb |
        """
    )
    assert table(trace) == {"aten::a": (1, 8, 8, 0, 0), "note b": (1, 8, 8, 0, 0)}


def test_work_launched_outside_any_op_belongs_to_its_call() -> None:
    trace = draw(
        """
        frame | ffffffff |
        call  |   k      |
        gpu   |     kkkk |
        """
    )
    assert table(trace)["cudaLaunchKernel"] == (1, 1, 1, 4, 4)
    # The frame around it caused it too, but did not launch it.
    assert table(trace)["train.py(1): f"] == (1, 8, 7, 4, 0)


def test_ranges_around_modules_are_modules_and_no_annotations() -> None:
    trace = draw(
        """
        note   | nnnnnnnnnnnn |
        note   |  mmmm        |
        op     |   aa    bb   |
        """,
        names={"m": "[module]Linear: head"},
    )
    called = found(trace)
    calls = called.calls
    rows = {trace.strings[calls.name[row]]: row for row in range(len(calls))}
    assert trace.strings[calls.module[rows["aten::a"]]] == "[module]Linear: head"
    assert calls.module[rows["aten::b"]] == -1
    assert trace.strings[calls.annotation[rows["aten::a"]]] == "note n"


def test_rows_know_their_stack_module_and_annotation() -> None:
    trace = draw(
        """
        note   | nnnnnnnnnnnn |
        frame  | ffffffffff   |
        module |  mmmm  mmmm  |
        op     |   aa    bb  c|
        """
    )
    called = found(trace)
    calls, stacks = called.calls, called.stacks
    rows = {trace.strings[calls.name[row]]: row for row in range(len(calls))}

    def path(row: int) -> list[str]:
        at, frames = int(calls.stack[row]), []
        while at >= 0:
            frames.append(trace.strings[stacks.frame[at]])
            at = int(stacks.parent[at])
        return frames

    assert path(rows["aten::a"]) == ["nn.Module: m_0", "train.py(1): f"]
    assert calls.stack[rows["aten::a"]] == calls.stack[rows["aten::b"]]
    assert trace.strings[calls.module[rows["aten::b"]]] == "nn.Module: m_0"
    assert trace.strings[calls.annotation[rows["aten::a"]]] == "note n"
    assert path(rows["aten::c"]) == []
    assert calls.module[rows["aten::c"]] == -1
    assert calls.kind[rows["note n"]] == CallKind.ANNOTATION


@requires_traces
@pytest.mark.parametrize("name", FILES)
def test_all_device_time_is_somebodys_or_unattributed(name: str) -> None:
    trace = opened(name)
    called = found(trace)
    dur = trace.device.dur.astype(np.int64)
    lost = called.call_of < 0
    assert called.calls.device_self_ns.sum() + dur[lost].sum() == dur.sum()
    assert (called.credit.reason[lost] >= 0).all()
    assert (called.credit.reason[~lost] == -1).all()
    linked = trace.device.launch >= 0
    if linked.any():
        assert not (lost & linked).any(), "what has a launch is somebody's"
    assert (called.calls.self_ns <= called.calls.total_ns).all()
    assert (called.calls.device_self_ns <= called.calls.device_total_ns).all()


def test_a_stack_that_the_recorder_wrote_is_taken_where_no_frame_is() -> None:
    written = {"Call stack": "model.py(9): forward;train.py(3): main"}
    trace = draw(
        """
        frame |       ffff |
        op    | aaa b  c   |
        """,
        args={"a": written, "b": written, "c": written},
    )
    called = found(trace)
    calls, stacks, strings = called.calls, called.stacks, called.strings
    rows = {strings[calls.name[row]]: row for row in range(len(calls))}

    def path(name: str) -> list[str]:
        return [strings[code] for code in frames_of(stacks, int(calls.stack[rows[name]]))]

    assert path("aten::a") == path("aten::b") == ["model.py(9): forward", "train.py(3): main"]
    assert path("aten::c") == ["train.py(1): f"]
    assert calls.stack[rows["aten::a"]] == calls.stack[rows["aten::b"]]


@dataclass(frozen=True)
class Ranges:
    """What the tree of calls reads of a host table."""

    thread: I32
    ts: I64
    dur: I64
    name: I32

    def __len__(self) -> int:
        return len(self.ts)


RANGES = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 12), st.integers(0, 9), st.integers(0, 1)),
    max_size=40,
)


@given(RANGES)
def test_the_tree_of_the_library_is_that_of_the_reference(
    ranges: list[tuple[int, int, int, int]],
) -> None:
    """Ranges that touch, overlap, are equal, or take no time, on two threads."""
    rows = sorted(ranges, key=lambda one: (one[0], one[1], -one[2]))
    thread, ts, dur, name = (
        np.array([one[at] for one in rows], kind)
        for at, kind in enumerate((np.int32, np.int64, np.int64, np.int32))
    )
    host = cast("HostTable", Ranges(thread, ts, dur, name))
    fast, plain = call_tree(host), call_tree_in_python(host)
    for column in ("parent", "self_ns", "survivor"):
        assert getattr(fast, column).tolist() == getattr(plain, column).tolist(), column


@requires_traces
@pytest.mark.parametrize("name", FILES[::9])
def test_the_tree_of_a_recording_is_that_of_the_reference(name: str) -> None:
    trace = opened(name)
    fast, plain = call_tree(trace.host), call_tree_in_python(trace.host)
    for column in ("parent", "self_ns", "survivor"):
        assert np.array_equal(getattr(fast, column), getattr(plain, column)), column
