"""Where does a step's time go without device activity, seen from the thread that runs it?"""

from __future__ import annotations

import numpy as np

from ..trace.model import HostKind, Trace
from .facts import HostPartition
from .hosts import Hosts, main_thread
from .names import Role
from .stack import shares
from .windows import Windows


def host_partitions(trace: Trace, hosts: Hosts, windows: Windows) -> list[HostPartition]:
    """One partition per step; all parts sum to the window.

    Each instant counts for the first that holds on the main thread: DataLoader, collectives,
    compilation, optimizer, backward, ops and module calls (forward), then backward ops that another
    thread runs meanwhile, then annotations and Python frames, then collectives of other threads:
    where the main thread records nothing it waits for them. The rest is uninstrumented.
    """
    here = hosts.on_threads(np.array([max(main_thread(hosts), 0)]))
    backward = hosts.with_role(Role.BACKWARD)
    forward = hosts.op | (trace.host.kind == HostKind.MODULE)
    # The frame that called backward tells where it ran on this thread; elsewhere only ops do.
    layers = [
        hosts.ranges(mask)
        for mask in (
            hosts.with_role(Role.DATALOADER) & here,
            hosts.collective & here,
            hosts.with_role(Role.COMPILE) & here,
            hosts.with_role(Role.OPTIMIZER) & here,
            backward & here,
            forward & here,
            backward & hosts.op,
            (hosts.op | hosts.annotation | hosts.frame | hosts.runtime) & here,
            hosts.collective,
        )
    ]
    loader, comm, compiling, optimizer, own, ahead, others, python, waiting, rest = shares(
        layers, windows.start, windows.end
    )
    columns = (loader, ahead, own + others, optimizer, comm + waiting, compiling, python, rest)
    return [HostPartition(*step) for step in zip(*(c.tolist() for c in columns), strict=True)]
