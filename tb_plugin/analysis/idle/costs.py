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

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import (
    I32,
    I64,
    cells,
    distinct,
    distinct_values,
    equal,
    put,
    ranked,
    search,
    stable_order,
    take,
    where,
)
from ...base.group_sums import first_largest, group_sums, middles
from ...base.intervals import Intervals, length_within, overlaps, subtract, union_of
from ...base.regex import regex
from ...trace.model import DeviceClass, DeviceKind, Link, Trace
from ..device_work import DeviceWork
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


def copies(work: DeviceWork, windows: Windows) -> list[tuple[CopySum, ...]]:
    """The copies of a device by step and kind, those that take most time first."""
    trace, chosen = work.trace, work.rows(DeviceClass.COPY)
    found: list[list[CopySum]] = [[] for _ in range(len(windows))]
    if not len(chosen):
        return [()] * len(windows)
    dur = trace.device.dur[chosen]
    window = windows.of(trace.device.ts[chosen])
    size = cells(trace.device.args.get("bytes"), chosen, 0)
    small = (size < SMALL_COPY_BYTES) & (size > 0)
    kinds, kind_of = _kinds(trace, chosen)
    for number, (kind, memory) in enumerate(kinds):
        mine = np.flatnonzero(kind_of == number)
        alone = exposed_alone(trace, chosen[mine], work.kernels, windows)
        mine = mine[window[mine] >= 0]
        step = window[mine].astype(np.int32)
        sums = group_sums(step, dur[mine], len(windows))
        sizes = group_sums(step, size[mine], len(windows)).total
        smalls = np.bincount(step[small[mine]], minlength=len(windows))
        longest = first_largest(step, dur[mine], len(windows))
        for at in np.flatnonzero(sums.count).tolist():
            row = int(chosen[mine[longest[at]]])
            found[at].append(
                CopySum(
                    kind=kind,
                    memory=memory,
                    count=int(sums.count[at]),
                    bytes=int(sizes[at]),
                    ns=int(sums.total[at]),
                    exposed_ns=int(alone[at]),
                    small_count=int(smalls[at]),
                    ts=int(trace.device.ts[row]),
                    dur_ns=int(trace.device.dur[row]),
                    name=trace.strings[trace.device.name[row]],
                    spot=Spot(len(trace.host) + row, int(trace.device.raw[row])),
                )
            )
    return [tuple(sorted(sums, key=lambda one: -one.ns)) for sums in found]


def _kinds(trace: Trace, rows: I64) -> tuple[list[tuple[str, str]], I32]:
    """The directions and memories of copies, sorted, and the number of each copy's.

    By the name of a copy, else by its arguments.
    """
    strings, args = trace.strings, trace.device.args
    columns = [trace.device.name[rows].astype(np.int64)]
    if "copy_kind" in args:
        names = ("copy_kind", "source_memory", "target_memory")
        columns += [cells(args.get(name), rows, -1) for name in names]
    told = np.zeros(len(rows), np.int32)  # number of the combination of each copy
    for column in columns:
        values, place = ranked(column)
        told = ranked(told.astype(np.int64) * len(values) + place)[1]
    first = np.empty(int(told.max(initial=-1)) + 1, np.int64)
    first[told[::-1]] = np.arange(len(rows) - 1, -1, -1)
    of_told = [
        _kind(strings, *one) for one in zip(*(c[first].tolist() for c in columns), strict=True)
    ]
    kinds = sorted(set(of_told))
    number = {kind: at for at, kind in enumerate(kinds)}
    return kinds, np.array([number[kind] for kind in of_told], np.int32)[told]


def _kind(strings: Sequence[str], name: int, way: int = -1, *sides: int) -> tuple[str, str]:
    """Direction and memory of a copy, of the codes of its name and of its arguments."""
    kind = copy_kind(strings[name])
    if way < 0 or kind[0]:
        return kind
    said = [strings[side].lower() for side in sides if side >= 0]
    return strings[way], next((one for one in ("pageable", "pinned") if one in said), "")


def launches(work: DeviceWork, windows: Windows) -> list[LaunchSums]:
    """The launches of a device by the step in which their first work began."""
    trace = work.trace
    rows = work.by_time[take(work.is_launched, work.by_time)]
    # A call that launches much counts once, with what it launched first.
    call = take(work.launch, rows)
    if (call[1:] <= call[:-1]).any():
        order = stable_order(call.astype(np.int64))
        first = order[np.flatnonzero(np.diff(take(call, order), prepend=-1))]
        rows, call = take(rows, first), take(call, first)
    window = windows.of(take(work.ts, rows)).astype(np.int32)
    inside = window >= 0
    if not inside.all():
        rows, call, window = rows[inside], call[inside], window[inside]
    spent, ran = take(work.returned, rows) - take(work.begun, rows), take(work.dur, rows)
    short = (ran < spent) & (ran < SHORT_KERNEL_NS)
    rows = rows + work.slice.start
    short &= equal(take(trace.device.kind, rows), DeviceKind.KERNEL)
    short &= take(trace.device.link, rows) != Link.GRAPH
    slow = spent > np.maximum(SLOW_CALL_NS, SLOW_CALL_RATIO * _usual(trace, call))

    columns: list[list[int]] = []
    for some in (slice(None), short, slow):
        sums = group_sums(window[some], spent[some], len(windows))
        columns += [sums.count.tolist(), sums.total.tolist()]
    return [LaunchSums(*one) for one in zip(*columns, strict=True)]


def _usual(trace: Trace, calls: I32) -> I64:
    """The median duration of the calls of each one's name, where that may matter."""
    usual = np.zeros(len(calls), np.int64)
    names, spent = take(trace.host.name, calls), take(trace.host.dur, calls)
    slow = distinct(names[spent > SLOW_CALL_NS], len(trace.strings))
    if not len(slow):
        return usual
    of_name = np.full(len(trace.strings), -1, np.int32)
    of_name[slow] = np.arange(len(slow), dtype=np.int32)
    place = take(of_name, names)
    some = where(place >= 0)
    place = take(place, some)
    put(usual, some, take(middles(place, take(spent, some), len(slow))[1], place))
    return usual


def lead(work: DeviceWork) -> tuple[int, int, int] | None:
    """From the return of a call to the begin of its work: 10th, 50th, 90th percentile, ns."""
    ahead = (work.ts - work.returned)[work.is_launched]
    if not len(ahead):
        return None
    places = [min(len(ahead) - 1, len(ahead) * one // 100) for one in _PERCENTILES]
    low, middle, high = np.partition(ahead, places)[places].tolist()
    return low, middle, high


# --- communication ------------------------------------------------------------------------------


def communication(work: DeviceWork, hosts: Hosts, windows: Windows) -> list[Communication]:
    """The communication of a device by step."""
    collectives = work.communication
    if not (work.klass == DeviceClass.COMMUNICATION).any():
        return [Communication()] * len(windows)
    some = windows.end > windows.start
    frames = Intervals(windows.start[some], windows.end[some])
    exposed = subtract(collectives, work.compute)
    piece, frame = overlaps(exposed, frames)
    whole_end = take(exposed.end, piece)
    start = np.maximum(take(exposed.start, piece), take(frames.start, frame))
    end = np.minimum(whole_end, take(frames.end, frame))
    window = take(np.flatnonzero(some).astype(np.int32), frame)
    limited, known = _host_limited(work, hosts, start, end, whole_end)
    length = end - start

    def per_window(values: I64) -> list[int]:
        sums: list[int] = group_sums(window, values, len(windows)).total.tolist()
        return sums

    columns = (
        length_within(collectives, windows.start, windows.end).tolist(),
        per_window(length),
        per_window((length - limited) * known),
        per_window(limited * known),
        per_window(length * ~known),
    )
    return [Communication(*one) for one in zip(*columns, strict=True)]


def _host_limited(
    work: DeviceWork, hosts: Hosts, start: I64, end: I64, whole_end: I64
) -> tuple[I64, NDArray[np.bool_]]:
    """Of each piece the time before the launch of the next kernel; False: that is not known."""
    trace = work.trace
    compute = work.by_time[take(equal(work.klass, DeviceClass.COMPUTE), work.by_time)]
    at = search(take(work.ts, compute), whole_end)
    follows = at < len(compute)
    known = follows.copy()
    launch = np.full(len(at), -1, np.int64)
    launch[follows] = work.launch[compute[at[follows]]]
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


def exposed_alone(trace: Trace, rows: I64, busy: Intervals, windows: Windows) -> I64:
    """The union of some device work, per step, in which nothing of ``busy`` runs."""
    alone = subtract(union_of(rows, trace.device.ts, trace.device.dur), busy)
    return length_within(alone, windows.start, windows.end)
