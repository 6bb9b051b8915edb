"""What the machine can spare, and which disks are shared with others."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kinetoscope.base.lru import LruCache
from kinetoscope.base.native import Native
from kinetoscope.store.cache import memory
from kinetoscope.store.ingest import resources
from kinetoscope.store.ingest.pool import PoolLimits

GIB = 1 << 30
Machine = Callable[..., None]


@pytest.fixture
def a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with 64 cores and 16 GiB of free memory, and files of its kernel beside that."""

    def make(files: Mapping[str, str] = {}, cores: int = 64) -> None:
        everything = {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {16 << 20} kB\n", **files}
        for name, text in everything.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        monkeypatch.setattr(resources, "_ROOT", tmp_path)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: cores)

    return make


def test_without_groups_the_machine_itself_counts(a_machine: Machine) -> None:
    a_machine(cores=12)
    assert (resources.core_count(), resources.free_memory()) == (12, 16 * GIB)


def test_pages_of_files_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.mapped_bytes() > 0 or not Path("/proc/self/statm").exists()
    told = tmp_path / "statm"
    monkeypatch.setattr(memory, "_STATM", told)
    for text, pages in (("900 500 300 1 0 80 0\n", 300), ("what?\n", 0)):
        told.write_text(text)
        assert memory.mapped_bytes() == pages * os.sysconf("SC_PAGE_SIZE")


def test_a_container_has_what_its_limits_leave(a_machine: Machine) -> None:
    group = "sys/fs/cgroup/"
    a_machine(
        {
            group + "memory.max": f"{4 * GIB}\n",
            group + "memory.current": f"{3 * GIB}\n",
            group + "cpu.max": "250000 100000\n",
        }
    )
    assert (resources.core_count(), resources.free_memory()) == (2, GIB)
    a_machine({group + "memory.max": "max\n", group + "cpu.max": "max 100000\n"})
    assert (resources.core_count(), resources.free_memory()) == (64, 16 * GIB)


def test_files_in_memory_are_free_memory(a_machine: Machine) -> None:
    """A group that has read a large trace is full of it, and could let it go."""
    group = "sys/fs/cgroup/"
    a_machine(
        {
            group + "memory.max": f"{4 * GIB}\n",
            group + "memory.current": f"{4 * GIB - 4096}\n",
            group + "memory.stat": f"anon {GIB}\ninactive_file {2 * GIB}\nactive_file 7\n",
        }
    )
    assert resources.free_memory() == 2 * GIB + 4096


def test_the_least_limit_of_all_groups_above_holds(a_machine: Machine) -> None:
    group = "sys/fs/cgroup/"
    a_machine(
        {
            "proc/self/cgroup": "0::/user.slice/job.scope\n",
            group + "user.slice/memory.high": f"{2 * GIB}\n",
            group + "user.slice/memory.current": f"{GIB}\n",
            group + "user.slice/cpu.max": "300000 100000\n",
            group + "user.slice/job.scope/memory.max": f"{8 * GIB}\n",
            group + "user.slice/job.scope/memory.current": "4096\n",
            group + "user.slice/job.scope/cpu.max": "800000 100000\n",
        }
    )
    assert (resources.core_count(), resources.free_memory()) == (3, GIB)


def test_groups_of_version_1(a_machine: Machine) -> None:
    memory, cpu = "sys/fs/cgroup/memory/docker/ab/", "sys/fs/cgroup/cpu,cpuacct/docker/ab/"
    a_machine(
        {
            "proc/self/cgroup": "7:memory:/docker/ab\n3:cpu,cpuacct:/docker/ab\n2:pids:/x\n",
            memory + "memory.limit_in_bytes": f"{3 * GIB}\n",
            memory + "memory.usage_in_bytes": f"{2 * GIB}\n",
            memory + "memory.stat": f"inactive_file 9\ntotal_inactive_file {GIB}\n",
            cpu + "cpu.cfs_quota_us": "150000\n",
            cpu + "cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{5 * GIB}\n",
        }
    )
    assert (resources.core_count(), resources.free_memory()) == (2, 2 * GIB)


@pytest.mark.parametrize(
    "group", ["0::/../../elsewhere", "not a line", "0::", "5:memory:", "\N{DEGREE SIGN}::/x/"]
)
def test_strange_groups_limit_nothing(a_machine: Machine, group: str) -> None:
    a_machine({"proc/self/cgroup": group + "\n"})
    assert (resources.core_count(), resources.free_memory()) == (64, 16 * GIB)


def test_a_system_that_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_ROOT", tmp_path)
    assert resources.free_memory() >= GIB
    assert resources.core_count() >= 1


@pytest.mark.parametrize(("cores", "processes"), [(1, 1), (2, 2), (3, 2), (8, 4), (128, 8)])
def test_how_many_read_at_once(monkeypatch: pytest.MonkeyPatch, cores: int, processes: int) -> None:
    monkeypatch.setattr(resources, "core_count", lambda: cores)
    assert PoolLimits.of_machine().processes == processes


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
