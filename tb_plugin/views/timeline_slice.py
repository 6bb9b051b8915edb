"""Everything about one slice, and the way to its neighbours."""

from __future__ import annotations

from ..analysis.timeline import moves
from ..analysis.timeline.links import ancestors_of, launch_of, peers_of
from ..analysis.timeline.model import SliceKind
from ..analysis.timeline.opened import Opened
from ..analysis.timeline.search import Neighbour
from .timeline_answers import LaunchDelay, SliceDetails, StepTo
from .timeline_args import told_of
from .timeline_labels import FLAGS, KINDS
from .timeline_links import links_of
from .timeline_open import check_slice, opened_of
from .timeline_queries import MoveQuery, SliceQuery
from .timeline_refs import ref, refs
from .timeline_stack import stack_of
from .view import Subject


def details(subject: Subject, query: SliceQuery) -> SliceDetails:
    """Times, place, arguments, stack and relatives of a slice.

    Raises:
        NotFoundError: there is no such slice.
    """
    opened = opened_of(subject, query.layout)
    one = check_slice(opened, query.slice)
    timeline = opened.timeline
    slices = timeline.slices
    place = ref(opened, one)
    step = int(slices.step[one])
    known = step >= 0 and step < len(timeline.steps)
    peers = peers_of(timeline.index.first, timeline.index.slices, slices, one)
    ancestors = ancestors_of(slices, one)
    told = told_of(subject, opened, one)
    stack = stack_of(subject, opened, one, told.args)
    track = opened.layout.tracks[place.track] if place.track >= 0 else None
    return SliceDetails(
        slice=place,
        kind_label=KINDS[SliceKind(place.kind)][1],
        self_ns=int(slices.self_ns[one]),
        step=timeline.steps[step].name if known else "",
        step_offset_ns=place.ts - timeline.steps[step].ts if known else None,
        track_label=track.label if track else "hidden in this layout",
        depth=len(ancestors),
        wall_ns=str(timeline.base_ns + place.ts),
        flags=tuple(text for flag, text in FLAGS.items() if int(slices.flags[one]) & flag),
        peers=peers.count,
        median_ns=peers.median,
        rank=peers.rank,
        ancestors=refs(opened, ancestors),
        links=links_of(opened, one),
        launch=_launch(opened, one),
        args=told.shown,
        args_missing=told.missing,
        inputs=told.inputs,
        stack=stack.frames,
        stack_missing=stack.missing,
        source_file=stack.file,
        source_line=stack.line,
    )


def _launch(opened: Opened, one: int) -> LaunchDelay | None:
    """From the call to the end of the work; None where the call was not recorded."""
    slices = opened.timeline.slices
    if one < opened.timeline.tables.device:
        return None
    call = launch_of(opened.timeline.flows, one)
    if call is None or slices.kind[call] != SliceKind.RUNTIME:
        return None
    end = int(slices.ts[call] + slices.dur[call])
    return LaunchDelay(int(slices.dur[call]), int(slices.ts[one]) - end, int(slices.dur[one]))


def move(subject: Subject, query: MoveQuery) -> StepTo:
    """The neighbour of a slice; along arrows "next" follows them, "previous" goes back.

    Upwards it is the parent, whatever the direction; downwards the first child, or the last one.

    Raises:
        NotFoundError: there is no such slice.
    """
    opened = opened_of(subject, query.layout)
    one = check_slice(opened, query.slice)
    forward = query.direction == "next"
    found: Neighbour | None = None
    match query.by:
        case "lane":
            found = moves.next_in_lane(opened, one, forward=forward)
        case "name":
            found = moves.next_of_name(opened, one, forward=forward)
        case "flow":
            found = moves.along_arrow(opened, one, forward=forward)
        case "parent":
            found = _alone(moves.parent_of(opened, one))
        case "child":
            found = _alone(moves.child_of(opened, one, last=not forward))
    if found is None:
        return StepTo(None, 0, 0)
    return StepTo(ref(opened, found.slice), found.position, found.count)


def _alone(found: int | None) -> Neighbour | None:
    """A slice whose place among others nobody counts."""
    return None if found is None else Neighbour(found, 0, 0)
