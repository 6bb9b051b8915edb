"""To which call does the time of a kernel, a copy or a set belong?

To the innermost op around its launch. Where no op is open, to the launching call itself: it is
certainly its own, while other open ranges may be unrelated. Where no launch is known but the file
names the op, to that op. Otherwise to no call, with the reason.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ...base.arrays import I8, I32, lookup
from ...trace.model import DeviceTable, Link

REASONS = (
    "launched before the recording began",
    "the file links it to no call and to no op",
)
_REASON_OF = {Link.PROLOGUE: 0, Link.UNLINKED: 1}


class Credit(Struct, frozen=True, eq=False):
    """One entry per device activity: ``host`` row or −1, and then the ``reason``, else −1."""

    host: I32
    reason: I8


def credit(device: DeviceTable) -> Credit:
    """The host row each activity is credited to, before calls are merged."""
    host = np.where(device.op >= 0, device.op, device.launch).astype(np.int32)
    reason = np.full(len(device), -1, np.int8)
    lost = np.flatnonzero(host < 0)
    table = lookup(_REASON_OF, max(Link) + 1, _REASON_OF[Link.UNLINKED])
    reason[lost] = table[device.link[lost]]
    return Credit(host, reason)
