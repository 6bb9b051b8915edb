"""What reading a file takes, and which disks are shared with others."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from kinetoscope.base import machine
from kinetoscope.base.native import Native
from kinetoscope.store.cache import memory
from kinetoscope.store.cache.memory import LruCache
from kinetoscope.store.ingest import resources
from kinetoscope.store.ingest.pool import PoolLimits


def test_pages_of_files_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.mapped_bytes() > 0 or not Path("/proc/self/statm").exists()
    told = tmp_path / "statm"
    monkeypatch.setattr(memory, "_STATM", told)
    for text, pages in (("900 500 300 1 0 80 0\n", 300), ("what?\n", 0)):
        told.write_text(text)
        assert memory.mapped_bytes() == pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    ("cores", "asked", "processes", "threads"),
    [
        (1, "", 1, 1),
        (2, "", 2, 2),
        (3, "", 2, 3),
        (8, "", 4, 8),
        (128, "", 8, 64),
        (8, "1", 1, 1),  # who asks for one thread gets one process with one
        (8, "3", 3, 3),
        (2, "16", 2, 16),
    ],
)
def test_how_many_read_at_once(
    monkeypatch: pytest.MonkeyPatch, cores: int, asked: str, processes: int, threads: int
) -> None:
    monkeypatch.setattr(machine, "core_count", lambda: cores)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv(machine.THREADS_VARIABLE, asked)
    limits = PoolLimits.of_machine()
    assert (limits.processes, limits.threads) == (processes, threads)


EVENTS = 100_000
TEXT = b"".join(b'{"ph": "X", "name": "op", "ts": %d},\n' % (7 * i) for i in range(EVENTS))


def test_what_is_in_a_file_is_seen_at_its_ends(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.json", tmp_path / "renamed.json"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT, 6))
    for file in (plain, packed):
        text_bytes, events = resources.look_into(str(file), file.stat().st_size)
        assert text_bytes == len(TEXT)
        assert 0.9 * EVENTS < events < 1.2 * EVENTS


def test_several_members_do_not_hide_the_size(tmp_path: Path) -> None:
    """The trailer tells the size of the last member alone."""
    file = tmp_path / "a.json.gz"
    file.write_bytes(gzip.compress(TEXT, 6) * 3 + gzip.compress(b"]}"))
    text_bytes, _ = resources.look_into(str(file), file.stat().st_size)
    assert 2 * len(TEXT) < text_bytes < 4 * len(TEXT)


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b", b"\x1f\x8b\x08" + bytes(40), bytes(9)])
def test_damaged_and_missing_files_are_guessed(tmp_path: Path, damage: bytes) -> None:
    file = tmp_path / "a.json.gz"
    file.write_bytes(damage)
    assert 0 <= resources.look_into(str(file), len(damage)).text_bytes <= 1000
    missing = str(tmp_path / "none.json")
    assert resources.look_into(f"{missing}.gz", 1000) == (20_000, 80)
    assert resources.look_into(missing, 1000) == (1000, 4)


def test_memory_grows_with_the_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(TEXT)

    def with_reader(reason: str, size: int) -> int:
        found = Native(None, reason) if reason else Native(object(), "")  # type: ignore[arg-type]
        monkeypatch.setattr(resources, "native", lambda: found)
        return resources.memory_of(str(file), size)

    small, large = with_reader("", len(TEXT)), with_reader("", 10 * len(TEXT))
    assert 80 * 9 * EVENTS < large - small < 200 * 9 * EVENTS
    assert with_reader("not built", len(TEXT)) > small > 64 << 20


def test_the_disk_of_the_temporary_folder_is_our_own(tmp_path: Path) -> None:
    assert resources.is_shared_filesystem(str(tmp_path)) is False


def test_network_disks_are_known_by_their_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda / ext4 rw 0 0\n"
        "server:/home /home nfs4 rw 0 0\n"
        "tmpfs /home/u/fast tmpfs rw 0 0\n"
        "u@h:/ /mnt/with\\040space fuse.sshfs rw 0 0\n"
    )
    monkeypatch.setattr(resources, "_MOUNTS", mounts)
    shared = resources.is_shared_filesystem
    assert shared("/home/u/.cache")
    assert shared("/home")
    assert not shared("/home/u/fast/x")
    assert not shared("/homes/u")
    assert shared("/mnt/with space/x")


def test_the_least_recent_is_let_go() -> None:
    kept: LruCache[int] = LruCache(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
