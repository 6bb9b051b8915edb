"""The manifest: everything the page needs before it asks for the first tile."""

from __future__ import annotations

import math

import numpy as np

from ..analysis.facts import Facts
from ..analysis.timeline.model import (
    LANE_BLOCK,
    LAYOUTS,
    MAX_LEVEL,
    TILE_BUCKETS,
    Counter,
    FlowKind,
    SliceKind,
    Timeline,
    Track,
)
from .table import Column, Table
from .timeline_answers import (
    TimelineCounter,
    TimelineFlowKind,
    TimelineGroup,
    TimelineKind,
    TimelineManifest,
    TimelineStepMark,
    TimelineTrack,
)
from .timeline_labels import FLOW_KINDS, KINDS, WITH_MODULES, WITH_SHAPES, WITH_STACK
from .timeline_open import opened_of
from .timeline_queries import LayoutQuery
from .view import Subject


def build(subject: Subject, query: LayoutQuery) -> TimelineManifest:
    """Tracks of a layout, counters, steps, and what this recording cannot show.

    Raises:
        BeingRead: the layout is being made.
    """
    opened = opened_of(subject, query.layout)
    timeline = opened.timeline
    return TimelineManifest(
        base_ns=str(timeline.base_ns),
        start_ns=timeline.start_ns,
        end_ns=timeline.end_ns,
        events=timeline.events,
        slices=len(timeline.slices),
        name_count=len(timeline.names),
        layout=query.layout,
        layouts=LAYOUTS,  # type: ignore[arg-type]  # their names
        hidden=len(timeline.slices) - len(opened.layout.order),
        tile_buckets=TILE_BUCKETS,
        lane_block=LANE_BLOCK,
        max_level=MAX_LEVEL,
        groups=tuple(TimelineGroup(one.key, one.kind, one.label) for one in timeline.groups),
        tracks=tuple(_track(track) for track in opened.layout.tracks),
        counters=tuple(_counter(counter) for counter in timeline.counters),
        kinds=tuple(
            TimelineKind(kind, *KINDS[kind], opened.kind_counts[kind]) for kind in SliceKind
        ),
        flow_kinds=_flow_kinds(timeline),
        steps=tuple(
            TimelineStepMark(
                step.index,
                step.name,
                step.ts,
                step.end,
                length_ns=subject.facts.steps[step.index].dur_ns,
            )
            for step in timeline.steps
        ),
        warnings=timeline.warnings,
        missing=missing(subject.facts),
    )


def _track(track: Track) -> TimelineTrack:
    return TimelineTrack(
        key=track.key,
        group=track.group,
        kind=track.kind,  # type: ignore[arg-type]  # one of the literal ones
        label=track.label,
        detail=track.detail,
        lanes=track.lanes,
        slices=track.slices,
        busy_ns=track.busy_ns,
        first_ns=track.first_ns,
        last_ns=track.last_ns,
        overlaps=track.overlaps,
        hidden=track.hidden,
    )


def _counter(counter: Counter) -> TimelineCounter:
    values = counter.value[np.isfinite(counter.value)]
    return TimelineCounter(
        key=counter.key,
        group=counter.group,
        kind=counter.kind,
        label=counter.label,
        unit=counter.unit,
        definition=counter.definition,
        samples=len(counter.ts),
        low=float(values.min(initial=math.inf)) if len(values) else 0.0,
        high=float(values.max(initial=-math.inf)) if len(values) else 0.0,
        first_ns=int(counter.ts[0]) if len(counter.ts) else 0,
        last_ns=int(counter.ts[-1]) if len(counter.ts) else 0,
    )


def _flow_kinds(timeline: Timeline) -> tuple[TimelineFlowKind, ...]:
    counts = np.bincount(timeline.flows.kind, minlength=len(FlowKind)).tolist()
    return tuple(TimelineFlowKind(kind, FLOW_KINDS[kind], counts[kind]) for kind in FlowKind)


def missing(facts: Facts) -> dict[str, str]:
    """What this recording cannot show, why, and how to record it."""
    found = {
        key: why for key, why in facts.unavailable.items() if key in ("steps", "devices", "memory")
    }
    counts, recording = facts.counts, facts.recording
    if not counts.get("python", 0) + counts.get("module", 0) and not recording.call_stacks:
        found["stacks"] = f"No call stack was recorded: {WITH_STACK}."
    if not counts.get("module", 0):
        found["modules"] = f"No call of a module was recorded: {WITH_MODULES}."
    if not recording.shapes:
        found["shapes"] = f"No shape of an input was recorded: {WITH_SHAPES}."
    if counts.get("kernel", 0) and not recording.linked:
        found["launches"] = "No kernel of this recording tells which call launched it."
    return found


def tables(answer: TimelineManifest) -> tuple[Table, ...]:
    """Tracks, series, what the picture cannot show, steps, and kinds of slices and arrows."""
    return (
        _tracks_table(answer),
        _counters_table(answer),
        _warnings_table(answer),
        _steps_table(answer),
        _kinds_table(answer),
    )


def _tracks_table(answer: TimelineManifest) -> Table:
    columns = (
        Column("group", "Group", kind="words"),
        Column("track", "Track", kind="words"),
        Column("detail", "Detail", kind="words", is_minor=True),
        Column("slices", "Slices"),
        Column("busy_ns", "Busy (ns)", "Union of its slices."),
        Column("busy_ratio", "Busy", "Of the whole trace."),
        Column("lanes", "Lanes", "How deep its slices are nested."),
        Column("overlaps", "Overlaps", "Slices that overlap in a way nesting does not explain."),
    )
    length = answer.end_ns - answer.start_ns
    rows = tuple(
        (
            answer.groups[track.group].label,
            track.label,
            track.detail,
            track.slices,
            track.busy_ns,
            track.busy_ns / length if length else None,
            track.lanes,
            track.overlaps,
        )
        for track in answer.tracks
    )
    return Table("Tracks", columns, rows)


def _counters_table(answer: TimelineManifest) -> Table:
    columns = (
        Column("group", "Group", kind="words"),
        Column("series", "Series", kind="words"),
        Column("unit", "Unit"),
        Column("samples", "Samples"),
        Column("low", "Lowest"),
        Column("high", "Highest"),
        Column("definition", "Definition", kind="text"),
    )
    rows = tuple(
        (
            answer.groups[one.group].label,
            one.label,
            one.unit,
            one.samples,
            one.low,
            one.high,
            one.definition,
        )
        for one in answer.counters
    )
    return Table("Counters", columns, rows)


def _warnings_table(answer: TimelineManifest) -> Table:
    columns = (Column("about", "About"), Column("text", "What", kind="text"))
    rows = (
        *(("picture", text) for text in answer.warnings),
        *((f"not recorded: {key}", text) for key, text in answer.missing.items()),
    )
    return Table("What the picture cannot show", columns, rows)


def _steps_table(answer: TimelineManifest) -> Table:
    columns = (
        Column("step", "Step"),
        Column("ts_ns", "Start (ns)"),
        Column("dur_ns", "Length on the host (ns)", "Without the device work that it launched."),
    )
    rows = tuple((step.name, step.ts, step.end - step.ts) for step in answer.steps)
    return Table("Steps", columns, rows)


def _kinds_table(answer: TimelineManifest) -> Table:
    columns = (Column("kind", "Kind", kind="words"), Column("count", "Count"))
    rows = (
        *((kind.label, kind.slices) for kind in answer.kinds),
        *((f"arrows: {kind.label}", kind.arrows) for kind in answer.flow_kinds),
    )
    return Table("Slices and arrows", columns, rows)
