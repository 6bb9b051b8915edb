"""The JSON of the Trace view (contract). Times are ns from the start of the trace.

Bulk data (tiles, counters, names, minimap) is binary: see ``tiles``.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ...analysis.timeline.range.devices import AreaDevice
from ..origins import SliceOrigin

FrameLayout = Literal["merged", "split", "filtered", "user"]
"""Layout of Python frames."""
LayoutName = Literal[
    "merged", "split", "filtered", "user",
    "merged-folded", "split-folded", "filtered-folded", "user-folded",
    "merged-recorded", "split-recorded", "filtered-recorded", "user-recorded",
]  # fmt: skip
"""That, and whether the streams of replayed graphs are folded; without, the recording decides."""
TrackKind = Literal["thread", "python", "stream", "graph", "annotations", "syncs", "ranges"]


class TimelineGroup(Struct, frozen=True):
    """A heading above tracks: a process, a device, the recorder."""

    key: str
    kind: str
    label: str


class TimelineTrack(Struct, frozen=True):
    """One labelled band of slices; ``track`` in a tile request is its index."""

    key: str  # stable: "thread/542/542/ops"
    group: int
    kind: TrackKind
    label: str
    detail: str
    lanes: int
    slices: int
    busy_ns: int  # union of its slices
    first_ns: int
    last_ns: int
    overlaps: int
    hidden: int  # Python frames of its thread that the layout hides
    note: str  # what its label or its lanes mean, where they do not say so themselves


class TimelineCounter(Struct, frozen=True):
    """One series of values; ``series`` in a counter request is its index."""

    key: str
    group: int
    kind: str  # "memory" | "utilization" | "sm_efficiency" | "queue" | "counter"
    label: str
    unit: str  # "bytes" | "ratio" | "count" | ""
    definition: str
    samples: int
    low: float
    high: float
    first_ns: int
    last_ns: int


class TimelineStepMark(Struct, frozen=True):
    """One step on the ruler: its range on the host, and its length as shown elsewhere."""

    index: int
    name: str
    ts: int
    end: int
    length_ns: int  # from the end of the step before to the end of the device work it launched


class TimelineCompilation(Struct, frozen=True):
    """One compilation by torch.compile, on the row of compilations."""

    id: str  # compile id: frame/version
    name: str  # the compiled function
    ts: int
    dur_ns: int
    is_again: bool  # no first version


class TimelineKind(Struct, frozen=True):
    """One kind of slice: its name in the legend, and its number."""

    kind: int  # SliceKind
    stem: str  # "op", "module", "python", "runtime", "compute", "communication", …
    label: str
    slices: int


class TimelineFlowKind(Struct, frozen=True):
    """One kind of arrow."""

    kind: int
    label: str
    arrows: int


class TimelineManifest(Struct, frozen=True):
    """Everything the page needs before it asks for the first tile."""

    base_ns: str  # wall clock of 0, ns since the epoch: too wide for a double
    start_ns: int
    end_ns: int
    events: int  # of the file
    slices: int
    name_count: int
    layout: LayoutName
    layouts: tuple[FrameLayout, ...]  # that can be asked for
    graph_streams: int  # streams of one device on which replayed graphs ran: what can be folded
    is_folded: bool  # whether they are
    hidden: int  # Python frames that this layout hides
    tile_buckets: int
    lane_block: int
    max_level: int
    groups: tuple[TimelineGroup, ...]
    tracks: tuple[TimelineTrack, ...]
    counters: tuple[TimelineCounter, ...]
    kinds: tuple[TimelineKind, ...]
    flow_kinds: tuple[TimelineFlowKind, ...]
    steps: tuple[TimelineStepMark, ...]
    head_ns: int  # until then a device was on work launched before the recording
    compilations: tuple[TimelineCompilation, ...]  # in the order of time; () = none is known
    warnings: tuple[str, ...]
    missing: dict[str, str]  # what this recording cannot show, and why: "memory", "stacks", …


class SliceRef(Struct, frozen=True):
    """One slice, with the data to name, draw and reach it."""

    slice: int
    name: str
    kind: int
    ts: int
    dur: int
    track: int
    lane: int  # within the track


class SliceLink(Struct, frozen=True):
    """A linked slice, and the kind of link."""

    relation: Literal[
        "launched by",  # device → runtime call
        "launches",  # runtime call → device
        "op",  # device → the op around its launch
        "kernels",  # op → its device activity
        "forward",  # backward op → the forward op: "click to the forward op"
        "backward",
        "parent",
    ]
    label: str  # "forward op", "1 of 6 kernels, 48.3 µs in all"
    to: SliceRef
    delay_ns: int | None  # from the end of the one to the start of the other
    count: int  # how many of this relation there are; ``to`` is the first


class SliceArg(Struct, frozen=True):
    """One argument as the file writes it; ``text`` is shown, ``cut`` is true if it is shortened."""

    key: str
    text: str
    cut: bool


class StackFrame(Struct, frozen=True):
    """One frame of the call stack, innermost first."""

    name: str
    file: str  # "" when the frame does not tell
    line: int  # 1-based; 0 when unknown
    slice: int | None


class LaunchDelay(Struct, frozen=True):
    """From the call to the kernel: three durations that touch."""

    launch_ns: int  # the call itself
    queued_ns: int  # from the end of the call to the start on the device; negative = it overlaps
    run_ns: int


class SliceDetails(Struct, frozen=True):
    """All data of one slice."""

    slice: SliceRef
    kind_label: str
    self_ns: int
    step: str
    step_offset_ns: int | None  # from the start of its step
    track_label: str
    stream: str  # of device work that its track does not tell: "stream 41", "stream 29, on lane 7"
    depth: int
    wall_ns: str  # wall clock of its start
    flags: tuple[str, ...]  # in words: "overlaps its neighbours", "the recording ended before it"
    peers: int  # slices of the same name
    median_ns: int | None  # of those
    rank: int | None  # 1 = the longest of its name
    ancestors: tuple[SliceRef, ...]  # outermost first
    links: tuple[SliceLink, ...]
    launch: LaunchDelay | None
    origin: SliceOrigin | None  # of work in a replayed graph, where a capture was recorded
    args: tuple[SliceArg, ...]
    args_missing: str  # why there are none, "" when there are
    inputs: tuple[tuple[str, str], ...]  # shape and dtype of each input where recorded
    stack: tuple[StackFrame, ...]
    stack_missing: str  # why there is none, or how much of it is not listed
    source_file: str  # of a Python frame
    source_line: int


class NameHit(Struct, frozen=True):
    """One name that a search found."""

    name: int  # code
    text: str
    kind: int  # of its first slice
    slices: int
    total_ns: int
    first: int  # slice id


class SearchAnswer(Struct, frozen=True):
    """Matching names, their number, and their place on the time axis."""

    names: tuple[NameHit, ...]  # by count, at most 200
    name_count: int  # all that match
    codes: tuple[int, ...]  # name codes of all that match, at most 5000: for highlighting
    slices: int
    total_ns: int
    density: tuple[int, ...]  # slices per column of the minimap, ``columns`` of them
    tracks: dict[str, int]  # hits by track index
    problem: str  # of a regular expression, "" = fine


class StepTo(Struct, frozen=True):
    """The slice that a move leads to; None at the end."""

    to: SliceRef | None
    position: int  # 1-based among all hits; 0 when that is not known
    count: int


class AreaRow(Struct, frozen=True):
    """All slices of one name within an area; those at its edges are clipped to it."""

    name: int
    text: str
    kind: int
    count: int
    total_ns: int
    self_ns: int
    min_ns: int
    mean_ns: float
    p50_ns: int
    p95_ns: int
    max_ns: int
    share: float | None  # of the area's wall time
    longest: int  # slice id


class AreaCounter(Struct, frozen=True):
    """One series within an area."""

    series: int
    label: str
    unit: str
    low: float | None
    high: float | None
    mean: float | None
    delta: float | None


class AreaAnswer(Struct, frozen=True):
    """The contents of a range of time on chosen tracks."""

    start_ns: int
    end_ns: int
    slices: int
    clipped: int  # slices cut at an edge
    total_ns: int
    rows: tuple[AreaRow, ...]  # by total, at most ``limit``
    row_count: int
    devices: tuple[AreaDevice, ...]
    devices_missing: str
    counters: tuple[AreaCounter, ...]


class SliceRow(Struct, frozen=True):
    """One line of the slices table."""

    slice: int
    name: str
    kind: int
    track: int
    ts: int
    dur: int
    self_ns: int
    step: int


class SliceRows(Struct, frozen=True):
    """A window of the slices table."""

    rows: tuple[SliceRow, ...]
    offset: int
    count: int  # of all that match


class Arrow(Struct, frozen=True):
    """One arrow, or a bundle of ``count`` that begin and end close together."""

    kind: int
    source: SliceRef
    target: SliceRef
    count: int


class FlowAnswer(Struct, frozen=True):
    """Arrows of a slice or of a range of time; never more than the page can draw."""

    arrows: tuple[Arrow, ...]
    count: int  # all that there are
