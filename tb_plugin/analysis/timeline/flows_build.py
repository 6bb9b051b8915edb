"""Arrows: from launches to device work, from forward to backward ops."""

from __future__ import annotations

import numpy as np

from ...trace.model import Trace
from .model import FlowKind, Flows, Tables


def flows_of(trace: Trace, tables: Tables) -> Flows:
    """All arrows by their source; where no call was recorded the op stands for it."""
    origin = np.where(trace.device.launch >= 0, trace.device.launch, trace.device.op)
    launched = np.flatnonzero(origin >= 0)
    source = np.concatenate([origin[launched], trace.flows.source]) + tables.host
    target = np.concatenate([launched + tables.device, trace.flows.target + tables.host])
    kind = np.repeat(
        np.array([FlowKind.LAUNCH, FlowKind.BACKWARD], np.uint8),
        [len(launched), len(trace.flows)],
    )
    order = np.lexsort((target, source))
    source, target = source[order].astype(np.int32), target[order].astype(np.int32)
    by_target = np.lexsort((source, target)).astype(np.int32)
    return Flows(source, target, kind[order], by_target)
