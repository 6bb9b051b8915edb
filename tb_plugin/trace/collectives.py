"""Collective calls of this rank: one row per call, however many events a recorder wrote about it.

c10d::allreduce_ ███████████████████
record_param_comms ████████████████      one call: its outermost marked event
  nccl:all_reduce    ███████████         gives the name where the args do not
    cudaLaunchKernel   ███ → kernel      device rows
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from .columns import cells
from .host import Host
from .model import CollectiveTable, DeviceClass, HostKind
from .texts import Texts

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]

PARAMETERS = "record_param_comms"
_BACKEND = re.compile(r"(?:nccl|gloo|xccl|hccl|ucc|mpi|rccl|eccl):(\S+)")
# Bookkeeping that is written like a collective.
_NOT_CALLS = frozenset({"wait", "init", "end"})


def find_collectives(texts: Texts, host: Host, launch: I32, op: I32, klass: I8) -> CollectiveTable:
    """Calls in the order of time, with the device activity that each launched."""
    marked = texts.table(host.name, _is_mark, np.bool_)[host.name]
    marked &= (host.kind == HostKind.OP) | (host.kind == HostKind.ANNOTATION)
    rows = np.flatnonzero(marked).astype(np.int32)
    if not len(rows):
        none = np.empty(0, np.int32)
        return CollectiveTable(none, none, none, ())
    top = _outermost(host.nesting.parent, marked, rows)
    name = _names(texts, host, rows)
    group = cells(host.args.get("group_name"), rows, -1).astype(np.int32)
    calls = np.flatnonzero(top == rows)
    named = {
        int(row): int(code) for row, code in zip(top[::-1], name[::-1], strict=True) if code >= 0
    }
    grouped = {
        int(row): int(code) for row, code in zip(top[::-1], group[::-1], strict=True) if code >= 0
    }
    # Without args and without an annotation it is the wait for a call, unless nothing has either.
    waits = texts.code("wait" if named else PARAMETERS)
    calls = np.array(
        [at for at in calls.tolist() if texts[named.get(int(rows[at]), waits)] not in _NOT_CALLS],
        np.intp,
    )
    call_rows = rows[calls]
    call_rows = call_rows[np.argsort(host.ts[call_rows], kind="stable")]
    return CollectiveTable(
        host=call_rows,
        name=np.array(
            [named.get(row, int(host.name[row])) for row in call_rows.tolist()], np.int32
        ),
        group=np.array([grouped.get(row, -1) for row in call_rows.tolist()], np.int32),
        device_rows=_device_rows(host, marked, call_rows, launch, op, klass),
    )


def _is_mark(name: str) -> bool:
    return name == PARAMETERS or _BACKEND.match(name) is not None


def _outermost(parent: I32, marked: NDArray[np.bool_], rows: I32) -> I32:
    """For each row the highest marked row among itself and its ancestors."""
    top: I32 = rows.copy()
    at, place = parent[rows], np.arange(len(rows))
    while True:
        going = at >= 0
        at, place = at[going], place[going]
        if not len(at):
            return top
        hit = marked[at]
        top[place[hit]] = at[hit]
        at = parent[at]


def _names(texts: Texts, host: Host, rows: I32) -> I32:
    """Operation by the args, else by the annotation: "nccl:all_reduce" is all_reduce."""
    result = cells(host.args.get("collective"), rows, -1).astype(np.int32)
    for at in np.flatnonzero(result < 0).tolist():
        match = _BACKEND.match(texts[int(host.name[rows[at]])])
        if match:
            result[at] = texts.code(match[1])
    return result


def _device_rows(
    host: Host, marked: NDArray[np.bool_], calls: I32, launch: I32, op: I32, klass: I8
) -> tuple[I32, ...]:
    """Communication on the device below each call."""
    device = np.flatnonzero(klass == DeviceClass.COMMUNICATION).astype(np.int32)
    origin = np.where(launch[device] >= 0, launch[device], op[device])
    device, origin = device[origin >= 0], origin[origin >= 0]
    top = _outermost(host.nesting.parent, marked, origin)
    own = marked[top]
    device, top = device[own], top[own]
    order = np.argsort(top, kind="stable")
    device, top = device[order], top[order]
    low = np.searchsorted(top, calls, side="left")
    high = np.searchsorted(top, calls, side="right")
    return tuple(device[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True))
