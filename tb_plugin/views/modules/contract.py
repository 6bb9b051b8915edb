"""The JSON of the Module view (contract). Durations are ns; ``None`` = not recorded.

The view answers with ``Modules``; its parts: ``table`` → ModuleTable (ModulesQuery), ``row`` →
ModuleRow (ModuleRowQuery), ``flame`` → Flame (ModuleFlameQuery).
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..shared import Words

MOST_ROWS = 5000
ModuleTime = Literal["device", "op"]
ModuleMetric = Literal["device", "op", "host", "idle"]


class ModulesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A choice of modules and their order."""

    steps: str = ""  # steps by their numbers: "3", "2-5", "1,4-6"; "" = all that is recorded
    fold: bool = True  # siblings of equal type and structure are one row
    below: Words = ""  # what lies in the row with this key; "" = everything
    search: Words = ""  # modules whose name, type or path has these words; "" = all
    sort_by: str = ""  # the column to sort siblings by; "" = total_ns
    ascending: bool = False  # smallest first
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 1000  # rows, the largest


class ModuleRow(Struct, frozen=True):
    """One module with the modules inside it; or several siblings of equal structure in one row.

    Times "total" include the modules inside. ``total_ns`` is the time that the view is about
    (``Modules.time``): of the device, or of ops where no device was recorded; it is the sum of
    forward, backward and recompute.
    """

    key: str  # asks for what is inside, as ``below``
    parent: str  # key of the row around it; "" at a root
    depth: int
    name: str  # "BasicBlock_0", "0.conv1"; of several their type
    type: str  # "" = not known
    qualified: str | None  # name in the model: "layer1.0.conv1"
    path: str  # names from the root on, joined by "/"
    members: int  # modules that the row stands for: 1, or the number of siblings
    inside: int  # rows directly inside it
    least_ns: int | None  # of several: total_ns of the smallest, …
    median_ns: int | None
    most_ns: int | None
    outlier: str | None  # … and the name of one that is far from the others
    calls: int  # in the forward pass
    recompute_calls: int  # inside the backward pass
    ops: int  # ops that no other op of the module contains
    kernels: int | None  # kernels, copies and sets
    total_ns: int
    self_ns: int
    busy_ns: int | None  # a device ran work of it: side by side counts once; of several the sum
    forward_ns: int
    backward_ns: int
    recompute_ns: int
    ratio: float  # total_ns of that of all modules
    host_total_ns: int  # of its calls in the forward pass
    host_self_ns: int  # … without the calls of modules inside them
    host_recompute_ns: int  # of its calls inside the backward pass
    mean_ns: float | None  # host_total_ns by calls
    op_total_ns: int  # own time of ops and of calls of the runtime
    idle_ns: int | None  # a device was idle, and then ran work of it
    flops: float | None
    born_bytes: int | None  # allocated by its ops
    kept_bytes: int | None  # … of these, not released by the time the call ended
    slice: int | None  # slice id of the longest call, …
    ts: int | None  # … its start, …
    dur_ns: int | None  # … and length


class ModuleTable(Struct, frozen=True):
    """The rows of the tree by depth first; of each parent the largest first, or as sorted."""

    rows: tuple[ModuleRow, ...]
    count: int  # rows that match, of which ``rows`` are the largest
    modules: int  # modules that these stand for
    sort_by: str


class ModulePart(Struct, frozen=True):
    """A part of all device time, or of all time of ops."""

    key: str  # "modules", "communication", "optimizer", …
    name: str
    ns: int
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
    definitions: dict[str, str]


class ModuleRowQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """One module, by its key or by the node of its box."""

    module: Annotated[int, Meta(ge=0, le=2**31 - 1)]
    steps: str = ""


class ModuleFlameQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A flame graph of modules."""

    steps: str = ""
    metric: ModuleMetric = "device"  # of device, ops, calls on the host, or idle time before them
    root: Annotated[int, Meta(ge=-1, le=2**31 - 1)] = -1  # module; −1 = all roots
    focus: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None
    min_ratio: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0005
