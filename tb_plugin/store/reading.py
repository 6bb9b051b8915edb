"""What the pool does with one file: look into the cache, have it read, pass on the news."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

import msgspec

from . import fingerprint, progress
from .cache import Cache, StoredSummary
from .catalog_types import ErrorInfo, ReadProgress
from .errand import Errand, log
from .messages import Changed, Failed, Finished, Job, Message, Progressed, Summarized, info_of
from .news import Answered, Kept, Lost, News, Request, Restless, S
from .process import Child


@dataclass(frozen=True, slots=True)
class Work(Generic[S]):
    """What is done to every file."""

    read: str  # "module:function", (path, on_progress) → Trace
    summarize: str  # "module:function", (Trace) → S
    decode: Callable[[bytes], S]  # raises ValueError
    version: str  # of the code; part of every content key


class Reading(Errand[Request, S]):
    """One file being read."""

    def __init__(
        self, request: Request, work: Work[S], cache: Cache, listen: Callable[[News[S]], None]
    ) -> None:
        super().__init__(request, cache, listen)
        self._work = work
        self._read_seconds: float | None = None

    def progress(self) -> ReadProgress:
        """How far it is."""
        pace = progress.Pace(self._last, self._seconds(), self._read_seconds)
        return progress.describe(pace, self.request.identity.bytes)

    def run(self, hire: Callable[[], Child]) -> None:
        """Looks into the cache, else has it read; ``hire`` gives a process when one is needed."""
        request = self.request
        # What is read of a file that changes meanwhile is the answer to no other file.
        salt = secrets.token_hex(8) if request.as_is else ""
        try:
            self.digest = fingerprint.digest(
                request.path, request.identity, self._work.version + salt
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
        """Tells that it cannot be read."""
        self._tell(Lost(self.request, error, refused=False))

    def _read(self, hire: Callable[[], Child]) -> None:
        identity = self.request.identity
        job = Job(
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
