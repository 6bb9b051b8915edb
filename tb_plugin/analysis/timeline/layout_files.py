"""Stores one layout: lanes, flags, levels of detail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from ...base.units import plural
from ...trace.model import Trace
from . import pyramid
from .files import narrowest, put
from .groups import Groups
from .layouts import Arrangement, arrange
from .model import I64, U8, Level, SliceFlag
from .stored import LAYOUT, StoredLayout, StoredTrack

OnShare = Callable[[float], None]
"""How much is done, 0 … 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What is drawn, whatever the layout; columns by slice id."""

    trace: Trace
    groups: Groups
    ts: I64
    dur: I64
    flags: U8  # all but that of overlaps


def write_layout(drawn: Drawn, name: str, folder: Path, on_share: OnShare) -> list[int]:
    """Stores one of ``LAYOUTS``; says how many lanes each of its tracks has.

    Raises:
        OSError: no room, or no permission.
    """
    made = arrange(
        drawn.trace, drawn.groups, drawn.ts, drawn.dur, name, lambda share: on_share(0.7 * share)
    )
    flags = drawn.flags.copy()
    flags[made.overlapping] |= np.uint8(SliceFlag.OVERLAP)
    put(folder, "layout.flags", {"flags": flags})
    put(folder, "layout.lane", {"lane": made.lane})
    put(folder, "layout.order", {"order": made.order})
    put(folder, "layout.lane_first", {"lane_first": made.lane_first})
    put(folder, "layout.busy", {"busy": narrowest(made.busy.ravel())})
    levels = []
    lanes = (made.order, made.lane_first)
    for level in pyramid.levels_of(*lanes, drawn.ts, drawn.dur, drawn.trace.end_ns):
        _write_level(level, folder)
        levels.append(level.level)
        on_share(0.9)
    stored = StoredLayout(
        name=name,
        tracks=[msgspec.convert(track, StoredTrack, from_attributes=True) for track in made.tracks],
        levels=levels,
        warnings=_warnings(made),
    )
    (folder / LAYOUT).write_bytes(msgspec.json.encode(stored))
    on_share(1.0)
    return [track.lanes for track in made.tracks]


def _write_level(level: Level, folder: Path) -> None:
    stem = f"layout.{level.level}"
    records = ("bucket", "count", "sum_ns", "longest")
    put(folder, f"{stem}.records", {name: getattr(level, name) for name in records})
    put(folder, f"{stem}.rects", {"rect": level.rect})
    firsts = ("bucket_first", "rect_first")
    put(folder, f"{stem}.firsts", {name: getattr(level, name) for name in firsts})


def _warnings(made: Arrangement) -> list[str]:
    found = []
    if count := len(made.overlapping):
        found.append(
            f"{plural(count, 'slice')} overlap others in a way that nesting does not explain:"
            " drawn in lanes of their own."
        )
    if made.hidden:
        is_one = made.hidden == 1
        found.append(
            f"{plural(made.hidden, 'Python frame')} of libraries {'is' if is_one else 'are'} hidden"
            " in this layout."
        )
    if made.is_all_of_others:
        found.append("No Python frame is of code of your own by its path: all are shown.")
    return found
