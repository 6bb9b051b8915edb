"""The thresholds of all rules of advice, in one place, and how a user's file replaces some.

A file is JSON, an object from names below to numbers:

    {"loader_ratio": 0.02, "python_ratio": 0.2}

It is named by the environment variable ``KINETOSCOPE_THRESHOLDS`` or given to a command. Ratios are
shares of the time of the chosen steps unless said. What decides at reading what counts as an event
of a pattern at all stands with its recognizer, in ``patterns/``.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from ..base.errors import QueryError

VARIABLE = "KINETOSCOPE_THRESHOLDS"
MOST_BYTES = 1 << 20


class Thresholds(Struct, frozen=True, forbid_unknown_fields=True):
    """One field per threshold; the comment is its meaning."""

    high_ratio: float = 0.15  # a ceiling from this on is of high severity …
    medium_ratio: float = 0.05  # … of medium severity …
    low_ratio: float = 0.01  # … of low severity, below it only information
    loader_ratio: float = 0.05  # IN1: DataLoader
    blocking_copy_ratio: float = 0.02  # IN4: copies that nothing covers
    made_on_host_count: float = 1.0  # IN5: tensors per step
    communication_ratio: float = 0.10  # CO1: communication
    overlap_ratio: float = 0.70  # CO2: of communication that compute covers; below it fires
    overlap_communication_ratio: float = 0.05  # CO2: … where there is so much communication
    small_message_ratio: float = 0.30  # CO3: of the time of collectives, in small messages
    small_message_count: float = 50.0  # CO3: small messages per step
    contention_ratio: float = 0.03  # CO6: by which kernels take longer under communication
    sync_batch_norm_ratio: float = 0.01  # CO8: collectives of SyncBatchNorm
    utilization_ratio: float = 0.50  # UT1: kernels, of the steps and the gaps between them
    idle_ratio: float = 0.10  # UT1: idle time without the DataLoader's part
    read_back_ratio: float = 0.01  # SY1: time under values read back
    blocking_ratio: float = 0.05  # SY1: idle time under one blocking call
    allocator_ratio: float = 0.01  # SY2: idle time under the allocator's calls of the driver
    printing_ratio: float = 0.01  # SY3: printing
    launch_ratio: float = 0.15  # LA1: idle time while the host dispatches and launches
    tiny_ratio: float = 0.10  # LA2: rows of tiny ops
    tiny_kernel_ratio: float = 0.05  # KE4: kernels below 5 µs
    tiny_count_ratio: float = 0.30  # KE4: … of the number of all kernels
    garbage_ratio: float = 0.01  # LA3: garbage collection
    first_launch_ratio: float = 0.02  # LA4: slow first launches
    profiler_ratio: float = 0.02  # PR1: the profiler's own time
    optimizer_ratio: float = 0.02  # OP1: an optimizer that works parameter by parameter
    foreach_ratio: float = 0.03  # OP2: an optimizer that is not fused
    zeroing_ratio: float = 0.01  # OP3: gradients filled with zeros
    sample_ratio: float = 0.05  # OP4: a module called sample by sample
    float32_ratio: float = 0.05  # DT1: matrix products in float32 without TF32
    unaligned_ratio: float = 0.02  # DT3: what matrix products of odd sizes waste
    conversion_ratio: float = 0.05  # DT4: conversions of type and layout
    roofline_ratio: float = 0.05  # KE1: what matrix products waste beyond their roofline
    memory_bound_ratio: float = 0.10  # KE5: kernels that memory bounds, as measured
    underfilled_ratio: float = 0.05  # KE2: kernels with less than one block per multiprocessor
    attention_ratio: float = 0.02  # KE3: attention in single steps
    memory_ratio: float = 0.90  # ME1: of the card's memory
    fragmentation_ratio: float = 0.25  # ME2: of the reserved memory that nothing uses at the peak
    headroom_ratio: float = 0.50  # ME4: of the card's memory; below it there is room
    compile_ratio: float = 0.01  # CP1: compilation in the steps
    graph_break_ratio: float = 0.05  # CP2: compiled functions outside of their graphs
    not_replayed_ratio: float = 0.03  # CP3: idle time under compiled functions without a graph
    recompute_ratio: float = 0.20  # RE1: of the time of all kernels
    drift_ratio: float = 0.03  # CLK1: by which kernels of one kind get slower
    slow_clock_ratio: float = 0.05  # CLK2: of the time with kernels, at a low clock
    python_ratio: float = 0.10  # PY1: Python in one frame
    lock_ratio: float = 0.05  # PY2: waiting for a lock
    thread_ratio: float = 1.0  # CPU1: threads per core; above it fires


DEFAULTS = Thresholds()


def read_thresholds(path: str) -> Thresholds:
    """The thresholds of a file; those it does not name keep their defaults.

    Raises:
        QueryError: the file cannot be read, is no such object, or has an unknown name or a value
            that is no number above zero; names the file and the place.
    """
    try:
        with Path(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise QueryError(f"{path}: {error.strerror or error}", hint=_HINT) from error
    if len(text) > MOST_BYTES:
        raise QueryError(f"{path}: too large for a file of thresholds", hint=_HINT)
    try:
        found = msgspec.json.decode(text, type=Thresholds)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise QueryError(f"{path}: {error}", hint=_HINT) from error
    for name in Thresholds.__struct_fields__:
        value = getattr(found, name)
        if not 0 < value < 1e18:
            raise QueryError(f"{path}: {name} is {value}, not a number above 0", hint=_HINT)
    return found


_HINT = 'a file of thresholds looks like {"loader_ratio": 0.02}; docs/findings.md lists the names'


def thresholds() -> Thresholds:
    """Those of the file that the environment names, else the defaults.

    Raises:
        QueryError: as ``read_thresholds``.
    """
    path = os.environ.get(VARIABLE, "")
    return read_thresholds(path) if path else DEFAULTS


def thresholds_version() -> str:
    """A text that changes with the file that the environment names; "" without one."""
    path = os.environ.get(VARIABLE, "")
    if not path:
        return ""
    try:
        found = Path(path).stat()
    except OSError:
        return path
    return f"{path} {found.st_mtime_ns} {found.st_size}"
