"""Trace: what ran when, on every thread and stream?

``build`` makes the manifest: everything the page needs before the first tile (``contract``).
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from msgspec import Struct

from ...analysis.compile.model import CompiledFacts
from ...analysis.facts import Facts
from ...analysis.recording import OTHER_RECORDER
from ...analysis.timeline.model import (
    LANE_BLOCK,
    LAYOUTS,
    MAX_LEVEL,
    TILE_BUCKETS,
    Counter,
    FlowKind,
    SliceKind,
)
from ...analysis.timeline.outline import Outline, outline, outline_of
from ...analysis.timeline.timeline import TIMELINE, layout_for
from ...trace.model import is_of_other_recorder
from ...trace.recipes import FRAMES, SHAPES, STACKS, with_option
from ..shared import Flame, as_structs
from ..table import Table, column, heads, table_from
from ..view import Part, Subject, View
from . import arrows, details, excerpt, search, tiles
from . import range as in_range
from .common import FLOW_KINDS, KINDS, opened_of, unavailable
from .contract import (
    AreaAnswer,
    FlowAnswer,
    SearchAnswer,
    SliceDetails,
    SliceRows,
    StepTo,
    TimelineCompilation,
    TimelineCounter,
    TimelineFlowKind,
    TimelineGroup,
    TimelineKind,
    TimelineManifest,
    TimelineStepMark,
    TimelineTrack,
)
from .path import PathArrows, PathArrowsQuery, PathBand, PathBandQuery, path_arrows, path_band
from .queries import (
    AreaQuery,
    BundlesQuery,
    CountersQuery,
    ExportQuery,
    FlameQuery,
    FlowsQuery,
    FoldedRangeQuery,
    HitQuery,
    LayoutQuery,
    MinimapQuery,
    MoveQuery,
    NamesQuery,
    RowsQuery,
    SearchQuery,
    SliceQuery,
    TilesQuery,
)


def build(subject: Subject, query: LayoutQuery) -> TimelineManifest:
    """Tracks of a layout, counters, steps, and what this recording cannot show.

    Raises:
        BeingRead: the layout is being made.
    """
    return _manifest(subject, query, outline_of(opened_of(subject, query.layout)))


def at_once(subject: Subject, query: LayoutQuery) -> TimelineManifest:
    """The same, without a timeline that is made and stored."""
    variant = layout_for(subject.facts, query.layout)
    return _manifest(subject, query, outline(subject.trace(), variant))


def _manifest(subject: Subject, query: LayoutQuery, made: Outline) -> TimelineManifest:
    return TimelineManifest(
        base_ns=str(made.base_ns),
        start_ns=0,
        end_ns=made.end_ns,
        events=made.events,
        slices=made.slices,
        name_count=made.names,
        layout=query.layout,
        layouts=LAYOUTS,  # type: ignore[arg-type]  # their names
        graph_streams=subject.facts.recording.graph_streams,
        is_folded=any(track.kind == "graph" for track in made.tracks),
        hidden=made.hidden,
        tile_buckets=TILE_BUCKETS,
        lane_block=LANE_BLOCK,
        max_level=MAX_LEVEL,
        groups=as_structs(TimelineGroup, made.groups),
        tracks=as_structs(TimelineTrack, made.tracks),
        counters=tuple(_counter(counter) for counter in made.counters),
        kinds=tuple(
            TimelineKind(kind, *KINDS[kind], count)
            for kind, count in zip(SliceKind, made.kinds.tolist(), strict=True)
        ),
        flow_kinds=tuple(
            TimelineFlowKind(kind, FLOW_KINDS[kind], count)
            for kind, count in zip(FlowKind, made.flows.tolist(), strict=True)
        ),
        steps=tuple(
            TimelineStepMark(
                step.index,
                subject.facts.steps[step.index].name,  # an iteration: its phase and batch
                step.ts,
                step.end,
                length_ns=subject.facts.steps[step.index].dur_ns,
            )
            for step in made.steps
        ),
        head_ns=subject.facts.head_ns,
        compilations=_compilations(subject.facts.compiled),
        warnings=made.warnings,
        missing=missing(subject.facts),
    )


def _compilations(found: CompiledFacts | None) -> tuple[TimelineCompilation, ...]:
    if found is None:
        return ()
    known = ((found.versions[one.version], one) for one in found.occurrences)
    return tuple(
        TimelineCompilation(of.id, found.full_label(of), one.ts, one.dur_ns, of.is_again)
        for of, one in known
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


def missing(facts: Facts) -> dict[str, str]:
    """Data missing in this recording, why, and how to record it."""
    if facts.recording.file_format == "other_perfetto":
        return {"pytorch": "Another program than PyTorch wrote this file, so it marks no steps."}
    if is_of_other_recorder(facts.torch_era):
        steps = {key: why for key, why in facts.unavailable.items() if key == "steps"}
        return {"pytorch": f"{OTHER_RECORDER}.", **steps}
    found = {
        key: why for key, why in facts.unavailable.items() if key in ("steps", "devices", "memory")
    }
    counts, recording, era = facts.counts, facts.recording, facts.torch_era
    if not counts.get("python", 0) + counts.get("module", 0) and not recording.call_stacks:
        found["stacks"] = f"No call stack was recorded: {with_option(STACKS, era)}."
    if not recording.modules:
        found["modules"] = f"No call of a module was recorded: {with_option(FRAMES, era)}."
    if not recording.shapes:
        found["shapes"] = f"No shape of an input was recorded: {with_option(SHAPES, era)}."
    if counts.get("kernel", 0) and not recording.linked:
        found["launches"] = "No kernel of this recording names the call that launched it."
    return found


class TrackRow(Struct, frozen=True):
    """A track in the table of tracks."""

    group: Annotated[str, column("Group", "The process or device.", kind="words")]
    label: Annotated[str, column("Track", "The thread or stream.", kind="words")]
    detail: Annotated[str, column("Detail", "More of its name.", kind="words", is_minor=True)]
    slices: Annotated[int, column("Slices", "Number of its slices.")]
    busy_ns: Annotated[int, column("Busy", "Union of its slices.")]
    busy_ratio: Annotated[float | None, column("Share", "Busy time as a share of the whole trace.")]
    lanes: Annotated[int, column("Lanes", "Nesting depth of its slices.")]
    overlaps: Annotated[
        int, column("Overlaps", "Slices that overlap in a way nesting does not explain.")
    ]


class CounterRow(Struct, frozen=True):
    """A series in the table of counters."""

    group: Annotated[str, column("Group", "The process or device.", kind="words")]
    label: Annotated[str, column("Series", "What is counted.", kind="words")]
    unit: Annotated[str, column("Unit", "Of its values.")]
    samples: Annotated[int, column("Samples", "Number of values.")]
    low: Annotated[float, column("Lowest", "The smallest value.")]
    high: Annotated[float, column("Highest", "The largest value.")]
    definition: Annotated[str, column("Definition", "Its computation.", kind="text")]


class LimitRow(Struct, frozen=True):
    """One thing that the picture cannot show."""

    about: Annotated[str, column("About", "The picture, or missing data.")]
    text: Annotated[str, column("What", "The reason.", kind="text")]


class StepExtent(Struct, frozen=True):
    """A step in the table of steps."""

    name: Annotated[str, column("Step", "Number of the step.")]
    start_ns: Annotated[int, column("Start", "From the start of the trace.")]
    dur_ns: Annotated[
        int, column("Length on the host", "Without the device work that it launched.")
    ]


class KindRow(Struct, frozen=True):
    """A kind of slices or arrows."""

    label: Annotated[str, column("Kind", "Kind of slice or arrow.", kind="words")]
    count: Annotated[int, column("Count", "Number of them.")]


def tables(answer: TimelineManifest) -> tuple[Table, ...]:
    """Tracks, series, warnings, steps, and kinds of slices and arrows."""
    length = answer.end_ns - answer.start_ns
    limits = (
        *(LimitRow("picture", text) for text in answer.warnings),
        *(LimitRow(f"not recorded: {key}", text) for key, text in answer.missing.items()),
    )
    kinds = (
        *(KindRow(kind.label, kind.slices) for kind in answer.kinds),
        *(KindRow(f"arrows: {kind.label}", kind.arrows) for kind in answer.flow_kinds),
    )
    return (
        table_from(
            "Tracks",
            heads(TrackRow),
            answer.tracks,
            group=lambda track: answer.groups[track.group].label,
            busy_ratio=lambda track: track.busy_ns / length if length else None,
        ),
        table_from(
            "Counters",
            heads(CounterRow),
            answer.counters,
            group=lambda one: answer.groups[one.group].label,
        ),
        table_from("What the picture cannot show", heads(LimitRow), limits),
        table_from(
            "Steps",
            heads(StepExtent),
            answer.steps,
            start_ns=lambda step: step.ts,
            dur_ns=lambda step: step.end - step.ts,
        ),
        table_from("Slices and arrows", heads(KindRow), kinds),
    )


PARTS = (
    Part("names", NamesQuery, None, tiles.names),
    Part("tiles", TilesQuery, None, tiles.tiles),
    Part("counters", CountersQuery, None, tiles.counters),
    Part("minimap", MinimapQuery, None, tiles.minimap),
    Part("slice", SliceQuery, SliceDetails, details.details, reads_others=True),
    Part("move", MoveQuery, StepTo, details.move),
    Part("search", SearchQuery, SearchAnswer, search.search),
    Part("hit", HitQuery, StepTo, search.hit),
    Part("area", AreaQuery, AreaAnswer, in_range.area),
    Part("flame", FlameQuery, Flame, in_range.flame),
    Part("folded", FoldedRangeQuery, None, in_range.folded_stacks, in_range.folded_name),
    Part("rows", RowsQuery, SliceRows, in_range.rows),
    Part("flows", FlowsQuery, FlowAnswer, arrows.flows),
    Part("bundles", BundlesQuery, FlowAnswer, arrows.bundles),
    Part("path", PathBandQuery, PathBand, path_band),
    Part("path_arrows", PathArrowsQuery, PathArrows, path_arrows),
    Part("export", ExportQuery, None, excerpt.export, excerpt.file_name),
)


VIEW = View(
    stem="timeline",
    title="Trace",
    key="t",
    question="What ran when, on every thread and stream?",
    query=LayoutQuery,
    answer=TimelineManifest,
    build=build,
    at_once=at_once,
    tables=tables,
    unavailable=unavailable,
    of_other_programs=True,
    artifact=TIMELINE,
    parts=PARTS,
)
