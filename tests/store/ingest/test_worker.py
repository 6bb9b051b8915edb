"""The reading process ends with its server, at whatever moment that ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kinetoscope.store.ingest.worker import BOOT

SECONDS = 60  # for a process that should end at once


@pytest.mark.parametrize("said", [b"", b"[", b"[]"], ids=["nothing", "half a line", "no end"])
def test_a_server_that_ends_before_the_first_line_leaves_no_process(said: bytes) -> None:
    done = subprocess.run([sys.executable, "-c", BOOT], input=said, timeout=SECONDS, check=False)
    assert done.returncode == 0
