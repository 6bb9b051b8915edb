"""Patterns of Python code: what the main thread runs or waits for outside of ops.

* ``loading``: the DataLoader's range; its frame is the one in which most of that time passes
* ``printing``: ``print``, texts of tensors, logging, progress bars
* ``garbage``: garbage collection, by hand or as the recorder saw it
* ``lock``: waiting for a lock
* ``python``: frames of the user's code that run Python for long
* ``host_collectives``, ``data_parallel``: calls of collectives, and of ``DataParallel.forward``
* ``compiling``: compilation inside the recording
* ``profiler``: the profiler's own time
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...base.arrays import I64, distinct_values, is_among
from ...base.intervals import EMPTY, Intervals, merge, subtract, union
from ...trace.model import HostKind
from ..host_activity import HostRole
from .host_code import Found, HostCode

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
