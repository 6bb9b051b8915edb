"""``kinetoscope doctor PATH``: is each file used, and if not, why? And what is installed here?

A folder is searched by names and first bytes; a single file is read. Files that the search left out
are opened here, too: the reason is the one that ``kinetoscope show FILE`` gives. A small recording
that is drawn here goes through every view first: a fault of the installation is none of the files.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click
import msgspec
from msgspec import Struct
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from ..analysis.facts import Facts
from ..base import units
from ..base.errors import KinetoscopeError, NotReadyError, QueryError
from ..base.native import FOLDER, INTERFACE, native
from ..base.regex import regex
from ..base.version import release
from ..handlers.compiler.record import since_then
from ..handlers.naming import hidden_file
from ..handlers.outputs import COMPILE_SUFFIX
from ..handlers.process import is_gone, is_known
from ..handlers.remote_address import RemoteError
from ..handlers.writer import clear_away, left_behind
from ..session.catalog import facts_catalog
from ..session.folder import NO_PATIENCE
from ..session.recordings import every_worker
from ..session.remote import remote_file
from ..session.self_check import ViewFailure, failed_views
from ..session.session import choose, local, lost_link
from ..store.cache.location import open_cache
from ..store.catalog import CatalogService, Timing
from ..store.contract import Catalog, FileInfo
from ..store.discovery import stability, walk
from ..store.discovery.walk import is_far, resolve
from ..store.filesystems.listing import list_files
from ..store.ingest.protocol import info_of
from ..store.ingest.worker import truncation_of
from ..trace.health_record import COSTLY, Note
from ..trace.io.source import special_file
from ..views import all_views
from ..views.table import Column, Table
from ..web.page import HOW_TO_BUILD, STATIC
from ..web.tab import OLD_DISTRIBUTION, plugin_name
from .entry import FAILED, FORMAT, PATH, as_json, write
from .render import (
    TableLayout,
    print_tables,
    progress_bar,
    tables_markdown,
    width_of,
    write_csv,
)

PACKAGES = (
    *("tensorboard", "numpy", "pandas", "pyarrow", "msgspec", "isal", "werkzeug", "torch"),
    *("fsspec", "s3fs", "gcsfs", "adlfs"),
)


class InstalledFact(Struct, frozen=True):
    """One line about the installation."""

    what: str
    value: str


def installation(failures: tuple[ViewFailure, ...] = ()) -> tuple[InstalledFact, ...]:
    """Versions, the reader, the cache, the page, the name of the plugin, the views that fail."""
    return (
        InstalledFact("kinetoscope", release()),
        InstalledFact("Python", f"{platform.python_version()} ({sys.executable})"),
        InstalledFact("System", platform.platform()),
        *(InstalledFact(name, version(name) or "not installed") for name in PACKAGES),
        InstalledFact("Compilations", compilations()),
        InstalledFact("Reader", reader_in_use()),
        InstalledFact("Cache", cache()),
        InstalledFact(
            "Page", "built" if (STATIC / "index.js").is_file() else f"not built: {HOW_TO_BUILD}"
        ),
        InstalledFact("Plugin", plugin()),
        *(InstalledFact(f"View {one.view}", f"fails: {one.reason}") for one in failures),
        InstalledFact("Self-check", self_check(failures)),
    )


def version(distribution: str) -> str | None:
    """The version of an installed distribution, without importing it."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def compilations() -> str:
    """Records of torch.compile that the handler can make with the installed torch."""
    found = version("torch")
    return since_then(found) if found else "not recorded: torch is not installed"


def reader_in_use() -> str:
    """The reader in use of the two, and the reason."""
    found = native()
    if found.library is None:
        return f"Python, several times slower than the native one: {found.reason}. {found.remedy}."
    older = ", older than its sources: run `make native`" if is_older_than_sources() else ""
    return f"native, interface {INTERFACE}: {found.path}{older}"


def is_older_than_sources() -> bool:
    """True if this is a checkout whose library is older than its sources."""
    built = Path(native().path).stat().st_mtime
    sources = (FOLDER.parent.parent / "native" / "src").rglob("*.rs")
    return any(source.stat().st_mtime > built for source in sources)


def cache() -> str:
    """The folder of the cache, and its size."""
    found = open_cache()
    place = f"{found.roots[0]}, at most {units.size(found.limit_bytes)}"
    return f"{place}. {found.problem}" if found.problem else place


def plugin() -> str:
    """The name of the tab in TensorBoard, and the reason."""
    name = plugin_name()
    old = version(OLD_DISTRIBUTION)
    return f"{name}, because {OLD_DISTRIBUTION} {old} is installed too" if old else name


def self_check(failures: tuple[ViewFailure, ...]) -> str:
    """Number of views that answer for the built-in recording."""
    count = len(all_views())
    if not failures:
        return f"all {count} views answer of a small built-in recording"
    return (
        f"FAILED: {len(failures)} of {count} views do not answer of a small built-in recording, so"
        " this installation is broken, whatever the files are. Please report it with these lines."
    )


LOOK_SECONDS = 600.0
POLL_SECONDS = 0.2
UNDECIDED = ("queued", "reading")
NOT_A_TRACE, LEFT_OUT = "not a trace", "left out"
MOST_READ_BYTES = 64 << 20
"""Files up to this size are read whole for the reason why they are no trace."""

_UNDECIDED_KINDS = ("json", "empty")  # what the first bytes alone cannot tell
_BY_ITSELF = "kinetoscope show FILE reads it."
_HIDDEN_FOLDER = "Folders whose name begins with a dot are not searched."
_HIDDEN_FILE = (
    "It begins like a trace, but a folder is not searched for files whose name begins with a dot."
)
_OTHER_NAME = "It begins like a trace, but its name is not one that a folder is searched for."
_NOT_OPENED = "Its name is not one that a folder is searched for; a remote file is not opened then."
_OF_COMPILE = "Record of torch.compile, read with the trace beside it."
_BEING_WRITTEN = "A recording of this machine is writing it."
_LEFT_BEHIND = "A recording that was killed left it unfinished."
_LEFT_WHOLE = "A recording that was killed left it: it holds a whole trace."
_REMOVES = "kinetoscope doctor --remove-abandoned removes it."
_PUBLISHES = "kinetoscope doctor --remove-abandoned gives it its name."
_LATE_EVENTS = "It holds a trace, but not in its first 64 KiB, and a folder is searched by these."


class FileReport(Struct, frozen=True):
    """One file: its use, or the reason why it is not used, and its notes."""

    file: str
    # "in use" | "truncated" | "not a trace" | "left out" | "failed" | "waiting" | "abandoned" |
    # "removed" | "published"
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
    size = 0
    try:
        chosen = choose(path)
        size = chosen.origin.bytes if chosen.origin else os.path.getsize(chosen.path)
        with progress_bar(chosen.shown) as on_progress:
            facts = chosen.session(on_progress).facts()
    except KinetoscopeError as error:
        return FileReport(path, NOT_A_TRACE, error.message, error.hint, size)
    except OSError as error:
        return FileReport(path, "failed", error.strerror or str(error), "", size)
    except Exception as error:  # noqa: BLE001  what stops the reader is what doctor is asked for
        info = info_of(error)
        return FileReport(path, "failed", info.message, "", size)
    lost = truncation_of(facts)
    verdict, events = "truncated" if lost else "in use", facts.health.events
    return FileReport(
        path, verdict, lost, "", size, event_count=events, notes=_notes_of_file(facts)
    )


def examine_folder(path: str) -> tuple[tuple[FileReport, ...], tuple[str, ...]]:
    """Every file below the folder, each read in a child process; and problems of the search."""
    with facts_catalog(resolve(path, None), Timing(patience=NO_PATIENCE)) as catalog:
        catalog.wait_first_look(LOOK_SECONDS)
        with _bar() as bar:
            known = _read_all(catalog, bar)
        listed = [_report(catalog, file) for file in known.files]
        problems = tuple(f"{problem.message} {problem.hint}" for problem in known.problems)
    if is_far(path):
        return (*listed, *_others_far_away(path, {report.file for report in listed})), problems
    known_paths = {report.file: report for report in listed}
    found = dict(walk.everything(path))
    files = [
        _with_reason_of_reading(report, found.get(report.file, ""))
        if report.verdict == NOT_A_TRACE
        else report
        for report in listed
    ]
    others = sorted(found.items() - {(f, found.get(f, "")) for f in known_paths})
    files += [_passed_over(relative, absolute) for relative, absolute in others]
    return tuple(_if_abandoned(file, found.get(file.file, "")) for file in files), problems


def _if_abandoned(report: FileReport, path: str) -> FileReport:
    """The report, or another one if a killed recording left the file."""
    if path:
        with suppress(OSError):
            left = left_behind(Path(path), stability.ABANDONED_SECONDS)
            if left is not None:
                reason, hint = (_LEFT_WHOLE, _PUBLISHES) if left.trace else (_LEFT_BEHIND, _REMOVES)
                return FileReport(report.file, "abandoned", reason, hint, report.file_bytes)
        hidden = hidden_file(os.path.basename(path))
        if hidden and is_known(hidden.mark) and not is_gone(hidden.mark):
            return FileReport(report.file, "waiting", _BEING_WRITTEN, "", report.file_bytes)
    return report


def remove_abandoned(path: str) -> tuple[FileReport, ...]:
    """Remove what killed recordings left below a folder, and publish whole traces among it.

    Only files that the handler named so, of this user; of processes that have ended, or of other
    machines and unchanged for a day. Torch's own, and browsers', are left alone.
    """
    done = []
    for relative, absolute in list(walk.everything(path)):
        try:
            left = left_behind(Path(absolute), stability.ABANDONED_SECONDS)
            if left is None:
                continue
            size = os.path.getsize(absolute)
            trace = clear_away(left)
        except OSError as error:
            done.append(FileReport(relative, "failed", error.strerror or str(error), "", 0))
        else:
            said = ("removed", _LEFT_BEHIND) if trace is None else ("published", _LEFT_WHOLE)
            done.append(FileReport(relative, *said, "", size))
    return tuple(done)


def _others_far_away(address: str, known: set[str]) -> list[FileReport]:
    """The files of another machine that the search left out by their names: none is copied here."""
    (logdir,) = resolve(address, None)
    if logdir.far is None:
        return []
    try:
        found = [one for one in list_files(logdir.far) if walk.shown(one.below) not in known]
    except RemoteError:
        return []  # said among the problems
    return [
        _left_out(walk.shown(one.below), one.bytes, _NOT_OPENED)
        for one in sorted(found, key=lambda one: one.below)
    ]


def _with_reason_of_reading(report: FileReport, path: str) -> FileReport:
    """The report of a file refused by its first bytes, after it was read whole."""
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
    if relative.endswith(COMPILE_SUFFIX):
        with suppress(OSError):
            return FileReport(relative, "in use", _OF_COMPILE, "", os.path.getsize(path))
    try:
        size = os.path.getsize(path)
        special = special_file(os.stat(path).st_mode)
        if special is not None:
            return FileReport(relative, NOT_A_TRACE, special.message, special.hint, size)
        other = stability.not_a_trace(path)
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
    """Request every trace until each has been read or refused."""
    task = bar.add_task("reading", total=None) if bar else None
    while True:
        known = catalog.snapshot()
        spans = [(r.name, w.name, s) for r in known.runs for w in every_worker(r) for s in w.spans]
        open_ones = [(run, worker, s) for run, worker, s in spans if s.state in UNDECIDED]
        if bar is not None and task is not None:
            bar.update(task, completed=len(spans) - len(open_ones), total=len(spans))
        if not open_ones:
            return known
        for run, worker, span in open_ones:
            _ask(catalog, run, worker, span.key)
        time.sleep(POLL_SECONDS)


def _ask(catalog: CatalogService[Facts], run: str, worker: str, span: str) -> None:
    """Request a trace: older traces are read only on request."""
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
        return _notes_of_file(catalog.summary(catalog.locate(file.run, file.worker, file.span)))
    except KinetoscopeError:
        return ()  # changed while we looked; the next call of doctor tells


def _notes_of_file(facts: Facts) -> tuple[Note, ...]:
    return tuple(note for note in facts.health.notes if note.severity != "good")


@contextmanager
def _bar() -> Iterator[Progress | None]:
    if not sys.stderr.isatty():
        yield None
        return
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar


NOTHING_TO_SHOW = 3
USABLE = ("in use", "truncated")


class Report(msgspec.Struct, frozen=True):
    """The whole report, as JSON."""

    installation: tuple[InstalledFact, ...]
    files: tuple[FileReport, ...]
    problems: tuple[str, ...]
    failures: tuple[ViewFailure, ...] = ()


@click.command()
@click.argument("path", type=PATH)
@click.option("--format", "form", **FORMAT)
@click.option(
    "--remove-abandoned",
    is_flag=True,
    help="Remove what killed recordings left below a folder of this machine, and give whole "
    "traces among it their names.  [default: off]",
)
@click.option(
    "--report",
    "is_nameless",
    is_flag=True,
    help="Leave out names and paths, so that it can be sent to others.  [default: off]",
)
def doctor(path: str, form: str, remove_abandoned: bool, is_nameless: bool) -> int:
    """Lists every file: whether it is used, and if not, why.

    PATH is a trace file, a run or a logdir, here or on another machine (s3://bucket/logs). What
    looks like a trace is read, as TensorBoard would.
    Exit code 1: this installation does not answer of a small recording that it brings.
    Exit code 3: there is nothing that can be shown.
    """
    report = examine(path, clear=remove_abandoned)
    if is_nameless:
        report = without_names(report)
    if form == "json":
        write(as_json(report))
    elif form == "markdown":
        write(tables_markdown(_tables(report)))
    elif form == "csv":
        write_csv(_tables(report), sys.stdout)
    else:
        print_tables(_tables(report), sys.stdout, TableLayout(width_of(sys.stdout)))
    if report.failures:
        return FAILED
    if not any(file.verdict in USABLE for file in report.files):
        return NOTHING_TO_SHOW
    return 0


def examine(path: str, *, clear: bool = False) -> Report:
    """Examine every file of a path; ``clear`` removes abandoned files first.

    Raises:
        NotFoundError: there is no such path.
        QueryError: something is to be removed, but the path is no folder of this machine.
        UnavailableError: an address of another machine needs a library that is not installed.
        KinetoscopeError: the other machine cannot be reached.
    """
    if is_far(path):
        is_folder = remote_file(path) is None
    else:
        path = local(path)
        is_folder = os.path.isdir(path)
    if clear and (is_far(path) or not is_folder):
        raise QueryError("--remove-abandoned looks below a folder of this machine")
    removed = remove_abandoned(path) if clear else ()
    if is_folder:
        files, problems = examine_folder(path)
        files += removed
        if not files and not problems:
            problems = (f"No file below {path} has the name of a recording, as x.pt.trace.json.",)
    else:
        files, problems = (examine_file(path),), ()
    failures = failed_views()
    return Report(installation(failures), files, problems, failures)


_PATHS = regex(r"(?:\b\w+://|[A-Za-z]:[\\/]|(?<![\w.])[/~])[^\s,;)]+")


def without_names(report: Report) -> Report:
    """The report without what only its user knows: names, paths, and texts that may quote them.

    Files are numbered. Of a note its kind, severity and count stay, of a reason nothing.
    """
    replace = msgspec.structs.replace
    facts = tuple(replace(fact, value=_PATHS.sub("…", fact.value)) for fact in report.installation)
    files = []
    for number, file in enumerate(report.files, 1):
        notes = tuple(Note(n.kind, n.severity, n.kind, n.count, n.total, "") for n in file.notes)
        named = FileReport(f"file {number}", file.verdict, "", "", file.file_bytes)
        files.append(replace(named, event_count=file.event_count, notes=notes))
    problems = (f"{len(report.problems)} problems of the search",) if report.problems else ()
    return Report(facts, tuple(files), problems, report.failures)


def _tables(report: Report) -> tuple[Table, ...]:
    tables = [
        Table(
            "Installation",
            (Column("what", "What"), Column("value", "Value", kind="words")),
            tuple((fact.what, fact.value) for fact in report.installation),
        ),
        _files(report.files),
        _notes(report.files),
    ]
    if report.problems:
        rows = tuple((problem,) for problem in report.problems)
        tables.append(Table("Problems", (Column("problem", "Problem", kind="words"),), rows))
    return tuple(tables)


def _files(files: tuple[FileReport, ...]) -> Table:
    columns = (
        Column("file", "File", kind="path"),
        Column("verdict", "Verdict"),
        Column("file_bytes", "Size"),
        Column("event_count", "Events"),
        Column("run", "Run", kind="path", is_minor=True),
        Column("worker", "Worker", kind="path", is_minor=True),
        Column("span", "Span", is_minor=True),
        Column("reason", "Why", kind="text"),
    )
    rows = tuple(
        (f.file, f.verdict, f.file_bytes, f.event_count, f.run, f.worker, f.span, _why(f))
        for f in files
    )
    return Table("Files", columns, rows)


def _why(file: FileReport) -> str:
    return " ".join(text for text in (file.reason, file.hint) if text)


def _notes(files: tuple[FileReport, ...]) -> Table:
    """All notes of one file; of several only those that cost something."""
    columns = (
        Column("file", "File", kind="path"),
        Column("severity", "Severity"),
        Column("title", "Note", kind="words"),
        Column("count", "Count"),
        Column("consequence", "Consequence", kind="text"),
        Column("remedy", "Remedy", kind="text"),
    )
    rows = tuple(
        (file.file, note.severity, note.title, note.count or None, note.consequence, note.remedy)
        for file in files
        for note in file.notes
        if len(files) == 1 or note.severity in COSTLY
    )
    title = "Health" if len(files) == 1 else "Health: errors and warnings"
    return Table(title, columns, rows)
