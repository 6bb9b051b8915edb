"""What the web needs of the store's catalog; tests hand in something smaller."""

from __future__ import annotations

from typing import Protocol, TypeVar

from ..analysis.facts import Facts
from ..store.cache.artifacts import ArtifactSpec
from ..store.catalog_snapshot import Entry
from ..store.contract import Catalog
from ..trace.model import Trace

T = TypeVar("T")


class Traces(Protocol):
    """The traces below the logdirs, their states and their summaries: see store/catalog.py."""

    def wait_first_look(self, timeout: float) -> bool: ...

    def snapshot(self) -> Catalog: ...

    def locate(self, run: str | None, worker: str | None, span: str | None) -> Entry: ...

    def summary(self, entry: Entry) -> Facts: ...

    def trace(self, entry: Entry) -> Trace: ...

    def artifact(self, entry: Entry, recipe: ArtifactSpec[T], variant: str) -> T: ...

    def rescan(self) -> Catalog: ...

    def retry(self, logdir: str, path: str) -> Catalog: ...
