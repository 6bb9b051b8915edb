"""Tables on a terminal and as CSV.

For people, numbers get a unit that fits. For programs (CSV) they stay as they are, in the unit that
the column's name carries.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from typing import TextIO

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ..base.units import NBSP
from ..views.table import Table
from .columns import Cell, written
from .text import printable

PIPE_WIDTH = 100_000
"""A pipe has no width: nothing is wrapped or cut there."""


def print_tables(tables: Sequence[Table], out: TextIO) -> None:
    """Each table with its title, a blank line between them; colours only on a terminal."""
    if out.isatty():
        _draw(tables, Console(file=out, highlight=False))
        return
    text = StringIO()
    _draw(tables, Console(file=text, highlight=False, color_system=None, width=PIPE_WIDTH))
    # rich fills every line up to the width of the table
    out.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def write_csv(tables: Sequence[Table], out: TextIO) -> None:
    """The tables in base units and full precision.

    Several are told apart by a line ``# title`` before each and a blank line between them.
    """
    writer = csv.writer(out, lineterminator="\n")
    for index, table in enumerate(tables):
        if index:
            out.write("\n")
        if len(tables) > 1:
            out.write(f"# {printable(table.title)}\n")
        writer.writerow([column.key for column in table.columns])
        writer.writerows([_plain_space(cell) for cell in row] for row in table.rows)


def _plain_space(cell: Cell) -> Cell:
    return cell.replace(NBSP, " ") if isinstance(cell, str) else cell


def _draw(tables: Sequence[Table], console: Console) -> None:
    for index, table in enumerate(tables):
        if index:
            console.print()
        console.print(Text(printable(table.title), style="bold"))
        console.print(_rich_table(table) if table.rows else Text("(none)", style="dim"))


def _rich_table(table: Table) -> RichTable:
    drawn = RichTable(box=None, pad_edge=False, show_edge=False, header_style="dim")
    columns = written(table)
    for column in columns:
        # Text, not str: names of a trace may look like markup.
        drawn.add_column(Text(column.heading), justify="right" if column.is_numeric else "left")
    for row in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(*(Text(cell) for cell in row))
    return drawn
