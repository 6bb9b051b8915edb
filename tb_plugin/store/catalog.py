"""The catalog: the traces below the logdirs, kept up to date, with their summaries and columns.

    service = CatalogService(resolve(logdir, None), summarize="…:summarize", summary_type=Facts)
    service.start()
    service.wait_first_look(0.5)
    entry = service.locate("run", "worker0", "1")
    facts, trace = service.summary(entry), service.trace(entry)

One thread looks at the folders, one makes the catalog that the page sees, the pool has a few of its
own. All end with ``close``, or with the program, and so do the processes they started.

The newest 64 traces are read in advance, up to 16 GB of text; every other one is read at its first
request (``catalog_state.EAGER_SPANS``, ``EAGER_BYTES``).
"""

from __future__ import annotations

import atexit
import logging
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import msgspec

from ..base.artifact_spec import ArtifactSpec
from ..base.errors import NotFoundError
from ..trace.model import Trace
from . import catalog_snapshot
from .cache import content_key
from .cache.disk import Cache
from .cache.location import close_session, open_cache
from .cache.memory import ArtifactCache, MemoryCache
from .catalog_snapshot import Entry, PoolStatus, Published, publish
from .catalog_state import CatalogState
from .contract import Catalog, ErrorInfo
from .discovery.logdirs import Logdir
from .discovery.poller import Poller, Timing
from .file_record import BeingRead, ReadResult
from .ingest.events import Answered, PoolEvent, S
from .ingest.jobs import Work
from .ingest.pool import IngestPool, PoolLimits
from .ingest.protocol import error_of

__all__ = ["READER", "BeingRead", "CatalogService", "Entry", "Timing"]

T = TypeVar("T")

log = logging.getLogger(__name__)

READER = f"{__package__.rpartition('.')[0]}.trace.read:read"
MOST_REREADS = 2
RESCAN_SECONDS = 10.0


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
        self._boot, self._count = secrets.token_hex(4), 0
        self._dirty = threading.Event()
        self._first_look = threading.Event()
        self._closed = threading.Event()
        self._life = threading.Lock()
        self._publishing = threading.Lock()
        self._publisher: threading.Thread | None = None
        self._published = self._empty()
        self._cache: Cache
        self._memory: MemoryCache[S]
        self._artifacts: ArtifactCache
        self._state: CatalogState
        self._pool: IngestPool[S]
        self._poller: Poller

    # --- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start looking, in the background; a second call does nothing."""
        with self._life:
            if self._publisher is not None or self._closed.is_set():
                return
            self._cache = self._given_cache or open_cache()
            self._memory = MemoryCache(self._cache, self._summary_type, self._callables[0])
            self._artifacts = ArtifactCache(self._cache)
            self._state = CatalogState(self._dirty.set)
            version = content_key.code_version(*self._callables)
            work = Work(*self._callables, self._memory.decode, version)
            self._pool = IngestPool(work, self._cache, self._hear, self._limits)
            self._state.pool = self._pool
            self._poller = Poller(self._logdirs, self._state, self._timing, self._on_first_look)
            self._publisher = threading.Thread(
                target=self._publish_forever, name="kinetoscope-publish", daemon=True
            )
            self._publisher.start()
            self._poller.start()
        atexit.register(self.close)

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
        self._poller.close()
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
        self._poller.look_now(timeout)
        self._publish()
        return self.snapshot()

    def retry(self, logdir: str, path: str) -> Catalog:
        """Read a failed or refused file again; both names as in ``FileInfo``.

        Raises:
            NotFoundError: no such file is known.
        """
        self._state.retry([n for n, one in enumerate(self._logdirs) if one.shown == logdir], path)
        self._publish()
        return self.snapshot()

    def locate(self, run: str | None, worker: str | None, span: str | None) -> Entry:
        """A trace by run, worker and span; locating it makes it urgent.

        What is not given is chosen: the newest run, the first worker, the last span.

        Raises:
            NotFoundError: there is none; says what there is.
            BeingRead: it waits, is queued or is being read.
            TraceFormatError: it was refused, or reading it failed.
        """
        published = self._published
        place = catalog_snapshot.pick(published.catalog, run, worker, span)
        key = published.index[place]
        with self._state.lock:
            record = self._state.records.get(key)
            if record is None:
                raise NotFoundError(f"{'/'.join(place)} was deleted.", hint="Choose another trace.")
            if record.error is not None:
                raise error_of(record.error)
            self._state.hasten(record)
            if record.answer is None:
                raise self._state.being_read(record)
            return Entry(*place, record.found.absolute, record.answer.digest, record.rank, key)

    # --- answers ---------------------------------------------------------------------------------

    def summary(self, entry: Entry) -> S:
        """The summary of a trace.

        Raises:
            BeingRead: the stored one is gone; the file is being read again.
        """
        found = self._memory.summary(entry.digest, entry.path)
        if found is None:
            raise self._state.read_again(entry.key, entry.digest, entry.path)
        return found

    def trace(self, entry: Entry) -> Trace:
        """The columns of a trace; shared by all callers, read-only.

        Raises:
            BeingRead: they are still being written, or were lost and are being read again.
            UnavailableError: they could not be kept anywhere.
        """
        with self._state.lock:
            answer = self._answer_of(entry)
            if answer is not None and not answer.columns and not answer.missing:
                raise self._being_read(entry)
        if answer is not None and (answer.missing or answer.rereads > MOST_REREADS):
            size = answer.identity.bytes
            return self._memory.trace_read_here(entry.digest, entry.path, size, answer.missing)
        trace = self._memory.trace(entry.digest, entry.path)
        if trace is None:
            raise self._state.read_again(entry.key, entry.digest, entry.path)
        if answer is not None:
            answer.rereads = 0
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
        found = self._artifacts.get(entry.digest, spec, variant)
        if found is not None:
            self._state.found(entry.key, entry.digest, spec, variant)
            return found
        with self._state.lock:
            answer = self._answer_of(entry)
            state = answer and answer.artifacts.get((spec.name, variant))
            missing = (answer and answer.missing) or (state and state.missing)
            if answer is not None and not answer.columns and not missing:
                raise self._being_read(entry)
            if answer is not None and not missing and answer.rereads <= MOST_REREADS:
                raise self._state.make(entry.key, entry.digest, entry.path, spec, variant)
        trace = self.trace(entry)
        return self._artifacts.make_here(entry.digest, trace, spec, variant, missing or "")

    def _being_read(self, entry: Entry) -> BeingRead:
        record = self._state.records[entry.key]
        self._state.hasten(record)
        return self._state.being_read(record)

    def _answer_of(self, entry: Entry) -> ReadResult | None:
        return self._state.answer_of(entry.key, entry.digest)

    def _hear(self, event: PoolEvent[S]) -> None:
        if isinstance(event, Answered) and event.homeless:
            self._memory.pin(event.digest, event.request.path, event.summary)
        self._state.hear(event)

    # --- publishing ------------------------------------------------------------------------------

    def _on_first_look(self) -> None:
        self._publish()
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
                self._state.copies(),
                self._logdirs,
                (*self._state.problems, *self._cache_problem()),
                PoolStatus(self._pool.running(), self._pool.progress),
                scanning=not self._poller.first_look.is_set(),
                looked=self._poller.looked,
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
        view = PoolStatus({}, lambda _: None)
        return self._versioned(publish([], self._logdirs, (), view, scanning=True, looked=0.0))

    def _versioned(self, published: Published) -> Published:
        version = f"{self._boot}-{self._count}"
        return replace(
            published, catalog=msgspec.structs.replace(published.catalog, version=version)
        )


def _same(old: Catalog, new: Catalog) -> bool:
    """True if two catalogs differ in nothing but version and time."""
    return msgspec.structs.replace(old, version="", looked=0.0) == msgspec.structs.replace(
        new, version="", looked=0.0
    )
