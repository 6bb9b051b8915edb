"""The timeline of a trace: slices, tracks, lanes and levels of detail (contract).

A *slice* is one drawn range. Its id is its row in ``Slices``: first the host table of the trace in
its order, then device activity, device annotations, syncs, ranges (``Tables`` has the offsets). Ids
do not depend on the layout. A *track* is one labelled band, a *lane* one row of it; a *layout*
says which slices are in which lane. No two slices of a lane overlap, and none is left out but for
what the layout ``filtered`` hides. Layouts differ in two ways that do not depend on each other: how
Python frames are shown (``LAYOUTS``), and whether the streams of replayed graphs are folded.

Times are int64 ns from the start of the trace. Level ``k`` has buckets of 2^k ns; a *tile* is 512
buckets and covers [i·2^(k+9), (i+1)·2^(k+9)). In a lane, a slice with dur ≥ 2^k is a *rect* of
level k; shorter ones are counted in the bucket of their start. So the counts and the summed
durations of all buckets and of the rects that start there are exact at every level.

All arrays may be memory-mapped and are read-only.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64, U8, U32, ColumnTable

Places = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.int32]
"""Row numbers of something there is little of, −1 for none, in as few bits as suffice."""
Narrow = NDArray[np.uint16] | NDArray[np.uint32] | NDArray[np.int64]
"""Numbers from 0 on, in the smallest of these types."""

TILE_BUCKETS = 512
LANE_BLOCK = 16  # lanes are asked for in blocks of so many
MAX_LEVEL = 54

LAYOUTS = ("merged", "split", "filtered", "user")
"""As recorded; Python frames in a track of their own; that, without the plumbing of frameworks;
that, with frames of the user's own code alone."""
DEFAULT_LAYOUT = "split"
FOLDED, RECORDED = "folded", "recorded"
"""Nodes of replayed graphs by what they do; or each on its stream. Added to a layout's name:
"split-recorded". Without, the recording decides (``graph_rows.is_folded``)."""
FOLD_ABOVE = 8
"""Streams of one device with nodes of graphs, beyond which they are folded unless one asks."""
VARIANTS = (
    DEFAULT_LAYOUT,
    *(name for name in LAYOUTS if name != DEFAULT_LAYOUT),
    *(f"{name}-{streams}" for streams in (FOLDED, RECORDED) for name in LAYOUTS),
)
"""The names of all layouts; the one that is always there first."""
DEVICE_TRACKS = ("stream", "graph")
"""Kinds of tracks with the work of devices."""


class SliceKind(IntEnum):
    """Kind of a slice, which decides its hue."""

    OP = 0
    ANNOTATION = 1
    PYTHON = 2
    MODULE = 3
    RUNTIME = 4
    OVERHEAD = 5
    OTHER = 6
    LOADER = 7  # DataLoader ranges on the host
    COMPUTE = 8  # kernels by class
    COMMUNICATION = 9
    MEMCPY = 10
    MEMSET = 11
    DEVICE_OTHER = 12
    DEVICE_ANNOTATION = 13
    SYNC = 14
    RANGE = 15  # spans of the recorder, profiler ranges


class SliceFlag(IntEnum):
    """Bits of ``Slices.flags``."""

    OVERLAP = 1  # overlaps its neighbours in a way that nesting does not explain, or was displaced
    INCOMPLETE = 2  # the recording ended before it did
    FLOW = 4  # an arrow begins or ends here
    CHILDREN = 8  # has slices below it


class FlowKind(IntEnum):
    """Meaning of an arrow."""

    LAUNCH = 0  # runtime call (or op, where no call was recorded) → device activity
    BACKWARD = 1  # forward op → backward op
    DEPENDENCY = 2  # node of a graph → node that waits for it


class Slices(ColumnTable, frozen=True, eq=False):
    """Every duration event of the trace, by slice id; shape (n,)."""

    ts: I64
    dur: I64
    name: I32  # code into Timeline.names
    kind: U8  # SliceKind
    flags: U8  # SliceFlag bits
    parent: I32  # slice id; −1
    self_ns: I64  # time not covered by children; on devices dur
    step: Places  # index of the step, −1
    raw: I32  # row in the file, by which everything else is found again


class Tables(Struct, frozen=True):
    """First slice id of each table of the trace; ``end`` is the number of slices."""

    host: int
    device: int
    device_annotations: int
    syncs: int
    ranges: int
    end: int


class Group(Struct, frozen=True):
    """A collapsible heading above tracks: a process, a device."""

    key: str  # "process/542", "device/0": the same in other layouts and recordings
    kind: str  # "process" | "device" | "recorder"
    label: str


class Track(Struct, frozen=True):
    """One labelled band of slices."""

    key: str  # "thread/542/542/ops", "stream/0/7"
    group: int
    kind: str  # "thread" | "python" | "stream" | "graph" | "annotations" | "syncs" | "ranges"
    label: str  # "Main thread · ops"
    detail: str  # "thread 542"
    lane: int  # its first lane among all lanes of the layout
    lanes: int
    slices: int
    busy_ns: int  # union of its slices
    first_ns: int
    last_ns: int
    overlaps: int  # slices that overlap in a way nesting does not explain
    hidden: int = 0  # Python frames of the thread that the layout hides
    note: str = ""  # what its label or its lanes mean, where they do not say so themselves


class Level(Struct, frozen=True, eq=False):
    """One kept level of detail: per lane its buckets and its rects, both in order of time.

    To be cut from by ``cut`` alone: the numbers are as narrow as their values allow.
    """

    level: int
    bucket_first: I64  # CSR by lane, one more than lanes
    bucket: Narrow  # bucket number: start of the slices >> level
    count: Narrow
    sum_ns: Narrow
    longest: I32  # slice id of the longest one
    rect_first: I64  # CSR by lane
    rect: I32  # slice ids with dur >= 2^level


class Layout(Struct, frozen=True, eq=False):
    """Which slices are in which lane. Slices of a lane are in order of their start.

    Lanes are counted through all tracks. ``places`` has the searches: who is where, and when.
    """

    name: str
    tracks: tuple[Track, ...]
    lane_first: I64  # CSR by lane into ``order``
    order: I32  # slice ids by (lane, ts)
    lane: Places  # lane of each slice id; −1 where the layout hides it
    levels: Mapping[int, Level]  # those kept; finer ones come from ``order``
    busy: Narrow  # (tracks, columns): union of the track's slices in equal parts of [0, end_ns)
    by_track: ByTrack | None = None  # of very many slices: what a search adds up


class CounterLevel(Struct, frozen=True, eq=False):
    """Samples of one series reduced to buckets of 2^level ns; every peak is kept."""

    level: int
    bucket: I64
    low: F64
    high: F64
    last: F64
    mean: F64  # weighted by time


class Counter(Struct, frozen=True, eq=False):
    """One series of values over time; a value holds until the next sample."""

    key: str  # "memory/allocated/device/0", "device/0/utilization"
    group: int
    kind: str  # "memory" | "utilization" | "sm_efficiency" | "queue" | "counter"
    label: str  # "Allocated memory"
    unit: str  # "bytes" | "ratio" | "count" | ""
    definition: str  # one sentence: what it is and how it was computed
    ts: I64
    value: F64
    levels: Mapping[int, CounterLevel] = field(default_factory=dict)


class SliceFlows(Struct, frozen=True, eq=False):
    """Arrows, sorted by source; ``by_target`` is the order by target."""

    source: I32  # slice id
    target: I32
    kind: U8  # FlowKind
    by_target: I32


class ByTrack(Struct, frozen=True, eq=False):
    """Slices of each name on each track of a layout; shape (names, tracks)."""

    counts: Narrow
    totals: I64  # summed durations


class NameIndex(Struct, frozen=True, eq=False):
    """The slices of each name in order of time: CSR by name code."""

    first: I64
    slices: I32
    sum_ns: I64  # by name code
    by_column: Narrow | None = None  # of very many slices: shape (names, SEARCH_COLUMNS)


class TimelineStep(Struct, frozen=True):
    """One step on the ruler."""

    index: int
    name: str
    ts: int
    end: int


class Timeline(Struct, frozen=True, eq=False):
    """All data behind the Trace view."""

    base_ns: int  # wall clock of ts = 0
    start_ns: int  # first start, ≤ 0 never: times count from it
    end_ns: int  # last end
    events: int  # of the file
    names: tuple[str, ...]  # by name code; only names of slices
    slices: Slices
    tables: Tables
    groups: tuple[Group, ...]
    layouts: Mapping[str, Layout]  # those made so far
    counters: tuple[Counter, ...]
    flows: SliceFlows
    index: NameIndex
    steps: tuple[TimelineStep, ...]
    warnings: tuple[str, ...]  # what the picture cannot show as recorded, with counts


class Block(Struct, frozen=True, eq=False):
    """Contents of one tile for up to 16 lanes of one track: struct of arrays, cut from a layout.

    ``x`` counts in buckets from the left edge of the tile and is clipped to [0, 512].
    """

    track: int
    lane: int  # first lane, counted within the track
    level: int
    tile: int
    rect_first: U32  # CSR by lane
    x0: NDArray[np.float32]
    x1: NDArray[np.float32]
    rect: I32  # slice ids
    bucket_first: U32  # CSR by lane
    bucket: NDArray[np.uint16]  # 0 … 511
    count: U32
    busy: U8  # 0 … 255: summed duration ÷ width of the bucket, at most 1
    longest: I32  # slice id of the longest slice of the bucket
    slice_count: int  # slices that start in this tile and in these lanes: exact
    sum_ns: int  # their summed durations: exact
