"""``kinetoscope show VIEW PATH``: a view of a trace as tables or JSON.

Each view is a command of its own, made from the registry. The fields of its query are its options:
``steps: Annotated[str, option("their numbers", "all")] = ""`` is ``--steps TEXT  Their numbers.
[default: all]``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct

from ..analysis.findings import Sentence
from ..base.errors import NotFoundError, QueryError, nearest
from ..session.session import Wanted, choose
from ..views import STEMS, view_named
from ..views.shared import EVERY_ROW, LIMIT, choices, described, parse, with_limit
from ..views.table import Table, as_said, per_step
from ..views.view import View
from .entry import FORMAT, PATH, START_HELP, CommandGroup, as_json, printable, say, write
from .render import (
    ALL_COLUMNS,
    FEW_ROWS,
    TableLayout,
    drawn,
    escaped,
    how_many,
    print_tables,
    progress_bar,
    tables_markdown,
    width_of,
    wrapped,
    write_csv,
)

S = TypeVar("S", bound=Struct)

ROWS = 25
"""Rows of the first table in a terminal, unless an option asks for more."""
_LIMIT_HELP = "Rows of the first table."


def options(query: type[Struct]) -> Sequence[click.Option]:
    """One option per field, with the help that the field declares by ``option``.

    Values stay texts until ``chosen`` makes the Struct: the page's parameters obey the same rules.
    """
    info = msgspec.inspect.type_info(query)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(f"{query!r} is no Struct")
    return [_option(field) for field in info.fields]


def _option(field: msgspec.inspect.Field) -> click.Option:
    names = [f"--{field.name.replace('_', '-')}", field.name]
    if field.name == LIMIT:
        text = f"{_LIMIT_HELP}  [default: {ROWS} in a table; all in JSON and CSV]"
        return click.Option(names, metavar="NUMBER", type=click.IntRange(min=1), help=text)
    kind, text, default = described(field.type)
    text = _help(field, text, default)
    if isinstance(kind, msgspec.inspect.BoolType) and field.default is False:
        return click.Option(names, is_flag=True, flag_value="true", default=None, help=text)
    words = choices(kind)
    return click.Option(
        names,
        metavar=_metavar(kind),
        required=field.required,
        shell_complete=lambda *said: [word for word in words if word.startswith(said[-1])],
        help=text,
    )


def chosen(query: type[S], values: Mapping[str, Any], most: int | None = None) -> S:
    """The query of the given options; the others have their defaults.

    ``most``: rows of a table without a given limit; None: as on the page.

    Raises:
        QueryError: a value is of another type.
    """
    given = {name: values[name] for name in query.__struct_fields__ if values[name] is not None}
    limit = given.pop(LIMIT, most)
    return with_limit(parse(given, query), limit)


def _help(field: msgspec.inspect.Field, text: str, default: str) -> str:
    """The text as a sentence, and the default in brackets."""
    if field.required:
        return _sentence(text)
    value = "" if field.default is msgspec.NODEFAULT else field.default
    if isinstance(value, bool):
        value = "on" if value else "off"
    return f"{_sentence(text)}  [default: {default or value}]".strip()


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "…")) else ".")


def _metavar(node: msgspec.inspect.Type) -> str:
    match node:
        case msgspec.inspect.LiteralType():
            return "|".join(str(value) for value in node.values)
        case msgspec.inspect.UnionType():
            members = [t for t in node.types if not isinstance(t, msgspec.inspect.NoneType)]
            return "|".join(dict.fromkeys(_metavar(member) for member in members))
        case msgspec.inspect.BoolType():
            return "true|false"
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            return "NUMBER"
    return "TEXT"


COMMON = (
    "path",
    "run",
    "worker",
    "span",
    "format",
    "table",
    "columns",
    "width",
    "full_names",
    "total",
    "all",
)
"""Parameters of every view; no field of a query may be called so."""


class _ByStemOrTitle(CommandGroup):
    """A command for each view, by its stem or title: ``show trace`` is ``show timeline``."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # theirs
        return list(STEMS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        try:
            return _command(view_named(cmd_name))
        except NotFoundError:
            return None


@click.group(cls=_ByStemOrTitle)
def show() -> None:
    """Shows a view of a trace.

    PATH is a trace file, a run or a logdir. Below a folder the newest start of the newest run, its
    first worker and that worker's last span are shown, unless others are chosen.

    A table fits the terminal and names what it leaves out; JSON and CSV have everything.
    """


def show_view(view: View, values: dict[str, Any]) -> None:
    """Reads the trace and writes the answer to standard output."""
    form = values["format"]
    is_whole = form in ("json", "csv") or values["all"]
    limit = EVERY_ROW if is_whole else ROWS if form == "text" else None
    query = chosen(view.query, values, limit)
    trace = choose(
        values["path"], Wanted(values["run"], values["worker"], values["span"], values["start"])
    )
    if trace.notice():
        say(trace.notice(), hint="choose with --run, --start, --worker, --span")
    with progress_bar(trace.shown) as on_progress:
        session = trace.session(on_progress)
        answer = session.answer(view, query)
    has_sums = form == "csv" or values["columns"] is not None
    tables = view.tables(answer)
    if has_sums or not values["total"]:
        tables = tuple(per_step(table, has_sums=has_sums) for table in tables)
    tables = tuple(as_said(one, session.facts()) for one in tables)
    if form == "text":
        _print(view, answer, tables, values)
        return
    for table in tables:
        if how_many(table) and form != "markdown":
            say(f"{table.title}: {how_many(table)}", hint="without --limit all are written")
    if form == "json":
        write(as_json(answer))
        return
    tables = _with_columns(_selected(tables, values["table"]), values["columns"])
    if form == "csv":
        write_csv(tables, sys.stdout)
    else:
        said = _sentence_of(answer) if values["table"] is None else ()
        write("\n\n".join([*map(escaped, said), tables_markdown(tables)]))


def _print(view: View, answer: Struct, tables: tuple[Table, ...], values: dict[str, Any]) -> None:
    width = values["width"] or width_of(sys.stdout)
    tables = _selected(tables, values["table"])
    if values["table"] is None:
        _print_sentence(answer, width)
    keys = _keys(tables, values["columns"])
    layout = TableLayout(width, keys, "--columns all shows them", values["full_names"])
    left: list[str] = []
    is_whole = LIMIT not in view.query.__struct_fields__
    if is_whole and values["table"] is None and not values["all"]:
        tables, left = _on_a_screen(tables, layout, values[LIMIT])
    print_tables(tables, sys.stdout, layout)
    if left:
        said = f"Not shown: {', '.join(left)}; --all shows everything, --limit rows of each table."
        write("")
        for line in wrapped(printable(said), width):
            write(line)


SCREEN = 50
"""Most lines of an answer, unless the options ask for more."""


def _on_a_screen(
    tables: tuple[Table, ...], layout: TableLayout, limit: int | None
) -> tuple[tuple[Table, ...], list[str]]:
    """The tables with the first rows of each; or what fits a screen, and the names of the rest."""
    if limit is not None:
        return tuple(first_rows(table, limit) for table in tables), []
    if max((len(table.rows) for table in tables), default=0) <= SCREEN:
        return tables, []
    first = first_rows(tables[0], FEW_ROWS)
    shown, left = [first], []
    room = SCREEN - 6 - len([*drawn(first, layout)])  # of sentences above, and of what is left
    for number, table in enumerate(tables[1:], start=2):
        lines = len(table.rows) if len(table.rows) > room else len([*drawn(table, layout)]) + 1
        if lines <= room:
            shown.append(table)
            room -= lines
        else:
            left.append(f"{table.title} ({len(table.rows):,} rows, --table {number})")
    return tuple(shown), left


def first_rows(table: Table, most: int) -> Table:
    """The table with its first rows alone; it knows how many there are."""
    if len(table.rows) <= most:
        return table
    return Table(table.title, table.columns, table.rows[:most], len(table.rows), table.note)


def _keys(tables: tuple[Table, ...], text: str | None) -> tuple[str, ...] | None:
    """The named columns; None where none are named.

    Raises:
        QueryError: no table has a column of that name.
    """
    if text is None:
        return None
    keys = tuple(part.strip() for part in text.split(",") if part.strip())
    known = list(dict.fromkeys(column.key for table in tables for column in table.columns))
    for key in keys:
        if key not in known and key != ALL_COLUMNS:
            raise QueryError(
                f"--columns: there is no column {key[:60]!r}",
                hint=nearest(key, [*known, ALL_COLUMNS], "columns: "),
            )
    return (ALL_COLUMNS,) if ALL_COLUMNS in keys else keys or None


def _with_columns(tables: tuple[Table, ...], text: str | None) -> tuple[Table, ...]:
    """The tables with the named columns only, in that order; tables without any stay whole."""
    keys = _keys(tables, text)
    return tables if keys in (None, (ALL_COLUMNS,)) else tuple(_narrowed(t, keys) for t in tables)


def _narrowed(table: Table, keys: tuple[str, ...]) -> Table:
    place = {column.key: at for at, column in enumerate(table.columns)}
    at = [place[key] for key in keys if key in place] or list(range(len(table.columns)))
    columns = tuple(table.columns[i] for i in at)
    rows = tuple(tuple(row[i] for i in at) for row in table.rows)
    return Table(table.title, columns, rows, table.row_count, table.note)


def _selected(tables: tuple[Table, ...], number: int | None) -> tuple[Table, ...]:
    if number is None:
        return tables
    if 1 <= number <= len(tables):
        return (tables[number - 1],)
    titles = ", ".join(f"{i} {table.title}" for i, table in enumerate(tables, start=1))
    raise QueryError(f"there is no table {number}", hint=f"tables: {titles}")


def _print_sentence(answer: Struct, width: int | None) -> None:
    """Print the answer in words, if the view has one."""
    said = _sentence_of(answer)
    for text in said:
        for line in wrapped(printable(text), width):
            write(line)
    if said:
        write("")


def _sentence_of(answer: Struct) -> tuple[str, ...]:
    """The answer in words, and what there is to add; () if the view has none."""
    sentence = getattr(answer, "sentence", None)
    if isinstance(sentence, Sentence):
        headline = sentence.headline
        said = " · ".join(text for text in (sentence.detail, sentence.agreement) if text)
    else:
        headline, said = getattr(answer, "headline", ""), getattr(answer, "detail", "")
    return (headline, said) if headline else ()


def _command(view: View) -> click.Command:
    def run(**values: Any) -> None:  # noqa: ANN401  # what the options give
        show_view(view, values)

    params: list[click.Parameter] = [
        click.Argument(["path"], type=PATH),
        click.Option(
            ["--run"], help="Run: the folder of the trace, below PATH.  [default: the newest]"
        ),
        click.Option(["--start"], type=int, help=START_HELP),
        click.Option(["--worker"], help="Worker of the start.  [default: the first]"),
        click.Option(
            ["--span"], help="Span of the worker: 1, 2, … in time order.  [default: the last]"
        ),
        click.Option(["--format"], **FORMAT),
        click.Option(
            ["--table"],
            type=int,
            help="The table of this number, counted from 1; JSON has all.  [default: all]",
        ),
        click.Option(
            ["--columns"],
            metavar="NAMES",
            help=f"Columns by the names that CSV gives them, with commas; or {ALL_COLUMNS}."
            "  [default: in a table those that fit, in CSV all]",
        ),
        click.Option(
            ["--width"],
            type=click.IntRange(min=1),
            help="Characters of a line of a table.  [default: COLUMNS, else the terminal's; in a"
            " pipe lines are as long as they need]",
        ),
        click.Option(
            ["--full-names"],
            is_flag=True,
            help="Names as recorded, not what tells them apart.  [default: off]",
        ),
        click.Option(
            ["--total"],
            is_flag=True,
            help="Sums over the chosen steps, not what they are per step; CSV has both."
            "  [default: off]",
        ),
        click.Option(["--all"], is_flag=True, help="Every row of every table.  [default: off]"),
        *options(view.query),
    ]
    if LIMIT not in view.query.__struct_fields__:
        text = "Rows of each table.  [default: all, of very long ones what fits a screen]"
        params.append(click.Option(["--limit"], type=click.IntRange(min=1), help=text))
    return click.Command(view.stem, params=params, callback=run, help=view.question)
