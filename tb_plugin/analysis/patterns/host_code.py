"""The main thread of a trace, the line of the user's code that each event belongs to, and Python.

An event belongs to the innermost frame of the user's own code that is open around it: its *owner*.
A call of a library's function belongs to the code that called the library.

Patterns of what is no op:

* ``loading``: the DataLoader's range; its frame is the one in which most of that time passes
* ``printing``: ``print``, texts of tensors, logging, progress bars
* ``garbage``: garbage collection, by hand or as the recorder saw it
* ``lock``: waiting for a lock
* ``python``: frames of the user's code that run Python for long
* ``host_collectives``, ``data_parallel``: calls of collectives, and of ``DataParallel.forward``
* ``compiling``: compilation inside the recording
* ``profiler``: the profiler's own time
* ``graph_breaks``: compiled functions that go on in another graph
* ``not_replayed``: compiled functions that launch kernel by kernel, where others replay graphs
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...base.arrays import I32, I64, Mask, distinct_values, is_among, matches, of_names
from ...base.intervals import EMPTY, Intervals, merge, subtract, union
from ...trace.model import HostKind, Trace
from ..host_activity import HostRole, Hosts
from ..idle.places import is_own_frame
from ..steps import Windows

MOST_FRAMES = 4
LOCK_GAP_NS = 100_000  # a frame that takes a lock and records nothing for so long waits for it

PRINTS = re.compile(
    r"^<built-in function print>$|^torch/_tensor_str\.py\(|/torch/_tensor_str\.py\("
    r"|(^|/)logging/__init__\.py\(\d+\): _log$|(^|/)tqdm/\S+\.py\(\d+\): (update|refresh|display)$"
)
_COLLECTS = re.compile(r"^Python GC\b|^<built-in function collect>$")
_ACQUIRES = re.compile(r"^<built-in method (acquire|__enter__) of _?(thread|multiprocessing)\b")
_RELEASES = re.compile(r"^<built-in method __exit__ of _?(thread|multiprocessing)\b")
_DATA_PARALLEL = re.compile(r"^DataParallel\.forward$")
_COMPILE_ID = re.compile(r"compile_id=(\d+)/(\d+)")
_REGION = re.compile(r"^Torch-Compiled Region\b")
_COMPILED = re.compile(r"^(Torch-Compiled Region\b|CompiledFunctionBackward$)")
_IN_GRAPH = re.compile(r"^(## Call CompiledFxGraph|CompiledFunction$)")
_RESUMES = re.compile(r": torch_dynamo_resume_in_\w+$")
_REPLAYS = re.compile(r"^(cuda|cu|hip)GraphLaunch")
LEAST_LAUNCHES = 20  # kernels of one call of a compiled function, that a graph would replay


@dataclass(frozen=True, slots=True)
class Found:
    """What a recognizer found: the time it takes, and its events."""

    kind: str
    name: str
    time: Intervals
    rows: I64  # of the host table, or of the device table where ``on_device``
    frame: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    on_device: bool = False


@dataclass(frozen=True)
class HostCode:
    """The rows of the main thread, [low, high) of the host table; columns count from ``low``."""

    trace: Trace
    hosts: Hosts
    windows: Windows

    @cached_property
    def low(self) -> int:
        return int(self.hosts.first[self.hosts.main]) if self.hosts.main >= 0 else 0

    @cached_property
    def high(self) -> int:
        return int(self.hosts.first[self.hosts.main + 1]) if self.hosts.main >= 0 else 0

    @cached_property
    def ts(self) -> I64:
        return self.trace.host.ts[self.low : self.high]

    @cached_property
    def end(self) -> I64:
        return self.ts + self.trace.host.dur[self.low : self.high]

    @cached_property
    def name(self) -> I32:
        return self.trace.host.name[self.low : self.high]

    @cached_property
    def parent(self) -> I32:
        """Rows of this thread, −1 at the outside."""
        above = self.trace.host.parent[self.low : self.high].astype(np.int64) - self.low
        return np.maximum(above, -1).astype(np.int32)

    @cached_property
    def op(self) -> Mask:
        return self.hosts.op[self.low : self.high]

    @cached_property
    def frame(self) -> Mask:
        """Python frames, those of modules too."""
        return self.hosts.frame[self.low : self.high]

    @cached_property
    def module(self) -> Mask:
        result: Mask = self.trace.host.kind[self.low : self.high] == HostKind.MODULE
        return result

    @cached_property
    def top_op(self) -> Mask:
        """Ops that no op calls."""
        above = self.parent
        inner = (above >= 0) & self.op[np.maximum(above, 0)]
        result: Mask = self.op & ~inner
        return result

    @cached_property
    def owner(self) -> I32:
        """For each row the row of the frame it belongs to, itself included; −1 for none.

        Each round doubles the distance that is looked upwards.
        """
        strings = self.trace.strings
        own = self.frame & of_names(strings, self.name, is_own_frame, np.bool_)
        at = np.where(own, np.arange(len(own), dtype=np.int32), self.parent)
        while len(more := np.flatnonzero((at >= 0) & ~own[np.maximum(at, 0)])):
            at[more] = at[at[more]]
        return at

    def owner_name(self, row: int) -> str:
        """The frame that a row belongs to, as the recorder names it; "" for none."""
        at = int(self.owner[row])
        return self.trace.strings[int(self.name[at])] if at >= 0 else ""

    def named(self, pattern: re.Pattern[str]) -> Mask:
        """Rows whose name matches."""
        result: Mask = matches(self.trace.strings, self.name, pattern)
        return result

    def role(self, role: HostRole) -> Mask:
        """Rows of one role."""
        result: Mask = self.hosts.role[self.low : self.high] == role
        return result

    def time(self, rows: Mask | I64) -> Intervals:
        """When any of the rows was open."""
        return union(self.ts[rows], self.end[rows])

    def outermost(self, mask: Mask) -> I64:
        """The chosen rows that lie in no other chosen one."""
        rows = np.flatnonzero(mask)
        if not len(rows):
            return rows
        reach = np.maximum.accumulate(self.end[rows])
        first = np.ones(len(rows), np.bool_)
        first[1:] = self.ts[rows[1:]] >= reach[:-1]
        return rows[first]

    def within(self, rows: I64, time: Intervals) -> I64:
        """The rows that begin in one of the intervals."""
        if not len(time) or not len(rows):
            return rows[:0]
        at = np.searchsorted(time.start, self.ts[rows], side="right") - 1
        inside = (at >= 0) & (self.ts[rows] < time.end[np.maximum(at, 0)])
        return rows[inside]

    def by_owner(self, rows: I64, weight: I64, most: int) -> list[tuple[str, I64]]:
        """The rows by the frame they belong to, the largest weights first."""
        if not len(rows):
            return []
        at = self.owner[rows]
        code = np.where(at >= 0, self.name[np.maximum(at, 0)], -1)
        total = np.bincount(code + 1, weight, len(self.trace.strings) + 1)
        order = [int(one) for one in np.argsort(-total, kind="stable")[:most] if total[one] > 0]
        return [
            (self.trace.strings[one - 1] if one else "", rows[code == one - 1]) for one in order
        ]

    def host_rows(self, rows: I64) -> I64:
        """Rows of the host table."""
        return np.asarray(rows, np.int64) + self.low

    def steps_of(self, ts: I64) -> I64:
        """The index of the window that holds each instant; −1 for none."""
        at = np.searchsorted(self.windows.start, ts, side="right") - 1
        inside = (at >= 0) & (ts < self.windows.end[np.maximum(at, 0)])
        return np.where(inside, at, -1)

    @cached_property
    def loading(self) -> Intervals:
        """When the main thread was in the DataLoader."""
        return self.time(self.hosts.loader[self.low : self.high])

    @cached_property
    def backward(self) -> Intervals:
        """When the main thread was in ``backward()``, or ran backward ops."""
        return self.time(self.role(HostRole.BACKWARD) & (self.frame | self.op))

    def outside_of_loader(self, rows: I64) -> I64:
        """The rows that do not begin in the DataLoader: what runs there is the loader's."""
        return rows[~is_among(rows, self.within(rows, self.loading))]

    def with_backward(self, time: Intervals) -> Intervals:
        """Intervals of forward ops, and those of the backward ops that autograd made of them.

        Where that is most of the backward time, all of it: sums of gradients are linked to none.
        """
        forward = self.trace.host.forward[self.low : self.high]
        linked = np.flatnonzero(forward >= self.low)
        source = forward[linked].astype(np.int64) - self.low
        keep = source < len(self.ts)
        linked, source = linked[keep], source[keep]
        if not len(linked) or not len(time):
            return time
        mine = is_among(source, self.within(np.sort(source), time))
        of_these, of_all = self.time(linked[mine]), self.time(linked)
        if 2 * of_these.total_ns >= of_all.total_ns > 0:
            return merge(time, self.backward)
        return merge(time, of_these)


# --- patterns -------------------------------------------------------------------------------------


def loading(code: HostCode) -> Iterator[Found]:
    """The DataLoader's ranges, and the user's frame in which most of their time passes."""
    rows = np.flatnonzero(code.hosts.loader[code.low : code.high])
    if not len(rows):
        return
    time = code.loading
    inside = code.within(np.arange(len(code.ts)), time)
    self_ns = code.trace.host.self_ns[code.low : code.high]
    owned = inside[code.owner[inside] >= 0]
    # A frame around the loader's range calls it; what counts lies inside.
    owned = owned[is_among(code.owner[owned], inside)]
    best = code.by_owner(owned, self_ns[owned], 1)
    longest = rows[int(np.argmax(code.end[rows] - code.ts[rows]))]
    name = code.trace.strings[int(code.name[longest])]
    events = rows
    if best:
        frames = distinct_owners(code, best[0][1])
        events = np.concatenate([rows, frames])
    yield Found("loading", name, time, code.host_rows(events), best[0][0] if best else "")


def distinct_owners(code: HostCode, rows: I64) -> I64:
    """The frames that the rows belong to, each once."""
    return distinct_values(code.owner[rows]).astype(np.int64)


def _of_frames(code: HostCode, kind: str, pattern: re.Pattern[str]) -> Iterator[Found]:
    rows = code.outermost(code.named(pattern))
    for frame, mine in code.by_owner(rows, (code.end - code.ts)[rows], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        yield Found(kind, name, code.time(mine), code.host_rows(mine), frame)


def printing(code: HostCode) -> Iterator[Found]:
    """Calls that write text, by the frame that calls them."""
    yield from _of_frames(code, "printing", PRINTS)


def garbage(code: HostCode) -> Iterator[Found]:
    """Garbage collection, by the frame in which it happens."""
    yield from _of_frames(code, "garbage", _COLLECTS)


def locks(code: HostCode) -> Iterator[Found]:
    """Waiting for locks: calls of ``acquire``, and in a ``with``, what passes before.

    No recorder sees the call of ``with``: it is the longest stretch without any event before the
    lock is given back.
    """
    rows = np.flatnonzero(code.named(_ACQUIRES) & code.frame)
    # The DataLoader waits for its workers by a lock: that is another pattern.
    rows = rows[~is_among(rows, code.within(rows, code.loading))]
    start, end = [code.ts[rows]], [code.end[rows]]
    found = [rows]
    released = np.flatnonzero(code.named(_RELEASES) & (code.parent >= 0))
    for row in released[:10_000].tolist():
        above = int(code.parent[row])
        low, high = _longest_gap(code, above, row)
        if high - low >= LOCK_GAP_NS:
            start.append(np.array([low]))
            end.append(np.array([high]))
            found.append(np.array([above]))
    events = np.concatenate(found)
    starts, ends = np.concatenate(start), np.concatenate(end)
    for frame, mine in code.by_owner(events, ends - starts, MOST_FRAMES):
        chosen = is_among(events, mine)
        time = union(starts[chosen], ends[chosen])
        yield Found("lock", "lock", time, code.host_rows(mine), frame)


def _longest_gap(code: HostCode, above: int, row: int) -> tuple[int, int]:
    """The longest stretch of a frame, up to one of its children, in which no child is open."""
    inside = np.arange(above + 1, row + 1)
    children = inside[code.parent[inside] == above]
    starts = code.ts[children]
    ends = np.concatenate([code.ts[above : above + 1], np.maximum.accumulate(code.end[children])])
    gap = starts - ends[:-1]
    at = int(np.argmax(gap))
    return int(ends[at]), int(starts[at])


def compiling(code: HostCode) -> Iterator[Found]:
    """Compilation, with the frame that was running when it began."""
    mask = code.role(HostRole.COMPILE) & ~code.hosts.marker[code.low : code.high]
    rows = code.outermost(mask)
    if not len(rows):
        return
    ids = {
        (int(match[1]), int(match[2]))
        for text in {code.trace.strings[one] for one in distinct_values(code.name).tolist()}
        if (match := _COMPILE_ID.search(text))
    }
    again = sum(version > 0 for _, version in ids)
    for frame, mine in code.by_owner(rows, (code.end - code.ts)[rows], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        figures = {"again": float(again), "frames": float(len({one for one, _ in ids}))}
        yield Found("compiling", name, code.time(mine), code.host_rows(mine), frame, figures)


def graph_breaks(code: HostCode) -> Iterator[Found]:
    """Compiled functions that go on in another graph, and their time outside of all graphs.

    What follows a break is compiled as a function of its own, whose region lies in the first one.
    Back ends that mark no graph leave nothing to tell the two apart.
    """
    mask = code.named(_REGION)
    outer = code.outermost(mask)
    inner = np.flatnonzero(mask)
    inner = inner[~is_among(inner, outer)]
    if not len(inner):
        return
    broken = outer[
        [bool(((inner > row) & (code.ts[inner] < code.end[row])).any()) for row in outer]
    ]
    time = code.time(broken)
    graphs = code.within(np.flatnonzero(code.named(_IN_GRAPH)), time)
    if not len(graphs):
        return
    time = subtract(subtract(time, code.time(graphs)), code.time(code.role(HostRole.COMPILE)))
    resumed = np.flatnonzero(code.named(_RESUMES) & code.frame)
    where = code.by_owner(resumed, (code.end - code.ts)[resumed], 1)
    name = code.trace.strings[int(code.name[inner[0]])]
    yield Found("graph_breaks", name, time, code.host_rows(inner), where[0][0] if where else "")


def not_replayed(code: HostCode) -> Iterator[Found]:
    """Compiled functions of any thread that launch many kernels one by one, where others replay.

    A function that replays in another call of this recording is only warming up.
    """
    host, device, strings = code.trace.host, code.trace.device, code.trace.strings
    regions = np.flatnonzero(matches(strings, host.name, _COMPILED))
    calls = distinct_values(device.launch[device.launch >= 0]).astype(np.int64)
    if not len(regions) or not len(calls):
        return
    replays = calls[matches(strings, host.name[calls], _REPLAYS)]
    replayed, single = (_launched(code.trace, regions, some) for some in (replays, calls))
    warm = distinct_values(host.name[regions[replayed > 0]])
    chosen = (single >= LEAST_LAUNCHES) & ~is_among(host.name[regions], warm)
    if not len(warm) or not chosen.any():
        return
    rows = regions[chosen]
    inside = rows[(rows >= code.low) & (rows < code.high)] - code.low
    where = code.by_owner(inside, (code.end - code.ts)[inside], 1)
    yield Found(
        "not_replayed",
        strings[int(host.name[rows[np.argmax(host.dur[rows])]])],
        union(host.ts[rows], host.ts[rows] + host.dur[rows]),
        rows,
        where[0][0] if where else "",
        {"launches": float(single[chosen].mean())},
    )


def _launched(trace: Trace, ranges: I64, calls: I64) -> I64:
    """How many of the calls begin within each range, on its own thread."""
    host = trace.host
    found = np.zeros(len(ranges), np.int64)
    for thread in distinct_values(host.thread[ranges]).tolist():
        mine = np.flatnonzero(host.thread[ranges] == thread)
        ts = np.sort(host.ts[calls[host.thread[calls] == thread]])
        start = host.ts[ranges[mine]]
        end = start + host.dur[ranges[mine]]
        found[mine] = np.searchsorted(ts, end) - np.searchsorted(ts, start)
    return found


def collectives(code: HostCode) -> Iterator[Found]:
    """Calls of collectives, and ranges of those under way on any thread."""
    rows = np.flatnonzero(code.hosts.collective).astype(np.int64)
    if len(rows):
        host = code.trace.host
        time = union(host.ts[rows], host.ts[rows] + host.dur[rows])
        name = code.trace.strings[int(host.name[rows[np.argmax(host.dur[rows])]])]
        yield Found("host_collectives", name, time, rows)


def data_parallel(code: HostCode) -> Iterator[Found]:
    """Calls of ``DataParallel.forward``."""
    rows = np.flatnonzero(code.named(_DATA_PARALLEL))
    if len(rows):
        yield Found("data_parallel", "DataParallel.forward", EMPTY, code.host_rows(rows))


def profiler(code: HostCode) -> Iterator[Found]:
    """The profiler's own time, where it says so."""
    kind = code.trace.host.kind[code.low : code.high]
    rows = np.flatnonzero(kind == HostKind.OVERHEAD)
    if len(rows):
        name = code.trace.strings[int(code.name[rows[np.argmax((code.end - code.ts)[rows])]])]
        yield Found("profiler", name, code.time(rows), code.host_rows(rows))


def frames(code: HostCode, told: Intervals) -> Iterator[Found]:
    """Frames of the user's code by the time of Python in them, without the time already told.

    Python is what no op, call or waiting holds; a library's Python counts for its caller.
    """
    if not code.frame.any():
        return
    runs = code.frame & ~code.role(HostRole.WAITING) & ~code.role(HostRole.BACKWARD)
    rows = np.flatnonzero(runs & (code.owner >= 0))
    told = merge(told, code.loading)
    rows = rows[~is_among(rows, code.within(rows, told))]
    self_ns = code.trace.host.self_ns[code.low : code.high]
    for frame, mine in code.by_owner(rows, self_ns[rows], MOST_FRAMES):
        member = np.zeros(len(code.ts), np.bool_)
        member[mine] = True
        above = code.parent
        child = np.flatnonzero((above >= 0) & member[np.maximum(above, 0)] & ~member)
        time = subtract(subtract(code.time(mine), code.time(child)), told)
        owners = distinct_owners(code, mine)
        yield Found("python", frame, time, code.host_rows(owners), frame)
