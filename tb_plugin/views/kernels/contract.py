"""The JSON of the Kernel view (contract). Durations are ns; ``None`` = not recorded.

The view answers with ``Kernels``; its parts:

    table   KernelTable    a window of the kernels, grouped (KernelQuery)
    row     KernelDetails  one row opened (KernelRowQuery)
    graph   GraphPage      one replayed graph: its replays, what they waited for (GraphQuery)
    nodes   NodeTable      the nodes of a graph, in their order (NodeQuery)
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..shared import Count, SharePart, SlowCall, Words

KernelGroupBy = Literal["name", "properties", "class", "graph"]
NodeKindName = Literal["kernel", "copy", "set", "host", "event"]
WaitKind = Literal["latency", "host", "other", "unknown"]
CaptureState = Literal["lent", "refused", "none"]
MatrixUseName = Literal["yes", "no", "unknown", "none"]  # "none": it moves data, no candidate


class KernelQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice of kernels, and their grouping."""

    steps: str = ""  # steps by their numbers: "3", "2-5", "1,4-6"; "" = all that is recorded
    group_by: KernelGroupBy = "name"  # what kernels of one row have in common
    device: Annotated[int, Meta(ge=-1, le=100_000)] = -1  # number of the device; −1 = all
    search: Words = ""  # kernels whose name has these words; "" = all
    search_op: Words = ""  # kernels whose operator's name has these words; "" = all
    sort_by: str = ""  # the column to sort by; "" = total_ns
    ascending: bool = False  # smallest first
    graph: str = ""  # key of a graph whose nodes are shown, too; "" = none
    # run of the recording of its capture, which lends operators to the nodes; "" = one beside
    # this trace whose name says so
    capture_run: Words = ""
    capture_worker: Words = ""  # worker of that run; "" = all of the same rank
    offset: Count = 0  # rows to skip
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200  # rows of the window


class GraphFigures(Struct, frozen=True):
    """The replays of a graph in the chosen steps; a replay is the work of one launch."""

    number: int | None  # the id as recorded
    device: str
    batch: str  # batch sizes as names around the launches tell them: "8", "8, 16"; "" = none does
    replays: int
    nodes: int  # of the largest replay: device work, calls of the host, events
    node_ns: float | None  # mean length of its device work
    replay_min_ns: int | None  # from the start of the first work to the end of the last
    replay_p50_ns: int | None
    replay_p95_ns: int | None
    replay_max_ns: int | None
    replay_ns: int  # sum of the replays
    inside_idle_ns: int  # within the replays, while none of their work ran


class KernelRow(Struct, frozen=True):
    """All kernels of one group; means of blocks and occupancy are weighted by duration."""

    key: str
    name: str
    kernel_class: str  # gemm, attention, …, "unclassified"
    class_why: str  # the rule that said so
    op: str | None  # grouped by properties: the op it is credited to
    op_eligible: bool | None  # whether that op may run on tensor cores
    grid: str | None
    block: str | None
    registers: int | None
    shared_bytes: int | None
    calls: int
    total_ns: int
    min_ns: int
    mean_ns: float
    p50_ns: int
    p95_ns: int
    max_ns: int
    ratio: float  # of all kernel time
    tensor_core: MatrixUseName
    blocks_per_sm: float | None
    occupancy: float | None  # est. achieved, percent
    launch_ns: float | None  # mean, from the start of the call to the start on the device
    queue_ns: float | None  # mean, from the end of the call
    energy_j: float | None  # measured, as the next four; None = too few samples, or none
    power_w: float | None
    sm_clock_mhz: float | None
    sm_active_percent: float | None
    dram_percent: float | None  # of its peak
    memory_bound: bool  # by these counters, of 20 samples or more
    fused: str  # ops fused into a generated kernel, "" = not generated
    source: str  # file it was generated into
    link: str  # how it found its op: "correlation", "graph", …
    longest: int  # slice id
    graph: GraphFigures | None = None  # grouped by graph; None outside of graphs


class KernelTable(Struct, frozen=True):
    """A window of the rows, and the sums of all that match."""

    rows: tuple[KernelRow, ...]
    offset: int
    count: int
    calls: int
    total_ns: int
    sort_by: str


class CopyRow(Struct, frozen=True):
    """Copies or sets of one direction."""

    name: str  # as recorded
    direction: str  # "host → device, pageable", …
    calls: int
    total_ns: int
    mean_ns: float
    max_ns: int
    bytes: int | None
    bandwidth: float | None  # bytes per second while copying
    longest: int


class GraphQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One graph, and the recording of its capture."""

    key: str  # of a row of the table by graph
    steps: str = ""
    device: Annotated[int, Meta(ge=-1, le=100_000)] = -1
    capture_run: Words = ""  # "" = found by its name
    capture_worker: Words = ""


class NodeQuery(GraphQuery, frozen=True, forbid_unknown_fields=True):
    """A window of the nodes of a graph."""

    search: Words = ""  # nodes whose name or lent operator has these words; "" = all
    sort_by: str = ""  # "" = place
    ascending: bool = False
    offset: Count = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200


class InsideWait(Struct, frozen=True):
    """Idle time inside replays by what the next node waited for; all sum to the idle time."""

    kind: WaitKind
    name: str  # of the nodes that were waited for; "" where none is known
    nodes: int  # how many nodes of that name were waited for
    place: int | None  # of the node, if it is one
    ns: int
    ratio: float  # of the idle time inside
    count: int  # stretches
    inferred: bool  # by the order of time: no dependency is recorded
    longest: int  # slice of what ran after the longest stretch


class GraphReplay(Struct, frozen=True):
    """One replay, with its place on the timeline."""

    slice: int  # of the launch, or of the first work where none is recorded
    ts: int
    dur_ns: int
    idle_ns: int  # inside
    nodes: int
    step: str
    batch: int | None


class LentOp(Struct, frozen=True):
    """Kernel time by the operator that a capture-time recording lends; "" = not found there."""

    name: str
    kernels: int  # of one replay
    total_ns: int
    ratio: float


class CaptureChoice(Struct, frozen=True):
    """A recording that may be of a capture."""

    run: str
    worker: str


class Capture(Struct, frozen=True):
    """Whether a recording made at capture time lends operators, and how much of it fits."""

    state: CaptureState
    text: str  # what was compared and what came of it, in words
    run: str  # of the recording that fits best; "" = there is none
    worker: str
    span: str
    batch: int | None  # of the capture that fits best
    ratio: float | None  # part of the kernel time whose launch was found
    matched: int  # kernels of a replay …
    kernels: int  # … of so many
    choices: tuple[CaptureChoice, ...]


class GraphPage(Struct, frozen=True):
    """One graph."""

    headline: str
    detail: str
    row: KernelRow
    waits: tuple[InsideWait, ...]
    waits_count: int
    quantiles: tuple[SharePart, ...]  # of the replays; the ratio is to the median
    replays: tuple[GraphReplay, ...]  # the longest
    ops: tuple[LentOp, ...]  # empty where nothing is lent; sums to the kernels
    ops_count: int
    capture: Capture
    missing: dict[str, str]
    definitions: dict[str, str]


class NodeRow(Struct, frozen=True):
    """One node of a graph in all replays of the chosen steps."""

    key: str
    place: int  # in the order of their mean start, from 1
    number: int | None  # the id as recorded
    kind: NodeKindName
    name: str
    calls: int
    start_ns: float | None  # mean, from the start of the replay
    total_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    ratio: float  # of all device work of the graph; of calls of the host and events 0
    waits_for: int | None  # place of the node that ends last of those it waits for
    idle_ns: float  # mean time before it in which nothing of the replay ran
    op: str | None  # lent by a capture-time recording
    shapes: str | None
    module: str | None
    stack: tuple[str, ...]  # innermost frame first
    lent: bool  # op, shapes, module and stack are from the capture-time recording
    longest: int


class NodeTable(Struct, frozen=True):
    """A window of the nodes."""

    rows: tuple[NodeRow, ...]
    offset: int
    count: int
    total_ns: int  # of all that match
    sort_by: str


class Kernels(Struct, frozen=True):
    """The kernels of the chosen steps."""

    headline: str
    detail: str
    step_count: int
    kernel_ns: int  # sum of kernels; with copies_ns the whole device time
    copies_ns: int
    kernels: tuple[SharePart, ...]  # the largest by name
    classes: tuple[SharePart, ...]  # all, "unclassified" last
    tensor_core: dict[str, int]  # "yes", "no", "unknown", "none" → ns; sums to kernel_ns
    cores_name: str  # what the vendor calls them: "Tensor cores", "Matrix cores"
    table: KernelTable
    copies: tuple[CopyRow, ...]
    graph: GraphPage | None  # the graph that was asked for
    nodes: NodeTable | None
    devices: tuple[str, ...]
    missing: dict[str, str]
    definitions: dict[str, str]


class KernelRowQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One row whose details are shown."""

    key: str
    steps: str = ""
    group_by: Literal["name", "properties", "class"] = "name"
    device: Annotated[int, Meta(ge=-1, le=100_000)] = -1


class OpOfKernel(Struct, frozen=True):
    """One op that launches the kernels of a row."""

    name: str
    calls: int
    total_ns: int


class KernelDetails(Struct, frozen=True):
    """The parts of a row: the largest of each, and how many there are in all."""

    row: KernelRow
    ops: tuple[OpOfKernel, ...]
    ops_count: int
    launches: tuple[KernelRow, ...]  # its distinct grids, blocks, registers
    launches_count: int
    slowest: tuple[SlowCall, ...]  # of ``row.calls``
