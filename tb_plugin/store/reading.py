"""What the pool does with one file: look into the cache, have it read, pass on the news."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import msgspec

from . import fingerprint, progress
from .cache import Cache, StoredSummary
from .catalog_types import ErrorInfo, ReadProgress
from .messages import Changed, Failed, Finished, Job, Message, Progressed, Summarized, info_of
from .news import Answered, Kept, Lost, News, Request, Restless, S
from .process import Child

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Work(Generic[S]):
    """What is done to every file."""

    read: str  # "module:function", (path, on_progress) → Trace
    summarize: str  # "module:function", (Trace) → S
    decode: Callable[[bytes], S]  # raises ValueError
    version: str  # of the code; part of every content key


class Reading(Generic[S]):
    """One request being worked on, by one thread. Others may ask how far it is, and cancel it."""

    def __init__(
        self, request: Request, work: Work[S], cache: Cache, listen: Callable[[News[S]], None]
    ) -> None:
        self.request = request
        self.cancelled = False
        self.digest = ""
        self.child: Child | None = None
        self._work = work
        self._cache = cache
        self._listen = listen
        self._began = time.monotonic()
        self._last: Progressed | None = None
        self._read_seconds: float | None = None
        self._lock = threading.Lock()

    def cancel(self, because: ErrorInfo | None = None) -> None:
        """Ends it; no news follow, unless there is a reason to tell."""
        with self._lock:
            self.cancelled = because is None
            if self.child is not None:
                self.child.end(because)

    def progress(self) -> ReadProgress:
        """How far it is."""
        pace = progress.Pace(self._last, time.monotonic() - self._began, self._read_seconds)
        return progress.describe(pace, self.request.identity.bytes)

    def silent_seconds(self) -> float:
        """How long its process said nothing."""
        child = self.child
        return time.monotonic() - child.heard if child is not None else 0.0

    def run(self, hire: Callable[[], Child]) -> None:
        """Does the work; ``hire`` gives a process when one is needed."""
        request = self.request
        # What is read of a file that changes meanwhile is the answer to no other file.
        salt = secrets.token_hex(8) if request.as_is else ""
        try:
            self.digest = digest = fingerprint.digest(
                request.path, request.identity, self._work.version + salt
            )
        except FileNotFoundError:
            self._tell(Restless(request))
        except OSError as error:
            self._tell(Lost(request, info_of(error), refused=False))
        else:
            stored = self._cache.load_summary(digest)
            answered = stored is not None and self._answer(digest, stored, from_cache=True)
            if answered and self._cache.has_columns(digest):
                self._tell(Kept(request))
            else:
                self._read(digest, hire)

    def fail(self, error: ErrorInfo) -> None:
        """Tells that it cannot be read."""
        self._tell(Lost(self.request, error, refused=False))

    def _read(self, digest: str, hire: Callable[[], Child]) -> None:
        identity, token = self.request.identity, secrets.token_hex(8)
        job = Job(
            path=os.fsencode(self.request.path),
            size=identity.bytes,
            modified_ns=identity.modified_ns,
            digest=digest,
            as_is=self.request.as_is,
            token=token,
            roots=[os.fsencode(root) for root in self._cache.roots],
            read=self._work.read,
            summarize=self._work.summarize,
        )
        child = hire()
        with self._lock:
            self.child = child
            if self.cancelled:
                return
        try:
            for message in child.do(job):
                self._hear(digest, message)
        finally:
            with self._lock:
                self.child = None
            self._cache.clear_token(token)

    def _hear(self, digest: str, message: Message) -> None:
        if isinstance(message, Progressed):
            if self._read_seconds is None and message.phase != "reading":
                self._read_seconds = time.monotonic() - self._began
            self._last = message
        elif isinstance(message, Summarized):
            self._take_summary(digest, message)
        elif isinstance(message, Finished):
            missing = "" if message.is_kept else f"The columns could not be kept: {message.note}."
            self._tell(Kept(self.request, missing, message.note))
        elif isinstance(message, Changed):
            self._tell(Restless(self.request))
        elif isinstance(message, Failed):
            if message.traceback and not self.cancelled:
                path, text = self.request.path, message.error.message
                log.warning("%s: %s\n%s", path, text, message.traceback)
            refused = message.cls == "TraceFormatError"
            self._tell(Lost(self.request, message.error, refused))

    def _take_summary(self, digest: str, message: Summarized) -> None:
        stored = (
            msgspec.json.decode(message.text, type=StoredSummary)
            if message.text
            else self._cache.load_summary(digest)
        )
        if stored is None or not self._answer(
            digest, stored, note=message.note, homeless=bool(message.text)
        ):
            error = ErrorInfo(
                "internal", "The summary of the file could not be read back.", "Retry."
            )
            self._tell(Lost(self.request, error, refused=False))

    def _answer(
        self,
        digest: str,
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
            self._cache.drop(digest)
            return False
        self._tell(Answered(self.request, digest, stored, summary, from_cache, note, homeless))
        return True

    def _tell(self, news: News[S]) -> None:
        if not self.cancelled:
            self._listen(news)
