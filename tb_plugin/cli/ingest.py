"""``kinetoscope ingest LOGDIR``: reads every trace of a logdir into the cache, once."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ..base import machine
from ..base.errors import KinetoscopeError, NotFoundError, QueryError, UnavailableError
from ..base.units import duration, listing, plural
from ..session.folder import look
from ..session.ingest import IngestOutcome, IngestState, IngestTask, ingest_file, tasks_of
from ..session.ingest import ingest as ingest_all
from ..session.remote import fetched_together, remote_file
from ..session.session import local
from ..store.cache.beside import BESIDE as BESIDE_FOLDER
from ..store.cache.beside import why_untrusted
from ..store.cache.location import open_cache
from ..store.catalog_state import Attempt
from ..store.discovery.walk import is_far, resolve
from ..store.filesystems.listing import RemoteObject
from ..store.ingest import resources
from ..store.ingest.worker import NICENESS
from ..views import all_views
from ..views.table import Column, Table, table_from
from .entry import FAILED, FORMAT, PATH, as_json, end_gently, printable, say, write
from .render import tables_markdown, write_csv

BESIDE = "beside"


@click.command()
@click.argument("logdir", type=PATH)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Local processes.  [default: the cores, as far as memory allows]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="A running dask.distributed cluster, tcp://HOST:PORT, instead of local processes. Its"
    " workers must see LOGDIR and the cache under the same paths.",
)
@click.option(
    "--cache",
    metavar="FOLDER",
    help=f"Where to store: a folder, or `{BESIDE}`: in LOGDIR, where every viewer of it looks."
    "  [default: your cache]",
)
@click.option("--columns", is_flag=True, help="Store the tables of each trace, too.")
@click.option("--format", "form", **FORMAT)
def ingest(  # its options
    logdir: str,
    workers: int | None,
    scheduler: str | None,
    cache: str | None,
    columns: bool,
    form: str,
) -> int:
    """Reads every trace of a logdir into the cache: summaries, and what compares its ranks.

    A viewer that uses the same cache then opens them without reading one. What is stored already is
    not read again, so an interrupted run goes on where it was. Ends with 1 if a file failed.
    """
    end_gently()
    origins: dict[str, RemoteObject] = {}
    lost: list[IngestOutcome] = []
    if is_far(logdir):
        if cache == BESIDE:
            raise QueryError("--cache beside takes a logdir of this machine", hint="name a folder")
        origins, lost = _far_traces(logdir)
        paths = list(origins)
    else:
        logdir = local(logdir)
        paths = _traces(logdir)
    root = _root(logdir, cache)
    specs = [view.artifact for view in all_views() if view.among and view.artifact]
    tasks = tasks_of(paths, root, specs, is_beside=cache == BESIDE, columns=columns)
    with (
        _executor(workers, scheduler, tasks) as (connect, room),
        _progress(len(tasks), lambda one: _as_named(one, origins)) as step,
    ):
        found = ingest_all(tasks, connect, room, step, ingest_file)
    outcomes = [*(_as_named(one, origins) for one in found.values()), *lost]
    _report(outcomes, root, form)
    return FAILED if any(one.state == "failed" for one in outcomes) else 0


def _traces(logdir: str) -> list[str]:
    """The trace files below a folder; or the one file that was named.

    Raises:
        NotFoundError: there is none.
    """
    if not os.path.isdir(logdir):
        return [logdir]
    records, problems = look(resolve(logdir, None))
    found = [
        one.found.absolute
        for one in records.values()
        if one.accepted and one.attempt in (Attempt.LAZY, Attempt.QUEUED, Attempt.DONE)
    ]
    if not found:
        hint = problems[0].message if problems else f"kinetoscope doctor {logdir} says why"
        raise NotFoundError(f"there is no trace below {logdir}", hint=hint)
    return found


def _far_traces(address: str) -> tuple[dict[str, RemoteObject], list[IngestOutcome]]:
    """The copies of all traces at an address of another machine, and of what; and the failures.

    Raises:
        NotFoundError: there is none.
        KinetoscopeError: the other machine cannot be reached, or one of them cannot be fetched.
    """
    one = remote_file(address)
    if one is not None:
        every = [one]
    else:
        records, problems = look(resolve(address, None))
        every = [r.found.origin for r in records.values() if r.accepted and r.found.origin]
        if not every:
            hint = problems[0].message if problems else f"kinetoscope doctor {address} says why"
            raise NotFoundError(f"there is no trace below {address}", hint=hint)
    found: dict[str, RemoteObject] = {}
    lost: list[IngestOutcome] = []
    for origin, copy in fetched_together(every).items():
        if isinstance(copy, str):
            found[copy] = origin
        else:
            say(f"{origin.shown}: {copy}")
            lost.append(IngestOutcome(origin.shown, "failed", str(copy), bytes=origin.bytes))
    if not found:
        raise KinetoscopeError(f"{address}: no trace could be fetched")
    return found, lost


def _as_named(outcome: IngestOutcome, origins: Mapping[str, RemoteObject]) -> IngestOutcome:
    """The outcome under the file's remote address if a copy was read."""
    origin = origins.get(outcome.path)
    return replace(outcome, path=origin.shown) if origin else outcome


def _root(logdir: str, chosen: str | None) -> Path:
    """The folder to store in.

    Raises:
        KinetoscopeError: it cannot be written, or others can write to it.
    """
    if chosen == BESIDE:
        folder = logdir if os.path.isdir(logdir) else os.path.dirname(os.path.abspath(logdir))
        beside_it = Path(os.path.realpath(folder), BESIDE_FOLDER)
        problem = why_untrusted(beside_it if beside_it.exists() else beside_it.parent)
        if problem:
            raise KinetoscopeError(
                f"no viewer would use a cache in {folder}: {problem}",
                hint="name a folder with --cache, and in KINETOSCOPE_CACHE_DIR of the viewer",
            )
        chosen = str(beside_it)
    cache = open_cache(chosen)
    if cache.problem:
        raise KinetoscopeError(cache.problem, hint="choose another with --cache")
    return cache.roots[0]


@contextlib.contextmanager
def _executor(
    workers: int | None, scheduler: str | None, tasks: Sequence[IngestTask]
) -> Iterator[tuple[Callable[[], Executor], int]]:
    """A function that opens an executor, and the number of tasks that it takes at a time."""
    if scheduler:
        with _client(scheduler) as client:
            room = max(2 * sum(client.nthreads().values()), 1)
            yield lambda: client.get_executor(pure=False, retries=2), room
        return
    count = workers or _count(tasks)
    # A fresh interpreter for each: nothing of this process is inherited, as in the server's pool.
    context = multiprocessing.get_context("spawn")
    threads = max(1, machine.thread_count() // count)
    with _nothing_imported_from_here():
        yield lambda: ProcessPoolExecutor(count, context, _step_back, (threads,)), count


@contextlib.contextmanager
def _nothing_imported_from_here() -> Iterator[None]:
    """Start processes that import no module of the current directory."""
    name = "PYTHONSAFEPATH"
    if name in os.environ:
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]


def _client(address: str) -> Any:  # noqa: ANN401  # of an optional package
    """A client of a dask cluster.

    Raises:
        UnavailableError: the package is not installed, or nobody answers.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise UnavailableError(
            "--scheduler needs dask.distributed", hint="pip install 'kinetoscope[dask]'"
        ) from None
    try:
        return distributed.Client(address, timeout=20, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"no dask scheduler answers at {address}: {error}", hint="dask scheduler; dask worker …"
        ) from error


def _count(tasks: Sequence[IngestTask]) -> int:
    """Local processes: a core each, and memory for the largest files at once."""
    free = machine.free_memory()
    largest = tasks[0].path
    needed = resources.memory_of(largest, os.stat(largest).st_size)
    return max(1, min(machine.core_count(), free // needed, len(tasks)))


def _step_back(threads: int) -> None:
    """In a local process: lower its priority, and let it use so many threads for a file."""
    os.environ[machine.THREADS_VARIABLE] = str(threads)
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICENESS)


@contextlib.contextmanager
def _progress(
    total: int, named: Callable[[IngestOutcome], IngestOutcome]
) -> Iterator[Callable[[IngestOutcome], None]]:
    """Called with each outcome: a bar on a terminal, a line for what went wrong everywhere."""
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("reading"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("", total=total)

    def step(outcome: IngestOutcome) -> None:
        outcome = named(outcome)
        bar.advance(task)
        if outcome.state in ("failed", "refused"):
            say(f"{outcome.path}: {outcome.message}", hint=outcome.hint)

    with bar:
        yield step


_STATES: Mapping[IngestState, str] = {
    "read": "read",
    "found": "stored before",
    "refused": "refused",
    "failed": "failed",
}


def _table(outcomes: Sequence[IngestOutcome]) -> Table:
    keys = ("path", "state", "seconds", "message", "hint")
    columns = tuple(Column(key, key.capitalize()) for key in keys)
    return table_from("Traces", columns, outcomes)


def _report(found: Sequence[IngestOutcome], root: Path, form: str) -> None:
    outcomes = sorted(found, key=lambda one: one.path)
    if form == "json":
        write(as_json(outcomes))
        return
    if form == "csv":
        write_csv([_table(outcomes)], sys.stdout)
        return
    counts = Counter(one.state for one in outcomes)
    parts = [f"{counts[state]} {word}" for state, word in _STATES.items() if counts[state]]
    took = sum(one.seconds for one in outcomes)
    write(printable(f"{plural(len(outcomes), 'trace')}: {listing(parts)}."))
    write(printable(f"Reading took {duration(took * 1e9)} of all processes together, into {root}."))
    if form == "markdown":
        write(f"\n{tables_markdown([_table(outcomes)])}")
    sys.stdout.flush()
