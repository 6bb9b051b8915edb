"""Query strings as Structs; an error names the valid values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from ..base.errors import QueryError

S = TypeVar("S", bound=Struct)


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


def short(text: str, length: int = 80) -> str:
    """A text from outside, shortened for a message."""
    return text if len(text) <= length else text[:length] + "…"


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
