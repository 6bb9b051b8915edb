"""Whose own work made a rank late at a collective: its own, or that of a rank it had waited for?

A rank that waits in one group comes late to the next one, and looks as if it held that up. So from
the last arrival of each collective the way that binds it in the replay is followed back,

    rank 0  ████████ tp                own work: the origin of both
    rank 1  ██ tp ░░░░░░ dp            last at dp, and has inherited that
    rank 3  ██          dp ░░░░░░      waits for rank 1

to the release that it depends on, and from there to the arrival that this release waited for,
until a rank's own work since is in excess by at least half of its lateness. That rank, at that
collective, is the *origin*; all others on the way inherited it. Where the way ends at the start of
the recording the lateness was brought in, and nobody in it is the origin.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ....base.arrays import I32, I64
from ..waiting import Waiting
from .own_time import TIE_NS, OwnTime
from .replay import JointGraph

OWN_PART = 0.5
"""Part of a rank's lateness that must be its own excess for it to be the origin."""
MOST_HOPS = 64
"""Collectives that a way is followed back over."""


class Origins(Struct, frozen=True, eq=False):
    """Per collective (I,) where the lateness of its last rank came from."""

    member: I32  # digest; −1: nobody's own work, a tie, or not known
    collective: I32  # at which that rank was late by its own work; −1


def origins(joint: JointGraph, own: OwnTime, waiting: Waiting) -> Origins:
    """The origin of the lateness at each collective; O(edges + collectives × way)."""
    matches = joint.matches
    member = np.full(len(matches), -1, np.int32)
    collective = np.full(len(matches), -1, np.int32)
    ways = _Ways(joint, own)
    last = waiting.last[matches.collective] == matches.member
    for entry in np.flatnonzero(last & (joint.arrival >= 0)).tolist():
        found = ways.origin(entry)
        if found >= 0:
            at = ways.collective[entry]
            member[at], collective[at] = matches.member[found], ways.collective[found]
    return Origins(member, collective)


class _Ways:
    """The edge that binds each point of the replay, and each rank's excess up to each entry."""

    def __init__(self, joint: JointGraph, own: OwnTime) -> None:
        self.joint = joint
        times = joint.times()
        binds = np.flatnonzero(times[joint.source] + joint.weight == times[joint.target])
        self.before: I64 = np.full(joint.graph.points, -1, np.int64)
        self.before[joint.target[binds]] = joint.source[binds]
        known = np.flatnonzero(joint.arrival >= 0)
        self.arriving: I64 = np.full(joint.graph.points, -1, np.int64)
        self.arriving[joint.arrival[known]] = known
        self.released: I64 = np.full(joint.graph.points, -1, np.int64)
        self.released[joint.release[known]] = known
        self.collective = joint.matches.collective
        self.time: I64 = np.where(joint.arrival >= 0, times[joint.arrival], 0)
        self.excess: I64 = np.zeros(len(joint.arrival), np.int64)  # up to and with each entry
        for m in range(len(joint.steps)):
            here = joint.entries_of(m)
            self.excess[here] = np.cumsum(own.excess_ns[here])
        self.known: dict[int, int] = {}

    def origin(self, entry: int) -> int:
        """The entry at which the lateness of another began; −1 nowhere."""
        way: list[int] = []
        found = -1
        while entry >= 0 and len(way) < MOST_HOPS:
            if entry in self.known:
                found = self.known[entry]
                break
            way.append(entry)
            late = self._lateness(entry)
            if late <= TIE_NS:
                break
            since, bound_by = self._bound(entry)
            own = int(self.excess[entry]) - (int(self.excess[since]) if since >= 0 else 0)
            if own >= OWN_PART * late:
                found = entry
                break
            entry = bound_by
        self.known.update(dict.fromkeys(way, found))
        return found

    def _lateness(self, entry: int) -> float:
        """Delay behind the median of the others; 0 alone."""
        here = np.arange(self.joint.matches.first[self.collective[entry]],
                         self.joint.matches.first[self.collective[entry] + 1])  # fmt: skip
        others = here[(here != entry) & (self.joint.arrival[here] >= 0)]
        return float(self.time[entry] - np.median(self.time[others])) if len(others) else 0.0

    def _bound(self, entry: int) -> tuple[int, int]:
        """The rank's own entry whose release binds it, and the arrival that this waited for."""
        point = int(self.joint.arrival[entry])
        while point >= 0:
            since = int(self.released[point])
            point = int(self.before[point])
            if since >= 0:
                arrival = int(self.before[point]) if point >= 0 else -1
                return since, int(self.arriving[arrival]) if arrival >= 0 else -1
        return -1, -1
