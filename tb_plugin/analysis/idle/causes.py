"""Causes of idle time: one at every instant; holders, and the longest gaps.

A gap is cut at the launch that ended it (``gaps``). What comes before the launch is the host's:
each instant counts as what the thread of the launch was in (``holders``, ``roles``). Where that
thread recorded nothing, as a thread of autograd before its first op, it is the main thread's turn,
which called it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import (
    I8,
    I32,
    I64,
    distinct,
    distinct_values,
    search,
    take,
    where,
)
from ...base.group_sums import first_largest, group_sums
from ...base.intervals import (
    EMPTY,
    Intervals,
    complement,
    intersect,
    length_within,
    merge,
    overlaps,
    subtract,
    union,
)
from ...base.machine import side_by_side
from ..device_work import DeviceWork
from ..facts import IDLE_CAUSES, Gap, Idle, Learned, Spot
from ..steps import Windows
from .dependencies import GraphNodes
from .gaps import DeviceSide, Ending, IdlePieces, device_side, idle_pieces, learn
from .holders import HeldRows, covered, holders, largest, outermost_first, together
from .model import CAUSE, CAUSES
from .names import HeldNames
from .places import is_own_frame
from .roles import FIRST_CALL_NS, LOADS_CODE

SHORT_NS = 1_000_000  # idle stretches below this are what one launch after another leaves
SLOW_LAUNCH_NS = 50_000  # a launch is slow above this …
SLOW_LAUNCH_RATIO = 10  # … and above so many times the median of the calls of its name
MOST_GAPS, GAPS_PER_STEP = 1_500, 8
HEAVY = 2_000  # events that the frame is told from, the heaviest first

_COUNT = len(CAUSES)
# Of the name of what held a device: its number; ns in the gap; start, duration, place of the event.
_Holder = tuple[int, int, int, int, int, Spot]
_NOBODY: _Holder = (-1, 0, -1, 0, -1, Spot())
_NOTHING_RECORDED = {True: "uninstrumented", False: "unattributed"}  # by: the launch is known


class StartUp(Struct, frozen=True, eq=False):
    """When a device did nothing because first calls started the process, and those calls."""

    time: Intervals
    rows: HeldRows


class CauseTable(Struct, frozen=True, eq=False):
    """The idle time of one device: ``ns`` by step and cause, and the rest of each step."""

    ns: I64  # shape (steps, causes)
    idle: list[Idle]
    learned: Learned
    start_up: Intervals  # no idle time


class IdleByPiece(Struct, frozen=True, eq=False):
    """Every stretch of idle time of one device with its causes, and the events that held it."""

    pieces: IdlePieces
    ns: I64  # shape (pieces, causes); each row sums to the length of its piece
    rows: HeldRows  # ``window`` is the piece


class IdleCauses:
    """The idle time of the devices of a trace; what held them goes into ``names``."""

    def __init__(self, names: HeldNames, windows: Windows) -> None:
        self._trace, self._hosts, self._roles = names.trace, names.hosts, names.roles
        self._windows = windows
        self._names = names
        self._following: dict[str, int] = {}
        self._recorded: dict[int, Intervals] = {}
        self._start_up: dict[int, StartUp] = {}

    @property
    def following(self) -> tuple[str, ...]:
        """The names that ``Gap.following`` counts."""
        return tuple(self._following)

    def by_piece(self, work: DeviceWork) -> IdleByPiece:
        """The causes of every stretch of idle time."""
        pieces = self.pieces(work)
        side = device_side(self._trace, pieces, learn(work))
        each = _HostSide(self, pieces, side, Intervals(pieces.start, pieces.end))
        return IdleByPiece(pieces, each.ns, each.rows)

    def pieces(self, work: DeviceWork) -> IdlePieces:
        """The idle time of a device, which start-up is no part of."""
        pieces = idle_pieces(work, self._hosts.main, self._windows)
        return pieces.without(self.start_up(work).time)

    def start_up(self, work: DeviceWork) -> StartUp:
        """The time without work under first calls of the thread that launched the next work.

        Steps that follow do not pay for it, so that it is no idle time anywhere.
        """
        if work.device not in self._start_up:
            calls, host = self._first_calls, self._trace.host
            pieces = idle_pieces(work, self._hosts.main, self._windows)
            spans = union(host.ts[calls], host.ts[calls] + host.dur[calls])
            touched = distinct_values(overlaps(Intervals(pieces.start, pieces.end), spans)[0])
            pieces = pieces.only(touched)
            side = device_side(self._trace, pieces, learn(work))
            found = _HostSide(self, pieces, side, self._frames)
            rows = found.rows.only(np.flatnonzero(found.rows.cause == CAUSE["start_up"]))
            self._start_up[work.device] = StartUp(merge(EMPTY, *found.start_up), rows)
        return self._start_up[work.device]

    @cached_property
    def _first_calls(self) -> I32:
        """Calls that start the process."""
        long = where(self._hosts.runtime & (self._trace.host.dur >= FIRST_CALL_NS))
        return take(long, where(self._roles.of(long) == CAUSE["start_up"]))

    @property
    def _frames(self) -> Intervals:
        return Intervals(self._windows.start, self._windows.end)

    def of_device(self, work: DeviceWork) -> CauseTable:
        """The causes of each step sum to the idle time of the device in it."""
        learned = learn(work)
        pieces, windows = self.pieces(work), self._frames
        side = device_side(self._trace, pieces, learned)
        longest = _longest_per_window(pieces, len(windows))
        some = Intervals(pieces.start[longest], pieces.end[longest])
        # Only then names are numbered, in one order.
        whole, single = side_by_side(
            lambda: _HostSide(self, pieces, side, windows),
            lambda: _HostSide(self, pieces.only(longest), side.only(longest), some),
        )
        frame, frame_ns = self._frame(whole)
        held = self._names.held(whole.rows, len(windows), CAUSES)
        if self._nodes is not None:
            rows = _node_rows(self._nodes, pieces, side, pieces.window)
            of_nodes = self._names.held_by_nodes(self._nodes, rows, len(windows))
            held = [(*one, *more) for one, more in zip(held, of_nodes, strict=True)]
        start_up = self.start_up(work)
        first = self._names.held(start_up.rows, len(windows), CAUSES)
        held = [(*one, *more) for one, more in zip(held, first, strict=True)]
        gaps = self._gaps(pieces.only(longest), side.only(longest), single, len(windows))
        timing = _timing(pieces, len(windows))
        idle = [
            Idle(
                **{name: int(values[i]) for name, values in timing.items()},
                frame=frame,
                frame_ns=int(frame_ns[i]),
                held=held[i],
                gaps=gaps[i],
            )
            for i in range(len(windows))
        ]
        return CauseTable(whole.ns, idle, learned, start_up.time)

    def rows_of_device(self, work: DeviceWork) -> tuple[HeldRows, I64]:
        """Holders of a device in each step, and its idle time by step and cause."""
        pieces = self.pieces(work)
        side = device_side(self._trace, pieces, learn(work))
        whole = _HostSide(self, pieces, side, self._frames)
        return whole.rows, whole.ns

    @cached_property
    def _nodes(self) -> GraphNodes | None:
        return GraphNodes.of(self._trace)

    def recorded(self, thread: int) -> Intervals:
        """When a thread recorded anything."""
        if thread not in self._recorded:
            every = np.ones(len(self._trace.host), np.bool_)
            self._recorded[thread] = self._hosts.ranges(every, [thread])
        return self._recorded[thread]

    # --- single calls -----------------------------------------------------------------------------

    def launch_causes(self, calls: NDArray[np.integer]) -> I8:
        """The cause that the time inside each of these launching calls counts as."""
        if not len(calls):
            return np.empty(0, np.int8)
        host = self._trace.host
        cause = self._roles.of(calls)
        plain = where(cause == CAUSE["launch"])
        plain = plain[take(host.dur, take(calls, plain)) > SLOW_LAUNCH_NS]
        slow = plain[host.dur[calls[plain]] > SLOW_LAUNCH_RATIO * self._usual(calls[plain])]
        if len(slow):
            first = self._names.launches_first(calls[slow]) | self._loads(calls[slow])
            cause[slow[first]] = CAUSE["first_launch"]
        return cause

    def _usual(self, calls: NDArray[np.integer]) -> I64:
        """The median duration of the runtime calls of each call's name."""
        host = self._trace.host
        usual = np.zeros(len(calls), np.int64)
        names = host.name[calls]
        long = host.dur[calls] > SLOW_LAUNCH_NS
        for code in distinct_values(names[long]).tolist():
            alike = where(host.name == code)
            lengths = take(host.dur, alike[take(self._hosts.runtime, alike)])
            middle = len(lengths) // 2
            usual[names == code] = np.partition(lengths, middle)[middle]
        return usual

    def _loads(self, calls: NDArray[np.integer]) -> NDArray[np.bool_]:
        """True if the driver loaded code during a call, by a call inside it or by the recorder."""
        host, strings = self._trace.host, self._trace.strings
        start, end = host.ts[calls], host.ts[calls] + host.dur[calls]
        found = length_within(self._roles.loading, start, end) > 0
        for at, row in enumerate(calls.tolist()):
            inner = row + 1
            while inner < len(host) and host.parent[inner] == row:
                found[at] |= LOADS_CODE.search(strings[host.name[inner]]) is not None
                inner += 1
        return np.asarray(found)

    # --- names ------------------------------------------------------------------------------------

    def _frame(self, side: _HostSide) -> tuple[str, I64]:
        """The innermost frame of the user's code that holds half of the host's part, and its time.

        From the outermost frame inwards, calls of one name taken together, as long as one name
        holds half of what the heaviest events hold. The time is exact: idle time under that name.
        """
        host, strings, rows = self._trace.host, self._trace.strings, side.rows
        nothing = np.zeros(len(side.windows), np.int64)
        if not len(rows.row) or not self._hosts.frame.any():
            return "", nothing
        heavy = largest(rows.idle, HEAVY)
        weight = rows.idle[heavy]
        best, inside = -1, np.ones(len(heavy), np.bool_)
        for level in outermost_first(host.parent, rows.row[heavy]):
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
        for thread, left in side.asked.items():
            inner = intersect(left, self._hosts.ranges(calls, [thread]))
            nothing += length_within(inner, side.windows.start, side.windows.end)
        return strings[best], nothing

    # --- the longest gaps -------------------------------------------------------------------------

    def _gaps(
        self, pieces: IdlePieces, side: DeviceSide, host_side: _HostSide, count: int
    ) -> list[tuple[Gap, ...]]:
        """Each of these stretches as a gap of its window, the longest first.

        ``host_side`` has a window of its own for each of them.
        """
        host, device, strings = self._trace.host, self._trace.device, self._trace.strings
        cause = host_side.ns.argmax(axis=1)
        holders = self._holders(host_side.rows, pieces, side, cause)
        work = pieces.following
        columns = (
            pieces.window, pieces.start, pieces.end - pieces.start, cause,
            host_side.ns[np.arange(len(cause)), cause], _of_rows(host.ts, pieces.call, -1),
            work, _of_rows(device.name, work, -1), _of_rows(device.raw, work, -1),
            _of_rows(device.dur, work, 0),
        )  # fmt: skip
        found: list[list[Gap]] = [[] for _ in range(count)]
        for piece, cells in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            window, ts, dur, code, cause_ns, launch_ts, row, next_name, raw, next_dur = cells
            name, held_ns, held_ts, held_dur_ns, place, spot = holders.get(piece, _NOBODY)
            following, at = -1, Spot()
            if row >= 0:
                text = strings[next_name]
                following = self._following.setdefault(text, len(self._following))
                at = Spot(len(host) + row, raw)
            found[window].append(
                Gap(
                    ts=ts,
                    dur_ns=dur,
                    cause=code,
                    cause_ns=cause_ns,
                    name=name,
                    held_ns=held_ns,
                    held_ts=held_ts,
                    held_dur_ns=held_dur_ns,
                    place=place,
                    following=following,
                    launch_ts=launch_ts,
                    held_spot=spot,
                    following_spot=at,
                    following_dur_ns=next_dur,
                )
            )
        return [tuple(sorted(gaps, key=lambda gap: (-gap.dur_ns, gap.ts))) for gaps in found]

    def _holders(
        self, rows: HeldRows, pieces: IdlePieces, side: DeviceSide, cause: NDArray[np.integer]
    ) -> dict[int, _Holder]:
        """The longest holder of the device in each of some gaps; none if nothing is known."""
        names, host = self._names, self._trace.host
        found: dict[int, _Holder] = {}
        heaviest = rows.only(_heaviest(rows, cause))
        row = heaviest.row
        columns = (
            heaviest.window, row, heaviest.idle, heaviest.cause,
            host.ts[row], host.dur[row], host.raw[row],
        )  # fmt: skip
        for cells in zip(*(column.tolist() for column in columns), strict=True):
            gap, at, ns, code, ts, dur, raw = cells
            name = names.number(at, CAUSES[code])
            found[gap] = name, ns, ts, dur, names.places.of(at), Spot(at, raw)
        if (nodes := self._nodes) is not None:
            each = np.arange(len(pieces.start), dtype=np.int32)
            in_graphs = _node_rows(nodes, pieces, side, each)
            in_graphs = in_graphs.only(_heaviest(in_graphs, cause))
            graph = cause[in_graphs.window] == CAUSE["graph"]
            for at in np.flatnonzero(graph).tolist():
                node, ns = int(in_graphs.row[at]), int(in_graphs.idle[at])
                name = names.node_number(int(nodes.name[node]))
                span = int(nodes.ts[node]), int(nodes.dur[node])
                found[int(in_graphs.window[at])] = name, ns, *span, -1, Spot()
        return found


class _HostSide:
    """The causes of some pieces, by window: the host's part by holder, the device's by rule."""

    def __init__(
        self,
        causes: IdleCauses,
        pieces: IdlePieces,
        side: DeviceSide,
        windows: Intervals,
    ) -> None:
        self._causes, self.windows = causes, windows
        self._cells = np.zeros((len(windows), _COUNT), np.int64)
        self.start_up: list[Intervals] = []
        self.asked: dict[int, Intervals] = {}  # by thread; empty without frames to ask for
        self.rows = together(self._sum(pieces, side))

    @property
    def ns(self) -> I64:
        """Idle time by window and cause."""
        return self._cells[:, : len(IDLE_CAUSES)]

    def _sum(self, pieces: IdlePieces, side: DeviceSide) -> list[HeldRows]:
        trace, hosts = self._causes._trace, self._causes._hosts
        start, ready, ending = pieces.start, side.ready, pieces.ending
        window = (search(self.windows.start, start, "right") - 1).astype(np.int32)
        for name, parts in (
            ("latency", side.latency_ns),
            ("kernel_gap", side.gap_ns),
            ("device_wait", side.wait_ns),
            ("graph", side.graph_ns),
            ("before", side.before_ns),
        ):
            self._add(name, window, parts)
        begun = np.minimum(np.maximum(pieces.begun, start), ready)
        found = [self._launches(pieces.call, window, begun, ready)]
        if not len(trace.threads):
            self._add("unattributed", window, begun - start)
            return found
        causes_have_frames = hosts.frame.any()
        for number in distinct(pieces.thread, len(trace.threads)).tolist():
            turn = pieces.thread == number
            if causes_have_frames:
                some = turn & (ready > begun)
                self._ask(number, Intervals(begun[some], ready[some]))
            for known in (True, False):
                some = turn & (begun > start) & ((ending == Ending.KNOWN) == known)
                left = Intervals(start[some], begun[some])
                found.extend(self._host(number, left, CAUSE[_NOTHING_RECORDED[known]]))
            # What the host was in while the device waited: no cause, but the place to look at.
            some = turn & (side.wait_ns > 0)
            wait = Intervals(pieces.end[some] - side.wait_ns[some], pieces.end[some])
            rows = holders(trace, hosts, number, wait, self.windows)
            found.append(rows.of(np.full(len(rows.row), CAUSE["device_wait"], np.int8)))
        return found

    def _ask(self, thread: int, some: Intervals) -> None:
        """Queue the frames of a thread to be named; no-op without frames."""
        if self._causes._hosts.frame.any():
            self.asked[thread] = merge(self.asked.get(thread, EMPTY), some)

    def _add(self, name: str, window: I32, values: I64) -> None:
        self._cells[:, CAUSE[name]] += group_sums(window, values, len(self.windows)).total

    def _launches(self, call: I32, window: I32, begun: I64, ready: I64) -> HeldRows:
        """Time inside the calls that end the pieces."""
        some = where(ready > begun)
        call, begun, ready = take(call, some), take(begun, some), take(ready, some)
        cause = self._causes.launch_causes(call)
        rows = HeldRows(call, take(window, some), ready - begun, cause)
        key, cells = rows.window * np.int32(_COUNT) + cause, self._cells
        cells += group_sums(key, rows.idle, cells.size).total.reshape(cells.shape)
        starts = cause == CAUSE["start_up"]
        self.start_up.append(union(begun[starts], ready[starts]))
        return rows

    def _host(self, thread: int, left: Intervals, unknown: int) -> list[HeldRows]:
        """The host's part on one thread, and on the main thread where that one records nothing.

        What neither tells counts as the cause ``unknown``.
        """
        if not len(left):
            return []
        hosts, roles = self._causes._hosts, self._causes._roles
        captured = roles.captures(thread)
        if len(captured) and len(left):
            rest = subtract(left, captured)
            self._cells[:, CAUSE["capture"]] += self._within(left) - self._within(rest)
            left = rest
        parts = [(thread, left)]
        if thread != hosts.main and hosts.main >= 0 and len(left):
            alone = subtract(left, self._causes.recorded(thread))
            parts = [(thread, subtract(left, alone)), (hosts.main, alone)]
        found = []
        for one, some in parts:
            rows = holders(hosts.trace, hosts, one, some, self.windows)
            cause = roles.of(rows.row)
            cause[cause == CAUSE["uninstrumented"]] = unknown
            rows = rows.of(cause)
            cells, rest_ns = covered(rows, self._within(some), _COUNT)
            self._cells += cells
            self._cells[:, unknown] += rest_ns
            starts = distinct_values(rows.row[cause == CAUSE["start_up"]])
            self.start_up.extend(intersect(some, self._alone(row)) for row in starts.tolist())
            self._ask(one, some)
            found.append(rows)
        return found

    def _alone(self, row: int) -> Intervals:
        """When an event is the innermost of its thread: no later one is open."""
        host = self._causes._trace.host
        last = int(self._causes._hosts.first[host.thread[row] + 1])
        end = host.ts[row] + host.dur[row]
        inner = slice(row + 1, row + 1 + int(host.ts[row + 1 : last].searchsorted(end)))
        inside = union(host.ts[inner], host.ts[inner] + host.dur[inner])
        return complement(inside, int(host.ts[row]), int(end))

    def _within(self, some: Intervals) -> I64:
        return length_within(some, self.windows.start, self.windows.end)


def _of_rows(column: NDArray[Any], rows: I32, unknown: int) -> I64:
    """The column at each of some rows; −1 is no row."""
    found = np.full(len(rows), unknown, np.int64)
    found[rows >= 0] = column[rows[rows >= 0]]
    return found


def _heaviest(rows: HeldRows, cause: NDArray[np.integer]) -> I64:
    """Of each window the event that holds most of its main cause, else most at all."""
    if not len(rows.row):
        return np.empty(0, np.int64)
    fits = rows.cause == cause[rows.window]
    # What fits is larger than all that does not.
    weight = rows.idle + (fits.astype(np.int64) << 62)
    first = first_largest(rows.window, weight, len(cause))
    return np.asarray(first[first >= 0])


def _node_rows(nodes: GraphNodes, pieces: IdlePieces, side: DeviceSide, window: I32) -> HeldRows:
    """Which nodes (rows) held the device inside graphs, where their edges are recorded."""
    at, node, ns = nodes.waited_for(pieces.following, pieces.end - side.graph_ns, pieces.end)
    return HeldRows(node, window[at], ns, np.full(len(at), CAUSE["graph"], np.int8))


def _longest_per_window(pieces: IdlePieces, count: int) -> I64:
    """The longest pieces of each window, in order of time."""
    if not len(pieces.start):
        return np.empty(0, np.int64)
    most = max(1, min(GAPS_PER_STEP, MOST_GAPS // max(count, 1)))
    length = pieces.end - pieces.start
    found = []
    for _ in range(most):
        longest = first_largest(pieces.window, length, count)
        longest = longest[longest >= 0]
        longest = longest[length[longest] >= 0]
        length[longest] = -1
        found.append(longest)
    return np.sort(np.concatenate(found))


def _timing(pieces: IdlePieces, count: int) -> dict[str, I64]:
    """Idle time with the next work already launched, and idle time in short gaps."""
    length = pieces.end - pieces.start
    known = pieces.launched >= 0
    before = np.minimum(np.maximum(pieces.launched - pieces.start, 0), length)
    before *= known
    queued = (length - before) * known
    short = (before > 0) & (length < SHORT_NS)

    def per_window(values: I64) -> I64:
        return group_sums(pieces.window, values, count).total

    return {
        "queued_ns": per_window(queued),
        "unlinked_ns": per_window(length * ~known),
        "short_ns": per_window(length * short),
        "short_count": per_window(short.astype(np.int64)),
    }
