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
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import TypeVar

import numpy as np
from msgspec import Struct, field

from ...base.arrays import (
    I32,
    I64,
    U8,
    Mask,
    distinct,
    distinct_values,
    equal,
    is_among,
    matches,
    ranges_of,
    ranked,
    rows_between,
    search,
    take,
    where,
    where_code,
)
from ...base.group_sums import group_sums
from ...base.intervals import EMPTY, Intervals, merge, subtract, union, union_of, union_where
from ...base.native import call
from ...base.regex import any_of, regex
from ...trace.model import HostKind, Trace
from ..call_tree.paths import innermost
from ..host_activity import HostRole, Hosts
from ..idle.places import is_own_frame
from ..steps import Windows

Rows = TypeVar("Rows", I32, I64)

MOST_FRAMES = 4
_ASKED: list[re.Pattern[str]] = []


def of_code(pattern: str) -> re.Pattern[str]:
    """A pattern of names that ``HostCode.named`` looks for; all of them are looked for at once."""
    _ASKED.append(regex(pattern))
    return _ASKED[-1]


MOST_RELEASED, _ROWS = 10_000, 1 << 18
LOCK_GAP_NS = 100_000  # a frame that takes a lock and records nothing for so long waits for it

PRINTS = of_code(
    r"^<built-in function print>$|^torch/_tensor_str\.py\(|/torch/_tensor_str\.py\("
    r"|(^|/)logging/__init__\.py\(\d+\): _log$|(^|/)tqdm/\S+\.py\(\d+\): (update|refresh|display)$"
)
_COLLECTS = of_code(r"^Python GC\b|^<built-in function collect>$")
_ACQUIRES = of_code(r"^<built-in method (acquire|__enter__) of _?(thread|multiprocessing)\b")
_RELEASES = of_code(r"^<built-in method __exit__ of _?(thread|multiprocessing)\b")
_DATA_PARALLEL = of_code(r"^DataParallel\.forward$")
_COMPILE_ID = regex(r"compile_id=(\d+)/(\d+)")
_REGION = of_code(r"^Torch-Compiled Region\b")
_COMPILED = regex(r"^(Torch-Compiled Region\b|CompiledFunctionBackward$)")
_IN_GRAPH = of_code(r"^(## Call CompiledFxGraph|CompiledFunction$)")
_RESUMES = of_code(r": torch_dynamo_resume_in_\w+$")
_REPLAYS = regex(r"^(cuda|cu|hip)GraphLaunch")
LEAST_LAUNCHES = 20  # kernels of one call of a compiled function, that a graph would replay


class Found(Struct, frozen=True):
    """What a recognizer found: the time it takes, and its events."""

    kind: str
    name: str
    time: Intervals
    rows: I64  # of the host table, or of the device table where ``on_device``
    frame: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    on_device: bool = False


class HostCode(Struct, frozen=True, dict=True):
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
    def dur(self) -> I64:
        return self.trace.host.dur[self.low : self.high]

    @cached_property
    def self_ns(self) -> I64:
        return self.trace.host.self_ns[self.low : self.high]

    @cached_property
    def name(self) -> I32:
        return self.trace.host.name[self.low : self.high]

    @cached_property
    def parent(self) -> I32:
        """Rows of this thread, −1 at the outside."""
        above = self.trace.host.parent[self.low : self.high]
        return np.maximum(above - np.int32(self.low), np.int32(-1)) if self.low else above

    @cached_property
    def op(self) -> Mask:
        return self.hosts.op[self.low : self.high]

    @cached_property
    def frame(self) -> Mask:
        """Python frames, those of modules too."""
        return self.hosts.frame[self.low : self.high]

    @cached_property
    def module(self) -> Mask:
        return equal(self.trace.host.kind[self.low : self.high], HostKind.MODULE)

    @cached_property
    def top_ops(self) -> I64:
        """Ops that no op calls."""
        rows = where(self.op)
        above = take(self.parent, rows)
        inner = take(self.op, np.maximum(above, 0))
        inner &= above >= 0
        outer: I64 = rows[~inner].astype(np.int64)
        return outer

    @cached_property
    def top_op(self) -> Mask:
        """The same for each row."""
        result = np.zeros(len(self.ts), np.bool_)
        result[self.top_ops] = True
        return result

    @cached_property
    def owner(self) -> I32:
        """For each row the row of the frame it belongs to, itself included; −1 for none."""
        own = where_code(self.name, self.hosts.ask_names(is_own_frame, np.bool_))
        own = own[take(self.frame, own)]
        at = np.full(len(self.ts), -1, np.int32)
        at[own] = own
        return innermost(at, self.parent)

    def owner_name(self, row: int) -> str:
        """The frame that a row belongs to, as the recorder names it; "" for none."""
        at = int(self.owner[row])
        return self.trace.strings[int(self.name[at])] if at >= 0 else ""

    @cached_property
    def _asked(self) -> tuple[I64, I32, list[int]]:
        """Rows whose names match any of the patterns that are looked for, those names, and each."""
        rows = where_code(self.name, self.hosts.ask_names(_is_asked(), np.bool_))
        names = take(self.name, rows)
        return rows.astype(np.int64), names, distinct(names, len(self.trace.strings)).tolist()

    @cached_property
    def _known(self) -> dict[re.Pattern[str], tuple[Mask, I64]]:
        return {}

    def _of_pattern(self, pattern: re.Pattern[str]) -> tuple[Mask, I64]:
        """Which codes match a pattern that was made by ``of_code``, and their rows, ascending."""
        if pattern not in self._known:
            rows, names, each = self._asked
            codes = np.zeros(len(self.trace.strings), np.bool_)
            codes[[code for code in each if pattern.search(self.trace.strings[code])]] = True
            found = take(rows, where_code(names, codes)) if codes.any() else rows[:0]
            self._known[pattern] = codes, found
        return self._known[pattern]

    def named(self, pattern: re.Pattern[str]) -> I64:
        """Rows whose name matches a pattern that was made by ``of_code``, ascending."""
        return self._of_pattern(pattern)[1]

    def have_name(self, rows: I64, pattern: re.Pattern[str]) -> Mask:
        """Which of some rows have such a name."""
        result: Mask = self._of_pattern(pattern)[0][self.name[rows]]
        return result

    def role(self, role: HostRole) -> Mask:
        """Rows of one role."""
        return equal(self.hosts.role[self.low : self.high], role)

    def time(self, rows: I32 | I64) -> Intervals:
        """When any of the rows was open."""
        return union_of(rows, self.ts, self.dur)

    def time_where(self, mask: Mask) -> Intervals:
        """When any of the rows was open at which a mask holds."""
        return union_where(mask, self.ts, self.dur)

    def outermost(self, rows: I32 | I64) -> I64:
        """The rows, which ascend, that lie in no other of them."""
        if not len(rows):
            return rows.astype(np.int64)
        ts, reach = take(self.ts, rows), take(self.end, rows)
        np.maximum.accumulate(reach, out=reach)
        first = np.ones(len(rows), np.bool_)
        np.greater_equal(ts[1:], reach[:-1], out=first[1:])
        return rows[first].astype(np.int64)

    def begin_in(self, rows: I64, time: Intervals) -> Mask:
        """Which of the rows, which ascend, begin in one of the intervals."""
        if len(time) > len(rows):
            ts = self.ts[rows]
            at = search(time.start, ts, "right") - 1
            return np.asarray((at >= 0) & (ts < time.end[np.maximum(at, 0)]))
        # Rows are in order of time: those of an interval are neighbours.
        low, high = (search(rows, search(self.ts, at)) for at in (time.start, time.end))
        return ranges_of(low, high, len(rows))

    def all_begin_in(self, time: Intervals) -> Mask:
        """Which of all rows begin in one of the intervals."""
        low, high = (search(self.ts, at) for at in (time.start, time.end))
        return ranges_of(low, high, len(self.ts))

    def within(self, rows: I64, time: Intervals) -> I64:
        """The rows, which ascend, that begin in one of the intervals."""
        return rows[self.begin_in(rows, time)]

    def outside(self, rows: I64, time: Intervals) -> I64:
        """The other rows."""
        return rows[~self.begin_in(rows, time)]

    def by_owner(self, rows: Rows, weight: I64, most: int) -> list[tuple[str, Rows]]:
        """The rows by the frame they belong to, the largest weights first."""
        if not len(rows):
            return []
        at = take(self.owner, rows)
        code = np.where(at >= 0, take(self.name, np.maximum(at, 0)), np.int32(-1))
        total = group_sums(code + np.int32(1), weight, len(self.trace.strings) + 1).total
        order = [int(one) for one in np.argsort(-total, kind="stable")[:most] if total[one] > 0]
        return [
            (self.trace.strings[one - 1] if one else "", rows[code == one - 1]) for one in order
        ]

    def host_rows(self, rows: I64) -> I64:
        """Rows of the host table."""
        return np.asarray(rows, np.int64) + self.low

    @cached_property
    def loading(self) -> Intervals:
        """When the main thread was in the DataLoader."""
        return self.time_where(self.hosts.loader[self.low : self.high])

    @cached_property
    def backward(self) -> Intervals:
        """When the main thread was in ``backward()``, or ran backward ops."""
        return self.time_where(self.role(HostRole.BACKWARD) & (self.frame | self.op))

    @cached_property
    def in_loader(self) -> Mask:
        """Which of all rows begin in the DataLoader."""
        return self.all_begin_in(self.loading)

    def outside_of_loader(self, rows: I64) -> I64:
        """The rows that do not begin in the DataLoader: what runs there is the loader's."""
        return rows[~take(self.in_loader, rows)] if len(self.loading) else rows

    @cached_property
    def _linked(self) -> tuple[I64, I64, Intervals]:
        """Forward rows, ascending, their backward rows, and when any of the latter ran."""
        forward = self.trace.host.forward[self.low : self.high]
        linked = np.flatnonzero((forward >= self.low) & (forward < self.high))
        source = forward[linked].astype(np.int64) - self.low
        order = np.argsort(source, kind="stable")
        return source[order], linked[order], self.time(linked)

    def with_backward(self, time: Intervals) -> Intervals:
        """Intervals of forward ops, and those of the backward ops that autograd made of them.

        Where that is most of the backward time, all of it: sums of gradients are linked to none.
        """
        source, linked, of_all = self._linked
        if not len(linked) or not len(time):
            return time
        of_these = self.time(np.sort(linked[self.begin_in(source, time)]))
        if 2 * of_these.total_ns >= of_all.total_ns > 0:
            return merge(time, self.backward)
        return merge(time, of_these)


@cache
def _is_asked() -> Callable[[str], bool]:
    """Whether a name matches any of the patterns that are looked for."""
    return any_of(one.pattern for one in _ASKED)


# --- patterns -------------------------------------------------------------------------------------


def loading(code: HostCode) -> Iterator[Found]:
    """The DataLoader's ranges, and the user's frame in which most of their time passes."""
    rows = np.flatnonzero(code.hosts.loader[code.low : code.high])
    if not len(rows):
        return
    time = code.loading
    inside = code.in_loader
    owned = where(inside & (code.owner >= 0))
    # A frame around the loader's range calls it; what counts lies inside.
    owned = owned[take(inside, take(code.owner, owned))]
    best = code.by_owner(owned, take(code.self_ns, owned), 1)
    longest = rows[int(np.argmax(code.dur[rows]))]
    name = code.trace.strings[int(code.name[longest])]
    events = rows
    if best:
        frames = distinct_owners(code, best[0][1])
        events = np.concatenate([rows, frames])
    yield Found("loading", name, time, code.host_rows(events), best[0][0] if best else "")


def distinct_owners(code: HostCode, rows: Rows) -> I64:
    """The frames that the rows, which are all in one, belong to, each once."""
    return distinct(take(code.owner, rows), len(code.ts)).astype(np.int64)


def _of_frames(code: HostCode, kind: str, pattern: re.Pattern[str]) -> Iterator[Found]:
    rows = code.outermost(code.named(pattern))
    for frame, mine in code.by_owner(rows, code.dur[rows], MOST_FRAMES):
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
    rows = code.named(_ACQUIRES)
    # The DataLoader waits for its workers by a lock: that is another pattern.
    rows = code.outside_of_loader(rows[code.frame[rows]])
    released = code.named(_RELEASES)
    released = released[code.parent[released] >= 0][:MOST_RELEASED]
    around = code.parent[released]
    long = code.ts[released] - code.ts[around] >= LOCK_GAP_NS  # no gap within is longer
    above = around[long].astype(np.int64)
    low, high = longest_gaps(code, above, released[long])
    waits = high - low >= LOCK_GAP_NS
    events: I64 = np.concatenate([rows, above[waits]])
    starts = np.concatenate([code.ts[rows], low[waits]])
    ends = np.concatenate([code.end[rows], high[waits]])
    for frame, mine in code.by_owner(events, ends - starts, MOST_FRAMES):
        chosen = is_among(events, mine)
        time = union(starts[chosen], ends[chosen])
        yield Found("lock", "lock", time, code.host_rows(mine), frame)


def longest_gaps(code: HostCode, above: I64, row: I64) -> tuple[I64, I64]:
    """The longest stretch of each frame, up to one of its children, in which no child is open."""
    found = np.empty((2, len(row)), np.int64)
    rows, low = np.cumsum(row - above), 0
    while low < len(row):  # as many frames at a time as have not too many rows together
        most = _ROWS + (int(rows[low - 1]) if low else 0)
        high = max(int(np.searchsorted(rows, most, side="right")), low + 1)
        found[:, low:high] = _gaps_of(code, above[low:high], row[low:high])
        low = high
    return found[0], found[1]


def _gaps_of(code: HostCode, above: I64, row: I64) -> tuple[I64, I64]:
    child, frame = rows_between(above + 1, row + 1), np.repeat(np.arange(len(row)), row - above)
    are_children = code.parent[child] == above[frame]
    child, frame = child[are_children], frame[are_children]
    first = np.searchsorted(frame, np.arange(len(row)))  # there is one: the row itself
    # When the children before one have ended: ranks, so that no frame reaches into the next one.
    ends, rank = ranked(code.end[child])
    last = np.maximum.accumulate(frame * len(child) + rank) - frame * len(child)
    free = np.append(0, ends[last[:-1]])
    free[first] = code.ts[above]
    gap = code.ts[child] - free
    longest = np.flatnonzero(gap == np.maximum.reduceat(gap, first)[frame])
    longest = longest[np.searchsorted(longest, first)]
    return free[longest], code.ts[child[longest]]


def compiling(code: HostCode) -> Iterator[Found]:
    """Compilation, with the frame that was running when it began."""
    mask = code.role(HostRole.COMPILE) & ~code.hosts.marker[code.low : code.high]
    rows = code.outermost(np.flatnonzero(mask))
    if not len(rows):
        return
    size = len(code.trace.strings)
    ids = {
        (int(match[1]), int(match[2]))
        for text in {code.trace.strings[one] for one in distinct(code.name, size).tolist()}
        if (match := _COMPILE_ID.search(text))
    }
    again = sum(version > 0 for _, version in ids)
    for frame, mine in code.by_owner(rows, code.dur[rows], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        figures = {"again": float(again), "frames": float(len({one for one, _ in ids}))}
        yield Found("compiling", name, code.time(mine), code.host_rows(mine), frame, figures)


def graph_breaks(code: HostCode) -> Iterator[Found]:
    """Compiled functions that go on in another graph, and their time outside of all graphs.

    What follows a break is compiled as a function of its own, whose region lies in the first one.
    Back ends that mark no graph leave nothing to tell the two apart.
    """
    regions = code.named(_REGION)
    outer = code.outermost(regions)
    inner = regions[~is_among(regions, outer)]
    if not len(inner):
        return
    broken = outer[
        [bool(((inner > row) & (code.ts[inner] < code.end[row])).any()) for row in outer]
    ]
    time = code.time(broken)
    graphs = code.within(code.named(_IN_GRAPH), time)
    if not len(graphs):
        return
    time = subtract(subtract(time, code.time(graphs)), code.time_where(code.role(HostRole.COMPILE)))
    resumed = code.named(_RESUMES)
    resumed = resumed[code.frame[resumed]]
    where = code.by_owner(resumed, code.dur[resumed], 1)
    name = code.trace.strings[int(code.name[inner[0]])]
    yield Found("graph_breaks", name, time, code.host_rows(inner), where[0][0] if where else "")


def not_replayed(code: HostCode) -> Iterator[Found]:
    """Compiled functions of any thread that launch many kernels one by one, where others replay.

    A function that replays in another call of this recording is only warming up.
    """
    host, device, strings = code.trace.host, code.trace.device, code.trace.strings
    compiled = code.hosts.ask_names(lambda name: _COMPILED.search(name) is not None, np.bool_)
    if not compiled.any():
        return
    regions = where_code(host.name, compiled).astype(np.int64)
    calls = distinct_values(device.launch[device.launch >= 0]).astype(np.int64)
    if not len(calls):
        return
    replays = calls[matches(strings, host.name[calls], _REPLAYS)]
    replayed, single = (_launched(code.trace, regions, some) for some in (replays, calls))
    warm = distinct_values(host.name[regions[replayed > 0]])
    chosen = (single >= LEAST_LAUNCHES) & ~is_among(host.name[regions], warm)
    if not len(warm) or not chosen.any():
        return
    rows = regions[chosen]
    inside = rows[(rows >= code.low) & (rows < code.high)] - code.low
    where = code.by_owner(inside, code.dur[inside], 1)
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
    rows = code.named(_DATA_PARALLEL)
    if len(rows):
        yield Found("data_parallel", "DataParallel.forward", EMPTY, code.host_rows(rows))


def profiler(code: HostCode) -> Iterator[Found]:
    """The profiler's own time, where it says so."""
    kind = code.trace.host.kind[code.low : code.high]
    rows = np.flatnonzero(equal(kind, HostKind.OVERHEAD))
    if len(rows):
        name = code.trace.strings[int(code.name[rows[np.argmax(code.dur[rows])]])]
        yield Found("profiler", name, code.time(rows), code.host_rows(rows))


def frames(code: HostCode, told: Intervals) -> Iterator[Found]:
    """Frames of the user's code by the time of Python in them, without the time already told.

    Python is what no op, call or waiting holds; a library's Python counts for its caller.
    """
    if not code.frame.any():
        return
    told = merge(told, code.loading)
    runs = code.frame & (code.owner >= 0)
    runs &= ~code.all_begin_in(told)
    for role in (HostRole.WAITING, HostRole.BACKWARD):
        runs &= ~code.role(role)
    total = frame_sums(code, runs)
    order = np.argsort(-total, kind="stable")[:MOST_FRAMES]
    found = order[total[order] > 0]
    of_name = np.zeros(len(total), np.uint8)
    of_name[found] = np.arange(1, len(found) + 1)
    number, around = frame_numbers(code, runs, of_name)
    for at, name in enumerate(found.tolist(), start=1):
        frame, mine = code.trace.strings[name], number == at
        time = subtract(subtract(code.time_where(mine), code.time_where(around == at)), told)
        yield Found(
            "python", frame, time, code.host_rows(distinct_owners(code, where(mine))), frame
        )


def frame_sums(code: HostCode, mask: Mask) -> I64:
    """The own time of the chosen rows by the name of the frame they belong to."""
    total = np.zeros(len(code.trace.strings), np.int64)
    columns = mask, code.owner, code.name, code.self_ns, len(mask)
    if call("kinetoscope_frame_sums", *columns, total, len(total)) is not None:
        return total
    rows = where(mask)
    names = take(code.name, take(code.owner, rows))
    return group_sums(names, take(code.self_ns, rows), len(total)).total


def frame_numbers(code: HostCode, mask: Mask, of_name: U8) -> tuple[U8, U8]:
    """The number of the frame that each row counts for, by its name; 0 for rows not chosen.

    And the number of the row's parent, where that is another one.
    """
    number, around = np.empty(len(mask), np.uint8), np.zeros(len(mask), np.uint8)
    columns = mask, code.owner, code.name, code.parent, len(mask)
    asked = of_name, len(of_name), number, around
    if call("kinetoscope_frame_numbers", *columns, *asked) is not None:
        return number, around
    rows = where(mask)
    number[:], around[:] = 0, 0
    number[rows] = of_name[take(code.name, take(code.owner, rows))]
    below = where(code.parent >= 0)
    above = take(number, take(code.parent, below))
    around[below] = np.where(above == take(number, below), np.uint8(0), above)
    return number, around
