"""``kinetoscope advise PATH``: what holds the steps of a trace, and what to do about it.

The JSON is a document with a stable schema (``views/overview/document``) for other programs:
every finding names events that ``--slice`` and the page resolve, and what this recording cannot
answer is listed with what to record.
"""

from __future__ import annotations

import sys
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from ..analysis.advice.rule import read_thresholds, thresholds
from ..analysis.wording import noun_of
from ..ask.explain import event_of
from ..base.errors import QueryError
from ..base.units import duration, share
from ..session.session import ChosenTrace
from ..views.overview.document import (
    MOST_BYTES,
    AdviceDocument,
    as_markdown,
    capital,
    fitted,
)
from ..views.overview.idle import path_by_kind
from ..views.overview.view import VIEW as OVERVIEW
from ..views.overview.view import advice_on
from ..views.table import Column, Table
from .ask.chosen import of_trace
from .entry import FORMAT, as_json, printable, write
from .render import progress_bar, width_of, wrapped, write_csv


class _Choice(Struct, frozen=True):
    """The choice made by the options."""

    format: str
    steps: str
    device: str
    thresholds: str | None
    max_bytes: int
    slice: int | None
    width: int | None


@click.command()
@of_trace
@click.option("--format", **FORMAT)
@click.option(
    "--steps",
    default="",
    help='Steps by their numbers: "3", "2-5", "1,4-6", or "all".  [default: all but warm-up and'
    " incomplete ones]",
)
@click.option(
    "--device",
    default="",
    help='Device by its number or key: "0", "cuda:0", "hip:1".  [default: the busiest]',
)
@click.option(
    "--thresholds",
    metavar="FILE",
    help="JSON with other thresholds.  [default: what KINETOSCOPE_THRESHOLDS names]",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=1024),
    default=MOST_BYTES,
    show_default=True,
    help="Size of JSON; findings that do not fit are counted.",
)
@click.option("--slice", type=click.IntRange(min=0), help="Shows this event of a finding instead.")
@click.option("--width", type=click.IntRange(min=1), help="Characters of a line of a table.")
def advise(path: str, chosen: ChosenTrace, **rest: Any) -> None:  # noqa: ANN401, ARG001
    """Says what holds the steps of a trace, and what to do about it."""
    asked = _Choice(**rest)
    limits = read_thresholds(asked.thresholds) if asked.thresholds else thresholds()
    with progress_bar(chosen.shown) as on_progress:
        session = chosen.session(on_progress)
        if asked.slice is not None:
            write(as_json(event_of(session, f"slice/{asked.slice}")))
            return
        subject = session.subject(OVERVIEW)
        document = advice_on(subject, asked.steps, asked.device, limits)
        if asked.format == "json":
            document = replace(document, critical_path=path_by_kind(subject, asked.steps))
    if asked.format == "json":
        small = fitted(document, asked.max_bytes - 1)
        text = as_json(small, indent=-1)
        size = len(text.encode("utf-8", "replace")) + 1
        if size > asked.max_bytes:
            raise QueryError(f"the smallest answer has {size} bytes", hint="raise --max-bytes")
        write(text)
    elif asked.format == "markdown":
        write(printable_lines(as_markdown(document)))
    elif asked.format == "csv":
        write_csv([_table(document)], sys.stdout)
    else:
        _print(document, asked.width or width_of(sys.stdout))


def printable_lines(text: str) -> str:
    """The text with control characters of each line written out."""
    return "\n".join(map(printable, text.split("\n")))


def _table(document: AdviceDocument) -> Table:
    keys = ("id", "title", "severity", "scope", "text", "action", "gain_ns", "gain_ratio")
    rows = [
        (
            *(one.id, one.title, one.severity, one.scope, one.text, one.action.text),
            *((one.gain.ns_per_step, one.gain.ratio) if one.gain else (None, None)),
        )
        for one in document.findings
    ]
    return Table("Findings", tuple(Column(key, key) for key in keys), tuple(rows))


def _print(document: AdviceDocument, width: int | None) -> None:
    def say_all(text: str, indent: str = "") -> None:
        for line in wrapped(printable(text), None if width is None else width - len(indent)):
            write(indent + line)

    say_all(document.headline)
    say_all(" · ".join(text for text in (document.detail, document.agreement) if text))
    for number, one in enumerate(document.findings, start=1):
        gain = f" · up to {share(one.gain.ratio)}" if one.gain else ""
        write("")
        say_all(f"{number}  {one.title}")
        say_all(f"{one.severity}{gain} · {one.id} · {one.scope}", "   ")
        say_all(one.text, "   ")
        for line in one.action.snippet.split("\n") if one.action.snippet else ():
            write(f"     {printable(line)}")
        for seen in one.evidence[:1]:
            length = duration(seen.end_ns - seen.start_ns)
            which = f"event: slice {seen.slice}" if seen.slice >= 0 else "stretch"
            say_all(f"longest {which}, {seen.name}, {length} at {duration(seen.start_ns)}", "   ")
    if len([one for one in document.findings if one.gain]) > 1:
        write("")
        noun = noun_of(document.scope.step_source)
        say_all(f"All ceilings together: {share(document.together_ratio)} of the {noun}.")
    if document.why_none:
        write("")
        say_all(document.why_none)
    if document.not_available:
        write("")
        write("Not available:")
        for what, why in document.not_available.items():
            say_all(f"{what}: {why}", "  ")
    if document.cannot_answer:
        write("")
        write("Not answered by this recording:")
        for lacking in document.cannot_answer:
            say_all(f"{capital(lacking.record)}:", "  ")
            say_all(", ".join(f"{one.id} {one.title}" for one in lacking.rules), "    ")
