"""The rows of copies and sets in the Kernel view: directions, sizes, rates (contract)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from ...analysis.operators.kernels import KernelGroups
from ...base.regex import regex
from ..table import Values, column, recorded, summed
from .rows import Rows, counts_of, longest_of, sample_names

_COPY = regex(r"Memcpy (\w)to(\w)\s*(?:\((\w+) -> (\w+)\))?")
_BARE_COPY = "Memcpy"
NO_DIRECTION = "direction not recorded"
_SIDE = {"H": "host", "D": "device", "P": "peer device", "A": "array"}


def _directions(table: KernelGroups, at: Rows) -> Values:
    return [direction(name) for name in sample_names(table, at)]


def _sizes(table: KernelGroups, at: Rows) -> Values:
    return recorded(table.bytes[at])


def _bandwidths(table: KernelGroups, at: Rows) -> Values:
    moved, spent = table.bytes[at].tolist(), table.total_ns[at].tolist()
    return [
        size * 1e9 / ns if size >= 0 and ns else None for size, ns in zip(moved, spent, strict=True)
    ]


class CopyRow(Struct, frozen=True):
    """Copies or sets of one direction."""

    direction: Annotated[
        str,
        column("Copies and sets", "From where to where memory is copied, or set.", of=_directions),
    ]
    calls: Annotated[int, summed("Calls", "Number in the chosen steps.", of=counts_of)]
    total_ns: Annotated[int, summed("Total", "Sum of the durations on the device.")]
    total_bytes: Annotated[
        int | None,
        summed(
            "Size",
            "Bytes moved or set, of those whose size was recorded.",
            of=_sizes,
        ),
    ]
    bandwidth_bytes_per_s: Annotated[
        float | None, column("Bandwidth", "Size divided by total.", of=_bandwidths)
    ]
    mean_ns: Annotated[float, column("Mean", "Total divided by calls.", is_minor=True)]
    max_ns: Annotated[int, column("Max", "The longest.", is_minor=True)]
    name: Annotated[
        str,
        column("Name", "As recorded.", kind="name", is_minor=True, of=sample_names),
    ]
    longest: Annotated[int, column(of=longest_of)]


def direction(name: str) -> str:
    """The direction of a copy, from its name: "host → device, pageable"; else the name itself.

    A copy of a Perfetto file has none.
    """
    if name == _BARE_COPY:
        return NO_DIRECTION
    match = _COPY.match(name)
    if match is None:
        return name
    source, target, source_kind, target_kind = match.groups()
    way = f"{_SIDE.get(source, source)} → {_SIDE.get(target, target)}"
    kinds = {str(kind).lower() for kind in (source_kind, target_kind) if kind}
    memory = sorted(kinds & {"pageable", "pinned"})
    return f"{way}, {memory[0]}" if memory else way
