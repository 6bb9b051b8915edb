"""Which modules do FSDP's ranges name, and when did the forward pass of each run?

``fully_shard`` of torch opens ranges around what it does for a module, and names the module by its
place in the model: ``FSDP::pre_forward (layers.0)``, ``FSDP::all_gather (layers.0)``,
``FSDP::backward_prefetch for layers.0``; the root of the model has no name. There is no range
around the module itself: its call lasts from the start of ``pre_forward`` to the end of
``post_forward`` on the same thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, I64, B, is_any, of_names
from ...base.regex import regex
from ...trace.model import HostKind, Trace
from .model import NONE

_RANGE = regex(
    r"^FSDP::(?P<what>\w+)(?: for (?P<target>.+?)| \((?P<name>.*?)\))?(?P<group> \[pg=\d+\])?$",
    re.DOTALL,
)
_BACKWARD = regex(r"^(?:root_)?(?:pre|post)_backward|^backward_prefetch")


@lru_cache(maxsize=65536)
def sharded_name(name: str) -> tuple[str, str] | None:
    """(what, dotted name of the module) of one of FSDP's ranges; None for other names.

    >>> sharded_name("FSDP::pre_forward (layers.0)")
    ('pre_forward', 'layers.0')
    >>> sharded_name("FSDP::backward_prefetch for layers.0")
    ('backward_prefetch', 'layers.0')
    >>> sharded_name("FSDP::root_pre_forward")
    ('root_pre_forward', '')
    """
    match = _RANGE.match(name) if name.startswith("FSDP::") else None
    if match is None:
        return None
    named = match["target"] or match["name"] or ""
    return match["what"], "" if named == "None" else named


def sharded_rows(trace: Trace) -> NDArray[np.intp]:
    """The host rows of FSDP's ranges, if they name a module other than the root; else none."""
    host = trace.host
    # 1 = of the root, 2 = of a module with a name.
    found = of_names(trace.strings, host.name, _named, np.int8)
    if not found.any():
        return np.empty(0, np.intp)
    found = np.where(is_any(host.kind, (HostKind.ANNOTATION, HostKind.OP)), found, 0)
    return np.flatnonzero(found) if (found == 2).any() else np.empty(0, np.intp)


def _named(name: str) -> int:
    found = sharded_name(name)
    return 0 if found is None else 1 + (found[1] != "")


def is_backward(name: str) -> bool:
    """True if a range of FSDP is part of the backward pass."""
    found = sharded_name(name)
    return found is not None and _BACKWARD.match(found[0]) is not None


class ShardedCalls(Struct, frozen=True, eq=False):
    """One entry per call, in the order of the host table; outer ones first.

    ``above`` is the call around it, −1; ``call_of`` the innermost call around each host row.
    """

    host: I32  # the row of ``pre_forward``
    end: I64
    above: I32
    call_of: I32


def sharded_calls(trace: Trace, rows: NDArray[np.intp]) -> ShardedCalls:
    """The calls that the ranges of some rows bound; without an end there is no call."""
    host = trace.host
    ordered = rows[np.lexsort((host.ts[rows], host.thread[rows]))]
    found = np.array(sorted(_pairs(trace, ordered)), np.int64).reshape(-1, 2)
    start, end = found[:, 0].astype(np.int32), found[:, 1]
    # By thread and start, so that what is around a call comes before it.
    order = np.lexsort((-end, host.ts[start], host.thread[start]))
    above = np.full(len(order), NONE, np.int32)
    open_: list[int] = []
    for one in order.tolist():
        thread, ts = host.thread[start[one]], host.ts[start[one]]
        while open_ and (host.thread[start[open_[-1]]] != thread or end[open_[-1]] <= ts):
            open_.pop()
        above[one] = open_[-1] if open_ else NONE
        open_.append(one)
    return ShardedCalls(start, end, above, _call_of(trace, start, end, above, order))


def _pairs(trace: Trace, ordered: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """(row of ``pre_forward``, end of ``post_forward``), of rows by thread and time."""
    host, thread = trace.host, NONE
    open_: list[tuple[str, int]] = []
    before: tuple[str, str] | None = None
    for row in ordered.tolist():
        if host.thread[row] != thread:
            open_, before, thread = [], None, host.thread[row]
        what, name = sharded_name(trace.strings[int(host.name[row])]) or ("", "")
        if what == "pre_forward":
            # A module with several groups of parameters has a range for each.
            if before != (what, name):
                open_.append((name, row))
        elif what == "post_forward":
            while open_ and name in (one for one, _ in open_):
                opened, start = open_.pop()
                if opened == name:
                    yield start, int(host.ts[row] + host.dur[row])
                    break
        else:
            continue
        before = what, name


def _call_of(trace: Trace, start: I32, end: I64, above: I32, order: NDArray[np.intp]) -> I32:
    host = trace.host
    result = np.full(len(host), NONE, np.int32)
    for thread in np.unique(host.thread[start]).tolist():
        calls = order[host.thread[start[order]] == thread]
        rows = np.flatnonzero(host.thread == thread)
        at = np.searchsorted(host.ts[start[calls]], host.ts[rows], side="right") - 1
        call = np.append(calls, NONE)[at]  # −1 takes the last
        while (late := (call >= 0) & (np.append(end, 0)[call] <= host.ts[rows])).any():
            call = np.where(late, np.append(above, NONE)[call], call)
        result[rows] = call
    return result


def outermost_of_calls(call_of: I32, parent: I32) -> B:
    """True for the rows in a call that no other row in the same call contains."""
    return np.asarray((call_of >= 0) & (np.append(call_of, NONE)[parent] != call_of))
