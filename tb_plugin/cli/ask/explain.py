"""``kinetoscope explain PATH``: a recording, or a run of several ranks, in one answer."""

from __future__ import annotations

import sys

import click

from ...ask.explain import (
    MOST_BYTES,
    SECTIONS,
    ExplainDocument,
    event_of,
    fitted,
    section_of,
    tables_of,
)
from ...ask.explain import explain as explained_of
from ...ask.text import explained, section_text
from ...base.errors import QueryError
from ...session.session import ChosenTrace
from ..entry import FORMAT, as_json, printable, write
from ..render import progress_bar, tables_markdown, write_csv
from .chosen import of_trace


@click.command()
@of_trace
@click.option("--format", "form", **FORMAT)
@click.option("--steps", default="", help='Steps by their numbers: "3", "2-5", or "all".')
@click.option("--device", default="", help='Device by its number or key: "0", "cuda:0".')
@click.option(
    "--max-bytes", type=click.IntRange(min=1), default=MOST_BYTES, show_default=True,
    help="Size of text and JSON: rows that do not fit are counted.",
)  # fmt: skip
@click.option("--section", help=f"One section alone: {', '.join(SECTIONS)}.")
@click.option("--id", "event", help="Shows this event of the file instead: slice/1296.")
def explain(
    path: str,
    chosen: ChosenTrace,
    form: str,
    steps: str,
    device: str,
    max_bytes: int,
    section: str | None,
    event: str | None,
) -> None:
    """Answers most questions on a recording at once.

    PATH is a trace file, a run or a logdir, as for `kinetoscope show`. Of a run with several ranks
    one is shown, and a line of each.
    """
    with progress_bar(chosen.shown) as on_progress:
        session = chosen.session(on_progress)
        if event:
            write(as_json(event_of(session, event)))
            return
        document = explained_of(session, path, steps, device)
    if form == "csv":
        write_csv(tables_of(document), sys.stdout)
    elif form == "markdown":
        write(tables_markdown(tables_of(document)))
    elif section:
        part = section_of(document, section)
        write(_kept(as_json(part, indent=-1) if form == "json" else section_text(part), max_bytes))
    else:
        written = _as_json if form == "json" else _as_text
        write(written(fitted(document, max_bytes, written)).removesuffix("\n"))


def _as_json(document: ExplainDocument) -> str:
    return as_json(document, indent=-1) + "\n"


def _as_text(document: ExplainDocument) -> str:
    return "".join(f"{printable(line)}\n" for line in explained(document).split("\n"))


def _kept(text: str, most_bytes: int) -> str:
    """The text with control characters written out.

    Raises:
        QueryError: it is longer.
    """
    told = "\n".join(map(printable, text.split("\n")))
    size = len(told.encode("utf-8", "replace")) + 1
    if size > most_bytes:
        raise QueryError(f"the section has {size} bytes", hint="raise --max-bytes")
    return told
