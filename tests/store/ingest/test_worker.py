"""The reading process ends with its server, at whatever moment that ends."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.store.ingest import worker
from kinetoscope.store.ingest.protocol import ReadCommand
from kinetoscope.store.ingest.worker import BOOT, truncation_of
from kinetoscope.trace.health_record import CUT, HealthRecord, Note
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import Progress

SECONDS = 60  # for a process that should end at once


@pytest.mark.parametrize("said", [b"", b"[", b"[]"], ids=["nothing", "half a line", "no end"])
def test_a_server_that_ends_before_the_first_line_leaves_no_process(said: bytes) -> None:
    done = subprocess.run([sys.executable, "-c", BOOT], input=said, timeout=SECONDS, check=False)
    assert done.returncode == 0


def read_one(path: str, said: Callable[[Progress], None]) -> Trace:
    """A reader that takes what no reader takes."""
    assert gc.isenabled()
    raise TraceFormatError("empty", "The file is empty.")


def summarize_none(trace: Trace) -> None:
    """Never called."""


def test_garbage_is_looked_for_once_everything_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "bound_cpu", lambda _: None)  # this process goes on
    command = ReadCommand(
        path=b"a", size=1, threads=1, modified_ns=1, digest="d", as_is=True, token="t",
        roots=[str(tmp_path).encode()], read=f"{__name__}:read_one",
        summarize=f"{__name__}:summarize_none",
    )  # fmt: skip
    gc.disable()
    try:
        with pytest.raises(TraceFormatError):
            worker.work(command, lambda _: None)
        assert gc.isenabled()
    finally:
        gc.unfreeze()
        gc.enable()
    assert "gc.disable()" in BOOT


class WithHealth(msgspec.Struct):
    """A summary with a health record."""

    health: HealthRecord


@pytest.mark.parametrize("kind", [*CUT, "gzip_checksum"])
def test_what_cuts_a_file_is_one_question(kind: str) -> None:
    """Each kind of note that says that the rest could not be read makes a file truncated."""
    note = Note(kind, "error", "Cut", 1, 0, "Later events are unknown.")
    health = HealthRecord(9, 9, 1, 1, {}, 0, 0, (note,))
    assert bool(truncation_of(WithHealth(health))) == (health.cut is not None) == (kind in CUT)
