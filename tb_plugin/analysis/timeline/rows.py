"""A window of the slices of an area: filtered by name, in the order asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import I32
from .opened import Opened
from .select import Area, slices_in

SORTS = ("ts", "dur", "self", "name")


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Slices ``offset`` … of ``count`` that there are."""

    ids: I32
    count: int


def rows_in(opened: Opened, area: Area, text: str, sort: str, offset: int, limit: int) -> Window:
    """Slices that touch an area; ``text``: every word occurs in the name, in any case.

    ``sort`` is one of ``SORTS``, with a "-" before it for the largest first. Equal ones are in
    order of lane and start, so that windows fit together.
    """
    ids = slices_in(opened, area)
    if text.strip():
        named = np.zeros(len(opened.timeline.names), np.bool_)
        named[opened.texts.find(text, "text")] = True
        ids = ids[named[opened.timeline.slices.name[ids]]]
    key = _key(opened, ids, sort.removeprefix("-"))
    if sort.startswith("-"):
        key = -key
    return Window(ids[window_of(key, offset, limit)], len(ids))


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


def _key(opened: Opened, ids: I32, sort: str) -> NDArray[Any]:
    slices = opened.timeline.slices
    if sort == "name":
        names = opened.timeline.names
        order = sorted(range(len(names)), key=lambda code: (names[code].casefold(), names[code]))
        rank = np.empty(len(names), np.int32)
        rank[order] = np.arange(len(names), dtype=np.int32)
        return rank[slices.name[ids]]
    column = {"ts": slices.ts, "dur": slices.dur, "self": slices.self_ns}[sort]
    return column[ids]
