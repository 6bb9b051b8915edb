"""Arrows, joins, clocks: the parts that have a definition of one line."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base.arrays import Sparse, cells, dense, pairs_of
from kinetoscope.trace.build.metadata import identify, take_census
from kinetoscope.trace.build.order import order_rows, places_in, split
from kinetoscope.trace.build.route import sort_out
from kinetoscope.trace.build.times import FAR_NS, base_ns, believable, bounds, resolution_ns
from kinetoscope.trace.link.flows import last_started, match_flows
from kinetoscope.trace.link.launches import join, repeated
from kinetoscope.trace.raw import MISSING, Texts
from tests.trace.drawn import Event, raw_trace

IDS = st.lists(st.integers(-2, 9), max_size=12)


@given(IDS, IDS)
def test_join_finds_the_last_row_that_carries_an_id(key: list[int], wanted: list[int]) -> None:
    rows = np.arange(len(key), dtype=np.int32)
    for stretch in (1, 1 << 40):  # ids that fit a table, and ids that do not
        found = join(np.array(key, np.int64) * stretch, rows, np.array(wanted, np.int64) * stretch)
        for ask, row in zip(wanted, found.tolist(), strict=True):
            at = [place for place, number in enumerate(key) if number == ask and ask > 0]
            assert row == max(at, default=-1)


@given(IDS)
def test_repeated_ids(key: list[int]) -> None:
    expected = [number > 0 and key.count(number) > 1 for number in key]
    assert repeated(np.array(key, np.int64)).tolist() == expected


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=12),
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 10)), max_size=8),
)
def test_last_started_of_a_group(rows: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    rows = sorted(rows)
    group = np.array([g for g, _ in rows], np.int64)
    offsets = np.searchsorted(group, np.arange(5)).astype(np.int64)
    found = last_started(
        offsets,
        np.array([ts for _, ts in rows], np.int64),
        np.array([g for g, _ in asked], np.int32),
        np.array([at for _, at in asked], np.int64),
    )
    for (g, at), row in zip(asked, found.tolist(), strict=True):
        started = [place for place, (owner, ts) in enumerate(rows) if owner == g and ts <= at]
        assert row == max(started, default=-1)


@given(st.dictionaries(st.integers(0, 19), st.integers(), max_size=10), st.permutations(range(20)))
def test_sparse_columns_move_to_a_table(values: dict[int, int], order: list[int]) -> None:
    kept = np.array(order[:12], np.int32)
    row = np.array(sorted(values), np.int32)
    value = np.array([values[at] % 1000 for at in sorted(values)], np.int64)
    column = Sparse(row, value)
    expected = [values[at] % 1000 if at in values else -1 for at in kept.tolist()]
    assert cells(column, kept, -1).tolist() == expected
    others = np.array(order[12:15], np.int32)
    columns = {"c": column, "skipped": column}
    table, other = split(columns, places_in([kept, others], 20), [("skipped",), ()])
    assert columns == {}
    assert set(table) <= {"c"}
    assert dense(table.get("c"), len(kept), -1).tolist() == expected
    if "c" in table:
        assert (np.diff(table["c"].row) > 0).all()
        assert cells(table["c"], np.arange(12), -1).tolist() == expected
    found = dense(other.get("skipped"), len(others), -1).tolist()
    assert found == [values[at] % 1000 if at in values else -1 for at in others.tolist()]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20))
def test_pairs_are_numbered(pairs: list[tuple[int, int]]) -> None:
    first = np.array([a for a, _ in pairs], np.int32)
    second = np.array([b for _, b in pairs], np.int32)
    a, b, index = pairs_of(first, second, 31)
    assert list(zip(a.tolist(), b.tolist(), strict=True)) == sorted(set(pairs))
    assert a[index].tolist() == first.tolist()
    assert b[index].tolist() == second.tolist()


def test_order_by_key_and_time_where_the_two_do_not_fit_one_number() -> None:
    key = np.array([1, 0, 1, 0], np.int32)
    rows = np.arange(4, dtype=np.int32)
    for far in (10, 1 << 61):
        ts = np.array([far, 5, 0, far], np.int64)
        assert order_rows(rows, key, ts).row.tolist() == [1, 3, 2, 0]


def arrow(phase: str, number: object, ts: int = 0, cat: str = "ac2g") -> Event:
    return {"ph": phase, "cat": cat, "name": cat, "id": number, "pid": 1, "tid": 1, "ts": ts}


def test_arrows_by_category_and_id() -> None:
    raw = raw_trace(
        [
            arrow("s", 1),
            arrow("f", 1),
            arrow("f", 1),  # one start, two ends
            arrow("s", 2, cat="fwdbwd"),
            arrow("f", 2),  # another category
            arrow("s", "0x3"),
            arrow("f", "0x3"),
            arrow("s", 4),
            arrow("f", 1704161511422904204),
        ]
    )
    texts = Texts(raw.strings)
    rows = sort_out(raw, texts, identify(raw, texts), take_census(raw.events, texts))
    flows = match_flows(raw, texts, rows)
    assert list(zip(flows.start.tolist(), flows.end.tolist(), strict=True)) == [
        (0, 1),
        (0, 2),
        (5, 6),
    ]
    assert (flows.lonely_starts, flows.lonely_ends) == (2, 2)


def test_the_middle_half_decides_what_is_far() -> None:
    day = 86_400 * 10**9
    recording = np.arange(1000, dtype=np.int64) * 10**6 + 50 * day
    ts = np.concatenate([recording, [0, MISSING, 12, 90 * day]])
    kept = believable(ts, bounds(ts))
    assert kept.tolist() == [True] * 1000 + [False] * 4
    # An hour is not far, and a long recording stretches what is far.
    assert believable(ts[:2] - FAR_NS // 2, bounds(ts)).all()
    long = np.linspace(day, 40 * day, 100).astype(np.int64)
    assert believable(np.array([0]), bounds(long)).all()


def test_resolution() -> None:
    whole = np.array([5000, 7000], np.int64)
    rows = np.arange(2, dtype=np.int32)
    assert resolution_ns((whole, whole), (rows,)) == 1000
    assert resolution_ns((whole, whole + 1), (rows[:0], rows)) == 1
    assert resolution_ns((whole, np.array([5000, 7001])), (rows[:1],)) == 1000
    assert resolution_ns((whole, whole), (rows[:0],)) == 1


def test_base_time_of_any_type() -> None:
    assert base_ns({"baseTimeNanoseconds": "1790857026000000000"}) == 1790857026000000000
    assert base_ns({"baseTimeNanoseconds": None}) == 0
    assert base_ns({"baseTimeNanoseconds": float("inf")}) == 0
    assert base_ns({}) == 0
