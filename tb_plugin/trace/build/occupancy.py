"""Occupancy of a kernel: the recorded value, or an estimate from its launch configuration.

Kineto writes 0 for every kernel with more shared memory than a block may have by default (48 KiB),
for these the large matrix products and attention; other recorders write nothing. A 0 is no value.
What replaces it follows from the launch and the limits of the device, by the rules of NVIDIA's
occupancy calculator (``cuda_occupancy.h`` of the CUDA toolkit): blocks stay on a multiprocessor as
long as its blocks, threads, registers and shared memory last. Clusters of blocks and the choice of
the carve-out for shared memory are not in a trace; so the figure is an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64, B, Sparse, dense
from ...base.machine import each, side_by_side
from ...base.regex import regex
from ..raw import Texts

WARP = 32
_REGISTERS_AT_ONCE = 256  # are given to a warp
_RESERVED_BYTES = 1024  # of shared memory, of each block, since compute capability 8.0
# Most blocks on a multiprocessor, by compute capability.
_BLOCKS: Mapping[tuple[int, int], int] = {
    (7, 0): 32,
    (7, 2): 32,
    (7, 5): 16,
    (8, 0): 32,
    (8, 6): 16,
    (8, 7): 16,
    (8, 9): 24,
    (9, 0): 32,
    (10, 0): 32,
    (10, 1): 24,
    (10, 3): 32,
    (11, 0): 24,
}
_BLOCKS_OF_MAJOR: Mapping[int, int] = {5: 32, 6: 32, 12: 24}
_COLUMNS = ("blocks_per_sm", "warps_per_sm", "occupancy")
_LENGTH = regex(r"\d+")
_MOST = 1 << 40  # blocks or threads of a launch; beyond, the text is no launch


class Limits(Struct, frozen=True):
    """The capacity of one multiprocessor of a device, and the number of multiprocessors."""

    multiprocessors: int
    blocks: int
    threads: int
    registers: int
    register_files: int
    shared_bytes: int
    shared_granule: int
    reserved_bytes: int


class Launched(Struct, frozen=True, eq=False):
    """Launches, one entry for each."""

    blocks: I64  # of the grid
    threads: I64  # of a block
    registers: I64  # of a thread
    shared_bytes: I64  # of a block


class Filled(Struct, frozen=True, eq=False):
    """The columns ``_COLUMNS`` without zeros, and the number of kernels that changed."""

    columns: Mapping[str, Sparse]
    computed: int  # have an occupancy that was computed
    unknown: int  # had 0, and what a value follows from is not known

    def put_into(self, args: Mapping[str, Sparse]) -> dict[str, Sparse]:
        """These args with the columns in place of those that were written."""
        kept = {name: args[name] for name in args if name not in self.columns}
        return kept | {name: one for name, one in self.columns.items() if len(one.row)}


def limits_of(
    properties: Mapping[str, Any], capability: tuple[int, int] | None, multiprocessors: int | None
) -> Limits | None:
    """Limits of an NVIDIA device from its properties in the file; None if they are incomplete."""
    if capability is None or properties.get("warpSize", WARP) != WARP:
        return None
    blocks = _BLOCKS.get(capability, _BLOCKS_OF_MAJOR.get(capability[0]))
    keys = ("maxThreadsPerMultiprocessor", "regsPerMultiprocessor", "sharedMemPerMultiprocessor")
    threads, registers, shared = (_positive(properties.get(key)) for key in keys)
    if not (blocks and multiprocessors and threads and registers and shared):
        return None
    late = capability >= (8, 0)
    return Limits(
        multiprocessors=multiprocessors,
        blocks=blocks,
        threads=threads,
        registers=registers,
        register_files=2 if capability == (6, 0) else 4,
        shared_bytes=shared,
        shared_granule=128 if late else 256,
        reserved_bytes=_RESERVED_BYTES if late else 0,
    )


def resident_blocks(limits: Limits, launched: Launched) -> I64:
    """The most blocks that stay on a multiprocessor at once; 0 if not one fits."""
    warps = -(-launched.threads // WARP)
    active = np.minimum(limits.blocks, limits.threads // WARP // np.maximum(warps, 1))
    of_warp = _round_up(WARP * launched.registers, _REGISTERS_AT_ONCE)
    of_file = limits.registers // limits.register_files // np.maximum(of_warp, 1)
    by_registers = limits.register_files * of_file // np.maximum(warps, 1)
    active = np.where(of_warp > 0, np.minimum(active, by_registers), active)
    of_block = _round_up(launched.shared_bytes + limits.reserved_bytes, limits.shared_granule)
    by_shared = limits.shared_bytes // np.maximum(of_block, 1)
    resident: I64 = np.where(of_block > 0, np.minimum(active, by_shared), active)
    return resident


def filling(limits: Limits, launched: Launched) -> tuple[F64, F64, F64]:
    """Blocks per multiprocessor, warps per multiprocessor, est. achieved occupancy in percent.

    The last is NaN where not one block fits: then what the file says cannot be.
    """
    blocks = launched.blocks / limits.multiprocessors
    active = resident_blocks(limits, launched)
    held = np.minimum(blocks, active) * launched.threads / limits.threads
    return blocks, blocks * launched.threads / WARP, np.where(active > 0, 100 * held, np.nan)


def fill_occupancy(
    texts: Texts,
    kernel: B,
    device: I32,
    limits: tuple[Limits | None, ...],
    args: Mapping[str, Sparse],
) -> Filled:
    """Recorded values above 0, computed ones elsewhere, for rows with device activity.

    Args:
        texts: the strings of the trace.
        kernel: which rows are kernels.
        device: row of ``limits`` of each row.
        limits: of each device.
        args: sparse columns of the rows.
    """
    columns = each(lambda name: _positive_cells(args.get(name), len(kernel)), _COLUMNS)
    value: dict[str, F64] = dict(zip(_COLUMNS, columns, strict=True))
    open_ = kernel & np.logical_or.reduce([np.isnan(column) for column in value.values()])
    rows, launched = launches(texts, args, np.flatnonzero(open_))
    computed = 0
    for number, limit in enumerate(limits):
        mine = device[rows] == number
        if limit is None or not mine.any():
            continue
        found = filling(limit, _some(launched, mine))
        at = rows[mine]
        for name, column in zip(_COLUMNS, found, strict=True):
            blank = np.isnan(value[name][at])
            value[name][at[blank]] = column[blank]
            if name == "occupancy":
                computed += int(np.count_nonzero(blank & ~np.isnan(column)))
    written = args.get("occupancy")
    lost = 0
    if written is not None:
        at = written.row[kernel[written.row]]
        lost = int(np.count_nonzero(np.isnan(value["occupancy"][at])))
    return Filled(dict(zip(value, each(_sparse, columns), strict=True)), computed, lost)


def launches(
    texts: Texts, args: Mapping[str, Sparse], rows: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Launched]:
    """The rows whose launch is fully recorded, and those launches."""
    size = int(rows[-1]) + 1 if len(rows) else 0
    blocks, threads, registers, shared = side_by_side(
        *(partial(_product, texts, args.get(name), rows, size) for name in ("grid", "block")),
        *(partial(_cells, args.get(name), rows, size) for name in ("registers", "shared_memory")),
    )
    told = (blocks > 0) & (threads > 0) & (registers >= 0) & (shared >= 0)
    told &= (registers < _MOST) & (shared < _MOST)
    return rows[told], Launched(blocks[told], threads[told], registers[told], shared[told])


def _some(launched: Launched, chosen: B) -> Launched:
    return Launched(
        launched.blocks[chosen],
        launched.threads[chosen],
        launched.registers[chosen],
        launched.shared_bytes[chosen],
    )


def _product(texts: Texts, sparse: Sparse | None, rows: NDArray[np.intp], size: int) -> I64:
    """The product of the lengths in a text such as "[64,1,1]", −1 where there is none."""
    codes = _cells(sparse, rows, size)
    told = codes >= 0
    result = np.full(len(rows), -1, np.int64)
    if told.any():
        result[told] = texts.table(codes[told].astype(np.int32), volume, np.int64)[codes[told]]
    return result


def volume(text: str) -> int:
    """Number of blocks or threads; −1 unless the text has one to three lengths.

    >>> volume("[64,2,1]")
    128
    """
    lengths = [int(found[:13]) for found in _LENGTH.findall(text[:99])]
    if not 1 <= len(lengths) <= 3 or "-" in text or "." in text:
        return -1
    product = 1
    for length in lengths:
        product *= length
    return product if 0 < product < _MOST else -1


def _cells(sparse: Sparse | None, rows: NDArray[np.intp], size: int) -> I64:
    if sparse is None:
        return np.full(len(rows), -1, np.int64)
    kept = sparse.row < size
    return dense(Sparse(sparse.row[kept], sparse.value[kept]), size, -1)[rows]


def _positive_cells(sparse: Sparse | None, size: int) -> F64:
    """A sparse column as a dense one: NaN where it has no positive number."""
    result = np.full(size, np.nan)
    if sparse is not None:
        value = sparse.value.astype(np.float64)
        good = np.isfinite(value) & (value > 0)
        result[sparse.row[good]] = value[good]
    return result


def _sparse(column: F64) -> Sparse:
    row = np.flatnonzero(~np.isnan(column)).astype(np.int32)
    return Sparse(row, column[row])


def _round_up(value: I64, unit: int) -> I64:
    result: I64 = -(-value // unit) * unit
    return result


def _positive(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 < number < _MOST else None
