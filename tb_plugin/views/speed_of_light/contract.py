"""The JSON of the speed-of-light view (contract). Durations are ns; ``None`` = not known.

The view answers with ``SpeedOfLight``; its part: ``table`` → SpeedTable (SpeedQuery).
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ...analysis.speed_of_light.figures import SpeedGroups
from ...analysis.speed_of_light.model import REASONS, Reason
from ..shared import Ascending, BusiestDevice, Offset, Steps, option
from ..table import Column, Values, ValuesOf, column, summed

MOST_ROWS = 5000
SpeedGrouping = Literal["op", "kernel", "module", "kind"]
Rows = NDArray[np.intp]
NO_OP = "(kernels without an op)"


class SpeedQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice of steps and a grouping."""

    steps: Steps = ""
    device: BusiestDevice = ""
    group_by: Annotated[SpeedGrouping, option('rows; "kind": by op, shapes, types and kernels')] = (
        "op"
    )
    sort_by: Annotated[
        str, option("the column to sort by", "waste_ns, or measured_ns where none has light")
    ] = ""
    ascending: Ascending = False
    offset: Offset = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS), option("rows")] = 100


def _texts(groups: SpeedGroups, codes: list[int]) -> list[str]:
    strings = groups.selection.columns.strings
    return [strings[code] if code >= 0 else "" for code in codes]


def names_of(groups: SpeedGroups, at: Rows) -> Values:
    """The names of some rows."""
    columns, keys = groups.selection.columns, groups.key[at].tolist()
    if groups.group == "kind":
        keys = columns.kinds.op[groups.kind[at]].tolist()
    of_modules = columns.places.names if columns.places and groups.group == "module" else None
    names = [of_modules[key] for key in keys] if of_modules else _texts(groups, keys)
    kernels = columns.kinds.kernel[groups.kind[at]].tolist()
    # What has no op goes by its kernel; several of those are one row.
    alone = zip(names, _texts(groups, kernels), groups.kinds[at], strict=True)
    return [name or (kernel if kinds == 1 else NO_OP) for name, kernel, kinds in alone]


def _of_kind(name: str) -> ValuesOf:
    def of(groups: SpeedGroups, at: Rows) -> Values:
        """The text of the kind, where the row has one kind only."""
        codes = getattr(groups.selection.columns.kinds, name)[groups.kind[at]].tolist()
        alone = groups.kinds[at] == 1
        texts = zip(_texts(groups, codes), alone.tolist(), strict=True)
        return [text if one and text else None for text, one in texts]

    return of


def _dtypes(groups: SpeedGroups, at: Rows) -> Values:
    codes = groups.selection.columns.kinds.dtype[groups.kind[at]].tolist()
    return [text or None for text in _texts(groups, codes)]


def _units(groups: SpeedGroups, at: Rows) -> Values:
    codes = groups.selection.columns.kinds.unit[groups.kind[at]].tolist()
    return [text or None for text in _texts(groups, codes)]


def _peaks(groups: SpeedGroups, at: Rows) -> Values:
    found: Values = groups.selection.columns.kinds.peak[groups.kind[at]]
    return found


def _bounds(groups: SpeedGroups, at: Rows) -> Values:
    return [groups.bound[row] for row in at.tolist()]


def _moved_rates(groups: SpeedGroups, at: Rows) -> Values:
    moved, spent = (groups.read_bytes + groups.written_bytes)[at], groups.counted_ns[at]
    found: Values = np.divide(moved * 1e9, spent, out=np.full(len(at), np.nan), where=spent > 0)
    return found


def _flop_rates(groups: SpeedGroups, at: Rows) -> Values:
    least, spent = groups.least_flops[at], groups.counted_ns[at]
    found: Values = np.divide(least, spent * 1e3, out=np.full(len(at), np.nan), where=spent > 0)
    return found


def _intensities(groups: SpeedGroups, at: Rows) -> Values:
    moved = (groups.read_bytes + groups.written_bytes)[at]
    found: Values = np.divide(
        groups.least_flops[at], moved, out=np.full(len(at), np.nan), where=moved > 0
    )
    return found


def _whole(name: str) -> ValuesOf:
    def of(groups: SpeedGroups, at: Rows) -> Values:
        """Whole numbers; None where nothing is known."""
        values = getattr(groups, name)[at].tolist()
        return [None if np.isnan(value) else round(value) for value in values]

    return of


def _reasons(groups: SpeedGroups, at: Rows) -> Values:
    reasons = [Reason(one) for one in groups.reason[at].tolist()]
    return [None if one == Reason.KNOWN else REASONS[one][0] for one in reasons]


def _sizes_from(groups: SpeedGroups, at: Rows) -> Values:
    lent = groups.selection.columns.kinds.lent[groups.kind[at]].tolist()
    return ["capture" if one else None for one in lent]


def _sources(groups: SpeedGroups, at: Rows) -> Values:
    peak = groups.selection.columns.peak(groups.selection.device)
    return [peak.source if peak else None] * len(at)


class SpeedRow(Struct, frozen=True):
    """Work of one group of kernels, and the least time for it."""

    name: Annotated[
        str,
        column("Name", "The op, kernel or module.", kind="name", is_sortable=False, of=names_of),
    ]
    shapes: Annotated[
        str | None,
        column(
            "Shapes",
            "Input shapes, where the row has one set of them.",
            kind="name",
            is_minor=True,
            of=_of_kind("shapes"),
        ),
    ]
    calls: Annotated[int, summed("Calls", "Launches of the op, or of the kernel.")]
    measured_ns: Annotated[
        int,
        summed("Measured", "Sum of the durations of its kernels; on the CPU of its ops."),
    ]
    light_ns: Annotated[
        int | None,
        summed(
            "Light",
            "The least time by the data sheet: the larger of least FLOPs ÷ peak and bytes ÷"
            " bandwidth.",
            of=_whole("light_ns"),
        ),
    ]
    light_ratio: Annotated[
        float | None, column("Share of light", "Light ÷ measured time, of work with a model.")
    ]
    waste_ns: Annotated[
        int | None,
        summed("Waste", "Measured time − light, of work with a model.", of=_whole("waste_ns")),
    ]
    bound: Annotated[
        str | None,
        column("Bound", "The larger need of time: FLOPs or bytes.", kind="words", of=_bounds),
    ]
    flops: Annotated[
        int | None,
        summed(
            "FLOPs",
            "By the convention of `torch.utils.flop_counter`: a multiply-add is two; only products,"
            " convolutions and attention count.",
            of=_whole("flops"),
        ),
    ]
    least_flops: Annotated[
        int | None,
        summed(
            "Least FLOPs",
            "FLOPs without the pairs that a causal mask hides.",
            is_minor=True,
            of=_whole("least_flops"),
        ),
    ]
    read_bytes: Annotated[
        int | None,
        summed(
            "Read",
            "Bytes at different addresses that it must read, each once.",
            of=_whole("read_bytes"),
        ),
    ]
    written_bytes: Annotated[
        int | None,
        summed("Written", "Bytes that it must write, each once.", of=_whole("written_bytes")),
    ]
    tflop_s: Annotated[
        float | None,
        column(
            "TFLOP/s", "Least FLOPs ÷ measured.", is_minor=True, is_sortable=False, of=_flop_rates
        ),
    ]
    moved_bytes_per_s: Annotated[
        float | None,
        column("Bandwidth", "Bytes ÷ measured.", is_minor=True, is_sortable=False, of=_moved_rates),
    ]
    intensity: Annotated[
        float | None,
        column("FLOP/B", "Least FLOPs ÷ bytes.", is_minor=True, is_sortable=False, of=_intensities),
    ]
    figure_ratio: Annotated[
        float | None, column("With figure", "Part of the measured time that has light.")
    ]
    reason: Annotated[
        str | None,
        column(
            "No figure because", "Why most of the rest has no light.", kind="words", of=_reasons
        ),
    ]
    sizes_from: Annotated[
        str | None,
        column(
            "Sizes from",
            "Capture: op and sizes of replayed kernels come from a recording of the graph's"
            " capture.",
            kind="words",
            of=_sizes_from,
        ),
    ]
    dtype: Annotated[
        str | None,
        column("Type", "The type that its products multiply.", is_minor=True, of=_dtypes),
    ]
    unit: Annotated[
        str | None,
        column("Unit", "What computes the products.", is_minor=True, of=_units),
    ]
    peak_tflop_s: Annotated[
        float | None,
        column("Peak", "TFLOP/s of the unit.", is_minor=True, is_sortable=False, of=_peaks),
    ]
    source: Annotated[
        str | None,
        column("Source", "Data sheet of the device.", kind="path", is_minor=True, of=_sources),
    ]


class SpeedTable(Struct, frozen=True):
    """A window of the table."""

    columns: tuple[Column, ...]
    rows: tuple[SpeedRow, ...]
    offset: int
    count: int  # rows in all
    sort_by: str
    step_count: int = 0  # that sums add up; 0 = more is counted than steps


class SpeedPart(Struct, frozen=True):
    """A part of the chosen steps; the parts sum to them exactly."""

    key: str
    name: Annotated[str, column("Part", "Activity of the device, or its absence.", kind="words")]
    ns: Annotated[int, summed("Time", "Time within the chosen steps.")]
    ratio: Annotated[float, column("Share", "Share of the chosen steps.")]
    help: str


class SpeedReason(Struct, frozen=True):
    """Compute time without a figure, by reason."""

    reason: Annotated[str, column("No figure because", "The reason.", kind="words")]
    ns: Annotated[int, summed("Time", "Compute time within the chosen steps.")]
    ratio: Annotated[float, column("Share", "Share of the compute time.")]
    help: Annotated[str, column("Remedy", "Its cause or remedy.", kind="text")]


class SpeedRank(Struct, frozen=True):
    """Time above the speed of light; all of them sum to the chosen steps − light."""

    # "op", or the part: "idle", "exposed_communication", …, "others", "no_figure", "under_others"
    key: str
    name: Annotated[str, column("Where", "An op's waste, or a part of the steps.", kind="name")]
    ns: Annotated[int, summed("Time", "Time above the speed of light.")]
    running_ns: Annotated[int, summed("Running sum", "With all rows above.")]
    ratio: Annotated[float, column("Share", "Share of the chosen steps.")]


class SpeedRoof(Struct, frozen=True):
    """The rate of a unit of the device."""

    name: str  # "16-bit", "TF32"
    tflop_s: float


class SpeedPoint(Struct, frozen=True):
    """One row of the table in the roofline; without FLOPs it has a bandwidth alone."""

    name: str
    ns: int  # measured time of its work with a figure
    intensity: float | None  # least FLOPs ÷ bytes; None: it computes no products
    tflop_s: float
    gb_s: float
    light_ratio: float
    unit: str  # of its products
    is_rest: bool = False  # all smaller rows together


class SpeedRoofline(Struct, frozen=True):
    """Rates of the device, and the rows of the table below them."""

    bandwidth_gb_s: float
    roofs: tuple[SpeedRoof, ...]  # of the units that computed
    points: tuple[SpeedPoint, ...]  # most time first


class SpeedSummary(Struct, frozen=True):
    """Utilization, the parts of the chosen steps, and missing figures: for other views."""

    headline: str
    step_count: int  # that times add up
    reasons: tuple[SpeedReason, ...]
    reasons_columns: tuple[Column, ...]
    parts: tuple[SpeedPart, ...]
    ranking: tuple[SpeedRank, ...]  # the three ops with most waste
    mfu_ratio: float | None
    hfu_ratio: float | None
    mbu_ratio: float | None
    at_least: bool
    source: str


class SpeedOfLight(Struct, frozen=True):
    """Speed of light of the device, and the time above it."""

    headline: str
    detail: str
    step_count: int
    parts: tuple[SpeedPart, ...]
    parts_columns: tuple[Column, ...]
    reasons: tuple[SpeedReason, ...]
    reasons_columns: tuple[Column, ...]
    under_others_ns: int | None  # waste of kernels while others ran: in rows, not in the steps
    ranking: tuple[SpeedRank, ...]
    ranking_columns: tuple[Column, ...]
    roofline: SpeedRoofline | None  # None: no device, or no data sheet of it
    model_flops: float  # without what was computed again
    all_flops: float
    mfu_ratio: float | None  # model FLOPs ÷ (length · peak)
    hfu_ratio: float | None  # the same of all FLOPs
    # Decode: bytes of weights, cached keys and values ÷ (time of the iterations · bandwidth)
    mbu_ratio: float | None
    at_least: bool  # MFU, HFU and MBU are lower bounds: much compute time has no figure
    source: str  # of the peak rates; "" = there are none
    table: SpeedTable
