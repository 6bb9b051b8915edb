"""Slices as the page names them: enough to draw one and to go there."""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis.timeline.opened import Opened
from .timeline_answers import SliceRef

NOWHERE = -1
"""Track and lane of a slice that the layout hides."""


def ref(opened: Opened, one: int) -> SliceRef:
    """One slice."""
    slices, layout = opened.timeline.slices, opened.layout
    lane = int(layout.lane[one])
    track = int(opened.track_of_lane[lane])
    return SliceRef(
        slice=int(one),
        name=opened.timeline.names[slices.name[one]],
        kind=int(slices.kind[one]),
        ts=int(slices.ts[one]),
        dur=int(slices.dur[one]),
        track=track,
        lane=lane - layout.tracks[track].lane if track >= 0 else NOWHERE,
    )


def refs(opened: Opened, ids: Iterable[int]) -> tuple[SliceRef, ...]:
    """Several slices."""
    return tuple(ref(opened, one) for one in ids)
