"""Series beside the tracks: the old plugin's two, memory, queues; and that no peak is ever lost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.build.counters import utilization_edges
from kinetoscope.analysis.timeline.counter_tiles import cut_counter, levels_of
from kinetoscope.analysis.timeline.model import Counter, Timeline
from tests.analysis.timeline.made import timeline_of
from tests.drawing import V100, Event, draw, memory, trace_of

US = 1000


def counters(timeline: Timeline) -> dict[str, list[tuple[float, float]]]:
    """Samples of each series, in microseconds."""
    return {
        one.key: list(zip((one.ts / US).tolist(), one.value.tolist(), strict=True))
        for one in timeline.counters
    }


# --- the old plugin's tracks ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "buckets", "size"),
    [
        (1000, 100, 10),
        (1001, 100, 10),  # the last bucket is longer
        (1010, 101, 10),
        (10_999, 10, 1000),
        (99_999, 99, 1000),
        (100_000, 100, 1000),
        (7, 7, 1),
    ],
)
def test_buckets_of_a_power_of_ten(span: int, buckets: int, size: int) -> None:
    edges = utilization_edges(5, 5 + span)
    if buckets > 100:
        buckets, size = buckets // 10, size * 10
    assert (edges[0], edges[-1], len(edges) - 1) == (5, 5 + span, buckets)
    assert set(np.diff(edges)[:-1].tolist()) <= {size}
    assert len(utilization_edges(5, 5)) == 0


def test_utilization_is_the_busy_share_of_each_bucket() -> None:
    """20 µs make 20 buckets of 1 µs; kernels that run at once count once."""
    trace = draw(
        """
        op      |aaaaaaaaaaaaaaaaaaaa|
        gpu0.7  |  kkkk      l       |
        gpu0.9  |    mmmm            |
        copy0.9 |             cccc   |
        """
    )
    found = counters(timeline_of(trace))["device/GPU/0/utilization"]
    busy = [0.0] * 2 + [1.0] * 6 + [0.0] * 4 + [1.0] + [0.0] * 7
    assert found == [*((float(at), value) for at, value in enumerate(busy)), (20.0, 0.0)]


def test_utilization_of_the_head_is_not_known() -> None:
    """The first work waits from 20 to 400 µs: the device was on work launched before."""
    events: list[Event] = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10,
         "dur": 10, "args": {"correlation": 1}},
        {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 400, "dur": 600,
         "args": {"correlation": 1, "device": 0, "stream": 7}},
    ]  # fmt: skip
    timeline = timeline_of(trace_of(events))
    found = counters(timeline)["device/GPU/0/utilization"]
    assert {value for _, value in found[:-1]} == {1.0}
    assert (found[0][0], found[-1]) == (400.0, (1000.0, 0.0))
    (one,) = [one for one in timeline.counters if one.kind == "utilization"]
    assert one.definition.endswith(" ns. Before, the device was on work launched earlier.")


def test_utilization_covers_what_the_recorder_covers() -> None:
    span = {
        "ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
        "tid": "PyTorch Profiler", "ts": -5, "dur": 40,
    }  # fmt: skip
    trace = draw("gpu |    kkkk |", events=[span])
    found = counters(timeline_of(trace))["device/GPU/0/utilization"]
    assert found[0][0] == 0  # the span begins first
    assert (found[-1][0], len(found)) == (40, 41)


def test_sm_efficiency_adds_up_to_one_at_most() -> None:
    """Blocks per SM of what runs at once are added; what carries none counts nothing."""
    trace = draw(
        """
        gpu0.7 | kkkk    nn  zz |
        gpu0.9 |   mmmm       z |
        """,
        args={
            "k": {"blocks per SM": 0.5},
            "m": {"blocks per SM": 0.75},
            "n": {"blocks per SM": 5},
            "z": {"blocks per SM": 0},
        },
    )
    found = counters(timeline_of(trace))["device/GPU/0/sm_efficiency"]
    first = found[0][0]
    assert [(at - first, value) for at, value in found] == [
        (0, 0.5),
        (2, 1.0),
        (4, 0.75),
        (6, 0.0),
        (8, 1.0),
        (10, 0.0),
    ]


def test_where_nothing_is_known_there_is_no_series() -> None:
    cpu = draw("op |aaa|")
    assert timeline_of(cpu).counters == ()
    plain = counters(timeline_of(draw("gpu |kkk|")))
    assert "device/GPU/0/sm_efficiency" not in plain


# --- queues, memory, recorded ones ----------------------------------------------------------------


def test_what_is_launched_and_has_not_begun() -> None:
    trace = draw(
        """
        call |kl  m     n  |
        gpu  |   kkll   m n|
        """
    )
    assert counters(timeline_of(trace))["device/GPU/0/queued"] == [
        (0, 1),  # k is called
        (1, 2),  # l is called
        (3, 1),  # k has begun
        (4, 2),  # m is called
        (5, 1),  # l has begun
        (12, 0),  # n has begun; m began as n was called
    ]


def test_how_far_the_calls_are_ahead_of_their_work() -> None:
    trace = draw(
        """
        call |kl  m     n  |
        gpu  |   kkll   m n|
        """
    )
    assert counters(timeline_of(trace))["device/GPU/0/run_ahead"] == [
        (3, 2_000), (5, 3_000), (10, 5_000), (12, 1_000),
    ]  # fmt: skip


def test_a_replay_waits_once() -> None:
    rows: list[Event] = [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 100, "tid": 1,
         "ts": 0, "dur": 2, "args": {"correlation": 1}},
        *(
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts,
             "dur": 2, "args": {"device": 0, "stream": 7, "correlation": 1}}
            for ts in (4, 8, 12)
        ),
    ]  # fmt: skip
    assert counters(timeline_of(trace_of(rows)))["device/GPU/0/queued"] == [(0, 1), (4, 0)]


def test_a_launch_that_seems_later_than_its_work_is_never_negative() -> None:
    trace = draw(
        """
        call |   k |
        gpu  |kk   |
        """
    )
    assert counters(timeline_of(trace))["device/GPU/0/queued"] == [(0, 0)]


def test_memory_of_devices_and_of_the_host() -> None:
    trace = draw(
        "gpu |kkkkkkkkkk|",
        events=[
            memory(1, 100, 100, reserved=1000),
            memory(2, 50, 150, reserved=1000),
            memory(4, -100, 50, reserved=2000),
            memory(3, 7, 7, kind=0, device=-1),
        ],
        deviceProperties=[V100],
    )
    timeline = timeline_of(trace)
    found = counters(timeline)
    assert found["device/GPU/0/allocated"] == [(1, 100), (2, 150), (4, 50)]
    assert found["device/GPU/0/reserved"] == [(1, 1000), (2, 1000), (4, 2000)]
    assert found["memory/0/-1/allocated"] == [(3, 7)]
    labels = {one.key: (one.label, one.unit) for one in timeline.counters}
    assert labels["device/GPU/0/reserved"] == ("GPU 0 reserved memory", "bytes")
    assert labels["memory/0/-1/allocated"] == ("Host allocated memory", "bytes")
    assert all(one.definition.endswith(".") for one in timeline.counters)


def test_without_totals_the_change_is_shown_and_called_so() -> None:
    trace = draw("op |aaaa|", events=[memory(1, 100, None), memory(2, -30, None)])
    (one,) = timeline_of(trace).counters
    assert one.value.tolist() == [100, 70]
    assert "change" in one.label
    assert "wrote no totals" in one.definition


def test_recorded_counters() -> None:
    def sample(at: float, name: str, values: Any) -> dict[str, Any]:
        return {"ph": "C", "name": name, "pid": 0, "ts": at, "args": values}

    trace = draw(
        "op |aaaaaaaa|",
        events=[
            sample(1, "power", {"W": 5, "limit": "300.5"}),
            sample(2, "power", {"W": 7.5, "note": "text", "nothing": None, "huge": 10**400}),
            sample(3, "load", {"load": 0.5}),
        ],
    )
    timeline = timeline_of(trace)
    assert counters(timeline) == {
        "counter/power/W": [(1, 5), (2, 7.5)],
        "counter/power/limit": [(1, 300.5)],
        "counter/load/load": [(3, 0.5)],
    }
    assert [one.label for one in timeline.counters] == ["power · W", "power · limit", "load"]
    assert {timeline.groups[one.group].kind for one in timeline.counters} == {"recorder"}


# --- thinning -------------------------------------------------------------------------------------


def series(samples: list[tuple[int, float]], end: int) -> Counter:
    """A series with all levels that are worth anything."""
    ts = np.array([at for at, _ in samples], np.int64)
    value = np.array([value for _, value in samples], np.float64)
    return Counter("k", 0, "counter", "k", "", "", ts, value, levels_of(ts, value, end))


def test_a_bucket_knows_what_held_in_it() -> None:
    """
    ns      0       4       8       12
    value   ··2 2 2 2 5 1 1 1 1 1 1 1
    buckets of 4: from 1 on 2; then 2, 5, 1; then nothing new
    """
    one = series([(2, 2.0), (6, 5.0), (7, 1.0)], 12)
    cut, held = cut_counter(one, 2, 0)
    assert math.isnan(held)
    assert cut.bucket.tolist() == [0, 1]
    assert (cut.low.tolist(), cut.high.tolist()) == ([2, 1], [2, 5])
    assert cut.last.tolist() == [2, 1]
    assert cut.mean.tolist() == [2, (2 + 2 + 5 + 1) / 4]


values = st.sampled_from([-1.5, 0.0, 1.0, 2.0, 1e12])
gaps = st.one_of(st.integers(0, 3), st.integers(0, 3000))


@st.composite
def samples(draw_: st.DrawFn) -> list[tuple[int, float]]:
    """A series, several samples at one instant among it."""
    at, found = 0, []
    for gap, value in draw_(st.lists(st.tuples(gaps, values), min_size=1, max_size=120)):
        at += gap
        found.append((at, value))
    return found


@given(samples(), st.integers(0, 20), st.data())
def test_no_peak_is_lost_at_any_level(
    drawn: list[tuple[int, float]], level: int, data: st.DataObject
) -> None:
    end = drawn[-1][0] + 1
    one = series(drawn, end)
    tile = data.draw(st.integers(0, (end >> (level + 9)) + 1))
    cut, held = cut_counter(one, level, tile)
    start = tile << (level + 9)
    before = [value for at, value in drawn if at < start]
    assert held == before[-1] if before else math.isnan(held)
    expected = {}
    for number in range(512):
        left, right = start + (number << level), start + (number + 1 << level)
        inside = [(at, value) for at, value in drawn if left <= at < right]
        if inside:
            expected[number] = held_values(drawn, inside, left, right)
    assert cut.bucket.tolist() == list(expected)
    for at, (low, high, last, mean) in enumerate(expected.values()):
        assert (cut.low[at], cut.high[at], cut.last[at]) == (low, high, last)
        assert cut.mean[at] == pytest.approx(mean, abs=1e-3, rel=1e-9)


def held_values(
    every: list[tuple[int, float]], inside: list[tuple[int, float]], left: int, right: int
) -> tuple[float, float, float, float]:
    """Lowest, highest, last and mean value of a bucket, by definition."""
    earlier = [value for at, value in every if at < left]
    begin = [(left, earlier[-1])] if earlier and inside[0][0] > left else []
    pieces = [*begin, *inside]
    ends = [at for at, _ in pieces[1:]] + [right]
    area = sum(value * (end - at) for (at, value), end in zip(pieces, ends, strict=True))
    held = [value for _, value in pieces]
    return min(held), max(held), held[-1], area / (right - pieces[0][0])


@given(samples(), st.integers(0, 20))
def test_kept_levels_say_what_the_samples_say(drawn: list[tuple[int, float]], level: int) -> None:
    one = series(drawn, drawn[-1][0] + 1)
    bare = Counter("k", 0, "counter", "k", "", "", one.ts, one.value, {})
    for tile in range(3):
        (ours, held), (theirs, held_too) = (cut_counter(x, level, tile) for x in (one, bare))
        assert np.array_equal([held], [held_too], equal_nan=True)
        for name in ("bucket", "low", "high", "last"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
        assert np.allclose(ours.mean, theirs.mean)


def test_an_empty_series() -> None:
    cut, held = cut_counter(series([], 10), 3, 0)
    assert (len(cut.bucket), math.isnan(held)) == (0, True)


def test_a_file_of_old_times() -> None:
    """Nothing but allocator events: no process, and still a place for the series."""
    timeline = timeline_of(trace_of([memory(1, 5, 5)]))
    assert [one.group for one in timeline.counters] == [0, 0]
