"""The fields of a view's query as options: ``steps: str = ""`` is ``--steps TEXT``.

The comment beside a field is the help of its option. What it says of the default, ``"" = all``,
becomes ``[default: all]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct

from ..views.view import EVERY_ROW, LIMIT, with_limit
from ..web.params import parse
from .field_comments import field_comments

S = TypeVar("S", bound=Struct)

_LIMIT_HELP = "Rows of the first table."
_NOTHING: Mapping[object, str] = {None: "None", "": '""', -1: "−1", 0: "0"}
"""Defaults that a comment explains, as it writes them."""


def options(query: type[Struct]) -> Sequence[click.Option]:
    """One option per field, with the comment beside the field as its help.

    Values stay texts until ``chosen`` makes the Struct: the page's parameters obey the same rules.
    """
    info = msgspec.inspect.type_info(query)
    if not isinstance(info, msgspec.inspect.StructType):
        raise TypeError(f"{query!r} is no Struct")
    comments = field_comments(query)
    return [_option(field, comments.get(field.name, "")) for field in info.fields]


def _option(field: msgspec.inspect.Field, comment: str) -> click.Option:
    names = [f"--{field.name.replace('_', '-')}", field.name]
    if field.name == LIMIT:
        told = f"{_LIMIT_HELP}  [default: {field.default} in a table; all in JSON and CSV]"
        return click.Option(names, metavar="NUMBER", type=click.IntRange(min=1), help=told)
    text = _help(field, comment)
    if isinstance(field.type, msgspec.inspect.BoolType) and field.default is False:
        return click.Option(names, is_flag=True, flag_value="true", default=None, help=text)
    return click.Option(names, metavar=_metavar(field.type), required=field.required, help=text)


def chosen(query: type[S], values: Mapping[str, Any], *, whole: bool = False) -> S:
    """The query that the given options mean; what was not given has its default.

    ``whole``: a table without a given limit has all its rows.

    Raises:
        QueryError: a value is of another type.
    """
    given = {name: values[name] for name in query.__struct_fields__ if values[name] is not None}
    limit = given.pop(LIMIT, EVERY_ROW if whole else None)
    return with_limit(parse(given, query), limit)


def _help(field: msgspec.inspect.Field, comment: str) -> str:
    """The comment as a sentence, and the default in brackets."""
    if field.required:
        return _sentence(comment)
    value = "" if field.default is msgspec.NODEFAULT else field.default
    written = _NOTHING.get(value)
    meaning = written and re.search(rf"(?:^|[;,]\s*){re.escape(written)} = ([^;.]+)", comment)
    if meaning:
        said = (comment[: meaning.start()] + comment[meaning.end() :]).strip(" .;")
        return f"{_sentence(said)}  [default: {meaning[1].strip()}]".strip()
    default = {False: "off", True: "on"}.get(value) if isinstance(value, bool) else value
    return f"{_sentence(comment)}  [default: {default}]".strip()


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "…")) else ".")


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
