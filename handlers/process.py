"""Which process is this: its host, its pid and, in a distributed job, its rank."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """The identity of one process. `rank` and `world_size` are None where the job does not tell."""

    host: str
    pid: int
    rank: int | None
    world_size: int | None


def current_process() -> Process:
    """Who are we now? To be asked anew for each trace: a fork changes the answer."""
    rank, world_size = _ranks_of_torch() or (_number_in_env("RANK"), _number_in_env("WORLD_SIZE"))
    return Process(host=_host(), pid=os.getpid(), rank=rank, world_size=world_size)


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
    """A variable as torchrun sets it. Anything but a plain number is somebody else's variable."""
    text = os.environ.get(name, "").strip()
    return int(text) if text.isascii() and text.isdigit() else None
