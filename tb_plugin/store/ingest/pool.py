"""The ingest pool: reads trace files in child processes, a few at a time, requested files first.

A file whose summary is in the cache needs no process. Whatever happens to a process, its file gets
an event, and the others go on. There is one more process than usual for files that a user is
looking at. A process that read a small file may read the next one: starting a process takes longer
than that. After a large file it ends, and its memory goes back to the system.

Files are read at once as long as the memory that they are likely to take fits into half of the free
memory; a file that does not fit at all is read alone. Small files do not wait for it, nor for files
that take longer than their size explains: for these moments there are more processes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeAlias

from msgspec import Struct

from ...base import machine
from ...base.errors import KinetoscopeError, UnavailableError
from ..cache.disk import Cache
from ..contract import ErrorInfo, ReadProgress
from ..discovery.walk import Key
from . import protocol, resources
from .child import Child
from .events import ArtifactKey, MakeRequest, PoolCommand, PoolEvent, Promote, Request, S, Submit
from .jobs import Job, Work, log, make_artifact, read_file
from .protocol import info_of

AnyKey: TypeAlias = Key | ArtifactKey
"""Key of a file, or of an artifact of it."""

STALL_SECONDS = 600.0
IDLE_SECONDS = 5.0
SMALL_BYTES = 256 << 20  # of memory needed: such files may share a process
JOBS_PER_PROCESS = 64
TRIM_SECONDS = 10.0
OVERDUE_SECONDS = 10.0  # No small file takes so long.
SPARE_PROCESSES = 3
SPARE_BYTES = 1 << 30  # of memory for small files that go ahead


class PoolLimits(Struct, frozen=True):
    """Limits of concurrent reading."""

    processes: int
    threads: int = 1  # of all of them together
    memory_bytes: int | None = None  # None: half of what is free
    stall_seconds: float = STALL_SECONDS
    idle_seconds: float = IDLE_SECONDS
    overdue_seconds: float = OVERDUE_SECONDS

    @classmethod
    def of_machine(cls) -> PoolLimits:
        """Half the cores: at least two if there are two, at most eight; no more than threads."""
        cores, threads = machine.core_count(), machine.thread_count()
        return cls(min(max(min(cores, 2), min(cores // 2, 8)), threads), threads)


class IngestPool(Generic[S]):
    """Reads files in its threads and calls ``listen`` with each result."""

    def __init__(
        self,
        work: Work[S],
        cache: Cache,
        listen: Callable[[PoolEvent[S]], None],
        limits: PoolLimits | None = None,
    ) -> None:
        self._work = work
        self._cache = cache
        self._listen = listen
        self._limits = limits or PoolLimits.of_machine()
        self._changed = threading.Condition()
        self._queued: dict[AnyKey, Request | MakeRequest] = {}
        self._urgent: set[AnyKey] = set()
        self._running: dict[AnyKey, Job[S]] = {}
        self._needs: dict[AnyKey, int] = {}  # memory of what is queued, once it was measured
        self._measuring: set[AnyKey] = set()
        self._taken: dict[AnyKey, int] = {}  # memory of what is running
        self._since: dict[AnyKey, float] = {}  # when it began
        self._budget = 0
        self._threads: list[threading.Thread] = []
        self._fresh: deque[str] = deque(maxlen=8)
        self._trim_at = 0.0
        self._closed = False

    @property
    def is_busy(self) -> bool:
        """True if a file is queued or being read."""
        return bool(self._running or self._queued)

    def do(self, command: PoolCommand) -> None:
        """Carry out a command; nothing is waited for."""
        with self._changed:
            if isinstance(command, Submit):
                self._submit(command.request, urgent=command.urgent)
            elif isinstance(command, Promote):
                if command.key in self._queued:
                    self._urgent.add(command.key)
            else:
                self._cancel(command.key)
            self._changed.notify_all()

    def progress(self, key: AnyKey) -> ReadProgress | None:
        """Progress of a file; None when it is neither queued nor being read."""
        with self._changed:
            reading = self._running.get(key)
            request = self._queued.get(key)
        if request is not None:
            return protocol.waiting(request.identity.bytes)
        return reading.progress() if reading and not reading.cancelled else None

    def running(self) -> dict[Key, int | None]:
        """Files being read, with the id of their process."""
        with self._changed:
            every = self._running.values()
            running = [(r.request, r.child) for r in every if not r.cancelled]
        return {
            request.key: child.pid if child else None
            for request, child in running
            if isinstance(request, Request)
        }

    def close(self, timeout: float = 5.0) -> None:
        """End all threads and processes of the pool."""
        with self._changed:
            self._closed = True
            self._queued.clear()
            for key in self._running:
                self._cancel(key)
            self._changed.notify_all()
        until = time.monotonic() + timeout
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _submit(self, request: Request | MakeRequest, *, urgent: bool) -> None:
        self._cancel(request.key)
        if self._closed:
            return
        self._queued[request.key] = request
        if urgent:
            self._urgent.add(request.key)
        self._start_threads()

    def _cancel(self, key: AnyKey) -> None:
        self._queued.pop(key, None)
        self._needs.pop(key, None)
        self._urgent.discard(key)
        reading = self._running.get(key)
        if reading is not None:
            reading.cancel()

    def _start_threads(self) -> None:
        if self._threads:
            return
        count = self._limits.processes
        targets = [self._serve] * count + [self._serve_urgent, self._watch]
        targets += [self._serve_small] * SPARE_PROCESSES
        for target in targets:
            thread = threading.Thread(target=target, name="kinetoscope-ingest", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve_urgent(self) -> None:
        self._serve(only_urgent=True)

    def _serve_small(self) -> None:
        self._serve(only_small=True)

    def _serve(self, *, only_urgent: bool = False, only_small: bool = False) -> None:
        desk = _Desk(self._work)
        first = partial(self._first, only_urgent=only_urgent, only_small=only_small)
        try:
            while (reading := self._wait(desk, first)) is not None:
                self._run(reading, desk)
        finally:
            desk.clear()

    def _wait(
        self, desk: _Desk, first: Callable[[], Request | MakeRequest | None]
    ) -> Job[S] | None:
        """The next request for this thread; None at the end."""
        idle_until = time.monotonic() + self._limits.idle_seconds
        while True:
            with self._changed:
                if self._closed:
                    return None
                request = first()
                if request is not None and request.key in self._needs:
                    return self._take(request)
                if request is None:
                    # What is running becomes overdue without anybody telling.
                    waits = desk.child or self._queued
                    self._changed.wait(min(1.0, self._limits.overdue_seconds) if waits else None)
                else:
                    self._measuring.add(request.key)
            if request is not None:
                self._measure(request)
            if desk.child and time.monotonic() > idle_until:
                desk.clear()

    def _run(self, reading: Job[S], desk: _Desk) -> None:
        request = reading.request
        self._tell_shares()
        try:
            if isinstance(request, MakeRequest):
                make_artifact(reading, request, desk.hire)
            else:
                read_file(reading, request, self._work, desk.hire)
        except KinetoscopeError as error:
            log.warning("%s: %s", request.path, error.message)
            desk.clear()
            if not reading.cancelled:
                reading.fail(info_of(error), type(error).__name__)
        except Exception as error:  # noqa: BLE001  the boundary of one trace: recorded and shown
            log.exception("reading %s", request.path)
            desk.clear()
            if not reading.cancelled:
                reading.fail(info_of(error))
        finally:
            small = self._taken[request.key] <= SMALL_BYTES
            desk.tidy(keep=small and not reading.cancelled)
            self._trim(reading.digest)
            with self._changed:
                del self._running[request.key], self._taken[request.key], self._since[request.key]
                self._deal()
                self._changed.notify_all()
            self._tell_shares()

    def _trim(self, digest: str) -> None:
        """Keep the cache below its limit, at intervals; never remove the file just read."""
        with self._changed:
            self._fresh.append(digest)
            now = time.monotonic()
            if now < self._trim_at:
                return
            self._trim_at = now + TRIM_SECONDS
        self._cache.trim(set(self._fresh))

    def _first(self, *, only_urgent: bool, only_small: bool) -> Request | MakeRequest | None:
        """The next request in the queue that has room, or must be measured; not yet taken."""
        held_up = self._is_held_up()
        if only_small and not held_up:
            return None
        ready = [
            request
            for key, request in self._queued.items()
            if key not in self._running
            and key not in self._measuring
            and (key in self._urgent or not only_urgent)
        ]
        for request in sorted(ready, key=lambda r: (r.key not in self._urgent, r.order)):
            needs = self._needs.get(request.key)
            if needs is None:
                return request
            if needs <= SMALL_BYTES or not only_small:
                if self._has_room(request, held_up=held_up):
                    return request
                if needs <= SMALL_BYTES:
                    return None
            if not held_up:
                return None  # Nothing small goes ahead for ever.
        return None

    def _is_held_up(self) -> bool:
        """True if a running job is one that small files should not wait for."""
        overdue = time.monotonic() - self._limits.overdue_seconds
        return any(
            taken > SMALL_BYTES or self._since[key] < overdue for key, taken in self._taken.items()
        )

    def _measure(self, request: Request | MakeRequest) -> None:
        """Estimate the memory of a request, without the lock: the file is looked at."""
        needs = _memory(request)
        with self._changed:
            self._measuring.discard(request.key)
            if self._queued.get(request.key) is request:
                self._needs[request.key] = needs
            self._changed.notify_all()

    def _has_room(self, request: Request | MakeRequest, *, held_up: bool) -> bool:
        """True if a request fits beside the running ones; alone, everything fits."""
        given, needs = self._limits.memory_bytes, self._needs[request.key]
        if not self._running:
            self._budget = given or machine.free_memory() // 2
            return True
        fits = sum(self._taken.values()) + needs <= self._budget
        if not fits and held_up and needs <= SMALL_BYTES:
            small = sum(taken for taken in self._taken.values() if taken <= SMALL_BYTES)
            fits = small + needs <= SPARE_BYTES
        # Others may have taken memory meanwhile.
        return fits and (given is not None or needs <= machine.free_memory())

    def _take(self, request: Request | MakeRequest) -> Job[S]:
        del self._queued[request.key]
        self._urgent.discard(request.key)
        self._taken[request.key] = self._needs.pop(request.key)
        self._since[request.key] = time.monotonic()
        reading = self._running[request.key] = Job(request, self._cache, self._listen)
        self._deal()
        return reading

    def _deal(self) -> None:
        """Divide the threads again among running jobs; call with the lock held."""
        fair = max(1, self._limits.threads // max(1, len(self._running)))
        for one in self._running.values():
            one.threads = fair

    def _tell_shares(self) -> None:
        with self._changed:
            running = list(self._running.values())
        for one in running:  # without the lock: a process that is stopped does not read
            one.tell_share()

    def _watch(self) -> None:
        """End processes that no longer send messages."""
        limit = self._limits.stall_seconds
        while not self._closed:
            with self._changed:
                self._changed.wait(min(10.0, limit / 4))
                silent = [r for r in self._running.values() if r.silent_seconds() > limit]
            for reading in silent:
                reading.cancel(_stalled(limit))


class _Desk:
    """The process of one thread of the pool, if it has one at the moment."""

    def __init__(self, work: Work[Any]) -> None:
        self._work = work
        self.child: Child | None = None

    def hire(self) -> Child:
        """A process for a file. One of other code than ours would store what we cannot read.

        Raises:
            KinetoscopeError: none can be started, or kinetoscope is another one by now.
        """
        if self.child is None:
            if self._work.is_outdated:
                raise UnavailableError(
                    "kinetoscope was upgraded, or its files were changed, after this server began.",
                    hint="Restart TensorBoard, or kinetoscope serve.",
                )
            try:
                self.child = Child()
            except OSError as error:
                raise KinetoscopeError(
                    f"No process could be started to read the file: {error.strerror or error}.",
                    hint="Retry when the machine has room for one.",
                ) from error
        return self.child

    def tidy(self, *, keep: bool) -> None:
        """Let the process go after a file, unless it may be used again."""
        if self.child and not (keep and self.child.is_usable(JOBS_PER_PROCESS)):
            self.clear()

    def clear(self) -> None:
        if self.child is not None:
            self.child.close()
            self.child = None


def _memory(request: Request | MakeRequest) -> int:
    if isinstance(request, MakeRequest):
        return (128 << 20) + request.events * resources.MAKING_BYTES
    return resources.memory_of(request.path, request.identity.bytes)


def _stalled(seconds: float) -> ErrorInfo:
    return ErrorInfo(
        "stalled",
        f"Reading made no progress for {max(1, round(seconds / 60))} minutes and was ended.",
        "Retry when the machine is less busy; if it happens again, please report it.",
    )
