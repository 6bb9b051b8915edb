"""Rows moved and found: the library, and the reference, do what numpy does in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kinetoscope.base import arrays, machine
from kinetoscope.base.arrays import (
    are_thousands,
    combine,
    count_codes,
    distinct,
    distinct_values,
    extent,
    flags_by_code,
    is_among,
    is_any,
    least_of_largest,
    occur_twice,
    pairs_at,
    places_of,
    put,
    ranked,
    rows_by_code,
    search,
    seen,
    stable_order,
    take,
    tally,
    where,
    where_code,
)
from kinetoscope.base.machine import THREADS_VARIABLE
from kinetoscope.base.native import native

MANY = 10_000  # so many that the library is asked
SETTINGS = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
SEED = st.integers(0, 1 << 32)
DTYPES = st.sampled_from([np.bool_, np.int8, np.uint8, np.int16, np.int32, np.int64, np.float64])


@pytest.fixture(params=["library", "reference"], autouse=True)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "reference":
        monkeypatch.setattr(arrays, "_MANY", 1 << 62)
    elif native().library is None:
        pytest.skip(f"no native library: {native().reason}")


def some(seed: int, dtype: type, count: int = MANY) -> NDArray[Any]:
    """Values of few kinds, negative ones too."""
    return np.random.default_rng(seed).integers(-3, 4, count).astype(dtype)


def rows(seed: int, below: int, dtype: type, count: int = MANY) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(0, below, count).astype(dtype)


@SETTINGS
@given(SEED, DTYPES, st.sampled_from([np.int32, np.int64]))
def test_take_and_put(seed: int, dtype: type, index: type) -> None:
    column, asked = some(seed, dtype), rows(seed, MANY, index)
    assert take(column, asked).dtype == column.dtype
    np.testing.assert_array_equal(take(column, asked), column[asked])
    np.testing.assert_array_equal(take(column[::2], asked // 2), column[::2][asked // 2])
    values, expected = some(seed + 1, dtype), column.copy()
    expected[asked] = values
    put(column, asked, values)
    np.testing.assert_array_equal(column, expected)


@SETTINGS
@given(SEED, DTYPES, st.lists(st.integers(0, 3), max_size=3))
def test_where_and_is_any(seed: int, dtype: type, values: list[int]) -> None:
    column = some(seed, dtype)
    hits = is_any(column, values)
    np.testing.assert_array_equal(hits, np.isin(column, values))
    np.testing.assert_array_equal(where(hits), np.flatnonzero(hits))
    np.testing.assert_array_equal(where(hits[::3]), np.flatnonzero(hits[::3]))
    assert where(hits).dtype == np.int32


@SETTINGS
@given(SEED, st.integers(1, 2 * MANY), st.sampled_from([np.int8, np.int32, np.int64]))
def test_codes_that_occur(seed: int, size: int, dtype: type) -> None:
    codes = rows(seed, min(size, np.iinfo(dtype).max), dtype)
    np.testing.assert_array_equal(seen(codes, size), np.isin(np.arange(size), codes))
    np.testing.assert_array_equal(distinct(codes, size), np.unique(codes))
    np.testing.assert_array_equal(occur_twice(codes, size), np.bincount(codes, minlength=size) > 1)


@SETTINGS
@given(SEED, st.permutations(range(9)), st.integers(0, 4), st.integers(0, 3))
def test_rows_of_codes(seed: int, codes: list[int], first: int, more: int) -> None:
    column = rows(seed, 7, np.uint8)
    groups = codes[:first], codes[first : first + more], codes[8:]
    for group, found in zip(groups, rows_by_code(column, groups), strict=True):
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, np.flatnonzero(np.isin(column, group)))
    assert rows_by_code(column, ()) == []
    expected = np.bincount(column, minlength=256)
    np.testing.assert_array_equal(count_codes(column), expected)
    np.testing.assert_array_equal(count_codes(column.view(np.int8)), expected)
    wanted = np.isin(np.arange(7), codes[:first])
    found = where_code(column.astype(np.int32), wanted)
    np.testing.assert_array_equal(found, np.flatnonzero(wanted[column]))
    assert found.dtype == np.int32


@SETTINGS
@given(SEED)
def test_kinds_of_code_and_mark(seed: int) -> None:
    codes, marks = rows(seed, 5, np.int32), rows(seed + 1, 256, np.uint8)
    index = np.array([512, 0, 256, 0, 512], np.int32)
    kind = index[codes] + marks
    np.testing.assert_array_equal(tally(codes, marks, index, 768), np.bincount(kind, minlength=768))
    table = rows(seed + 2, 256, np.uint8, 768)
    np.testing.assert_array_equal(combine(codes, marks, index, table), table[kind])
    flags = np.uint8(1) << rows(seed + 3, 8, np.uint8, 256)
    few = marks % 3
    found = flags_by_code(codes, few, flags, 6)
    for code in range(6):
        assert found[code] == np.bitwise_or.reduce(flags[few[codes == code]], initial=0)


@SETTINGS
@given(SEED, st.integers(0, 4), st.integers(1, 9), st.integers(1, 9000))
def test_parts_of_rows_make_the_whole(seed: int, groups: int, threads: int, piece: int) -> None:
    """However many threads take part."""
    codes, marks = rows(seed, 5, np.int32), rows(seed + 1, 7, np.uint8)
    index, table = np.array([7, 0, 14, 0, 7], np.int32), rows(seed + 2, 256, np.uint8, 21)
    flags, wanted = np.uint8(1) << rows(seed + 3, 8, np.uint8, 256), ((3, 5), (), (0,), (9, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "PIECE", piece)
        patch.setenv(THREADS_VARIABLE, str(threads))
        found = rows_by_code(marks, wanted[:groups])
        combined, flagged = (
            combine(codes, marks, index, table),
            flags_by_code(codes, marks, flags, 5),
        )
    for group, some_rows in zip(wanted, found, strict=False):
        assert some_rows.tolist() == np.flatnonzero(np.isin(marks, group)).tolist()
    assert len(found) == groups
    np.testing.assert_array_equal(combined, table[index[codes] + marks])
    expected = [np.bitwise_or.reduce(flags[marks[codes == code]]) for code in range(5)]
    assert flagged.tolist() == expected


@SETTINGS
@given(SEED, st.sampled_from([1, 5, MANY]))
def test_what_is_said_of_some_rows(seed: int, kinds: int) -> None:
    asked = rows(seed, 2 * MANY, np.int32)
    column = np.random.default_rng(seed).integers(-(2**62), 2**62, 2 * MANY)
    assert extent(column, asked) == (column[asked].min(), column[asked].max())
    whole = column // 1000 * 1000
    assert are_thousands(whole, asked)
    whole[asked[seed % len(asked)]] += 1 + seed % 999
    assert not are_thousands(whole, asked)
    pid, tid = rows(seed + 1, kinds, np.int32, 2 * MANY), rows(seed + 2, 3, np.int32, 2 * MANY)
    some, other, index = pairs_at(asked, pid, tid, MANY)
    pairs = list(zip(some.tolist(), other.tolist(), strict=True))
    assert pairs == sorted(set(zip(pid[asked].tolist(), tid[asked].tolist(), strict=True)))
    np.testing.assert_array_equal(some[index], pid[asked])
    np.testing.assert_array_equal(other[index], tid[asked])


@given(st.lists(st.integers(-5, 5)), st.lists(st.integers(-5, 5)))
def test_values_that_occur(values: list[int], wanted: list[int]) -> None:
    column = np.array(values, np.int64)
    np.testing.assert_array_equal(distinct_values(column), np.unique(column))
    among = is_among(column, np.array(wanted, np.int64))
    np.testing.assert_array_equal(among, np.isin(column, wanted))


@pytest.mark.parametrize("row", [-1, MANY])
def test_a_row_that_is_not_there_is_never_written(row: int) -> None:
    column, asked = np.zeros(MANY, np.int64), np.zeros(MANY, np.int32)
    asked[-1] = row
    if row < 0:  # numpy counts from the end
        put(column, asked, np.ones(MANY, np.int64))
        assert column.sum() == 2
    else:
        with pytest.raises(IndexError):
            put(column, asked, np.ones(MANY, np.int64))


@SETTINGS
@given(SEED, st.sampled_from([np.int32, np.int64]), st.booleans(), st.sampled_from([1, 900, MANY]))
def test_places_in_an_ascending_column(seed: int, dtype: type, ordered: bool, size: int) -> None:
    column = distinct_values(rows(seed, 2 * MANY, np.int32, size))
    asked = rows(seed + 1, 2 * MANY, dtype)
    asked[::97] = -1
    if ordered:
        asked.sort()
    at = {row: place for place, row in enumerate(column.tolist())}
    assert places_of(column, asked).tolist() == [at.get(row, -1) for row in asked.tolist()]


@SETTINGS
@given(SEED, st.sampled_from([np.int32, np.int64]), st.sampled_from([np.int32, np.int64]),
       st.sampled_from([0, 1, 90, MANY]), st.booleans())  # fmt: skip
def test_places_among_ascending_numbers(
    seed: int, dtype: type, other: type, size: int, ordered: bool
) -> None:
    column = np.sort(rows(seed, MANY // 2, dtype, size))
    asked = rows(seed + 1, MANY, other) - other(MANY // 4)
    asked[::97] = np.iinfo(other).max
    asked[1::97] = np.iinfo(other).min
    if ordered:
        asked.sort()
    for side in ("left", "right"):
        np.testing.assert_array_equal(
            search(column, asked, side), np.searchsorted(column, asked, side=side)
        )
    few = search(np.sort(asked), column[:3])  # of few numbers among many
    np.testing.assert_array_equal(few, np.searchsorted(np.sort(asked), column[:3]))


@SETTINGS
@given(SEED, st.sampled_from([3, 1000, 1 << 40]), st.sampled_from([1, 5, 300, MANY]))
def test_the_least_of_the_largest(seed: int, below: int, count: int) -> None:
    values = rows(seed, below, np.int64)
    assert least_of_largest(values, count) == np.sort(values)[-count]


@given(
    st.lists(st.integers(0, 5) | st.sampled_from([2**16 - 1, 2**16, 2**16 + 1]), max_size=9)
    | st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**62)), max_size=50)
)
def test_a_stable_order(numbers: list[int]) -> None:
    key = np.array(numbers, np.int64)
    assert stable_order(key).tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)


@given(st.lists(st.one_of(st.integers(-3, 5), st.integers(-(2**62), 2**62)), max_size=50))
def test_values_by_their_rank(numbers: list[int]) -> None:
    values, place = ranked(np.array(numbers, np.int64))
    assert values.tolist() == sorted(set(numbers))
    assert values[place].tolist() == numbers
