"""How is a whole logdir read into the cache? Each file once, by processes of any executor.

``ingest_file`` is the work of one file: a pure consequence of the file and of what is stored, so a
process that dies costs one more try, and a second run finds what the first one stored. What is
stored appears by renames alone: nothing is half there, nothing is there twice.

``ingest`` hands the files to a ``concurrent.futures.Executor``: local processes, or the one that
``Client.get_executor`` of dask.distributed gives. Both go the same way.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from ..base.artifact_spec import ArtifactSpec, load_callable
from ..base.errors import KinetoscopeError, TraceFormatError, naming, told
from ..store.cache import artifacts, content_key, disk
from ..store.cache.artifacts import Making, Target, make_missing
from ..store.cache.beside import open_to_readers
from ..store.cache.content_key import READER
from ..store.cache.disk import Cache, encode_summary, with_path
from ..store.discovery.walk import FileVersion, shown
from ..store.ingest.protocol import info_of
from .catalog import SUMMARIZE

if TYPE_CHECKING:
    from ..trace.model import Trace

TRIES = 3
"""Attempts to read a file before it is blamed for the death of its processes."""

IngestState = Literal["read", "found", "refused", "failed"]


class IngestTask(Struct, frozen=True):
    """One file, and the data to store of it.

    Attributes:
        root: folder of the cache.
        is_beside: the cache lies in the logdir, for viewers on other machines.
        columns: store the tables of the trace, too.
        artifacts: name, ``module:function`` and variants of each.
    """

    path: str
    root: str
    is_beside: bool = False
    columns: bool = False
    artifacts: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


class IngestOutcome(Struct, frozen=True):
    """Result for a file: read now, found in the cache, refused as no trace, or failed."""

    path: str
    state: IngestState
    message: str = ""
    hint: str = ""
    bytes: int = 0
    events: int = 0
    seconds: float = 0.0
    tries: int = 1


def tasks_of(
    paths: Iterable[str], root: Path, specs: Sequence[ArtifactSpec[Any]], **choice: bool
) -> list[IngestTask]:
    """A task for each file; the largest first, so that the last one does not run alone."""
    artifacts = tuple((spec.name, spec.make, tuple(spec.variants)) for spec in specs)
    found = [IngestTask(path, str(root), artifacts=artifacts, **choice) for path in paths]
    return sorted(found, key=lambda task: -_size(task.path))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def ingest_file(task: IngestTask) -> IngestOutcome:
    """Store the missing data of one file. Runs in another process, perhaps on another machine."""
    began = time.monotonic()
    try:
        with naming(task.path):
            size, events, was_read = _stored(task)
    except TraceFormatError as error:
        return IngestOutcome(task.path, "refused", error.message, error.hint)
    except OSError as error:  # of the file or of the cache, as its text says
        return IngestOutcome(task.path, "failed", str(error) or type(error).__name__)
    except Exception as error:  # noqa: BLE001  the border of one file: it is told as what it is
        info = info_of(error)
        return IngestOutcome(task.path, "failed", info.message, info.hint)
    seconds = time.monotonic() - began
    return IngestOutcome(task.path, "read" if was_read else "found", "", "", size, events, seconds)


def _stored(task: IngestTask) -> tuple[int, int, bool]:
    """Bytes and events of a file, and whether it had to be read.

    Raises:
        TraceFormatError: it is no trace.
        KinetoscopeError: it changed while it was read.
        OSError: it cannot be read, or the cache cannot be written.
    """
    path, root = task.path, Path(task.root)
    version = FileVersion.at(path)
    code = content_key.code_version(READER, SUMMARIZE)
    cache = Cache((root,), 0)
    key = content_key.digest(path, version, code, root)
    token = os.urandom(8).hex()
    stored = cache.load_summary(key, path)
    makings = [
        Making(load_callable(make), artifacts.version_of(make), name, variants)
        for name, make, variants in task.artifacts
    ]
    missing = [making for making in makings if not _is_there(root, key, making)]
    needs_columns = task.columns and not cache.has_columns(key)
    try:
        if stored is None or missing or needs_columns:
            trace = cache.load_trace(key, path) or _read(path, version)
            events = trace.health.events
            if stored is None:
                summary = with_path(load_callable(SUMMARIZE)(trace), path)
                text = encode_summary(shown(path), version.bytes, events, 0.0, summary)
                disk.publish_summary(text, root, token, key)
            if needs_columns:
                disk.publish_columns(trace, root, token, key)
            for making in missing:
                make_missing(trace, making, Target(root, key, token), lambda _: None)
        else:
            events = stored.events
        if task.is_beside:
            open_to_readers(root, disk.entry(root, key))
    finally:
        cache.clear_token(token)
    return version.bytes, events, stored is None or bool(missing) or needs_columns


def _read(path: str, version: FileVersion) -> Trace:
    """The trace of a file, if it is still of this version when it was read."""
    trace: Trace = load_callable(READER)(path, lambda _: None)
    if FileVersion.at(path) != version:
        raise KinetoscopeError("It changed while it was read.", hint="Run it again.")
    return trace


def _is_there(root: Path, key: str, making: Making) -> bool:
    folders = (artifacts.artifact_folder(root, key, making.name, one) for one in making.variants)
    return all(artifacts.is_whole(folder, making.version) for folder in folders)


class _Queue(Struct):
    """Tasks that wait, and what became of the others.

    Those that were in flight when a process died go one by one.
    """

    waiting: deque[tuple[IngestTask, int]]
    on_outcome: Callable[[IngestOutcome], None]
    alone: deque[tuple[IngestTask, int]] = field(default_factory=deque)
    done: dict[str, IngestOutcome] = field(default_factory=dict)

    def take(self, in_flight: int, room: int) -> tuple[IngestTask, int] | None:
        if self.alone:
            return self.alone.popleft() if in_flight == 0 else None
        return self.waiting.popleft() if self.waiting and in_flight < room else None

    def end(self, task: IngestTask, outcome: IngestOutcome) -> None:
        self.done[task.path] = outcome
        self.on_outcome(outcome)

    def try_again(self, task: IngestTask, tries: int, error: BaseException) -> None:
        if tries < TRIES:
            self.alone.append((task, tries + 1))
        else:
            self.end(task, _died(task, error, tries))


def ingest(
    tasks: Sequence[IngestTask],
    connect: Callable[[], Executor],
    room: int,
    on_outcome: Callable[[IngestOutcome], None] = lambda _: None,
    work: Callable[[IngestTask], IngestOutcome] = ingest_file,
) -> Mapping[str, IngestOutcome]:
    """Do all tasks, at most ``room`` at a time; path → what became of it.

    ``connect`` opens an executor; it is opened anew when its processes died. A task that was in
    flight then is tried again, alone, ``TRIES`` times in all: alone, so that a file that kills its
    process takes no other with it.
    """
    queue = _Queue(deque((task, 1) for task in tasks), on_outcome)
    executor = connect()
    flying: dict[Future[IngestOutcome], tuple[IngestTask, int]] = {}
    try:
        while True:
            is_broken = False
            while not is_broken and (taken := queue.take(len(flying), room)) is not None:
                try:
                    flying[executor.submit(work, taken[0])] = taken
                except BrokenProcessPool as error:  # it may know before a future of it does
                    is_broken = True
                    queue.try_again(*taken, error)
            if not flying and not is_broken:
                return queue.done
            if is_broken:
                ended = {future for future in flying if future.done()}
            else:
                ended, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in ended:
                task, tries = flying.pop(future)
                failure = future.exception()
                if failure is None:
                    queue.end(task, replace(future.result(), tries=tries))
                    continue
                is_broken |= isinstance(failure, BrokenProcessPool)
                queue.try_again(task, tries, failure)
            if is_broken:
                # All that was in flight is lost with the pool: nothing of it is half stored.
                queue.alone.extend((task, tries) for task, tries in flying.values())
                flying.clear()
                executor.shutdown(wait=False)
                executor = connect()
    finally:
        for future in flying:
            future.cancel()
        executor.shutdown(wait=True)


def _died(task: IngestTask, error: BaseException, tries: int) -> IngestOutcome:
    is_dead = isinstance(error, BrokenProcessPool)
    if is_dead:
        said = f"In {tries} tries the process that read it was killed."
        hint = "It may need more memory than this machine has; try fewer workers."
    else:  # the executor's own: what reading raises is an outcome
        said, hint = f"In {tries} tries no process returned an answer: {told(error)}", ""
    return IngestOutcome(task.path, "failed", said, hint, tries=tries)
