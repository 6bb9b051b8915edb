"""The identity of this process: its host, its pid and, in a distributed job, its rank.

A *mark* identifies a process for good: the machine since it was started, the pid, and when the
process began. A pid alone is used again; and the pid 4711 of another machine, or of another
container, is a different process.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """The identity of one process. `rank` and `world_size` are None where the job has none."""

    host: str
    pid: int
    rank: int | None
    world_size: int | None


_forks: list[tuple[float, int]] = []
"""Time (s since 1970) and parent of each fork between the first process and this one."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _forks.append((time.time(), os.getppid())))


def current_process(began_s: float | None = None) -> Process:
    """The identity of this process, read anew for each trace: a fork changes it.

    Of a recording that began before a fork, the one that recorded: a child may save it.
    """
    rank, world_size = _ranks_of_torch() or (_number_in_env("RANK"), _number_in_env("WORLD_SIZE"))
    parents = (parent for at, parent in _forks if began_s is not None and began_s < at)
    pid = next(parents, os.getpid())
    return Process(host=_host(), pid=pid, rank=rank, world_size=world_size)


# A scheduler or launcher gives all processes of one job the same value.
_JOBS = ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID")
_MOST_JOB_CHARS = 200


def current_job() -> str | None:
    """Identity that all processes of a job share, and no other job has; None where unnamed.

    `torchrun` without a rendezvous id calls every job `none`.
    """
    told = {name: os.environ.get(name, "").strip() for name in _JOBS}
    known = [f"{name}={value}" for name, value in told.items() if value not in ("", "none")]
    return " ".join(known)[:_MOST_JOB_CHARS] or None


def _host() -> str:
    try:
        return socket.gethostname()
    except OSError:  # a trace without a host is still a trace
        return ""


def _ranks_of_torch() -> tuple[int, int] | None:
    """(rank, world size) of the default process group, None before `init_process_group`."""
    # Looked up, not imported: without torch.distributed in memory there is no process group.
    distributed = sys.modules.get("torch.distributed")
    if distributed is None:
        return None
    try:
        if distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), int(distributed.get_world_size())
    except (AttributeError, RuntimeError, ValueError):  # half imported, or torn down just now
        pass
    return None


def _number_in_env(name: str) -> int | None:
    """A variable as torchrun sets it; None for anything but a plain number."""
    text = os.environ.get(name, "").strip()
    return int(text) if text.isascii() and text.isdigit() else None


MARK = r"[0-9a-f]{12}-\d{1,10}-\d{1,20}"
"""Pattern of a mark: a fixed alphabet without dots, because file names contain it."""
_NO_MACHINE = "0" * 12


def process_mark() -> str:
    """The mark of this process; without a machine where the system hides it (not Linux)."""
    pid = os.getpid()
    state, begun = _state_of(pid)
    return f"{_machine() if state else _NO_MACHINE}-{pid}-{begun}"


def is_known(mark: str) -> bool:
    """True if the mark is of this machine, so that its process can be looked up."""
    machine = mark.partition("-")[0]
    return machine != _NO_MACHINE and machine == _machine() and bool(_state_of(os.getpid())[0])


def is_gone(mark: str) -> bool:
    """True if the process of a mark is known to have ended.

    False where that cannot be told: of another machine or container, or of none.
    """
    _, pid, begun = mark.split("-")
    if not is_known(mark):
        return False
    state, now = _state_of(int(pid))
    return not state or now != int(begun) or (state == "Z" and not _has_threads(int(pid)))


def _machine() -> str:
    """A digest of the host, its boot, and the container, within which a pid is unique."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        inside = re.sub(r"[^0-9]", "", str(Path("/proc/self/ns/pid").readlink()))
    except (OSError, ValueError):
        return _NO_MACHINE
    told = "\n".join((_host(), boot.strip(), inside))
    return hashlib.sha256(told.encode(errors="replace")).hexdigest()[:12]


def _has_threads(pid: int) -> bool:
    """True if threads outlive the first one of a process, which then waits as a zombie."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def _state_of(pid: int) -> tuple[str, int]:
    """State and start of a process, in ticks since the boot; ("", 0) where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        fields = text.rpartition(")")[2].split()  # the name before may hold anything
        return fields[0], int(fields[19])
    except (OSError, ValueError, IndexError):
        return "", 0
