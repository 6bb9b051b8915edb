"""A window of the slices of an area, filtered by name and sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....base.arrays import I32
from ..timeline import Opened
from .sums import Area, runs_in

SORTS = ("ts", "dur", "self", "name")

_CHUNK = 1 << 17
_MOST_KEPT = 1 << 14

Keys = Callable[[I32], NDArray[Any]]


class SliceWindow(Struct, frozen=True, eq=False):
    """Slices ``offset`` … of ``count`` that there are."""

    ids: I32
    count: int


def rows_in(
    opened: Opened, area: Area, text: str, sort: str, offset: int, limit: int
) -> SliceWindow:
    """Slices that touch an area; ``text``: every word occurs in the name, in any case.

    ``sort`` is one of ``SORTS``, with a "-" before it for the largest first. Equal ones are in
    order of lane and start, so that windows fit together.
    """
    keys = _keys(opened, sort)
    parts = _named(opened, _chunks(runs_in(opened, area)), text)
    if offset + limit <= _MOST_KEPT:
        return _first_ones(parts, keys, offset, limit)
    ids = np.concatenate([np.empty(0, np.int32), *parts])
    return SliceWindow(ids[window_of(keys(ids), offset, limit)], len(ids))


def _chunks(runs: Sequence[I32]) -> Iterator[I32]:
    """The ids a few at a time, because arrays of millions are slow to allocate."""
    for run in runs:
        for low in range(0, len(run), _CHUNK):
            yield run[low : low + _CHUNK]


def _named(opened: Opened, parts: Iterator[I32], text: str) -> Iterator[I32]:
    if not text.strip():
        yield from parts
        return
    named = np.zeros(len(opened.timeline.names), np.bool_)
    named[opened.texts.find(text, "text")] = True
    for ids in parts:
        yield ids[named[opened.timeline.slices.name[ids]]]


def _first_ones(parts: Iterator[I32], keys: Keys, offset: int, limit: int) -> SliceWindow:
    """A window near the top: only rows that may still be in it are kept."""
    most, count = offset + limit, 0
    kept = np.empty(0, np.int32)
    kept_keys: NDArray[Any] | None = None
    for part in parts:
        count += len(part)
        ids, key = part, keys(part)
        if kept_keys is not None and len(kept) == most:
            # Equal to the last one, but behind it: too late.
            better = np.flatnonzero(key < kept_keys[-1]) if most else np.empty(0, np.intp)
            ids, key = ids[better], key[better]
        if len(ids):
            ids = np.concatenate([kept, ids])
            key = key if kept_keys is None else np.concatenate([kept_keys, key])
            chosen = window_of(key, 0, most)
            kept, kept_keys = ids[chosen], key[chosen]
    return SliceWindow(kept[offset:], count)


def window_of(key: NDArray[Any], offset: int, limit: int) -> NDArray[np.intp]:
    """Places [offset, offset + limit) of the stable order of the keys, without sorting them all."""
    last = min(offset + limit, len(key)) - 1
    if last < offset:
        return np.empty(0, np.intp)
    edges = np.partition(key, (offset, last))[[offset, last]]
    before = int(np.count_nonzero(key < edges[0]))
    places = np.flatnonzero((key >= edges[0]) & (key <= edges[1]))
    places = places[np.argsort(key[places], kind="stable")]
    return places[offset - before : last + 1 - before]


def _keys(opened: Opened, sort: str) -> Keys:
    """Sort keys of some slices; the smallest first."""
    slices, sign = opened.timeline.slices, -1 if sort.startswith("-") else 1
    by = sort.removeprefix("-")
    if by == "name":
        names = opened.timeline.names
        order = sorted(range(len(names)), key=lambda code: (names[code].casefold(), names[code]))
        rank = np.empty(len(names), np.int32)
        rank[order] = np.arange(len(names), dtype=np.int32)
        return lambda ids: sign * rank[slices.name[ids]]
    column = {"ts": slices.ts, "dur": slices.dur, "self": slices.self_ns}[by]
    return lambda ids: sign * column[ids]
