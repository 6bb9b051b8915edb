"""The contents of a range of time: sums by name, devices, counters, call tree, single slices."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...analysis.call_tree.flame import folded
from ...analysis.facts import Facts
from ...analysis.timeline.range.devices import devices_in, series_in
from ...analysis.timeline.range.flame import flame_in
from ...analysis.timeline.range.slices import rows_in
from ...analysis.timeline.range.sums import Area, NameSums, sums_in
from ...analysis.timeline.timeline import Opened
from ...analysis.timeline.tracks import device_key
from ...base.intervals import Intervals
from ..shared import Flame, flame_of
from ..view import Subject
from .common import check_range, opened_of, tracks
from .contract import (
    AreaAnswer,
    AreaCounter,
    AreaRow,
    SliceRow,
    SliceRows,
)
from .queries import AreaQuery, FlameQuery, FoldedRangeQuery, RangeQuery, RowsQuery


def _start_up(facts: Facts) -> dict[str, Intervals]:
    """When no device was idle because the process started, by the key of its group."""
    return {
        device_key(one.type, one.index): Intervals(*np.array(one.start_up, np.int64).T)
        for one in facts.devices
        if one.start_up
    }


def area(subject: Subject, query: AreaQuery) -> AreaAnswer:
    """Sums by name over the chosen tracks; devices and counters whatever the tracks.

    Raises:
        QueryError: the range is empty, or a track does not exist.
    """
    opened, where = _where(subject, query)
    sums = sums_in(opened, where)
    head, start_up = subject.facts.head_ns, _start_up(subject.facts)
    devices = devices_in(opened, where.start, where.end, head, start_up)
    return AreaAnswer(
        start_ns=where.start,
        end_ns=where.end,
        slices=sums.slices,
        clipped=sums.clipped,
        total_ns=int(sums.total.sum()),
        rows=_rows(opened, sums, where.length, query.limit),
        row_count=len(sums.name),
        devices=devices,
        devices_missing="" if devices else subject.facts.unavailable.get("devices", ""),
        counters=_counters(opened, where),
    )


def _where(subject: Subject, query: RangeQuery) -> tuple[Opened, Area]:
    check_range(query.start_ns, query.end_ns)
    opened = opened_of(subject, query.layout)
    return opened, Area(query.start_ns, query.end_ns, tracks(query.tracks, opened))


def _rows(opened: Opened, sums: NameSums, length: int, limit: int) -> tuple[AreaRow, ...]:
    kinds = opened.timeline.slices.kind
    columns = (
        sums.name,
        sums.count,
        sums.total,
        sums.self_ns,
        sums.least,
        sums.median,
        sums.p95,
        sums.most,
        sums.longest,
    )
    return tuple(
        AreaRow(
            name=name,
            text=opened.timeline.names[name],
            kind=int(kinds[longest]),
            count=count,
            total_ns=total,
            self_ns=own,
            min_ns=least,
            mean_ns=total / count,
            p50_ns=median,
            p95_ns=p95,
            max_ns=most,
            share=total / length,
            longest=longest,
        )
        for name, count, total, own, least, median, p95, most, longest in zip(
            *(column[:limit].tolist() for column in columns), strict=True
        )
    )


def _counters(opened: Opened, where: Area) -> tuple[AreaCounter, ...]:
    found = []
    for number, counter in enumerate(opened.timeline.counters):
        use = series_in(counter, where.start, where.end)
        values = (use.low, use.high, use.mean, use.delta)
        low, high, mean, delta = (
            value if value is not None and math.isfinite(value) else None for value in values
        )
        found.append(AreaCounter(number, counter.label, counter.unit, low, high, mean, delta))
    return tuple(found)


def flame(subject: Subject, query: FlameQuery) -> Flame:
    """The call tree of the threads that the chosen tracks belong to, and of the chosen streams.

    Raises:
        QueryError: the range is empty, or a track does not exist.
    """
    tree = flame_in(*_where(subject, query), query.metric)
    unit, compiled = "count" if query.metric == "count" else "ns", subject.facts.compiled
    return flame_of(tree, unit, query.min_share, compiled=compiled)


def folded_stacks(subject: Subject, query: FoldedRangeQuery) -> Iterator[bytes]:
    """The same tree whole, a line per path: names joined by ";", a blank, ns or slices.

    Raises:
        QueryError: the range is empty, or a track does not exist.
    """
    return (line.encode() for line in folded(flame_in(*_where(subject, query), query.metric)))


def folded_name(subject: Subject, query: FoldedRangeQuery) -> str:
    """The name of the downloaded file; other programs know its ending."""
    del subject
    return f"{query.metric}.stacks"


def rows(subject: Subject, query: RowsQuery) -> SliceRows:
    """A window of the slices, sorted and filtered.

    Raises:
        QueryError: the range is empty, or a track does not exist.
    """
    opened, where = _where(subject, query)
    found = rows_in(opened, where, query.text, query.sort, query.offset, query.limit)
    slices, ids = opened.timeline.slices, found.ids
    tracks_of = opened.track_of_lane[opened.layout.lane[ids]]
    columns = (
        ids,
        slices.name[ids],
        slices.kind[ids],
        tracks_of,
        slices.ts[ids],
        slices.dur[ids],
        slices.self_ns[ids],
        slices.step[ids],
    )
    names = opened.timeline.names
    made = tuple(
        SliceRow(one, names[name], kind, track, ts, dur, own, step)
        for one, name, kind, track, ts, dur, own, step in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )
    return SliceRows(made, query.offset, found.count)
