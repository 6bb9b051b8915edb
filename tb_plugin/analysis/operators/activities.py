"""Kernels, copies and sets, with what launched them and how long they waited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...trace.columns import dense
from ...trace.model import Trace
from ...trace.raw import Sparse
from .calls import Called, spread
from .model import Activities

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
F64 = NDArray[np.float64]

_NONE = -1


def find_activities(trace: Trace, called: Called, matrix_use: I8) -> Activities:
    """One row per device activity, in the order of the device table.

    ``launch_ns`` runs from the start of the call to the start on the device, ``queue_ns`` from the
    end of the call: what a kernel waits for those before it. Where clocks disagree so much that a
    kernel begins before its call ends, the wait is 0.
    """
    device, host = trace.device, trace.host
    count = len(device)
    launched = np.flatnonzero(device.launch >= 0)
    call = device.launch[launched]
    launch_ns = np.full(count, _NONE, np.int64)
    queue_ns = np.full(count, _NONE, np.int64)
    launch_ns[launched] = np.maximum(device.ts[launched] - host.ts[call], 0)
    queue_ns[launched] = np.maximum(device.ts[launched] - host.ts[call] - host.dur[call], 0)
    return Activities(
        name=device.name,
        kind=device.kind,
        klass=device.klass,
        tensor_core=matrix_use,
        device=device.device.astype(np.int32),
        stream=device.stream.astype(np.int32),
        step=device.step.astype(np.int32),
        ts=device.ts,
        dur_ns=device.dur.astype(np.int64),
        call=called.call_of,
        link=device.link,
        reason=called.credit.reason,
        launch_ns=launch_ns,
        queue_ns=queue_ns,
        grid=spread(device.args.get("grid"), count),
        block=spread(device.args.get("block"), count),
        registers=spread(device.args.get("registers"), count),
        shared_bytes=dense(device.args.get("shared_memory"), count, _NONE),
        blocks_per_sm=_reals(device.args, "blocks_per_sm", count),
        occupancy=_reals(device.args, "occupancy", count),
        bytes=dense(device.args.get("bytes"), count, _NONE),
        source=_of_op(trace, "kernel_file"),
    )


def _reals(args: Mapping[str, Sparse], name: str, count: int) -> F64:
    """A real argument as a dense column; NaN where it is not recorded or negative."""
    result = np.full(count, np.nan)
    if (sparse := args.get(name)) is not None:
        values: NDArray[Any] = sparse.value
        result[sparse.row] = np.where(values >= 0, values, np.nan)
    return result


def _of_op(trace: Trace, name: str) -> I32:
    """A text argument of the op around the launch, such as the file a kernel was generated into."""
    result = np.full(len(trace.device), _NONE, np.int32)
    sparse = trace.host.args.get(name)
    if sparse is None:
        return result
    on_host = spread(sparse, len(trace.host))
    owned = trace.device.op >= 0
    result[owned] = on_host[trace.device.op[owned]]
    return result
