"""What lies in a range of time, against a count slice by slice and tick by tick."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from kinetoscope.analysis.timeline.model import Counter
from kinetoscope.analysis.timeline.range.devices import devices_in, series_in
from kinetoscope.analysis.timeline.range.sums import Area, slices_in, sums_in
from kinetoscope.analysis.timeline.timeline import Opened
from kinetoscope.base.intervals import Intervals
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.asked import (
    US,
    ask,
    drawn,
    find,
    ids,
    nearest_rank,
    plain,
    self_times,
    spans,
    traces,
    track,
)

PICTURE = """
    step   |11111111112222222222|
    op     |  aaaaaaaa  bbb     |
    op     |   cc cc            |
    call   |  l     m           |
    gpu    |    llll   mmmm  ss |
    """


def row(of: Opened, area: Area, name: str) -> dict[str, int]:
    """The sums of one name."""
    sums = sums_in(of, area)
    at = [of.timeline.names[code] for code in sums.name].index(name)
    columns = ("count", "total", "self_ns", "least", "median", "p95", "most", "longest")
    return {column: int(getattr(sums, column)[at]) for column in columns}


def test_slices_at_the_edges_are_cut() -> None:
    #                     ▕ area ▏
    # op     |  aaaaaaaa  bbb     |   a: 2 … 10, of which 4 … 9 is inside
    # op     |   cc cc            |   c: 3 … 5 and 6 … 8, of which 4 … 5 and 6 … 8
    # call   |  l     m           |   m: 8 … 9
    of = drawn(PICTURE)
    area = Area(4 * US, 9 * US)
    assert row(of, area, "aten::a") == {
        "count": 1,
        "total": 5 * US,
        "self_ns": US,
        "least": 5 * US,
        "median": 5 * US,
        "p95": 5 * US,
        "most": 5 * US,
        "longest": find(of, "aten::a"),
    }
    both = row(of, area, "aten::c")
    assert (both["count"], both["total"], both["least"], both["most"]) == (2, 3 * US, US, 2 * US)
    assert both["longest"] == find(of, "aten::c", 1)
    assert sums_in(of, area).clipped == 3  # the step, a, and the first c


def test_what_ends_where_the_area_begins_is_outside() -> None:
    of = drawn(PICTURE)
    names = [of.timeline.names[code] for code in sums_in(of, Area(10 * US, 12 * US)).name]
    assert "aten::a" not in names
    assert "ProfilerStep#1" not in names
    assert "ProfilerStep#2" in names


def test_tracks_are_chosen() -> None:
    of = drawn(PICTURE)
    sums = sums_in(of, Area(0, 20 * US, (track(of, "stream"),)))
    assert sorted(of.timeline.names[code] for code in sums.name) == [
        "kernel_l",
        "kernel_m",
        "kernel_s",
    ]
    nothing = sums_in(of, Area(0, 20 * US, ()))
    assert (nothing.slices, len(nothing.name)) == (0, 0)


def test_an_area_beside_everything_is_empty() -> None:
    sums = sums_in(drawn(PICTURE), Area(10**9, 10**9 + 1))
    assert (sums.slices, sums.clipped, len(sums.name)) == (0, 0, 0)


@settings(max_examples=50)
@given(traces(), spans)
def test_sums_are_those_of_the_slices_one_by_one(trace: Trace, span: tuple[int, int]) -> None:
    start, end = span
    for layout in ("split", "filtered"):
        of = ask(trace, layout)
        every = plain(of, trace)
        spent = self_times(every, start, end)
        shown = [one for one in every if one.track >= 0 and one.touches(start, end)]
        assert sorted(ids(slices_in(of, Area(start, end)))) == [one.id for one in shown]
        sums = sums_in(of, Area(start, end))
        assert sums.slices == len(shown)
        assert sums.clipped == sum(one.inside(start, end) < one.dur for one in shown)
        assert sums.total.tolist() == sorted(sums.total.tolist(), reverse=True)
        for at, code in enumerate(sums.name.tolist()):
            members = [one for one in shown if one.name == of.timeline.names[code]]
            lengths = [one.inside(start, end) for one in members]
            assert sums.count[at] == len(members)
            assert sums.total[at] == sum(lengths)
            assert sums.self_ns[at] == sum(spent[one.id] for one in members)
            assert sums.least[at] == min(lengths)
            assert sums.most[at] == max(lengths)
            assert sums.median[at] == nearest_rank(lengths, 50)
            assert sums.p95[at] == nearest_rank(lengths, 95)
            longest = next(one for one in members if one.id == sums.longest[at])
            assert longest.inside(start, end) == max(lengths)
        assert {of.timeline.names[code] for code in sums.name} == {one.name for one in shown}


@settings(max_examples=30)
@given(traces())
def test_the_whole_is_a_range_like_any_other(trace: Trace) -> None:
    of = ask(trace)
    end = of.timeline.end_ns
    short, long = sums_in(of, Area(0, end + 1)), sums_in(of, Area(-1, end + 1, None))
    tracks = tuple(range(len(of.layout.tracks)))
    one_by_one = sums_in(of, Area(0, end + 1, tracks))
    for other in (long, one_by_one):
        assert short.slices == other.slices == len(of.timeline.slices)
        for column in ("name", "count", "total", "self_ns", "least", "median", "p95", "most"):
            assert getattr(short, column).tolist() == getattr(other, column).tolist()


# --- devices --------------------------------------------------------------------------------------


def test_a_device_is_busy_or_idle() -> None:
    #         0    5    10   15
    # gpu    |    llll   mmmm  ss |
    # nccl   |      cccccc        |
    of = drawn(
        """
        op     |o                   |
        call   |  l     m   c       |
        gpu    |    llll   mmmm  ss |
        gpu0.9 |      cccccc        |
        """,
        names={"c": "ncclKernel_AllReduce"},
    )
    (device,) = devices_in(of, 0, 20 * US)
    assert device.busy_ns + device.idle_ns == 20 * US
    assert device.busy_ns == 13 * US  # 4 … 15 and 17 … 19
    assert device.compute_ns == 10 * US
    assert device.communication_ns == 6 * US
    assert device.overlap_ns == (2 + 1) * US
    assert device.copy_ns == 0
    assert (device.gaps, device.longest_gap_ns, device.longest_gap_ts) == (3, 4 * US, 0)


def test_work_of_an_unknown_category_is_compute_as_on_the_overview() -> None:
    event = {"ph": "X", "cat": "vendor_thing", "name": "fc", "pid": 0, "tid": 7, "ts": 12, "dur": 4}
    of = drawn("gpu |    llll            |", events=[{**event, "args": {"stream": 7}}])
    (device,) = devices_in(of, 0, 16 * US)
    assert (device.compute_ns, device.busy_ns) == (8 * US, 8 * US)


def test_without_a_device_there_is_none() -> None:
    assert devices_in(drawn("op |aaa|"), 0, 3 * US) == ()


@settings(max_examples=50)
@given(traces(), spans)
def test_devices_tick_by_tick(trace: Trace, span: tuple[int, int]) -> None:
    start, end = span
    of = ask(trace)
    every = plain(of, trace)
    devices = devices_in(of, start, end)
    groups = sorted({of.layout.tracks[one.track].group for one in every if one.track >= 0})
    with_streams = [
        group
        for group in groups
        if any(t.group == group and t.kind == "stream" for t in of.layout.tracks)
    ]
    assert len(devices) == len(with_streams)
    for device, group in zip(devices, with_streams, strict=True):
        mine = [
            one
            for one in every
            if of.layout.tracks[one.track].group == group
            and of.layout.tracks[one.track].kind == "stream"
        ]
        busy = compute = communication = both = 0
        idle: list[bool] = []
        for tick in range(start, end, US):
            names = {one.name for one in mine if one.ts <= tick < one.end}
            talks, works = "ncclKernel_AllReduce" in names, bool(names & {"gemm", "relu"})
            busy += bool(names)
            compute += works
            communication += talks
            both += talks and works
            idle.append(not names)
        assert device.busy_ns == busy * US
        assert device.idle_ns == len(idle) * US - busy * US
        assert device.compute_ns == compute * US
        assert device.communication_ns == communication * US
        assert device.overlap_ns == both * US
        runs = "".join(".x"[one] for one in idle).split(".")
        assert device.gaps == sum(bool(run) for run in runs)
        assert device.longest_gap_ns == max(len(run) for run in runs) * US


# --- series ---------------------------------------------------------------------------------------


def counter(*samples: tuple[int, float]) -> Counter:
    """A series with these samples."""
    ts, value = (np.array([one[i] for one in samples]) for i in (0, 1))
    return Counter("c", 0, "counter", "c", "", "", ts.astype(np.int64), value.astype(float), {})


def test_a_value_holds_until_the_next_sample() -> None:
    series = counter((10, 1.0), (20, 5.0), (30, 2.0))
    use = series_in(series, 15, 35)
    assert (use.low, use.high) == (1.0, 5.0)
    assert use.mean == pytest.approx((5 * 1 + 10 * 5 + 5 * 2) / 20)
    assert use.delta == 1.0
    assert series_in(series, 100, 110).mean == 2.0


def test_before_the_first_sample_there_is_no_value() -> None:
    series = counter((10, 4.0))
    use = series_in(series, 0, 10)
    assert (use.low, use.high, use.mean, use.delta) == (None, None, None, None)
    assert series_in(series, 0, 20).mean == 4.0


def test_a_peak_of_no_length_counts() -> None:
    use = series_in(counter((0, 1.0), (5, 9.0), (5, 2.0)), 0, 10)
    assert (use.high, use.mean) == (9.0, 1.5)


def test_no_gap_in_start_up_is_idle() -> None:
    """A first call lasts from 8 to 11 µs; the device works from 6 to 8 and 12 to 15."""
    of = drawn("""
        op  |x                       |
        gpu |      aa    bbb         |
        """)
    key = next(one.key for one in of.timeline.groups if one.kind == "device")
    first = Intervals(np.array([8 * US]), np.array([11 * US]))
    (device,) = devices_in(of, 2 * US, 18 * US, start_up={key: first, "device/GPU/7": first})
    assert (device.busy_ns, device.unknown_ns, device.idle_ns) == (5 * US, 3 * US, 8 * US)
    assert (device.gaps, device.longest_gap_ns) == (3, 4 * US)


def test_no_gap_in_the_head_is_idle() -> None:
    """The area is 2 to 18 µs, the head ends at 10 µs, the device works from 6 to 8 and 12 to 15."""
    of = drawn("""
        op  |x                       |
        gpu |      aa    bbb         |
        """)
    (device,) = devices_in(of, 2 * US, 18 * US, head=10 * US)
    assert (device.busy_ns, device.unknown_ns, device.idle_ns) == (5 * US, 6 * US, 5 * US)
    assert device.longest_gap_ts == 15 * US
