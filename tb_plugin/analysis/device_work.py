"""What was a device doing? Its rows, when each class of them ran, and which calls launched them.

``DeviceWork`` is made once for each device and handed to what is computed of it, so that nothing
is computed twice. Columns have shape (rows of the device,) and are in order by stream and time.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from ..base.arrays import I8, I32, I64, Mask, equal, matches, take, where
from ..base.intervals import Intervals, length_within, merge, union_where
from ..base.regex import regex
from ..trace.model import DeviceClass, HostKind, Link, Trace

CARRIED_NS = 100_000  # a launch on an empty stream starts sooner
CARRIED_FILL = 10  # recorded work fills less than one part in so many of the wait …
CARRIED_SHARE = 2  # … and the wait is at least one part in so many of the recording until then
AWAITED_NS = 1_000_000  # a call that waits for its own work alone returns sooner
_AWAITS = regex(r"^(cuda|cu|hip|musa)\w*Synchronize")
_LAUNCHES = regex(r"Launch|Memcpy|Memset")


def used_devices(trace: Trace) -> tuple[DeviceWork, ...]:
    """The devices with any activity."""
    return tuple(DeviceWork(trace, row) for row, one in enumerate(trace.devices) if one.used)


class DeviceWork(Struct, frozen=True, dict=True):
    """The activity of one device (row of ``Trace.devices``)."""

    trace: Trace
    device: int

    @cached_property
    def slice(self) -> slice:
        """Its rows in the device table."""
        return self.trace.device.rows_of(self.device)

    @cached_property
    def ts(self) -> I64:
        return self.trace.device.ts[self.slice]

    @cached_property
    def dur(self) -> I64:
        return self.trace.device.dur[self.slice]

    @cached_property
    def klass(self) -> I8:
        return self.trace.device.klass[self.slice]

    @cached_property
    def by_time(self) -> I64:
        """The rows in order of their start, counted from the first of them."""
        return np.argsort(self.ts, kind="stable")

    def rows(self, *classes: DeviceClass) -> I64:
        """The rows of some classes, in the device table."""
        chosen = self.klass == classes[0]
        for klass in classes[1:]:
            chosen |= self.klass == klass
        found: I64 = where(chosen).astype(np.int64)
        found += self.slice.start
        return found

    # --- when it worked ---------------------------------------------------------------------------

    @cached_property
    def compute(self) -> Intervals:
        return self._when(DeviceClass.COMPUTE)

    @cached_property
    def communication(self) -> Intervals:
        return self._when(DeviceClass.COMMUNICATION)

    @cached_property
    def copies(self) -> Intervals:
        return self._when(DeviceClass.COPY)

    @cached_property
    def memsets(self) -> Intervals:
        return self._when(DeviceClass.MEMSET)

    @cached_property
    def kernels(self) -> Intervals:
        """Kernels, those of collectives too."""
        return merge(self.compute, self.communication)

    @cached_property
    def busy(self) -> Intervals:
        """Anything."""
        return merge(self.kernels, self.copies, self.memsets)

    def _when(self, klass: DeviceClass) -> Intervals:
        return union_where(equal(self.klass, klass), self.ts, self.dur)

    @property
    def first_work_ns(self) -> int | None:
        """Start of the first work; None where it was launched before the recording."""
        first = int(self.by_time[0])
        is_older = self.trace.device.link[self.slice.start + first] == Link.PROLOGUE
        return None if is_older else int(self.ts[first])

    @cached_property
    def head_ns(self) -> int:
        """When work that was launched before the recording had ended; 0: nothing shows any.

            recording  ├────────────────────────────
            launch      l├┤r
            device       (unknown)         ▒▒▒▒▒▒▒▒▒
                           └──── wait ────┘

        The first launched work of a stream starts long after its launch returned, and the device
        records next to nothing meanwhile: the stream was full from before. A stream that is first
        used later in a recording had time to get empty, so its wait has another cause.

        A call that waits for its work starts that wait itself, unless it may be what starts the
        process. So does a synchronization before anything was launched.
        """
        rows = where(self.is_launched)
        if not len(rows):
            return 0
        awaited = self._awaited_ns
        rows = rows[np.diff(take(self.trace.device.stream[self.slice], rows), prepend=-1) != 0]
        start, returned = take(self.ts, rows), take(self.returned, rows)
        steps = self.trace.steps
        # Steps that ran before have used the device, so that a call that waits is no first one.
        blocks = (returned > start) & (steps.source == "profiler_step" and steps.number[0] > 0)
        returned[blocks] = take(self.begun, rows)[blocks]
        wait = start - returned
        late = (wait > np.where(blocks, AWAITED_NS, CARRIED_NS)) & (CARRIED_SHARE * wait >= start)
        if not late.any():
            return awaited
        late &= CARRIED_FILL * length_within(self.busy, returned, start) < wait
        return int(start[late].max(initial=awaited))

    @property
    def _awaited_ns(self) -> int:
        """End of the last synchronization that waited for work from before the recording, or 0.

        Another call came before it, so it did not start the runtime, and none before it launched.
        """
        trace, host = self.trace, self.trace.host
        if sum(one.used for one in trace.devices) > 1:
            return 0  # which of them it waits for is not recorded
        calls = where(equal(host.kind, HostKind.RUNTIME) & (host.ts < int(self.ts.min())))
        ts, dur, name = (take(column, calls) for column in (host.ts, host.dur, host.name))
        long = (dur > AWAITED_NS) & (CARRIED_SHARE * dur >= ts + dur)
        if not long.any():
            return 0
        long &= (ts > ts.min()) & (ts + dur <= int(self.ts.min()))
        long &= matches(trace.strings, name, _AWAITS)
        launches = ts[matches(trace.strings, name, _LAUNCHES)]
        long &= ts < launches.min(initial=np.iinfo(np.int64).max)
        return int((ts + dur)[long].max(initial=0))

    # --- what launched it -------------------------------------------------------------------------

    @cached_property
    def launch(self) -> I32:
        """Row of the host table, −1."""
        return self.trace.device.launch[self.slice]

    @cached_property
    def is_launched(self) -> Mask:
        result: Mask = self.launch >= 0
        return result

    @cached_property
    def begun(self) -> I64:
        """When the call began that launched each row; 0 where there is none."""
        return self._of_call(self.trace.host.ts)

    @cached_property
    def returned(self) -> I64:
        """When it ended."""
        return self.begun + self._of_call(self.trace.host.dur)

    def _of_call(self, column: I64) -> I64:
        if not len(column):
            return np.zeros(len(self.launch), np.int64)
        found = take(column, np.maximum(self.launch, 0))
        found[~self.is_launched] = 0
        return found
