"""What did the host do while a device was idle? Calls and frames by name, with count and longest.

Each stretch of idle time belongs to the thread that launched the next work of the device: it was
that thread's turn. Of what was open on it, the innermost event holds the instant. So every idle
instant has one holder, and the kinds of holders sum to the idle time.

    device  ▒▒▒▒▒                     ▒▒▒▒
    thread    ├ aten::copy_ ───────┤
                ├ hipMemcpy… ────┤├ launch ┤
    holder       ↑ hipMemcpy…     ↑ launch
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I32, I64, distinct_values, of_names, take, where
from ...base.intervals import (
    EMPTY,
    Intervals,
    intersect,
    length_before,
    length_within,
    merge,
    subtract,
    union,
)
from ...trace.model import HostKind, Trace
from ..facts import First, Held, HeldName, Idle, IdleTables, Place
from ..host_activity import Hosts
from ..steps import Windows
from .gaps import IdlePieces, idle_pieces

SHORT_NS = 1_000_000  # idle stretches below this are what one launch after another leaves
MOST_NAMES = 24  # kept, the longest sums first, and beside them …
MOST_CALLS = 24  # … the names of the longest single calls
MOST_PLACES = 400
HEAVY = 2_000  # events that the frame is told from, the heaviest first

# What a kind of event makes of the idle time that it holds: a field of ``Idle``.
_FIELDS = {
    HostKind.OP: "op_ns",
    HostKind.ANNOTATION: "annotation_ns",
    HostKind.PYTHON: "python_ns",
    HostKind.MODULE: "python_ns",
    HostKind.RUNTIME: "runtime_ns",
    HostKind.OVERHEAD: "other_ns",
    HostKind.OTHER: "other_ns",
}
KINDS = ("blocking_ns", "runtime_ns", "op_ns", "python_ns", "annotation_ns", "other_ns")
_OP, _PYTHON, _RUNTIME = int(HostKind.OP), int(HostKind.PYTHON), int(HostKind.RUNTIME)
_KIND = np.zeros(max(_FIELDS) + 1, np.int8)  # of a kind of event: its place in KINDS
_KIND[list(_FIELDS)] = [KINDS.index(name) for name in _FIELDS.values()]

_BEGINS, _ENDS, _INSIDE = 1, 2, 3
_CAPTURE_BEGIN = re.compile(r"^(cuda|cu|hip)(Stream|ThreadExchangeStream)BeginCapture")
_CAPTURE_END = re.compile(r"^(cuda|cu|hip)(StreamEndCapture|GraphInstantiate)")
# Frames of the capture itself: entering it waits for the device and collects garbage.
_CAPTURE_FRAME = re.compile(r"torch/cuda/graphs\.py\(\d+\): (__enter__|__exit__|capture_\w+)$")
_FRAME = re.compile(r"^(?P<file>[^()]+?\.py)\((?P<line>\d+)\): (?P<function>.+)$")


class _Rows(NamedTuple):
    """Idle time under single events: one entry per event and window that it touches."""

    row: I64  # of the host table
    window: I64
    idle: I64  # ns, of the instants at which this was the innermost open event


# Names of the innermost op, frame of the user's code, and frame at all; −1 where there is none.
_Around = tuple[int, int, int]
_NOWHERE: _Around = (-1, -1, -1)


class IdleCauses:
    """Collects the idle time of all devices of a trace; names and places are kept once."""

    def __init__(self, trace: Trace, hosts: Hosts, windows: Windows) -> None:
        self._trace, self._hosts, self._windows = trace, hosts, windows
        self._names: dict[tuple[str, str], int] = {}
        self._places: dict[Place, int] = {}
        self._first: dict[int, int] = {}  # name code → row of its first event
        self._marks: NDArray[np.int8] | None = None  # of host events: see _capture_mark
        self._capture: dict[int, Intervals] = {}  # by thread
        self._known: dict[int, _Around] = {}  # by host row
        self._frames: dict[int, tuple[bool, bool]] = {}  # see _frame_name

    def tables(self) -> IdleTables:
        """What the numbers in ``Held`` stand for."""
        names = tuple(HeldName(name, kind) for name, kind in self._names)
        return IdleTables(names, tuple(self._places))

    def of_device(self, device: int) -> list[Idle]:
        """One entry per step; the parts of each sum to the idle time of the device in it."""
        pieces = idle_pieces(self._trace, self._hosts.main, self._windows, device)
        count = len(self._windows)
        if not len(pieces.start) or not len(self._trace.threads):
            return [
                Idle(unrecorded_ns=ns)
                for ns in np.bincount(pieces.window, pieces.end - pieces.start, count)
                .astype(np.int64)
                .tolist()
            ]
        sums = {name: np.zeros(count, np.int64) for name in Idle.__struct_fields__}
        held: list[list[Held]] = [[] for _ in range(count)]
        sums |= _timing(pieces, count)
        found: list[_Rows] = []
        left_of: dict[int, Intervals] = {}
        for thread in distinct_values(pieces.thread).tolist():
            turn = pieces.thread == thread
            left = Intervals(pieces.start[turn], pieces.end[turn])
            within = self._within(left)
            for name, taken in (
                ("dataloader_ns", self._hosts.ranges(self._hosts.loader, [thread])),
                ("capture_ns", self._captures(thread)),
            ):
                if not len(taken):
                    continue
                left = subtract(left, taken)
                before, within = within, self._within(left)
                sums[name] += before - within
            left_of[thread] = left
            found.append(self._holders(thread, left))
            self._sum_kinds(found[-1], within, sums)
        del pieces
        rows = (
            found[0] if len(found) == 1 else _Rows(*map(np.concatenate, zip(*found, strict=True)))
        )
        del found
        frame, sums["frame_ns"] = self._frame(rows, left_of)
        del left_of
        self._name_rows(rows, held)
        numbers = {name: sums[name] for name in sums if name not in ("frame", "held")}
        return [
            Idle(
                **{name: int(values[i]) for name, values in numbers.items()},
                frame=frame,
                held=tuple(held[i]),
            )
            for i in range(count)
        ]

    def _within(self, some: Intervals) -> I64:
        return length_within(some, self._windows.start, self._windows.end)

    def _captures(self, thread: int) -> Intervals:
        """When a thread recorded a graph: its launches put nothing on the device."""
        if self._marks is None:
            host = self._trace.host
            self._marks = of_names(self._trace.strings, host.name, _capture_mark, np.int8)
        if thread not in self._capture:
            self._capture[thread] = _capture_ranges(self._hosts, self._marks, thread)
        return self._capture[thread]

    def _holders(self, thread: int, pieces: Intervals) -> _Rows:
        """The idle time that each event of a thread holds, per window."""
        host = self._trace.host
        low, high = int(self._hosts.first[thread]), int(self._hosts.first[thread + 1])
        nothing = np.empty(0, np.int64)
        if low == high or not len(pieces):
            return _Rows(nothing, nothing, nothing)
        some, entries = self._touched(slice(low, high), pieces)
        # What a child holds, its parent does not; a parent touches what its child touches.
        at = np.full(high - low, -1, np.int32)  # of an event: its place in ``some``
        at[some] = np.arange(len(some), dtype=np.int32)
        parent = host.parent[low:high][some] - np.int32(low)
        above = np.where(parent >= 0, at[np.maximum(parent, 0)], -1)[entries.event]
        del at, parent
        child = np.flatnonzero(above >= 0)
        above = above[child]
        entry = entries.first[above] + entries.window[child] - entries.first_window[above]
        inside = (entries.window[child] >= entries.first_window[above]) & (
            entry < entries.first[above + 1]
        )
        held = np.bincount(entry[inside], entries.idle[child[inside]], len(entries.idle))
        del above, child, entry, inside
        own = entries.idle - held.astype(np.int64)
        del held
        keep = np.flatnonzero(own > 0)
        return _Rows(some[entries.event[keep]] + low, entries.window[keep], own[keep])

    def _touched(self, rows: slice, pieces: Intervals) -> tuple[I64, _Entries]:
        """The events of a thread that touch idle time, and how much of each window they cover."""
        host = self._trace.host
        ts = host.ts[rows]
        end = ts + host.dur[rows]
        # The pieces that an event touches: [begin, stop). Events are in order of their start, and
        # most events of a busy device touch none.
        begin = np.bincount(np.searchsorted(ts, pieces.end), minlength=len(ts) + 1)[:-1]
        np.cumsum(begin, out=begin)
        far = np.iinfo(np.int64).max
        starts = np.append(pieces.start, far)
        some = np.flatnonzero(starts[begin] < end)
        begin, ts, end = begin[some], ts[some], end[some]
        stop = begin + 1  # most touch one piece
        more = np.flatnonzero(starts[stop] < end)
        stop[more] = np.searchsorted(pieces.start, end[more], side="left")
        passed = np.concatenate([np.zeros(1, np.int64), np.cumsum(pieces.end - pieces.start)])
        idle = passed[stop] - passed[begin]
        idle -= np.maximum(ts - pieces.start[begin], 0)
        idle -= np.maximum(pieces.end[stop - 1] - end, 0)
        window = np.searchsorted(self._windows.start, pieces.start, side="right") - 1
        first, last = window[begin], window[stop - 1]
        del starts, begin, stop, more, passed, window
        return some, _by_window(self._windows, pieces, ts, end, first, last, idle)

    def _sum_kinds(self, rows: _Rows, total: I64, sums: dict[str, I64]) -> None:
        """By kind of holder; what none holds of the ``total`` in each window is unrecorded."""
        kind = _KIND[self._trace.host.kind[rows.row]]
        kind[self._hosts.blocking[rows.row]] = KINDS.index("blocking_ns")
        key = rows.window * len(KINDS) + kind
        cells = np.bincount(key, rows.idle, len(total) * len(KINDS)).astype(np.int64)
        covered = np.zeros(len(total), np.int64)
        for name, held in zip(KINDS, cells.reshape(-1, len(KINDS)).T, strict=True):
            # Events that outlive each other (generators) may hold an instant twice: never more
            # than there is.
            part = np.minimum(held, total - covered)
            sums[name] += part
            covered += part
        sums["unrecorded_ns"] += total - covered

    def _frame(self, rows: _Rows, pieces: Mapping[int, Intervals]) -> tuple[str, I64]:
        """The innermost frame of the user's code that holds half of the idle time, and how much.

        From the outermost frame inwards, calls of one name taken together, as long as one name
        holds half of what the heaviest events hold. The time is exact: idle time under that name.
        """
        host, strings = self._trace.host, self._trace.strings
        nothing = np.zeros(len(self._windows), np.int64)
        if not len(rows.row) or not self._hosts.frame.any():
            return "", nothing
        heavy = _largest(rows.idle, HEAVY)
        weight = rows.idle[heavy]
        best, inside = -1, np.ones(len(heavy), np.bool_)
        for level in _from_the_root(host.parent, rows.row[heavy]):
            known = inside & (level >= 0)
            if not known.any():
                break
            names = host.name[level[known]]
            under = np.bincount(names, weight[known])
            code = int(under.argmax())
            if under[code] * 2 < rows.idle.sum():
                break
            inside = known.copy()
            inside[known] = names == code
            if is_own_frame(strings[code]):
                best = code
        if best < 0:
            return "", nothing
        calls = (host.name == best) & self._hosts.frame
        for thread, left in pieces.items():
            nothing += self._within(intersect(left, self._hosts.ranges(calls, [thread])))
        return strings[best], nothing

    def _name_rows(self, rows: _Rows, held: list[list[Held]]) -> None:
        """Keeps the names that hold most, or held the device up longest in one call."""
        host, hosts = self._trace.host, self._hosts
        work = np.flatnonzero(~hosts.marker[rows.row])  # steps are no work
        if not len(work):
            return
        names, idle = host.name[rows.row[work]], rows.idle[work]
        per_name = np.bincount(names, idle)
        kept = set(np.argsort(-per_name, kind="stable")[:MOST_NAMES].tolist())
        kept.update(names[_largest(idle, MOST_CALLS)].tolist())
        codes = np.array(sorted(code for code in kept if per_name[code] > 0), np.int64)
        place_of = np.full(len(self._trace.strings), -1, np.int64)
        place_of[codes] = np.arange(len(codes))
        # One group per window and name, in this order.
        place = place_of[names]
        some = np.flatnonzero(place >= 0)
        key, idle = rows.window[work[some]] * len(codes) + place[some], idle[some]
        count = np.bincount(key)
        groups = np.flatnonzero(count)
        sums = np.bincount(key, idle)[groups].astype(np.int64)
        most = np.zeros(len(count), np.int64)
        np.maximum.at(most, key, idle)
        longest = np.flatnonzero(idle == most[key])[::-1]
        top_of = np.zeros(len(count), np.int64)
        top_of[key[longest]] = longest  # of several the first
        top = work[some[top_of[groups]]]
        length = rows.idle[top]
        rank = np.empty(len(top), np.int64)
        rank[np.argsort(-length, kind="stable")] = np.arange(len(top))
        row = rows.row[top]
        self._find_first(codes, place_of, row)
        columns = (
            row, rows.window[top], count[groups], sums, length, rank, host.name[row],
            host.kind[row], hosts.blocking[row], host.ts[row], host.dur[row],
        )  # fmt: skip
        for one, window, calls, sum_ns, longest_ns, order, code, kind, blocks, ts, dur in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            named = (self._trace.strings[code], KINDS[0 if blocks else _KIND[kind]])
            held[window].append(
                Held(
                    name=self._names.setdefault(named, len(self._names)),
                    count=calls,
                    idle_ns=sum_ns,
                    longest_ns=longest_ns,
                    ts=ts,
                    dur_ns=dur,
                    first=self._first_of(one, code, kind, longest_ns),
                    place=self._place(one) if order < MOST_PLACES else -1,
                )
            )
        for entries in held:
            entries.sort(key=lambda entry: -entry.idle_ns)

    def _first_of(self, row: int, code: int, kind: int, idle_ns: int) -> First:
        """Whether something happens for the first time in a call, where that may explain it."""
        if self._first.get(code) == row:
            return "call"
        if idle_ns < SHORT_NS or kind != _RUNTIME:
            return ""
        by_launch, launch, earliest = self._launched
        low, high = np.searchsorted(launch, [row, row + 1])
        if low == high:
            return ""
        device, work = self._trace.device, by_launch[low:high]
        return "kernel" if earliest[device.name[work[0]]] == device.ts[work].min() else ""

    @cached_property
    def _launched(self) -> tuple[I64, I32, I64]:
        """Device rows in order of their call, those calls, and each name's earliest start."""
        device = self._trace.device
        by_launch = np.argsort(device.launch, kind="stable")
        earliest = np.full(len(self._trace.strings), np.iinfo(np.int64).max)
        np.minimum.at(earliest, device.name, device.ts)
        return by_launch, device.launch[by_launch], earliest

    def _find_first(self, codes: I64, place_of: I64, candidates: I64) -> None:
        """The earliest event of each of these names, on any thread.

        Only ``candidates`` are asked about, at least one of each name: nothing that begins after
        the first of each can be the earliest.
        """
        host, bounds = self._trace.host, self._hosts.first
        earliest = np.full(len(codes), np.iinfo(np.int64).max)
        np.minimum.at(earliest, place_of[host.name[candidates]], host.ts[candidates])
        latest = int(earliest.max())
        parts = []
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            stop = low + int(np.searchsorted(host.ts[low:high], latest, side="right"))
            parts.append(low + where(take(place_of >= 0, host.name[low:stop])))
        rows = np.concatenate(parts)
        place, ts = place_of[host.name[rows]], host.ts[rows]
        np.minimum.at(earliest, place, ts)
        hit = ts == earliest[place]
        first = np.zeros(len(codes), np.int64)
        first[place[hit]] = rows[hit]  # of several the last that is written stays
        self._first.update(zip(codes.tolist(), first.tolist(), strict=True))

    def _place(self, row: int) -> int:
        """The op and the line of code around an event."""
        strings = self._trace.strings
        op, own, frame = self._around(int(self._trace.host.parent[row]))
        line = own if own >= 0 else frame
        place = Place(strings[op] if op >= 0 else "", strings[line] if line >= 0 else "")
        return self._places.setdefault(place, len(self._places))

    def _around(self, row: int) -> _Around:
        """What an event and those above it say of the place; each event is asked once."""
        host, known = self._trace.host, self._known
        above, kinds, names = host.parent.item, host.kind.item, host.name.item
        path = []
        while row >= 0 and row not in known:
            path.append(row)
            row = above(row)
        around = known.get(row, _NOWHERE)
        for at in reversed(path):
            kind = kinds(at)
            if kind == _OP:
                around = (names(at), *around[1:])
            elif kind == _PYTHON:
                name = names(at)
                is_frame, is_own = self._frame_name(name)
                if is_frame:
                    around = (around[0], name if is_own else around[1], name)
            known[at] = around
        return around

    def _frame_name(self, code: int) -> tuple[bool, bool]:
        """Whether a name is that of a line of code, and whether that is the user's."""
        found = self._frames.get(code)
        if found is None:
            name = self._trace.strings[code]
            found = self._frames[code] = _FRAME.match(name) is not None, is_own_frame(name)
        return found


@lru_cache(maxsize=4096)
def is_own_frame(name: str) -> bool:
    """Whether a Python frame is of the user's code, not of torch or the standard library."""
    match = _FRAME.match(name)
    if match is None:
        return False
    parts = match["file"].removeprefix("/").split("/")
    if parts[0] in ("torch", "<frozen") or "/torch/" in match["file"]:
        return False
    if any(re.fullmatch(r"python3\.\d+", part) for part in parts[:-1]) and not any(
        part.endswith("-packages") for part in parts
    ):
        return False
    module = parts[0].removesuffix(".py")
    return module not in sys.stdlib_module_names


class _Entries(NamedTuple):
    """Events by the windows they touch; those of event i are [first[i], first[i + 1])."""

    first: I64
    first_window: I64  # of each event
    event: I64  # of each entry
    window: I64
    idle: I64


def _by_window(
    windows: Windows, pieces: Intervals, ts: I64, end: I64, low: I64, high: I64, idle: I64
) -> _Entries:
    """Idle time of events, cut at the edges of the windows [low, high] that each touches."""
    spans = high - low + 1
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(spans)])
    events = np.arange(len(ts))
    if not (spans > 1).any():
        return _Entries(first, low, events, low, idle)
    event = np.repeat(events, spans)
    window = np.arange(len(event)) - first[event] + low[event]
    cut = np.flatnonzero(spans[event] > 1)
    values = idle[event]
    values[cut] = length_before(pieces, np.minimum(end[event[cut]], windows.end[window[cut]]))
    values[cut] -= length_before(pieces, np.maximum(ts[event[cut]], windows.start[window[cut]]))
    return _Entries(first, low, event, window, values)


def _timing(pieces: IdlePieces, count: int) -> dict[str, I64]:
    """Whether the next work was launched already, and the idle time in short stretches."""
    length = pieces.end - pieces.start
    known = pieces.launched >= 0
    before = np.where(known, np.clip(pieces.launched - pieces.start, 0, length), 0)
    queued = np.where(known, length - before, 0)
    short = (before > 0) & (length < SHORT_NS)

    def per_window(values: I64) -> I64:
        return np.bincount(pieces.window, values, count).astype(np.int64)

    return {
        "queued_ns": per_window(queued),
        "unlinked_ns": per_window(np.where(known, 0, length)),
        "short_ns": per_window(np.where(short, length, 0)),
        "short_count": per_window(short.astype(np.int64)),
    }


def _capture_ranges(hosts: Hosts, marks: NDArray[np.int8], thread: int) -> Intervals:
    """From the begin of each capture to its end, and to the end of making the graph of it."""
    host = hosts.trace.host
    rows = slice(int(hosts.first[thread]), int(hosts.first[thread + 1]))
    if not marks[rows].any():
        return EMPTY
    found = hosts.ranges(marks >= _ENDS, [thread])
    starts = host.ts[rows][marks[rows] == _BEGINS]
    ends = marks[rows] == _ENDS
    stops = np.sort((host.ts[rows] + host.dur[rows])[ends])
    following = np.searchsorted(stops, starts, side="right")
    closed = following < len(stops)
    return merge(found, union(starts[closed], stops[following[closed]]))


def _capture_mark(name: str) -> int:
    """Whether a name begins or ends the capture of a graph, or is a part of it."""
    if not ("Capture" in name or "GraphInstantiate" in name or "graphs.py" in name):
        return 0
    if _CAPTURE_BEGIN.search(name):
        return _BEGINS
    if _CAPTURE_END.search(name):
        return _ENDS
    return _INSIDE if _CAPTURE_FRAME.search(name) else 0


def _largest(values: I64, count: int) -> I64:
    """The places of the largest values, in no order."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.argpartition(values, len(values) - count)[-count:]


def _from_the_root(parent: I32, rows: I64) -> Iterator[I64]:
    """For each event its outermost ancestor, then the one below it, down to itself, then −1."""
    levels = [rows]
    while (levels[-1] >= 0).any():
        at = levels[-1]
        levels.append(np.where(at >= 0, parent[np.maximum(at, 0)].astype(np.int64), -1))
    chain = np.stack(levels[:-1])  # from itself upwards
    length = (chain >= 0).sum(axis=0)
    for depth in range(len(chain)):
        at = length - 1 - depth
        yield np.where(at >= 0, chain[np.maximum(at, 0), np.arange(len(rows))], -1)
