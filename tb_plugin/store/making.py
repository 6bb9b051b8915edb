"""What the pool does with one artifact: have it made, pass on the news."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from typing import Any

from . import progress
from .cache import Cache
from .catalog_types import ErrorInfo, ReadProgress
from .errand import Errand
from .messages import Failed, Finished, Gone, MakeJob, Message
from .news import Made, MakeRequest, News, Unmade
from .process import Child


class Making(Errand[MakeRequest, Any]):
    """One artifact being made."""

    def __init__(
        self, request: MakeRequest, cache: Cache, listen: Callable[[News[Any]], None]
    ) -> None:
        super().__init__(request, cache, listen)
        self.digest = request.digest

    def progress(self) -> ReadProgress:
        """How far it is."""
        return progress.of_making(self._last, self._seconds(), self.request.identity.bytes)

    def run(self, hire: Callable[[], Child]) -> None:
        """Has it made; ``hire`` gives a process."""
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
        """Tells that it cannot be made."""
        self._tell(Unmade(self.request, error))

    def _hear(self, message: Message) -> None:
        if isinstance(message, Finished):
            missing = "" if message.is_kept else message.note or "there is no room"
            self._tell(Made(self.request, missing))
        elif isinstance(message, Gone):
            self._tell(Unmade(self.request, None))
        elif isinstance(message, Failed):
            self._tell(Unmade(self.request, message.error, message.cls))
