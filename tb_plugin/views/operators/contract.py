"""The JSON of the Operator view (contract). Durations are ns; ``None`` = not recorded.

The view itself answers with ``Operators``: the picture and the first window of rows. Its parts:

    table   OperatorTable    a window of rows, sorted, searched, grouped (OperatorQuery)
    row     OperatorDetails  the parts of one row: shapes, stacks, kernels, slowest calls
    flame   Flame            the flame graph by stack, module, op and kernel (FlameGraphQuery)
    around  Sandwich         callers and callees of one name
    folded  bytes            folded stacks, a line per path, for FlameGraph and speedscope
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ...analysis.call_tree.flame import FlameNode
from ..shared import (
    Ascending,
    Count,
    Offset,
    RowLimit,
    SharePart,
    SlowCall,
    StepsOrOutside,
    Words,
    option,
)
from ..table import Column, column, summed
from .rows import OperatorRow

GroupBy = Literal["name", "shape", "line", "stack", "module", "thread", "annotation"]


class OperatorQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice of rows, and their grouping."""

    steps: StepsOrOutside = ""
    group_by: Annotated[GroupBy, option("what calls of one row have in common")] = "name"
    stack_depth: Annotated[int, Meta(ge=1, le=64), option("frames of a stack, innermost first")] = 5
    kinds: Annotated[
        Words, option('kinds of rows, "op,annotation"', "all, as key_averages() has")
    ] = ""
    search: Annotated[Words, option("rows whose name has these words", "all")] = ""
    sort_by: Annotated[
        str,
        option(
            "The column to sort by, or what key_averages().table() calls it",
            "device self time where the recording has it, else host self time",
        ),
    ] = ""
    ascending: Ascending = False
    offset: Offset = 0
    limit: RowLimit = 200
    parts: Annotated[
        int,
        Meta(ge=1, le=50),
        option("operators that each bar of shares names; the rest is one part"),
    ] = 10
    group_by_input_shape: Annotated[
        bool, option("the same as group_by shape, as key_averages() says it")
    ] = False
    group_by_stack_n: Annotated[
        int,
        Meta(ge=0, le=64),
        option(
            "the same as group_by stack with this depth, as key_averages() says it", "not given"
        ),
    ] = 0


class OperatorTable(Struct, frozen=True):
    """A window of the rows, and the sums of all that match."""

    columns: tuple[Column, ...]
    rows: tuple[OperatorRow, ...]
    offset: int
    count: int
    calls: int
    self_ns: int
    device_self_ns: int | None
    sort_by: str
    step_count: int = 0  # that sums add up; 0 = more is counted than steps


class FindQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A search for names in the whole recording."""

    search: Annotated[Words, option("every word, in any case")]
    limit: Annotated[int, Meta(ge=1, le=100), option("names of each kind")] = 6


class NameFound(Struct, frozen=True):
    """One name that matches. ``key`` names its row of the Operator or the Kernel view."""

    name: str
    key: str
    count: int
    total_ns: int


class NamesOfKind(Struct, frozen=True):
    """The best matches among the names of one kind, and how many match."""

    kind: Literal["op", "annotation", "kernel"]
    names: tuple[NameFound, ...]
    count: int


class FindAnswer(Struct, frozen=True):
    """Matching names, kind by kind; steps are no annotations here."""

    kinds: tuple[NamesOfKind, ...]


class ShareChart(Struct, frozen=True):
    """One of the four shares.

    ``total_ns`` is the whole that shares in the rows have, too: the self time of everything in the
    chosen steps. Parts, rest and others of a chart of self time sum to it; those of a chart of
    totals sum to more, because calls lie inside calls.
    """

    stem: Literal["device_self", "device_total", "host_self", "host_total"]
    title: str
    definition: str
    total_ns: int
    parts: tuple[SharePart, ...]
    rest_ns: int
    rest_count: int
    others_ns: int  # of what is no operator: annotations, Python frames; 0 in charts of totals


class Unattributed(Struct, frozen=True):
    """Device time that is credited to no call, by reason."""

    reason: Annotated[
        str,
        column("Device time of no operator", "Why no operator is known.", kind="words"),
    ]
    device_ns: Annotated[int, summed("Time", "Sum of the durations on the device.")]
    activities: Annotated[int, summed("Activities", "Kernels, copies and sets.")]
    example: Annotated[str, column("Longest", "The longest of them.", kind="name")]
    slice: int


class Operators(Struct, frozen=True):
    """The operators of the chosen steps."""

    headline: str  # the answer in one sentence
    detail: str
    step_count: int
    charts: tuple[ShareChart, ...]
    table: OperatorTable
    device_ns: int | None  # all device activity of the chosen steps; = Σ self + Σ unattributed
    unattributed_columns: tuple[Column, ...]
    unattributed: tuple[Unattributed, ...]
    flops_coverage: float | None  # share of device compute time with a model
    flops_missing: str  # what is not known of them, and why
    cores_name: str  # "Tensor cores", or as the vendor of the devices calls them
    groupings: dict[str, str]  # grouping → why it is not available, "" = it is
    missing: dict[str, str]


class RowQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One row whose details are shown."""

    key: str
    steps: str = ""
    group_by: GroupBy = "name"
    stack_depth: Annotated[int, Meta(ge=1, le=64)] = 5


class LaunchedKernel(Struct, frozen=True):
    """The kernels of one name that a row launched itself."""

    name: str
    calls: int
    total_ns: int
    mean_ns: float
    longest: int  # slice id
    short: str = ""  # what tells its name from the others'


class CallFrame(Struct, frozen=True):
    """One frame of a call stack."""

    name: str
    file: str
    line: int  # 1-based, 0 = unknown


class StackRow(Struct, frozen=True):
    """One distinct call stack with the figures of its calls."""

    row: OperatorRow
    frames: tuple[CallFrame, ...]  # innermost first


class OperatorDetails(Struct, frozen=True):
    """The parts of a row: the largest of each, and how many there are in all."""

    row: OperatorRow
    shapes: tuple[OperatorRow, ...]
    shapes_count: int
    shapes_missing: str
    stacks: tuple[StackRow, ...]
    stacks_count: int
    stacks_missing: str
    kernels: tuple[LaunchedKernel, ...]
    kernels_count: int
    kernels_missing: str
    slowest: tuple[SlowCall, ...]  # of ``row.calls``
    compiled: tuple[tuple[str, str], ...]  # label, text: of a compiled region or a fused kernel


FlameMetric = Literal["host", "device", "calls"]


class FoldedQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The calls of the chosen steps by path: as folded stacks, a flame graph, a sandwich."""

    steps: str = ""
    metric: FlameMetric = "host"
    levels: Annotated[Words, option("kinds of frames that are kept")] = (
        "python,module,annotation,op,kernel"
    )
    waiting: Annotated[bool, option("with threads that only wait")] = False


class FlameGraphQuery(FoldedQuery, frozen=True, forbid_unknown_fields=True):
    """The flame graph of the chosen steps."""

    inverted: Annotated[bool, option("boxes by self value at the top, their callers below")] = False
    focus: Annotated[Count | None, option("node of the whole graph to be its root")] = None
    min_ratio: Annotated[float, Meta(ge=0, le=0.1)] = 0.0005


class SandwichQuery(FoldedQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Callers and callees of one name."""

    name: str


class Sandwich(Struct, frozen=True):
    """Everything above and below all boxes of a name, merged."""

    name: str
    unit: str
    value: float
    self_value: float
    calls: int
    callers: tuple[FlameNode, ...]  # the root is the name, children are its callers
    callees: tuple[FlameNode, ...]
