"""One piece of work of the pool: a process is given a job, and heard until the job is done."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from .cache import Cache
from .catalog_types import ErrorInfo, ReadProgress
from .messages import Failed, Job, MakeJob, Message, Progressed
from .news import MakeRequest, News, Request, S
from .process import Child

log = logging.getLogger(__name__)

R = TypeVar("R", Request, MakeRequest)


class Errand(ABC, Generic[R, S]):
    """A request being worked on, by one thread. Others may ask how far it is, and cancel it."""

    def __init__(self, request: R, cache: Cache, listen: Callable[[News[S]], None]) -> None:
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
        """Does the work; ``hire`` gives a process when one is needed."""

    @abstractmethod
    def progress(self) -> ReadProgress:
        """How far it is."""

    @abstractmethod
    def fail(self, error: ErrorInfo) -> None:
        """Tells that it cannot be done."""

    @abstractmethod
    def _hear(self, message: Message) -> None:
        """What the process says of the job."""

    def cancel(self, because: ErrorInfo | None = None) -> None:
        """Ends it; no news follow, unless there is a reason to tell."""
        with self._lock:
            self.cancelled = because is None
            if self.child is not None:
                self.child.end(because)

    def silent_seconds(self) -> float:
        """How long its process said nothing."""
        child = self.child
        return time.monotonic() - child.heard if child is not None else 0.0

    def _seconds(self) -> float:
        """How long it has been worked on."""
        return time.monotonic() - self._began

    def _do(self, job: Job | MakeJob, hire: Callable[[], Child]) -> None:
        """Has a process do the job, and hears what it says; what it left unfinished goes."""
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

    def _tell(self, news: News[S]) -> None:
        if not self.cancelled:
            self._listen(news)
