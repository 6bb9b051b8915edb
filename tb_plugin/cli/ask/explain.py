"""``kinetoscope explain PATH``: a recording, or a run of several ranks, in one answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click
from msgspec import Struct

from ...ask.compare import CUTS, ComparedDocument, compared, compared_text
from ...ask.explain import (
    MOST_BYTES,
    MOST_SECTION_BYTES,
    SECTIONS,
    ExplainDocument,
    brief,
    event_of,
    fitted,
    sections_of,
    tables_of,
)
from ...ask.explain import explain as explained_of
from ...ask.text import explained, section_text
from ...base.errors import KinetoscopeError, QueryError
from ...base.regex import regex
from ...session.session import ChosenTrace, choose
from ...views.diff.contract import DiffGroup, DiffQuery, DiffTableQuery
from ...views.diff.rows import Pair
from ...views.table import Column, Table
from ..diff import metric_of, opened_pair
from ..entry import FORMAT, PATH, as_json, printable, write
from ..render import progress_bar, tables_markdown, write_csv
from .chosen import of_trace


@click.command()
@of_trace
@click.argument("others", nargs=-1, type=PATH, metavar="[OTHER]")
@click.option("--each", is_flag=True, help="Explains each of several PATHs by itself.")
@click.option("--format", "form", **FORMAT)
@click.option("--steps", default="", help='Steps by their numbers: "3", "2-5", or "all".')
@click.option("--device", default="", help='Device by its number or key: "0", "cuda:0".')
@click.option(
    "--max-bytes", type=click.IntRange(min=1),
    help="Size of text and JSON: rows that do not fit are counted."
    f"  [default: {MOST_BYTES}; {MOST_SECTION_BYTES} of --section]",
)  # fmt: skip
@click.option(
    "--section", default="", help=f"Some sections alone, with commas: {', '.join(SECTIONS)}."
)
@click.option("--id", "event", default="", help="Shows this event of the file instead: slice/1296.")
def explain(  # the options of the command
    path: str, chosen: ChosenTrace, others: tuple[str, ...], each: bool, form: str,
    max_bytes: int | None, **part: str,
) -> None:  # fmt: skip
    """Answers most questions on a recording at once.

    PATH is a trace file, a run or a logdir, as for `kinetoscope show`. Of a run with several ranks
    one is shown, and a line of each. With OTHER, the answer is what changed from PATH to OTHER.
    """
    if each:
        _explain_each((path, *others), form, max_bytes, part)
    elif others:
        if len(others) > 1:
            raise QueryError("two recordings are compared", hint="--each explains several")
        if part["event"] or part["section"] or part["device"]:
            raise QueryError("--id, --section and --device are of one recording")
        _explain_change(path, others[0], part["steps"], form, max_bytes or MOST_BYTES)
    else:
        _explain_one(chosen, form, max_bytes, part)


def _explain_each(
    paths: tuple[str, ...], form: str, max_bytes: int | None, part: Mapping[str, str]
) -> None:
    """One answer after the other; what cannot be explained says why at its place.

    Raises:
        QueryError: this format holds one recording.
        KinetoscopeError: the first of those that are not explained.
    """
    if form not in ("text", "json"):
        raise QueryError("--each writes text, or a line of JSON for each")
    failed: KinetoscopeError | None = None
    for one in paths:
        if form == "text":
            write(printable(f"== {one}"))
        try:
            _explain_one(choose(one), form, max_bytes, part)
        except KinetoscopeError as error:
            failed = failed or error
            text = f"{error.text} {error.hint}".strip()
            write(printable(text) if form == "text" else as_json({"error": text}, indent=-1))
    if failed:
        raise failed


def _explain_one(
    chosen: ChosenTrace, form: str, max_bytes: int | None, part: Mapping[str, str]
) -> None:
    """Write the answer on one recording; a section alone is whole in JSON or with a limit."""
    with progress_bar(chosen.shown) as on_progress:
        session = chosen.session(on_progress)
        if part["event"]:
            write(as_json(event_of(session, part["event"])))
            return
        document = explained_of(session, part["steps"], part["device"])
    if form == "csv":
        write_csv(tables_of(document), sys.stdout)
    elif form == "markdown":
        write(tables_markdown(tables_of(document)))
    elif part["section"]:
        names = part["section"].split(",")
        is_whole = len(names) == 1 and (max_bytes or form == "json")
        one = sections_of(document if is_whole else brief(document, names), part["section"])
        text = as_json(one, indent=-1) if form == "json" else section_text(one, document)
        write(_kept(text, max_bytes or MOST_SECTION_BYTES))
    else:
        written = _as_json if form == "json" else _as_text
        short = fitted(brief(document), max_bytes or MOST_BYTES, written)
        write(written(short).removesuffix("\n"))


def _explain_change(path: str, other: str, steps: str, form: str, max_bytes: int) -> None:
    """Write what changed from one recording to another."""
    document = changes(opened_pair(path, other, base_steps=steps, steps=steps))
    if form in ("csv", "markdown"):
        tables = tuple(
            Table(name, tuple(Column(key, key) for key in grid.columns), grid.rows)
            for name in CUTS
            for grid in [getattr(document, name)]
        )
        write_csv(tables, sys.stdout) if form == "csv" else write(tables_markdown(tables))
        return
    written = _as_json if form == "json" else _change_as_text
    write(written(fitted(document, max_bytes, written, CUTS)).removesuffix("\n"))


def changes(pair: Pair, limit: int = 5) -> ComparedDocument:
    """Verdict on two recordings, and the largest changes of each group."""
    answer = pair.answer(DiffQuery())
    groups: tuple[DiffGroup, ...] = ("operators", "kernels", "modules")
    return compared(
        answer,
        [
            pair.table(DiffTableQuery(group=group, metric=metric_of(pair, group), limit=limit))
            for group in groups
            if group not in answer.missing
        ],
    )


def _change_as_text(document: ComparedDocument) -> str:
    return _lines(compared_text(document))


def _as_json(document: Struct) -> str:
    return as_json(document, indent=-1) + "\n"


def _as_text(document: ExplainDocument) -> str:
    return _lines(explained(document))


def _lines(text: str) -> str:
    """Lines with control characters written out; no blanks that align columns for a program."""
    is_seen = sys.stdout.isatty()
    lines = map(printable, text.split("\n"))
    return "".join(f"{line if is_seen else _BLANKS.sub('  ', line)}\n" for line in lines)


_BLANKS = regex(" {3,}")


def _kept(text: str, most_bytes: int) -> str:
    """The text with control characters written out.

    Raises:
        QueryError: it is longer.
    """
    told = _lines(text).removesuffix("\n")
    size = len(told.encode("utf-8", "replace")) + 1
    if size > most_bytes:
        raise QueryError(f"the section has {size} bytes", hint="raise --max-bytes")
    return told
