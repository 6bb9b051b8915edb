"""Columns of numbers for people: one unit per quantity, fixed decimals per column.

    dur_ns  59300000, 97700, 0, None   →   Length (ms)  59.30, 0.10, 0, –

All times of a table share their unit, so that its rows can be added up by eye.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from ..base import units
from ..views.table import Column, Table
from .text import printable

Cell: TypeAlias = str | int | float | None

NOT_KNOWN = "–"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit, in base units of the column."""

    name: str
    size: float


TIMES = (Unit("ns", 1.0), Unit("µs", 1e3), Unit("ms", 1e6), Unit("s", 1e9))
SIZES = tuple(Unit(n, 1024.0**i) for i, n in enumerate(("B", "KiB", "MiB", "GiB", "TiB")))
RATES = tuple(Unit(f"{n}B/s", 1000.0**i) for i, n in enumerate(("", "k", "M", "G", "T")))
FLOPS = tuple(Unit(f"{n}FLOP", 1000.0**i) for i, n in enumerate(("", "k", "M", "G", "T", "P")))
SCALES = {"_ns": TIMES, "_bytes": SIZES, "_bytes_per_s": RATES, "flops": FLOPS}
"""End of a column's key → units to choose from."""

_UNIT_IN_LABEL = re.compile(r"\s*\((?:ns|bytes)\)$")


@dataclass(frozen=True, slots=True)
class Written:
    """A column as people read it."""

    column: Column
    heading: str
    cells: tuple[str, ...]
    is_numeric: bool

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known in any row."""
        return all(cell in (NOT_KNOWN, "") for cell in self.cells)


def written(table: Table) -> tuple[Written, ...]:
    """The columns of the table in order."""
    values = [[row[index] for row in table.rows] for index in range(len(table.columns))]
    chosen = {suffix: _unit(table, values, suffix) for suffix in SCALES}
    return tuple(_column(c, v, chosen) for c, v in zip(table.columns, values, strict=True))


def is_number(value: Cell) -> TypeGuard[int | float]:
    """Whether the value is a quantity."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _unit(table: Table, values: Sequence[Sequence[Cell]], suffix: str) -> Unit:
    """The largest unit that the largest quantity of the kind fills."""
    columns = (v for c, v in zip(table.columns, values, strict=True) if c.key.endswith(suffix))
    largest = max((abs(v) for column in columns for v in column if is_number(v)), default=0)
    scale = SCALES[suffix]
    return next((unit for unit in reversed(scale) if largest >= unit.size), scale[0])


def _column(column: Column, values: Sequence[Cell], chosen: dict[str, Unit]) -> Written:
    heading = printable(column.label)
    numeric = any(is_number(value) for value in values)
    unit = next((unit for suffix, unit in chosen.items() if column.key.endswith(suffix)), None)
    if unit is not None:
        heading = f"{_UNIT_IN_LABEL.sub('', heading)} ({unit.name})"
        return Written(column, heading, _scaled(values, unit), numeric)
    if column.key.endswith("ratio"):
        return Written(column, heading, tuple(_share(value) for value in values), numeric)
    return Written(column, heading, tuple(_plain(value) for value in values), numeric)


def _scaled(values: Sequence[Cell], unit: Unit) -> tuple[str, ...]:
    largest = max((abs(value) for value in values if is_number(value)), default=0) / unit.size
    decimals = 0 if unit.size == 1 else 3 if largest < 10 else 2 if largest < 100 else 1
    return tuple(
        _fixed(value / unit.size, decimals) if is_number(value) else _plain(value)
        for value in values
    )


def _fixed(value: float, decimals: int) -> str:
    """Fixed decimals; what is not zero is never written as zero."""
    if value == 0:
        return "0"
    least = 10.0**-decimals
    if abs(value) < least / 2:
        return f"<{least:.{decimals}f}" if value > 0 else f">-{least:.{decimals}f}"
    return f"{value:,.{decimals}f}"


def _share(value: Cell) -> str:
    return printable(units.share(value)) if is_number(value) else _plain(value)


def _plain(value: Cell) -> str:
    if value is None:
        return NOT_KNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return printable(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
