"""The list of slow tests names tests that exist."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.slowness import SLOW


def test_each_slow_test_exists() -> None:
    gone = set()
    for line in SLOW.read_text("utf-8").split():
        path, *names = line.split("::")
        place = ROOT / path
        is_there = place.is_dir() if line.endswith("/") else place.is_file()
        if not is_there or (names and f"def {names[-1]}(" not in place.read_text("utf-8")):
            gone.add(line)
    assert gone == set(), "remove these lines from slow.txt"
