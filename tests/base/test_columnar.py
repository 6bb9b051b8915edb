"""Dataclasses of arrays as Arrow files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kinetoscope.base.arrays import I32, I64
from kinetoscope.base.columnar import (
    DamagedError,
    Writer,
    arrow_column,
    load,
    numbers,
    sealed,
    unsealed,
)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    number: int
    ts: I64
    first: I32


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
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


@pytest.mark.parametrize("mapped", [True, False])
@pytest.mark.parametrize("hot", [None, {}, {"more": {"ts"}, "lone": {"first"}}])
def test_every_kind_of_field_comes_back(
    tmp_path: Path, mapped: bool, hot: Mapping[str, set[str]] | None
) -> None:
    given = whole()
    with Writer(tmp_path, hot) as writer:
        writer.close(given, "whole", checked=True)
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
def test_texts_of_any_content(tmp_path: Path, count: int) -> None:
    names = ("naïve ☃", "\ud800 lone", "", "a" * 10_000) * count
    store(whole(names), tmp_path, "whole")
    assert load(Whole, tmp_path, "whole").names == names


def test_tables_of_a_collection_share_files(tmp_path: Path) -> None:
    store(replace(whole(), more=tuple(map(part, range(50)))), tmp_path, "whole")
    assert len(list(tmp_path.glob("more*"))) == 2  # one for each length of its columns
    assert [one.number for one in load(Whole, tmp_path, "whole").more] == list(range(50))


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


def test_a_sealed_text_shows_any_change() -> None:
    text = sealed({"a": [1, float("inf"), "\ud800"]})
    assert unsealed(text) == {"a": [1, float("inf"), "\ud800"]}
    for changed in (text.replace("1,", "2,"), text[:-1], "", text + " "):
        with pytest.raises(ValueError, match="damaged"):
            unsealed(changed)


def test_numbers_share_their_memory_with_arrow() -> None:
    column = np.arange(9, dtype=np.int16)
    assert np.shares_memory(numbers(arrow_column(column)), column)
    assert numbers(arrow_column(column).slice(2, 3)).tolist() == [2, 3, 4]
    with pytest.raises(ValueError, match="bool"):
        arrow_column(np.array([True]))
