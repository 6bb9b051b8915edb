"""``kinetoscope report PATH [OTHER]``: one file with the page, for someone without the trace."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import click

from ..base.errors import KinetoscopeError, QueryError, UnavailableError
from ..base.units import parse_size, size
from ..session.catalog import Traces, facts_catalog
from ..session.recordings import start_of
from ..session.session import ChosenTrace, Wanted, choose
from ..store.discovery.walk import resolve
from ..views import all_views
from ..views.view import TracePlace
from ..web.app import create_app
from ..web.report import MOST_BYTES, make_report
from .entry import PATH, START_HELP, say, write

_READ_S = 3600.0
_MOST_RANKS = 64  # of a run; the comparison of more is for a server


@click.command()
@click.argument("path", type=PATH)
@click.argument("other", required=False, type=PATH)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file.  [default: report.html]"
)
@click.option("--run", help="Run below PATH.  [default: the newest]")
@click.option("--worker", help="Worker of the run.  [default: the first]")
@click.option("--span", help="Span of the worker.  [default: the last]")
@click.option("--start", type=int, help=START_HELP)
@click.option(
    "--max-size",
    default=f"{MOST_BYTES // 1_000_000}MB",
    show_default=True,
    help="Most bytes of the file.",
)
def report(
    path: str,
    other: str | None,
    output: Path | None,
    run: str | None,
    worker: str | None,
    span: str | None,
    start: int | None,
    max_size: str,
) -> None:
    """Writes one HTML file with all views of a recording, to be sent to someone.

    PATH is a trace file or a folder. The file opens in any browser, without a server and without
    the internet. With OTHER it holds their comparison, too; of a run with several ranks it holds
    the comparison of the ranks. Names, paths and shapes of the recording are in it.
    """
    most = parse_size(max_size)
    if most is None:
        raise QueryError(f"{max_size!r} is no size", hint="write it as 5MB")
    chosen = choose(path, Wanted(run, worker, span, start))
    if notice := chosen.notice():
        say(notice)
    base = choose(other) if other is not None else None
    target = output or Path("report.html")
    views = all_views()
    with tempfile.TemporaryDirectory(prefix="kinetoscope-report-") as folder:
        place = _linked(chosen, Path(folder), "recording" if base else "")
        base_place = _linked(base, Path(folder), "base") if base else None
        with facts_catalog(resolve([folder], None)) as catalog:
            places = _read(catalog)
            made = make_report(
                create_app(catalog, views, "standalone"),
                views,
                _at(places, place),
                base=_at(places, base_place) if base_place else None,
                title=os.path.basename(chosen.shown),
                folder=folder,
                most_bytes=most,
            )
    _write(target, made.content)
    write(f"{target}: {size(len(made.content))}")
    say(f"the report leaves out {', '.join(made.left_out)}")


def _linked(chosen: ChosenTrace, folder: Path, run: str) -> Path:
    """The trace, and the others of its start, as a run of a folder of their own; its path there."""
    files = {os.path.basename(chosen.path): chosen.path}
    name = run or "recording"
    if chosen.place is not None and chosen.folder is not None:
        name = run or os.path.basename(chosen.place.run) or "recording"
        files |= _siblings(chosen)
    into = folder / name
    into.mkdir()
    for file, path in files.items():
        try:
            (into / file).symlink_to(os.path.abspath(path))
        except OSError:  # not allowed on this system
            shutil.copyfile(path, into / file)
    return Path(name, os.path.basename(chosen.path))


def _siblings(chosen: ChosenTrace) -> Mapping[str, str]:
    """The last recordings of the other workers of its start."""
    place, folder = chosen.place, chosen.folder
    assert place is not None
    assert folder is not None
    run = next(one for one in folder.catalog.runs if one.name == place.run)
    start = start_of(run, place)
    found: dict[str, str] = {}
    for one in run.workers:
        spans = [span.key for span in one.spans if span.start == start]
        if one.name == place.worker or not spans:
            continue
        file = folder.files[TracePlace(run.name, one.name, spans[-1])]
        if file.origin is None:
            found[os.path.basename(file.absolute)] = file.absolute
    if len(found) >= _MOST_RANKS:
        say(f"the report holds one of {len(found) + 1} ranks: kinetoscope serve compares them all")
        return {}
    return found


def _read(catalog: Traces) -> Mapping[str, TracePlace]:
    """Places by the paths of their files, when all files are read.

    Raises:
        UnavailableError: it took more than an hour.
    """
    catalog.wait_first_look(60.0)
    deadline = time.monotonic() + _READ_S
    while time.monotonic() < deadline:
        runs = catalog.snapshot().runs
        spans = [span for run in runs for worker in run.workers for span in worker.spans]
        if spans and not any(one.state in {"waiting", "queued", "reading"} for one in spans):
            return {
                span.file: TracePlace(run.name, worker.name, span.key)
                for run in runs
                for worker in run.workers
                for span in worker.spans
            }
        time.sleep(0.1)
    raise UnavailableError("the recordings were not read within an hour")


def _at(places: Mapping[str, TracePlace], file: Path) -> TracePlace:
    found = places.get(file.as_posix())
    if found is None:
        raise KinetoscopeError(f"{file.name} is no trace", hint="kinetoscope doctor says why")
    return found


def _write(target: Path, content: bytes) -> None:
    """The file, or nothing: a full disk leaves no half of it."""
    half = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        half.write_bytes(content)
        half.replace(target)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise KinetoscopeError(f"{target} cannot be written: {error.strerror}") from error
