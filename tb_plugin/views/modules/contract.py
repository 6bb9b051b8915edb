"""The JSON of the Module view (contract). Durations are ns; ``None`` = not recorded.

The view answers with ``Modules``; its parts: ``table`` → ModuleTable (ModulesQuery), ``row`` →
ModuleRow (ModuleRowQuery), ``flame`` → Flame (ModuleFlameQuery).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..shared import Ascending, StepsOrOutside, Words, option
from ..table import Column, column, summed
from .rows import ModuleRow

MOST_ROWS = 5000
ModuleTime = Literal["device", "op"]
ModuleMetric = Literal["device", "op", "host", "idle"]


class ModulesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice of modules and their order."""

    steps: StepsOrOutside = ""
    fold: Annotated[bool, option("siblings of equal type and structure are one row")] = True
    below: Annotated[Words, option("what lies in the row with this key", "everything")] = ""
    search: Annotated[Words, option("modules whose name, type or path has these words", "all")] = ""
    sort_by: Annotated[str, option("the column to sort siblings by", "total_ns")] = ""
    ascending: Ascending = False
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS), option("rows, the largest")] = 1000


class ModuleTable(Struct, frozen=True):
    """The rows of the tree by depth first; of each parent the largest first, or as sorted."""

    columns: tuple[Column, ...]
    rows: tuple[ModuleRow, ...]
    count: int  # rows that match, of which ``rows`` are the largest
    modules: int  # modules that these stand for
    sort_by: str
    step_count: int = 0  # that sums add up; 0 = more is counted than steps


class ModulePart(Struct, frozen=True):
    """A part of all device time, or of all time of ops."""

    key: str  # "modules", "communication", "optimizer", …
    name: Annotated[
        str, column("Part", "Modules, and what belongs to none by reason.", kind="words")
    ]
    ns: Annotated[int, summed("Time", "Sum of durations.")]
    ratio: Annotated[float, column("Share", "Share of all parts.")]
    help: str


class ModuleWhole(Struct, frozen=True):
    """A total of the recording, or of its chosen steps, divided by owner; the parts sum to it."""

    total_ns: int
    modules_ns: int
    parts: tuple[ModulePart, ...]  # the modules first


class Modules(Struct, frozen=True):
    """The modules of the chosen steps."""

    headline: str
    detail: str
    source: str  # how the recording names modules
    time: ModuleTime
    step_count: int
    device: ModuleWhole | None
    ops: ModuleWhole
    idle: ModuleWhole | None
    busy_ns: int | None  # the devices ran anything: unions by step and device
    table: ModuleTable
    roots: tuple[ModuleRow, ...]
    recompute_ratio: float  # of the time in modules
    # Of the whole recording, the outermost by their names in the model; () where it is not known
    never_called: tuple[str, ...]
    missing: dict[str, str]


class ModuleRowQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One module, by its key or by the node of its box."""

    module: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    steps: str = ""


class ModuleFlameQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A flame graph of modules."""

    steps: str = ""
    metric: Annotated[
        ModuleMetric, option("of device, ops, calls on the host, or idle time before them")
    ] = "device"
    root: Annotated[int, Meta(ge=-1, le=2**31 - 1), option("module", "all roots")] = -1
    focus: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    min_ratio: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0005
