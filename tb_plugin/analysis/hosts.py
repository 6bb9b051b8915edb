"""Who was busy on the host, as interval sets: built once, asked by several questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.intervals import Intervals, union
from ..trace.model import HostKind, Trace
from .names import Role, roles_of

Mask = NDArray[np.bool_]


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
        rows = np.flatnonzero(mask)
        ts = self.trace.host.ts[rows]
        return union(ts, ts + self.trace.host.dur[rows])

    def with_role(self, role: Role) -> Mask:
        """Events of one role; kinds are not asked."""
        result: Mask = self.role == role
        return result

    def on_threads(self, threads: NDArray[np.integer]) -> Mask:
        """Events of the chosen threads (rows of ThreadTable)."""
        chosen = np.zeros(max(len(self.trace.threads), 1), np.bool_)
        chosen[threads] = True
        result: Mask = chosen[self.trace.host.thread]
        return result


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
    busy = np.bincount(host.thread, np.where(hosts.op, host.self_ns, 0))
    if not busy.any():
        busy = np.bincount(host.thread, host.self_ns)
    return int(busy.argmax())
