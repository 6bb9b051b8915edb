"""What the pool does with one artifact: have it made, pass on the news."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from . import progress
from .cache import Cache
from .catalog_types import ErrorInfo, ReadProgress
from .messages import Failed, Finished, Gone, MakeJob, Message, Progressed
from .news import Made, MakeRequest, News, Unmade
from .process import Child

log = logging.getLogger(__name__)


class Making:
    """One artifact being made, by one thread. Others may ask how far it is, and cancel it."""

    def __init__(
        self, request: MakeRequest, cache: Cache, listen: Callable[[News[Any]], None]
    ) -> None:
        self.request = request
        self.cancelled = False
        self.digest = request.digest
        self.child: Child | None = None
        self._cache = cache
        self._listen = listen
        self._began = time.monotonic()
        self._last: Progressed | None = None
        self._lock = threading.Lock()

    def cancel(self, because: ErrorInfo | None = None) -> None:
        """Ends it; no news follow, unless there is a reason to tell."""
        with self._lock:
            self.cancelled = because is None
            if self.child is not None:
                self.child.end(because)

    def progress(self) -> ReadProgress:
        """How far it is."""
        seconds = time.monotonic() - self._began
        return progress.of_making(self._last, seconds, self.request.identity.bytes)

    def silent_seconds(self) -> float:
        """How long its process said nothing."""
        child = self.child
        return time.monotonic() - child.heard if child is not None else 0.0

    def run(self, hire: Callable[[], Child]) -> None:
        """Does the work; ``hire`` gives a process."""
        request, token = self.request, secrets.token_hex(8)
        job = MakeJob(
            path=os.fsencode(request.path),
            size=request.identity.bytes,
            digest=request.digest,
            token=token,
            roots=[os.fsencode(root) for root in self._cache.roots],
            make=request.make,
            name=request.name,
            variants=list(request.variants),
        )
        child = hire()
        with self._lock:
            self.child = child
            if self.cancelled:
                return
        try:
            for message in child.do(job):
                self._hear(message)
        finally:
            with self._lock:
                self.child = None
            self._cache.clear_token(token)

    def fail(self, error: ErrorInfo) -> None:
        """Tells that it cannot be made."""
        self._tell(Unmade(self.request, error))

    def _hear(self, message: Message) -> None:
        if isinstance(message, Progressed):
            self._last = message
        elif isinstance(message, Finished):
            missing = "" if message.is_kept else message.note or "there is no room"
            self._tell(Made(self.request, missing))
        elif isinstance(message, Gone):
            self._tell(Unmade(self.request, None))
        elif isinstance(message, Failed):
            if message.traceback and not self.cancelled:
                path, text = self.request.path, message.error.message
                log.warning("%s: %s\n%s", path, text, message.traceback)
            self._tell(Unmade(self.request, message.error, message.cls))

    def _tell(self, news: News[Any]) -> None:
        if not self.cancelled:
            self._listen(news)
