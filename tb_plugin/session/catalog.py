"""The catalog with ``Facts`` as its summaries, from which the server opens traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..analysis.facts import Facts
from ..base.artifact_spec import ArtifactSpec

if TYPE_CHECKING:  # one command needs no catalog that goes on
    from ..store.catalog import CatalogService, Entry, Timing
    from ..store.contract import Catalog
    from ..store.discovery.walk import Logdir
    from ..trace.model import Trace

T = TypeVar("T")

SUMMARIZE = f"{__package__.rpartition('.')[0]}.analysis.summarize:summarize"
"""By name, because it runs in other processes."""


class Traces(Protocol):
    """The traces below the logdirs, their states and summaries: see ``store/catalog.py``.

    Tests hand in something smaller.
    """

    def wait_first_look(self, timeout: float) -> bool: ...

    def snapshot(self) -> Catalog: ...

    def locate(self, run: str | None, worker: str | None, span: str | None) -> Entry: ...

    def summary(self, entry: Entry) -> Facts: ...

    def trace(self, entry: Entry) -> Trace: ...

    def artifact(self, entry: Entry, spec: ArtifactSpec[T], variant: str) -> T: ...

    def stored_artifact(self, place: tuple[str, str, str], spec: ArtifactSpec[T]) -> T | None: ...

    def is_outdated(self) -> bool: ...

    def rescan(self) -> Catalog: ...

    def retry(self, logdir: str, path: str) -> Catalog: ...


def facts_catalog(logdirs: Sequence[Logdir], timing: Timing | None = None) -> CatalogService[Facts]:
    """The catalog over the logdirs; ``start`` begins to look."""
    from ..store.catalog import CatalogService

    return CatalogService(logdirs, summarize=SUMMARIZE, summary_type=Facts, timing=timing)
