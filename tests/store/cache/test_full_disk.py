"""A disk without room: every trace can still be looked at, and the reason is visible."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetoscope.base.errors import UnavailableError
from kinetoscope.store.cache.disk import Cache
from tests.store.conftest import CacheAt, Serve
from tests.store.fakes import states, write_trace
from tests.store.test_catalog import trace_of
from tests.waiting import wait_for

ROOM = 64 << 10


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only the superuser of a Linux machine can make a tiny disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=700", "tmpfs", str(disk)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no tiny disk can be made here: {made.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_columns_that_do_not_fit_go_to_the_temporary_folder(
    tiny: Path, logdir: Path, serve: Serve, cache_at: CacheAt
) -> None:
    write_trace(logdir / "run" / "a.json", events=2000)
    service = serve(cache=cache_at(tiny / "cache"))
    wait_for(lambda: states(service) == {"run/a.json": "ready"})
    assert len(trace_of(service).host) == 2000
    wait_for(lambda: "No space left on device" in service.snapshot().files[0].reason)
    assert service.snapshot().files[0].verdict == "in use"
    service.close()
    assert len(list((tiny / "cache" / "tmp").iterdir())) == 0  # what did not fit is not left there


def test_with_no_room_anywhere_the_summary_is_still_there(
    tiny: Path, logdir: Path, serve: Serve
) -> None:
    folder = tiny / "cache"
    folder.mkdir()
    (tiny / "filler").write_bytes(bytes(ROOM - (8 << 10)))
    write_trace(logdir / "run" / "a.json", events=3000)
    service = serve(cache=Cache((folder,), 1 << 30))
    wait_for(lambda: states(service) == {"run/a.json": "ready"})
    assert service.summary(service.locate(None, None, None)).events == 3000
    wait_for(lambda: "could not be kept" in service.snapshot().files[0].reason)
    with pytest.raises(UnavailableError, match="could not be kept"):
        trace_of(service)
