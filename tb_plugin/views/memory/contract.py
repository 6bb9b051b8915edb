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

from ..shared import Count, Words

DeviceKey = Annotated[str, Meta(max_length=60)]
Instant = Annotated[int, Meta(ge=0, lt=2**62)]
Bytes = Annotated[int, Meta(ge=0, lt=2**62)]
Limit = Annotated[int, Meta(ge=1, le=1000)]

MemoryCategory = Literal[
    "parameter", "optimizer", "input", "communication", "unknown", "gradient", "autograd",
    "activation", "temporary",
]  # fmt: skip
CategoryConfidence = Literal["high", "medium", "low"]
LayerBy = Literal["category", "module", "line", "total"]


class MemoryQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A device and a range of time."""

    # Device by its key: "cuda:0", "hip:1", "cpu"; "" = the first accelerator, else the host
    device: DeviceKey = ""
    # Steps by their numbers, from the first of them to the last: "3", "2-5"; "" = the recording
    steps: str = ""
    start_ns: Instant | None = None  # start of the range; goes before steps
    end_ns: Instant | None = None  # end of the range; goes before steps
    by: LayerBy = "category"  # what the curve is divided by
    points: Annotated[int, Meta(ge=10, le=20_000)] = 2000  # points of the curve, about
    search: Words = ""  # ops whose name has these words; "" = all
    limit: Limit = 100  # rows of each table


class MemoryDeviceRow(Struct, frozen=True):
    """One counter of allocated bytes that the recording has."""

    key: str  # names it in a query
    label: str  # "GPU 0 · Tesla V100-SXM2-32GB", "CPU"
    type: str  # "cuda", "hip", "xpu", "mps", "privateuse1", "cpu" …
    events: int
    capacity_bytes: int | None  # by deviceProperties
    peak_bytes: int | None  # highest allocated total; None: totals are not recorded
    peak_reserved_bytes: int | None
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
    label: str
    bytes: int
    ratio: float
    confidence: CategoryConfidence  # of most of its bytes
    why: str  # the rule that most of its bytes are there by


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
    label: str
    peak_bytes: int
    gain_bytes: int


class HeadRoom(Struct, frozen=True):
    """How much of the device is left at the highest reserved total."""

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


class MemoryEventRow(Struct, frozen=True):
    """One block with an end in the range; times outside of the range are None."""

    block: int  # names it in a ``block`` request
    name: str  # "aten::mm"; "aten::ones (aten::empty)" for aten::empty of aten::ones; "" = no op
    bytes: int
    allocated_ns: int | None
    released_ns: int | None
    alive_ns: int | None
    # Whole recording, to mark it on the curve: None = before it, or not released within it
    life_start_ns: int | None
    life_end_ns: int | None
    category: MemoryCategory
    module: str  # "" = not known
    line: str  # innermost frame of the user's code: "train.py(12): step"; "" = not known
    slice: int | None  # of the op on the timeline


MemoryEventSort = Literal["name", "bytes", "allocated_ns", "released_ns", "alive_ns", "category"]


class MemoryEventQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A window of the blocks with an end in a range."""

    device: DeviceKey = ""
    steps: str = ""
    start_ns: Instant | None = None
    end_ns: Instant | None = None
    search: Words = ""
    min_bytes: Bytes = 0
    max_bytes: Bytes | None = None
    category: MemoryCategory | None = None
    sort_by: MemoryEventSort = "allocated_ns"
    ascending: bool = True
    offset: Count = 0
    limit: Limit = 100


class MemoryEventTable(Struct, frozen=True):
    """A window of the rows, and what all that match come to."""

    rows: tuple[MemoryEventRow, ...]
    offset: int
    count: int  # that match
    bytes: int  # of all that match
    largest_bytes: int  # of the device's blocks: the classic table began at a quarter of it
    missing: str  # why there is none; "" = it is known


class StatisticsRow(Struct, frozen=True):
    """One op by name. Self: the op alone; the others with the ops inside it."""

    name: str  # "" = outside of all ops
    calls: int | None  # that touch the range
    increase_bytes: int  # allocated less released
    self_increase_bytes: int
    allocations: int
    self_allocations: int
    allocation_bytes: int  # releases aside
    self_allocation_bytes: int


StatisticsSort = Literal[
    "name", "calls", "increase_bytes", "self_increase_bytes", "allocations", "self_allocations",
    "allocation_bytes", "self_allocation_bytes",
]  # fmt: skip


class StatisticsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A window of the ops over a range."""

    device: DeviceKey = ""
    steps: str = ""
    start_ns: Instant | None = None
    end_ns: Instant | None = None
    search: Words = ""
    sort_by: StatisticsSort = "self_increase_bytes"
    ascending: bool = False
    offset: Count = 0
    limit: Limit = 100


class StatisticsTable(Struct, frozen=True):
    """A window of the rows; the sums are those of all rows of the range, whatever is searched.

    ``increase_bytes`` is the change of the curve over the range.
    """

    rows: tuple[StatisticsRow, ...]
    offset: int
    count: int
    increase_bytes: int
    allocations: int
    allocation_bytes: int


class AliveQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """What is alive, and when."""

    device: DeviceKey = ""
    at: Literal["peak", "second", "time"] = "peak"
    at_ns: Instant = 0  # with ``at`` "time"
    limit: Limit = 400  # groups; what is smaller is added up


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
    """What a total consists of."""

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

    device: DeviceKey = ""


class AddressBand(Struct, frozen=True):
    """Addresses in use that lie together. Offsets go on from band to band without a gap."""

    address: str  # hexadecimal
    offset: int  # of its first byte
    bytes: int


class AddressMap(Struct, frozen=True):
    """What the tiles of a device refer to."""

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

    device: DeviceKey = ""
    level: Annotated[int, Meta(ge=0, le=50)] = 0  # log2 of ns per bucket
    row_level: Annotated[int, Meta(ge=0, le=50)] = 0  # log2 of bytes per row
    tiles: str = "0.0"  # time tile and row tile of each: "0.0,1.0"; at most 8


class FreePool(Struct, frozen=True):
    """Segments that serve the same requests, at the worst instant."""

    name: str
    is_private: bool  # mostly of a CUDA graph
    reserved_bytes: int
    free_bytes: int
    largest_bytes: int  # free piece
    unusable_bytes: int  # free, and not in the largest piece
    pieces: int


class FreeMemoryAnswer(Struct, frozen=True):
    """What is reserved and free over time: unusable for a large request, or the largest piece."""

    curve: MemoryCurve  # of free bytes
    worst_ns: int  # where most is unusable
    pools: tuple[FreePool, ...]  # at that instant, the most unusable first
    sentence: str
    missing: str  # why there is nothing; "" = there is


class CompareQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Another recording, as the earlier of the two."""

    other_run: str
    other_worker: str
    other_span: str
    device: DeviceKey = ""
    other_digest: str = ""  # of what the other file holds: an answer is of both


SiteOutcome = Literal["new", "gone", "grown", "shrunk", "same"]


class ChangedSite(Struct, frozen=True):
    """Code that allocates, in both: at the peak of each."""

    frames: tuple[str, ...]  # innermost three of the user's own; () = without a stack
    change: SiteOutcome
    difference_bytes: int
    before_bytes: int
    after_bytes: int
    before_blocks: int
    after_blocks: int
    before_allocations: int  # of the whole history
    after_allocations: int
    before_lifetime_ns: int | None  # median of the blocks with both ends in the history
    after_lifetime_ns: int | None


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
    sites: tuple[ChangedSite, ...]  # the largest difference first
    before: CompareCurve
    after: CompareCurve


class StepsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of a device."""

    device: DeviceKey = ""


class StepMemoryRow(Struct, frozen=True):
    """One step."""

    name: str
    number: int
    counts: bool  # for growth: no warm-up, not cut off
    start_bytes: int
    end_bytes: int
    peak_bytes: int
    allocations: int
    allocated_bytes: int
    device_calls: int
    device_ns: int


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
    devices: tuple[MemoryDeviceRow, ...]
    start_ns: int  # of the range
    end_ns: int
    recording_end_ns: int
    steps: tuple[StepMark, ...]  # () where none is marked
    peak: MemoryPeak
    second: MemoryPeak | None  # what would be the peak if the first were lowered; in its step
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
    definitions: dict[str, str]
