"""The JSON of the Kernel view (contract). Durations are ns; ``None`` = not recorded.

The view answers with ``Kernels``; its parts: ``table`` → KernelTable (KernelQuery), ``row`` →
KernelDetails (KernelRowQuery).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..shared import Count, SharePart, SlowCall, Words

KernelGroupBy = Literal["name", "properties", "class"]
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
    offset: Count = 0  # rows to skip
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200  # rows of the window


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
    fused: str  # ops fused into a generated kernel, "" = not generated
    source: str  # file it was generated into
    link: str  # how it found its op: "correlation", "graph", …
    longest: int  # slice id


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
    table: KernelTable
    copies: tuple[CopyRow, ...]
    devices: tuple[str, ...]
    missing: dict[str, str]
    definitions: dict[str, str]


class KernelRowQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One row whose details are shown."""

    key: str
    steps: str = ""
    group_by: KernelGroupBy = "name"
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
