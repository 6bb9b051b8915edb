"""Arrows of the file: which start belongs to which end, and which events they touch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .columns import cells
from .raw import ID_INT, ID_TEXT, MISSING, RawTrace
from .rows import Rows
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """Start and end of each arrow whose two ends exist, as rows of the file."""

    start: I32
    end: I32
    category: I32
    lonely_starts: int
    lonely_ends: int

    def of(self, texts: Texts, categories: Collection[str]) -> tuple[I32, I32]:
        """Starts and ends of the arrows of these categories (lower case)."""
        wanted = texts.table(self.category, lambda text: text.casefold() in categories, np.bool_)
        chosen = wanted[self.category] if len(self.category) else np.zeros(0, bool)
        return self.start[chosen], self.end[chosen]


def match_flows(raw: RawTrace, rows: Rows) -> Flows:
    """Match ends with starts by (category, id). One start may have many ends."""
    starts, ends = rows.flow_starts, rows.flow_ends
    if not len(starts) or not len(ends):
        none = np.empty(0, np.int32)
        return Flows(none, none, none, len(starts), len(ends))
    both = np.concatenate([starts, ends])
    category = raw.events.category[both]
    number = cells(raw.ints.get(ID_INT), both, MISSING)
    text = cells(raw.texts.get(ID_TEXT), both, -1)
    is_end = np.arange(len(both)) >= len(starts)
    # Within one key the starts come first; an end takes the last row before it that is a start.
    order = np.lexsort((is_end, text, number, category))
    new = np.ones(len(both), bool)
    for column in (category, number, text):
        sorted_column = column[order]
        same = sorted_column[1:] == sorted_column[:-1]
        if column is category:
            new[1:] = ~same
        else:
            new[1:] |= ~same
    ended = is_end[order]
    position = np.arange(len(both))
    last_start = np.maximum.accumulate(np.where(ended, -1, position))
    key_begin = np.maximum.accumulate(np.where(new, position, -1))
    paired = np.flatnonzero(ended & (last_start >= key_begin))
    source = last_start[paired]
    start, end = both[order[source]], both[order[paired]]
    back = np.argsort(end, kind="stable")
    return Flows(
        start=start[back],
        end=end[back],
        category=raw.events.category[end[back]],
        lonely_starts=len(starts) - len(np.unique(source)),
        lonely_ends=len(ends) - len(paired),
    )


def last_started(offsets: I64, ts: I64, group: I32, at: I64) -> NDArray[np.intp]:
    """The last row of a group that starts at or before an instant, −1 where none does.

    Rows are sorted by (group, ts); group g holds rows [offsets[g], offsets[g + 1]).
    """
    found = np.full(len(at), -1, np.intp)
    order = np.argsort(group, kind="stable")
    cuts = np.searchsorted(group[order], np.arange(len(offsets)))
    for g in np.unique(group[group >= 0]).tolist():
        asked = order[cuts[g] : cuts[g + 1]]
        low, high = int(offsets[g]), int(offsets[g + 1])
        place = low + np.searchsorted(ts[low:high], at[asked], side="right") - 1
        found[asked] = np.where(place >= low, place, -1)
    return found
