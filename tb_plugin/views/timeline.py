"""Trace: what ran when, on every thread and stream (contract of its answer: timeline_answers)."""

from __future__ import annotations

from ..analysis.facts import Facts
from . import (
    timeline_area,
    timeline_arrows,
    timeline_bulk,
    timeline_export,
    timeline_find,
    timeline_manifest,
    timeline_slice,
)
from .timeline_answers import (
    AreaAnswer,
    FlameAnswer,
    FlowAnswer,
    SearchAnswer,
    SliceDetails,
    SliceRows,
    StepTo,
    TimelineManifest,
)
from .timeline_open import ARTIFACT
from .timeline_queries import (
    AreaQuery,
    BundlesQuery,
    CountersQuery,
    ExportQuery,
    FlameQuery,
    FlowsQuery,
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
from .view import Part, Scope, View

PARTS = (
    Part("names", NamesQuery, None, timeline_bulk.names),
    Part("tiles", TilesQuery, None, timeline_bulk.tiles),
    Part("counters", CountersQuery, None, timeline_bulk.counters),
    Part("minimap", MinimapQuery, None, timeline_bulk.minimap),
    Part("slice", SliceQuery, SliceDetails, timeline_slice.details),
    Part("move", MoveQuery, StepTo, timeline_slice.move),
    Part("search", SearchQuery, SearchAnswer, timeline_find.search),
    Part("hit", HitQuery, StepTo, timeline_find.hit),
    Part("area", AreaQuery, AreaAnswer, timeline_area.area),
    Part("flame", FlameQuery, FlameAnswer, timeline_area.flame),
    Part("rows", RowsQuery, SliceRows, timeline_area.rows),
    Part("flows", FlowsQuery, FlowAnswer, timeline_arrows.flows),
    Part("bundles", BundlesQuery, FlowAnswer, timeline_arrows.bundles),
    Part("export", ExportQuery, None, timeline_export.export, timeline_export.file_name),
)


_NO_SLICES = ("memory", "counter", "flow")
"""Counts of the facts that are no duration events."""


def unavailable(facts: Facts) -> str | None:
    """Only a file without a single event that lasts has nothing to draw."""
    if any(count for name, count in facts.counts.items() if name not in _NO_SLICES):
        return None
    return "The file holds no event that lasts, so there is nothing to draw on a time axis."


VIEW = View(
    stem="timeline",
    title="Trace",
    key="t",
    question="What ran when, on every thread and stream?",
    scope=Scope.TRACE,
    query=LayoutQuery,
    answer=TimelineManifest,
    build=timeline_manifest.build,
    tables=timeline_manifest.tables,
    unavailable=unavailable,
    artifact=ARTIFACT,
    parts=PARTS,
)
