"""Tables: a column is declared once, beside the field of its row (contract).

    class KernelRow(Struct, frozen=True):
        name: Annotated[str, column("Name", "The kernel.", kind="name", of=names_of)]
        p95_ns: Annotated[int, column("p95", "95 % of them take no longer.", is_minor=True)]

One line gives the value, the heading, the help, the unit (by the key), the sorting and whether the
column is shown by default. The page, the terminal, CSV, pandas, the docs and the TypeScript types
read it. A field without a ``column`` is data of the row that no table shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr, replace
from numpy.typing import NDArray

from ..analysis.facts import Facts
from ..analysis.wording import as_recorded, step_noun

R = TypeVar("R", bound=Struct)
S = TypeVar("S", bound=Struct)
ColumnKind = Literal["value", "name", "path", "words", "text"]
ColumnUnit = Literal["", "ns", "bytes", "bytes/s", "FLOP", "ratio", "%", "W", "MHz", "J"]
Cell = str | int | float | None

PER_STEP = "_per_step"
"""Ends the key of a sum that is divided by the number of chosen steps."""
_UNITS: tuple[tuple[str, ColumnUnit], ...] = (
    ("_bytes_per_s", "bytes/s"),
    ("_bytes", "bytes"),
    ("_ns", "ns"),
    ("flops", "FLOP"),
    ("ratio", "ratio"),
    ("_percent", "%"),
    ("_w", "W"),
    ("_mhz", "MHz"),
    ("_j", "J"),
)


def unit_of(key: str) -> ColumnUnit:
    """The unit that the key of a column carries: "dur_ns" and "ns" are times.

    >>> unit_of("p95_ns"), unit_of("total_ns_per_step"), unit_of("calls")
    ('ns', 'ns', '')
    """
    plain = f"_{key.removesuffix(PER_STEP)}"
    return next((unit for end, unit in _UNITS if plain.endswith(end)), "")


class Column(Struct, frozen=True):
    """The head of a column, as answers carry it; the key carries the unit (``compute_ns``).

    ``kind`` says what may be shortened where there is little room: the name of an op or a kernel, a
    path; words of a few lines and text of sentences are never cut. A minor column is hidden by
    default. An optional column has rows without a value; it is left out where all rows are. A sum
    adds up the chosen steps: divided by their number it is ``<key>_per_step``.
    """

    key: str
    label: str
    help: str = ""
    kind: ColumnKind = "value"
    is_minor: bool = False
    is_numeric: bool = False
    is_sortable: bool = False
    is_optional: bool = False
    unit: ColumnUnit = ""
    is_sum: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "unit", self.unit or unit_of(self.key))


class Table(Struct, frozen=True):
    """Rows of plain values in the order of the columns; None = not known."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_count: int | None = None  # of all that match, where the rows may be only some of them
    note: str = ""  # what the figures are held against, where a title has no room for it
    step_count: int = 0  # that its sums add up; 0 = the scope is not made of steps


# --- declared beside the fields of a row ----------------------------------------------------------

Values = Sequence[Any] | NDArray[Any]
ValuesOf = Callable[[Any, NDArray[np.intp]], Values]
"""(What the rows are of, which of its groups) → one value for each of these groups."""


class Declared(Struct, frozen=True):
    """Declaration of a row's field beside its type; without a label it is in no table."""

    label: str
    help: str
    kind: ColumnKind
    is_minor: bool
    is_sortable: bool | None
    of: ValuesOf | None
    when: Callable[[Any], bool] | None
    is_sum: bool


def column(  # the facts of a column
    label: str = "",
    help: str = "",  # noqa: A002  # the word of the field
    *,
    kind: ColumnKind = "value",
    is_minor: bool = False,
    is_sortable: bool | None = None,
    of: ValuesOf | None = None,
    when: Callable[[Any], bool] | None = None,
    is_sum: bool = False,
) -> Declared:
    """Declare a column.

    ``of`` makes its values; without it they are the attribute of the field's name. By default
    figures can be sorted by. ``when`` says for which tables the column is there. Both are functions
    of the module: a lambda in an annotation sees no names of its module.
    """
    return Declared(label, help, kind, is_minor, is_sortable, of, when, is_sum)


summed = partial(column, is_sum=True)
"""Declare a sum over the chosen steps."""


class FieldSpec(Struct, frozen=True):
    """A field of a row with its head and what makes its values."""

    head: Column
    of: ValuesOf | None
    when: Callable[[Any], bool] | None


_NOTHING = column()


@cache
def fields_of(kind: type[Struct]) -> tuple[FieldSpec, ...]:
    """The fields of a row in their order, those without a label too."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(name, hints[name]) for name in kind.__struct_fields__)


def _field(name: str, hint: object) -> FieldSpec:
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    declared = next((one for one in extras if isinstance(one, Declared)), _NOTHING)
    types = _types(hint)
    numeric = bool(types & {int, float})
    head = Column(
        key=name,
        label=declared.label,
        help=declared.help,
        kind=declared.kind,
        is_minor=declared.is_minor,
        is_numeric=numeric,
        is_sortable=numeric if declared.is_sortable is None else declared.is_sortable,
        is_optional=type(None) in types,
        is_sum=declared.is_sum,
    )
    return FieldSpec(head, declared.of, declared.when)


def _types(hint: object) -> set[object]:
    """The types of a union; of any other the type itself."""
    if get_origin(hint) is Annotated:
        return _types(get_args(hint)[0])
    if get_origin(hint) is Union or type(hint).__name__ == "UnionType":
        return {kind for member in get_args(hint) for kind in _types(member)}
    return {hint}


def heads(kind: type[Struct], source: object = None) -> tuple[Column, ...]:
    """The columns of a table of such rows; ``source`` is the object with the values."""
    return tuple(
        field.head
        for field in fields_of(kind)
        if field.head.label and (field.when is None or field.when(source))
    )


def help_of(kind: type[Struct], key: str) -> str:
    """The definition of a column of such rows."""
    return next(field.head.help for field in fields_of(kind) if field.head.key == key)


def sorts(kind: type[Struct]) -> tuple[str, ...]:
    """Keys of the columns that such rows can be sorted by."""
    return tuple(
        field.head.key for field in fields_of(kind) if field.head.label and field.head.is_sortable
    )


def rows_from(kind: type[R], source: object, at: NDArray[np.intp]) -> tuple[R, ...]:
    """Some groups of ``source`` as rows, made column by column; NaN becomes None."""
    columns = [_plain(_values(field, source, at)) for field in fields_of(kind)]
    return tuple(map(kind, *columns))


def _values(field: FieldSpec, source: object, at: NDArray[np.intp]) -> Values:
    if field.of is not None:
        return field.of(source, at)
    whole: NDArray[Any] = getattr(source, field.head.key)
    return whole[at]


def _plain(values: Values) -> Sequence[Any]:
    """Values of Python; a NaN is a value that is not known."""
    if not isinstance(values, np.ndarray):
        return values
    plain: list[Any] = values.tolist()
    if values.dtype.kind != "f":
        return plain
    return [None if math.isnan(value) else value for value in plain]


def recorded(values: NDArray[np.integer]) -> list[int | None]:
    """Whole numbers of which −1 means that there is none."""
    return [value if value >= 0 else None for value in values.tolist()]


# --- for the terminal, CSV and pandas -------------------------------------------------------------


def shown(table: Iterable[Column], words: Callable[[str], str]) -> tuple[Column, ...]:
    """The columns with their words changed, as the names of a vendor ask for."""
    return tuple(replace(one, label=words(one.label), help=words(one.help)) for one in table)


_SENTENCES = frozenset(
    [
        "title",
        "headline",
        "detail",
        "beyond",
        "agreement",
        "note",
        "notes",
        "text",
        "hint",
        "help",
        "missing",
        "question",
        "sentence",
        "pipeline_text",
        "experts_text",
        "unchecked",
        "replay",
        "reasons",
        "clocks",
        "method",
        "refused",
    ]
)
"""Fields of answers that hold our own words. Names of calls and kernels are in other fields."""


def as_said(answer: S, facts: Facts) -> S:
    """An answer in the words of its recording: iterations of an engine are no steps."""
    if step_noun(facts) != "iteration":
        return answer
    return in_words(answer, lambda text: as_recorded(text, facts))


def in_words(answer: S, words: Callable[[str], str]) -> S:
    """An answer with the words of its headings and sentences changed."""
    changed = {
        name: _in_words(name, getattr(answer, name), words)
        for name in answer.__struct_fields__
        if _may_hold_words(type(answer), name)
    }
    return replace(answer, **changed)


def _in_words(name: str, value: Any, words: Callable[[str], str]) -> Any:  # noqa: ANN401
    if isinstance(value, Struct):
        return in_words(value, words)
    if isinstance(value, str):
        return words(value) if name in _SENTENCES or name == "label" else value
    if isinstance(value, dict):
        return {key: _in_words(name, one, words) for key, one in value.items()}
    if isinstance(value, tuple) and value and isinstance(value[0], (Struct, str)):
        return tuple(_in_words(name, one, words) for one in value)
    return value


@cache
def _may_hold_words(kind: type[Struct], name: str) -> bool:
    """True if a field is one of these, or holds Structs."""
    own = name in _SENTENCES or (kind is Column and name == "label")
    return own or _holds_structs(get_type_hints(kind)[name])


def _holds_structs(hint: object) -> bool:
    is_one = isinstance(hint, type) and issubclass(hint, Struct)
    return is_one or any(_holds_structs(one) for one in get_args(hint))


def table_from(
    title: str,
    columns: tuple[Column, ...],
    objects: Iterable[object],
    row_count: int | None = None,
    note: str = "",
    step_count: int = 0,
    **cells: Callable[[Any], Cell],
) -> Table:
    """A table with a row for each object; ``step_count`` as in ``Table``.

    A cell is the attribute with the name of its column's key, unless ``cells`` says how it is made.
    """
    makers = [cells.get(column.key) or attrgetter(column.key) for column in columns]
    rows = tuple(tuple(cell(one) for cell in makers) for one in objects)
    return Table(title, columns, rows, row_count, note, step_count)


def of_a_step(head: Column) -> Column:
    """The head of a sum that is divided by the number of steps."""
    return replace(
        head, key=head.key + PER_STEP, label=f"{head.label}/step", help=f"Per step. {head.help}",
        is_sum=False, is_optional=True,
    )  # fmt: skip


def forms(head: Column, *, has_sums: bool = True) -> tuple[Column, ...]:
    """A column as tables show it: its value per step follows or replaces a sum."""
    if not head.is_sum:
        return (head,)
    return (head, of_a_step(head)) if has_sums else (of_a_step(head),)


def per_step(table: Table, *, has_sums: bool = False) -> Table:
    """The table with each sum per step, in its place, or behind it where ``has_sums``.

    Where the scope is not made of steps, a sum stays, and nothing is known per step.
    """
    if not (has_sums or table.step_count):
        return table
    places = [
        (at, head, one)
        for at, head in enumerate(table.columns)
        for one in forms(head, has_sums=has_sums)
    ]
    rows = tuple(
        tuple(
            row[at] if one is head else _divided(row[at], table.step_count)
            for at, head, one in places
        )
        for row in table.rows
    )
    return replace(table, columns=tuple(one for _, _, one in places), rows=rows)


def _divided(value: Cell, steps: int) -> float | None:
    if not steps or not isinstance(value, int | float):
        return None
    return round(value / steps, 3)
