"""A cache and a catalog in temporary folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.store.cache import Cache
from kinetoscope.store.cache_place import close_session, open_cache
from kinetoscope.store.catalog import CatalogService
from kinetoscope.store.ingest import Limits
from kinetoscope.store.logdirs import resolve
from tests.store.fakes import QUICK, READ, SUMMARIZE, FakeFacts


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    opened = open_cache(str(tmp_path / "cache"), 1 << 30)
    yield opened
    close_session(opened)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


Serve = Callable[..., CatalogService[FakeFacts]]


@pytest.fixture
def serve(logdir: Path, cache: Cache) -> Iterator[Serve]:
    """Starts catalogs, on ``logdir`` when nothing else is said, and ends them."""
    started: list[CatalogService[FakeFacts]] = []

    def start(*folders: Path, **options: Any) -> CatalogService[FakeFacts]:
        all_options: dict[str, Any] = {
            "summarize": SUMMARIZE,
            "summary_type": FakeFacts,
            "read": READ,
            "cache": cache,
            "limits": Limits(2),
            "timing": QUICK,
        } | options
        logdirs = resolve([str(f) for f in folders or (logdir,)], None)
        service: CatalogService[FakeFacts] = CatalogService(logdirs, **all_options)
        started.append(service)
        service.start()
        return service

    yield start
    for service in started:
        service.close()
