"""The catalog: the traces below the logdirs, kept up to date, with their summaries and columns.

    service = CatalogService(resolve(logdir, None), summarize="…:summarize", summary_type=Facts)
    service.start()
    service.wait_first_look(0.5)
    entry = service.locate("run", "worker0", "1")
    facts, trace = service.summary(entry), service.trace(entry)

One thread looks at the folders, one more at each that is on another machine, one makes the catalog
that the page sees, the pool has a few of its own. All end with ``close``, or with the program, and
so do the processes they started.

What they tell goes through ``apply``: under one lock, an event makes a new ``CatalogState``, and
the pool gets the commands that come of it. The lock is never held while a file is touched, and the
pool never calls while holding its own, so that no thread waits for a slow disk. Reading a state
needs no lock: it never changes.

The newest 64 traces are read in advance, up to 16 GB of text; every other one is read at its first
request (``catalog_state.EAGER_SPANS``, ``EAGER_BYTES``).
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..base.artifact_spec import ArtifactSpec
from ..base.errors import KinetoscopeError, NotFoundError, NotReadyError, UnavailableError
from ..handlers.remote_address import RemoteError
from .cache import content_key
from .cache.artifacts import needed_variants
from .cache.content_key import READER
from .cache.disk import Cache
from .cache.location import close_session, open_cache
from .cache.memory import ArtifactCache, MemoryCache
from .catalog_snapshot import PoolStatus, Published, pick, publish
from .catalog_state import (
    ArtifactAsked,
    ArtifactFound,
    Asked,
    Attempt,
    CatalogEvent,
    CatalogState,
    ColumnsLost,
    ColumnsRead,
    Decided,
    Looked,
    Record,
    Retried,
)
from .contract import Catalog, ErrorInfo, ReadProgress
from .discovery.poller import Poller, Timing
from .discovery.walk import Key, Logdir
from .ingest.events import Answered, PoolEvent, S
from .ingest.jobs import Work
from .ingest.pool import IngestPool, PoolLimits
from .ingest.protocol import error_of, waiting

if TYPE_CHECKING:
    from ..trace.model import Trace
    from .filesystems.copies import Copies
    from .filesystems.listing import RemoteObject
    from .ingest.fetching import FetchingPool

__all__ = ["READER", "BeingRead", "CatalogService", "Entry", "Timing", "pick"]

T = TypeVar("T")

log = logging.getLogger(__name__)

MOST_REREADS = 2
RESCAN_SECONDS = 10.0
FAR_SHARE = 0.5


class Entry(Struct, frozen=True):
    """One trace of the catalog; ``digest`` is the key of its content, ``path`` its file."""

    run: str
    worker: str
    span: str
    path: str
    digest: str
    rank: int | None
    key: Key
    origin: RemoteObject | None = None  # of which ``path`` is the copy

    @property
    def shown(self) -> str:
        """The path or address of the file, as it is shown."""
        return self.origin.shown if self.origin else self.path


class BeingRead(NotReadyError):
    """The trace is not there yet; ``progress`` is the progress of reading it."""

    def __init__(self, message: str, progress: ReadProgress) -> None:
        super().__init__(message, hint="It is shown as soon as it is there.")
        self.progress = progress


def _of_file(progress: ReadProgress, key: Key) -> ReadProgress:
    """The progress with the name of its file: a view may need others than the shown one."""
    return msgspec.structs.replace(progress, file=key[1])


class CatalogService(Generic[S]):
    """The traces below the logdirs. Nothing happens before ``start``.

    ``summarize`` and ``read`` are ``"module:function"``, because they run in other processes.
    """

    def __init__(
        self,
        logdirs: Sequence[Logdir],
        *,
        summarize: str,
        summary_type: type[S],
        read: str = READER,
        cache: Cache | None = None,
        limits: PoolLimits | None = None,
        timing: Timing | None = None,
    ) -> None:
        self._logdirs = tuple(logdirs)
        self._callables = (read, summarize)
        self._summary_type = summary_type
        self._own_cache = cache is None
        self._given_cache = cache
        self._limits = limits
        self._timing = timing or Timing()
        self._boot, self._count = os.urandom(4).hex(), 0
        self._dirty = threading.Event()
        self._first_look = threading.Event()
        self._closed = threading.Event()
        self._life = threading.Lock()
        self._publishing = threading.Lock()
        self._state, self._changing = CatalogState(), threading.Lock()
        self._publisher: threading.Thread | None = None
        self._published = self._empty()
        self._cache: Cache
        self._memory: MemoryCache[S]
        self._artifacts: ArtifactCache
        self._copies: Copies | None = None  # None where no logdir is on another machine
        self._work: Work[S] | None = None  # None before it is started
        self._pool: FetchingPool[S] | IngestPool[S]
        self._pollers: Sequence[Poller] = ()

    # --- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start looking, in the background; a second call does nothing."""
        with self._life:
            if self._publisher is not None or self._closed.is_set():
                return
            folders = tuple(one.path for one in self._logdirs if one.path)
            self._cache = (self._given_cache or open_cache()).with_beside(folders)
            self._memory = MemoryCache(self._cache, self._summary_type)
            self._artifacts = ArtifactCache(self._cache)
            root = self._cache.roots[0]
            version = content_key.code_version(*self._callables, root=root)
            now = partial(content_key.code_version_now, *self._callables, root=root)
            work = self._work = Work(*self._callables, self._memory.decode, version, now)
            self._start_pool(lambda listen: IngestPool(work, self._cache, listen, self._limits))
            self._pollers = [
                Poller(
                    self._logdirs,
                    lambda: self._state.records,
                    self.apply,
                    _timing_of(self._timing, self._logdirs, only),
                    self._on_first_look,
                    self._copies,
                    only,
                )
                for only in _apart(self._logdirs)
            ]
            self._publisher = threading.Thread(
                target=self._publish_forever, name="kinetoscope-publish", daemon=True
            )
            self._publisher.start()
            for poller in self._pollers:
                poller.start()
        atexit.register(self.close)

    def _start_pool(self, make: Callable[[Callable[[PoolEvent[S]], None]], IngestPool[S]]) -> None:
        if all(one.far is None for one in self._logdirs):
            self._pool = make(self._hear)
            return
        from .filesystems.copies import Copies
        from .ingest.fetching import FetchingPool

        self._copies = Copies(self._cache)
        self._pool = FetchingPool(self._copies, make, self._hear)

    def close(self) -> None:
        """Ends the threads and the reading processes that were started here."""
        with self._life:
            if self._closed.is_set():
                return
            self._closed.set()
            self._dirty.set()
            self._first_look.set()
        if self._publisher is None:
            return
        atexit.unregister(self.close)
        for number, poller in enumerate(self._pollers):
            poller.close(0.5 if number else 5.0)  # a far one may wait for an answer
        self._pool.close()
        if self._publisher is not threading.current_thread():
            self._publisher.join(5.0)
        if self._own_cache:
            close_session(self._cache)

    def __enter__(self) -> CatalogService[S]:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what is there ---------------------------------------------------------------------------

    def snapshot(self) -> Catalog:
        """The catalog as last made; never blocks.

        Its ``version`` stays the same while nothing but ``looked`` changes.
        """
        return self._published.catalog

    def wait_first_look(self, timeout: float) -> bool:
        """Waits for the end of the first look; False when it is not within ``timeout`` seconds."""
        return self._first_look.wait(timeout)

    def rescan(self, timeout: float = RESCAN_SECONDS) -> Catalog:
        """Look again at once, and wait for the end of that look, at most ``timeout`` seconds."""
        until = time.monotonic() + timeout
        for poller in self._pollers:
            poller.look_now(max(0.0, until - time.monotonic()))
        self._publish()
        return self.snapshot()

    def retry(self, logdir: str, path: str) -> Catalog:
        """Read a failed or refused file again; both names as in ``FileInfo``.

        Raises:
            NotFoundError: no such file is known.
        """
        keys = [(n, path) for n, one in enumerate(self._logdirs) if one.shown == logdir]
        if not any(key in self._state.records for key in keys):
            raise NotFoundError(f"There is no file {path}.", hint="It may have been deleted.")
        self.apply(Retried(keys))
        self._publish()
        return self.snapshot()

    def is_outdated(self) -> bool:
        """True if the files of kinetoscope changed since this was started: nothing more is made."""
        return self._work is not None and self._work.is_outdated

    def locate(self, run: str | None, worker: str | None, span: str | None) -> Entry:
        """A trace by run, worker and span; locating it makes it urgent.

        What is not given is chosen: the newest run, the first worker, the last span.

        Raises:
            NotFoundError: there is none; says what there is.
            BeingRead: it waits, is queued or is being read.
            TraceFormatError: it was refused, or reading it failed.
        """
        published = self._published
        if run and worker and span and (run, worker, span) in published.index:
            place = run, worker, span  # as views over many ranks ask for each of them
        else:
            place = pick(published.catalog, run, worker, span)
        key = published.index[place]
        record = self._state.records.get(key)
        if record is None:
            raise NotFoundError(f"{'/'.join(place)} was deleted.", hint="Choose another trace.")
        if record.error is not None:
            raise error_of(record.error)
        self.apply(Asked(key))
        if record.answer is None:
            raise self._being_read(record)
        found, answer = record.found, record.answer
        return Entry(*place, found.absolute, answer.digest, record.rank, key, found.origin)

    # --- answers ---------------------------------------------------------------------------------

    def summary(self, entry: Entry) -> S:
        """The summary of a trace.

        Raises:
            BeingRead: the stored one is gone; the file is being read again.
        """
        found = self._memory.summary(entry.digest, entry.path, entry.shown)
        if found is None:
            raise self._read_again(entry)
        return found

    def trace(self, entry: Entry) -> Trace:
        """The columns of a trace; shared by all callers, read-only.

        Raises:
            BeingRead: they are still being written, or were lost and are being read again.
            UnavailableError: they could not be kept anywhere.
            KinetoscopeError: the copy of a remote file is gone, and it cannot be fetched again.
        """
        self._have_copy(entry)
        answer = self._state.answer_of(entry.key, entry.digest)
        if answer is not None and not answer.columns and not answer.missing:
            raise self._hastened(entry)
        if answer is not None and (answer.missing or answer.rereads > MOST_REREADS):
            raise UnavailableError(
                answer.missing or "The columns of this trace cannot be kept on disk.",
                hint="Make room on the disk, or set KINETOSCOPE_CACHE_DIR to a folder that has"
                " some, and start again.",
            )
        trace = self._memory.trace(entry.digest, entry.path)
        if trace is None:
            raise self._read_again(entry)
        self.apply(ColumnsRead(entry.key, entry.digest))
        return trace

    def artifact(self, entry: Entry, spec: ArtifactSpec[T], variant: str = "") -> T:
        """The opened artifact of a trace; "" means its first variant.

        It is made by a reading process when it is first asked for, kept beside the columns, and
        shared by all who ask.

        Raises:
            NotFoundError: there is no such variant.
            BeingRead: it is being made, or the columns that it is made of are not there yet.
            UnavailableError: there is no room for it.
            TraceFormatError: making it failed; ``retry`` lets it be tried again.
        """
        variant = variant or spec.variants[0]
        if variant not in spec.variants:
            known = ", ".join(spec.variants)
            raise NotFoundError(f"There is no {spec.name} {variant}.", hint=f"There is: {known}.")
        found = self._artifacts.get(entry.digest, entry.path, spec, variant)
        if found is not None:
            self.apply(ArtifactFound(entry.key, entry.digest, spec.name, variant))
            return found
        answer = self._state.answer_of(entry.key, entry.digest)
        making = self._state.making_of(entry.key, entry.digest, spec.name, variant)
        missing = (answer and answer.missing) or (making and making.missing)
        if answer is not None and not missing:
            if not answer.columns:
                raise self._hastened(entry)
            if answer.rereads <= MOST_REREADS:
                raise self._made(entry, spec, variant)
        trace = self.trace(entry)
        return self._artifacts.make_here(entry.digest, trace, spec, variant, missing or "")

    def stored_artifact(self, place: tuple[str, str, str], spec: ArtifactSpec[T]) -> T | None:
        """The first variant of an artifact of the trace at a place, if it was made before.

        Nothing is made urgent by it, unlike by ``locate``.
        """
        key = self._published.index.get(place)
        record = self._state.records.get(key) if key is not None else None
        if record is None or record.answer is None:
            return None
        path, digest = record.found.absolute, record.answer.digest
        return self._artifacts.get(digest, path, spec, spec.variants[0])

    def _have_copy(self, entry: Entry) -> None:
        """Have the file itself here: events and exports are read from it."""
        if entry.origin is None or self._copies is None:
            return
        from .filesystems.listing import as_error

        try:
            self._copies.bring(entry.origin)
        except RemoteError as error:
            raise as_error(error) from None

    def _made(self, entry: Entry, spec: ArtifactSpec[Any], variant: str) -> KinetoscopeError:
        """Have an artifact made; the answer to the request for it."""
        variants = needed_variants(spec.variants, variant)
        if spec.bounds is not None:
            self._have_copy(entry)
        self.apply(
            ArtifactAsked(
                entry.key, entry.digest, spec.make, spec.name, variants, spec.argument, spec.bounds
            )
        )
        answer = self._state.answer_of(entry.key, entry.digest)
        if answer is None:
            gone = f"{entry.path} was deleted or replaced."
            return NotFoundError(gone, hint="Open it again.")
        making = answer.artifacts.get((spec.name, variant))
        if making is not None and making.error is not None:
            return error_of(making.error, making.cls)
        progress = self._pool.progress((*entry.key, spec.name, variant))
        return BeingRead(
            "The view is being prepared.",
            _of_file(progress or waiting(answer.identity.bytes), entry.key),
        )

    def _read_again(self, entry: Entry) -> KinetoscopeError:
        """Have a file read whose stored result is gone or damaged; the answer to the request."""
        self.apply(ColumnsLost(entry.key, entry.digest))
        return self._unfinished(entry)

    def _hastened(self, entry: Entry) -> KinetoscopeError:
        """Have a file read now; the answer to the request for it."""
        self.apply(Asked(entry.key, columns=True))
        return self._unfinished(entry)

    def _unfinished(self, entry: Entry) -> KinetoscopeError:
        record = self._state.records.get(entry.key)
        if record is None:
            return NotFoundError(f"{entry.path} was deleted.", hint="Choose another trace.")
        return self._being_read(record)

    def _being_read(self, record: Record) -> BeingRead:
        """The answer to a request for an unfinished trace."""
        progress = self._pool.progress(record.key) or waiting(record.found.identity.bytes)
        is_waiting = record.attempt is Attempt.WAITING
        message = record.reason if is_waiting else "The trace is being read."
        return BeingRead(message, _of_file(progress, record.key))

    # --- events ----------------------------------------------------------------------------------

    def apply(self, event: CatalogEvent[Any]) -> None:
        """Change the state by an event, and pass on the commands that come of it."""
        with self._changing:
            before = self._state
            self._state, commands = before.apply(event)
            for command in commands:
                self._pool.do(command)
        # A look that changed nothing changes the time of the last look.
        if self._state is not before or isinstance(event, Looked | Decided):
            self._dirty.set()

    def _hear(self, event: PoolEvent[S]) -> None:
        if isinstance(event, Answered) and event.homeless:
            self._memory.pin(event.digest, event.request.path, event.summary)
        self.apply(event)

    # --- publishing ------------------------------------------------------------------------------

    def _on_first_look(self) -> None:
        self._publish()
        if all(poller.first_look.is_set() for poller in self._pollers):
            self._first_look.set()

    def _publish_forever(self) -> None:
        while not self._closed.is_set():
            self._dirty.wait(0.5 if self._pool.is_busy else None)
            self._dirty.clear()
            began = time.monotonic()
            try:
                self._publish()
            except Exception:
                log.exception("making the catalog")
            self._closed.wait(max(self._timing.publish, 10 * (time.monotonic() - began)))

    def _publish(self) -> None:
        with self._publishing:
            new = publish(
                self._state.records.values(),
                self._logdirs,
                (*self._state.problems, *self._cache_problem()),
                PoolStatus(self._pool.running(), self._pool.progress),
                scanning=not all(poller.first_look.is_set() for poller in self._pollers),
                looked=max((poller.looked for poller in self._pollers), default=0.0),
            )
            self._count += not _same(self._published.catalog, new.catalog)
            self._published = self._versioned(new)

    def _cache_problem(self) -> tuple[ErrorInfo, ...]:
        if not self._cache.problem:
            return ()
        message = f"{self._cache.problem} Answers are kept for this session only."
        hint = "Set KINETOSCOPE_CACHE_DIR to a folder of your own."
        return (ErrorInfo("cache_unusable", message, hint),)

    def _empty(self) -> Published:
        view = PoolStatus((), lambda _: None)
        return self._versioned(publish([], self._logdirs, (), view, scanning=True, looked=0.0))

    def _versioned(self, published: Published) -> Published:
        version = f"{self._boot}-{self._count}"
        return replace(
            published, catalog=msgspec.structs.replace(published.catalog, version=version)
        )


def _timing_of(timing: Timing, logdirs: Sequence[Logdir], only: set[int]) -> Timing:
    """A look at another machine is mostly waiting: it may take more of the time."""
    is_far = any(logdirs[number].far is not None for number in only)
    return replace(timing, look_share=max(timing.look_share, FAR_SHARE)) if is_far else timing


def _apart(logdirs: Sequence[Logdir]) -> list[set[int]]:
    """The numbers of the logdirs, in groups that do not wait for each other: far ones alone."""
    far = [{number} for number, logdir in enumerate(logdirs) if logdir.far is not None]
    return [set(range(len(logdirs))).difference(*far), *far]


def _same(old: Catalog, new: Catalog) -> bool:
    """True if two catalogs differ in nothing but version and time."""
    return msgspec.structs.replace(old, version="", looked=0.0) == msgspec.structs.replace(
        new, version="", looked=0.0
    )
