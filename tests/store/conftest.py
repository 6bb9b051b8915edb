"""A cache and a catalog in temporary folders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.store.cache.disk import Cache
from kinetoscope.store.cache.location import close_session, open_cache
from kinetoscope.store.catalog import CatalogService
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.store.ingest.pool import PoolLimits
from tests.store.fakes import QUICK, READ, SUMMARIZE, FakeFacts

CacheAt = Callable[[Path], Cache]


@pytest.fixture
def cache_at() -> Iterator[CacheAt]:
    """Opens caches in given folders; what they kept for the session goes in the end."""
    opened: list[Cache] = []

    def open_at(folder: Path) -> Cache:
        opened.append(open_cache(str(folder), 1 << 30))
        return opened[-1]

    yield open_at
    for one in opened:
        close_session(one)


@pytest.fixture
def cache(tmp_path: Path, cache_at: CacheAt) -> Cache:
    return cache_at(tmp_path / "cache")


def _sees_everything() -> bool:
    """Whether permissions do not stop us, as they do not stop the superuser."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0)
        try:
            os.listdir(folder)
        except PermissionError:
            return False
        else:
            return True
        finally:
            os.chmod(folder, 0o700)


needs_permissions = pytest.mark.skipif(_sees_everything(), reason="nothing is closed to this user")


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
            "limits": PoolLimits(2),
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
