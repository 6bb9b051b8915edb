"""Rows of a table, against sums made one by one."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.operators.groups import group, paired, unpaired

members = st.lists(
    st.tuples(st.integers(-1, 5), st.one_of(st.integers(0, 9), st.integers(0, 2**41))), max_size=40
)


def test_a_table_by_name() -> None:
    name = np.array([7, 3, 7, 7, 3], np.int32)
    length = np.array([30, 5, 10, 20, 6])
    groups = group(np.arange(5), name, length)
    assert groups.key.tolist() == [3, 7]
    assert groups.size.tolist() == [2, 3]
    assert groups.sums(length).tolist() == [11, 60]
    assert groups.ranks.least.tolist() == [5, 10]
    assert length[groups.longest()].tolist() == [6, 30]
    assert groups.ranks.median.tolist() == [5, 20]
    assert groups.of(1).tolist() == [2, 3, 0]


def test_rows_in_any_order_are_the_same_groups() -> None:
    name, length = np.array([7, 3, 7], np.int32), np.array([30, 5, 10])
    groups = group(np.array([2, 0, 1]), name, length)
    assert (groups.key.tolist(), groups.sums(length).tolist()) == ([3, 7], [5, 40])
    some = group(np.array([2, 1]), name, length)
    assert (some.sums(length).tolist(), some.of(1).tolist()) == ([5, 10], [2])


@given(members)
def test_every_figure_is_that_of_the_members(rows: list[tuple[int, int]]) -> None:
    key = np.array([row[0] for row in rows], np.int64)
    length = np.array([row[1] for row in rows], np.int64)
    groups = group(np.arange(len(rows)), key, length)
    expected: dict[int, list[int]] = {}
    for one, span in rows:
        expected.setdefault(one, []).append(span)
    assert groups.key.tolist() == sorted(expected)
    for at, one in enumerate(groups.key.tolist()):
        spans = sorted(expected[one])
        assert length[groups.of(at)].tolist() == spans
        assert groups.sums(length)[at] == sum(spans)
        assert groups.ranks.least[at] == spans[0]
        assert groups.ranks.most[at] == length[groups.longest()[at]] == spans[-1]
        assert groups.ranks.median[at] == spans[math.ceil(0.5 * len(spans)) - 1]
        assert groups.ranks.p95[at] == spans[math.ceil(0.95 * len(spans)) - 1]


@given(st.integers(-1, 2**31 - 2), st.integers(-1, 2**31 - 2))
def test_a_pair_of_codes_is_one_key(outer: int, inner: int) -> None:
    key = paired(np.array([outer]), np.array([inner]))
    assert unpaired(int(key[0])) == (outer, inner)
