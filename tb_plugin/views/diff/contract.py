"""The JSON of the Diff view (contract). Durations are ns per step; ``None`` = not known.

The view answers with ``Diff``: the verdict, the bridge, what limits the comparison. Its parts:

    table   DiffTable   operators, kernels, modules or allocation sites: who takes more, who less
                        (DiffTableQuery)
    pieces  Pieces      the pieces of the step, aligned, and those inside one of them (PiecesQuery)
    marks   DiffMarks   where two timelines can begin together: steps, ranges in them (DiffQuery)
    flame   DiffFlame   one flame graph of both, each box with both values (DiffFlameQuery)

The trace of the request is the *other* one (the experiment); the query names the *base*.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..shared import Ascending, Offset, RowLimit, Steps, Words, lit, option
from ..table import Column, column

Outcome = Literal["better", "worse", "differs", "no change", "cannot tell"]
Division = Literal["device", "host", "classic"]
DiffGroup = Literal["operators", "kernels", "modules", "memory"]
DiffMetric = Literal[
    "self_ns", "total_ns", "device_self_ns", "device_total_ns", "bytes", "peak_bytes", "calls"
]
KernelKey = Literal["name", "launch", "role", "family"]
DiffStatus = Literal[
    "added", "removed", "faster", "slower", "more", "less", "more calls", "fewer calls", "differs",
    "same", "small", "unsure",
]  # fmt: skip


class DiffQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The two recordings and their steps."""

    base_run: Annotated[Words, option("run of the base", "none")] = ""
    base_worker: Annotated[Words, option("its worker", "the same as of the trace itself")] = ""
    base_span: Annotated[Words, option("its span", "the last")] = ""
    steps: Steps = ""
    base_steps: Annotated[
        str, option("steps of the base", "all but warm-up and incomplete ones")
    ] = ""
    seen: Annotated[
        Literal["", "device", "host", "classic"],
        option("how a step is divided", "the best that both have"),
    ] = ""
    budget: Annotated[float, Meta(ge=0, le=10), option("a smaller change of the step is none")] = (
        0.02
    )
    equal_clocks: Annotated[
        bool, option("judge the other as if it had run at the clock of the base")
    ] = False


class DiffTableQuery(DiffQuery, frozen=True, forbid_unknown_fields=True):
    """A window of the table."""

    group: Annotated[DiffGroup, option("what the rows are")] = "operators"
    metric: Annotated[DiffMetric, option("the time that is compared")] = "self_ns"
    by_shape: Annotated[bool, option("keep calls of operators with other input shapes apart")] = (
        False
    )
    kernels_by: Annotated[
        Literal["", "name", "launch", "role", "family"],
        option(
            "what kernels are matched by: their name, name and launch size, or what they are for"
            " (family, operator and shapes), or their family",
            "role where the devices differ, else name",
        ),
    ] = ""
    search: Annotated[Words, option("rows whose name has these words", "all")] = ""
    sort_by: Annotated[str, option("the column to sort by", "change_ns")] = ""
    ascending: Ascending = False
    offset: Offset = 0
    limit: RowLimit = 200


class PiecesQuery(DiffQuery, frozen=True, forbid_unknown_fields=True):
    """The pieces inside one piece."""

    path: Annotated[
        Words, option('places from the outermost list on: "0-2-1"', "the step itself")
    ] = ""


class DiffFlameQuery(DiffQuery, frozen=True, forbid_unknown_fields=True):
    """The flame graph of both."""

    metric: Annotated[Literal["host", "device", "calls"], option("what the width of a box is")] = (
        "host"
    )
    min_ratio: Annotated[float, Meta(ge=0, le=1), option('narrower boxes are left to "…"')] = 0.0005


class DiffSide(Struct, frozen=True):
    """One recording of the two."""

    run: str
    worker: str
    span: str
    label: str
    device: str  # "Tesla V100-SXM2-32GB", "CPU"
    step_count: int
    mean_ns: float
    median_ns: float
    noise_ratio: float | None  # half width of the 95 % interval of its median, from its own steps


class DiffDoor(Struct, frozen=True):
    """Where the events of a part are, in the Trace view of each side; "" = not known."""

    base_at: str  # "1200-3400": a range of the timeline
    other_at: str
    find: str = ""  # words to search for


class DiffPart(Struct, frozen=True):
    """One part of both steps; integers that sum to the steps."""

    key: str
    label: Annotated[str, column("Part", "Part of the step.", kind="words")]
    category: str
    ghost: bool
    help: str
    base_ns: Annotated[int, column("A", "Per step in A, the base.")]
    other_ns: Annotated[int, column("B", "Per step in B.")]
    change_ns: Annotated[int, column("Change", "B less A.")]
    is_real: Annotated[
        bool | None,
        column(
            "Significant",
            "True if the change is more than noise (Holm, 5 %): between these two recordings; from"
            " three recordings a side on, of the code. Empty with too few steps to tell.",
            kind="words",
        ),
    ]
    door: DiffDoor


class DiffCount(Struct, frozen=True):
    """A number per step; ``is_exact``: it repeats in every chosen step, on both sides."""

    key: str
    label: Annotated[str, column("Per step", "What is counted.", kind="words")]
    unit: Literal["count", "bytes", "flop"]
    base: Annotated[float, column("A", "Per step in A, the base.")]
    other: Annotated[float, column("B", "Per step in B.")]
    change: Annotated[float, column("Change", "B less A.")]
    is_exact: Annotated[
        bool,
        column(
            "Known",
            "“exactly” where every chosen step of both sides counts the same, else the means are"
            " compared.",
            kind="words",
        ),
    ]


class DiffMismatch(Struct, frozen=True):
    """Differences between the two recordings."""

    what: str
    base: str
    other: str
    weight: Literal["other machine", "taints", "note"]
    text: str


class Diff(Struct, frozen=True):
    """The answer."""

    outcome: Outcome
    headline: str
    detail: str
    certainty: str
    settle: str  # what would decide it; "" where it is decided
    reason: str  # the rule that decided
    base: DiffSide
    other: DiffSide
    division: Division
    divisions: tuple[Division, ...]
    base_ns: int
    other_ns: int
    change_ns: int
    parts_columns: tuple[Column, ...]
    parts: tuple[DiffPart, ...]
    clock_ns: int  # of the change, what another clock makes of it
    can_equal_clocks: bool  # the clocks differ, by a factor that can be made up for
    clock_ratio: float | None  # other ÷ base of equal kernels; None: too few of them
    mismatches: tuple[DiffMismatch, ...]
    counts_columns: tuple[Column, ...]
    counts: tuple[DiffCount, ...]
    kernels_by: KernelKey  # what kernels are matched by unless someone chooses
    missing: dict[str, str]  # group, or a metric of memory → why it is not there
    outliers: tuple[str, ...]  # steps that are far from the others of their side, and why


def _of_operators(query: DiffTableQuery) -> bool:
    return query.group == "operators"


def _of_kernels(query: DiffTableQuery) -> bool:
    return query.group == "kernels"


def _of_devices(query: DiffTableQuery) -> bool:
    """Light is of time on a device."""
    return query.metric.startswith("device")


def _not_held(query: DiffTableQuery) -> bool:
    """Held bytes are no sum over calls, so their number or size does not explain them."""
    return query.metric != "peak_bytes"


class DiffRow(Struct, frozen=True):
    """One operator, kernel or module of both recordings; figures per step."""

    name: Annotated[
        str,
        column(
            "Name",
            "The name in A; after the arrow the one in B, found by its place.",
            kind="name",
            is_sortable=True,
        ),
    ]
    base_calls: Annotated[float, column("Calls A", "Calls per step in A, the base.")]
    other_calls: Annotated[float, column("Calls B", "Calls per step in B.")]
    base_ns: Annotated[float, column("A", "Per step in A, the base.")]
    other_ns: Annotated[float, column("B", "Per step in B.")]
    change_ns: Annotated[
        float, column("Change", "B less A, per step. Rows are sorted by its size.")
    ]
    ratio: Annotated[  # None where the base has none
        float | None, column("%", "The change divided by A.")
    ]
    status: Annotated[
        DiffStatus,
        column(
            "Verdict",
            "Differs: more than noise between these two recordings (Welch over steps, Holm 5 %),"
            " more than 1 % of the step, or of all bytes, and 1.5 % of itself. Faster, slower,"
            " more, less: the same over three recordings a side. More or fewer calls: the number"
            " repeats exactly, and makes most of the change.",
            kind="words",
        ),
    ]
    by_calls_ns: Annotated[
        float,
        column(
            "By calls",
            "Part of the change by the number of calls, each as long as in A.",
            when=_not_held,
            is_minor=True,
        ),
    ]
    by_speed_ns: Annotated[
        float,
        column(
            "By speed",
            "Part of the change by longer, shorter, larger or smaller calls. With the part by"
            " calls it sums to the change.",
            when=_not_held,
            is_minor=True,
        ),
    ]
    adjusted_ns: Annotated[
        float | None,
        column(
            "Without clocks",
            "B divided by the factor of the clocks of the devices, less A.",
            is_minor=True,
        ),
    ]
    device_change_ns: Annotated[
        float | None,
        column(
            "Device",
            "Change of the device time that it launched itself.",
            when=_of_operators,
            is_minor=True,
        ),
    ]
    waste_change_ns: Annotated[
        float | None,
        column(
            "Waste change",
            "Change of the measured time above the least time by each device's data sheet.",
            is_sortable=False,
            when=_of_devices,
        ),
    ]
    work: Annotated[
        str | None,
        column(
            "Work",
            "Least FLOPs and bytes of B beside those of A: equal (within 1 %), more, less, or other"
            " (more of one, less of the other). Equal work and more waste: it became slower.",
            kind="words",
            is_minor=True,
            when=_of_devices,
        ),
    ]
    base_light_ratio: Annotated[float | None, lit("light_ratio", "A", when=_of_devices)]
    other_light_ratio: Annotated[float | None, lit("light_ratio", "B", when=_of_devices)]
    base_waste_ns: Annotated[float | None, lit("waste_ns", "A", when=_of_devices)]
    other_waste_ns: Annotated[float | None, lit("waste_ns", "B", when=_of_devices)]
    base_bound: Annotated[str | None, lit("bound", "A", when=_of_devices)]
    other_bound: Annotated[str | None, lit("bound", "B", when=_of_devices)]
    base_kernel: Annotated[  # where a row is a role or a family; "" else
        str,
        column("Kernel A", "The kernel of A that takes most of it.", kind="name", when=_of_kernels),
    ]
    other_kernel: Annotated[
        str,
        column("Kernel B", "The kernel of B that takes most of it.", kind="name", when=_of_kernels),
    ]
    p: Annotated[
        float | None,
        column(
            "p",
            "Probability of such a change by noise alone (Welch, over steps or recordings).",
            is_minor=True,
        ),
    ]
    other_name: Annotated[  # "" = the same
        str, column("Name in B", "Where it goes by another name.", kind="name", is_minor=True)
    ]
    relation: Annotated[  # "" = by name
        str,
        column(
            "Relation",
            "Match of rows of other names: renamed, fused, split, replaced.",
            is_minor=True,
        ),
    ]
    detail: Annotated[
        str,
        column("Of", "Shapes, or where it was allocated.", kind="name", is_minor=True),
    ]
    sums: dict[str, tuple[float, float]]  # every metric of base and other
    # of kernels: what tells the names from those of the other rows
    short: str = ""
    other_short: str = ""


class DiffTable(Struct, frozen=True):
    """A window of the rows, and sums over all of them."""

    columns: tuple[Column, ...]
    rows: tuple[DiffRow, ...]
    offset: int
    count: int
    sort_by: str
    group: DiffGroup
    metric: str
    base_ns: float
    other_ns: float
    metrics: tuple[str, ...]  # that this group has
    kernels_by: KernelKey | None  # of kernels: what they are matched by
    device: str  # of memory: whose, "GPU 0 · Tesla V100"; "" else
    missing: str  # why there is none; "" = there is


class Piece(Struct, frozen=True):
    """One piece of both steps: an anchor, or the events between two of them."""

    path: Annotated[str, column("Path", "Its place, and that of the pieces around it.")]
    name: Annotated[str, column("Piece", "Its name in A.", kind="name")]
    other_name: Annotated[str, column("Name in B", "Its name in B.", kind="name", is_minor=True)]
    kind: Annotated[str, column("Kind", "step, loader, module, optimizer, between.")]
    base_ns: Annotated[float, column("A", "Time of the main thread per step in A, the base.")]
    other_ns: Annotated[float, column("B", "Time of the main thread per step in B.")]
    base_device_ns: Annotated[float, column("Device A", "Device time that it launched in A.")]
    other_device_ns: Annotated[float, column("Device B", "Device time that it launched in B.")]
    base_count: Annotated[int, column("Count A", "Number in all chosen steps of A.")]
    other_count: Annotated[int, column("Count B", "Number in all chosen steps of B.")]
    has_inside: bool


class Pieces(Struct, frozen=True):
    """The pieces below a path, in the order of time."""

    path: str
    trail: tuple[str, ...]  # names from the outermost to this one
    pieces_columns: tuple[Column, ...]
    pieces: tuple[Piece, ...]
    columns: tuple[Column, ...]
    rows: tuple[DiffRow, ...]  # the operators of this piece, those that changed most first
    row_count: int
    missing: str


class PhaseMark(Struct, frozen=True):
    """A range in a step: the DataLoader, a module, the optimizer. In ns, as in the Trace view."""

    name: str
    kind: str
    start: int
    end: int


class StepMarks(Struct, frozen=True):
    """One chosen step of a recording, on the host, and the ranges directly in it."""

    name: str  # as the address writes it: "5"; "" = the whole recording, where none is marked
    start: int
    end: int
    phases: tuple[PhaseMark, ...]


class DiffMarks(Struct, frozen=True):
    """The chosen steps of both recordings."""

    base: tuple[StepMarks, ...]
    other: tuple[StepMarks, ...]
    phases: tuple[str, ...]  # names that some step has on both sides


class DiffBox(Struct, frozen=True):
    """One box of the flame graph of both; parents come first."""

    node: int
    parent: int
    name: str
    kind: str
    base: float
    other: float


class DiffFlame(Struct, frozen=True):
    """The boxes; the width of a box is the larger of its two values."""

    unit: Literal["ns", "count"]
    base_total: float
    other_total: float
    boxes: tuple[DiffBox, ...]
    missing: str
