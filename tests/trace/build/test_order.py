"""Rows of the file become rows of tables: the library, and the reference, do what sorting does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinetoscope.base import arrays
from kinetoscope.base.arrays import Sparse
from kinetoscope.base.native import native
from kinetoscope.trace.build.order import TablePlaces, order_rows, places_in, rank_cells, split

SETTINGS = settings(
    max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
SEED = st.integers(0, 1 << 32)


@pytest.fixture(params=["library", "reference"], autouse=True)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_MANY", 1 << 62 if request.param == "reference" else 1)
    if request.param == "library" and native().library is None:
        pytest.skip(f"no native library: {native().reason}")


@SETTINGS
@given(SEED, st.sampled_from([3, 200, 10**6]), st.sampled_from([1, 4]), st.booleans())
def test_rows_by_group_and_time(seed: int, span: int, groups: int, with_dur: bool) -> None:
    """Runs of any length, as recorders write them, and times that are equal."""
    random = np.random.default_rng(seed)
    size, count = 900, int(random.integers(0, 700))
    rows = np.sort(random.permutation(size)[:count]).astype(np.int32)
    ts = random.integers(0, span, size) + (np.arange(size) // int(random.integers(1, 99))) * 50
    ts[random.random(size) < random.random()] //= 2
    dur = random.integers(0, 3, size)
    group = random.integers(0, groups, count).astype(np.int32)
    found = order_rows(rows, group, ts, dur) if with_dur else order_rows(rows, group, ts)
    key = [
        (g, ts[row], -int(dur[row]) if with_dur else 0)
        for g, row in zip(group.tolist(), rows.tolist(), strict=True)
    ]
    order = sorted(range(count), key=lambda at: key[at])
    assert found.row.tolist() == rows[order].tolist()
    assert found.row.dtype == np.int32
    assert found.group.tolist() == group[order].tolist()
    equal = [at for at in range(1, count) if key[order[at]] == key[order[at - 1]]]
    assert found.tied.tolist() == equal


@SETTINGS
@given(SEED, st.booleans())
def test_cells_go_where_their_rows_go(seed: int, in_order: bool) -> None:
    random = np.random.default_rng(seed)
    size = 500
    order = np.arange(size) if in_order else random.permutation(size)
    sizes = random.integers(0, 150, 3)
    ends = np.cumsum(sizes)
    tables = [
        order[low:high].astype(np.int32) for low, high in zip(ends - sizes, ends, strict=True)
    ]
    places = places_in(tables, size)
    rows = np.flatnonzero(random.random(size) < random.random()).astype(np.int32)
    other = rows[::3].copy()
    columns = {
        "b": Sparse(rows, random.integers(0, 99, len(rows))),
        "a": Sparse(rows, random.random(len(rows))),
        "c": Sparse(other, random.integers(0, 99, len(other)).astype(np.int32)),
    }
    given_ = dict(columns)
    result = split(columns, places, [(), ("b",), ("a", "b")])
    assert columns == {}
    for table, without, raw in zip(result, ((), ("b",), ("a", "b")), tables, strict=True):
        for name, column in given_.items():
            value = dict(zip(column.row.tolist(), column.value.tolist(), strict=True))
            cells = [(at, value[row]) for at, row in enumerate(raw.tolist()) if row in value]
            if not cells or name in without:
                assert name not in table
                continue
            found = table[name]
            assert list(zip(found.row.tolist(), found.value.tolist(), strict=True)) == cells
            assert found.row.dtype == np.int32
            assert found.value.dtype == column.value.dtype
        assert list(table) == sorted(table)
    if "a" in result[0] and "b" in result[0]:
        assert result[0]["a"].row is result[0]["b"].row  # as in the file
    asked = np.arange(0, size, 7, dtype=np.int32)
    for number, raw in enumerate(tables):
        expected = [raw.tolist().index(row) for row in asked.tolist() if row in raw]
        assert places.of(asked, number).tolist() == expected


def test_cells_that_are_in_order_are_not_moved() -> None:
    places = TablePlaces(np.array([-1, 0, 2, 5], np.int32), (0, 6))
    values = np.array([7, 8], np.int64)
    ranks = rank_cells(np.array([1, 3], np.int32), places)
    assert ranks.place.tolist() == [0, 5]
    assert ranks.spread(values) is values
    assert rank_cells(np.array([0, 3], np.int32), places).spread(values).tolist() == [8]
