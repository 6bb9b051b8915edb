"""Answers on disk: what is kept, dropped, replaced, and where."""

from __future__ import annotations

import os
import secrets
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kinetoscope.base.units import parse_size
from kinetoscope.store.cache import content_key, disk, location
from kinetoscope.store.cache.artifacts import artifact_folder, is_whole, seal
from kinetoscope.store.cache.beside import BESIDE
from kinetoscope.store.cache.disk import (
    COLUMNS,
    SUMMARY,
    Cache,
    encode_summary,
    entry,
    publish_columns,
    publish_summary,
)
from tests.conftest import ROOT
from tests.store.fakes import made_trace, same, summarize


def keep(cache: Cache, digest: str, *, rows: int = 5, root: int = 0, used: float = 0) -> None:
    trace = made_trace(rows, rank=1)
    stored = encode_summary("p", 10, rows, 0.5, summarize(trace))
    token = secrets.token_hex(4)
    publish_summary(stored, cache.roots[root], token, digest)
    publish_columns(trace, cache.roots[root], token, digest)
    cache.clear_token(token)
    if used:
        os.utime(entry(cache.roots[root], digest), (used, used))


def digests(cache: Cache) -> set[str]:
    return {folder.name for folder in (cache.roots[0] / "entries").iterdir()}


def test_keeps_summary_and_columns(cache: Cache) -> None:
    assert cache.load_summary("d", "/p") is None
    assert cache.load_trace("d", "p") is None
    keep(cache, "d")
    stored = cache.load_summary("d", "/p")
    assert stored is not None
    assert (stored.bytes, stored.events, stored.seconds) == (10, 5, 0.5)
    assert cache.has_columns("d")
    assert same(cache.load_trace("d", "p"), made_trace(5, rank=1, path="p"))


def test_looks_in_every_root(cache: Cache) -> None:
    keep(cache, "d", root=1)
    assert cache.load_summary("d", "/p")
    assert cache.load_trace("d", "p")


@pytest.mark.parametrize("damage", [b"", b"{", b'{"path": 3}', None])
def test_a_damaged_summary_takes_everything_with_it(cache: Cache, damage: bytes | None) -> None:
    keep(cache, "d")
    file = entry(cache.roots[0], "d") / SUMMARY
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b'"rank":1', b'"rank":2') if damage is None else damage)
    assert cache.load_summary("d", "/p") is None
    assert digests(cache) == set()


def test_damaged_columns_are_dropped(cache: Cache) -> None:
    keep(cache, "d")
    file = entry(cache.roots[0], "d") / COLUMNS / "host.plain"
    os.truncate(file, file.stat().st_size - 1)
    assert cache.load_trace("d", "p") is None
    assert not cache.has_columns("d")


def test_damage_beside_the_traces_is_no_damage_of_our_own(cache: Cache, tmp_path: Path) -> None:
    keep(cache, "d")
    (entry(cache.roots[0], "d") / SUMMARY).unlink()
    far = tmp_path / ".kinetoscope"
    entry(far, "d").mkdir(parents=True)
    (entry(far, "d") / SUMMARY).write_text("{")
    assert replace(cache, beside=(far,)).load_summary("d", "/p") is None
    assert cache.has_columns("d")


def test_what_lies_beside_one_file_is_no_answer_for_another(cache: Cache, tmp_path: Path) -> None:
    keep(cache, "d")
    (tmp_path / "a").mkdir()
    os.rename(cache.roots[0], tmp_path / "a" / BESIDE)
    assert cache.load_summary("d", str(tmp_path / "a" / "run" / "p")) is not None
    assert cache.load_summary("d", str(tmp_path / "b" / "p")) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    """Whoever may write to a logdir may put one there; else this would wait for ever."""
    summary = entry(tmp_path, "d") / SUMMARY
    made = artifact_folder(tmp_path, "d", "rows", "")
    made.mkdir(parents=True)
    (made / "rows").write_text("3")
    seal(made, "v")
    assert is_whole(made, "v")
    (made / "rows").unlink()
    for pipe in (summary, made / "rows"):
        os.mkfifo(pipe)
    assert not is_whole(made, "v")
    (made / "seal.json").unlink()
    os.mkfifo(made / "seal.json")
    assert not is_whole(made, "v")
    assert Cache((), 0, beside=(tmp_path,)).load_summary("d", "/p") is None
    with pytest.raises(OSError, match="no regular file"):
        content_key.read_regular(summary, 10)


def test_a_file_that_is_larger_than_any_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "note").write_bytes(b"x" * 11)
    assert content_key.read_regular(tmp_path / "note", 11) == b"x" * 11
    with pytest.raises(OSError, match="too large"):
        content_key.read_regular(tmp_path / "note", 10)


def test_files_of_others_do_no_harm(cache: Cache) -> None:
    root = cache.roots[0]
    (root / "entries" / "foreign").mkdir()
    (root / "entries" / "foreign" / COLUMNS).write_text("not a folder")
    (root / "entries" / "a file").write_text("x")
    assert cache.load_summary("foreign", "/p") is None
    assert cache.load_trace("foreign", "p") is None
    assert cache.trim(()) == 0


def test_what_was_used_longest_ago_goes_first(cache: Cache) -> None:
    for age, digest in enumerate("abcd"):
        keep(cache, digest, used=time.time() - age * 100)
    one = sum(f.stat().st_size for f in entry(cache.roots[0], "a").rglob("*") if f.is_file())
    small = Cache(cache.roots, int(one * 2.5))
    assert small.trim({"d"}) == 2  # d is the oldest, but in use
    assert digests(cache) == {"a", "d"}


def test_entries_are_looked_at_once_the_limit_may_be_reached(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []
    entries = disk._entries

    def look(root: Path) -> Iterator[disk._Entry]:
        looked.append(root)
        return entries(root)

    monkeypatch.setattr(disk, "_entries", look)
    keep(cache, "old", used=1)
    cache.make_room("old")  # for the first time nothing is known
    keep(cache, "new")
    cache.make_room("new")
    assert looked == [cache.roots[0]]
    size = sum(file.stat().st_size for file in cache.roots[0].glob("entries/*/**/*.*"))
    small = replace(cache, limit_bytes=size * 5 // 4)
    keep(cache, "newest")
    small.make_room("newest")
    assert len(looked) == 2
    assert digests(cache) == {"new", "newest"}


@pytest.mark.parametrize("counted", [-2 * disk.SIZE_SECONDS, disk.SIZE_SECONDS])
def test_entries_are_looked_at_once_a_day(cache: Cache, counted: float) -> None:
    """What was stored by others at the same moment is not in the sum; clocks may be set back."""
    keep(cache, "d", used=1)
    note = cache.roots[0] / content_key.NOTES / disk.SIZE
    content_key.write_note(note, disk.StoredSize(0, time.time() + counted))
    replace(cache, limit_bytes=1).make_room("d")
    known = disk._noted(note)
    assert known is not None
    assert known.bytes > 1000
    assert digests(cache) == {"d"}  # it was stored just now


def test_using_an_entry_makes_it_recent(cache: Cache) -> None:
    for digest in "ab":
        keep(cache, digest, used=1000)
    assert cache.load_summary("a", "/p")
    Cache(cache.roots, 1).trim(())
    keep(cache, "a", used=1000)
    keep(cache, "b", used=1000)
    cache.load_trace("b", "p")
    half = sum(f.stat().st_size for f in cache.roots[0].rglob("*") if f.is_file()) // 2 + 500
    Cache(cache.roots, half).trim(())
    assert digests(cache) == {"b"}


def test_a_reader_keeps_what_it_has_open(cache: Cache) -> None:
    keep(cache, "d", rows=1000)
    trace = cache.load_trace("d", "p")
    cache.drop("d")
    assert same(trace, made_trace(1000, rank=1, path="p"))


def test_only_this_user_may_look_inside(cache: Cache) -> None:
    keep(cache, "d")
    folders = [cache.roots[0], *(p for p in cache.roots[0].rglob("*") if p.is_dir())]
    assert all(stat.S_IMODE(f.stat().st_mode) == 0o700 for f in folders)


def test_leftovers_of_dead_processes_are_swept(cache: Cache) -> None:
    for name, age in (("old", 2 * 86400), ("new", 60)):
        folder = cache.roots[0] / "tmp" / name
        folder.mkdir()
        os.utime(folder, (time.time() - age,) * 2)
    cache.sweep()
    assert [f.name for f in (cache.roots[0] / "tmp").iterdir()] == ["new"]


def test_the_folder_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "here"))
    monkeypatch.setenv("KINETOSCOPE_CACHE_SIZE", "3 GB")
    cache = location.open_cache()
    assert cache.roots[0] == tmp_path / "here"
    assert (cache.limit_bytes, cache.problem) == (3_000_000_000, "")


def test_a_program_that_soon_ends_has_no_folder_of_its_own(tmp_path: Path) -> None:
    assert location.open_user_cache(str(tmp_path / "c")).roots == (tmp_path / "c",)
    (tmp_path / "file").write_text("")
    unusable = location.open_user_cache(str(tmp_path / "file"))
    assert unusable.roots == ()
    assert unusable.problem


def test_the_limit_is_a_tenth_of_the_free_disk_at_most(tmp_path: Path) -> None:
    cache = location.open_cache(str(tmp_path / "c"))
    assert 0 < cache.limit_bytes <= 10 << 30


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1000", 1000),
        ("20GB", 20_000_000_000),
        ("5 mb", 5_000_000),
        ("7 b", 7),
        ("1.5 MiB", 3 << 19),
        ("1k", 1024),
        ("1t", 1 << 40),
        ("", None),
        ("x", None),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    assert parse_size(text) == size


def test_session_folders_of_killed_programs_are_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name, age in ((f"{ended.pid}-old", 2), (f"{ended.pid}-new", 0), (f"{os.getpid()}-ours", 2)):
        folder = tmp_path / f"kinetoscope-{name}"
        folder.mkdir()
        os.utime(folder, (time.time() - age * 86400,) * 2)
    location.open_cache(str(tmp_path / "c"))
    left = {folder.name for folder in tmp_path.glob("kinetoscope-*")}
    assert left == {f"kinetoscope-{ended.pid}-new", f"kinetoscope-{os.getpid()}-ours"}


def test_without_a_usable_folder_answers_are_kept_for_the_session(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("a file is in the way")
    cache = location.open_cache(str(tmp_path / "c"))
    assert "cannot be used" in cache.problem
    keep(cache, "d")
    assert cache.load_trace("d", "p")
    assert stat.S_IMODE(cache.roots[0].stat().st_mode) == 0o700
    location.close_session(cache)
    assert not cache.roots[0].exists()


@pytest.mark.skipif(os.name == "nt", reason="needs permissions")
def test_a_folder_everybody_may_write_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c").chmod(0o777)
    assert "everybody" in location.open_cache(str(tmp_path / "c")).problem


HAMMER = """
import sys
from tests.store.cache.test_disk import keep
from kinetoscope.store.cache.location import open_cache
cache = open_cache(sys.argv[1], 400_000)
for turn in range(30):
    digest = "abc"[turn % 3]
    if cache.load_trace(digest, "p") is None:
        keep(cache, digest, rows=300)
    if turn % 7 == 0:
        cache.drop(digest)
    cache.trim({digest})
print("well")
"""


def test_two_processes_share_one_cache(tmp_path: Path) -> None:
    """Both write, read, drop and trim the same entries; nobody sees anything half done."""
    command = [sys.executable, "-W", "error", "-c", HAMMER, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for one in both:
        out, err = one.communicate(timeout=120)
        assert (out.decode().strip(), err.decode()) == ("well", "")
