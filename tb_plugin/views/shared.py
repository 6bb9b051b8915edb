"""Structs and parameters that several views share (contract).

For the Operator and the Kernel view: steps, columns, keys, shares. For every view: the reading of
queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ..analysis.call_tree.flame import FlameNode, FlameTree, pruned
from ..analysis.compile.model import GRAPH_MARK, CompiledFacts
from ..analysis.facts import DeviceFacts, Facts
from ..analysis.operators.model import NamedLight
from ..analysis.steps import Scope, scope_of
from ..base.arrays import I32
from ..base.errors import QueryError, nearest, short
from ..base.regex import regex
from ..base.units import duration, plural
from .table import PER_STEP, ColumnKind, Declared, Values, ValuesOf, column

if TYPE_CHECKING:
    from ..analysis.operators.groups import Grouped

S = TypeVar("S", bound=Struct)
Count = Annotated[int, Meta(ge=0, lt=2**31)]
Words = Annotated[str, Meta(max_length=4000)]


def option(text: str, default: str = "") -> Meta:
    """Describe a field of a query; ``default`` describes its default, if the value does not.

    ``--help``, the documentation and the page's types show both.
    """
    return Meta(description=text, extra={"default": default})


def described(node: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, str, str]:
    """The type of a field without its ``option``, and the two texts of that; empty without one."""
    if not isinstance(node, msgspec.inspect.Metadata):
        return node, "", ""
    text = (node.extra_json_schema or {}).get("description", "")
    return node.type, text, (node.extra or {}).get("default", "")


DeviceName = Annotated[str, Meta(max_length=60)]
"""A device in a query: its number, "0", or its key, "cuda:0", "hip:1", "cpu"."""
BusiestDevice = Annotated[
    DeviceName, option('device by its number or key: "0", "cuda:0", "hip:1"', "the busiest")
]
Steps = Annotated[
    str,
    option(
        'steps by their numbers: "3", "2-5", "1,4-6" or "all"',
        "all but warm-up and incomplete ones",
    ),
]
StepsOrOutside = Annotated[
    str,
    option(
        'steps by their numbers: "3", "2-5", "1,4-6"; "all", or "everything" that is recorded,'
        " outside of steps too",
        "all but warm-up and cut-off steps",
    ),
]
Ascending = Annotated[bool, option("smallest first")]
Offset = Annotated[Count, option("rows to skip")]
RowLimit = Annotated[int, Meta(ge=1, le=1000), option("rows of the window")]


"""A search text; kernel names can exceed a thousand characters."""


class SharePart(Struct, frozen=True):
    """One operator's part of a whole."""

    name: str
    ns: int
    ratio: float


class SlowCall(Struct, frozen=True):
    """One call, with its place on the timeline."""

    slice: int
    ts: int
    dur_ns: int
    self_ns: int
    device_ns: int | None
    step: str
    thread: str
    shapes: str


class Flame(Struct, frozen=True):
    """A call tree merged by path, the larger siblings first; boxes too narrow to see are in "…".

    With a box in focus there are, beside what is below it, the boxes around it: one for each level.
    """

    unit: str  # "ns" | "count"
    total: float  # of all roots, whatever is in focus
    nodes: tuple[FlameNode, ...]
    merged: int  # boxes that are in "…"
    missing: str  # why there is nothing to show; "" = there is
    left_out: tuple[str, ...] = ()  # what threads run that only wait and are not shown
    in_order: bool = False  # siblings stand in the order of their first calls


def flame_of(
    tree: FlameTree,
    unit: str,
    min_ratio: float,
    focus: int | None = None,
    missing: str = "",
    *,
    in_order: bool = False,
    compiled: CompiledFacts | None = None,
) -> Flame:
    """The answer with a call tree; ``in_order``: siblings in the order of the tree.

    Boxes of ``compiled`` code tell their function, nodes and lines.

    Raises:
        QueryError: there is no such box to be in focus.
    """
    try:
        nodes = pruned(tree, min_ratio, focus, in_order=in_order)
    except IndexError:
        raise QueryError("focus: there is no such box", hint="Take the node of a box.") from None
    hidden = sum(node.boxes for node in nodes if node.node < 0)
    notes = compiled.notes() if compiled is not None else {}
    if notes:
        nodes = tuple(
            msgspec.structs.replace(node, note=notes[plain])
            if (plain := GRAPH_MARK.sub("", node.name)) in notes
            else node
            for node in nodes
        )
    return Flame(unit, tree.total, nodes, hidden, missing, in_order=in_order)


def time_per_step(total_ns: int, steps: int) -> str:
    r"""A sum over some steps in words, as the page shows it by default.

    >>> time_per_step(6_000_000, 3).replace("\xa0", " ")
    '2.00 ms per step'
    """
    return f"{duration(total_ns // steps)} per step" if steps > 1 else duration(total_ns)


def time_and_count(total_ns: int, count: int, noun: str, steps: int) -> str:
    r"""Time and number of things over some steps in words, as the page shows them by default.

    >>> time_and_count(6_000_000, 9, "kernel", 3).replace("\xa0", " ")
    '2.00 ms and 3 kernels per step'
    """
    if steps < 2:
        return f"{duration(total_ns)} in {plural(count, noun)}"
    each = count / steps
    said = plural(int(each), noun) if each == int(each) else f"{each:,.1f} {noun}s"
    return f"{duration(total_ns // steps)} and {said} per step"


_NO_OTHERS: Mapping[str, str] = MappingProxyType({})


def steps_of(facts: Facts, text: str) -> tuple[int, ...] | None:
    """The chosen steps; None = everything recorded, including outside steps.

    Raises:
        QueryError: there are no such steps.
    """
    return scope_of(facts, text).steps


def outside_words(scope: Scope, noun: str, recorded_ns: int, counted_ns: int) -> str:
    """The sentence on time outside of the steps; "" if there is none, or if it is included."""
    left_ns = recorded_ns - counted_ns
    if not scope.tells_outside or left_ns <= 0:
        return ""
    return f"{duration(left_ns)} of {noun} is outside these steps."


# --- devices --------------------------------------------------------------------------------------

_GPU = regex(r"(?:hip|gpu):")  # a recording of ROCm may call its devices cuda
_KEY_TYPES = MappingProxyType({"NVIDIA": "cuda", "AMD": "hip"})


def device_place(text: str, keys: Sequence[str]) -> int:
    """The place of the device that a text names, among keys such as "cuda:0" and "cpu".

    Raises:
        QueryError: there is none, or a number is that of several.
    """
    wanted = _GPU.sub("cuda:", text.strip().casefold())
    known = [_GPU.sub("cuda:", key.casefold()) for key in keys]
    if wanted in known:
        return known.index(wanted)
    places = [at for at, key in enumerate(known) if wanted == key.partition(":")[2] != ""]
    if len(places) == 1:
        return places[0]
    raise QueryError(
        f"device: {'several devices have the number' if places else 'there is no device'}"
        f" {short(text.strip())!r}",
        hint=f"Devices: {', '.join(keys) or 'none'}.",
    )


def device_key(device: DeviceFacts) -> str:
    """The key of a device: "cuda:0"."""
    return f"{_KEY_TYPES.get(device.vendor, device.type.casefold())}:{device.index}"


def device_row(facts: Facts, text: str) -> int | None:
    """The row of the device that a query names; None where it names none.

    Raises:
        QueryError: there is no such device with activity.
    """
    used = [row for row, one in enumerate(facts.devices) if one.used]
    keys = [device_key(facts.devices[row]) for row in used]
    return used[device_place(text, keys)] if text.strip() else None


def column_named(
    text: str, columns: Collection[str], others: Mapping[str, str] = _NO_OTHERS
) -> str:
    """The column to sort by; ``others`` are further names of columns.

    What a sum is per step sorts as the sum.

    Raises:
        QueryError: there is no such column.
    """
    column = others.get(text, text).removesuffix(PER_STEP)
    if column not in columns:
        raise QueryError(
            f"sort_by: there is no column {text[:40]!r}",
            hint=f"{nearest(text, [*columns, *others], 'columns: ')}",
        )
    return column


def key_named(text: str) -> int:
    """The key of a row from its text; −1 for an invalid one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1


def no_such_row() -> QueryError:
    """The error for a key that no row has."""
    return QueryError("key: there is no such row", hint="Take the key of a row of the table.")


def share_parts(
    table: Grouped, ns: NDArray[np.int64], groups: Iterable[int], whole_ns: int
) -> tuple[SharePart, ...]:
    """Some groups of a table as parts of a whole; ``ns`` is a column of the table."""
    return tuple(
        SharePart(
            table.text(int(table.name[at])),
            int(ns[at]),
            int(ns[at]) / whole_ns if whole_ns else 0.0,
        )
        for at in groups
    )


def known(value: float) -> float | None:
    """A figure; None for NaN."""
    return None if math.isnan(value) else value


def as_structs(kind: type[S], objects: Iterable[object]) -> tuple[S, ...]:
    """Objects as Structs whose fields have the names of their attributes."""
    return tuple(msgspec.convert(one, kind, from_attributes=True) for one in objects)


# --- query strings as Structs; an error names the valid values ------------------------------------


def parse(values: Mapping[str, str], query: type[S]) -> S:
    """The parameters as a Struct; texts become numbers and booleans as the Struct requires.

    Raises:
        QueryError: a parameter is unknown, missing, or of another type; says what may be given.
    """
    try:
        return msgspec.convert(dict(values), query, strict=False)
    except msgspec.ValidationError as error:
        raise misfit(error, values, query) from error


def misfit(
    error: msgspec.ValidationError, values: Mapping[str, object], query: type[Struct]
) -> QueryError:
    """The error for invalid parameters, with the valid values."""
    at = _FIELD.search(str(error))
    field = next((f for f in _fields(query) if at and f.name == at[1]), None)
    if field is None:
        return QueryError(short(str(error), 300), hint=_known(query, values))
    given = short(str(values.get(field.name, "")), 60)
    words = choices(field.type)
    if words:
        return QueryError(f"{field.name}: there is no {given!r}", hint=nearest(given, words))
    return QueryError(f"{field.name}: {given!r} is not {_wanted(field.type)}")


def once(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Name → value.

    Raises:
        QueryError: a name comes twice; which of the two is meant cannot be told.
    """
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise QueryError(f"the parameter {short(name)!r} is given twice")
        found[name] = value
    return found


_FIELD = regex(r" - at `\$\.(\w+)")


def _fields(query: type[Struct]) -> tuple[msgspec.inspect.Field, ...]:
    info = msgspec.inspect.type_info(query)
    return info.fields if isinstance(info, msgspec.inspect.StructType) else ()


def _members(node: msgspec.inspect.Type) -> Iterable[msgspec.inspect.Type]:
    node = described(node)[0]
    return node.types if isinstance(node, msgspec.inspect.UnionType) else (node,)


def choices(node: msgspec.inspect.Type) -> tuple[str, ...]:
    """The values of a literal type; none of any other."""
    literals = [m for m in _members(node) if isinstance(m, msgspec.inspect.LiteralType)]
    return tuple(str(value) for one in literals for value in one.values)


def _wanted(node: msgspec.inspect.Type) -> str:
    """The valid values of a parameter type, in words."""
    for one in _members(node):
        if isinstance(one, msgspec.inspect.IntType | msgspec.inspect.FloatType):
            what = "a whole number" if isinstance(one, msgspec.inspect.IntType) else "a number"
            least = "" if one.ge is None else f" from {one.ge}"
            most = "" if one.le is None else f" to {one.le}"
            most = most or ("" if one.lt is None else f", less than {one.lt}")
            return f"{what}{least}{most}"
        if isinstance(one, msgspec.inspect.BoolType):
            return "true or false"
        if isinstance(one, msgspec.inspect.StrType) and one.max_length is not None:
            return f"a text of at most {one.max_length} characters"
    return "what fits here"


def _known(query: type[Struct], values: Mapping[str, object]) -> str:
    names = query.__struct_fields__
    wrong = next((name for name in values if name not in names), "")
    return nearest(wrong, names, "known parameters: ") if names else "there are no parameters here"


LIMIT = "limit"
"""The field of a query that says how many rows of a table are wanted."""
EVERY_ROW = 2**31 - 1


def with_limit(query: S, limit: int | None) -> S:
    """The query with room for ``limit`` rows; None leaves it as it is.

    The bound of the parameter is for windows of the page; a program may have the whole table.
    """
    if limit is None or LIMIT not in query.__struct_fields__:
        return query
    return msgspec.structs.replace(query, **{LIMIT: limit})


class Lit(Protocol):
    """A table whose rows are names that may have light."""

    @property
    def name(self) -> I32:
        """Codes of the names."""

    @property
    def light(self) -> Mapping[str, NamedLight]:
        """Light by name."""

    def text(self, code: int) -> str:
        """The text of a code."""


def has_light(table: Lit) -> bool:
    """True if a row may have light."""
    return bool(table.light)


def of_light(field: str) -> ValuesOf:
    """The values of a field of ``NamedLight``; None where a name has no light."""

    def of(table: Lit, at: NDArray[np.intp]) -> Values:
        found = (table.light.get(table.text(code)) for code in table.name[at].tolist())
        return [None if one is None else getattr(one, field) for one in found]

    return of


_LIT: Mapping[str, tuple[str, str, ColumnKind]] = MappingProxyType(
    {
        "light_ratio": (
            "Share of light",
            "Light ÷ measured time: how near to the least time by the device's data sheet.",
            "value",
        ),
        "waste_ns": (
            "Waste",
            "Measured time − light, of work with a model of its FLOPs and bytes.",
            "value",
        ),
        "bound": ("Bound", "The larger need of time by the data sheet: FLOPs or bytes.", "words"),
    }
)


def lit(
    field: str, side: str = "", of: ValuesOf | None = None, when: Callable[[Any], bool] = has_light
) -> Declared:
    """Declare a column of every table whose rows are work on a device.

    ``side``: "A" or "B" of two recordings; else ``of`` makes the values, by default those of names.
    """
    label, text, kind = _LIT[field]
    if side:
        return column(f"{label} {side}", f"{text} In {side}.", kind=kind, is_minor=True, when=when)
    return column(
        label,
        text,
        kind=kind,
        is_minor=field != "waste_ns",
        is_sortable=False,
        is_sum=field == "waste_ns",
        of=of or of_light(field),
        when=when,
    )


LightRatio = Annotated[float | None, lit("light_ratio")]
WasteNs = Annotated[int | None, lit("waste_ns")]
LightBound = Annotated[str | None, lit("bound")]
