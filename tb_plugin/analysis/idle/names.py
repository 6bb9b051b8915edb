"""Which names held a device or a thread most: with count, sum, longest call, and where it was?

Without a device it is asked of the thread that runs the steps: each instant belongs to the
innermost event open on it, as exclusive time, and counts as a part of the step.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import (
    I8,
    I32,
    I64,
    chunks,
    distinct_values,
    equal_rows,
    least_of_largest,
    put,
    ranked,
    search,
    take,
    where,
    where_code,
)
from ...base.group_sums import GroupSums, first_largest, group_sums
from ...base.intervals import Intervals, length_within
from ...base.native import call
from ...trace.model import HostKind, Trace
from ..call_tree.paths import innermost
from ..facts import Held, HeldName, HostPartition, Spot
from ..host_activity import HostRole, Hosts
from ..steps import Windows
from .dependencies import GraphNodes
from .holders import HeldRows, holders, largest
from .places import CodePlaces
from .roles import HostCauses

SHORT_NS = 1_000_000  # calls below this are asked for their name's first alone
MOST_NAMES = 24  # kept, the longest sums first, and beside them …
MOST_CALLS = 24  # … the names of the longest single calls
MOST_PLACES = 400
MOST_NODES = 12  # of graphs, by window
MOST_LABELS = 1 << 20  # of which a table is made
_KINDS = max(HostKind) + 1
_RUNTIME = int(HostKind.RUNTIME)

PARTS = tuple(name for name in HostPartition.__struct_fields__ if name != "overlap_ns")
_PART = {name.removesuffix("_ns"): at for at, name in enumerate(PARTS)}
_OF_ROLE = {
    HostRole.DATALOADER: "dataloader",
    HostRole.COMMUNICATION: "communication",
    HostRole.COMPILE: "compile",
    HostRole.OPTIMIZER: "optimizer",
    HostRole.BACKWARD: "backward",
}
_OF_KIND = {
    HostKind.OP: "forward",
    HostKind.ANNOTATION: "uninstrumented",
    HostKind.PYTHON: "python",
    HostKind.MODULE: "forward",
    HostKind.RUNTIME: "runtime",
    HostKind.OVERHEAD: "uninstrumented",
    HostKind.OTHER: "uninstrumented",
}


class HeldNames:
    """Collects names of host events with what their time counts as; each is kept once."""

    def __init__(self, trace: Trace, hosts: Hosts) -> None:
        self.trace, self.hosts, self.roles = trace, hosts, HostCauses(trace, hosts)
        self.places = CodePlaces(trace)
        self._names: dict[tuple[str, str, str], int] = {}
        self._first: dict[int, int] = {}  # name code → row of its first event

    def table(self) -> tuple[HeldName, ...]:
        """All names, in the order of their numbers."""
        return tuple(HeldName(name, kind, cause) for name, kind, cause in self._names)  # type: ignore[arg-type]

    def number(self, row: int, cause: str) -> int:
        """The number of the name of an event under one cause."""
        named = (self.trace.strings[self.trace.host.name[row]], self.roles.kind(row), cause)
        return self._names.setdefault(named, len(self._names))

    def held(self, rows: HeldRows, count: int, causes: tuple[str, ...]) -> list[tuple[Held, ...]]:
        """The names that hold most, or held longest in one call; by window.

        ``causes`` are what the codes in ``rows.cause`` stand for.
        """
        if not len(rows.row):
            return [()] * count
        label, total, occurs = labels_of(self.trace, self.hosts, rows, len(causes))
        known = 1 + where(occurs[1:] > 0)  # steps, at 0, are no work
        kept = np.zeros(len(total), np.bool_)
        kept[known[np.argsort(-total[known], kind="stable")[:MOST_NAMES]]] = True
        _keep_longest(kept, rows.idle, label, int(occurs[0]))
        # One group per window and name, in this order.
        work = where_code(label, kept)
        if not len(work):
            return [()] * count
        number = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        cell = take(rows.window, work)
        if count * np.count_nonzero(kept) >= 1 << 31:
            cell = cell.astype(np.int64)
        cell *= np.count_nonzero(kept)
        cell += take(number, take(label, work))
        idle = take(rows.idle, work)
        keys, group = ranked(cell)
        sums = group_sums(group, idle, len(keys))
        top = work[first_largest(group, idle, len(keys))]
        return self._as_held(rows, top, sums, count, causes)

    def _as_held(
        self, rows: HeldRows, top: I32, sums: GroupSums, count: int, causes: tuple[str, ...]
    ) -> list[tuple[Held, ...]]:
        """One entry for each sum, whose longest part is in ``top``; by window."""
        host = self.trace.host
        row, window, length = rows.row[top], rows.window[top], rows.idle[top]
        self._find_first(row)
        name = self._numbers(row, rows.cause[top], causes)
        place = np.full(len(top), -1, np.int64)
        far = np.sort(np.argsort(-length, kind="stable")[:MOST_PLACES])
        place[far] = [self.places.of(one) for one in row[far].tolist()]
        order = np.lexsort((-sums.total, window))  # of a window the largest sum first
        columns = (
            name, sums.count, sums.total, length, host.ts[row], host.dur[row],
            self._firsts(row, length), place,
        )  # fmt: skip
        spots = map(Spot, row[order].tolist(), host.raw[row[order]].tolist())
        held = list(map(Held, *(column[order].tolist() for column in columns), spots))
        ends = np.cumsum(np.bincount(window, minlength=count)).tolist()
        return [tuple(held[low:high]) for low, high in zip([0, *ends], ends, strict=False)]

    def _numbers(self, row: I32, cause: I8, causes: tuple[str, ...]) -> I64:
        """The numbers of the names of some events, each under its cause."""
        host = self.trace.host
        key = (host.name[row].astype(np.int64) * _KINDS + host.kind[row]) * 2
        key = (key + self.hosts.blocking[row]) * len(causes) + cause
        values, place = ranked(key)
        first = np.empty(len(values), np.int64)
        first[place[::-1]] = np.arange(len(place) - 1, -1, -1)
        number = np.empty(len(values), np.int64)
        for at in np.argsort(first).tolist():  # names are numbered as they come
            one = first[at]
            number[at] = self.number(int(row[one]), causes[cause[one]])
        return number[place]

    def held_by_nodes(self, nodes: GraphNodes, rows: HeldRows, count: int) -> list[list[Held]]:
        """The nodes of graphs (``rows.row``) that held most, by window; the largest sums first."""
        held: list[list[Held]] = [[] for _ in range(count)]
        for some in equal_rows(nodes.name[rows.row], rows.window):
            longest = some[rows.idle[some].argmax()]
            node = int(rows.row[longest])
            held[int(rows.window[longest])].append(
                Held(
                    name=self.node_number(int(nodes.name[node])),
                    count=len(some),
                    idle_ns=int(rows.idle[some].sum()),
                    longest_ns=int(rows.idle[longest]),
                    ts=int(nodes.ts[node]),
                    dur_ns=int(nodes.dur[node]),
                    first="",
                    place=-1,
                )
            )
        return [sorted(one, key=lambda entry: -entry.idle_ns)[:MOST_NODES] for one in held]

    def node_number(self, name: int) -> int:
        """The number of a node of a graph, by the code of its name."""
        named = (self.trace.strings[name], "graph_node", "idle_graph_ns")
        return self._names.setdefault(named, len(self._names))

    def _firsts(self, row: I32, idle: I64) -> NDArray[np.object_]:
        """True if the first use of something in a call may explain its length."""
        host = self.trace.host
        found = np.full(len(row), "", np.object_)
        long = np.flatnonzero((idle >= SHORT_NS) & (host.kind[row] == _RUNTIME))
        if len(long):
            found[long[self.launches_first(row[long])]] = "kernel"
        first = np.full(len(self.trace.strings), -1, np.int64)
        first[list(self._first)] = list(self._first.values())
        found[first[host.name[row]] == row] = "call"
        return found

    def _find_first(self, candidates: I32) -> None:
        """The earliest event of each name of the ``candidates``, on any thread.

        Nothing that begins after the first candidate of each name can be the earliest.
        """
        host, bounds = self.trace.host, self.hosts.first
        codes, place = ranked(host.name[candidates])
        place_of = np.full(len(self.trace.strings), -1, np.int64)
        place_of[codes] = np.arange(len(codes))
        earliest = np.full(len(codes), np.iinfo(np.int64).max)
        np.minimum.at(earliest, place, host.ts[candidates])
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

    def launches_first(self, calls: NDArray[np.integer]) -> NDArray[np.bool_]:
        """True if a call launched a kernel for the first time."""
        by_launch, launch, earliest = self._launched
        device = self.trace.device
        found = np.zeros(len(calls), np.bool_)
        if len(launch) == 0:  # calls were recorded, what they launched was not
            return found
        low = search(launch, calls)
        known = (low < len(launch)) & (launch[np.minimum(low, len(launch) - 1)] == calls)
        work = by_launch[low[known]]
        found[known] = earliest[device.name[work]] == device.ts[work]
        return found

    @cached_property
    def _launched(self) -> tuple[I64, I32, I64]:
        """Device rows in order of their call, those calls, and each name's earliest start."""
        device = self.trace.device
        by_launch = np.argsort(device.launch, kind="stable")
        earliest = np.full(len(self.trace.strings), np.iinfo(np.int64).max)
        np.minimum.at(earliest, device.name, device.ts)
        return by_launch, device.launch[by_launch], earliest


def labels_of(trace: Trace, hosts: Hosts, rows: HeldRows, causes: int) -> tuple[I32, I64, I64]:
    """The label of each entry, and by label the time and the number of entries.

    In order of name and cause; 0 for ranges that mark steps.
    """
    size = len(trace.strings) * causes + 1
    if size <= MOST_LABELS:
        label = np.empty(len(rows.row), np.int32)
        total, occurs = np.zeros(size, np.int64), np.zeros(size, np.int64)
        held = rows.row, rows.cause, rows.idle, len(rows.row)
        host = hosts.marker, trace.host.name, len(hosts.marker), causes
        if call("kinetoscope_held_labels", *held, *host, label, total, occurs, size) is not None:
            return label, total, occurs
    wide = np.zeros(len(rows.row) + 1, np.int64)  # one more, for the label of marks
    for part in chunks(len(rows.row)):
        row = rows.row[part]
        one = trace.host.name[row].astype(np.int64) * causes + rows.cause[part] + 1
        wide[part][: len(row)] = np.where(hosts.marker[row], 0, one)
    label = (wide.astype(np.int32) if size <= MOST_LABELS else ranked(wide)[1])[:-1]
    sums = group_sums(label, rows.idle, int(label.max(initial=0)) + 1)
    return label, sums.total, sums.count


def _keep_longest(kept: NDArray[np.bool_], idle: I64, label: I32, marks: int) -> None:
    """Marks the labels of the entries that last longest; ``marks`` entries have none."""
    if len(idle) > MOST_CALLS + marks:
        some = np.flatnonzero(idle >= least_of_largest(idle, MOST_CALLS + marks))
        some = some[label[some] > 0]
        least = least_of_largest(idle[some], MOST_CALLS)
        kept[label[some[idle[some] > least]]] = True
        tied = distinct_values(label[some[idle[some] == least]])
        tied = tied[~kept[tied]]
        # Which of several equally long ones count is left to numpy, where it matters.
        if len(tied) < 2 or np.count_nonzero(idle[some] >= least) == MOST_CALLS:
            kept[tied] = True
            return
    work = where(label > 0)
    kept[label[work[largest(take(idle, work), MOST_CALLS)]]] = True


# --- without a device ---------------------------------------------------------------------------


def host_held(names: HeldNames, windows: Windows) -> list[tuple[Held, ...]]:
    """The names that the main thread was in, by step, the largest exclusive time first."""
    hosts = names.hosts
    some = windows.end > windows.start
    if hosts.main < 0 or not some.any():
        return [()] * len(windows)
    spans = Intervals(windows.start[some], windows.end[some])
    frames = Intervals(windows.start, windows.end)
    rows = holders(hosts.trace, hosts, hosts.main, spans, frames)
    return names.held(rows.of(_parts_of(hosts, rows.row)), len(windows), PARTS)


def _parts_of(hosts: Hosts, rows: I32) -> I8:
    """The part of the step that each row counts as: by the role around it, else by its kind."""
    host = hosts.trace.host
    of_role = np.full(max(HostRole) + 1, -1, np.int8)
    of_role[list(_OF_ROLE)] = [_PART[name] for name in _OF_ROLE.values()]
    own = take(of_role, hosts.role.view(np.uint8))
    part = take(innermost(own, host.parent), rows)
    part[take(hosts.closures.rows, rows) & (part == _PART["optimizer"])] = -1
    part[take(hosts.in_loader, rows)] = _PART["dataloader"]
    of_kind = np.zeros(max(_OF_KIND) + 1, np.int8)
    of_kind[list(_OF_KIND)] = [_PART[name] for name in _OF_KIND.values()]
    alone = where(part < 0)
    put(part, alone, of_kind[take(host.kind, take(rows, alone))])
    return part


def parallel(trace: Trace, hosts: Hosts, windows: Windows) -> tuple[I64, I64]:
    """By step: time with an op or call open, summed over threads, and how many threads had any."""
    spent = np.zeros(len(windows), np.int64)
    threads = np.zeros(len(windows), np.int64)
    works: NDArray[np.bool_] = hosts.op | hosts.runtime
    for thread in range(len(trace.threads)):
        busy = length_within(hosts.ranges(works, [thread]), windows.start, windows.end)
        spent += busy
        threads += busy > 0
    return spent, threads
