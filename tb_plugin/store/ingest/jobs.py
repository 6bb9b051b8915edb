"""One job of the pool: read one file, or make one artifact.

A job looks into the cache first. Otherwise a child process does the work; its messages become the
events of the pool.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from ..cache import content_key
from ..cache.disk import Cache, StoredSummary
from ..contract import ErrorInfo, ReadProgress
from . import protocol
from .child import Child
from .events import Answered, Kept, Lost, Made, MakeRequest, PoolEvent, Request, Restless, S, Unmade
from .protocol import (
    Changed,
    Failed,
    Finished,
    Gone,
    MakeJob,
    Message,
    Progressed,
    ReadCommand,
    Summarized,
    info_of,
)

log = logging.getLogger(__name__)

R = TypeVar("R", Request, MakeRequest)


class Job(ABC, Generic[R, S]):
    """A request being worked on, by one thread. Others may ask its progress, and cancel it."""

    def __init__(self, request: R, cache: Cache, listen: Callable[[PoolEvent[S]], None]) -> None:
        self.request: R = request
        self.cancelled = False
        self.digest = ""  # of the file, as soon as it is known
        self.child: Child | None = None
        self._cache = cache
        self._listen = listen
        self._began = time.monotonic()
        self._last: Progressed | None = None
        self._lock = threading.Lock()

    @abstractmethod
    def run(self, hire: Callable[[], Child]) -> None:
        """Do the work; ``hire`` gives a process when one is needed."""

    @abstractmethod
    def progress(self) -> ReadProgress:
        """Progress of the job."""

    @abstractmethod
    def fail(self, error: ErrorInfo) -> None:
        """Report that the job failed."""

    @abstractmethod
    def _hear(self, message: Message) -> None:
        """Apply one message of the process."""

    def cancel(self, because: ErrorInfo | None = None) -> None:
        """End the job; no event follows, unless there is a reason to report."""
        with self._lock:
            self.cancelled = because is None
            if self.child is not None:
                self.child.end(because)

    def silent_seconds(self) -> float:
        """Seconds since the last message of its process."""
        child = self.child
        return time.monotonic() - child.heard if child is not None else 0.0

    def _seconds(self) -> float:
        """Seconds since the job began."""
        return time.monotonic() - self._began

    def _do(self, job: ReadCommand | MakeJob, hire: Callable[[], Child]) -> None:
        """Run the job in a child process, forward its messages, remove partial output."""
        child = hire()
        with self._lock:
            self.child = child
            if self.cancelled:
                return
        try:
            for message in child.do(job):
                if isinstance(message, Failed) and message.traceback and not self.cancelled:
                    path, text = self.request.path, message.error.message
                    log.warning("%s: %s\n%s", path, text, message.traceback)
                self._hear(message)
                if isinstance(message, Progressed):
                    self._last = message
        finally:
            with self._lock:
                self.child = None
            self._cache.clear_token(job.token)

    def _tell(self, event: PoolEvent[S]) -> None:
        if not self.cancelled:
            self._listen(event)


class ArtifactJob(Job[MakeRequest, Any]):
    """A job that makes one artifact."""

    def __init__(
        self, request: MakeRequest, cache: Cache, listen: Callable[[PoolEvent[Any]], None]
    ) -> None:
        super().__init__(request, cache, listen)
        self.digest = request.digest

    def progress(self) -> ReadProgress:
        """Progress of the artifact."""
        return protocol.of_making(self._last, self._seconds(), self.request.identity.bytes)

    def run(self, hire: Callable[[], Child]) -> None:
        """Make the artifact; ``hire`` gives a process."""
        request = self.request
        job = MakeJob(
            path=os.fsencode(request.path),
            size=request.identity.bytes,
            digest=request.digest,
            token=secrets.token_hex(8),
            roots=[os.fsencode(root) for root in self._cache.roots],
            make=request.make,
            name=request.name,
            variants=list(request.variants),
        )
        self._do(job, hire)

    def fail(self, error: ErrorInfo) -> None:
        """Report that the artifact cannot be made."""
        self._tell(Unmade(self.request, error))

    def _hear(self, message: Message) -> None:
        if isinstance(message, Finished):
            missing = "" if message.is_kept else message.note or "there is no room"
            self._tell(Made(self.request, missing))
        elif isinstance(message, Gone):
            self._tell(Unmade(self.request, None))
        elif isinstance(message, Failed):
            self._tell(Unmade(self.request, message.error, message.cls))


@dataclass(frozen=True, slots=True)
class Work(Generic[S]):
    """Parameters shared by all jobs."""

    read: str  # "module:function", (path, on_progress) → Trace
    summarize: str  # "module:function", (Trace) → S
    decode: Callable[[bytes], S]  # raises ValueError
    version: str  # of the code; part of every content key


class ReadJob(Job[Request, S]):
    """A job that reads one file."""

    def __init__(
        self, request: Request, work: Work[S], cache: Cache, listen: Callable[[PoolEvent[S]], None]
    ) -> None:
        super().__init__(request, cache, listen)
        self._work = work
        self._read_seconds: float | None = None

    def progress(self) -> ReadProgress:
        """Progress of the file."""
        pace = protocol.Pace(self._last, self._seconds(), self._read_seconds)
        return protocol.describe(pace, self.request.identity.bytes)

    def run(self, hire: Callable[[], Child]) -> None:
        """Look into the cache, else read the file; ``hire`` gives a process when one is needed."""
        request = self.request
        # What is read of a file that changes meanwhile is the answer to no other file.
        salt = secrets.token_hex(8) if request.as_is else ""
        try:
            self.digest = content_key.digest(
                request.path, request.identity, self._work.version + salt, self._cache.roots[0]
            )
        except FileNotFoundError:
            self._tell(Restless(request))
        except OSError as error:
            self._tell(Lost(request, info_of(error), refused=False))
        else:
            stored = self._cache.load_summary(self.digest)
            answered = stored is not None and self._answer(stored, from_cache=True)
            if answered and self._cache.has_columns(self.digest):
                self._tell(Kept(request))
            else:
                self._read(hire)

    def fail(self, error: ErrorInfo) -> None:
        """Report that the file cannot be read."""
        self._tell(Lost(self.request, error, refused=False))

    def _read(self, hire: Callable[[], Child]) -> None:
        identity = self.request.identity
        job = ReadCommand(
            path=os.fsencode(self.request.path),
            size=identity.bytes,
            modified_ns=identity.modified_ns,
            digest=self.digest,
            as_is=self.request.as_is,
            token=secrets.token_hex(8),
            roots=[os.fsencode(root) for root in self._cache.roots],
            read=self._work.read,
            summarize=self._work.summarize,
        )
        self._do(job, hire)

    def _hear(self, message: Message) -> None:
        if isinstance(message, Progressed):
            if self._read_seconds is None and message.phase != "reading":
                self._read_seconds = self._seconds()
        elif isinstance(message, Summarized):
            self._take_summary(message)
        elif isinstance(message, Finished):
            missing = "" if message.is_kept else f"The columns could not be kept: {message.note}."
            self._tell(Kept(self.request, missing, message.note))
        elif isinstance(message, Changed):
            self._tell(Restless(self.request))
        elif isinstance(message, Failed):
            refused = message.cls == "TraceFormatError"
            self._tell(Lost(self.request, message.error, refused))

    def _take_summary(self, message: Summarized) -> None:
        stored = (
            msgspec.json.decode(message.text, type=StoredSummary)
            if message.text
            else self._cache.load_summary(self.digest)
        )
        homeless = bool(message.text)
        if stored is None or not self._answer(stored, note=message.note, homeless=homeless):
            error = ErrorInfo(
                "internal", "The summary of the file could not be read back.", "Retry."
            )
            self._tell(Lost(self.request, error, refused=False))

    def _answer(
        self,
        stored: StoredSummary,
        *,
        from_cache: bool = False,
        note: str = "",
        homeless: bool = False,
    ) -> bool:
        try:
            summary = self._work.decode(bytes(stored.summary))
        except ValueError as error:
            log.warning("dropped the unusable summary of %s: %s", self.request.path, error)
            self._cache.drop(self.digest)
            return False
        self._tell(Answered(self.request, self.digest, stored, summary, from_cache, note, homeless))
        return True
