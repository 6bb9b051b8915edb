"""The ingest pool: reads trace files in processes of their own, a few at a time, the wanted ones first.

A file whose answer is in the cache needs no process. Whatever becomes of a process, its file is told and the
others go on. One more process than the rest is there for files that somebody is looking at.
"""

from __future__ import annotations

import logging
import secrets
import sys
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from . import fingerprint, machine, progress
from .cache import Cache, StoredSummary
from .catalog_types import ErrorInfo, ReadProgress
from .discovery import Identity
from .messages import Changed, Failed, Finished, Job, Progressed, Summarized, info_of
from .process import Child

log = logging.getLogger(__name__)

STALL_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Work:
    """What is done to a file, and how its summary is decoded. Raises ``ValueError`` for one it cannot use."""

    read: str  # "module:function"
    summarize: str  # "module:function"
    decode: Callable[[bytes], Any]
    version: str  # of the code; part of every content key


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be read at once."""

    processes: int
    memory_bytes: int | None = None  # None: half of what is free
    stall_seconds: float = STALL_SECONDS

    @classmethod
    def of_machine(cls) -> Limits:
        """Half the cores, two at least where there are two, eight at most."""
        cores = machine.core_count()
        return cls(max(min(cores, 2), min(cores // 2, 8)))


@dataclass(frozen=True, slots=True)
class Request:
    """A file to read. Smaller ``order`` is read first."""

    key: Hashable
    path: str
    identity: Identity
    order: float


@dataclass(frozen=True, slots=True)
class Answered:
    """The summary of a file is there."""

    request: Request
    digest: str
    stored: StoredSummary
    summary: Any
    from_cache: bool
    note: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The columns of a file are there, or could not be kept (``missing`` says why)."""

    request: Request
    digest: str
    missing: str
    note: str


@dataclass(frozen=True, slots=True)
class Lost:
    """A file gave no answer. ``refused``: it is the file's own fault."""

    request: Request
    error: ErrorInfo
    refused: bool


@dataclass(frozen=True, slots=True)
class Restless:
    """A file changed, or went away, while it was read."""

    request: Request


@dataclass(slots=True)
class _Run:
    """A request being worked on."""

    request: Request
    memory: int
    began: float = field(default_factory=time.monotonic)
    child: Child | None = None
    last: Progressed | None = None
    read_seconds: float | None = None
    cancelled: bool = False


class IngestPool:
    """Reads files and tells ``listen`` what came of each, from threads of its own."""

    def __init__(
        self,
        work: Work,
        cache: Cache,
        listen: Callable[[Answered | Kept | Lost | Restless], None],
        limits: Limits | None = None,
    ) -> None:
        self._work = work
        self._cache = cache
        self._listen = listen
        self._limits = limits or Limits.of_machine()
        self._changed = threading.Condition()
        self._queued: dict[Hashable, Request] = {}
        self._urgent: set[Hashable] = set()
        self._running: dict[Hashable, _Run] = {}
        self._budget = 0
        self._threads: list[threading.Thread] = []
        self._closed = False

    def submit(self, request: Request, *, urgent: bool = False) -> None:
        """Reads a file as soon as there is room; an earlier request for the same key is forgotten."""
        with self._changed:
            self._cancel(request.key)
            self._queued[request.key] = request
            if urgent:
                self._urgent.add(request.key)
            self._start_threads()
            self._changed.notify_all()

    def promote(self, key: Hashable) -> None:
        """Somebody waits for this file."""
        with self._changed:
            self._urgent.add(key)
            self._changed.notify_all()

    def cancel(self, key: Hashable) -> None:
        """Nobody wants this file any more. No news of it follows."""
        with self._changed:
            self._cancel(key)

    def progress(self, key: Hashable) -> ReadProgress | None:
        """How far a file is; None when it is neither queued nor being read."""
        with self._changed:
            run = self._running.get(key)
            if run is not None and not run.cancelled:
                pace = progress.Pace(run.last, time.monotonic() - run.began, run.read_seconds)
                return progress.describe(pace, run.request.identity.bytes)
            request = self._queued.get(key)
        return progress.waiting(request.identity.bytes) if request else None

    def running(self) -> dict[Hashable, int | None]:
        """Keys being worked on, with the id of their process."""
        with self._changed:
            return {
                k: r.child.pid if r.child else None
                for k, r in self._running.items()
                if not r.cancelled
            }

    def close(self, timeout: float = 5.0) -> None:
        """Ends everything that was started here."""
        with self._changed:
            self._closed = True
            for key in list(self._running):
                self._cancel(key)
            self._queued.clear()
            self._changed.notify_all()
        until = time.monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _cancel(self, key: Hashable) -> None:
        self._queued.pop(key, None)
        self._urgent.discard(key)
        run = self._running.get(key)
        if run is not None:
            run.cancelled = True
            if run.child is not None:
                run.child.end()

    def _start_threads(self) -> None:
        if self._threads or self._closed:
            return
        for number in range(self._limits.processes + 1):
            only_urgent = number == self._limits.processes
            self._threads.append(_thread(self._serve, "ingest", only_urgent))
        self._threads.append(_thread(self._watch, "ingest-watch"))
        for thread in self._threads:
            thread.start()

    def _serve(self, only_urgent: bool) -> None:
        while True:
            with self._changed:
                while (run := self._next(only_urgent)) is None and not self._closed:
                    self._changed.wait(1.0)
                if run is None:
                    return
            try:
                self._do(run)
            except Exception as error:
                log.exception("reading %s", run.request.path)
                self._tell(run, Lost(run.request, info_of(error), refused=False))
            finally:
                with self._changed:
                    if self._running.get(run.request.key) is run:
                        del self._running[run.request.key]
                        self._urgent.discard(run.request.key)
                    self._changed.notify_all()

    def _next(self, only_urgent: bool) -> _Run | None:
        """Takes the first request that there is room for."""
        ready = [
            r
            for key, r in self._queued.items()
            if key not in self._running and (key in self._urgent or not only_urgent)
        ]
        if not ready:
            return None
        request = min(ready, key=lambda r: (r.key not in self._urgent, r.order))
        memory = memory_needed(request.path, request.identity.bytes)
        taken = sum(run.memory for run in self._running.values())
        if not self._running:
            self._budget = self._limits.memory_bytes or machine.free_memory() // 2
        elif taken + memory > self._budget:
            return None
        del self._queued[request.key]
        run = self._running[request.key] = _Run(request, memory)
        return run

    def _do(self, run: _Run) -> None:
        request = run.request
        try:
            digest = fingerprint.digest(request.path, request.identity, self._work.version)
        except FileNotFoundError:
            self._tell(run, Restless(request))
            return
        except OSError as error:
            self._tell(run, Lost(request, info_of(error), refused=False))
            return
        if self._answer_from_cache(run, digest) and self._cache.has_columns(digest):
            self._tell(run, Kept(request, digest, "", ""))
        else:
            self._read(run, digest)

    def _answer_from_cache(self, run: _Run, digest: str) -> bool:
        stored = self._cache.load_summary(digest)
        if stored is None:
            return False
        return self._answer(run, digest, stored, from_cache=True, note="")

    def _answer(
        self, run: _Run, digest: str, stored: StoredSummary, *, from_cache: bool, note: str
    ) -> bool:
        try:
            summary = self._work.decode(bytes(stored.summary))
        except ValueError as error:
            log.warning("dropped the unusable summary of %s: %s", run.request.path, error)
            self._cache.drop(digest)
            return False
        self._tell(run, Answered(run.request, digest, stored, summary, from_cache, note))
        return True

    def _read(self, run: _Run, digest: str) -> None:
        request, identity, token = run.request, run.request.identity, secrets.token_hex(8)
        roots = [str(root) for root in self._cache.roots]
        job = Job(
            sys_path=list(sys.path),
            path=request.path,
            bytes=identity.bytes,
            modified_ns=identity.modified_ns,
            digest=digest,
            token=token,
            roots=roots,
            read=self._work.read,
            summarize=self._work.summarize,
        )
        child = Child(job)
        with self._changed:
            run.child = child
            if run.cancelled or self._closed:
                child.end()
        finished = True
        try:
            finished = self._hear(run, child, digest)
        finally:
            if finished:
                child.end()
            died = child.wait()
            self._cache.clear_token(token)
        if died is not None and not finished:
            log.warning("%s: %s\n%s", request.path, died.error.message, died.traceback)
            self._tell(run, Lost(request, died.error, refused=False))

    def _hear(self, run: _Run, child: Child, digest: str) -> bool:
        """Passes on what the process says; whether it came to an end of its own."""
        for message in child.messages():
            if isinstance(message, Progressed):
                with self._changed:
                    if run.read_seconds is None and message.phase != "reading":
                        run.read_seconds = time.monotonic() - run.began
                    run.last = message
            elif isinstance(message, Summarized):
                self._take_summary(run, digest, message)
            elif isinstance(message, Finished):
                self._cache.trim({digest})
                missing = "" if message.root else f"The columns could not be kept: {message.note}."
                self._tell(run, Kept(run.request, digest, missing, message.note))
                return True
            elif isinstance(message, Changed):
                self._tell(run, Restless(run.request))
                return True
            else:
                self._report(run, message)
                return True
        return False

    def _take_summary(self, run: _Run, digest: str, message: Summarized) -> None:
        stored: StoredSummary | None = None
        if message.text:
            stored = msgspec.json.decode(message.text, type=StoredSummary)
        elif message.root:
            stored = self._cache.load_summary(digest)
        if stored is None or not self._answer(
            run, digest, stored, from_cache=False, note=message.note
        ):
            error = ErrorInfo(
                "internal", "The summary of the file could not be read back.", "Retry."
            )
            self._tell(run, Lost(run.request, error, refused=False))

    def _report(self, run: _Run, failed: Failed) -> None:
        if failed.traceback:
            log.warning("%s: %s\n%s", run.request.path, failed.error.message, failed.traceback)
        self._tell(run, Lost(run.request, failed.error, refused=failed.cls == "TraceFormatError"))

    def _tell(self, run: _Run, news: Answered | Kept | Lost | Restless) -> None:
        if not run.cancelled:
            self._listen(news)

    def _watch(self) -> None:
        """Ends processes that say nothing any more."""
        while not self._closed:
            time.sleep(min(1.0, self._limits.stall_seconds / 4))
            with self._changed:
                silent = [
                    run.child
                    for run in self._running.values()
                    if run.child and time.monotonic() - run.child.heard > self._limits.stall_seconds
                ]
            for child in silent:
                child.end(_stalled(self._limits.stall_seconds))


def memory_needed(path: str, size: int) -> int:
    """A guess, on the high side, at what reading a file takes: 20-fold compression, and the columns of its text."""
    text = size * 20 if path.lower().endswith(".gz") else size
    return (128 << 20) + text * 3 // 4


def _stalled(seconds: float) -> ErrorInfo:
    return ErrorInfo(
        "stalled",
        f"Reading made no progress for {seconds / 60:.0f} minutes and was ended.",
        "Retry when the machine is less busy; if it happens again, please report it.",
    )


def _thread(target: Callable[..., None], name: str, *args: object) -> threading.Thread:
    return threading.Thread(target=target, name=f"kinetoscope-{name}", args=args, daemon=True)
