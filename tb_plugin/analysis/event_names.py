"""The role of a host event, by its name: rules as data, tried in order, the first match wins.

Names come last in classification: kinds, links and args are asked first where they exist. These
rules are only for facts that nothing but the name shows, such as a DataLoader's range.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import arrays
from ..base.arrays import I8, I32


class HostRole(IntEnum):
    """The part of a step that a host event is, beyond its kind."""

    NONE = 0
    STEP = 1  # marks a step; is no work itself
    DATALOADER = 2
    COMMUNICATION = 3
    COMPILE = 4
    OPTIMIZER = 5
    BACKWARD = 6
    BLOCKING = 7  # a runtime call that waits for the device, or may
    WAITING = 8  # a Python frame that does nothing but wait


RULES: tuple[tuple[HostRole, str], ...] = (
    (HostRole.STEP, r"^ProfilerStep#\d"),
    (HostRole.DATALOADER, r"^enumerate\(Data(Loader|Pipe)\)#"),
    # Collectives by back end, and the ops that call them.
    (HostRole.COMMUNICATION, r"^(nccl|gloo|mpi|ucc|xccl|hccl|rccl|eccl|ccl|oneccl):"),
    (HostRole.COMMUNICATION, r"^(c10d|_?c10d_functional(_autograd)?|symm_mem|torch_ccl)::"),
    (HostRole.COMMUNICATION, r"^record_param_comms$"),
    (HostRole.OPTIMIZER, r"^Optimizer\.(step|zero_grad)\b"),
    # Compilation that happens inside the window, not the calls of what was compiled before.
    (HostRole.COMPILE, r"\(dynamo_timed\)$"),
    (HostRole.COMPILE, r"^(entire_frame_compile|backend_compile|_compile\b|compile_fx)"),
    (HostRole.COMPILE, r"^(cu|hip)ModuleLoad|^(nv|hip)rtcCompile"),
    (HostRole.BACKWARD, r"^autograd::engine::evaluate_function: "),
    (HostRole.BACKWARD, r"Backward\d*$"),
    (HostRole.BACKWARD, r"run_backward\b"),  # the Python frame that holds the caller meanwhile
    # The C function behind `Work.wait`, locks, queues and processes.
    (HostRole.WAITING, r"^<built-in method (wait|acquire|poll|barrier) of (?!Tensor\b)"),
    # CUDA, HIP, MUSA; Ascend calls are written with their library before them.
    (HostRole.BLOCKING, r"^(cuda|cu|hip|musa)\w*Synchronize"),
    (
        HostRole.BLOCKING,
        r"^(cuda|cu|hip|musa)(Memcpy|MemcpyWithStream|Memcpy[DH]to[DH](_v2)?|MemcpyPeer)$",
    ),
    (
        HostRole.BLOCKING,
        r"^(cuda|cu|hip|musa)(Malloc(Host)?|Free(Host)?|Host(Alloc|Malloc|Free))(_\w+)?$",
    ),
    (HostRole.BLOCKING, r"^cuMem(Alloc|Free)(_v2)?$"),
    (HostRole.BLOCKING, r"^(\w+@)?aclrt(Synchronize|Memcpy(2d)?$|Malloc(Host)?$|Free(Host)?$)"),
    # Level Zero and SYCL, MTIA.
    (HostRole.BLOCKING, r"^(ur|pi)(QueueFinish|EventWait)|^ze\w+Synchronize$"),
    (HostRole.BLOCKING, r"^synchronize(Stream|Device|Event)?$"),
)

BACKEND_RANGE = re.compile(r"^(nccl|gloo|mpi|ucc|xccl|hccl|rccl|eccl|ccl|oneccl):")
"""Ranges that last as long as a collective is under way, whatever their thread does meanwhile."""

COPY_CALL = re.compile(r"mem_?cpy|copy", re.IGNORECASE)
"""Runtime calls that copy."""

PAGEABLE = re.compile(r"Pageable")
"""Copies from or to memory that the operating system may move."""

NEED_NOT_WAIT = re.compile(r"Pinned|[DP]to[DP]|Device -> Device")
"""Copies that can be enqueued and left to themselves."""

_COMPILED = tuple((role, re.compile(pattern)) for role, pattern in RULES)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


# Rules about a name's beginning are tried there alone, not at each of its characters.
_BEGINNING = _any_of(pattern for _, pattern in RULES if pattern.startswith("^"))
_ANYWHERE = _any_of(pattern for _, pattern in RULES if not pattern.startswith("^"))


def role_of(name: str) -> HostRole:
    """The role of one name."""
    if _BEGINNING.match(name) is None and _ANYWHERE.search(name) is None:
        return HostRole.NONE
    for role, pattern in _COMPILED:
        if pattern.search(name):
            return role
    return HostRole.NONE


def roles_of(strings: Sequence[str], codes: I32) -> I8:
    """The role of each code's name; shape as ``codes``."""
    return of_names(strings, codes, role_of, np.int8)


def matches(strings: Sequence[str], codes: I32, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Which codes' names match; shape as ``codes``."""
    return of_names(strings, codes, lambda name: pattern.search(name) is not None, np.bool_)


def of_names(
    strings: Sequence[str], codes: I32, ask: Callable[[str], int], dtype: type[np.generic]
) -> NDArray[Any]:
    """``ask(name)`` for each code's name; each distinct name is asked once.

    Names are asked about in the order of their codes. Shape as ``codes``.
    """
    answer = np.zeros(len(strings), dtype)
    for code in distinct(codes, len(strings)):
        answer[code] = ask(strings[code])
    return arrays.take(answer, codes)


def distinct(codes: I32, count: int) -> list[int]:
    """The codes that occur, ascending; linear, because there may be millions of rows."""
    found: list[int] = arrays.distinct(codes, count).tolist()
    return found
