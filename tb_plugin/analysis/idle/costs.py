"""What do launches, copies and collectives cost a device, and how far ahead is the host?

Exposed communication is what no kernel hides. Of each exposed piece [x, y) the next compute kernel
k on the device, launched at l, tells whether it was the collective that kept it waiting:

    collective  x██████████████y
    call              l├┤               [x, l) host-limited: k did not exist yet
    k                           ██      [l, y) blocking

The host may itself have waited for the collective before it launched k: what it spent in blocking
calls counts as blocking. Without a k, or a known launch of it, nothing tells.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I64, cells, distinct, distinct_values
from ...base.intervals import Intervals, length_within, overlaps, subtract, union
from ...base.regex import regex
from ...trace.model import DeviceClass, DeviceKind, Link, Trace
from ..facts import Communication, CopySum, LaunchSums, Spot
from ..host_activity import Hosts
from ..steps import Windows

SHORT_KERNEL_NS = 10_000
SLOW_CALL_NS, SLOW_CALL_RATIO = 50_000, 10
SMALL_COPY_BYTES = 64 * 1024
_PERCENTILES = (10, 50, 90)

_NAMED = regex(
    r"Memcpy (?P<kind>[HDPA]to[HDPA])"
    r"(?: \((?P<source>\w+) -> (?P<target>\w+)\))?"
)
_MERE_KIND = regex(r"^(?P<kind>[HDPA]to[HDPA])$")
_WORDS = {"HostToDevice": "HtoD", "DeviceToHost": "DtoH", "DeviceToDevice": "DtoD"}


@lru_cache(maxsize=1024)
def copy_kind(name: str) -> tuple[str, str]:
    """Direction of a copy and the memory on the host's side, by its name; "" = it does not say.

    >>> copy_kind("Memcpy HtoD (Pageable -> Device)")
    ('HtoD', 'pageable')
    """
    if match := _NAMED.search(name) or _MERE_KIND.match(name):
        groups = match.groupdict()
        sides = {(groups.get("source") or "").lower(), (groups.get("target") or "").lower()}
        memory = next((one for one in ("pageable", "pinned") if one in sides), "")
        return match["kind"], memory
    return next((kind for word, kind in _WORDS.items() if word in name), ""), ""


def copies(trace: Trace, windows: Windows, device: int) -> list[tuple[CopySum, ...]]:
    """The copies of a device by step and kind, those that take most time first."""
    rows = trace.device.rows_of(device)
    klass = trace.device.klass[rows]
    chosen = np.flatnonzero(klass == DeviceClass.COPY) + rows.start
    found: list[list[CopySum]] = [[] for _ in range(len(windows))]
    if not len(chosen):
        return [()] * len(windows)
    busy = np.flatnonzero((klass == DeviceClass.COMPUTE) | (klass == DeviceClass.COMMUNICATION))
    ts, dur = trace.device.ts[rows], trace.device.dur[rows]
    covered = union(ts[busy], ts[busy] + dur[busy])
    window = _window_of(windows, trace.device.ts[chosen])
    size = cells(trace.device.args.get("bytes"), chosen, 0)
    kinds = _kinds(trace, chosen)
    for kind in sorted(set(kinds)):
        mine = np.array([one == kind for one in kinds])
        alone = exposed_alone(trace, chosen[mine], covered, windows)
        for step in distinct_values(window[mine & (window >= 0)]).tolist():
            some = mine & (window == step)
            spent = trace.device.dur[chosen[some]]
            longest = int(chosen[some][spent.argmax()])
            found[step].append(
                CopySum(
                    kind=kind[0],
                    memory=kind[1],
                    count=int(some.sum()),
                    bytes=int(size[some].sum()),
                    ns=int(spent.sum()),
                    exposed_ns=int(alone[step]),
                    small_count=int(((size[some] < SMALL_COPY_BYTES) & (size[some] > 0)).sum()),
                    ts=int(trace.device.ts[longest]),
                    dur_ns=int(trace.device.dur[longest]),
                    name=trace.strings[trace.device.name[longest]],
                    spot=Spot(len(trace.host) + longest, int(trace.device.raw[longest])),
                )
            )
    return [tuple(sorted(sums, key=lambda one: -one.ns)) for sums in found]


def _kinds(trace: Trace, rows: I64) -> list[tuple[str, str]]:
    """Direction and memory of each copy: by its name, else by its arguments."""
    strings = trace.strings
    kinds = [copy_kind(strings[code]) for code in trace.device.name[rows].tolist()]
    args = trace.device.args
    if "copy_kind" not in args:
        return kinds
    direction, source, target = (
        cells(args.get(name), rows, -1).tolist()
        for name in ("copy_kind", "source_memory", "target_memory")
    )
    for at, (way, *sides) in enumerate(zip(direction, source, target, strict=True)):
        if way >= 0 and not kinds[at][0]:
            said = [strings[side].lower() for side in sides if side >= 0]
            memory = next((one for one in ("pageable", "pinned") if one in said), "")
            kinds[at] = strings[way], memory
    return kinds


def launches(trace: Trace, windows: Windows, device: int) -> list[LaunchSums]:
    """The launches of a device by the step in which their first work began."""
    rows = trace.device.rows_of(device)
    work = np.flatnonzero(trace.device.launch[rows] >= 0) + rows.start
    call = trace.device.launch[work].astype(np.int64)
    # A call that launches much counts once, with what it launched first.
    order = np.lexsort((trace.device.ts[work], call))
    first = order[np.flatnonzero(np.diff(call[order], prepend=-1))]
    work, call = work[first], call[first]
    window = _window_of(windows, trace.device.ts[work])
    inside = window >= 0
    work, call, window = work[inside], call[inside], window[inside]
    spent, ran = trace.host.dur[call], trace.device.dur[work]
    short = (ran < spent) & (ran < SHORT_KERNEL_NS)
    short &= (trace.device.kind[work] == DeviceKind.KERNEL) & (
        trace.device.link[work] != Link.GRAPH
    )
    slow = spent > np.maximum(SLOW_CALL_NS, SLOW_CALL_RATIO * _usual(trace, call))

    def per_window(values: I64) -> list[int]:
        sums: list[int] = np.bincount(window, values, len(windows)).astype(np.int64).tolist()
        return sums

    ones = np.ones(len(call), np.int64)
    columns = (
        per_window(ones),
        per_window(spent),
        per_window(short * ones),
        per_window(np.where(short, spent, 0)),
        per_window(slow * ones),
        per_window(np.where(slow, spent, 0)),
    )
    return [LaunchSums(*one) for one in zip(*columns, strict=True)]


def _usual(trace: Trace, calls: I64) -> I64:
    """The median duration of the calls of each one's name, where that may matter."""
    usual = np.zeros(len(calls), np.int64)
    names, spent = trace.host.name[calls], trace.host.dur[calls]
    for code in distinct(names[spent > SLOW_CALL_NS], len(trace.strings)).tolist():
        mine = names == code
        middle = int(mine.sum()) // 2
        usual[mine] = np.partition(spent[mine], middle)[middle]
    return usual


def lead(trace: Trace, device: int) -> tuple[int, int, int] | None:
    """From the return of a call to the begin of its work: 10th, 50th, 90th percentile, ns."""
    rows = trace.device.rows_of(device)
    call = trace.device.launch[rows]
    some = np.flatnonzero(call >= 0)
    if not len(some):
        return None
    launch = call[some]
    ahead = trace.device.ts[rows][some] - trace.host.ts[launch] - trace.host.dur[launch]
    places = [min(len(ahead) - 1, len(ahead) * one // 100) for one in _PERCENTILES]
    low, middle, high = np.partition(ahead, places)[places].tolist()
    return low, middle, high


def _window_of(windows: Windows, ts: I64) -> I64:
    """The window that an instant lies in; −1 where in none."""
    window = np.searchsorted(windows.start, ts, side="right") - 1
    outside = (window < 0) | (ts >= windows.end[np.maximum(window, 0)])
    return np.where(outside, -1, window)


# --- communication ------------------------------------------------------------------------------


def communication(trace: Trace, hosts: Hosts, windows: Windows, device: int) -> list[Communication]:
    """The communication of a device (row of ``Trace.devices``) by step."""
    rows = trace.device.rows_of(device)
    klass = trace.device.klass[rows]
    if not (klass == DeviceClass.COMMUNICATION).any():
        return [Communication()] * len(windows)
    compute = np.flatnonzero(klass == DeviceClass.COMPUTE) + rows.start
    kernels = _ranges(trace, compute)
    collectives = _ranges(trace, np.flatnonzero(klass == DeviceClass.COMMUNICATION) + rows.start)
    some = windows.end > windows.start
    frames = Intervals(windows.start[some], windows.end[some])
    exposed = subtract(collectives, kernels)
    piece, frame = overlaps(exposed, frames)
    start = np.maximum(exposed.start[piece], frames.start[frame])
    end = np.minimum(exposed.end[piece], frames.end[frame])
    window = np.flatnonzero(some)[frame]
    limited, known = _host_limited(trace, hosts, compute, start, end, exposed.end[piece])
    length = end - start

    def per_window(values: I64) -> list[int]:
        sums: list[int] = np.bincount(window, values, len(windows)).astype(np.int64).tolist()
        return sums

    columns = (
        length_within(collectives, windows.start, windows.end).tolist(),
        per_window(length),
        per_window(np.where(known, length - limited, 0)),
        per_window(np.where(known, limited, 0)),
        per_window(np.where(known, 0, length)),
    )
    return [Communication(*one) for one in zip(*columns, strict=True)]


def _host_limited(
    trace: Trace, hosts: Hosts, compute: I64, start: I64, end: I64, whole_end: I64
) -> tuple[I64, NDArray[np.bool_]]:
    """Of each piece the time before the launch of the next kernel; False: that is not known."""
    ts = trace.device.ts[compute]
    order = np.argsort(ts, kind="stable")
    at = np.searchsorted(ts[order], whole_end)
    follows = at < len(order)
    known = follows.copy()
    launch = np.full(len(at), -1, np.int64)
    launch[follows] = trace.device.launch[compute[order[at[follows]]]]
    known &= launch >= 0
    limited = np.zeros(len(at), np.int64)
    begun, thread = limited.copy(), np.full(len(at), -1)
    begun[known] = trace.host.ts[launch[known]]
    thread[known] = trace.host.thread[launch[known]]
    limited[known] = np.clip(begun[known] - start[known], 0, (end - start)[known])
    for one in distinct_values(thread[known]).tolist():
        mine = (thread == one) & (limited > 0)
        waits = hosts.ranges(hosts.blocking, [one])
        limited[mine] -= length_within(waits, start[mine], start[mine] + limited[mine])
    return limited, known


def _ranges(trace: Trace, rows: I64) -> Intervals:
    ts = trace.device.ts[rows]
    return union(ts, ts + trace.device.dur[rows])


def exposed_alone(trace: Trace, rows: I64, busy: Intervals, windows: Windows) -> I64:
    """The union of some device work, per step, in which nothing of ``busy`` runs."""
    alone = subtract(_ranges(trace, rows), busy)
    return length_within(alone, windows.start, windows.end)
