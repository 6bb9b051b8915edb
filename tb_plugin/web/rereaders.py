"""Files whose events are read again: what was inflated for one click is kept for the next."""

from __future__ import annotations

from ..base.lru import LruCache
from ..store.catalog_snapshot import Entry
from ..trace.event_text import Rereader
from ..trace.model import Trace

FILES_KEPT = 4


class Rereaders:
    """The files last asked for."""

    def __init__(self) -> None:
        self._kept: LruCache[Rereader] = LruCache(FILES_KEPT)

    def of(self, entry: Entry, trace: Trace) -> Rereader:
        """The one of a trace."""
        key = f"{entry.digest} {entry.path}"
        found = self._kept.get(key)
        return found or self._kept.put(key, Rereader(entry.path, trace.blocks, trace.seek))
