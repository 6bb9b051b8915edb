"""How many events of which phase and category a file holds: counted once, asked by many."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .columns import chunks, distinct, is_any
from .raw import RawEvents
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_PHASES = 256
_MOST = 1 << 12  # categories to be counted in a table


@dataclass(frozen=True, slots=True, eq=False)
class Census:
    """Kinds of events: ``count[i]`` events have ``phase[i]`` and the category code ``category[i]``.

    No pair of the two occurs twice; kinds are in the order of the category code, then of the phase.
    """

    phase: I64
    category: I64
    count: I64

    def of_phase(self, phase: int) -> int:
        """How many events have this phase."""
        return int(self.count[self.phase == phase].sum())

    def categories(self, phases: Collection[int] | None = None) -> list[int]:
        """Codes of the categories of all events, or of those with one of these phases."""
        chosen = np.ones(len(self.phase), bool)
        if phases is not None:
            chosen = is_any(self.phase, tuple(phases))
        return sorted(set(self.category[chosen].tolist()))


def take_census(events: RawEvents, texts: Texts) -> Census:
    """Count the events of a file."""
    used = distinct(events.category, len(texts))
    if len(used) > _MOST:
        kind, count = np.unique(
            events.category.astype(np.int64) * _PHASES + events.phase, return_counts=True
        )
        return Census(kind % _PHASES, kind // _PHASES, count.astype(np.int64))
    index = np.zeros(len(texts), np.int32)
    index[used] = np.arange(len(used), dtype=np.int32) * _PHASES
    table = np.zeros(len(used) * _PHASES, np.int64)
    for part in chunks(len(events), 1 << 20 if len(used) > 64 else 1 << 16):
        table += np.bincount(
            index[events.category[part]] + events.phase[part], minlength=len(table)
        )
    kind = np.flatnonzero(table)
    return Census(kind % _PHASES, used[kind // _PHASES].astype(np.int64), table[kind])
