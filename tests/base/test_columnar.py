"""Structs of arrays as Arrow files, and back."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kinetoscope.base.arrays import I32, I64, SomeRows, Sparse
from kinetoscope.base.columnar import DamagedError, Writer, load, tables
from kinetoscope.base.columnar.fields import number_type
from kinetoscope.base.columnar.sealed import sealed, unsealed
from kinetoscope.base.columns import (
    Packed,
    PlainFile,
    arrow_column,
    held_bytes,
    numbers,
    packed,
    packed_few,
    packed_rows,
    plain_column,
)
from tests.conftest import ROOT

T = TypeVar("T", bound=np.generic)


class Part(Struct, frozen=True, eq=False):
    number: int
    ts: I64
    first: I32


class Whole(Struct, frozen=True, eq=False):
    names: tuple[str, ...]
    grid: NDArray[np.uint16] | NDArray[np.uint32]
    parts: Mapping[int, Part]
    more: tuple[Part, ...]
    rows: tuple[I32, ...]
    lone: Part | None
    nothing: Part | None
    factor: float


def part(number: int, rows: int = 3) -> Part:
    return Part(number, np.arange(rows), np.arange(rows + 1, dtype=np.int32))


def whole(names: tuple[str, ...] = ("a",)) -> Whole:
    return Whole(
        names=names,
        grid=np.arange(6, dtype=np.uint16).reshape(2, 3),
        parts={4: part(4), -1: part(1, rows=0)},
        more=(part(7), part(8)),
        rows=(np.array([1, 2], np.int32), np.empty(0, np.int32)),
        lone=part(9),
        nothing=None,
        factor=float("nan"),
    )


def same_part(a: Part | None, b: Part | None) -> bool:
    assert a is not None
    assert b is not None
    assert (a.ts.dtype, a.first.dtype) == (b.ts.dtype, b.first.dtype)
    return (a.number, a.ts.tolist(), a.first.tolist()) == (
        b.number,
        b.ts.tolist(),
        b.first.tolist(),
    )


@pytest.fixture
def all_in_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small columns are stored as large ones are."""
    monkeypatch.setattr("kinetoscope.base.columnar.tables.SMALL_BYTES", 0)
    monkeypatch.setattr("kinetoscope.base.columnar.tables.MANY_CHARACTERS", 0)


@pytest.mark.parametrize("small", [0, 1 << 20])
@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("hot", [None, {}, {"more": {"ts"}, "lone": {"first"}}])
def test_every_kind_of_field_comes_back(
    tmp_path: Path,
    mapped: bool,
    hot: Mapping[str, set[str]] | None,
    small: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kinetoscope.base.columnar.tables.SMALL_BYTES", small)
    given = whole()
    with Writer(tmp_path, hot) as writer:
        writer.close(given, "whole", checked=True)
    suffixes = {file.suffix for file in tmp_path.iterdir()}
    assert suffixes == {".json", ".plain" if small else ".arrow"}
    found = load(Whole, tmp_path, "whole", mapped=mapped)
    assert found.grid.tolist() == given.grid.tolist()
    assert found.grid.dtype == given.grid.dtype
    assert list(found.parts) == [4, -1]
    assert all(same_part(found.parts[key], given.parts[key]) for key in given.parts)
    assert all(map(same_part, found.more, given.more))
    assert [rows.tolist() for rows in found.rows] == [[1, 2], []]
    assert found.rows[1].dtype == np.int32
    assert same_part(found.lone, given.lone)
    assert (found.names, found.nothing) == (("a",), None)
    assert np.isnan(found.factor)
    for column in (found.grid, found.parts[4].ts, found.parts[-1].ts, found.more[0].first):
        assert not column.flags.writeable


def store(table: object, folder: Path, stem: str) -> None:
    with Writer(folder) as writer:
        writer.close(table, stem)


@pytest.mark.parametrize("count", [1, 1000])
@pytest.mark.usefixtures("all_in_arrow")
def test_texts_of_any_content(tmp_path: Path, count: int) -> None:
    names = ("naïve ☃", "\ud800 lone", "", "a" * 10_000) * count
    store(whole(names), tmp_path, "whole")
    assert load(Whole, tmp_path, "whole").names == names


@pytest.mark.usefixtures("all_in_arrow")
def test_tables_of_a_collection_share_files(tmp_path: Path) -> None:
    store(replace(whole(), more=tuple(map(part, range(50)))), tmp_path, "whole")
    assert len(list(tmp_path.glob("more*"))) == 2  # one for each length of its columns
    assert [one.number for one in load(Whole, tmp_path, "whole").more] == list(range(50))


@pytest.mark.usefixtures("all_in_arrow")
def test_columns_stored_before_are_not_stored_again(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        ts = writer.keep("lone.ts", np.arange(1000))
        assert not ts.flags.owndata
        first = writer.append("parts", part(4))
        second = writer.append("parts", part(5, rows=8))
        assert len(first.ts) == len(second.first) == 0  # they are let go of
        table = replace(whole(), lone=replace(part(9), ts=ts), parts={4: first, 5: second})
        before = {file.name for file in tmp_path.iterdir()}
        writer.close(table, "whole")
    assert {"lone.ts.arrow", "parts.ts.arrow"} <= before | {"parts.ts.arrow"}
    assert len(list(tmp_path.glob("lone*"))) == 2  # ts, and what is new
    found = load(Whole, tmp_path, "whole")
    assert found.lone is not None
    assert found.lone.ts.tolist() == list(range(1000))
    assert same_part(found.parts[4], part(4))
    assert same_part(found.parts[5], part(5, rows=8))


def test_damage_is_said_with_the_name_of_the_file(tmp_path: Path) -> None:
    with Writer(tmp_path) as writer:
        writer.close(whole(), "whole", checked=True)
    file = next(tmp_path.glob("more*"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedError, match=f"{file.name} is not as it was written"):
        load(Whole, tmp_path, "whole")
    (tmp_path / "whole.json").unlink()
    with pytest.raises(DamagedError, match="FileNotFoundError"):
        load(Whole, tmp_path, "whole")


PLAIN_ALONE = """
import sys
import numpy as np
from pathlib import Path
from tests.base.test_columnar import Whole, store, whole
from kinetoscope.base.columnar import load
folder = Path(sys.argv[1])
store(whole(("a",) * 1000), folder, "whole")
assert load(Whole, folder, "whole").parts[4].ts.tolist() == [0, 1, 2]
assert "pyarrow" not in sys.modules, "imported"
"""


def test_small_tables_are_stored_and_read_without_arrow(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PLAIN_ALONE, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)


def test_a_plain_file_that_ends_early_is_damaged(tmp_path: Path) -> None:
    store(whole(), tmp_path, "whole")
    os.truncate(tmp_path / "lone.plain", 8)
    with pytest.raises(DamagedError, match="ValueError"):
        load(Whole, tmp_path, "whole")
    os.truncate(tmp_path / "lone.plain", 0)
    with pytest.raises(DamagedError, match="ValueError"):
        load(Whole, tmp_path, "whole")


def test_a_sealed_text_shows_any_change() -> None:
    text = sealed({"a": [1, float("inf"), "\ud800"]})
    assert unsealed(text) == {"a": [1, float("inf"), "\ud800"]}
    for changed in (text.replace("1,", "2,"), text[:-1], "", text + " "):
        with pytest.raises(ValueError, match="damaged"):
            unsealed(changed)


class Aliased:
    """``NDArray`` as numpy has it from 2.5 on, where Python has the ``type`` statement.

    Older Pythons, and older numpy, make ``numpy.ndarray[…]`` of it at once.
    """

    __value__ = np.ndarray[Any, np.dtype[T]]


@pytest.mark.parametrize(
    ("hint", "kind"),
    [
        (NDArray[np.int32], np.int32),
        (I64, np.int64),
        (types.GenericAlias(Aliased, (np.uint8,)), np.uint8),
        (tuple[int, ...], None),
        (int, None),
        (Part, None),
    ],
)
def test_an_annotation_of_an_array_tells_the_type_of_its_numbers(hint: Any, kind: Any) -> None:
    assert number_type(hint) is kind


def test_numbers_share_their_memory_with_arrow() -> None:
    column = np.arange(9, dtype=np.int16)
    assert np.shares_memory(numbers(arrow_column(column)), column)
    assert numbers(arrow_column(column).slice(2, 3)).tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="bool"):
        arrow_column(np.array([True]))


ROWS = 20_000
EDGES = (0, 1, -1, 127, 128, 255, 256, -129, 2**15, 2**16, -(2**31) - 1, 2**32, 2**63 - 1, -(2**63))


class Numbers(Struct, frozen=True, eq=False):
    """A table of one column."""

    column: NDArray[np.generic]


def kept_packed(folder: Path, column: NDArray[np.generic], *, early: bool) -> NDArray[np.generic]:
    """A column stored packed in an empty folder and read again; ``early``: before its table."""
    folder.mkdir()
    with Writer(folder, is_packed=True) as writer:
        stored = writer.put("column", packed(column)) if early else column
        writer.close(Numbers(stored), "numbers")
    found: NDArray[np.generic] = load(Numbers, folder, "numbers").column
    return found


@given(
    st.lists(st.sampled_from(EDGES), min_size=1, max_size=4),
    st.sampled_from([np.int8, np.uint16, np.int32, np.int64, np.float64]),
    st.integers(0, 40),
    st.booleans(),
)
def test_packed_numbers_are_the_same_numbers(
    values: list[int], dtype: type[Any], others: int, early: bool
) -> None:
    """All rows have the first value but a few, from none to more than are worth a list of rows."""
    if dtype in (np.int8, np.uint16, np.int32):
        values = [one % (int(np.iinfo(dtype).max) + 1) for one in values]
    column = np.full(64, values[0], dtype)
    column[:others] = np.resize(np.array(values, dtype), others)
    for most in (0, tables.SMALL_BYTES):
        with tempfile.TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "SMALL_BYTES", most)
            found = kept_packed(Path(temporary) / "kept", column, early=early)
        assert found.dtype == column.dtype
        assert found.tolist() == column.tolist()
        assert not found.flags.writeable


@given(
    st.lists(st.sampled_from(EDGES), min_size=1, max_size=4),
    st.sampled_from([np.int8, np.int32, np.int64, np.float64]),
    st.integers(0, 9_000),
    st.integers(0, 40),
)
def test_rows_of_a_column_are_packed_as_if_they_were_taken_first(
    values: list[int], dtype: type[Any], others: int, gap: int
) -> None:
    """Enough rows for the library: all, or with a gap after every so many."""
    if dtype is not np.float64:
        info = np.iinfo(dtype)
        values = [one if info.min <= one <= info.max else one % 100 for one in values]
    column = np.full(9_000, values[0], dtype)
    column[:others] = np.resize(np.array(values, dtype), others)
    at = np.arange(len(column), dtype=np.int32)
    mask = at % (gap + 1) != gap if gap else np.ones(len(column), np.bool_)
    assert_equal(packed_rows(column, SomeRows(mask, at[mask])), packed(column[mask]))


@given(
    st.lists(st.sampled_from(EDGES), max_size=40),
    st.sampled_from([np.int32, np.int64]),
    st.integers(40, 400),
)
def test_a_sparse_column_is_packed_as_if_its_other_rows_were_0(
    values: list[int], dtype: type[Any], count: int
) -> None:
    """From no row to more than are worth a list of rows; some of those that it has are 0 too."""
    info = np.iinfo(dtype)
    value = np.array([abs(one) if abs(one) <= info.max else 7 for one in values], dtype)
    row = np.arange(len(value), dtype=np.int32) * (count // 40)
    whole = np.zeros(count, dtype)
    whole[row] = value
    assert_equal(packed_few(Sparse(row, value), count), packed(whole))


def assert_equal(found: Packed, wanted: Packed) -> None:
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    (numbers, rows, value), (least, places, usual) = found.small, wanted.small
    assert value == usual
    assert (None if rows is None else rows.tolist()) == (
        None if places is None else places.tolist()
    )
    assert numbers.dtype == least.dtype or not len(least)
    assert numbers.tolist() == least.tolist()


@pytest.mark.usefixtures("all_in_arrow")
def test_a_few_real_numbers_cost_little(tmp_path: Path) -> None:
    """FLOPs are known of few calls, and NaN stands for all others."""
    column = np.full(ROWS, np.nan)
    column[5::50] = np.arange(len(column[5::50])) / 3
    found = kept_packed(tmp_path / "kept", column, early=True)
    assert np.array_equal(found, column, equal_nan=True)
    assert stored_bytes(tmp_path / "kept") < ROWS


def test_a_table_is_written_with_columns_that_were_not_read_yet(tmp_path: Path) -> None:
    with Writer(tmp_path, is_packed=True) as writer:
        writer.close(Numbers(np.array([1, 300], np.int64)), "numbers")
    assert repr(load(Numbers, tmp_path, "numbers")) == "Numbers(column=array([  1, 300]))"


@pytest.mark.usefixtures("all_in_arrow")
def test_columns_of_one_type_share_a_file(tmp_path: Path) -> None:
    with Writer(tmp_path, is_packed=True) as writer:
        stored = [
            writer.put(f"table.{name}", packed(np.arange(ROWS) * times))
            for name, times in (("a", 1), ("b", 2), ("c", 3), ("d", 1000))
        ]
        writer.close(FourColumns(*stored), "numbers")
    assert len(list(tmp_path.glob("*.arrow"))) == 2  # two bytes a number, and four
    found = load(FourColumns, tmp_path, "numbers")
    assert [int(getattr(found, name)[7]) for name in "abcd"] == [7, 14, 21, 7000]


class FourColumns(Struct, frozen=True, eq=False):
    """A table of four columns."""

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    c: NDArray[np.int64]
    d: NDArray[np.int64]


def stored_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.arrow"))


@pytest.mark.usefixtures("all_in_arrow")
def test_what_packed_numbers_cost(tmp_path: Path) -> None:
    """Nothing where all are equal, little where nearly all are, else as few bytes as hold them."""
    rng = np.random.default_rng(0)
    few = np.where(rng.random(ROWS) < 0.03, 10**6, 0)
    bytes_of = {
        "unknown": (np.full(ROWS, np.nan), 0.0),
        "one": (np.full(ROWS, -1, np.int32), 0.0),
        "few": (few, 0.03 * (4 + 4)),
        "codes": (rng.integers(0, 2000, ROWS), 2),
        "spans": (rng.integers(-5, 10**6, ROWS), 4),
        "times": (rng.integers(0, 2**40, ROWS), 8),
        "real": (rng.random(ROWS), 8),
    }
    for name, (column, a_row) in bytes_of.items():
        found = kept_packed(tmp_path / name, column, early=True)
        assert np.array_equal(found, column, equal_nan=column.dtype.kind == "f")
        assert stored_bytes(tmp_path / name) <= (a_row + 0.3) * ROWS, name


@pytest.mark.usefixtures("all_in_arrow")
def test_memory_of_widened_columns_is_counted_until_they_are_let_go(tmp_path: Path) -> None:
    before = held_bytes()
    found = kept_packed(tmp_path / "kept", np.full(ROWS, -1, np.int32), early=True)
    part = found[5:]
    del found
    assert held_bytes() == before + 4 * ROWS
    del part
    assert held_bytes() == before


def test_each_column_of_a_plain_file_begins_where_arrow_would_have_it(tmp_path: Path) -> None:
    """At a multiple of 64 bytes, so that a view of the mapped file is aligned for every type."""
    columns: list[NDArray[Any]] = [
        np.arange(3, dtype=np.int8),
        np.arange(20),
        np.array([7], np.uint16),
        np.arange(2),
    ]
    with ExitStack() as stack:
        file = PlainFile(tmp_path / "some.plain", stack)
        starts = [file.append(column) for column in columns]
    assert [start % 64 for start in starts] == [0, 0, 0, 0]
    content = (tmp_path / "some.plain").read_bytes()
    for start, column in zip(starts, columns, strict=True):
        found = plain_column(content, start, column.dtype.str, column.shape)
        assert found.tolist() == column.tolist()
