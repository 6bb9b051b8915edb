"""One job of the pool: read one file, or make one artifact.

Reading looks into the cache first. Otherwise a child process does the work; its messages become the
events of the pool.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ...base.errors import KinetoscopeError
from ..cache import content_key
from ..cache.disk import Cache, StoredSummary
from ..contract import ErrorInfo, ReadProgress
from . import protocol
from .child import Child
from .events import (
    Answered,
    Kept,
    Lost,
    Made,
    MakeRequest,
    PoolEvent,
    Request,
    Restless,
    S,
    SummaryOnly,
    Unmade,
)
from .protocol import (
    Changed,
    Command,
    Failed,
    Finished,
    Gone,
    MakeCommand,
    Message,
    Progressed,
    ReadCommand,
    ShareCommand,
    Summarized,
    info_of,
)

log = logging.getLogger(__name__)

Hire: TypeAlias = Callable[[], Child]
"""Gives a process when one is needed."""


class Work(Struct, Generic[S], frozen=True):
    """Parameters shared by all jobs."""

    read: str  # "module:function", (path, on_progress) → Trace
    summarize: str  # "module:function", (Trace) → S
    decode: Callable[[bytes], S]  # raises ValueError
    version: str  # of the code; part of every content key
    version_now: Callable[[], str] | None = None  # of the files that a new process would import

    @property
    def is_outdated(self) -> bool:
        """True if a new process would run other code than this program."""
        try:
            return self.version_now is not None and self.version_now() != self.version
        except (OSError, ImportError):  # just now it is being replaced
            return True


class Job(Struct, Generic[S], eq=False):
    """A request being worked on, by one thread. Others may ask its progress, and cancel it."""

    request: Request | MakeRequest
    cache: Cache
    listen: Callable[[PoolEvent[S]], None]
    threads: int = 1  # that it may use now
    cancelled: bool = False
    digest: str = ""  # of the file, as soon as it is known
    child: Child | None = None
    _began: float = field(default_factory=time.monotonic)
    _last: Progressed | None = None
    _read_seconds: float | None = None  # when all events were read
    _token: str = ""
    _told: int = 0  # threads, as its process knows
    _telling: threading.Lock = field(default_factory=threading.Lock)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def progress(self) -> ReadProgress:
        """Progress of the file, or of the artifact."""
        size, seconds = self.request.identity.bytes, self._seconds()
        if isinstance(self.request, MakeRequest):
            return protocol.of_making(self._last, seconds, size)
        return protocol.describe(protocol.Pace(self._last, seconds, self._read_seconds), size)

    def cancel(self, because: ErrorInfo | None = None) -> None:
        """End the job; no event follows, unless there is a reason to report."""
        with self._lock:
            self.cancelled = because is None
            if self.child is not None:
                self.child.end(because)

    def tell_share(self) -> None:
        """Tell its process how many threads it may use, where that has changed."""
        with self._telling:
            child, threads = self.child, self.threads
            if child is not None and threads != self._told:
                self._told = threads
                child.share(ShareCommand(self._token, threads))

    def silent_seconds(self) -> float:
        """Seconds since the last message of its process."""
        child = self.child
        return time.monotonic() - child.heard if child is not None else 0.0

    def tell(self, event: PoolEvent[S]) -> None:
        """Report an event, unless the job was cancelled."""
        if not self.cancelled:
            self.listen(event)

    def fail(self, error: ErrorInfo, cls: str = "") -> None:
        """Report that the job failed; ``cls`` is the error's class in ``base.errors``."""
        if isinstance(self.request, MakeRequest):
            self.tell(Unmade(self.request, error, cls))
        else:
            self.tell(Lost(self.request, error, refused=False))

    def do(self, command: Command, hire: Hire, hear: Callable[[Message], None]) -> None:
        """Run a command in a child process, forward its messages, remove partial output."""
        child = hire()
        with self._lock:
            self.child, self._token = child, command.token
            if self.cancelled:
                return
        with self._telling:
            self._told = self.threads
            command = msgspec.structs.replace(command, threads=self._told)
        try:
            for message in child.do(command):
                if isinstance(message, Failed) and message.traceback and not self.cancelled:
                    path, text = self.request.path, message.error.message
                    log.warning("%s: %s\n%s", path, text, message.traceback)
                hear(message)
                if isinstance(message, Progressed):
                    if self._read_seconds is None and message.phase != "reading":
                        self._read_seconds = self._seconds()
                    self._last = message
        finally:
            with self._lock:
                self.child = None
            self.cache.clear_token(command.token)

    def _seconds(self) -> float:
        """Seconds since the job began."""
        return time.monotonic() - self._began


def make_artifact(job: Job[S], request: MakeRequest, hire: Hire) -> None:
    """Make an artifact in a child process."""
    job.digest = request.digest
    command = MakeCommand(
        path=os.fsencode(request.path),
        size=request.identity.bytes,
        threads=job.threads,
        digest=request.digest,
        token=os.urandom(8).hex(),
        roots=[os.fsencode(root) for root in job.cache.roots],
        make=request.make,
        name=request.name,
        variants=list(request.variants),
        argument=request.argument,
        bounds=request.bounds,
    )

    def hear(message: Message) -> None:
        if isinstance(message, Finished):
            missing = "" if message.is_kept else message.note or "there is no room"
            job.tell(Made(request, missing))
        elif isinstance(message, Gone):
            job.tell(Unmade(request, None))
        elif isinstance(message, Failed):
            job.tell(Unmade(request, message.error, message.cls))

    job.do(command, hire, hear)


def read_file(job: Job[S], request: Request, work: Work[S], hire: Hire) -> None:
    """Look into the cache, else read the file in a child process."""
    # What is read of a file that changes meanwhile is the answer to no other file.
    version = work.version + (os.urandom(8).hex() if request.as_is else "")
    identity, roots = request.identity, job.cache.roots

    def begin_process() -> None:
        # It imports what it needs while the file is hashed here. Why none can be had is told when
        # one is needed: a result in the cache needs none.
        with suppress(KinetoscopeError):
            hire()

    try:
        job.digest = content_key.digest(request.path, identity, version, roots[0], begin_process)
    except FileNotFoundError:
        job.tell(Restless(request))
        return
    except OSError as error:
        job.fail(info_of(error))
        return
    stored = job.cache.load_summary(job.digest, request.path)
    if stored and (answered := _answered(job, request, work, stored)):
        job.tell(replace(answered, from_cache=True))
        if job.cache.has_columns(job.digest):
            job.tell(Kept(request))
            return
        if not request.columns:
            job.tell(SummaryOnly(request))
            return
    command = ReadCommand(
        path=os.fsencode(request.path),
        size=identity.bytes,
        threads=job.threads,
        modified_ns=identity.modified_ns,
        digest=job.digest,
        as_is=request.as_is,
        token=os.urandom(8).hex(),
        roots=[os.fsencode(root) for root in roots],
        read=work.read,
        summarize=work.summarize,
    )

    def hear(message: Message) -> None:
        if isinstance(message, Summarized):
            _take_summary(job, request, work, message)
        elif isinstance(message, Finished):
            missing = "" if message.is_kept else f"The columns could not be kept: {message.note}."
            job.tell(Kept(request, missing, message.note))
        elif isinstance(message, Changed):
            job.tell(Restless(request))
        elif isinstance(message, Failed):
            job.tell(Lost(request, message.error, message.cls == "TraceFormatError"))

    job.do(command, hire, hear)


def _take_summary(job: Job[S], request: Request, work: Work[S], message: Summarized) -> None:
    """Report the summary that a process has made: it is in a file, or in the message."""
    stored = (
        msgspec.json.decode(message.text, type=StoredSummary)
        if message.text
        else job.cache.load_summary(job.digest, request.path)
    )
    answered = stored and _answered(job, request, work, stored)
    if not answered:
        job.fail(ErrorInfo("internal", "The summary of the file could not be read back.", "Retry."))
        return
    job.tell(replace(answered, note=message.note, homeless=bool(message.text)))


def _answered(
    job: Job[S], request: Request, work: Work[S], stored: StoredSummary
) -> Answered[S] | None:
    """The event of a summary; None for one that cannot be used, which is dropped."""
    try:
        summary = work.decode(bytes(stored.summary))
    except ValueError as error:
        log.warning("dropped the unusable summary of %s: %s", request.path, error)
        job.cache.drop(job.digest)
        return None
    return Answered(request, job.digest, stored, summary)
