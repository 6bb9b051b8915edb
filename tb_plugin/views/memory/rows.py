"""Rows of the Memory view's long tables: blocks and ops, each column with its values (contract)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...analysis.memory.curve import rows_between
from ...analysis.memory.model import BEFORE, NEVER, Category, MemoryColumns, MemoryDevice
from ...analysis.memory.statistics import Statistics
from ...base.arrays import I64, B
from ..table import Values, ValuesOf, column, recorded

Rows = NDArray[np.intp]
MemoryCategory = Literal[
    "parameter", "optimizer", "input", "communication", "unknown", "gradient", "autograd",
    "activation", "temporary",
]  # fmt: skip

LABELS: Mapping[Category, str] = MappingProxyType(
    {
        Category.PARAMETER: "Kept from before",
        Category.OPTIMIZER: "Optimizer state",
        Category.INPUT: "Inputs",
        Category.COMMUNICATION: "Communication buffers",
        Category.UNKNOWN: "Unknown",
        Category.GRADIENT: "Gradients",
        Category.AUTOGRAD: "Autograd detail",
        Category.ACTIVATION: "Activations",
        Category.TEMPORARY: "Temporaries",
    }
)


def label_of(columns: MemoryColumns, category: Category) -> str:
    """Name of a category; only a timeline that torch wrote knows parameters."""
    knows = bool(columns.told_base) and category == Category.PARAMETER
    return "Parameters" if knows else LABELS[category]


NAMES = {one: cast("MemoryCategory", one.name.lower()) for one in Category}


class Chosen(Struct, frozen=True):
    """The columns, the device and the range of a query."""

    columns: MemoryColumns
    device: MemoryDevice
    start: int
    end: int
    tells_outside: bool = False  # what lies outside of the range is worth a sentence

    @property
    def span(self) -> slice:
        """Events of the device in the range, counted from its first."""
        return rows_between(self.columns, self.device, self.start, self.end)


def known_text(columns: MemoryColumns, code: int) -> str:
    """The text of a code, "" where there is none."""
    return columns.strings[code] if code >= 0 else ""


def path_name(columns: MemoryColumns, path: int) -> str:
    """The name of the op of a path, "" outside of ops."""
    return columns.path_names[path] if path >= 0 else ""


def known_row(row: int) -> int | None:
    """A row of another table; None for −1."""
    return row if row >= 0 else None


def known_instant(ts: int) -> int | None:
    """An instant of the recording; None for an end that lies outside of it."""
    return None if ts in (BEFORE, NEVER) else ts


_OP = (
    "The op that ran on the thread of the event. `aten::empty` is shown with the op that called it,"
    " as `aten::ones (aten::empty)`."
)
_LINE = "The innermost line of your own code in the stack of the allocation."
_FUNCTION = (
    "The innermost function of your own code around the allocation, by the line where it begins:"
    " torch records no other."
)
_OF_LINES = {"Operator": "Line of code", _OP: _LINE, "Function": "Line", _FUNCTION: _LINE}
CATEGORY_HELP = "Kind of its contents, inferred from its place of allocation and its lifetime."


def of_lines(words: str) -> str:
    """Words of a column in a memory snapshot, where lines of code stand in place of ops."""
    return _OF_LINES.get(words, words)


# --- blocks ---------------------------------------------------------------------------------------


def _blocks(chosen: Chosen, at: Rows) -> Values:  # noqa: ARG001
    return at


def _paths(chosen: Chosen, at: Rows) -> Values:
    return [path_name(chosen.columns, path) for path in chosen.columns.blocks.path[at].tolist()]


def _sizes(chosen: Chosen, at: Rows) -> Values:
    return chosen.columns.blocks.bytes[at]


def begins_in(chosen: Chosen, at: Rows | I64 | slice) -> B:
    """Which blocks were allocated in the range."""
    start = chosen.columns.blocks.start[at]
    found: B = (start >= chosen.start) & (start < chosen.end)
    return found


def ends_in(chosen: Chosen, at: Rows | I64 | slice) -> B:
    """Which blocks were released in the range, by a recorded release."""
    blocks = chosen.columns.blocks
    end = blocks.end[at]
    # The release of a block whose end is inferred is no event.
    found: B = (end >= chosen.start) & (end < chosen.end) & (blocks.release[at] >= 0)
    return found


def _where(there: B, values: I64) -> Values:
    return [value if is_there else None
            for value, is_there in zip(values.tolist(), there.tolist(), strict=True)]  # fmt: skip


def _allocated(chosen: Chosen, at: Rows) -> Values:
    return _where(begins_in(chosen, at), chosen.columns.blocks.start[at])


def _released(chosen: Chosen, at: Rows) -> Values:
    return _where(ends_in(chosen, at), chosen.columns.blocks.end[at])


def _alive(chosen: Chosen, at: Rows) -> Values:
    blocks = chosen.columns.blocks
    both = begins_in(chosen, at) & ends_in(chosen, at)
    return _where(both, blocks.end[at] - blocks.start[at])


def _life_starts(chosen: Chosen, at: Rows) -> Values:
    return [known_instant(ts) for ts in chosen.columns.blocks.start[at].tolist()]


def _life_ends(chosen: Chosen, at: Rows) -> Values:
    return [known_instant(ts) for ts in chosen.columns.blocks.end[at].tolist()]


def _categories(chosen: Chosen, at: Rows) -> Values:
    return [NAMES[Category(one)] for one in chosen.columns.blocks.category[at].tolist()]


def _texts(name: str) -> ValuesOf:
    def of(chosen: Chosen, at: Rows) -> Values:
        codes = getattr(chosen.columns.blocks, name)[at].tolist()
        return [known_text(chosen.columns, code) for code in codes]

    return of


def _slices(chosen: Chosen, at: Rows) -> Values:
    return recorded(chosen.columns.blocks.op[at])


class MemoryEventRow(Struct, frozen=True):
    """One block with an end in the range; times outside of the range are None."""

    block: Annotated[int, column(of=_blocks)]  # names it in a ``block`` request
    name: Annotated[  # "" = no op
        str, column("Operator", _OP, kind="name", is_sortable=True, of=_paths)
    ]
    bytes: Annotated[int, column("Size", "Size of the block.", of=_sizes)]
    allocated_ns: Annotated[
        int | None,
        column(
            "Allocated",
            "When it was allocated; nothing if that is outside of the range.",
            of=_allocated,
        ),
    ]
    released_ns: Annotated[
        int | None,
        column(
            "Released",
            "When it was released; nothing if that is outside of the range.",
            of=_released,
        ),
    ]
    alive_ns: Annotated[
        int | None,
        column("Alive", "From its allocation to its release, if both are in the range.", of=_alive),
    ]
    life_start_ns: Annotated[
        int | None,
        column(
            "Life starts",
            "When it was allocated, in the range or not; nothing if before the recording.",
            is_minor=True,
            is_sortable=False,
            of=_life_starts,
        ),
    ]
    life_end_ns: Annotated[
        int | None,
        column(
            "Life ends",
            "When it was released, in the range or not; nothing if not in the recording.",
            is_minor=True,
            is_sortable=False,
            of=_life_ends,
        ),
    ]
    category: Annotated[
        MemoryCategory, column("Category", CATEGORY_HELP, is_sortable=True, of=_categories)
    ]
    module: Annotated[  # "" = not known
        str,
        column(
            "Module",
            "The innermost module around its op; of a backward op, that of the forward op.",
            kind="name",
            is_minor=True,
            of=_texts("module"),
        ),
    ]
    line: Annotated[  # "train.py(12): step"; "" = not known
        str,
        column(
            "Function",
            _FUNCTION,
            kind="path",
            is_minor=True,
            of=_texts("frame"),
        ),
    ]
    slice: Annotated[int | None, column(of=_slices)]  # of the op on the timeline


# --- ops ------------------------------------------------------------------------------------------


def _names(table: Statistics, at: Rows) -> Values:
    return [table.text(code) for code in table.name[at].tolist()]


def _calls(table: Statistics, at: Rows) -> Values:
    return recorded(table.calls[at])


class StatisticsRow(Struct, frozen=True):
    """One op by name. Self: the op alone; the others with the ops inside it."""

    name: Annotated[  # "" = outside of all ops
        str, column("Operator", _OP, kind="name", is_sortable=True, of=_names)
    ]
    calls: Annotated[int | None, column("Calls", "Calls that touch the range.", of=_calls)]
    increase_bytes: Annotated[
        int, column("Size increase", "Allocated less released, with everything it called.")
    ]
    self_increase_bytes: Annotated[
        int,
        column(
            "Self size increase",
            "Allocated less released by it alone. The rows sum to the change of the curve.",
        ),
    ]
    allocations: Annotated[
        int, column("Allocations", "Number of allocations, including everything it called.")
    ]
    self_allocations: Annotated[
        int, column("Self allocations", "Allocations in it, without those of ops that it called.")
    ]
    allocation_bytes: Annotated[
        int,
        column("Allocation size", "Bytes allocated, releases aside, with everything it called."),
    ]
    self_allocation_bytes: Annotated[
        int, column("Self allocation size", "Bytes that it allocated itself, releases aside.")
    ]
