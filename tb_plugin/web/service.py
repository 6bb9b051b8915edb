"""What the web needs of the store; tests hand in something smaller than a catalog."""

from __future__ import annotations

from typing import Protocol

from ..analysis.facts import Facts
from ..store.catalog_types import Catalog, SpanInfo


class CatalogService(Protocol):
    """The traces below the logdirs, their states and their summaries."""

    def wait_first_look(self, seconds: float) -> bool:
        """Whether the first look at the logdirs has ended, after waiting for it so long at most."""

    def snapshot(self) -> Catalog:
        """Everything known now."""

    def locate(self, run: str, worker: str, span: str) -> SpanInfo:
        """One recorded cycle. Raises NotFoundError."""

    def summary(self, run: str, worker: str, span: str) -> Facts:
        """Its facts. Raises NotFoundError, NotReadyError, or the error that reading ended with."""

    def rescan(self) -> Catalog:
        """Looks again at once."""

    def retry(self, logdir: str, path: str) -> Catalog:
        """Reads a failed or refused file again. Raises NotFoundError."""

    def close(self) -> None:
        """Ends threads and the processes it started."""
