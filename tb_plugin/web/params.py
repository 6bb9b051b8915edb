"""Query strings become Structs; what does not fit is told in msgspec's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

from ..base.errors import QueryError

S = TypeVar("S", bound=Struct)


def parse(values: Mapping[str, str], query: type[S]) -> S:
    """The parameters as a Struct; texts become numbers and booleans where the Struct says so.

    Raises:
        QueryError: a parameter is unknown, missing, or of another type.
    """
    try:
        return msgspec.convert(dict(values), query, strict=False)
    except msgspec.ValidationError as error:
        raise QueryError(short(str(error), 300), hint=_known(query)) from error


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
    """A text from outside, cut so that a message about it stays a message."""
    return text if len(text) <= length else text[:length] + "…"


def _known(query: type[Struct]) -> str:
    names = ", ".join(query.__struct_fields__)
    return f"known parameters: {names}" if names else "there are no parameters here"
