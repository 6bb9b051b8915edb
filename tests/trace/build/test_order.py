"""Rows of the file become rows of tables: the library, and the reference, do what sorting does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinetoscope.base import arrays, machine
from kinetoscope.base.arrays import Sparse
from kinetoscope.base.machine import THREADS_VARIABLE
from kinetoscope.base.native import native
from kinetoscope.trace.build import order
from kinetoscope.trace.build.order import (
    Kinds,
    TablePlaces,
    order_rows,
    places_in,
    rank_cells,
    split,
)
from kinetoscope.trace.raw import RawEvents

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
    wanted = sorted(range(count), key=lambda at: key[at])
    assert found.row.tolist() == rows[wanted].tolist()
    assert found.row.dtype == np.int32
    assert found.group.tolist() == group[wanted].tolist()


@SETTINGS
@given(SEED, st.sampled_from([1, 50, 10**6]), st.sampled_from([1, 3, 7]), st.integers(1, 9))
def test_rows_are_ordered_in_pieces(seed: int, span: int, groups: int, threads: int) -> None:
    """However many threads take part, and wherever a group is cut."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 500))
    rows = random.permutation(count).astype(np.int32)
    ts, dur = random.integers(0, span, count), random.integers(0, 3, count)
    group = (random.integers(0, groups, count) ** 2 // groups).astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "PIECE", 20)
        patch.setenv(THREADS_VARIABLE, str(threads))
        assert len(machine.pieces(count)) == max(1, min(threads, count // 20))
        found = order_rows(rows, group, ts, dur)
    expected = order.order_rows_in_python(rows, group, ts, dur)
    assert found.row.tolist() == expected.row.tolist()
    assert found.first.tolist() == expected.first.tolist()


@SETTINGS
@given(SEED, st.integers(1, 4))
def test_columns_are_filled(seed: int, threads: int) -> None:
    random = np.random.default_rng(seed)
    size, count = 400, int(random.integers(1, 400))
    zeros = np.zeros(size, np.int32)
    names, roles = 7, 5
    events = RawEvents(
        phase=np.zeros(size, np.uint8),
        category=random.integers(0, 9, size).astype(np.int32),
        name=random.integers(0, names, size).astype(np.int32),
        pid=zeros,
        tid=zeros,
        ts=random.integers(100, 120, size),
        dur=random.integers(0, 2, size),
    )
    role = random.integers(0, roles, size).astype(np.uint8)
    rows: Any = SimpleNamespace(ts=events.ts, dur=events.dur, start=100)
    kinds = Kinds(
        (random.integers(0, 2, names) * roles).astype(np.int32),
        random.integers(0, 9, 2 * roles).astype(np.uint8),
    )
    row = random.permutation(size)[:count].astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "PIECE", 30)
        patch.setenv(THREADS_VARIABLE, str(threads))
        times = order.fill_times(rows, row)
        named = order.fill_names(events, role, row, kinds)
    for found, expected in (
        (times, order.fill_times_in_python(rows, row)),
        (named, order.fill_names_in_python(events, role, row, kinds)),
    ):
        for name in found.__struct_fields__:
            column, other = getattr(found, name), getattr(expected, name)
            assert (name, column.tolist(), column.dtype) == (name, other.tolist(), other.dtype)
    keys = [(int(events.ts[one]), int(events.dur[one])) for one in row.tolist()]
    assert times.tied.tolist() == [at for at in range(1, count) if keys[at] == keys[at - 1]]


@SETTINGS
@given(SEED, st.sampled_from([np.int32, np.int64]))
def test_numbers_of_the_first_table_become_a_column(seed: int, dtype: type[np.integer]) -> None:
    random = np.random.default_rng(seed)
    size, count = 300, int(random.integers(1, 200))
    moved = random.permutation(size).astype(np.int32)
    places = places_in([moved[:count], moved[count : count + 50]], size)
    kind = random.integers(0, 4, count).astype(np.int8)
    cells = np.flatnonzero(random.random(size) < random.random()).astype(np.int32)
    column = Sparse(cells, random.integers(-2, 9, len(cells)).astype(dtype))
    result, useful, rest = order.take_numbers(column, places, kind, (1, 3))
    value = dict(zip(cells.tolist(), column.value.tolist(), strict=True))
    first = moved[:count].tolist()
    expected = [
        value.get(row, -1) if of in (1, 3) else -1
        for row, of in zip(first, kind.tolist(), strict=True)
    ]
    assert result.tolist() == expected
    assert useful.row.tolist() == [at for at, number in enumerate(expected) if number > 0]
    assert useful.value.tolist() == [number for number in expected if number > 0]
    assert rest.row.tolist() == [row for row in cells.tolist() if row not in first]
    assert rest.value.tolist() == [value[row] for row in rest.row.tolist()]
    assert result.dtype == useful.value.dtype == rest.value.dtype == dtype


@SETTINGS
@given(SEED, st.booleans())
def test_cells_go_where_their_rows_go(seed: int, in_order: bool) -> None:
    random = np.random.default_rng(seed)
    size = 500
    moved = np.arange(size) if in_order else random.permutation(size)
    sizes = random.integers(0, 150, 3)
    ends = np.cumsum(sizes)
    tables = [
        moved[low:high].astype(np.int32) for low, high in zip(ends - sizes, ends, strict=True)
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
        assert list(table) == [name for name in given_ if name in table]
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
