"""The content key: equal for a copy, different for any change; and when a file is hashed again."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.base import intervals
from kinetoscope.store.cache import content_key
from kinetoscope.store.discovery.walk import FileVersion
from kinetoscope.store.ingest import resources


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


def test_the_record_beside_a_trace_counts_by_its_content(tmp_path: Path) -> None:
    path, record = tmp_path / "w.1.pt.trace.json", tmp_path / "w.1.compile.json.gz"
    path.write_bytes(b"x")
    alone = key(path)
    (tmp_path / "other.compile.json.gz").write_bytes(b"r")
    assert key(path) == alone
    record.write_bytes(b"r")
    first = key(path)
    os.utime(record, (1, 1))
    assert key(path) == first
    record.write_bytes(b"s")
    assert len({alone, first, key(path)}) == 3
    record.unlink()
    assert key(path) == alone
    record.mkdir()  # refused, which is another answer than none
    assert key(path) not in (alone, first)


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


def test_the_code_version_covers_folders_inside_the_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "a_package_of_this_test"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "entry.py", "inner/__init__.py", "inner/formula.py"):
        (package / name).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    version = content_key.code_version.__wrapped__
    before = version(f"{package.name}.entry:make")
    (package / "inner" / "formula.py").write_text("x = 2")
    after = version(f"{package.name}.entry:make")
    (package / "inner" / "formula.py").rename(package / "inner" / "law.py")
    assert len({before, after, version(f"{package.name}.entry:make")}) == 3


def test_the_code_version_covers_base_and_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    below = content_key._code_below

    def noted(folder: str) -> list[str]:
        paths = list(below(folder))
        read.update(paths)
        return paths

    monkeypatch.setattr(content_key, "_code_below", noted)
    content_key.code_version.__wrapped__("tests.store.fakes:read")
    assert {intervals.__file__, content_key.__file__} <= read


def test_the_code_version_covers_the_packages_of_the_callables(tmp_path: Path) -> None:
    ours = "tests.store.fakes:read"
    known = content_key.code_version(ours)
    assert known == content_key.code_version(ours)
    assert known != content_key.code_version("tests.trace.drawn:drawn")
    assert known != content_key.code_version("no_such_module:x")


def test_the_version_of_code_that_did_not_change_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change counts at once, even one of the same size whose time was set back."""
    package = tmp_path / "another_package_of_this_test"
    package.mkdir()
    (package / "entry.py").write_text("x = 1")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(content_key, "REST_SECONDS", -1.0)
    hashed: list[int] = []
    usual = content_key._code_key

    def counting(unknown: Any, found: Any) -> str:
        hashed.append(1)
        return usual(unknown, found)

    monkeypatch.setattr(content_key, "_code_key", counting)

    def version() -> str:
        name = f"{package.name}.entry:make"
        found = content_key.code_version.__wrapped__(name, root=tmp_path / "root")
        assert found == usual((), _found(package))
        return found

    def _found(folder: Path) -> list[tuple[str, str]]:
        folders = {folder, Path(content_key.__file__).parent, Path(intervals.__file__).parent}
        return [(str(f), p) for f in sorted(folders) for p in content_key._code_below(str(f))]

    (tmp_path / "root").mkdir()
    first = version()
    assert (version(), len(hashed)) == (first, 1)
    status = (package / "entry.py").stat()
    (package / "entry.py").write_text("x = 2")
    os.utime(package / "entry.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert version() != first
    assert len(hashed) == 2
    monkeypatch.setattr(content_key, "REST_SECONDS", 1e9)
    (package / "more.py").write_text("")
    assert version() == version() != first
    assert len(hashed) == 4  # changed lately: no note


# --- notes of hashed files ------------------------------------------------------------------------

Noted = Callable[[Path], tuple[str, bool]]


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Noted:
    """The key of a file of any size and age, and whether its bytes were read for it."""
    monkeypatch.setattr(content_key, "NOTED", 1)
    monkeypatch.setattr(content_key, "REST_SECONDS", -1.0)
    (tmp_path / "root").mkdir()
    opened: list[str] = []

    def counting(path: str, *mode: Any) -> Any:
        opened.append(path)
        return open(path, *mode)

    monkeypatch.setattr(content_key, "open", counting, raising=False)

    def ask(path: Path) -> tuple[str, bool]:
        opened.clear()
        identity = FileVersion.of(path.stat())
        found = content_key.digest(str(path), identity, "v", tmp_path / "root")
        return found, bool(opened)

    return ask


def in_place(path: Path) -> None:
    """Write other bytes, and set the time of the last write back."""
    status = path.stat()
    path.write_bytes(b"y" * 1000)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def by_another(path: Path) -> None:
    """Put another file with the same size and time into its place."""
    other = path.with_name("other")
    other.write_bytes(b"y" * 1000)
    status = path.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(other, path)


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="notes are kept on Linux alone")


@on_linux
@pytest.mark.parametrize(
    ("change", "hashed", "same_key"),
    [
        (lambda _: None, False, True),
        (lambda path: path.touch(), True, True),
        (lambda path: path.write_bytes(b"y" * 1000), True, False),
        (lambda path: path.write_bytes(b"x" * 1001), True, False),
        (in_place, True, False),
        (by_another, True, False),
    ],
    ids=["nothing", "touched", "rewritten", "longer", "rewritten, time set back", "replaced"],
)
def test_a_file_is_hashed_again_when_it_changed(
    tmp_path: Path,
    noted: Noted,
    change: Callable[[Path], object],
    hashed: bool,
    same_key: bool,
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    before, was_hashed = noted(path)
    assert was_hashed
    time.sleep(0.02)  # a tick of the clock that stamps files
    change(path)
    after, was_hashed = noted(path)
    assert (was_hashed, after == before) == (hashed, same_key)
    assert after == key(path)


@on_linux
def test_who_asks_is_told_of_a_new_file_before_its_bytes_are_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_key, "NOTED", 100)
    monkeypatch.setattr(content_key, "REST_SECONDS", -1.0)
    (tmp_path / "root").mkdir()
    told: list[str] = []

    def ask(size: int, root: Path | None) -> list[str]:
        told.clear()
        path = tmp_path / f"{size} bytes"
        path.write_bytes(b"x" * size)
        asked = str(path), FileVersion.of(path.stat()), "v", root
        content_key.digest(*asked, partial(told.append, "first"))
        content_key.digest(*asked, partial(told.append, "second"))
        return told

    assert ask(100, tmp_path / "root") == ["first"]
    assert ask(99, tmp_path / "root") == []  # hashed at once
    assert ask(101, None) == []  # without notes nobody knows whether it is new


@on_linux
def test_a_file_that_changed_a_moment_ago_gets_no_note(
    tmp_path: Path, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    monkeypatch.setattr(content_key, "REST_SECONDS", 60.0)
    os.utime(path, (1, 1))  # its last write is long ago, its last change is not
    assert [noted(path)[1] for _ in range(2)] == [True, True]


@pytest.mark.parametrize("kind", ["nfs4", "fuse.sshfs", "9p", "unheard-of", ""])
def test_what_another_clock_stamps_is_hashed_every_time(
    tmp_path: Path, noted: Noted, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    monkeypatch.setattr(resources, "file_system", lambda _: kind)
    assert [noted(path)[1] for _ in range(2)] == [True, True]


@pytest.mark.parametrize("text", [b"", b"{", b'{"marks": [1], "content": "zz"}', b"\xff" * 99])
def test_a_damaged_note_costs_a_hash(tmp_path: Path, noted: Noted, text: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    before, _ = noted(path)
    for note in (tmp_path / "root" / "keys").glob("*"):
        note.write_bytes(text)
    assert noted(path) == (before, True)


def test_without_a_place_for_notes_there_is_a_key(tmp_path: Path, noted: Noted) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 1000)
    (tmp_path / "root").rmdir()
    assert noted(path) == noted(path) == (key(path), True)


@on_linux
def test_notes_of_long_ago_go(tmp_path: Path, noted: Noted) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"x" * 1000)
        noted(tmp_path / name)
    notes = tmp_path / "root" / "keys"
    old = next(notes.iterdir())
    os.utime(old, (1, 1))
    content_key.forget_old(tmp_path / "root")
    assert len(list(notes.iterdir())) == 1
    assert not old.exists()


def test_the_code_version_is_that_of_the_code_and_not_of_where_it_lies(tmp_path: Path) -> None:
    """Equal packages in two folders have one key; what cannot be found has a key by its name."""
    found = []
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.py").write_text("x = 1")
        found.append([(str(tmp_path / folder), str(tmp_path / folder / "one.py"))])
    here, there = (content_key._code_key((), one) for one in found)
    assert here == there
    (tmp_path / "there" / "one.py").rename(tmp_path / "there" / "two.py")
    renamed = [(str(tmp_path / "there"), str(tmp_path / "there" / "two.py"))]
    assert content_key._code_key((), renamed) != here
    for root in (None, tmp_path):
        keys = {content_key.code_version_now(f"no_such:{name}", root=root) for name in "xy"}
        assert len(keys) == 2
