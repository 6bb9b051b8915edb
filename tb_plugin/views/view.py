"""A view: name, question, query, answer, and the function that builds it (contract)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ..analysis.facts import Facts
from ..base.artifact_spec import ArtifactSpec
from ..base.errors import NotFoundError, QueryError, short
from ..trace.model import Trace
from .shared import Table

S = TypeVar("S", bound=Struct)

LIMIT = "limit"
"""The field of a query that says how many rows of a table are wanted."""
EVERY_ROW = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Subject:
    """The trace behind a request, for a view with an artifact or with parts."""

    facts: Facts
    artifact: Callable[[str], Any]  # variant → what ``ArtifactSpec.open`` returned
    trace: Callable[[], Trace]  # all columns
    event: Callable[[int], Mapping[str, Any]]  # row in the file → the whole event, read again


@dataclass(frozen=True, slots=True)
class Part:
    """A further address of a view: ``api/view/<stem>/<part>``.

    ``build`` answers with a Struct (JSON), with bytes (a binary frame), or with an iterator of
    bytes (a download, whose name ``file`` gives).
    """

    stem: str
    query: type[Struct]
    answer: type[Struct] | None  # None: bytes
    build: Callable[[Subject, Any], Any]
    file: Callable[[Subject, Any], str] | None = None


def no_badge(facts: Facts) -> int | None:  # noqa: ARG001  # the form of View.badge
    """No figure beside the tab's title."""
    return None


@dataclass(frozen=True, slots=True)
class View:
    """One view: a tab of the page, a ``kinetoscope show`` command, a route.

    ``build`` maps the facts of a trace (of a view with an artifact: the Subject) and a query to the
    answer; ``tables`` shows an answer as tables; ``unavailable`` says why these facts cannot fill
    the view, or None.
    """

    stem: str  # "overview": route, CLI name, file stem in every layer
    title: str  # "Overview"
    key: str  # the letter after g that opens it
    question: str  # "Where did the step's time go?"
    query: type[Struct]
    answer: type[Struct]
    build: Callable[[Any, Any], Struct]
    tables: Callable[[Any], tuple[Table, ...]]
    unavailable: Callable[[Facts], str | None]
    badge: Callable[[Facts], int | None] = no_badge  # the figure beside the tab's title
    artifact: ArtifactSpec[Any] | None = None
    parts: tuple[Part, ...] = ()


def with_limit(query: S, limit: int | None) -> S:
    """The query with room for ``limit`` rows; None leaves it as it is.

    The bound of the parameter is for windows of the page; a program may have the whole table.
    """
    if limit is None or LIMIT not in query.__struct_fields__:
        return query
    return msgspec.structs.replace(query, **{LIMIT: limit})


def view_among(views: Iterable[View], name: str) -> View:
    """The view with this stem, or with this title in any case.

    Raises:
        NotFoundError: there is none; the hint lists stems and titles.
    """
    known = tuple(views)
    for view in known:
        if view.stem == name or view.title.casefold() == name.casefold():
            return view
    listed = ", ".join(f"{view.stem} ({view.title})" for view in known)
    raise NotFoundError(f"there is no view {name[:40]!r}", hint=f"views: {listed}")


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
        return QueryError(short(str(error), 300), hint=_known(query))
    given = short(str(values.get(field.name, "")), 60)
    choices = _choices(field.type)
    if choices:
        return QueryError(f"{field.name}: there is no {given!r}", hint=f"one of: {choices}")
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


_FIELD = re.compile(r" - at `\$\.(\w+)")


def _fields(query: type[Struct]) -> tuple[msgspec.inspect.Field, ...]:
    info = msgspec.inspect.type_info(query)
    return info.fields if isinstance(info, msgspec.inspect.StructType) else ()


def _members(node: msgspec.inspect.Type) -> Iterable[msgspec.inspect.Type]:
    return node.types if isinstance(node, msgspec.inspect.UnionType) else (node,)


def _choices(node: msgspec.inspect.Type) -> str:
    """The values of a literal type; "" of any other."""
    literals = [m for m in _members(node) if isinstance(m, msgspec.inspect.LiteralType)]
    return ", ".join(str(value) for one in literals for value in one.values)


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


def _known(query: type[Struct]) -> str:
    names = ", ".join(query.__struct_fields__)
    return f"known parameters: {names}" if names else "there are no parameters here"
