"""The rows of the Kernel view: kernels, graphs, copies; each column with its values (contract)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...analysis.counters.groups import LEAST_SAMPLES, MEMORY_BOUND_PERCENT, SM_ACTIVE_PERCENT
from ...analysis.facts import Facts
from ...analysis.graphs.model import GraphColumns
from ...analysis.graphs.table import GraphGroups
from ...analysis.operators.kernels import (
    ChosenKernels,
    KernelGroups,
    family_codes,
    matrix_uses,
    op_names,
)
from ...analysis.operators.short_names import short_names
from ...analysis.overview.utilization import ELIGIBLE_OPS
from ...base.arrays import I64
from ...base.regex import regex
from ...trace.model import Link
from ..shared import LightBound, LightRatio, WasteNs, device_row, steps_of
from ..table import Values, ValuesOf, column, recorded, summed

MatrixUseName = Literal["yes", "no", "unknown", "none"]  # "none": it moves data, no candidate
OUTSIDE_NAME = "outside graphs"
_NO_OWNER = {"module": "outside modules", "line": "no frame of your code"}
Rows = NDArray[np.intp]

_FUSED = regex(r"triton_(?:poi|red|per|for|unk|mix|tem)_fused_(.+?)_?\d*$")
_MEASURED = (
    "Mean over samples, each of which holds until the next; needs samples for 80\u00a0% of the"
    " time. Kernels shorter than the time between samples share them with their neighbours."
)
_SHARED = "Kernels that run at the same time share the device; each row gets all of it."


def chosen_of(
    facts: Facts, steps: str, device: str, search: str = "", search_op: str = ""
) -> ChosenKernels:
    """The choice of kernels of a query. Raises QueryError."""
    return ChosenKernels(
        steps=steps_of(facts, steps),
        device=device_row(facts, device),
        search=search,
        search_op=search_op,
    )


def by_graph(table: KernelGroups) -> bool:
    """True if the rows are graphs."""
    return table.group_by == "graph"


def by_properties(table: KernelGroups) -> bool:
    """True if the rows are kernels of one launch configuration."""
    return table.group_by == "properties"


def _by_kernel(table: KernelGroups) -> bool:
    return not by_graph(table) and table.group_by not in _NO_OWNER


def _not_by_graph(table: KernelGroups) -> bool:
    return not by_graph(table)


def _has_counters(table: KernelGroups) -> bool:
    return len(table.operators.counters) > 0


def _some_memory_bound(table: KernelGroups) -> bool:
    return bool(table.memory_bound.any())


def _keys(table: KernelGroups, at: Rows) -> Values:
    return [str(key) for key in table.groups.key[at].tolist()]


def _names(table: KernelGroups, at: Rows) -> Values:
    if isinstance(table, GraphGroups):
        graphs = (table.groups.key[at] - 1).tolist()
        return [OUTSIDE_NAME if one < 0 else table.graphs.label(one) for one in graphs]
    if table.group_by == "class":
        return _families(table, at, lambda name, _: name)
    if table.group_by in _NO_OWNER:
        codes = table.groups.key[at].tolist()
        return [table.text(code) if code >= 0 else _NO_OWNER[table.group_by] for code in codes]
    return [table.text(code) for code in table.name[at].tolist()]


def _short_names(table: KernelGroups, at: Rows) -> Values:
    """Text that tells the shown rows apart."""
    if table.group_by in _NO_OWNER:
        return _names(table, at)
    return short_names([str(name) for name in _names(table, at)])


def _families(table: KernelGroups, at: Rows, words: Callable[[str, str], str]) -> list[str]:
    if by_graph(table):
        return [""] * len(at)
    known, codes = family_codes(table.operators)
    return [words(known[code].name, known[code].why) for code in codes[table.sample[at]].tolist()]


def _classes(table: KernelGroups, at: Rows) -> Values:
    return _families(table, at, lambda name, _: name)


def _class_reasons(table: KernelGroups, at: Rows) -> Values:
    return _families(table, at, lambda _, why: why)


def _ops(table: KernelGroups, at: Rows) -> list[str | None]:
    if not by_properties(table):
        return [None] * len(at)
    codes = op_names(table.operators)[table.sample[at]].tolist()
    return [table.text(code) if code >= 0 else None for code in codes]


def _eligible(table: KernelGroups, at: Rows) -> Values:
    return [None if op is None else op in ELIGIBLE_OPS for op in _ops(table, at)]


def _text(name: str) -> ValuesOf:
    """Texts of a launch, where rows have one launch configuration."""

    def of(table: KernelGroups, at: Rows) -> Values:
        if not by_properties(table):
            return [None] * len(at)
        codes = getattr(table.activities, name)[table.sample[at]].tolist()
        return [table.text(code) if code >= 0 else None for code in codes]

    return of


def _number(name: str) -> ValuesOf:
    """Figures of a launch, where rows have one launch configuration."""

    def of(table: KernelGroups, at: Rows) -> Values:
        if not by_properties(table):
            return [None] * len(at)
        return recorded(getattr(table.activities, name)[table.sample[at]])

    return of


def _ratios(table: KernelGroups, at: Rows) -> Values:
    whole = table.whole_ns
    spent: Values = table.total_ns[at] / whole if whole else np.zeros(len(at))
    return spent


def _matrix_use(table: KernelGroups, at: Rows) -> Values:
    uses = matrix_uses(table)
    return [uses[one].name.lower() for one in at.tolist()]


def counts_of(table: KernelGroups, at: Rows) -> Values:
    """Number of activities."""
    return table.count[at]


def sample_names(table: KernelGroups, at: Rows) -> list[str]:
    """Name of the longest of each row, as recorded."""
    return [table.text(code) for code in table.name[at].tolist()]


def _fused(table: KernelGroups, at: Rows) -> Values:
    return [fused_ops(name) for name in sample_names(table, at)]


def _sources(table: KernelGroups, at: Rows) -> Values:
    codes = table.activities.source[table.sample[at]].tolist()
    return [table.text(code) if code >= 0 else "" for code in codes]


def _links(table: KernelGroups, at: Rows) -> Values:
    links = table.activities.link[table.sample[at]].tolist()
    return [Link(one).name.lower().replace("_", " ") for one in links]


def longest_of(table: KernelGroups, at: Rows) -> Values:
    """Slice id of the longest."""
    longest: I64 = table.operators.first_slice + table.sample[at]
    return longest


class KernelRow(Struct, frozen=True):
    """All kernels of one group; means of blocks and occupancy are weighted by duration."""

    key: Annotated[str, column(of=_keys)]
    name: Annotated[
        str,
        column(
            "Name",
            "The kernel, class, module, frame of your code or graph; one row for each.",
            kind="name",
            is_sortable=True,
            of=_names,
        ),
    ]
    short: Annotated[str, column(of=_short_names)]  # the name as far as it differs from others
    op: Annotated[
        str | None,
        column(
            "Operator", "The operator that launched it.", kind="name", of=_ops, when=by_properties
        ),
    ]
    op_eligible: Annotated[
        bool | None,
        column(
            "Op eligible",
            "True if the op it is credited to may run on tensor cores: matrix products,"
            " convolutions, attention.",
            is_minor=True,
            of=_eligible,
            when=by_properties,
        ),
    ]
    grid: Annotated[
        str | None, column("Grid", "Blocks of the launch.", of=_text("grid"), when=by_properties)
    ]
    block: Annotated[
        str | None, column("Block", "Threads of a block.", of=_text("block"), when=by_properties)
    ]
    registers: Annotated[
        int | None,
        column(
            "Registers",
            "Registers per thread.",
            is_sortable=False,
            of=_number("registers"),
            when=by_properties,
        ),
    ]
    shared_bytes: Annotated[
        int | None,
        column(
            "Shared memory",
            "Shared memory per block.",
            is_sortable=False,
            of=_number("shared_bytes"),
            when=by_properties,
        ),
    ]
    kernel_class: Annotated[
        str,
        column(
            "Class",
            "Purpose, by rules over names that a file of yours may extend.",
            of=_classes,
            when=_by_kernel,
        ),
    ]
    calls: Annotated[int, summed("Calls", "Number of launches in the chosen steps.", of=counts_of)]
    total_ns: Annotated[int, summed("Total", "Sum of the durations on the device.")]
    ratio: Annotated[
        float, column("Share", "Share of the durations of all chosen kernels.", of=_ratios)
    ]
    mean_ns: Annotated[float, column("Mean", "Total divided by calls.", when=_not_by_graph)]
    min_ns: Annotated[int, column("Min", "The shortest.", is_minor=True, when=_not_by_graph)]
    p50_ns: Annotated[
        int,
        column("Median", "Half of them take no longer.", is_minor=True, when=_not_by_graph),
    ]
    p95_ns: Annotated[
        int, column("p95", "95 % of them take no longer.", is_minor=True, when=_not_by_graph)
    ]
    max_ns: Annotated[int, column("Max", "The longest.", is_minor=True, when=_not_by_graph)]
    blocks_per_sm: Annotated[
        float | None,
        column(
            "Blocks per SM",
            "Mean blocks per multiprocessor, weighted by duration. Below 1, some multiprocessors"
            " have nothing to do.",
            when=_not_by_graph,
        ),
    ]
    light_ratio: LightRatio
    waste_ns: WasteNs
    bound: LightBound
    occupancy_percent: Annotated[
        float | None,
        column(
            "Est. occupancy",
            "Mean estimated achieved occupancy: warps on a multiprocessor of those it can hold,"
            " weighted by duration. The recorder computes it from grid, block, registers and shared"
            " memory.",
            when=_not_by_graph,
        ),
    ]
    tensor_core: Annotated[
        MatrixUseName,
        column(
            "Tensor cores",
            "Yes if its name shows tensor cores; unknown where the name does not say. Kernels that"
            " move data are no candidates.",
            of=_matrix_use,
            when=_not_by_graph,
        ),
    ]
    launch_ns: Annotated[
        float | None,
        column(
            "Launch",
            "Mean time from the start of the launching call to the start on the device.",
            is_minor=True,
            when=_not_by_graph,
        ),
    ]
    queue_ns: Annotated[
        float | None,
        column(
            "Queue",
            "Mean time from the end of the launching call to the start on the device: the wait for"
            " work that was launched before.",
            is_minor=True,
            when=_not_by_graph,
        ),
    ]
    energy_j: Annotated[
        float | None,
        summed(
            "Energy",
            f"∫ power dt while kernels of the row run. {_MEASURED} {_SHARED}",
            when=_has_counters,
        ),
    ]
    power_w: Annotated[
        float | None,
        column(
            "Power",
            f"Mean power of the board while they run. {_MEASURED} {_SHARED}",
            is_minor=True,
            when=_has_counters,
        ),
    ]
    sm_clock_mhz: Annotated[
        float | None,
        column(
            "SM clock",
            f"Mean clock of the multiprocessors while they run. {_MEASURED}",
            is_minor=True,
            when=_has_counters,
        ),
    ]
    sm_active_percent: Annotated[
        float | None,
        column(
            "SM active",
            f"Multiprocessors with at least one warp, counted by the device. {_MEASURED}",
            when=_has_counters,
        ),
    ]
    dram_percent: Annotated[
        float | None,
        column(
            "DRAM",
            "Traffic of the device's memory, counted by the device, as a share of its peak."
            f" {_MEASURED}",
            when=_has_counters,
        ),
    ]
    memory_bound: Annotated[
        bool,
        column(
            "Memory-bound",
            f"Measured, not estimated from shapes: DRAM at {MEMORY_BOUND_PERCENT:.0f}\u00a0% of its"
            f" peak or more while {SM_ACTIVE_PERCENT:.0f}\u00a0% of the multiprocessors or more are"
            f" active, by {LEAST_SAMPLES} samples or more.",
            when=_some_memory_bound,
        ),
    ]
    fused: Annotated[
        str,
        column(
            "Fused ops", "Ops fused into a generated kernel.", kind="name", is_minor=True, of=_fused
        ),
    ]
    source: Annotated[
        str,
        column(
            "Generated into",
            "File that holds the generated kernel.",
            kind="name",
            is_minor=True,
            of=_sources,
        ),
    ]
    link: Annotated[
        str,
        column("Found by", "Link from the kernel to its operator.", is_minor=True, of=_links),
    ]
    class_why: Annotated[
        str,
        column("Class because", "The rule that gave the class.", is_minor=True, of=_class_reasons),
    ]
    longest: Annotated[int, column(of=longest_of)]  # slice id


# --- graphs ---------------------------------------------------------------------------------------


def _of_graphs(value: Callable[[GraphGroups, int, int], object]) -> ValuesOf:
    """Values of graphs by (table, row, graph); None for the row of kernels outside of graphs."""

    def of(table: GraphGroups, at: Rows) -> Values:
        graphs = (table.groups.key[at] - 1).tolist()
        return [
            None if graph < 0 else value(table, row, graph)
            for row, graph in zip(at.tolist(), graphs, strict=True)
        ]

    return of


def _whole(name: str, *, least: int | None = None) -> ValuesOf:
    """A column of whole numbers of the replays; ``least`` where nothing was replayed."""

    def value(table: GraphGroups, row: int, _: int) -> object:
        figure = float(getattr(table, name)[row])
        return least if np.isnan(figure) else int(figure)

    return _of_graphs(value)


def batches_of(graphs: GraphColumns, replays: NDArray[np.integer]) -> list[int]:
    """The batch sizes that names around the launches of some replays tell, ascending."""
    sizes: list[int] = np.unique(graphs.replays.batch[replays]).tolist()
    return [size for size in sizes if size >= 0]


def _batch(table: GraphGroups, row: int, _: int) -> object:
    return ", ".join(map(str, batches_of(table.graphs, table.of_graph[row])))


def _recorded_id(table: GraphGroups, _: int, graph: int) -> object:
    number = int(table.graphs.graphs.number[graph])
    return number if number >= 0 else None


def _device(table: GraphGroups, _: int, graph: int) -> object:
    return table.operators.devices[int(table.graphs.graphs.device[graph])]


class GraphRow(KernelRow, frozen=True):
    """One graph with its replays in the chosen steps; a replay is the work of one launch."""

    number: Annotated[
        int | None,
        column(
            "Recorded id",
            "The graph's id as recorded.",
            is_minor=True,
            is_sortable=False,
            of=_of_graphs(_recorded_id),
        ),
    ]
    device: Annotated[
        str | None, column("Device", "Device of the graph.", is_minor=True, of=_of_graphs(_device))
    ]
    batch: Annotated[
        str | None,
        column(
            "Batch",
            "The batch size that a range around the launch names, as `execute_32_…` of vLLM,"
            " `bs=32` of SGLang, `capture_32_…` do.",
            of=_of_graphs(_batch),
        ),
    ]
    replays: Annotated[
        int | None,
        summed("Replays", "Number of launches in the chosen steps.", of=_whole("replays")),
    ]
    nodes: Annotated[
        int | None,
        column(
            "Nodes",
            "Kernels, copies, sets, calls of the host and recorded events of its largest replay.",
            of=_whole("nodes", least=0),
        ),
    ]
    node_ns: Annotated[
        float | None,
        column("Per node", "Mean length of a kernel, copy or set of its replays."),
    ]
    replay_min_ns: Annotated[
        int | None,
        column(
            "Replay min",
            "The shortest replay, from the start of its first work to the end of its last.",
            of=_whole("replay_min_ns"),
        ),
    ]
    replay_p50_ns: Annotated[
        int | None,
        column("Replay median", "Half of the replays take no longer.", of=_whole("replay_p50_ns")),
    ]
    replay_p95_ns: Annotated[
        int | None,
        column(
            "Replay p95",
            "95 % of the replays take no longer.",
            is_minor=True,
            of=_whole("replay_p95_ns"),
        ),
    ]
    replay_max_ns: Annotated[
        int | None,
        column(
            "Replay max",
            "The longest replay, from the start of its first work to the end of its last.",
            of=_whole("replay_max_ns"),
        ),
    ]
    replay_ns: Annotated[
        int | None,
        summed(
            "Replays in all",
            "Sum of its replays, each from the start of its first work to the end of its last.",
            is_minor=True,
            of=_whole("replay_ns", least=0),
        ),
    ]
    inside_idle_ns: Annotated[
        int | None,
        summed(
            "Idle inside",
            "Time within its replays in which none of their work ran.",
            of=_whole("inside_idle_ns", least=0),
        ),
    ]


def fused_ops(name: str) -> str:
    """The ops fused into a generated kernel, as its name lists them; "" for others."""
    match = _FUSED.match(name)
    return match[1].strip("_") if match else ""
