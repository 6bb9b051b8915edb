"""Rows moved and found: the library, and the reference, do what numpy does in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kinetoscope.base import arrays
from kinetoscope.base.arrays import (
    distinct,
    distinct_values,
    is_among,
    is_any,
    places_of,
    put,
    ranked,
    seen,
    stable_order,
    take,
    where,
)
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


@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**62)), max_size=50))
def test_a_stable_order(numbers: list[int]) -> None:
    key = np.array(numbers, np.int64)
    assert stable_order(key).tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)


@given(st.lists(st.one_of(st.integers(-3, 5), st.integers(-(2**62), 2**62)), max_size=50))
def test_values_by_their_rank(numbers: list[int]) -> None:
    values, place = ranked(np.array(numbers, np.int64))
    assert values.tolist() == sorted(set(numbers))
    assert values[place].tolist() == numbers
