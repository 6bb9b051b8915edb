"""Where does a step's time go without device activity, seen from the thread that runs it?"""

from __future__ import annotations

from collections.abc import Iterator

from ..base.intervals import Intervals, intersect
from ..trace.model import HostKind, Trace
from .facts import HostPartition
from .hosts import Hosts
from .names import Role
from .stack import shares
from .windows import Windows


def host_partitions(trace: Trace, hosts: Hosts, windows: Windows) -> list[HostPartition]:
    """One partition per step; all parts sum to the window.

    Each instant counts for the first that holds on the main thread: DataLoader, collectives,
    compilation, optimizer, backward ops, other ops and module calls (forward), backward ops of
    another thread, collectives of another thread that ``backward()`` waits for, the rest of
    ``backward()``, annotations and Python frames, collectives of another thread while this one
    records nothing; what is left is uninstrumented.
    """
    layers = _layers(trace, hosts)
    (
        loader,
        comm,
        compiling,
        optimizer,
        own,
        ahead,
        others,
        reducing,
        called,
        python,
        waiting,
        rest,
    ) = shares(layers, windows.start, windows.end)
    columns = (
        loader,
        ahead,
        own + others + called,
        optimizer,
        comm + reducing + waiting,
        compiling,
        python,
        rest,
    )
    return [HostPartition(*step) for step in zip(*(c.tolist() for c in columns), strict=True)]


def _layers(trace: Trace, hosts: Hosts) -> Iterator[Intervals]:
    here = [hosts.main] if hosts.main >= 0 else []
    backward = hosts.with_role(Role.BACKWARD)
    forward = hosts.op | (trace.host.kind == HostKind.MODULE)
    yield hosts.ranges(hosts.loader, here)
    yield hosts.ranges(hosts.collective, here)
    yield hosts.ranges(hosts.with_role(Role.COMPILE), here)
    yield hosts.ranges(hosts.with_role(Role.OPTIMIZER), here)
    yield hosts.ranges(backward & ~hosts.frame, here)
    yield hosts.ranges(forward, here)
    yield hosts.ranges(backward & hosts.op)
    # The frame that called backward lasts until all gradients are there, reduced ones too.
    calling = hosts.ranges(backward & hosts.frame, here)
    elsewhere = hosts.ranges(hosts.collective)
    yield intersect(calling, elsewhere)
    yield calling
    yield hosts.ranges(hosts.executing | hosts.runtime, here)
    yield elsewhere
