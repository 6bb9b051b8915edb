"""Sparse columns of the file become those of the tables, one column at a time.

A column of the file is let go as soon as its cells are in the tables, so that all columns are never
in memory twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import put, seen, take, where
from .raw import Sparse

I32 = NDArray[np.int32]

_FEW = 16  # a column that fewer than one row in so many has is sorted, not spread


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """For each row of the file its table (0 = none, else 1 + index) and its row there."""

    table: NDArray[np.uint8]
    row: I32
    sizes: tuple[int, ...]  # of the tables


def moves_to(tables: Sequence[I32], count: int) -> Moves:
    """The inverse of the ``raw`` columns of some tables; the file has ``count`` rows."""
    table, row = np.zeros(count, np.uint8), np.zeros(count, np.int32)
    for number, raw in enumerate(tables, 1):
        put(row, raw, np.arange(len(raw), dtype=np.int32))
        put(table, raw, np.full(len(raw), number, np.uint8))
    return Moves(table, row, tuple(len(raw) for raw in tables))


def split(
    columns: dict[str, Sparse], moves: Moves, skip: Sequence[Collection[str]]
) -> list[dict[str, Sparse]]:
    """The columns of each table, by name; ``columns`` is empty afterwards.

    ``skip`` names for each table the columns that it does without.
    """
    result: list[dict[str, Sparse]] = [{} for _ in moves.sizes]
    for name in sorted(columns):
        column = columns.pop(name)
        table = take(moves.table, column.row)
        present = [number for number in range(len(moves.sizes) + 1) if (table == number).any()]
        for number in present:
            if number and name not in skip[number - 1]:
                part = column if len(present) == 1 else _of_rows(column, where(table == number))
                row = take(moves.row, part.row)
                result[number - 1][name] = _in_order(row, part.value, moves.sizes[number - 1])
    return result


def _of_rows(column: Sparse, keep: I32) -> Sparse:
    return Sparse(take(column.row, keep), take(column.value, keep))


def _in_order(row: I32, value: NDArray[Any], size: int) -> Sparse:
    """The cells of a table with ``size`` rows, ascending; no row has two."""
    if (row[1:] > row[:-1]).all():
        return Sparse(row, value)
    if len(row) < size // _FEW:
        order = np.argsort(row, kind="stable")
        return Sparse(row[order], value[order])
    cell = np.empty(size, value.dtype)
    put(cell, row, value)
    if len(row) == size:
        return Sparse(np.arange(size, dtype=np.int32), cell)
    there = where(seen(row, size))
    return Sparse(there, take(cell, there))
