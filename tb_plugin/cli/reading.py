"""What is known of one file: from the cache, else read here, with a progress bar."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from ..analysis.facts import Facts
from ..analysis.summarize import summarize
from ..trace.model import Trace
from ..trace.raw import OnProgress
from ..trace.raw import Progress as ReadingProgress
from ..trace.read import read
from ..web.catalog import kept_facts, kept_trace
from .entry import printable


def facts_of(path: str) -> Facts:
    """The facts of a trace file.

    Raises:
        TraceFormatError: it is no trace; ``kind`` says what it is instead.
        NotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    known = kept_facts(path)
    return known if known is not None else summarize(_read(path))


def trace_of(path: str) -> Trace:
    """All columns of a trace file, from the cache when they are there.

    Raises:
        TraceFormatError: it is no trace; ``kind`` says what it is instead.
        NotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    return kept_trace(path) or _read(path)


def _read(path: str) -> Trace:
    with progress_bar(path) as on_progress:
        return read(path, on_progress)


@contextmanager
def progress_bar(path: str) -> Iterator[OnProgress | None]:
    """Shows how far reading is, where somebody looks at standard error; gone when it is done."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(os.path.basename(path)), total=None)
        yield lambda progress: _move(bar, task, progress)


def _move(bar: Progress, task: TaskID, progress: ReadingProgress) -> None:
    bar.update(
        task,
        description=progress.phase,
        completed=progress.bytes_done,
        total=progress.bytes_total,
    )
