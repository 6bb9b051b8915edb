"""The fields of a view's query as options: ``steps: str = ""`` is ``--steps TEXT``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct

from ..web.params import parse
from .field_comments import field_comments

S = TypeVar("S", bound=Struct)


def options(query: type[Struct]) -> Sequence[click.Option]:
    """One option per field, with the comment beside the field as its help.

    Values stay texts until ``chosen`` makes the Struct: the page's parameters obey the same rules.
    """
    info = msgspec.inspect.type_info(query)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(f"{query!r} is no Struct")
    comments = field_comments(query)
    return [_option(field, comments.get(field.name)) for field in info.fields]


def _option(field: msgspec.inspect.Field, comment: str | None) -> click.Option:
    names = [f"--{field.name.replace('_', '-')}", field.name]
    if isinstance(field.type, msgspec.inspect.BoolType) and field.default is False:
        return click.Option(names, is_flag=True, flag_value="true", default=None, help=comment)
    return click.Option(names, metavar=_metavar(field.type), required=field.required, help=comment)


def chosen(query: type[S], values: Mapping[str, Any]) -> S:
    """The query that the given options mean; what was not given has its default.

    Raises:
        QueryError: a value is of another type.
    """
    given = {name: values[name] for name in query.__struct_fields__ if values[name] is not None}
    return parse(given, query)


def _metavar(node: msgspec.inspect.Type) -> str:
    match node:
        case msgspec.inspect.LiteralType():
            return "|".join(str(value) for value in node.values)
        case msgspec.inspect.UnionType():
            members = [t for t in node.types if not isinstance(t, msgspec.inspect.NoneType)]
            return "|".join(dict.fromkeys(_metavar(member) for member in members))
        case msgspec.inspect.BoolType():
            return "true|false"
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            return "NUMBER"
    return "TEXT"
