"""What the machine can spare, and which disks are shared with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.store import machine
from kinetoscope.store.ingest import Limits, memory_needed
from kinetoscope.store.keep import Recent


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    return tmp_path


def test_a_container_has_what_its_limits_leave(cgroup: Path) -> None:
    free = machine.free_memory()
    assert free > 0
    (cgroup / "memory.max").write_text("3000000\n")
    (cgroup / "memory.current").write_text("1000000\n")
    assert machine.free_memory() == min(free, 2_000_000)
    (cgroup / "memory.max").write_text("max\n")
    assert machine.free_memory() > 2_000_000
    (cgroup / "cpu.max").write_text("100000 100000\n")
    assert machine.core_count() == 1
    (cgroup / "cpu.max").write_text("max 100000\n")
    assert machine.core_count() >= 1


@pytest.mark.parametrize(("cores", "processes"), [(1, 1), (2, 2), (3, 2), (8, 4), (128, 8)])
def test_how_many_read_at_once(monkeypatch: pytest.MonkeyPatch, cores: int, processes: int) -> None:
    monkeypatch.setattr(machine, "core_count", lambda: cores)
    assert Limits.of_machine().processes == processes


def test_compressed_files_need_more_memory_than_they_weigh() -> None:
    assert memory_needed("a.json", 1 << 30) < 1 << 30
    assert memory_needed("a.json.gz", 50 << 20) == memory_needed("a.json", 1000 << 20)


def test_the_disk_of_the_temporary_folder_is_our_own(tmp_path: Path) -> None:
    assert machine.is_shared_filesystem(str(tmp_path)) is False


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
    monkeypatch.setattr(machine, "_MOUNTS", mounts)
    shared = machine.is_shared_filesystem
    assert shared("/home/u/.cache")
    assert shared("/home")
    assert not shared("/home/u/fast/x")
    assert not shared("/homes/u")
    assert shared("/mnt/with space/x")


def test_the_least_recent_is_let_go() -> None:
    kept: Recent[int] = Recent(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
