"""Lists in a query: "0,4-7" and "3.0,3.16", read strictly and never longer than allowed."""

from __future__ import annotations

import re

from ..analysis.timeline.model import LANE_BLOCK, TILE_BUCKETS
from ..analysis.timeline.opened import Opened
from ..base.errors import QueryError

MOST_TILES, MOST_BLOCKS = 16, 64
_ITEM = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")
_BLOCK = re.compile(r"(\d{1,9})\.(\d{1,9})")


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
    """The tracks of a list; None: all of them, because the list is empty.

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
