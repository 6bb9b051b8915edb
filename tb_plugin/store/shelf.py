"""Answers on the way out: summaries and traces from the cache, the last few kept in memory."""

from __future__ import annotations

import threading
from typing import Generic

import msgspec

from ..base.errors import UnavailableError
from ..trace.model import Trace
from . import estimate
from .cache import Cache
from .keep import Recent
from .news import S
from .summaries import with_path
from .worker import load_callable

SUMMARIES_KEPT, TRACES_KEPT = 256, 4
IN_PROCESS_BYTES = 256 << 20  # of memory: up to this, a trace no disk has room for is read here


class Shelf(Generic[S]):
    """Finished answers by content key and path."""

    def __init__(self, cache: Cache, summary_type: type[S], read: str) -> None:
        self._cache = cache
        self._read = read
        self._decoder = msgspec.json.Decoder(summary_type)
        self._summaries: Recent[S] = Recent(SUMMARIES_KEPT)
        self._traces: Recent[Trace] = Recent(TRACES_KEPT)
        self._homeless: dict[str, S] = {}
        self._loading = threading.Lock()

    def pin(self, digest: str, path: str, summary: S) -> None:
        """Keeps a summary that is in no file, as long as the program runs."""
        self._homeless[f"{digest} {path}"] = with_path(summary, path)

    def decode(self, text: bytes) -> S:
        """A summary from its JSON text.

        Raises:
            ValueError: it is none.
        """
        return self._decoder.decode(text)  # the errors of msgspec are ValueErrors

    def summary(self, digest: str, path: str) -> S | None:
        """The summary of a file; None when it is not there any more."""
        key = f"{digest} {path}"
        found = self._homeless.get(key) or self._summaries.get(key)
        if found is not None:
            return found
        stored = self._cache.load_summary(digest)
        if stored is None:
            return None
        try:
            summary = self.decode(bytes(stored.summary))
        except ValueError:
            self._cache.drop(digest)
            return None
        return self._summaries.put(key, with_path(summary, path))

    def trace(self, digest: str, path: str) -> Trace | None:
        """The trace of a file; None when its columns are not there any more."""
        with self._loading:
            return self._remembered(digest, path) or self._loaded(digest, path)

    def trace_read_here(self, digest: str, path: str, size: int, why: str) -> Trace:
        """A small trace, read in this process because its columns cannot be kept on disk.

        Raises:
            UnavailableError: it is too large for that; says ``why`` it cannot be kept.
        """
        with self._loading:
            found = self._remembered(digest, path)
            if found is not None:
                return found
            if estimate.memory_of(path, size) > IN_PROCESS_BYTES:
                raise UnavailableError(
                    why or "The columns of this trace cannot be kept on disk.",
                    hint="Make room on the disk, or set KINETOSCOPE_CACHE_DIR to a folder that has"
                    " some, and start again.",
                )
            trace: Trace = load_callable(self._read)(path, lambda _: None)
            return self._traces.put(f"{digest} {path}", trace)

    def _remembered(self, digest: str, path: str) -> Trace | None:
        return self._traces.get(f"{digest} {path}")

    def _loaded(self, digest: str, path: str) -> Trace | None:
        trace = self._cache.load_trace(digest, path)
        return None if trace is None else self._traces.put(f"{digest} {path}", trace)
