"""A timeline as a folder of mapped columns: its files, how they are made and opened.

``timeline.json``   a ``Timeline`` without layouts and flags, with ``slices.*``, ``index.*``,
                    ``flows.*``, ``counters.*``, ``names.*``
``layout.json``     one layout with the flags of slices. The layout ``split`` is beside the rest;
                    any other is in a folder of its own, which refers to that of ``split``

``make_timeline`` writes everything and the layout ``split``, ``make_layout`` one other layout. Both
hold a few columns at a time, whatever the size of the trace. ``open_timeline`` maps the columns,
which are read page by page as they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from ....base.arrays import I64, U8, with_fields
from ....base.columnar import Writer, load
from ....base.columns import narrowest
from ....base.units import plural
from ....trace.model import Trace
from ...recording import graph_streams
from .. import counter_tiles
from ..model import (
    DEFAULT_LAYOUT,
    VARIANTS,
    Counter,
    Layout,
    SliceFlag,
    SliceFlows,
    Slices,
    Timeline,
    TimelineStep,
)
from ..tracks import TrackGroups, groups_of
from . import levels_of_detail, slices
from .counters import series_of
from .lane_layout import Arrangement, arrange
from .names import sums_by_column, sums_by_track
from .slices import flows_of, index_names

TIMELINE, LAYOUT = "timeline", "layout"

OnShare = Callable[[float], None]
"""Called with the share done, 0 … 1."""


class Drawn(Struct, frozen=True, eq=False):
    """Slices of all layouts; columns by slice id."""

    trace: Trace
    groups: TrackGroups
    ts: I64
    dur: I64
    flags: U8  # all but that of overlaps


class LaidOut(Struct, frozen=True, eq=False):
    """A layout, and what else depends on it."""

    layout: Layout
    flags: U8  # of all slices
    warnings: tuple[str, ...]


def lay_out(drawn: Drawn, name: str, writer: Writer, on_share: OnShare) -> LaidOut:
    """One of ``VARIANTS``, whose columns are stored; those of levels are let go of.

    Raises:
        OSError: no room, or no permission.
    """
    made = arrange(
        drawn.trace, drawn.groups, drawn.ts, drawn.dur, name, lambda share: on_share(0.7 * share)
    )
    flags = drawn.flags.copy()
    flags[made.overlapping] |= np.uint8(SliceFlag.OVERLAP)
    flags = writer.keep("layout.flags", flags)
    levels = {}
    lanes = (made.order, made.lane_first)
    for level in levels_of_detail.levels_of(*lanes, drawn.ts, drawn.dur, drawn.trace.end_ns):
        levels[level.level] = writer.append("layout.levels", level)
        on_share(0.9)
    layout = Layout(
        name=name,
        tracks=made.tracks,
        lane_first=writer.keep("layout.lane_first", made.lane_first),
        order=writer.keep("layout.order", made.order),
        lane=writer.keep("layout.lane", made.lane),
        levels=levels,
        busy=writer.keep("layout.busy", narrowest(made.busy)),
    )
    on_share(1.0)
    return LaidOut(layout, flags, tuple(layout_warnings(made, drawn.trace)))


def layout_warnings(made: Arrangement, trace: Trace) -> list[str]:
    """Limits of a layout, in words."""
    found = []
    if any(track.kind == "graph" for track in made.tracks):
        found.append(
            f"Replayed graphs ran on {plural(graph_streams(trace), 'stream')} of a device: folded"
            " by what their nodes do, times as recorded."
        )
    if count := len(made.overlapping):
        found.append(
            f"{plural(count, 'slice')} overlap others in a way that nesting does not explain:"
            " drawn in lanes of their own."
        )
    if made.hidden:
        is_one = made.hidden == 1
        found.append(
            f"{plural(made.hidden, 'Python frame')} of libraries {'is' if is_one else 'are'} hidden"
            " in this layout."
        )
    if made.is_all_of_others:
        found.append("No Python frame is of code of your own by its path: all are shown.")
    return found


def open_timeline(folder: Path) -> Timeline:
    """The timeline stored in ``folder``, with the one layout that was made there.

    Raises:
        DamagedError: a file is missing, or damaged.
    """
    laid_out = load(LaidOut, folder, LAYOUT)
    name = laid_out.layout.name
    base = folder
    if name != DEFAULT_LAYOUT:
        base = folder.with_name(folder.name.removesuffix(name) + DEFAULT_LAYOUT)
    timeline = load(Timeline, base, TIMELINE)
    return with_fields(
        timeline,
        slices=with_fields(timeline.slices, flags=laid_out.flags),
        layouts={name: laid_out.layout},
        warnings=(*timeline.warnings, *laid_out.warnings),
    )


def make(trace: Trace, folder: Path, on_progress: OnShare, variant: str) -> None:
    """The artifact of the Trace view: ``variant`` is one of ``VARIANTS``.

    Raises:
        OSError: no room, or no permission.
    """
    if variant == DEFAULT_LAYOUT:
        make_timeline(trace, folder, on_progress)
    else:
        make_layout(trace, folder, on_progress, variant)


def make_timeline(trace: Trace, folder: Path, on_progress: OnShare) -> None:
    """Stores all slices, counters and arrows of a trace, and the layout ``split``.

    Raises:
        OSError: no room, or no permission.
    """
    with Writer(folder) as writer:
        _make_timeline(trace, writer, on_progress)


def _make_timeline(trace: Trace, writer: Writer, on_progress: OnShare) -> None:
    tables = slices.tables_of(trace)
    groups = groups_of(trace)
    flows = flows_of(trace, tables)
    names, name = slices.names_of(trace)
    name = writer.keep("slices.name", name)
    ts, dur = slices.column(trace, "ts"), slices.column(trace, "dur")
    stored = writer.keep("slices.ts", ts), writer.keep("slices.dur", dur)
    on_progress(0.05)
    index = writer.append("index", index_names(name, ts, dur, len(names)))
    on_progress(0.2)
    drawn = Drawn(trace, groups, ts, dur, flags_of(trace, flows))
    laid_out = lay_out(drawn, DEFAULT_LAYOUT, writer, lambda share: on_progress(0.2 + share / 2))
    on_progress(0.7)
    layout = msgspec.structs.replace(
        laid_out.layout, by_track=sums_by_track(name, dur, laid_out.layout, len(names))
    )
    writer.close(msgspec.structs.replace(laid_out, layout=layout), LAYOUT)
    by_column = sums_by_column(name, ts, trace.end_ns, len(names))
    on_progress(0.8)
    warnings = time_warnings(dur)
    del drawn, laid_out, layout, ts, dur
    timeline = Timeline(
        base_ns=trace.base_ns,
        start_ns=0,
        end_ns=trace.end_ns,
        events=trace.health.events,
        names=names,
        slices=Slices(
            *stored,
            name=name,
            kind=writer.keep("slices.kind", slices.kinds_of(trace)),
            flags=np.empty(0, np.uint8),  # they are beside the layout
            parent=writer.keep("slices.parent", slices.parents_of(trace)),
            self_ns=writer.keep("slices.self_ns", slices.self_of(trace)),
            step=writer.keep("slices.step", slices.steps_of(trace)),
            raw=writer.keep("slices.raw", slices.column(trace, "raw")),
        ),
        tables=tables,
        groups=groups.groups,
        layouts={},
        counters=tuple(_with_levels(one, trace.end_ns) for one in series_of(trace, groups)),
        flows=flows,
        index=msgspec.structs.replace(index, by_column=by_column),
        steps=marked_steps(trace),
        warnings=tuple(warnings),
    )
    on_progress(0.9)
    writer.close(timeline, TIMELINE)
    on_progress(1.0)


def make_layout(trace: Trace, folder: Path, on_progress: OnShare, variant: str) -> None:
    """Stores one other layout of a trace whose timeline lies in the folder beside.

    Raises:
        OSError: no room, or no permission.
    """
    if variant not in VARIANTS:
        raise ValueError(f"there is no layout {variant}")
    tables = slices.tables_of(trace)
    ts, dur = slices.column(trace, "ts"), slices.column(trace, "dur")
    flags = flags_of(trace, flows_of(trace, tables))
    on_progress(0.1)
    drawn = Drawn(trace, groups_of(trace), ts, dur, flags)
    with Writer(folder) as writer:
        laid_out = lay_out(drawn, variant, writer, lambda share: on_progress(0.1 + 0.89 * share))
        writer.close(laid_out, LAYOUT)
    on_progress(1.0)


def flags_of(trace: Trace, flows: SliceFlows) -> U8:
    """All flags but that of overlaps, which depends on the layout."""
    flags = slices.flags_of(trace)
    flags[flows.source] |= np.uint8(SliceFlag.FLOW)
    flags[flows.target] |= np.uint8(SliceFlag.FLOW)
    return flags


def _with_levels(series: Counter, end_ns: int) -> Counter:
    levels = counter_tiles.levels_of(series.ts, series.value, end_ns)
    return msgspec.structs.replace(series, levels=levels)


def marked_steps(trace: Trace) -> tuple[TimelineStep, ...]:
    """The marked steps; none where nothing marks them."""
    steps = trace.steps
    if steps.source == "whole_trace":
        return ()
    return tuple(
        TimelineStep(index, trace.text(int(name)), int(ts), int(end))
        for index, (name, ts, end) in enumerate(zip(steps.name, steps.ts, steps.end, strict=True))
    )


def time_warnings(dur: I64) -> list[str]:
    """Limits of the picture. Health lists unused events."""
    found = []
    if empty := int(np.count_nonzero(dur == 0)):
        found.append(f"{plural(empty, 'slice')} with zero duration, drawn as ticks.")
    return found
