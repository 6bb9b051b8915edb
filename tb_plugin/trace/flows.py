"""Arrows of the file: which start belongs to which end, and which events they touch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .categories import DEPENDENCY_FLOW, FIRST_DEPENDENCY
from .columns import cells, distinct, put, take, where
from .raw import ID_INT, ID_TEXT, MISSING, RawEvents, RawTrace
from .rows import FLOW_END, FLOW_START, Rows
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_DENSE = 1 << 20
_FEW = 16  # categories that are matched one after the other


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Where arrows begin, or where they end: process, thread (codes), and time as written."""

    pid: I32
    tid: I32
    ts: I64

    def __len__(self) -> int:
        return len(self.ts)

    @staticmethod
    def at(events: RawEvents, row: I32) -> Ends:
        """Of the arrows in these rows of the file."""
        return Ends(take(events.pid, row), take(events.tid, row), take(events.ts, row))


@dataclass(frozen=True, slots=True, eq=False)
class Arrows:
    """Arrows with both of their ends; ``source[i]`` points at ``target[i]``."""

    source: Ends
    target: Ends

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """Start and end of each arrow that has both, as rows of the file, in order of the end."""

    start: I32
    end: I32
    category: I32
    dependencies: int  # arrows from node to node of a graph, which are none of those above
    lonely_starts: int
    lonely_ends: int

    def of(self, raw: RawTrace, texts: Texts, categories: Collection[str]) -> Arrows:
        """The arrows of these categories (lower case)."""
        wanted = texts.table(self.category, lambda text: text.casefold() in categories, np.bool_)
        chosen = where(take(wanted, self.category))
        start, end = take(self.start, chosen), take(self.end, chosen)
        return Arrows(Ends.at(raw.events, start), Ends.at(raw.events, end))


def match_flows(raw: RawTrace, texts: Texts, rows: Rows) -> Flows:
    """Match ends with starts by (category, id). One start may have many ends.

    Of several starts with one key the last one in the file counts.
    """
    starts, ends = rows.flow_starts, rows.flow_ends
    source = _by_number(raw, texts, starts, ends)
    if source is None:
        source = _by_any_id(raw, starts, ends)
    paired = where(source >= 0)
    source = take(source, paired)
    end = take(ends, paired)
    used = np.zeros(len(starts), bool)
    put(used, source, np.ones(len(source), bool))
    start = take(starts, source)
    # Between the nodes of a graph: named as launches are, numbered beyond any correlation.
    dependency = cells(raw.ints.get(ID_INT), start, -1) >= FIRST_DEPENDENCY
    dependency &= take(raw.events.category, start) == texts.code(DEPENDENCY_FLOW)
    others = where(~dependency)
    return Flows(
        start=take(start, others),
        end=take(end, others),
        category=take(raw.events.category, take(end, others)),
        dependencies=len(start) - len(others),
        lonely_starts=len(starts) - int(np.count_nonzero(used)),
        lonely_ends=len(ends) - len(end),
    )


def _by_number(raw: RawTrace, texts: Texts, starts: I32, ends: I32) -> I32 | None:
    """For each end the index of its start, −1 without one; None where not all ids are numbers.

    Recorders count arrows, so a table from id to start is hardly longer than the list of starts.
    """
    ids = raw.ints.get(ID_INT)
    if ids is None or not len(starts) or not len(ends):
        return None if len(starts) and len(ends) else np.full(len(ends), -1, np.int32)
    phase = take(raw.events.phase, ids.row)
    begun, ended = where(phase == FLOW_START), where(phase == FLOW_END)
    if len(begun) != len(starts) or len(ended) != len(ends):
        return None
    begin_id, end_id = take(ids.value, begun), take(ids.value, ended)
    category = take(raw.events.category, starts)
    end_category = take(raw.events.category, ends)
    kinds = distinct(category, len(texts)).tolist()
    if len(kinds) > _FEW:
        return None
    source = np.full(len(ends), -1, np.int32)
    for kind in kinds:
        mine, theirs = where(category == kind), where(end_category == kind)
        key, asked = take(begin_id, mine), take(end_id, theirs)
        low, high = int(key.min()), int(key.max())
        if high - low >= max(_DENSE, 8 * len(ids.row)):
            return None
        table = np.full(high - low + 1, -1, np.int32)
        put(table, key - low, mine)
        known = (asked >= low) & (asked <= high)
        if not known.all():
            theirs, asked = theirs[known], asked[known]
        put(source, theirs, take(table, asked - low))
    return source


def _by_any_id(raw: RawTrace, starts: I32, ends: I32) -> I32:
    """The same for ids of any kind, by sorting: within one key the starts come first."""
    both = np.concatenate([starts, ends])
    category = raw.events.category[both]
    number = cells(raw.ints.get(ID_INT), both, MISSING)
    text = cells(raw.texts.get(ID_TEXT), both, -1)
    is_end = np.arange(len(both)) >= len(starts)
    order = np.lexsort((is_end, text, number, category))
    new = np.ones(len(both), bool)
    new[1:] = False
    for column in (category, number, text):
        in_order = column[order]
        new[1:] |= in_order[1:] != in_order[:-1]
    ended = is_end[order]
    position = np.arange(len(both))
    # An end takes the last row before it that is a start of the same key.
    last_start = np.maximum.accumulate(np.where(ended, -1, position))
    key_begin = np.maximum.accumulate(np.where(new, position, -1))
    paired = np.flatnonzero(ended & (last_start >= key_begin))
    source = np.full(len(ends), -1, np.int32)
    source[order[paired] - len(starts)] = order[last_start[paired]]
    return source


def last_started(offsets: I64, ts: I64, group: I32, at: I64) -> NDArray[np.intp]:
    """The last row of a group that starts at or before an instant, −1 where none does.

    Rows are sorted by (group, ts); group g holds rows [offsets[g], offsets[g + 1]).
    """
    found = np.full(len(at), -1, np.intp)
    order = np.argsort(group, kind="stable")
    in_order = group[order]
    edges = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1
    for asked in np.split(order, edges):
        if len(asked) and (g := int(group[asked[0]])) >= 0:
            low, high = int(offsets[g]), int(offsets[g + 1])
            place = low + np.searchsorted(ts[low:high], at[asked], side="right") - 1
            found[asked] = np.where(place >= low, place, -1)
    return found
