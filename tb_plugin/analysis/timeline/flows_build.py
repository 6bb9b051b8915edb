"""Arrows: from launches to device work, from forward to backward ops."""

from __future__ import annotations

import numpy as np

from ...trace.model import Trace
from .model import I32, FlowKind, Flows, Tables


def flows_of(trace: Trace, tables: Tables) -> Flows:
    """All arrows by their source; where no call was recorded the op stands for it."""
    origin = np.where(trace.device.launch >= 0, trace.device.launch, trace.device.op)
    launched = np.flatnonzero(origin >= 0)
    backward = _backward(trace)
    source = np.concatenate([origin[launched], trace.host.forward[backward]]) + tables.host
    target = np.concatenate([launched + tables.device, backward + tables.host])
    kind = np.repeat(
        np.array([FlowKind.LAUNCH, FlowKind.BACKWARD], np.uint8),
        [len(launched), len(backward)],
    )
    order = np.lexsort((target, source))
    source, target = source[order].astype(np.int32), target[order].astype(np.int32)
    by_target = np.lexsort((source, target)).astype(np.int32)
    return Flows(source, target, kind[order], by_target)


def _backward(trace: Trace) -> I32:
    """Backward ops whose forward op is known, by an arrow of the file or by sequence number.

    Of ops inside each other that have one forward op in common, only the outermost counts.
    """
    forward, parent = trace.host.forward, trace.host.parent
    rows = np.flatnonzero(forward >= 0)
    above = parent[rows]
    inner = (above >= 0) & (forward[above] == forward[rows])
    outer: I32 = rows[~inner].astype(np.int32)
    return outer
