"""What the machine and its container leave to a process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kinetoscope.base import machine

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
        monkeypatch.setattr(machine, "_ROOT", tmp_path)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: cores)

    return make


def test_without_groups_the_machine_itself_counts(a_machine: Machine) -> None:
    a_machine(cores=12)
    assert (machine.core_count(), machine.free_memory()) == (12, 16 * GIB)


def test_a_container_has_what_its_limits_leave(a_machine: Machine) -> None:
    group = "sys/fs/cgroup/"
    a_machine(
        {
            group + "memory.max": f"{4 * GIB}\n",
            group + "memory.current": f"{3 * GIB}\n",
            group + "cpu.max": "250000 100000\n",
        }
    )
    assert (machine.core_count(), machine.free_memory()) == (2, GIB)
    a_machine({group + "memory.max": "max\n", group + "cpu.max": "max 100000\n"})
    assert (machine.core_count(), machine.free_memory()) == (64, 16 * GIB)


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
    assert machine.free_memory() == 2 * GIB + 4096


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
    assert (machine.core_count(), machine.free_memory()) == (3, GIB)


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
    assert (machine.core_count(), machine.free_memory()) == (2, 2 * GIB)


@pytest.mark.parametrize(
    "group", ["0::/../../elsewhere", "not a line", "0::", "5:memory:", "\N{DEGREE SIGN}::/x/"]
)
def test_strange_groups_limit_nothing(a_machine: Machine, group: str) -> None:
    a_machine({"proc/self/cgroup": group + "\n"})
    assert (machine.core_count(), machine.free_memory()) == (64, 16 * GIB)


def test_a_system_that_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    assert machine.free_memory() >= GIB
    assert machine.core_count() >= 1


@pytest.mark.parametrize(
    ("said", "threads"),
    [
        ({}, 12),
        ({"OMP_NUM_THREADS": "4"}, 4),
        ({"OMP_NUM_THREADS": "4,2"}, 4),  # of nested levels
        ({"OMP_NUM_THREADS": "4", "KINETOSCOPE_THREADS": "1"}, 1),
        ({"KINETOSCOPE_THREADS": "0"}, 12),
        ({"KINETOSCOPE_THREADS": "many"}, 12),
        ({"KINETOSCOPE_THREADS": "1000"}, machine.MOST_THREADS),
    ],
)
def test_threads_are_as_many_as_was_said_or_as_there_are_cores(
    a_machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    said: Mapping[str, str],
    threads: int,
) -> None:
    a_machine(cores=12)
    for variable in ("OMP_NUM_THREADS", "KINETOSCOPE_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    for variable, number in said.items():
        monkeypatch.setenv(variable, number)
    assert machine.thread_count() == threads
