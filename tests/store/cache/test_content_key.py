"""The content key: equal for a copy, different for any change."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kinetoscope.store.cache import content_key
from kinetoscope.store.discovery.walk import FileVersion


def key(path: Path, version: str = "v") -> str:
    return content_key.digest(str(path), FileVersion.of(path.stat()), version)


def test_a_copy_and_a_touched_file_keep_their_key(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    first = key(path)
    shutil.copy(path, tmp_path / "b")
    os.utime(path, (1, 1))
    assert key(path) == key(tmp_path / "b") == first
    assert len(first) == 32


@pytest.mark.parametrize("place", [0, 500, 999])
def test_one_changed_byte_changes_the_key(tmp_path: Path, place: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    before = key(path)
    data = bytearray(b"x" * 1000)
    data[place] = 0
    path.write_bytes(data)
    assert key(path) != before


def test_other_code_another_key(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    assert key(tmp_path / "a", "v1") != key(tmp_path / "a", "v2")


def test_of_a_huge_file_samples_and_the_time_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_key, "WHOLE", 1 << 20)
    path = tmp_path / "a"
    path.write_bytes(bytes(8 << 20))
    before = key(path)
    for sample in (0, 30, 63):
        place = ((8 << 20) - content_key.SAMPLE_BYTES) * sample // (content_key.SAMPLES - 1)
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"!")
        os.utime(path, ns=(0, 7))
        seen = key(path)
        assert seen != before
        before = seen
    os.utime(path, ns=(0, 8))
    assert key(path) != before


def test_the_code_version_covers_the_packages_of_the_callables(tmp_path: Path) -> None:
    ours = "tests.store.fakes:read"
    known = content_key.code_version(ours)
    assert known == content_key.code_version(ours)
    assert known != content_key.code_version("tests.trace.drawn:drawn")
    assert known != content_key.code_version("no_such_module:x")
