"""Search by name: which names match a text, and the sums over the slices of each name.

Matching is RE2's, by Arrow: its time is linear in the text whatever the expression, and other
threads run meanwhile. It knows no look-around and no references back to a group.

The sums are made once; a search only adds some of them up. For very many slices they are stored
with the timeline; for fewer, or for another layout, they are made at the first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ....base.arrays import I32, I64
from ....base.columns import narrowest, numbers, texts_array
from ....base.errors import KinetoscopeError
from ....base.group_sums import group_sums
from ..model import ByTrack, Layout, Narrow
from .lane_layout import edges

if TYPE_CHECKING:
    import pyarrow as pa

_CHUNK = 1 << 21
MOST_CELLS = 1 << 22
"""Largest table that is made."""
STORED_FROM = 1 << 20
"""Number of slices from which on the tables are stored with the timeline."""
SEARCH_COLUMNS = 1024
"""Columns of the stored table: as many as the page requests."""


def track_of_lanes(lanes: list[int]) -> NDArray[Any]:
    """Track of each lane, from the number of lanes per track; a last −1 for the lane −1."""
    tracks = np.append(np.repeat(np.arange(len(lanes)), lanes), -1)
    return tracks.astype(np.int16 if len(lanes) < 1 << 15 else np.int32)


def by_track(
    name: I32, dur: I64, lane: NDArray[Any], track_of_lane: NDArray[Any], shape: tuple[int, int]
) -> ByTrack:
    """Count and total of each name on each track of a layout; ``shape`` is (names, tracks)."""
    names, tracks = shape
    counts, totals = (np.zeros((names * tracks,), np.int64) for _ in range(2))
    for low in range(0, len(name), _CHUNK):
        part = slice(low, low + _CHUNK)
        track = track_of_lane[lane[part]]
        # Behind all cells is one for what the layout hides.
        cell = np.where(track >= 0, name[part] * np.int32(tracks) + track, names * tracks)
        sums = group_sums(cell.astype(np.int32), dur[part], names * tracks + 1)
        counts += sums.count[:-1]
        totals += sums.total[:-1]
    return ByTrack(counts.reshape(names, tracks), totals.reshape(names, tracks))


def by_column(name: I32, ts: I64, end_ns: int, shape: tuple[int, int]) -> I32:
    """Number of slices of each name that start in each minimap column; (names, columns)."""
    names, columns = shape
    result = np.zeros(names * columns, np.int32)
    for low in range(0, len(name), _CHUNK):
        part = slice(low, low + _CHUNK)
        cell = name[part].astype(np.int64) * columns
        cell += columns_of(ts[part], end_ns, columns)
        result += np.bincount(cell, minlength=names * columns).astype(np.int32)
    return result.reshape(names, columns)


def sums_by_track(name: I32, dur: I64, layout: Layout, names: int) -> ByTrack | None:
    """The table of a layout to be stored; None where it is of no use, or too large."""
    lanes = [track.lanes for track in layout.tracks]
    if len(dur) < STORED_FROM or names * len(lanes) > MOST_CELLS:
        return None
    table = by_track(name, dur, layout.lane, track_of_lanes(lanes), (names, len(lanes)))
    return ByTrack(narrowest(table.counts), table.totals)


def sums_by_column(name: I32, ts: I64, end_ns: int, names: int) -> Narrow | None:
    """The table of all slices to be stored; None where it is of no use, or too large."""
    if len(ts) < STORED_FROM or names * SEARCH_COLUMNS > MOST_CELLS:
        return None
    return narrowest(by_column(name, ts, end_ns, (names, SEARCH_COLUMNS)))


def columns_of(ts: I64, end_ns: int, columns: int) -> I64:
    """The column of each instant of [0, end_ns], as ``minimap.edges`` divides it.

    Column c begins at ⌊c · end / columns⌋, so ``ts`` is in ⌈(ts + 1) · columns / end⌉ − 1.
    """
    if (end_ns + 1) * columns >= 1 << 63:
        inner = edges(end_ns, columns)[1:-1]
        return np.searchsorted(inner, ts, side="right").astype(np.int64)
    place = ts + 1
    place *= columns
    place -= 1
    place //= max(end_ns, 1)
    return np.clip(place, 0, columns - 1, out=place)


MOST_WORDS = 20


class BadPattern(KinetoscopeError):
    """Invalid regular expression; the message says where it fails."""

    kind = "bad_query"
    status = 400


class NameTexts:
    """The names of a timeline, by code."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    @cached_property
    def _texts(self) -> pa.Array:
        return _array(self._names)

    @cached_property
    def _folded(self) -> list[str]:
        return [name.casefold() for name in self._names]

    def find(self, text: str, mode: str) -> NDArray[np.intp]:
        """Codes of the names that match, ascending.

        ``text``: every word occurs, in any case; ``regex``; ``exact``. An empty text matches none.

        Raises:
            BadPattern: the text is no regular expression.
        """
        if not text.strip() and mode != "exact":
            return np.empty(0, np.intp)
        if mode == "exact":
            hit = np.array([name == text for name in self._names], np.bool_)
        elif mode == "regex":
            hit = self._matching(text)
        else:
            hit = self._with_words(text.casefold().split()[:MOST_WORDS])
        return np.flatnonzero(hit)

    def _with_words(self, words: Sequence[str]) -> NDArray[np.bool_]:
        hit = np.ones(len(self._names), np.bool_)
        for word in words:
            hit &= np.array([word in name for name in self._folded], np.bool_)
        return hit

    def _matching(self, pattern: str) -> NDArray[np.bool_]:
        # Costs a seventh of the start of a command, and few searches are patterns. Its engine takes
        # time linear in the text for every pattern, which Python's does not.
        import pyarrow as pa
        import pyarrow.compute

        try:
            found = pa.compute.match_substring_regex(self._texts, _sound(pattern))
        except pa.ArrowInvalid as error:
            raise BadPattern(f"no regular expression: {_reason(error)}") from None
        return numbers(found.cast(pa.uint8())).astype(np.bool_)


def _array(texts: Sequence[str]) -> pa.Array:
    import pyarrow as pa

    # Halves of surrogate pairs become question marks: UTF-8 cannot hold them.
    return texts_array([text.encode("utf-8", "replace") for text in texts], pa.large_string())


def _sound(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _reason(error: pa.ArrowInvalid) -> str:
    return str(error).removeprefix("Invalid regular expression: ").strip()[:200]
