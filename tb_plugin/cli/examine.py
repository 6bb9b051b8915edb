"""Reads every file that a path means, as TensorBoard would, and says what came of each.

A folder is searched by names and first bytes, a file that is named is read. So what the search
passed over is opened here, too: the reason is the one that ``kinetoscope show FILE`` gives.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from ..analysis.facts import Facts
from ..base.errors import KinetoscopeError, NotReadyError
from ..store import discovery, sniffing
from ..store.catalog import CatalogService, Timing
from ..store.catalog_types import Catalog, FileInfo
from ..store.choose import NO_PATIENCE, choose, lost_link
from ..store.logdirs import resolve
from ..store.summaries import truncation_of
from ..trace.health import Note
from ..trace.sniff import special_file
from ..web.catalog import facts_catalog
from .reading import facts_of

LOOK_SECONDS = 600.0
POLL_SECONDS = 0.2
UNDECIDED = ("queued", "reading")
NOT_A_TRACE, LEFT_OUT = "not a trace", "left out"
MOST_READ_BYTES = 64 << 20
"""A file that begins like no trace is read whole for its reason up to this size."""

_UNDECIDED_KINDS = ("json", "empty")  # what the first bytes alone cannot tell
_BY_ITSELF = "kinetoscope show FILE reads it."
_HIDDEN_FOLDER = "Folders whose name begins with a dot are not searched."
_HIDDEN_FILE = (
    "It begins like a trace, but a folder is not searched for files whose name begins with a dot."
)
_OTHER_NAME = "It begins like a trace, but its name is not one that a folder is searched for."
_LATE_EVENTS = "It holds a trace, but not in its first 64 KiB, and a folder is searched by these."


class FileReport(Struct, frozen=True):
    """One file: what it is used as, or why not, and what there is to know about it."""

    file: str
    # "in use" | "truncated" | "not a trace" | "left out" | "failed" | "waiting" | "abandoned"
    verdict: str
    reason: str
    hint: str
    file_bytes: int
    run: str | None = None
    worker: str | None = None
    span: str | None = None
    event_count: int | None = None
    notes: tuple[Note, ...] = ()


def examine_file(path: str) -> FileReport:
    """One file, read here."""
    try:
        size = os.path.getsize(path)
    except OSError as error:
        return FileReport(path, "failed", error.strerror or str(error), "", 0)
    try:
        facts = facts_of(choose(path).path)
    except KinetoscopeError as error:
        return FileReport(path, NOT_A_TRACE, error.message, error.hint, size)
    except OSError as error:
        return FileReport(path, "failed", error.strerror or str(error), "", size)
    lost = truncation_of(facts)
    verdict, events = "truncated" if lost else "in use", facts.health.events
    return FileReport(path, verdict, lost, "", size, event_count=events, notes=_notes(facts))


def examine_folder(path: str) -> tuple[tuple[FileReport, ...], tuple[str, ...]]:
    """Every file below the folder, each read in a process of its own; and what hindered looking."""
    with facts_catalog(resolve(path, None), Timing(patience=NO_PATIENCE)) as catalog:
        catalog.wait_first_look(LOOK_SECONDS)
        with _bar() as bar:
            known = _read_all(catalog, bar)
        listed = [_report(catalog, file) for file in known.files]
        problems = tuple(f"{problem.message} {problem.hint}" for problem in known.problems)
    known_paths = {report.file: report for report in listed}
    found = dict(discovery.everything(path))
    files = [
        _with_reason_of_reading(report, found.get(report.file, ""))
        if report.verdict == NOT_A_TRACE
        else report
        for report in listed
    ]
    others = sorted(found.items() - {(f, found.get(f, "")) for f in known_paths})
    files += [_passed_over(relative, absolute) for relative, absolute in others]
    return tuple(files), problems


def _with_reason_of_reading(report: FileReport, path: str) -> FileReport:
    """What is said of a file that its first bytes refused, once it was read whole."""
    if not path or report.file_bytes > MOST_READ_BYTES:
        return report
    read = examine_file(path)
    if read.verdict in (NOT_A_TRACE, "failed"):
        return msgspec.structs.replace(report, reason=read.reason, hint=read.hint)
    return _left_out(report.file, report.file_bytes, _LATE_EVENTS)


def _passed_over(relative: str, path: str) -> FileReport:
    """A file, or a folder, that the search did not enter."""
    if relative.endswith("/"):
        return FileReport(relative, LEFT_OUT, _HIDDEN_FOLDER, "", 0)
    try:
        size = os.path.getsize(path)
        special = special_file(os.stat(path).st_mode)
        if special is not None:
            return FileReport(relative, NOT_A_TRACE, special.message, special.hint, size)
        other = sniffing.not_a_trace(path)
    except OSError as error:
        lost = lost_link(path)
        verdict = NOT_A_TRACE if lost else "failed"
        return FileReport(relative, verdict, lost or error.strerror or str(error), "", 0)
    if other is None:
        return _left_out(relative, size, _hidden(relative) or _OTHER_NAME)
    report = FileReport(relative, NOT_A_TRACE, other.message, other.hint, size)
    return _with_reason_of_reading(report, path) if other.kind in _UNDECIDED_KINDS else report


def _left_out(file: str, size: int, reason: str) -> FileReport:
    return FileReport(file, LEFT_OUT, reason, _BY_ITSELF, size)


def _hidden(relative: str) -> str:
    return _HIDDEN_FILE if relative.rpartition("/")[2].startswith(".") else ""


def _read_all(catalog: CatalogService[Facts], bar: Progress | None) -> Catalog:
    """Asks for every trace until each has been read or refused."""
    task = bar.add_task("reading", total=None) if bar else None
    while True:
        known = catalog.snapshot()
        spans = [(r.name, w.name, s) for r in known.runs for w in r.workers for s in w.spans]
        open_ones = [(run, worker, s) for run, worker, s in spans if s.state in UNDECIDED]
        if bar is not None and task is not None:
            bar.update(task, completed=len(spans) - len(open_ones), total=len(spans))
        if not open_ones:
            return known
        for run, worker, span in open_ones:
            _ask(catalog, run, worker, span.key)
        time.sleep(POLL_SECONDS)


def _ask(catalog: CatalogService[Facts], run: str, worker: str, span: str) -> None:
    """Older traces are read only when somebody asks for them."""
    try:
        catalog.locate(run, worker, span)
    except NotReadyError:
        return
    except KinetoscopeError:
        return  # refused or gone by now: the catalog says so


def _report(catalog: CatalogService[Facts], file: FileInfo) -> FileReport:
    return FileReport(
        file.path,
        file.verdict,
        file.reason,
        file.hint,
        file.bytes,
        file.run,
        file.worker,
        file.span,
        file.events,
        _notes_of(catalog, file),
    )


def _notes_of(catalog: CatalogService[Facts], file: FileInfo) -> tuple[Note, ...]:
    if file.state != "ready":
        return ()
    try:
        return _notes(catalog.summary(catalog.locate(file.run, file.worker, file.span)))
    except KinetoscopeError:
        return ()  # changed while we looked; the next call of doctor tells


def _notes(facts: Facts) -> tuple[Note, ...]:
    return tuple(note for note in facts.health.notes if note.severity != "good")


@contextmanager
def _bar() -> Iterator[Progress | None]:
    if not sys.stderr.isatty():
        yield None
        return
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar
