"""The JSON of the Memory view (contract). Times are ns from the start of the trace, sizes bytes.

The view itself answers with ``Memory``: the sentence, the devices, the curve, the first windows of
both tables. Its parts, each of one device:

    curve       MemoryCurve       allocated, reserved and what for, of any range
    events      MemoryEventTable  blocks with an end in a range: search, sizes, order, window
    statistics  StatisticsTable   the seven figures of each op over a range: search, order, window
    alive       AliveTree         what a total consists of, at a peak or at any instant
    block       BlockDetails      one block: its ends, its ops, its line, why it is in its category
    map         AddressMap        the bands of addresses in use, which tiles refer to
    map_tiles   bytes             blocks by address and time, as a frame (``views/memory/tiles.py``)
    free        FreeMemoryAnswer  what is reserved and free, and how much of it is of no use
    compare     MemoryComparison  two snapshots by the code that allocates, and over steps
    steps       StepsMemory       growth from step to step, allocations, calls to the device

A range is [start_ns, end_ns). None is the start, or the end, of the recording.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..shared import Count, DeviceName, Words, option
from ..table import Column, column
from .rows import CATEGORY_HELP, MemoryCategory, MemoryEventRow, StatisticsRow

Instant = Annotated[int, Meta(ge=0, lt=2**62)]
Bytes = Annotated[int, Meta(ge=0, lt=2**62)]
Limit = Annotated[int, Meta(ge=1, le=1000)]

CategoryConfidence = Literal["high", "medium", "low"]
LayerBy = Literal["category", "module", "line", "total"]


class MemoryRange(Struct, frozen=True, forbid_unknown_fields=True):
    """A device and a range of time."""

    device: Annotated[
        DeviceName,
        option(
            'device by its number or key: "0", "cuda:0", "hip:1", "cpu"',
            "the first accelerator, else the host",
        ),
    ] = ""
    steps: Annotated[
        str,
        option(
            'steps by their numbers, from the first of them to the last: "3", "2-5"; "all", or'
            ' "everything" that is recorded',
            "all but warm-up and cut-off steps",
        ),
    ] = ""
    start_ns: Annotated[Instant | None, option("start of the range; goes before steps")] = None
    end_ns: Annotated[Instant | None, option("end of the range; goes before steps")] = None


class MemoryQuery(MemoryRange, frozen=True, forbid_unknown_fields=True):
    """The curve over a range, and a window of its tables."""

    by: Annotated[LayerBy, option("what the curve is divided by")] = "category"
    points: Annotated[int, Meta(ge=10, le=20_000), option("points of the curve, about")] = 2000
    search: Annotated[Words, option("ops whose name has these words", "all")] = ""
    limit: Annotated[Limit, option("rows of each table")] = 100


class MemoryDeviceRow(Struct, frozen=True):
    """One counter of allocated bytes that the recording has."""

    key: Annotated[str, column("Key", "Names the device in `--device`, as its number does.")]
    label: Annotated[str, column("Device", '"GPU 0 · Tesla V100-SXM2-32GB", "CPU".')]
    type: str  # "cuda", "hip", "xpu", "mps", "privateuse1", "cpu" …
    events: Annotated[int, column("Events", "Allocations and releases that were recorded.")]
    peak_bytes: Annotated[  # None: totals are not recorded
        int | None,
        column(
            "Peak allocated",
            "Most bytes in use, as the allocator counted them at each allocation and release.",
        ),
    ]
    peak_reserved_bytes: Annotated[
        int | None,
        column(
            "Peak reserved",
            "Most bytes that the allocator held on the device, in use or ready for use.",
        ),
    ]
    capacity_bytes: Annotated[
        int | None,
        column("Capacity", "Memory of the device, by the `deviceProperties` of the file."),
    ]
    has_blocks: bool  # releases are known to belong to allocations
    missing: dict[str, str]  # "totals", "reserved", "capacity", "blocks", "before" → why not


class MemoryLayer(Struct, frozen=True):
    """One layer of the stack, as long as the curve."""

    key: str  # a category; a module or a line, or "" for everything else
    label: str
    values: tuple[int, ...]  # at each point of the curve


class MemoryCurve(Struct, frozen=True):
    """A staircase: a point holds until the next one. The ends of the range are points.

    Layers come from the bottom to the top and sum to ``allocated`` at every point. Of many events
    those stay that are seen: no peak is lost.
    """

    device: str
    start_ns: int
    end_ns: int
    ts: tuple[int, ...]
    allocated: tuple[int, ...]
    reserved: tuple[int, ...] | None  # None: not recorded
    layers: tuple[MemoryLayer, ...]  # () where blocks are not known, or only the total is wanted
    is_change: bool  # totals are not recorded: it is the change since the recording began
    events: int  # allocations and releases of the range
    is_exact: bool  # every event of the range is a point
    peak_ns: int  # the highest point of the range
    peak_bytes: int


class CategoryShare(Struct, frozen=True):
    """A category's part of a total, and how sure that is."""

    category: MemoryCategory
    label: Annotated[str, column("Category", CATEGORY_HELP)]
    bytes: Annotated[int, column("Size", "Bytes in use at the peak.")]
    ratio: Annotated[float, column("Share", "Share of the peak.")]
    confidence: Annotated[
        CategoryConfidence,
        column("Confidence", "Confidence of most of its bytes."),
    ]
    why: Annotated[
        str,
        column("Because", "The rule that decided most of its bytes.", kind="text", is_minor=True),
    ]


class AppliedRule(Struct, frozen=True):
    """One rule of a category, and the blocks of the whole recording that it decided on."""

    category: MemoryCategory
    label: str
    confidence: CategoryConfidence
    why: str
    blocks: int
    bytes: int


class MemoryPeak(Struct, frozen=True):
    """A highest total; the categories sum to it."""

    ts: int
    bytes: int
    reserved_bytes: int | None
    step: str  # "" outside of steps
    categories: tuple[CategoryShare, ...]  # the largest first; () where blocks are not known


class WithoutCategory(Struct, frozen=True):
    """The highest total if a category took nothing: the most that any remedy for it can gain."""

    category: MemoryCategory
    label: Annotated[str, column("Category", "What the memory holds.")]
    peak_bytes: Annotated[int, column("Peak", "The largest total of the other categories.")]
    gain_bytes: Annotated[int, column("Gain, up to", "Drop of the peak without this category.")]


class HeadRoom(Struct, frozen=True):
    """Free part of the device at the highest reserved total."""

    capacity_bytes: int
    reserved_bytes: int
    free_bytes: int
    ratio: float  # reserved by capacity
    sentence: str


class GrowthAnswer(Struct, frozen=True):
    """The test for a leak."""

    verdict: Literal["leak", "none", "not known"]
    bytes_per_step: float
    rising: int  # of the differences from step to step
    steps: int  # that count: without warm-up and unfinished ones
    sentence: str


class ChurnAnswer(Struct, frozen=True):
    """Allocations of a usual step, and calls to the device after the first."""

    allocations_per_step: float
    bytes_per_step: float
    reuse_ratio: float | None  # bytes allocated per step by the peak
    device_calls: int  # calls such as cudaMalloc after the first step
    device_ns: int  # their time on the host
    sentence: str


class StepMark(Struct, frozen=True):
    """A step on the host."""

    name: str
    number: int
    start_ns: int
    end_ns: int


class MemoryEventQuery(MemoryRange, frozen=True, forbid_unknown_fields=True):
    """A window of the blocks with an end in a range."""

    search: Words = ""
    min_bytes: Bytes = 0
    max_bytes: Bytes | None = None
    category: MemoryCategory | None = None
    sort_by: str = "bytes"
    ascending: bool = False
    offset: Count = 0
    limit: Limit = 100


class MemoryEventTable(Struct, frozen=True):
    """A window of the rows, and what all that match come to."""

    columns: tuple[Column, ...]
    rows: tuple[MemoryEventRow, ...]
    offset: int
    count: int  # that match
    bytes: int  # of all that match
    largest_bytes: int  # of the device's blocks: the classic table began at a quarter of it
    missing: str  # why there is none; "" = it is known


class StatisticsQuery(MemoryRange, frozen=True, forbid_unknown_fields=True):
    """A window of the ops over a range."""

    search: Words = ""
    sort_by: str = "self_increase_bytes"
    ascending: bool = False
    offset: Count = 0
    limit: Limit = 100


class StatisticsTable(Struct, frozen=True):
    """A window of the rows; the sums are those of all rows of the range, whatever is searched.

    ``increase_bytes`` is the change of the curve over the range.
    """

    columns: tuple[Column, ...]
    rows: tuple[StatisticsRow, ...]
    offset: int
    count: int
    increase_bytes: int
    allocations: int
    allocation_bytes: int


class AliveQuery(MemoryRange, frozen=True, forbid_unknown_fields=True):
    """Device and time of the blocks to list; the range is the one whose peak it is."""

    at: Literal["peak", "second", "time"] = "peak"
    at_ns: Annotated[Instant, option('with ``at`` "time"')] = 0
    limit: Annotated[Limit, option("groups; what is smaller is added up")] = 400


class AliveNode(Struct, frozen=True):
    """One box of the treemap. Parents come before their children; children sum to their parent."""

    parent: int  # index in the same list, −1 for a category
    kind: Literal["category", "module", "op", "size", "rest"]
    name: str  # "" = no module, no op
    category: MemoryCategory
    bytes: int
    count: int  # blocks; 0 where no block stands for it
    each_bytes: int | None  # of kind "size": the size of each
    line: str  # innermost frame of the user's code; of kind "size"
    block: int | None  # one of them; of kind "size"
    slice: int | None  # the op of that one, on the timeline
    confidence: CategoryConfidence
    why: str


class AliveTree(Struct, frozen=True):
    """Contents of a total."""

    ts: int | None  # None: there is no such instant
    bytes: int
    nodes: tuple[AliveNode, ...]
    missing: str  # why there is nothing to show; "" = there is


class BlockQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One block."""

    block: Count


class BlockDetails(Struct, frozen=True):
    """One block."""

    block: int
    device: str
    bytes: int
    address: str  # hexadecimal
    life_start_ns: int | None
    life_end_ns: int | None
    category: MemoryCategory
    label: str
    confidence: CategoryConfidence
    why: str
    ops: tuple[str, ...]  # around the allocation, outermost first
    module: str
    line: str
    slice: int | None  # of the op that allocated it
    release_ops: tuple[str, ...]  # around the release
    release_slice: int | None
    step: str


class MapQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The addresses of a device."""

    device: DeviceName = ""


class AddressBand(Struct, frozen=True):
    """Addresses in use that lie together. Offsets go on from band to band without a gap."""

    address: str  # hexadecimal
    offset: int  # of its first byte
    bytes: int


class AddressMap(Struct, frozen=True):
    """Names and sizes that the tiles of a device refer to."""

    device: str
    bytes: int  # offsets are below it
    end_ns: int
    bands: tuple[AddressBand, ...]  # by address
    tile_buckets: int  # of time, in a tile
    tile_rows: int
    segments: int  # that the device has over time; 0 where they are not known
    note: str  # what the picture cannot show
    missing: str  # why there is none; "" = there is


class MapTilesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Tiles of the address map at one level."""

    device: DeviceName = ""
    level: Annotated[int, Meta(ge=0, le=50), option("log2 of ns per bucket")] = 0
    row_level: Annotated[int, Meta(ge=0, le=50), option("log2 of bytes per row")] = 0
    tiles: Annotated[str, option('time tile and row tile of each: "0.0,1.0"; at most 8')] = "0.0"


class FreePool(Struct, frozen=True):
    """Segments that serve the same requests, at the worst instant."""

    name: Annotated[
        str, column("Pool", "Segments that the allocator keeps for requests of one kind.")
    ]
    is_private: Annotated[
        bool, column("Private", "Private pool, mostly of a CUDA graph.", is_minor=True)
    ]
    reserved_bytes: Annotated[int, column("Reserved", "Bytes that the pool holds on the device.")]
    free_bytes: Annotated[int, column("Free", "Of these, bytes that no block is in.")]
    largest_bytes: Annotated[
        int,
        column("Largest piece", "The largest free piece: a larger request needs new memory."),
    ]
    unusable_bytes: Annotated[int, column("Unusable", "Free bytes outside of the largest piece.")]
    pieces: Annotated[int, column("Pieces", "Number of free pieces.")]


class FreeMemoryAnswer(Struct, frozen=True):
    """Reserved and free memory over time: unusable for a large request, or the largest piece."""

    curve: MemoryCurve  # of free bytes
    worst_ns: int  # where most is unusable
    columns: tuple[Column, ...]
    pools: tuple[FreePool, ...]  # at that instant, the most unusable first
    sentence: str
    missing: str  # why there is nothing; "" = there is


class CompareQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Another recording, as the earlier of the two."""

    other_run: str
    other_worker: str
    other_span: str
    device: DeviceName = ""
    other_digest: Annotated[str, option("of what the other file holds: an answer is of both")] = ""


SiteOutcome = Literal["new", "gone", "grown", "shrunk", "same"]


class ChangedSite(Struct, frozen=True):
    """Code that allocates, in both: at the peak of each."""

    frames: tuple[str, ...]  # innermost three of the user's own; () = without a stack
    site: Annotated[  # the frames in one line
        str, column("Code", "The innermost three frames of your own code.", kind="path")
    ]
    change: Annotated[SiteOutcome, column("Change", "New, gone, larger or smaller.")]
    difference_bytes: Annotated[int, column("Difference", "Now less before.")]
    before_bytes: Annotated[int, column("Before", "Bytes in the earlier of the two.")]
    after_bytes: Annotated[int, column("Now", "Bytes in the later of the two.")]
    before_blocks: Annotated[
        int, column("Blocks before", "Number of blocks held before.", is_minor=True)
    ]
    after_blocks: Annotated[int, column("Blocks", "Number of blocks held before, and now.")]
    before_allocations: Annotated[
        int,
        column("Allocations before", "Number of its allocations in the history.", is_minor=True),
    ]
    after_allocations: Annotated[
        int, column("Allocations", "Number of its allocations in the history.", is_minor=True)
    ]
    before_lifetime_ns: Annotated[
        int | None,
        column(
            "Lifetime before",
            "Median lifetime of its blocks with both ends in the history.",
            is_minor=True,
        ),
    ]
    after_lifetime_ns: Annotated[
        int | None,
        column(
            "Lifetime",
            "Lifetime of its blocks before, and now: median of those with both ends in the"
            " history.",
        ),
    ]


class CompareCurve(Struct, frozen=True):
    """Allocated bytes over steps: 2.5 is the middle of the third."""

    at: tuple[float, ...]
    bytes: tuple[int, ...]
    steps: int


class MemoryComparison(Struct, frozen=True):
    """Two recordings of memory; the differences of all sites sum to that of the peaks exactly."""

    sentence: str
    before_bytes: int  # peak
    after_bytes: int
    columns: tuple[Column, ...]
    sites: tuple[ChangedSite, ...]  # the largest difference first
    before: CompareCurve
    after: CompareCurve


class StepsQuery(MemoryRange, frozen=True, forbid_unknown_fields=True):
    """The steps of a device; allocations are held against the peak of a range."""


class StepMemoryRow(Struct, frozen=True):
    """One step."""

    name: Annotated[str, column("Name", "Its range in the trace.", kind="name", is_minor=True)]
    number: Annotated[int, column("Step", "Leads to the step alone.")]
    counts: Annotated[
        bool,
        column(
            "Counted",
            "Used to measure growth: no warm-up, and not cut off.",
            is_minor=True,
        ),
    ]
    start_bytes: Annotated[
        int, column("At its start", "Bytes in use as the step began.", is_minor=True)
    ]
    end_bytes: Annotated[int, column("At its end", "Bytes in use as the step ended.")]
    peak_bytes: Annotated[int, column("Peak", "The most bytes in use during the step.")]
    allocations: Annotated[int, column("Allocations", "Number of allocations in the step.")]
    allocated_bytes: Annotated[
        int, column("Allocated", "Bytes allocated in the step, releases aside.", is_minor=True)
    ]
    device_calls: Annotated[
        int,
        column("Device calls", "Calls such as cudaMalloc and cudaFree in the step.", is_minor=True),
    ]
    device_ns: Annotated[int, column("In device calls", "Their time on the host.", is_minor=True)]


class LeakSite(Struct, frozen=True):
    """Blocks of one op, module, line and size, allocated in step after step and never released."""

    name: str
    module: str
    line: str
    bytes: int  # of one
    count: int
    steps: int
    block: int
    slice: int | None


class StepsMemory(Struct, frozen=True):
    """Memory from step to step."""

    columns: tuple[Column, ...]
    rows: tuple[StepMemoryRow, ...]
    growth: GrowthAnswer
    churn: ChurnAnswer
    sites: tuple[LeakSite, ...]  # of a leak
    causes: tuple[str, ...]  # of leaks such as this, usually
    missing: str


class HolderOfMemory(Struct, frozen=True):
    """Code that held memory as an allocation failed."""

    line: str  # "train.py(12): step"; "" without a stack
    bytes: int
    blocks: int


class MemoryFailure(Struct, frozen=True):
    """The last failed allocation of the device, explained."""

    ts: int
    requested_bytes: int
    sentence: str
    failures: int  # of the history
    holders: tuple[HolderOfMemory, ...]  # the three that held most


class Memory(Struct, frozen=True):
    """A device's memory over a range."""

    headline: str  # what fills the peak
    detail: str  # what would lower it most
    device: str  # key of the device shown
    devices_columns: tuple[Column, ...]
    devices: tuple[MemoryDeviceRow, ...]
    start_ns: int  # of the range
    end_ns: int
    recording_end_ns: int
    steps: tuple[StepMark, ...]  # () where none is marked
    peak: MemoryPeak
    second: MemoryPeak | None  # what would be the peak if the first were lowered; in its step
    without_columns: tuple[Column, ...]
    without: tuple[WithoutCategory, ...]  # the largest gain first
    head_room: HeadRoom | None
    growth: GrowthAnswer
    churn: ChurnAnswer
    curve: MemoryCurve
    statistics: StatisticsTable
    events: MemoryEventTable
    categories: dict[str, str]  # category → label, bottom to top of the stack
    rules: tuple[AppliedRule, ...]  # the most bytes first; () where blocks are not known
    failure: MemoryFailure | None  # of a memory snapshot; None: no allocation failed
    is_snapshot: bool  # names are those of lines of code instead of ops; there are segments
    missing: dict[str, str]
