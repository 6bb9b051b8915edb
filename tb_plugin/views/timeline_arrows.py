"""Arrows of one slice, and of a view."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.timeline.arrows import Bundle, arrows_around, bundles_in
from ..analysis.timeline.model import FlowKind
from ..analysis.timeline.opened import Opened
from ..base.errors import QueryError
from .timeline_answers import Arrow, FlowAnswer
from .timeline_lists import numbers, tracks
from .timeline_open import check_range, check_slice, opened_of
from .timeline_queries import BundlesQuery, FlowsQuery
from .timeline_refs import ref
from .view import Subject

MOST_ARROWS, MOST_BUNDLES = 200, 500


def flows(subject: Subject, query: FlowsQuery) -> FlowAnswer:
    """Arrows that begin or end at a slice, and so many hops on.

    Raises:
        NotFoundError: there is no such slice.
    """
    opened = opened_of(subject, query.layout)
    one = check_slice(opened, query.slice)
    found = arrows_around(opened, one, query.hops)
    return FlowAnswer(_arrows(opened, found[:MOST_ARROWS]), len(found))


def bundles(subject: Subject, query: BundlesQuery) -> FlowAnswer:
    """Arrows with an end in a range of time; those that begin and end close together are one.

    Raises:
        QueryError: the range is empty, or a kind or a track does not exist.
    """
    check_range(query.start_ns, query.end_ns)
    opened = opened_of(subject, query.layout)
    chosen = tracks(query.tracks, opened)
    kinds = numbers(query.kinds, "kinds", len(FlowKind)) if query.kinds else list(FlowKind)
    if kinds and kinds[-1] >= len(FlowKind):
        raise QueryError(f"there is no kind of arrow {kinds[-1]}")
    found, count = bundles_in(
        opened, (query.start_ns, query.end_ns), query.columns, kinds, chosen, MOST_BUNDLES
    )
    return FlowAnswer(_arrows(opened, found), count)


def _arrows(opened: Opened, found: Iterable[Bundle]) -> tuple[Arrow, ...]:
    return tuple(
        Arrow(one.kind, ref(opened, one.source), ref(opened, one.target), one.count)
        for one in found
    )
