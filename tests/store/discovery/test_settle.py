"""When a file is left alone, and when it is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kinetoscope.store.discovery.stability import (
    Patience,
    begin,
    is_abandoned,
    is_settled,
    looks_complete,
    why_waiting,
)
from kinetoscope.store.discovery.walk import FileVersion

PATIENCE = Patience(old=5, quiet=2, incomplete=30, longest=600)
WALL = 1_000_000.0


def identity(*, size: int = 10, age: float = 0.0) -> FileVersion:
    return FileVersion(size, int((WALL - age) * 1e9))


@pytest.mark.parametrize(
    ("age", "watched", "complete", "settled"),
    [
        (0, 0, True, False),  # just written
        (0, 2, True, True),  # stayed the same while we watched
        (6, 0, True, True),  # old when it was found
        (6, 0, False, False),  # the text stops in the middle
        (36, 0, False, True),  # nobody writes it any more
        (0, 30, False, True),
        (-3600, 1, True, False),  # from the future: its clock tells nothing
        (-3600, 2, True, True),
    ],
)
def test_a_file_is_read_when_it_rests(
    age: float, watched: float, complete: bool, settled: bool
) -> None:
    watch = begin(identity(age=age), now=100.0)
    found = is_settled(watch, 100.0 + watched, WALL, complete=complete, patience=PATIENCE)
    assert found is settled


def test_every_change_begins_the_wait_again() -> None:
    watch = begin(identity(size=10), now=0.0)
    watch = watch.seen(identity(size=20), 1.9)
    assert not is_settled(watch, 3.0, WALL, complete=True, patience=PATIENCE)
    watch = watch.seen(identity(size=20), 3.0)
    assert is_settled(watch, 3.9, WALL, complete=True, patience=PATIENCE)


def test_a_file_that_never_rests_is_read_now_and_then() -> None:
    watch = begin(identity(), now=0.0)
    for second in range(1, 600):
        watch = watch.seen(identity(size=10 + second), float(second))
        assert not is_settled(watch, float(second), WALL, complete=True, patience=PATIENCE)
    assert is_settled(watch, 600.0, WALL, complete=True, patience=PATIENCE)


@pytest.mark.parametrize(
    ("content", "complete"),
    [
        (b'{"traceEvents": []}\n', True),
        (b"[{}]\r\n\0\0", True),
        (b'{"traceEvents": [{"ph": "X"},', False),
        (b"", False),
        (gzip.compress(b"{", mtime=0)[:-4], True),  # cannot be told
        (b"version https://git-lfs.github.com/spec/v1\n", True),  # no JSON: nothing to wait for
    ],
)
def test_the_end_of_the_text(tmp_path: Path, content: bytes, complete: bool) -> None:
    (tmp_path / "x").write_bytes(content)
    assert looks_complete(str(tmp_path / "x"), len(content)) is complete


def test_says_why_it_waits() -> None:
    assert "still empty" in why_waiting(begin(identity(size=0), 0), complete=False)
    assert "in the middle" in why_waiting(begin(identity(), 0), complete=False)
    assert "a moment ago" in why_waiting(begin(identity(), 0), complete=True)


def test_a_temporary_file_is_left_behind_when_nobody_wrote_to_it_for_a_day() -> None:
    day = 24 * 3600.0
    assert not is_abandoned(identity(age=0), WALL)
    assert not is_abandoned(identity(age=day - 1), WALL)
    assert is_abandoned(identity(age=day + 1), WALL)
    assert not is_abandoned(identity(age=-3600), WALL)
