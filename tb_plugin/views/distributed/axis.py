"""What puts several ranks on one axis? Their clocks, and arrows that join their collectives.

The Trace view shows up to eight workers. ``clocks`` says what to add to the wall clock of each, and
how well that is known; where clocks cannot be fitted, why they are shown as recorded. ``joined``
are the collectives in its window: one arrow to each other worker from the one that came last, which
lets them go on; of a broadcast from its root, of a message from its sender.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from ...analysis.distributed.comparison import Comparison
from ...analysis.timeline.locate import slices_of_rows
from ...analysis.timeline.timeline import TIMELINE, Opened, layout_for
from ...base.arrays import I32, I64
from ...base.errors import QueryError
from ..compared import Compared, compared_around
from ..view import Subject
from . import contract as answers

MOST_OTHERS = 7
MOST_JOINED = 200
"""Collectives that are joined in one window: those with most between first and last start."""


def clocks(subject: Subject, query: answers.AxisQuery) -> answers.RankClocks:
    """The clocks of some workers, relative to the requested trace.

    Raises:
        QueryError: no workers, or too many.
        NotReadyError: one of them is being read.
    """
    names = _names(query.workers)
    found = compared_around(subject, names)
    of, rows = found.comparison.clocks, _rows(found)
    own = rows.get(_own(subject), -1)
    return answers.RankClocks(
        clocks=tuple(_clock(found, name, own, rows.get(name, -1)) for name in names),
        fitted=of.fitted,
        comparable=of.comparable,
        sentence=of.reason,
        ranks=len(found.workers),
    )


def _clock(found: Compared, name: str, own: int, row: int) -> answers.RankClock:
    if row < 0 or own < 0:
        why = {one.place.worker: problem for one, problem, _ in found.others}
        return answers.RankClock(name, None, 0, None, why.get(name, "It takes no part."))
    of = found.comparison.clocks
    first, other = of.uncertainty_ns[[own, row]].tolist()
    # What is known of each is known beside the first rank of the run.
    beside = other if own == 0 else first if row == 0 else first + other
    return answers.RankClock(
        worker=name,
        rank=found.comparison.rank(row),
        correction_ns=int(of.offset_ns[own] - of.offset_ns[row]) if of.fitted else 0,
        uncertainty_ns=beside if min(first, other) >= 0 else None,
        problem="",
    )


def joined(subject: Subject, query: answers.JoinedQuery) -> answers.JoinedCollectives:
    """The collectives of some workers in a window, as arrows between their slices.

    Raises:
        QueryError: no workers, too many, or not as many offsets.
        NotReadyError: one of them is being read, or prepared.
    """
    names = _names(query.workers)
    offsets = _offsets(query.offsets, len(names))
    found = compared_around(subject, names)
    rows = _rows(found)
    shown = [
        _Shown(source, rows[name], offset)
        for source, (name, offset) in enumerate(zip((_own(subject), *names), offsets, strict=True))
        if name in rows
    ]
    calls = _calls(found.comparison, shown)
    inside = _touching(calls, query.start_ns, query.end_ns)
    skew = found.comparison.waiting.skew_ns
    chosen = np.sort(inside[np.argsort(-skew[inside], kind="stable")[:MOST_JOINED]])
    ends = [
        _slices(subject, found, one.digest, calls.raw[chosen, column], query.layout)
        for column, one in enumerate(shown)
    ]
    arrows = [
        arrow
        for place, i in enumerate(chosen.tolist())
        for arrow in _arrows(found.comparison, i, calls, shown, [one[place] for one in ends])
    ]
    return answers.JoinedCollectives(tuple(arrows), len(inside), len(chosen))


class _Shown(Struct, frozen=True):
    """One recording of the axis."""

    source: int  # 0: the trace that is asked for
    digest: int
    offset_ns: int


class _Calls(Struct, frozen=True, eq=False):
    """The collectives of a run on the shown recordings: columns of shape (I, C)."""

    row: I32  # −1: takes no part
    raw: I64  # row of the file
    arrival_ns: I64  # on the axis
    release_ns: I64


def _calls(of: Comparison, shown: Sequence[_Shown]) -> _Calls:
    shape = len(of.matches), len(shown)
    row = np.full(shape, -1, np.int32)
    raw, arrival, release = (np.full(shape, -1, np.int64) for _ in range(3))
    collective = of.matches.collective
    for column, one in enumerate(shown):
        entries, calls = of.matches.entries_of(one.digest), of.digests[one.digest].calls
        here, at = collective[entries], of.matches.call[entries]
        row[here, column] = at
        raw[here, column] = calls.raw[at]
        arrival[here, column] = calls.arrival_ns[at] + one.offset_ns
        release[here, column] = calls.release_ns[at] + one.offset_ns
    return _Calls(row, raw, arrival, release)


def _touching(calls: _Calls, start: int, end: int) -> I64:
    """The collectives of two shown recordings or more that touch a window."""
    there, far = calls.row >= 0, np.iinfo(np.int64).max
    first = np.where(there, calls.arrival_ns, far).min(axis=1, initial=far)
    last = np.where(there, calls.release_ns, -far).max(axis=1, initial=-far)
    found: I64 = np.flatnonzero((there.sum(axis=1) > 1) & (first < end) & (last > start))
    return found


def _arrows(
    of: Comparison,
    instance: int,
    calls: _Calls,
    shown: Sequence[_Shown],
    ends: Sequence[answers.JoinedEnd | None],
) -> list[answers.JoinedArrow]:
    """From the recording that lets the others go on to each of them."""
    known = {column: end for column, end in enumerate(ends) if end is not None}
    if len(known) < 2:
        return []
    leader = _leader(of, instance, calls, shown, list(known))
    last = int(of.waiting.last[instance])
    skew = int(of.waiting.skew_ns[instance])
    return [
        answers.JoinedArrow(
            operation=of.matches.kind[instance],
            group=of.groups[of.matches.group[instance]].label,
            start_source=shown[leader].source,
            start=known[leader],
            end_source=shown[column].source,
            end=end,
            skew_ns=skew if skew >= 0 else None,
            last=f"rank {of.rank(last)}" if last >= 0 else "",
        )
        for column, end in known.items()
        if column != leader
    ]


def _leader(
    of: Comparison, instance: int, calls: _Calls, shown: Sequence[_Shown], here: Sequence[int]
) -> int:
    """The sender, the root, the last to start; of those that are shown, if it is none of them."""
    place = {shown[column].digest: column for column in here}
    if of.matches.kind[instance] == "send":
        for m, column in place.items():
            one = of.digests[m]
            if one.text(int(one.calls.kind[calls.row[instance, column]])) == "send":
                return column
    for m in (int(of.matches.root[instance]), int(of.waiting.last[instance])):
        if m in place:
            return place[m]
    if of.clocks.comparable:
        return max(here, key=lambda c: int(calls.arrival_ns[instance, c]) - shown[c].offset_ns
                   + int(of.clocks.shift_ns[shown[c].digest]))  # fmt: skip
    length = calls.release_ns[instance] - calls.arrival_ns[instance]
    return min(here, key=lambda c: int(length[c]))


def _slices(
    subject: Subject, found: Compared, digest: int, raw: I64, layout: str
) -> list[answers.JoinedEnd | None]:
    """The slices of rows of a recording; None where there is none, or the layout hides it."""
    place = found.workers[digest].place
    facts = subject.recordings.subject(place).facts
    opened: Opened = subject.recordings.artifact(place, TIMELINE, layout_for(facts, layout))
    slices, ids = opened.timeline.slices, slices_of_rows(opened.timeline.slices, raw)
    result: list[answers.JoinedEnd | None] = []
    for one in ids.tolist():
        lane = int(opened.layout.lane[one]) if one >= 0 else -1
        track = int(opened.track_of_lane[lane])
        result.append(
            answers.JoinedEnd(
                slice=one,
                track=track,
                lane=lane - opened.layout.tracks[track].lane,
                ts=int(slices.ts[one]),
                dur=int(slices.dur[one]),
            )
            if track >= 0
            else None
        )
    return result


# --- what is asked --------------------------------------------------------------------------------


def _own(subject: Subject) -> str:
    own = subject.recordings.own
    return own.worker if own is not None else ""


def _rows(found: Compared) -> Mapping[str, int]:
    """Worker → row of its digest."""
    return {one.place.worker: row for row, one in enumerate(found.workers)}


def _names(text: str) -> tuple[str, ...]:
    """The workers of a list; a comma in a name is ``%2C``, a percent sign ``%25``."""
    names = tuple(
        dict.fromkeys(one.replace("%2C", ",").replace("%25", "%") for one in text.split(",") if one)
    )
    if not 0 < len(names) <= MOST_OTHERS:
        raise QueryError(
            f"workers: {len(names)} are named",
            hint=f"Name 1 to {MOST_OTHERS} beside the one that is asked for.",
        )
    return names


def _offsets(text: str, count: int) -> tuple[int, ...]:
    """0 for the requested trace, and ns to add to the times of each other."""
    parts = text.split(",")
    if len(parts) != count or not all(re.fullmatch(r"-?\d{1,18}", one) for one in parts):
        raise QueryError(
            f"offsets: {text[:40]!r} are no {count} numbers", hint="Write them as -12,34."
        )
    return (0, *(int(one) for one in parts))
