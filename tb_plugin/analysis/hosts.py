"""Who was busy on the host, as interval sets: built once, asked by several questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.intervals import Intervals, merge, union
from ..trace.columns import take
from ..trace.model import HostKind, Trace
from .names import Role, roles_of

Mask = NDArray[np.bool_]

_ROWS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Hosts:
    """The host events of a trace with their roles; masks have shape (host rows,)."""

    trace: Trace
    role: NDArray[np.int8]  # Role
    marker: Mask  # ranges that mark steps: no work themselves
    op: Mask
    annotation: Mask
    frame: Mask  # Python frames, those of modules too
    runtime: Mask
    collective: Mask

    def ranges(self, mask: Mask) -> Intervals:
        """When any of the chosen events was open."""
        host = self.trace.host
        parts = []
        # Few bytes at a time: the union of a part is small, and the part stays in the cache.
        for low in range(0, len(mask), _ROWS):
            part = slice(low, low + _ROWS)
            rows = np.flatnonzero(mask[part])
            ts = host.ts[part][rows]
            parts.append(union(ts, ts + host.dur[part][rows]))
        return merge(*parts)

    def with_role(self, role: Role) -> Mask:
        """Events of one role; kinds are not asked."""
        result: Mask = self.role == role
        return result

    def on_threads(self, threads: NDArray[np.integer]) -> Mask:
        """Events of the chosen threads (rows of ThreadTable)."""
        chosen = np.zeros(max(len(self.trace.threads), 1), np.bool_)
        chosen[threads] = True
        return np.asarray(take(chosen, self.trace.host.thread))


def hosts_of(trace: Trace) -> Hosts:
    """Sorts the host events of a trace by kind and role."""
    host = trace.host
    role = roles_of(trace.strings, host.name)
    marker = role == Role.STEP
    marker[trace.steps.host[trace.steps.host >= 0]] = True
    collective = role == Role.COMMUNICATION
    collective[trace.collectives.host[trace.collectives.host >= 0]] = True
    role[collective] = Role.COMMUNICATION
    return Hosts(
        trace=trace,
        role=role,
        marker=marker,
        op=(host.kind == HostKind.OP) & ~marker,
        annotation=(host.kind == HostKind.ANNOTATION) & ~marker,
        frame=(host.kind == HostKind.PYTHON) | (host.kind == HostKind.MODULE),
        runtime=host.kind == HostKind.RUNTIME,
        collective=collective,
    )


def main_thread(hosts: Hosts) -> int:
    """The thread that runs the steps, else the one with most op time; −1 when there is no event."""
    host = hosts.trace.host
    if not len(host):
        return -1
    marked = hosts.trace.steps.host[hosts.trace.steps.host >= 0]
    if len(marked):
        return int(np.bincount(host.thread[marked]).argmax())
    busy = _time_by_thread(hosts, hosts.op)
    if not busy.any():
        busy = _time_by_thread(hosts, np.ones(len(host), np.bool_))
    return int(busy.argmax())


def _time_by_thread(hosts: Hosts, mask: Mask) -> NDArray[np.int64]:
    """The exclusive time of the chosen events per thread, in ns."""
    host = hosts.trace.host
    total = np.zeros(len(hosts.trace.threads), np.int64)
    for low in range(0, len(host), _ROWS):
        part = slice(low, low + _ROWS)
        rows = np.flatnonzero(mask[part])
        time = np.bincount(host.thread[part][rows], host.self_ns[part][rows], len(total))
        total += time.astype(np.int64)
    return total
