"""How much of each kind did the file hold? Rows per table, and kernel time by class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..trace.categories import is_graph_node
from ..trace.model import DeviceClass, DeviceKind, HostKind, Trace
from .kernel_families import family_of
from .names import distinct, of_names

_HOST = {
    HostKind.OP: "op",
    HostKind.ANNOTATION: "annotation",
    HostKind.PYTHON: "python",
    HostKind.MODULE: "module",
    HostKind.RUNTIME: "runtime",
    HostKind.OVERHEAD: "overhead",
    HostKind.OTHER: "other_host",
}
_DEVICE = {
    DeviceKind.KERNEL: "kernel",
    DeviceKind.MEMCPY: "memcpy",
    DeviceKind.MEMSET: "memset",
    DeviceKind.OTHER: "other_device",
}


def counts(trace: Trace) -> dict[str, int]:
    """Rows of each table, by kind; each row counts once."""
    return {
        **{name: _how_many(trace.host.kind, kind) for kind, name in _HOST.items()},
        **{name: _how_many(trace.device.kind, kind) for kind, name in _DEVICE.items()},
        "device_annotation": len(trace.device_annotations),
        "sync": len(trace.syncs) - (nodes := graph_nodes(trace)),
        "graph_node": nodes,
        "range": len(trace.ranges),
        "memory": len(trace.memory),
        "counter": len(trace.counters),
        "flow": 2 * len(trace.flows),
    }


def graph_nodes(trace: Trace) -> int:
    """How many waits are nodes of a graph, and no records of synchronization."""
    category = trace.syncs.category
    return int(np.count_nonzero(of_names(trace.strings, category, is_graph_node, np.bool_)))


def _how_many(kinds: NDArray[np.int8], kind: int) -> int:
    return int(np.count_nonzero(kinds == kind))


def classified(trace: Trace) -> dict[str, int]:
    """Ns of device activity by class, kernels by family; "unclassified" is always there."""
    device = trace.device
    result = {"communication": 0, "copy": 0, "memset": 0}
    for klass, name in (
        (DeviceClass.COMMUNICATION, "communication"),
        (DeviceClass.COPY, "copy"),
        (DeviceClass.MEMSET, "memset"),
    ):
        result[name] = int(device.dur[device.klass == klass].sum())
    rows = np.flatnonzero(device.klass == DeviceClass.COMPUTE)
    codes = device.name[rows]
    families: dict[str, int] = {}
    time = np.bincount(codes, device.dur[rows], minlength=len(trace.strings))
    for code in distinct(codes, len(trace.strings)):
        family = family_of(trace.strings[code])
        families[family] = families.get(family, 0) + int(time[code])
    return {**families, **result, "unclassified": families.get("unclassified", 0)}
