"""How a timeline lies on disk: what is no column, and the names of the files.

``timeline.json``            everything that is no column
``names.arrow``              texts of the names of slices
``layout.by_track`` ``index.by_column``  of very many slices: what a search adds up
``slices.<column>.arrow``    one column of slices each; ``flags`` is beside the layout
``flows`` ``index``          arrows, and slices by name (``index.first``, ``index.slices``)
``counters.samples``, ``counters.levels``  all series one behind the other

``layout.json`` and ``layout.<part>.arrow`` are one layout (a level of it: ``layout.17.records``,
``.rects``, ``.firsts``): of ``split`` beside the rest, of another
in a folder of its own, which refers to the folder of ``split`` beside it.
"""

from __future__ import annotations

import msgspec

TIMELINE, LAYOUT = "timeline.json", "layout.json"
SLICE_COLUMNS = ("ts", "dur", "name", "kind", "parent", "self_ns", "step", "raw")


class StoredGroup(msgspec.Struct, frozen=True, array_like=True):
    """As ``model.Group``."""

    key: str
    kind: str
    label: str


class StoredTrack(msgspec.Struct, frozen=True, array_like=True):
    """As ``model.Track``."""

    key: str
    group: int
    kind: str
    label: str
    detail: str
    lane: int
    lanes: int
    slices: int
    busy_ns: int
    first_ns: int
    last_ns: int
    overlaps: int
    hidden: int = 0


class StoredStep(msgspec.Struct, frozen=True, array_like=True):
    """As ``model.TimelineStep``."""

    index: int
    name: str
    ts: int
    end: int


class StoredCounter(msgspec.Struct, frozen=True, array_like=True):
    """A series; its samples and those of its levels are so many of the columns."""

    key: str
    group: int
    kind: str
    label: str
    unit: str
    definition: str
    samples: int
    levels: list[tuple[int, int]]  # level, records


class StoredTimeline(msgspec.Struct, frozen=True):
    """The content of timeline.json."""

    base_ns: int
    start_ns: int
    end_ns: int
    events: int
    tables: tuple[int, int, int, int, int, int]
    groups: list[StoredGroup]
    counters: list[StoredCounter]
    steps: list[StoredStep]
    warnings: list[str]


class StoredLayout(msgspec.Struct, frozen=True):
    """The content of layout.json."""

    name: str
    tracks: list[StoredTrack]
    levels: list[int]
    warnings: list[str]
