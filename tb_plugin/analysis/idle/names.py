"""Which names held a device or a thread most: with count, sum, longest call, and where it was?

Without a device it is asked of the thread that runs the steps: each instant belongs to the
innermost event open on it, as exclusive time, and counts as a part of the step.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I8, I32, I64, equal_rows, put, ranked, take, where
from ...base.group_sums import group_sums
from ...base.intervals import Intervals, length_within
from ...trace.model import HostKind, Trace
from ..call_tree.paths import innermost
from ..facts import First, Held, HeldName, HostPartition, Spot
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
        host, hosts = self.trace.host, self.hosts
        held: list[list[Held]] = [[] for _ in range(count)]
        work = where(~take(hosts.marker, rows.row))  # steps are no work
        if not len(work):
            return [()] * count
        idle = take(rows.idle, work)
        label = take(host.name, take(rows.row, work)) * np.int32(len(causes))
        label += take(rows.cause, work)
        labels, place = ranked(label)
        del label
        per_label = group_sums(place, idle, len(labels)).total
        kept = np.zeros(len(labels), np.bool_)
        kept[np.argsort(-per_label, kind="stable")[:MOST_NAMES]] = True
        kept[place[largest(idle, MOST_CALLS)]] = True
        # One group per window and name, in this order.
        some = where(take(kept, place))
        work = take(work, some)
        idle = take(idle, some)
        place = take(place, some)
        del some
        cell = take(rows.window, work)
        if count * len(labels) >= 1 << 31:
            cell = cell.astype(np.int64)
        cell *= len(labels)
        cell += place
        del place
        keys, group = ranked(cell)
        del cell
        sums = group_sums(group, idle, len(keys))
        most = np.zeros(len(keys), np.int64)
        np.maximum.at(most, group, idle)
        longest = where(idle == take(most, group))[::-1]
        top_of = np.zeros(len(keys), np.int64)
        top_of[group[longest]] = longest  # of several the first
        top = work[top_of]
        length = rows.idle[top]
        rank = np.empty(len(top), np.int64)
        rank[np.argsort(-length, kind="stable")] = np.arange(len(top))
        row = rows.row[top]
        self._find_first(row)
        columns = (
            row, rows.window[top], sums.count, sums.total, length, rank, host.name[row],
            host.kind[row], hosts.blocking[row], rows.cause[top], host.ts[row], host.dur[row],
            host.raw[row],
        )  # fmt: skip
        known: dict[tuple[int, int, bool, int], int] = {}  # numbers of names
        for one, window, calls, sum_ns, longest_ns, order, code, kind, blocking, cause, *of in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            key = code, kind, blocking, cause
            if (name := known.get(key)) is None:
                name = known[key] = self.number(one, causes[cause])
            ts, dur, raw = of
            held[window].append(
                Held(
                    name=name,
                    count=calls,
                    idle_ns=sum_ns,
                    longest_ns=longest_ns,
                    ts=ts,
                    dur_ns=dur,
                    first=self._first_of(one, code, kind, longest_ns),
                    place=self.places.of(one) if order < MOST_PLACES else -1,
                    spot=Spot(one, raw),
                )
            )
        return [tuple(sorted(entries, key=lambda entry: -entry.idle_ns)) for entries in held]

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

    def _first_of(self, row: int, code: int, kind: int, idle_ns: int) -> First:
        """Whether something happens for the first time in a call, where that may explain it."""
        if self._first.get(code) == row:
            return "call"
        if idle_ns < SHORT_NS or kind != _RUNTIME:
            return ""
        return "kernel" if self.launches_first(np.array([row]))[0] else ""

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
        """Whether a call launched a kernel for the first time."""
        by_launch, launch, earliest = self._launched
        device = self.trace.device
        found = np.zeros(len(calls), np.bool_)
        if len(launch) == 0:  # calls were recorded, what they launched was not
            return found
        low = np.searchsorted(launch, calls)
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
    own = np.full(len(host), -1, np.int32)
    for role, name in _OF_ROLE.items():
        own[where(hosts.with_role(role))] = _PART[name]
    part = take(innermost(own, host.parent), rows).astype(np.int8)
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
