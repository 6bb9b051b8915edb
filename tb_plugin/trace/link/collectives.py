"""Collective calls of this rank: one row per call, even where a recorder wrote several events.

c10d::allreduce_ ███████████████████
record_param_comms ████████████████      one call: its outermost marked event
  nccl:all_reduce    ███████████         gives the name where the args do not
    cudaLaunchKernel   ███ → kernel      device rows

What lies below another op belongs to that op: some back ends keep the range of a collective open
around all that runs meanwhile.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I8, I32, cells, is_any, take, where
from ..build.host import Host
from ..model import CollectiveTable, DeviceClass, HostKind
from ..raw import Texts

PARAMETERS = "record_param_comms"
_BACKEND = re.compile(r"(?:nccl|gloo|xccl|hccl|ucc|mpi|rccl|eccl):(\S+)")
# Bookkeeping that is written like a collective.
_NOT_CALLS = frozenset({"wait", "init", "end"})


def find_collectives(texts: Texts, host: Host, launch: I32, op: I32, klass: I8) -> CollectiveTable:
    """Calls in the order of time, with the device activity that each launched."""
    named_so = texts.table(host.names, _is_mark, np.bool_)
    if not named_so.any():
        return _none()
    marked = take(named_so, host.name)
    marked &= is_any(host.kind, (HostKind.OP, HostKind.ANNOTATION))
    rows = where(marked)
    if not len(rows):
        return _none()
    top = np.searchsorted(rows, _outermost(host, marked, rows))
    name = _first_of_call(_names(texts, host, rows), top)
    group = _first_of_call(cells(host.args.get("group_name"), rows, -1).astype(np.int32), top)
    calls = np.flatnonzero(top == np.arange(len(rows)))
    # Without args and without an annotation it is the wait for a call, unless nothing has either.
    waits = texts.code("wait" if (name >= 0).any() else PARAMETERS)
    said = np.where(name[calls] >= 0, name[calls], waits)
    calls = calls[~texts.table(said, lambda text: text in _NOT_CALLS, np.bool_)[said]]
    calls = calls[np.argsort(host.ts[rows[calls]], kind="stable")]
    call_rows = rows[calls]
    return CollectiveTable(
        host=call_rows,
        name=np.where(name[calls] >= 0, name[calls], host.name[call_rows]),
        group=group[calls],
        device_rows=_device_rows(host, marked, call_rows, launch, op, klass),
    )


def _first_of_call(code: I32, top: NDArray[np.intp]) -> I32:
    """For each marked row the first code (−1 = none) among the rows with its outermost row."""
    result = np.full(len(code), -1, np.int32)
    telling = np.flatnonzero(code >= 0)[::-1]
    result[top[telling]] = code[telling]  # of several the last that is written stays
    return result


def _none() -> CollectiveTable:
    nothing = np.empty(0, np.int32)
    return CollectiveTable(nothing, nothing, nothing, ())


def _is_mark(name: str) -> bool:
    return name == PARAMETERS or _BACKEND.match(name) is not None


def _outermost(host: Host, marked: NDArray[np.bool_], rows: I32) -> I32:
    """For each row the highest marked row among itself and its ancestors, up to any other op."""
    parent: I32 = host.nesting.parent
    top: I32 = rows.copy()
    at, place = parent[rows], np.arange(len(rows))
    while True:
        going = at >= 0
        at, place = at[going], place[going]
        if not len(at):
            return top
        hit = marked[at]
        top[place[hit]] = at[hit]
        going = hit | (host.kind[at] != HostKind.OP)
        at, place = parent[at[going]], place[going]


def _nearest(host: Host, marked: NDArray[np.bool_], rows: I32) -> I32:
    """For each row the lowest marked row among itself and its ancestors; itself where none is."""
    found: I32 = rows.copy()
    at, place = rows, np.arange(len(rows))
    while len(at):
        hit = marked[at]
        found[place[hit]] = at[hit]
        at, place = host.nesting.parent[at[~hit]], place[~hit]
        at, place = at[at >= 0], place[at >= 0]
    return found


def _names(texts: Texts, host: Host, rows: I32) -> I32:
    """Operation by the args, else by the annotation: "nccl:all_reduce" is all_reduce."""
    result = cells(host.args.get("collective"), rows, -1).astype(np.int32)
    silent = np.flatnonzero(result < 0)
    names = host.name[rows[silent]]
    by_name = np.full(len(texts), -1, np.int32)
    used, first = np.unique(names, return_index=True)
    for code in used[np.argsort(first)].tolist():
        if match := _BACKEND.match(texts[code]):
            by_name[code] = texts.code(match[1])
    result[silent] = by_name[names]
    return result


def _device_rows(
    host: Host, marked: NDArray[np.bool_], calls: I32, launch: I32, op: I32, klass: I8
) -> tuple[I32, ...]:
    """Communication on the device below each call."""
    device = np.flatnonzero(klass == DeviceClass.COMMUNICATION).astype(np.int32)
    origin = np.where(launch[device] >= 0, launch[device], op[device])
    device, origin = device[origin >= 0], origin[origin >= 0]
    # A kernel that is known to communicate belongs to the nearest range, whatever op is in between.
    nearest = _nearest(host, marked, origin)
    top = _outermost(host, marked, nearest)
    own = marked[top]
    device, top = device[own], top[own]
    order = np.argsort(top, kind="stable")
    device, top = device[order], top[order]
    low = np.searchsorted(top, calls, side="left")
    high = np.searchsorted(top, calls, side="right")
    return tuple(device[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True))
