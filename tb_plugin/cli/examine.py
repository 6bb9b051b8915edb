"""Reads every file that a path means, as TensorBoard would, and says what came of each."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from ..analysis.facts import Facts
from ..base.errors import KinetoscopeError, NotReadyError
from ..store.catalog import CatalogService, Timing
from ..store.catalog_types import Catalog, FileInfo
from ..store.choose import NO_PATIENCE, choose
from ..store.logdirs import resolve
from ..store.summaries import truncation_of
from ..trace.health import Note
from ..web.catalog import facts_catalog
from .reading import facts_of

LOOK_SECONDS = 600.0
POLL_SECONDS = 0.2
UNDECIDED = ("queued", "reading")


class FileReport(Struct, frozen=True):
    """One file: what it is used as, or why not, and what there is to know about it."""

    file: str
    verdict: str  # "in use" | "truncated" | "not a trace" | "failed" | "waiting"
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
    size = os.path.getsize(path)
    try:
        facts = facts_of(choose(path).path)
    except KinetoscopeError as error:
        return FileReport(path, "not a trace", error.message, error.hint, size)
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
        files = tuple(_report(catalog, file) for file in known.files)
        problems = tuple(f"{problem.message} {problem.hint}" for problem in known.problems)
    return files, problems


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
