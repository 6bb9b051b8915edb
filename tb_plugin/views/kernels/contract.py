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

from ...analysis.graphs.captures import LEAST_SHARE
from ..shared import (
    Ascending,
    Count,
    DeviceName,
    Offset,
    RowLimit,
    SharePart,
    SlowCall,
    StepsOrOutside,
    Words,
    option,
)
from ..table import Column, column
from .copies import CopyRow
from .rows import GraphRow, KernelRow

KernelGroupBy = Literal["name", "properties", "class", "module", "line", "graph"]
NodeKindName = Literal["kernel", "copy", "set", "host", "event"]
WaitKind = Literal["latency", "host", "other", "unknown"]
CaptureState = Literal["lent", "refused", "none"]


class KernelQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice of kernels, and their grouping."""

    steps: StepsOrOutside = ""
    group_by: Annotated[KernelGroupBy, option("what kernels of one row have in common")] = "name"
    device: Annotated[
        DeviceName, option('device by its number or key: "0", "cuda:0", "hip:1"', "all")
    ] = ""
    search: Annotated[Words, option("kernels whose name has these words", "all")] = ""
    search_op: Annotated[Words, option("kernels whose operator's name has these words", "all")] = ""
    sort_by: Annotated[str, option("the column to sort by", "total_ns")] = ""
    ascending: Ascending = False
    graph: Annotated[str, option("key of a graph whose nodes are shown, too", "none")] = ""
    capture_run: Annotated[
        Words,
        option(
            "run of the recording of its capture, which lends operators to the nodes",
            "one beside this trace whose name says so",
        ),
    ] = ""
    capture_worker: Annotated[Words, option("worker of that run", "all of the same rank")] = ""
    offset: Offset = 0
    limit: RowLimit = 200


class KernelTable(Struct, frozen=True):
    """A window of the rows, and the sums of all that match; grouped by graph they are GraphRows."""

    columns: tuple[Column, ...]
    rows: tuple[KernelRow, ...]
    offset: int
    count: int
    calls: int
    total_ns: int
    sort_by: str
    step_count: int = 0  # that sums add up; 0 = more is counted than steps


class GraphQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One graph, and the recording of its capture."""

    key: Annotated[str, option("of a row of the table by graph")]
    steps: str = ""
    device: DeviceName = ""
    capture_run: Annotated[Words, option("", "found by its name")] = ""
    capture_worker: Words = ""


class NodeQuery(GraphQuery, frozen=True, forbid_unknown_fields=True):
    """A window of the nodes of a graph."""

    search: Annotated[Words, option("nodes whose name or lent operator has these words", "all")] = (
        ""
    )
    sort_by: Annotated[str, option("", "place")] = ""
    ascending: bool = False
    offset: Count = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200


class InsideWait(Struct, frozen=True):
    """Idle time inside replays by the awaited node; all rows sum to the idle time."""

    kind: Annotated[
        WaitKind,
        column(
            "Waited for",
            "The idle time inside replays by the dependency that the next node waited for: the one"
            " that ended last. Up to its end a call of the host holds the device; after it is the"
            " launch inside the graph.",
        ),
    ]
    name: Annotated[str, column("Node", "The node that was waited for.", kind="name")]
    nodes: Annotated[int, column("Nodes", "Number of nodes of that name that were waited for.")]
    place: Annotated[int | None, column("Place", "Place of the node, if it is one.", is_minor=True)]
    idle_ns: Annotated[int, column("Idle", "Idle time inside replays while it was waited for.")]
    ratio: Annotated[float, column("Share", "Share of all idle time inside replays.")]
    count: Annotated[int, column("Stretches", "Number of idle stretches.", is_minor=True)]
    inferred: Annotated[
        bool,
        column(
            "Inferred",
            "Yes where no dependency was recorded and the order of time stands in.",
            is_minor=True,
        ),
    ]
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
    """Fit of a recording of the capture, and whether its operators are used."""

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
    row: GraphRow
    waits_columns: tuple[Column, ...]
    waits: tuple[InsideWait, ...]
    waits_count: int
    quantiles: tuple[SharePart, ...]  # of the replays; the ratio is to the median
    replays: tuple[GraphReplay, ...]  # the longest
    ops: tuple[LentOp, ...]  # empty where nothing is lent; sums to the kernels
    ops_count: int
    capture: Capture
    missing: dict[str, str]


class NodeRow(Struct, frozen=True):
    """One node of a graph in all replays of the chosen steps."""

    key: str
    name: Annotated[str, column("Node", "The kernel, copy or call.", kind="name", is_sortable=True)]
    place: Annotated[
        int, column("Place", "Nodes in the order of their mean start within a replay, from 1.")
    ]
    kind: Annotated[
        NodeKindName,
        column(
            "Kind",
            "Type of the node: kernel, copy, set, host call or recorded event.",
            is_sortable=True,
        ),
    ]
    op: Annotated[
        str | None,
        column(
            "Captured operator",
            "The operator that launched the kernel when the graph was captured, from the"
            " capture-time recording: matched by name and order, refused where less than"
            f" {LEAST_SHARE * 100:.0f} % of the graph's kernel time finds its launch.",
            kind="name",
            is_sortable=True,
        ),
    ]
    shapes: Annotated[
        str | None,
        column("Captured shapes", "Input shapes of that operator, from the same recording."),
    ]
    calls: Annotated[int, column("Runs", "Number of runs in the chosen steps.")]
    start_ns: Annotated[float | None, column("Start", "Mean start, from the start of the replay.")]
    mean_ns: Annotated[float, column("Mean", "Total divided by runs.")]
    min_ns: Annotated[int, column("Min", "The shortest run.", is_minor=True)]
    max_ns: Annotated[int, column("Max", "The longest run.", is_minor=True)]
    total_ns: Annotated[int, column("Total", "Sum of its runs.")]
    ratio: Annotated[
        float,
        column(
            "Share",
            "Share of all device work of the graph; calls of the host and events have none.",
        ),
    ]
    waits_for: Annotated[
        int | None,
        column(
            "Waits for",
            "The place of the node that ends last of those it depends on.",
            is_sortable=False,
        ),
    ]
    idle_ns: Annotated[
        float, column("Idle before", "Mean time before it in which nothing of the replay ran.")
    ]
    module: Annotated[
        str | None,
        column(
            "Module",
            "The innermost module around that launch, from the capture-time recording.",
            is_minor=True,
        ),
    ]
    stack: tuple[str, ...]  # innermost frame first
    lent: Annotated[
        bool,
        column(
            "From the capture",
            "Operator, shapes, module and stack are from the capture-time recording.",
            is_minor=True,
        ),
    ]
    number: Annotated[
        int | None,
        column("Recorded id", "The node's id as recorded.", is_minor=True, is_sortable=False),
    ]
    longest: int
    short: str = ""  # what tells its name from the others'


class NodeTable(Struct, frozen=True):
    """A window of the nodes."""

    columns: tuple[Column, ...]
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
    copies_columns: tuple[Column, ...]
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
    group_by: Literal["name", "properties", "class", "module", "line"] = "name"
    device: DeviceName = ""


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
    fused_lines: str  # lines of the user's code in a fused kernel; "" not recorded, or no such one
