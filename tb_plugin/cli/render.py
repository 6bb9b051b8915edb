"""Tables on a terminal and as CSV.

On a terminal, numbers get a unit that fits, one per quantity, with fixed decimals per column:

    dur_ns  59300000, 97700, 0, None   →   Length (ms)  59.30, 0.10, 0, –

All times of a table share their unit, so that its rows can be added up by eye. A table keeps within
the width of the terminal: names are shortened as on the page, one line a row, and the last columns
are left out first. A note below the table names what is left out.

In CSV everything stays as it is, in the unit that the column's name carries.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeAlias, TypeGuard

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size

from ..analysis.operators.short_names import short_names
from ..base import units
from ..base.regex import regex
from ..base.units import NBSP
from ..trace.raw import OnProgress
from ..trace.raw import Progress as ReadingProgress
from ..views.table import Column, ColumnUnit, Table
from .entry import printable

if TYPE_CHECKING:
    from rich.console import Console

Cell: TypeAlias = str | int | float | None

NOT_KNOWN = "–"


class Unit(Struct, frozen=True):
    """A unit, in base units of the column."""

    name: str
    size: float


TIMES = (Unit("ns", 1.0), Unit("µs", 1e3), Unit("ms", 1e6), Unit("s", 1e9))
SIZES = tuple(Unit(n, 1024.0**i) for i, n in enumerate(("B", "KiB", "MiB", "GiB", "TiB")))
RATES = tuple(Unit(f"{n}B/s", 1000.0**i) for i, n in enumerate(("", "k", "M", "G", "T")))
FLOPS = tuple(Unit(f"{n}FLOP", 1000.0**i) for i, n in enumerate(("", "k", "M", "G", "T", "P")))
SCALES: Mapping[ColumnUnit, tuple[Unit, ...]] = MappingProxyType(
    {"ns": TIMES, "bytes": SIZES, "bytes/s": RATES, "FLOP": FLOPS}
)
"""Unit of a column → units to choose from."""

_UNIT_IN_LABEL = regex(r"\s*\((?:ns|bytes)\)$")


class Written(Struct, frozen=True):
    """A column as text for a terminal."""

    column: Column
    heading: str
    cells: tuple[str, ...]
    is_numeric: bool

    @property
    def is_empty(self) -> bool:
        """True if no row has a value."""
        return all(cell in (NOT_KNOWN, "") for cell in self.cells)


def written(table: Table) -> tuple[Written, ...]:
    """The columns of the table in order."""
    values = [[row[index] for row in table.rows] for index in range(len(table.columns))]
    chosen = {unit: _unit(table, values, unit) for unit in SCALES}
    return tuple(_column(c, v, chosen) for c, v in zip(table.columns, values, strict=True))


def is_number(value: Cell) -> TypeGuard[int | float]:
    """True if the value is a quantity."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _unit(table: Table, values: Sequence[Sequence[Cell]], base: ColumnUnit) -> Unit:
    """The unit for the largest quantity of the kind."""
    columns = (v for c, v in zip(table.columns, values, strict=True) if c.unit == base)
    largest = max((abs(v) for column in columns for v in column if is_number(v)), default=0)
    scale = SCALES[base]
    return next((unit for unit in reversed(scale) if largest >= unit.size), scale[0])


def _column(column: Column, values: Sequence[Cell], chosen: dict[ColumnUnit, Unit]) -> Written:
    heading = printable(column.label)
    numeric = any(is_number(value) for value in values)
    unit = chosen.get(column.unit)
    if unit is not None:
        heading = f"{_UNIT_IN_LABEL.sub('', heading)} ({unit.name})"
        return Written(column, heading, _scaled(values, unit), numeric)
    if column.unit == "ratio":
        return Written(column, heading, tuple(_share(value) for value in values), numeric)
    if column.unit and column.unit not in heading:
        heading = f"{heading} ({column.unit})"
    return Written(column, heading, tuple(_plain(value) for value in values), numeric)


def _scaled(values: Sequence[Cell], unit: Unit) -> tuple[str, ...]:
    largest = max((abs(value) for value in values if is_number(value)), default=0) / unit.size
    decimals = 0 if unit.size == 1 else 3 if largest < 10 else 2 if largest < 100 else 1
    return tuple(
        _fixed(value / unit.size, decimals) if is_number(value) else _plain(value)
        for value in values
    )


def _fixed(value: float, decimals: int) -> str:
    """Fixed decimals; a value that is not zero is never written as zero."""
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


GAP = "  "
LEAST_WIDTH = 40
LEAST = {"name": 20, "path": 20, "words": 20}
"""Cells that a column of this kind keeps, however little room there is."""
INDENT = 4
FEW_ROWS = 20
"""A table of so many rows continues below itself instead of leaving columns out."""
ALL_COLUMNS = "all"


class TableLayout(Struct, frozen=True):
    """Options for drawing tables."""

    width: int | None = None  # cells of a line; None = as long as needed
    columns: tuple[str, ...] | None = None  # keys of columns, in this order; None = those that fit
    how_to_see_more: str = "--format json"  # of columns that are left out
    has_full_names: bool = False  # else names show what tells the rows of a table apart


def width_of(out: TextIO) -> int | None:
    """The width of the terminal: COLUMNS if set, else as the terminal reports; None for a pipe."""
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdecimal() and int(told):
        return int(told)
    return _console(out).width if out.isatty() else None


def _console(out: TextIO) -> Console:
    """A terminal; imported where there is one, as a pipe needs no colours."""
    from rich.console import Console

    return Console(file=out, highlight=False)


def print_tables(tables: Sequence[Table], out: TextIO, layout: TableLayout) -> None:
    """Each table with its title, a blank line between them; colours only on a terminal."""
    console = _console(out) if out.isatty() else None
    for index, table in enumerate(tables):
        if index:
            out.write("\n")
        for line, style in drawn(table, layout):
            if console is not None and style:
                console.print(line, style=style, markup=False, emoji=False, soft_wrap=True)
            else:
                out.write(f"{line.rstrip()}\n")


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
        writer.writerows(
            [harmless(cell) if isinstance(cell, str) else cell for cell in row]
            for row in table.rows
        )


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    """A text for a spreadsheet: control characters are written out, and it is no formula.

    >>> harmless("=1+1"), harmless("aten::mm")
    ("'=1+1", 'aten::mm')
    """
    return ("'" if text.startswith(_FORMULA) else "") + printable(text)


def tables_markdown(tables: Sequence[Table]) -> str:
    """The tables for a pull request: figures as on a terminal, nothing shortened."""
    parts = []
    for table in tables:
        columns = written(table)
        heads = [escaped(one.heading) for one in columns]
        cells = zip(*(map(escaped, one.cells) for one in columns), strict=True)
        lines = markdown_table(heads, [*cells]) if table.rows else ["(none)"]
        parts += [f"**{escaped(table.title)}**", "\n".join(lines)]
        parts += [escaped(text) for text in (how_many(table), table.note) if text]
    return "\n\n".join(parts).replace(NBSP, " ")


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown; the cells are Markdown already."""
    ruler = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(map(_cell, row))} |" for row in (heads, ruler, *rows)]


def _cell(text: str) -> str:
    """A cell whose bars do not end it; those that ``escaped`` marked are marked already."""
    return _BAR.sub(r"\|", printable(text))


_BAR = regex(r"(?<!\\)\|")


def escaped(text: str) -> str:
    """The text in Markdown, as it stands: no markup, link or mention that a name may hold."""
    marked = _MARKUP.sub(r"\\\g<0>", printable(text).replace("&", "&amp;").replace("<", "&lt;"))
    return marked.replace("@", "&#64;")


# Of an address, the sign by which it would be known as one and turned into a link.
_MARKUP = regex(r"[\\`*_\[\]|~]|:(?=//)|(?<=[wW]{3})\.")


def how_many(table: Table) -> str:
    """``200 of 683 rows``; "" where all are there."""
    if table.row_count is None or table.row_count <= len(table.rows):
        return ""
    return f"{len(table.rows):,} of {table.row_count:,} rows"


def drawn(table: Table, layout: TableLayout) -> Iterator[tuple[str, str]]:
    """The lines of a table, each with its style."""
    width = None if layout.width is None else max(LEAST_WIDTH, layout.width)
    for line in wrapped(printable(table.title), width):
        yield line, "bold"
    if not table.rows:
        yield "(none)", "dim"
        return
    everything = written(table)
    if not layout.has_full_names:
        everything = tuple(_told_apart(one) for one in everything)
    chosen = _chosen(everything, layout.columns)
    texts = [one for one in chosen if one.column.kind == "text"]
    columns = [one for one in chosen if one.column.kind != "text"]
    blocks = _blocks(columns, width)
    if layout.columns is None and len(table.rows) > FEW_ROWS:  # what does not fit gives way
        blocks = blocks[:1]
    shown = {one.column.key for one in (*texts, *(one for block in blocks for one in block))}
    for place, block in enumerate(blocks):
        if place:
            yield "", ""
        yield from _block(block, texts if place == 0 else [], width)
    for note in _notes(table, () if layout.columns else everything, shown, layout.how_to_see_more):
        for line in wrapped(note, width):
            yield line, "dim"


def _told_apart(column: Written) -> Written:
    """A column of names with what tells its rows apart; any other as it is."""
    if column.column.kind != "name":
        return column
    return replace(column, cells=tuple(short_names(column.cells)))


def _chosen(columns: Sequence[Written], keys: tuple[str, ...] | None) -> list[Written]:
    if keys is None:
        return [c for c in columns if not c.column.is_minor and not c.is_empty] or [*columns[:1]]
    if keys == (ALL_COLUMNS,):
        return [*columns]
    by_key = {column.column.key: column for column in columns}
    return [by_key[key] for key in keys if key in by_key] or [*columns[:1]]


def _blocks(columns: Sequence[Written], width: int | None) -> list[list[Written]]:
    """The columns in blocks that fit the width; each begins with the first column."""
    if width is None or len(columns) < 2:
        return [[*columns]]
    first, *rest = columns
    blocks, room = [[first]], width - _least(first)
    for column in rest:
        needed = len(GAP) + _least(column)
        if needed > room and len(blocks[-1]) > 1:
            blocks.append([first])
            room = width - _least(first)
        blocks[-1].append(column)
        room -= needed
    return blocks


def _natural(column: Written) -> int:
    return max((cell_len(cell) for cell in column.cells), default=0)


def _kind(column: Written) -> str:
    """The kind of a column; columns of long words may be shortened in any case."""
    kind = column.column.kind
    return "words" if kind == "value" and not column.is_numeric else kind


def _least(column: Written) -> int:
    heading = max(map(cell_len, column.heading.split()), default=0)
    natural = _natural(column)
    return max(heading, min(natural, LEAST.get(_kind(column), natural)))


def _widths(columns: Sequence[Written], width: int | None) -> list[int]:
    """The width of each column: its minimum, and a share of the rest, the shortest first."""
    wanted = [max(_natural(column), cell_len(column.heading)) for column in columns]
    if width is None:
        return wanted
    natural = [max(_natural(column), _least(column)) for column in columns]
    widths = [_least(column) for column in columns]
    room = width - sum(widths) - len(GAP) * (len(columns) - 1)
    for goals in (natural, wanted):  # headings may be wrapped: cells come first
        for at in sorted(range(len(columns)), key=lambda at: goals[at] - widths[at]):
            more = max(0, min(room, goals[at] - widths[at]))
            widths[at] += more
            room -= more
    return widths


def _block(
    columns: Sequence[Written], texts: Sequence[Written], width: int | None
) -> Iterator[tuple[str, str]]:
    widths = _widths(columns, width)
    headings = [wrapped(c.heading, w) for c, w in zip(columns, widths, strict=True)]
    most = max((len(heading) for heading in headings), default=0)
    headings = [[""] * (most - len(heading)) + heading for heading in headings]
    yield from ((line, "dim") for line in _lines(columns, widths, headings))
    below: list[str] = []
    for row in range(len(columns[0].cells) if columns else len(texts[0].cells)):
        if below:
            yield "", ""
        cells = [_fitted(c, c.cells[row], w) for c, w in zip(columns, widths, strict=True)]
        yield from ((line, "") for line in _lines(columns, widths, cells))
        below = [*_below(texts, row, width)]
        yield from ((line, "") for line in below)


def _fitted(column: Written, cell: str, width: int) -> list[str]:
    """A cell as lines; only words take more than one."""
    if cell_len(cell) <= width:
        return [cell]
    match _kind(column):
        case "name":
            return [shortened_name(cell, width)]
        case "path":
            return [cut_start(cell, width)]
        case _:
            return wrapped(cell, width)


def _lines(
    columns: Sequence[Written], widths: Sequence[int], cells: Sequence[Sequence[str]]
) -> Iterator[str]:
    for line in zip_longest(*cells, fillvalue=""):
        parts = (
            _padded(cell, width, is_right=column.is_numeric)
            for column, width, cell in zip(columns, widths, line, strict=True)
        )
        yield GAP.join(parts)


def _padded(cell: str, width: int, *, is_right: bool) -> str:
    blank = " " * (width - cell_len(cell))
    return blank + cell if is_right else cell + blank


def _below(texts: Sequence[Written], row: int, width: int | None) -> Iterator[str]:
    """Sentences of a row, printed below it."""
    for text in texts:
        for number, line in enumerate(text.cells[row].split("\\x0a")):
            if line and line != "–":
                said = line if number else f"{text.heading}: {line}"
                room = None if width is None else width - INDENT
                yield from (" " * INDENT + one for one in wrapped(said, room))


def _notes(
    table: Table, columns: Sequence[Written], shown: set[str], how_to_see_more: str
) -> Iterator[str]:
    """A note on the rows and columns left out, and the option that shows them."""
    if how_many(table):
        yield f"{how_many(table)}, --limit for more"
    if table.note:
        yield table.note
    hidden = [c.column.key for c in columns if c.column.key not in shown and not c.is_empty]
    if hidden:
        yield f"Not shown: {', '.join(hidden)} ({how_to_see_more})"


@contextmanager
def progress_bar(path: str) -> Iterator[OnProgress | None]:
    """A progress bar on a terminal's standard error, while something is read; then removed."""
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        shown: list[OnProgress] = []

        def on_progress(progress: ReadingProgress) -> None:
            if not shown:
                shown.append(stack.enter_context(_bar(path)))
            shown[0](progress)

        yield on_progress


@contextmanager
def _bar(path: str) -> Iterator[OnProgress]:
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=_console(sys.stderr), transient=True) as bar:
        task = bar.add_task(printable(os.path.basename(path)), total=None)

        def move(progress: ReadingProgress) -> None:
            bar.update(
                task,
                description=progress.phase,
                completed=progress.bytes_done,
                total=progress.bytes_total,
            )

        yield move


# --- texts in a given width: cells of a terminal, a Chinese character takes two -------------------

_PYTHON = regex(r"(.*/)?([^/]+\.py\(\d+\): .+)", re.DOTALL)
_ANONYMOUS = "(anonymous namespace)"
_ARGUMENTS_END = regex(r"[)>](?:…| const)?$|…$")
_ARGUMENTS_BEGIN = regex(r"(?<!^)[<(]")


class NameParts(NamedTuple):
    """The parts of a name of code: ``base`` matters most; the page shows the rest dim."""

    before: str  # namespace, folder
    base: str
    after: str  # template arguments and parameters


def name_parts(name: str) -> NameParts:
    """The parts of a name, as on the page; a leading ``void`` is dropped.

    >>> name_parts("void at::native::f<int>(x)")
    NameParts(before='at::native::', base='f', after='<int>(x)')
    """
    frame = _PYTHON.fullmatch(name)
    if frame:
        return NameParts(frame[1] or "", frame[2], "")
    text = name.removeprefix("void ")
    is_call = _ARGUMENTS_END.search(text) is not None
    begin = _name_at(text) if is_call else 0
    rest = text[begin:]
    end = _arguments_at(rest) if is_call else len(rest)
    head = rest[:end]
    at = head.rfind("::")
    # "aten::mm" is a name; of "at::native::f" only f is.
    is_qualified = at > 0 and (head.find("::") != at or head[:at].endswith(_ANONYMOUS))
    start = at + 2 if is_qualified else 0
    return NameParts(text[: begin + start], head[start:], rest[end:])


def _name_at(text: str) -> int:
    """Where the name begins: after a return type with template arguments."""
    opened: list[str] = []
    for place, sign in enumerate(text):
        if sign in "<(":
            opened.append(sign)
        elif opened and (sign == ")" or (sign == ">" and opened[-1] == "<")):
            opened.pop()  # a ">" within parentheses compares
        elif sign == " " and not opened:
            return place + 1 if "<" in text[:place] else 0
    return 0


def _arguments_at(text: str) -> int:
    hidden = text.replace(_ANONYMOUS, "_" * len(_ANONYMOUS))
    found = _ARGUMENTS_BEGIN.search(hidden)
    return found.start() if found else len(text)


def shortened_name(name: str, width: int) -> str:
    """A name in ``width`` cells: first without namespace, then arguments, then the middle."""
    if cell_len(name) <= width:
        return name
    before, base, after = name_parts(name)
    if cell_len(before + base + after) <= width:
        return before + base + after
    room = width - cell_len(after)
    if after and room >= _LEAST_BASE:  # arguments differ where the function does not
        return cut_middle(base, room) + after
    if cell_len(base) < width:
        return cut(base + after, width)
    return cut_middle(base, width)


_LEAST_BASE = 6
"""Cells that the function keeps before its arguments."""


def cut(text: str, width: int) -> str:
    """The text in ``width`` cells; "…" replaces the end."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def cut_start(text: str, width: int) -> str:
    """The text in ``width`` cells; "…" replaces the start."""
    return text if cell_len(text) <= width else "…" + _tail(text, width - 1)


def cut_middle(text: str, width: int) -> str:
    """The text in ``width`` cells; "…" replaces the middle, since both ends distinguish names."""
    if cell_len(text) <= width:
        return text
    left = width // 2
    return set_cell_size(text, left) + "…" + _tail(text, width - 1 - left)


def _tail(text: str, width: int) -> str:
    tail = text[-width:] if width > 0 else ""
    while cell_len(tail) > width:
        tail = tail[1:]
    return tail


def wrapped(text: str, width: int | None) -> list[str]:
    """The text in lines of at most ``width`` cells, broken at blanks where possible."""
    if width is None or cell_len(text) <= width:
        return [text]
    lines = [""]
    for word in text.split():
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
            continue
        pieces = _pieces(word, width)
        lines += pieces if lines[-1] else []
        if not lines[0]:
            lines = pieces
    return lines


def _pieces(word: str, width: int) -> list[str]:
    """A word in pieces that fit."""
    pieces = []
    while cell_len(word) > width:
        piece = set_cell_size(word, width).rstrip()
        pieces.append(piece)
        word = word[len(piece) :]
    return [*pieces, word]
