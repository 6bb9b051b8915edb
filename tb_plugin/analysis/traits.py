"""What kind of job is this? The facts that advice asks for apart from times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..trace.model import DeviceClass, Trace
from .facts import RunTraits
from .gauges import are_eligible
from .hosts import Hosts
from .names import PAGEABLE, distinct, matches

_LOADER = re.compile(r"^enumerate\((Data(?:Loader|Pipe))\)#(?:(.+)\.__next__)?")
_BACKEND = re.compile(r"^(nccl|gloo|mpi|ucc|xccl|hccl|rccl|oneccl|ccl):")
_NCCL_KERNEL = re.compile(r"nccl(Dev)?Kernel", re.IGNORECASE)
_KNOWN = ("nccl", "gloo", "mpi", "ucc", "xccl", "hccl")
_MOST_OPS = 8


def traits(trace: Trace, hosts: Hosts) -> RunTraits:
    """Reads the traits of a run from its names, its metadata and its device activity."""
    host = trace.host
    names = {trace.strings[code] for code in distinct(host.name, len(trace.strings))}
    loader = np.flatnonzero(hosts.loader)
    pageable = matches(trace.strings, trace.device.name, PAGEABLE)
    pageable &= trace.device.klass == DeviceClass.COPY
    return RunTraits(
        data_parallel="DataParallel.forward" in names,
        distributed_data_parallel="DistributedDataParallel.forward" in names,
        communication_backends=_backends(trace, names),
        dataloader_class=_loader_class(trace, loader),
        dataloader_longest_ns=int(host.dur[loader].max()) if len(loader) else 0,
        dataloader_shortest_ns=int(host.dur[loader].min()) if len(loader) else 0,
        pageable_copy_count=int(pageable.sum()),
        eligible_ops=_eligible(trace),
    )


def _backends(trace: Trace, names: set[str]) -> tuple[str, ...]:
    """Communication libraries seen at work or named by the recording."""
    found = {match[1] for name in names if (match := _BACKEND.match(name))}
    kernels = distinct(trace.device.name, len(trace.strings))
    if any(_NCCL_KERNEL.search(trace.strings[code]) for code in kernels):
        found.add("nccl")
    declared = _declared(trace.recording.backend, trace.recording.metadata)
    return tuple(sorted(found | {name for name in _KNOWN if name in declared}))


def _declared(backend: str | None, metadata: Mapping[str, Any]) -> str:
    """Everything distributedInfo says of back ends, for example "cpu:gloo,cuda:nccl"."""
    info = metadata.get("distributedInfo")
    groups = info.get("pg_config") if isinstance(info, Mapping) else None
    texts = [backend or ""]
    if isinstance(groups, list):
        texts += [str(g.get("backend_config", "")) for g in groups if isinstance(g, Mapping)]
    return " ".join(texts).lower()


def _loader_class(trace: Trace, rows: np.ndarray) -> str | None:
    """The iterator of the DataLoader that took most time."""
    if not len(rows):
        return None
    codes = trace.host.name[rows]
    time = np.bincount(codes, trace.host.dur[rows])
    match = _LOADER.match(trace.strings[int(time.argmax() if time.any() else codes[0])])
    return (match[2] or match[1]) if match else None


def _eligible(trace: Trace) -> tuple[str, ...]:
    """Names of ops that could use tensor cores, by the time of the kernels they launched."""
    op = trace.device.op
    rows = np.flatnonzero((op >= 0) & (trace.device.klass == DeviceClass.COMPUTE))
    if not len(rows):
        return ()
    rows = rows[are_eligible(trace, op[rows])]
    time = np.bincount(trace.host.name[op[rows]], trace.device.dur[rows])
    order = np.argsort(-time, kind="stable")[:_MOST_OPS]
    return tuple(trace.strings[code] for code in order if time[code] > 0)
