"""Windows of the slices table fit together to the whole table, sorted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.range.slices import SORTS, rows_in, window_of
from kinetoscope.analysis.timeline.range.sums import Area
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.asked import US, ask, drawn, ids, plain, spans, traces, track

PICTURE = """
    op     | aaaaaaaa  bbb  aa  |
    op     |  cc  c             |
    gpu    |     kkkk           |
    """
ALL = Area(0, 20 * US)


def names(sort: str, text: str = "", area: Area = ALL) -> list[str]:
    """Names and lengths of the rows in order; time counts from the first slice."""
    of = drawn(PICTURE)
    window = rows_in(of, area, text, sort, 0, 100)
    slices = of.timeline.slices
    return [
        f"{of.timeline.names[slices.name[one]][-1]}{slices.dur[one] // US}" for one in window.ids
    ]


def test_rows_are_sorted_as_asked() -> None:
    assert names("ts") == ["a8", "c2", "k4", "c1", "b3", "a2"]
    assert names("-ts") == ["a2", "b3", "c1", "k4", "c2", "a8"]
    assert names("dur") == ["c1", "a2", "c2", "b3", "k4", "a8"]
    assert names("-self") == ["a8", "k4", "b3", "a2", "c2", "c1"]
    assert names("name") == ["a8", "a2", "b3", "c2", "c1", "k4"]


def test_words_choose_among_names() -> None:
    assert names("ts", "ATEN c") == ["c2", "c1"]
    assert names("ts", "aten kernel") == []


def test_tracks_and_time_choose_too() -> None:
    of = drawn(PICTURE)
    assert names("ts", area=Area(0, 20 * US, (track(of, "stream"),))) == ["k4"]
    assert names("ts", area=Area(7 * US, 12 * US)) == ["a8", "k4", "b3"]


def test_a_window_beside_the_table_is_empty() -> None:
    window = rows_in(drawn(PICTURE), ALL, "", "ts", 6, 10)
    assert (len(window.ids), window.count) == (0, 6)


@pytest.mark.parametrize("sort", [*SORTS, *(f"-{one}" for one in SORTS)])
@settings(max_examples=15)
@given(traces(), spans, st.integers(1, 7))
def test_windows_side_by_side_are_the_whole(
    sort: str, trace: Trace, span: tuple[int, int], size: int
) -> None:
    of = ask(trace)
    area = Area(*span)
    whole = rows_in(of, area, "", sort, 0, 20_000)  # too far for keeping the first ones
    assert sorted(ids(whole.ids)) == [
        one.id for one in plain(of, trace) if one.track >= 0 and one.touches(*span)
    ]
    windows = [rows_in(of, area, "", sort, at, size) for at in range(0, whole.count + 1, size)]
    assert [one for window in windows for one in ids(window.ids)] == ids(whole.ids)
    assert {window.count for window in windows} == {len(whole.ids)}
    slices = of.timeline.slices
    column = {
        "ts": slices.ts,
        "dur": slices.dur,
        "self": slices.self_ns,
        "name": np.array([of.timeline.names[code] for code in slices.name]),
    }[sort.removeprefix("-")]
    keys = column[whole.ids].tolist()
    assert keys == sorted(keys, reverse=sort.startswith("-"))


@given(st.lists(st.integers(0, 4), max_size=60), st.integers(0, 70), st.integers(1, 20))
def test_a_window_is_that_of_a_stable_sort(keys: list[int], offset: int, limit: int) -> None:
    key = np.array(keys, np.int64)
    expected = np.argsort(key, kind="stable")[offset : offset + limit]
    assert window_of(key, offset, limit).tolist() == expected.tolist()
