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

from ..shared import Count, Words

Outcome = Literal["better", "worse", "no change", "cannot tell"]
Division = Literal["device", "host", "classic"]
DiffGroup = Literal["operators", "kernels", "modules", "memory"]
DiffMetric = Literal[
    "self_ns", "total_ns", "device_self_ns", "device_total_ns", "bytes", "peak_bytes", "calls"
]
KernelKey = Literal["name", "launch", "role", "family"]
DiffStatus = Literal[
    "added", "removed", "faster", "slower", "more", "less", "more calls", "fewer calls", "same",
    "small", "unsure",
]  # fmt: skip


class DiffQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """The two recordings and their steps."""

    base_run: Words = ""  # run of the base; "" = none
    base_worker: Words = ""  # its worker; "" = the same as of the trace itself
    base_span: Words = ""  # its span; "" = the last
    steps: str = ""  # steps by their numbers: "3", "2-5"; "" = all but warm-up and incomplete ones
    base_steps: str = ""  # steps of the base; "" = all but warm-up and incomplete ones
    center: Literal["mean", "median"] = "mean"  # step of the bridge
    # how a step is divided; "" = the best that both have
    seen: Literal["", "device", "host", "classic"] = ""
    budget: Annotated[float, Meta(ge=0, le=10)] = 0.02  # a smaller change of the step is none
    equal_clocks: bool = False  # judge the other as if it had run at the clock of the base


class DiffTableQuery(DiffQuery, frozen=True, forbid_unknown_fields=True):
    """A window of the table."""

    group: DiffGroup = "operators"  # what the rows are
    metric: DiffMetric = "self_ns"  # the time that is compared
    by_shape: bool = False  # keep calls of operators with other input shapes apart
    # what kernels are matched by: their name, name and launch size, or what they are for
    # (family, operator and shapes), or their family; "" = role where the devices differ, else name
    kernels_by: Literal["", "name", "launch", "role", "family"] = ""
    search: Words = ""  # rows whose name has these words; "" = all
    sort_by: Literal["change", "name", "base", "other", "ratio"] = "change"  # column to sort by
    ascending: bool = False  # smallest first
    offset: Count = 0  # rows to skip
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200  # rows of the window


class PiecesQuery(DiffQuery, frozen=True, forbid_unknown_fields=True):
    """The pieces inside one piece."""

    path: Words = ""  # places from the outermost list on: "0-2-1"; "" = the step itself


class DiffFlameQuery(DiffQuery, frozen=True, forbid_unknown_fields=True):
    """The flame graph of both."""

    metric: Literal["host", "device", "calls"] = "host"  # what the width of a box is
    min_ratio: Annotated[float, Meta(ge=0, le=1)] = 0.0005  # narrower boxes are left to "…"


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
    label: str
    category: str
    ghost: bool
    help: str
    base_ns: int
    other_ns: int
    change_ns: int
    is_real: bool | None  # None: too few steps to tell
    door: DiffDoor


class DiffCount(Struct, frozen=True):
    """A number per step; ``is_exact``: it repeats in every chosen step, on both sides."""

    key: str
    label: str
    unit: Literal["count", "bytes", "flop"]
    base: float
    other: float
    is_exact: bool


class DiffMismatch(Struct, frozen=True):
    """What the two recordings do not have in common."""

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
    parts: tuple[DiffPart, ...]
    clock_ns: int  # of the change, what another clock makes of it
    can_equal_clocks: bool  # the clocks differ, by a factor that can be made up for
    clock_ratio: float | None  # other ÷ base of equal kernels; None: too few of them
    mismatches: tuple[DiffMismatch, ...]
    counts: tuple[DiffCount, ...]
    kernels_by: KernelKey  # what kernels are matched by unless someone chooses
    missing: dict[str, str]  # group, or a metric of memory → why it is not there


class DiffRow(Struct, frozen=True):
    """One operator, kernel or module of both recordings; figures per step."""

    name: str
    other_name: str  # where it goes by another name; "" = the same
    relation: str  # "renamed", "fused", "split", "replaced"; "" = by name
    detail: str
    base_calls: float
    other_calls: float
    base_ns: float
    other_ns: float
    change_ns: float
    ratio: float | None  # change ÷ base; None where the base has none
    by_calls_ns: float
    by_speed_ns: float
    adjusted_ns: float | None  # the change without the difference of the clocks
    device_change_ns: float | None
    status: DiffStatus
    p: float | None
    sums: dict[str, tuple[float, float]]  # every metric of base and other
    base_kernel: str  # where a row is a role or a family: its heaviest kernel; "" else
    other_kernel: str


class DiffTable(Struct, frozen=True):
    """A window of the rows, and sums over all of them."""

    rows: tuple[DiffRow, ...]
    offset: int
    count: int
    group: DiffGroup
    metric: str
    base_ns: float
    other_ns: float
    metrics: tuple[str, ...]  # that this group has
    kernels_by: KernelKey | None  # of kernels: what they are matched by
    device: str  # of memory: whose, "GPU 0 · Tesla V100"; "" else
    missing: str  # why there is none; "" = there is


class Piece(Struct, frozen=True):
    """One piece of both steps: an anchor, or what stands between two of them."""

    path: str
    name: str
    other_name: str
    kind: str  # "step", "loader", "module", "optimizer", "between"
    base_ns: float
    other_ns: float
    base_device_ns: float
    other_device_ns: float
    base_count: int
    other_count: int
    has_inside: bool


class Pieces(Struct, frozen=True):
    """The pieces below a path, in the order of time."""

    path: str
    trail: tuple[str, ...]  # names from the outermost to this one
    pieces: tuple[Piece, ...]
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
