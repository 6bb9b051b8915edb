"""The reading process ends with its server, at whatever moment that ends."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from kinetoscope.store.ingest.worker import BOOT, truncation_of
from kinetoscope.trace.model import CUT, HealthRecord, Note

SECONDS = 60  # for a process that should end at once


@pytest.mark.parametrize("said", [b"", b"[", b"[]"], ids=["nothing", "half a line", "no end"])
def test_a_server_that_ends_before_the_first_line_leaves_no_process(said: bytes) -> None:
    done = subprocess.run([sys.executable, "-c", BOOT], input=said, timeout=SECONDS, check=False)
    assert done.returncode == 0


class WithHealth(msgspec.Struct):
    """A summary with a health record."""

    health: HealthRecord


@pytest.mark.parametrize("kind", [*CUT, "gzip_checksum"])
def test_what_cuts_a_file_is_one_question(kind: str) -> None:
    """Each kind of note that says that the rest could not be read makes a file truncated."""
    note = Note(kind, "error", "Cut", 1, 0, "Later events are unknown.")
    health = HealthRecord(9, 9, 1, 1, {}, 0, 0, (note,))
    assert bool(truncation_of(WithHealth(health))) == (health.cut is not None) == (kind in CUT)
