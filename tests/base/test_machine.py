"""What the machine and its container leave to a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import platformdirs
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
        machine._quota.cache_clear()
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(cores), raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: cores)

    return make


IN_A_PROGRAM = """
import sys
from kinetoscope.base import machine
folder = machine.temporary_folder()
with machine.temporary_file() as file:
    file.write(b"said")
    file.seek(0)
    assert file.read() == b"said"
assert "tempfile" not in sys.modules
import tempfile
assert folder == tempfile.gettempdir() == machine.temporary_folder(), folder
with machine.temporary_file() as file:
    file.write(b"said")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is tempfile itself")
@pytest.mark.parametrize("variable", ["TMPDIR", "TEMP", "TMP", ""])
def test_the_temporary_folder_is_that_of_the_standard_library(
    tmp_path: Path, variable: str
) -> None:
    left = {name: text for name, text in os.environ.items() if name not in machine._TEMPORARY}
    environment = {**left, **({variable: str(tmp_path)} if variable else {})}
    subprocess.run([sys.executable, "-c", IN_A_PROGRAM], env=environment, check=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["missing", "file", "./below"])
def test_a_temporary_folder_that_cannot_be_used_is_left_to_the_standard_library(
    tmp_path: Path, given: str
) -> None:
    (tmp_path / "file").write_text("")
    environment = {**os.environ, "TMPDIR": given if "/" in given else str(tmp_path / given)}
    same = "from kinetoscope.base import machine\nwas = machine.temporary_folder()\n"
    same += "import tempfile\nassert was == tempfile.gettempdir(), was"
    subprocess.run([sys.executable, "-c", same], env=environment, check=True, cwd=tmp_path)


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


V1 = "sys/fs/cgroup/cpu,cpuacct/"
V2 = "sys/fs/cgroup/"


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        # Version 2: microseconds of processor time in so many microseconds.
        ({V2 + "cpu.max": "max 100000"}, 64),
        ({V2 + "cpu.max": "400000 100000"}, 4),
        ({V2 + "cpu.max": "20000 10000"}, 2),
        ({V2 + "cpu.max": "50000 100000"}, 1),  # half a core
        ({V2 + "cpu.max": "1000 100000"}, 1),
        ({V2 + "cpu.max": "160000 100000"}, 2),
        ({V2 + "cpu.max": "6400000 50000"}, 64),  # more than there are
        ({V2 + "cpu.max": "100000"}, 64),
        ({V2 + "cpu.max": ""}, 64),
        ({V2 + "cpu.max": "0 0"}, 64),
        # Three groups, one in the other, of which the middle one is the narrowest.
        (
            {
                "proc/self/cgroup": "0::/a/b/c\n",
                V2 + "a/cpu.max": "800000 100000",
                V2 + "a/b/cpu.max": "300000 100000",
                V2 + "a/b/c/cpu.max": "max 100000",
            },
            3,
        ),
        # A group beside that of this process says nothing of it.
        ({"proc/self/cgroup": "0::/a/b\n", V2 + "a/other/cpu.max": "100000 100000"}, 64),
        # Version 1: two files, −1 for no limit.
        ({V1 + "cpu.cfs_quota_us": "-1", V1 + "cpu.cfs_period_us": "100000"}, 64),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/\n",
                V1 + "cpu.cfs_quota_us": "600000",
                V1 + "cpu.cfs_period_us": "100000",
            },
            6,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/job/step\n",
                V1 + "job/cpu.cfs_quota_us": "50000",
                V1 + "job/cpu.cfs_period_us": "100000",
                V1 + "job/step/cpu.cfs_quota_us": "-1",
                V1 + "job/step/cpu.cfs_period_us": "100000",
            },
            1,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/\n",
                V1 + "cpu.cfs_quota_us": "600000",  # and no period
            },
            64,
        ),
        # In a container that has version 1 under the name of one controller.
        (
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "500000",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            5,
        ),
        # Both versions at once: cpu by version 1, all else by version 2.
        (
            {
                "proc/self/cgroup": "1:cpu:/job\n0::/job\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "700000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/unified/job/cgroup.procs": "1",
            },
            7,
        ),
    ],
)
def test_cores_by_the_quota_of_the_groups(
    a_machine: Machine, files: Mapping[str, str], cores: int
) -> None:
    a_machine(files)
    assert machine.core_count() == cores


def test_a_quota_is_looked_for_once_in_a_second(
    a_machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_machine({"sys/fs/cgroup/cpu.max": "200000 100000\n"})
    now = 10.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    assert machine.core_count() == 2
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("300000 100000\n")
    assert machine.core_count() == 2
    now = 11.0
    assert machine.core_count() == 3


def test_a_set_of_cores_and_a_quota_hold_both(a_machine: Machine) -> None:
    """What cpuset and taskset leave is the affinity of the process."""
    a_machine({V2 + "cpu.max": "400000 100000"}, cores=3)
    assert machine.core_count() == 3
    a_machine({V2 + "cpu.max": "200000 100000"}, cores=3)
    assert machine.core_count() == 2


def test_files_that_cannot_be_read_limit_nothing(a_machine: Machine, tmp_path: Path) -> None:
    a_machine({V2 + "memory.stat": "inactive_file many\n\nanon\n", "proc/self/cgroup": "0::/a\n"})
    for name in ("cpu.max", "memory.max", "a/cpu.max"):  # nobody may read it, not even root
        (tmp_path / V2 / name).mkdir(parents=True)
    (tmp_path / V2 / "a/memory.max").write_bytes(b"\xff\xfe 7")
    (tmp_path / "proc/meminfo").write_bytes(b"\xff\nMemAvailable: some kB\nMemAvailable: 1024 kB\n")
    assert (machine.core_count(), machine.free_memory()) == (64, 1 << 20)


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_have_neither_groups_nor_affinity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(machine, "_ROOT", tmp_path)
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "sysconf", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    assert (machine.core_count(), machine.free_memory()) == (10, 8 * GIB)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.core_count() == 1


def test_where_affinity_is_not_told_cores_are_counted(
    a_machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untold(_: int) -> set[int]:
        raise OSError

    a_machine(cores=12)
    monkeypatch.setattr(os, "sched_getaffinity", untold, raising=False)
    assert machine.core_count() == 12


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
        ({"OMP_NUM_THREADS": "40"}, 12),  # a limit, not a wish
        ({"OMP_NUM_THREADS": " 3 "}, 3),
        ({"OMP_NUM_THREADS": "0"}, 12),
        ({"OMP_NUM_THREADS": "-1"}, 12),
        ({"OMP_NUM_THREADS": ""}, 12),
        ({"OMP_NUM_THREADS": "4", "KINETOSCOPE_THREADS": "0"}, 4),
        ({"OMP_NUM_THREADS": "4", "KINETOSCOPE_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "4", "KINETOSCOPE_THREADS": "6"}, 6),
        ({"KINETOSCOPE_THREADS": "20"}, 20),  # more than there are cores, as was asked for
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


@pytest.mark.parametrize("kind", ["cache", "config"])
@pytest.mark.parametrize("said", [None, "", "/x/y", "/x/y/", "x/y"])
@pytest.mark.parametrize("home", ["/home/me", "/home/me/", "", "me", None])
def test_folders_of_a_user_are_where_platformdirs_has_them(
    kind: Literal["cache", "config"],
    said: str | None,
    home: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in ((f"XDG_{kind.upper()}_HOME", said), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    of_others = {"cache": platformdirs.user_cache_dir, "config": platformdirs.user_config_dir}
    assert machine.user_folder(kind) == of_others[kind]("kinetoscope", False)


def test_where_settings_are_kept_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows they are below a folder of the author, and the cache is not."""
    monkeypatch.setattr(sys, "platform", "win32")
    for kind in ("cache", "config"):
        monkeypatch.setattr(platformdirs, f"user_{kind}_dir", lambda *asked: repr(asked))
    assert machine.user_folder("config") == "('kinetoscope',)"
    assert machine.user_folder("cache") == "('kinetoscope', False)"
