"""Shared by all parts of the Trace view: lists in a query, slice references, labels, the timeline.

Lists such as "0,4-7" and "3.0,3.16" are read strictly and are never longer than allowed. A slice
reference has what the page needs to draw a slice and to go there. The timeline is a folder of
mapped columns per layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...analysis.facts import Facts
from ...analysis.timeline.model import (
    LANE_BLOCK,
    TILE_BUCKETS,
    FlowKind,
    SliceFlag,
    SliceKind,
)
from ...analysis.timeline.timeline import Opened, layout_for
from ...base.errors import NotFoundError, QueryError
from ...base.regex import regex
from ..view import Subject
from .contract import LayoutName, SliceRef

MOST_TILES, MOST_BLOCKS = 16, 64
_ITEM = regex(r"(\d{1,18})(?:-(\d{1,18}))?")
_BLOCK = regex(r"(\d{1,9})\.(\d{1,9})")


def numbers(text: str, name: str, most: int) -> list[int]:
    """The numbers of a list such as "0,4-7", ascending.

    Raises:
        QueryError: it is none, or has more than ``most`` numbers.
    """
    found: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise QueryError(
                f"`{name}` is no list of numbers: {item[:40]!r}", hint="Write it as 0,4-7."
            )
        low = int(match[1])
        high = int(match[2]) if match[2] else low
        if high < low:
            raise QueryError(f"`{name}` runs backwards: {item[:40]!r}")
        if high - low >= most:
            raise _too_many(name, most)
        found.update(range(low, high + 1))
        if len(found) > most:
            raise _too_many(name, most)
    return sorted(found)


def tile_numbers(text: str, level: int) -> list[int]:
    """The tiles of a list.

    Raises:
        QueryError: it is no list, has more than 16, or lies beyond all time.
    """
    found = numbers(text, "tiles", MOST_TILES)
    if (found[-1] + 1) * (TILE_BUCKETS << level) >= 1 << 63:
        raise QueryError(f"tile {found[-1]} of level {level} is beyond all time")
    return found


def blocks(text: str, opened: Opened) -> list[tuple[int, int]]:
    """Track and first lane of each block of a list such as "3.0,3.16".

    Raises:
        QueryError: it is none, has more than 64, or names lanes that do not exist.
    """
    items = list(dict.fromkeys(text.split(",")))
    if len(items) > MOST_BLOCKS:
        raise _too_many("blocks", MOST_BLOCKS)
    found = []
    for item in items:
        match = _BLOCK.fullmatch(item)
        if match is None:
            raise QueryError(
                f"`blocks` is no list of track.lane: {item[:40]!r}", hint="Write it as 3.0,3.16."
            )
        track, lane = int(match[1]), int(match[2])
        if lane % LANE_BLOCK:
            raise QueryError(f"a block begins at a multiple of {LANE_BLOCK} lanes, not at {lane}")
        check_tracks([track], opened)
        if lane >= opened.layout.tracks[track].lanes:
            raise QueryError(f"track {track} has no lane {lane}", hint=_as_in_manifest(opened))
        found.append((track, lane))
    return found


def tracks(text: str, opened: Opened) -> tuple[int, ...] | None:
    """The tracks of a list; None for an empty list, which means all.

    Raises:
        QueryError: it is no list, or names tracks that do not exist.
    """
    if not text:
        return None
    found = numbers(text, "tracks", max(len(opened.layout.tracks), 1))
    check_tracks(found, opened)
    return tuple(found)


def check_tracks(chosen: list[int], opened: Opened) -> None:
    """Raises a QueryError where a track does not exist."""
    for track in chosen:
        if track >= len(opened.layout.tracks):
            raise QueryError(f"there is no track {track}", hint=_as_in_manifest(opened))


def _as_in_manifest(opened: Opened) -> str:
    return f"Tracks and lanes are those of the layout {opened.layout.name}."


def _too_many(name: str, most: int) -> QueryError:
    return QueryError(f"`{name}` has more than {most} entries", hint="Ask for fewer at a time.")


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


KINDS: Mapping[SliceKind, tuple[str, str]] = {
    SliceKind.OP: ("op", "Operator"),
    SliceKind.ANNOTATION: ("annotation", "Annotation"),
    SliceKind.PYTHON: ("python", "Python frame"),
    SliceKind.MODULE: ("module", "Module call"),
    SliceKind.RUNTIME: ("runtime", "Runtime call"),
    SliceKind.OVERHEAD: ("overhead", "Profiler overhead"),
    SliceKind.OTHER: ("other", "Other host event"),
    SliceKind.LOADER: ("loader", "DataLoader"),
    SliceKind.COMPUTE: ("compute", "Compute kernel"),
    SliceKind.COMMUNICATION: ("communication", "Communication"),
    SliceKind.MEMCPY: ("memcpy", "Copy"),
    SliceKind.MEMSET: ("memset", "Memset"),
    SliceKind.DEVICE_OTHER: ("device_other", "Other device activity"),
    SliceKind.DEVICE_ANNOTATION: ("device_annotation", "Annotation on the device"),
    SliceKind.SYNC: ("sync", "Synchronization"),
    SliceKind.RANGE: ("range", "Range of the recorder"),
}
"""Stem and label."""

FLOW_KINDS: Mapping[FlowKind, str] = {
    FlowKind.LAUNCH: "Launch to device activity",
    FlowKind.BACKWARD: "Forward op to backward op",
    FlowKind.DEPENDENCY: "Node of a graph to the node that waits for it",
}

FLAGS: Mapping[SliceFlag, str] = {
    SliceFlag.OVERLAP: "overlaps its neighbours in a way that nesting does not explain",
    SliceFlag.INCOMPLETE: "the recording ended before it did",
}
"""Flags that the details panel explains."""


_ENDLESS_NS = 1 << 62


_NO_SLICES = ("memory", "counter", "flow")
"""Counts of the facts that are no duration events."""


def unavailable(facts: Facts) -> str | None:
    """Why there is nothing to draw: the file has no event with a duration."""
    if any(count for name, count in facts.counts.items() if name not in _NO_SLICES):
        return None
    return "The file holds no event that lasts, so there is nothing to draw on a time axis."


def opened_of(subject: Subject, layout: LayoutName) -> Opened:
    """The timeline in a layout.

    Raises:
        BeingRead: the layout is being made.
    """
    found = subject.artifact(layout_for(subject.facts, layout))
    if not isinstance(found, Opened):
        raise TypeError(f"the timeline opened as {type(found).__name__}")
    return found


def check_slice(opened: Opened, one: int) -> int:
    """The slice id.

    Raises:
        NotFoundError: there is no such slice.
    """
    if one >= len(opened.timeline.slices):
        raise NotFoundError(
            f"This recording has no slice {one}.", hint="The link is from another recording."
        )
    return one


def check_range(start: int, end: int) -> None:
    """Raises a QueryError where a range of time is empty, runs backwards, or is endless."""
    if end <= start:
        raise QueryError("the range of time is empty", hint="`end_ns` has to be after `start_ns`.")
    if end - start >= _ENDLESS_NS:
        raise QueryError("the range of time is longer than any trace")
