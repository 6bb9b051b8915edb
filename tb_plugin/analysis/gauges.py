"""How well was a device used? Integrals over the steps and over the gaps between them.

Formulas (docs/overview.md):

* utilization = union of kernels / time
* est. SM efficiency = ∫ min(1, Σ blocks per SM of the running kernels) / time
* est. achieved occupancy = Σ occupancy · dur / Σ dur
* tensor-core time = Σ dur of kernels on tensor cores / Σ dur of compute kernels, both of ops
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.intervals import length_within, union
from ..trace.model import DeviceClass, Trace
from .cells import Pieces, cut, level
from .devices import rows_of
from .facts import Gauges
from .names import of_names
from .tensor_cores import ELIGIBLE_OPS, MatrixUse, matrix_use
from .windows import Windows

F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StepGauges:
    """Of one step: of its window, and of the gap before it."""

    window: Gauges
    gap: Gauges


def gauges(trace: Trace, windows: Windows, device: int) -> list[StepGauges]:
    """The gauges of one device (row of ``Trace.devices``) per step."""
    if not len(windows):
        return []
    rows = kernel_rows(trace, device)
    ts, end = trace.device.ts[rows], trace.device.ts[rows] + trace.device.dur[rows]
    edges = windows.edges
    cells = len(edges) - 1
    pieces = cut(ts, end, edges)
    busy = length_within(union(ts, end), edges[:-1], edges[1:])
    columns = [
        busy.tolist(),
        pieces.sum_ns(cells).tolist(),
        _sm(trace, rows, ts, end, edges),
        *_occupancy(trace, rows, pieces, cells),
        *_matrix(trace, rows, pieces, cells),
    ]
    of_cell = [Gauges(*values) for values in zip(*columns, strict=True)]
    blank = Gauges(sm_ns=0.0 if of_cell[0].sm_ns is not None else None)
    return [
        StepGauges(of_cell[2 * i], of_cell[2 * i - 1] if i else blank) for i in range(len(windows))
    ]


def kernel_rows(trace: Trace, device: int) -> I64:
    """Rows of the kernels of a device, those of collectives too."""
    rows = rows_of(trace, device)
    klass = trace.device.klass[rows]
    kernel = (klass == DeviceClass.COMPUTE) | (klass == DeviceClass.COMMUNICATION)
    result: I64 = np.flatnonzero(kernel).astype(np.int64) + rows.start
    return result


def sparse_of(trace: Trace, column: str, rows: I64) -> tuple[NDArray[np.bool_], F64]:
    """The values of a sparse column at ascending rows, and where there is a finite one."""
    have = np.zeros(len(rows), np.bool_)
    value = np.zeros(len(rows), np.float64)
    sparse = trace.device.args.get(column)
    if sparse is None or not len(sparse.row) or not len(rows):
        return have, value
    if np.array_equal(sparse.row, rows):
        have[:] = True
        value[:] = sparse.value
    else:
        at = np.searchsorted(sparse.row, rows)
        at[at == len(sparse.row)] = 0
        have = sparse.row[at] == rows
        value[have] = sparse.value[at[have]].astype(np.float64)
    have &= np.isfinite(value)
    value[~have] = 0.0
    return have, value


def _sm(trace: Trace, rows: I64, ts: I64, end: I64, edges: I64) -> list[float | None]:
    """∫ min(1, Σ blocks per SM) per cell; None where no kernel carries blocks per SM."""
    cells = len(edges) - 1
    have, blocks = sparse_of(trace, "blocks_per_sm", rows)
    have &= blocks >= 0
    if not have.any():
        return [None] * cells
    start, stop, height = level(ts[have], end[have], blocks[have])
    pieces = cut(start, stop, edges)
    return list(pieces.weighted(np.minimum(height, 1.0), cells).tolist())


def _occupancy(
    trace: Trace, rows: I64, pieces: Pieces, cells: int
) -> tuple[list[float | None], list[int]]:
    """Σ occupancy% · dur and Σ dur of the kernels that carry an occupancy."""
    have, occupancy = sparse_of(trace, "occupancy", rows)
    have &= occupancy >= 0
    if not have.any():
        return [None] * cells, [0] * cells
    carrying = pieces.of(have)
    return (
        list(carrying.weighted(np.minimum(occupancy, 100.0), cells).tolist()),
        carrying.sum_ns(cells).tolist(),
    )


def _matrix(trace: Trace, rows: I64, pieces: Pieces, cells: int) -> list[list[int]]:
    """Tensor-core time; time of kernels of ops, of eligible ops; what names do not tell or deny."""
    use = kernel_use(trace, rows)
    op = trace.device.op[rows]
    by_op = (op >= 0) & (use != MatrixUse.NONE)
    eligible = by_op.copy()
    eligible[by_op] = are_eligible(trace, op[by_op])
    chosen = (
        by_op & (use == MatrixUse.YES),
        by_op,
        eligible,
        by_op & (use == MatrixUse.UNKNOWN),
        eligible & (use == MatrixUse.NO),
    )
    return [pieces.sum_of(mask, cells).tolist() for mask in chosen]


def kernel_use(trace: Trace, rows: I64) -> NDArray[np.int8]:
    """MatrixUse of each of the rows, by kernel name; NONE for what moves data."""
    use = of_names(trace.strings, trace.device.name[rows], matrix_use, np.int8)
    use[trace.device.klass[rows] != DeviceClass.COMPUTE] = MatrixUse.NONE
    return use


def are_eligible(trace: Trace, op: I32) -> NDArray[np.bool_]:
    """Which of these host rows are ops that could use tensor or matrix cores."""
    return of_names(trace.strings, trace.host.name[op], ELIGIBLE_OPS.__contains__, np.bool_)
