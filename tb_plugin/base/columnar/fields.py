"""Which fields of a Struct are columns, texts, tables or collections? By their annotations.

| form | annotation | how it is stored |
|---|---|---|
| column | ``NDArray[…]``, ``I64`` and the like | numbers in a file |
| texts | ``tuple[str, ...]`` | in the index where they are few, else in a file |
| table | a Struct that has columns | its own fields, below its name |
| collection | ``tuple`` or ``Mapping`` of such Structs | all of them in the same files |
| list | ``tuple`` of arrays, one a row | in the index |
| scalar | everything else | in the index |

Annotations are texts (``from __future__ import annotations``): each is evaluated when its Struct is
stored or read, as those of all modules together would take longer than storing a small trace.
"""

from __future__ import annotations

import functools
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct


class StructField(Struct, frozen=True):
    """One field of a Struct and the kind of its values."""

    name: str
    form: Literal["column", "texts", "table", "collection", "list", "scalar"]
    hint: Any
    item: Any = None  # the Struct of a table, or of each table of a collection
    key: Any = None  # of a collection: type of its keys, None where it is a tuple


def _annotated(kind: Any) -> tuple[StructField, ...]:  # noqa: ANN401  a Struct type
    hints: dict[str, Any] = {}
    for one in reversed(kind.__mro__):
        for name, text in getattr(one, "__annotations__", {}).items():
            hints[name] = _evaluated(one.__module__, text)
    return tuple(_field(name, hints[name]) for name in kind.__struct_fields__)


fields: Callable[[Any], tuple[StructField, ...]] = functools.cache(_annotated)
"""The fields of a Struct type, by what they hold."""


@functools.cache
def _evaluated(module: str, annotation: str) -> Any:  # noqa: ANN401  one of hundreds of fields
    field = types.SimpleNamespace(__annotations__={"": annotation})
    return typing.get_type_hints(field, vars(sys.modules[module]))[""]


def _field(name: str, hint: Any) -> StructField:  # noqa: ANN401, PLR0911  an annotation; one a form
    is_union = typing.get_origin(hint) in (types.UnionType, typing.Union)
    choices = typing.get_args(hint) if is_union else (hint,)
    inner = next(one for one in choices if one is not types.NoneType)
    origin, parts = typing.get_origin(inner), typing.get_args(inner)
    if number_type(inner) is not None:
        return StructField(name, "column", hint)
    if _has_columns(inner):
        return StructField(name, "table", hint, inner)
    if origin is tuple and parts[1:] == (...,):
        if parts[0] is str:
            return StructField(name, "texts", hint)
        if number_type(parts[0]) is not None:
            return StructField(name, "list", hint)
        if _has_columns(parts[0]):
            return StructField(name, "collection", hint, parts[0])
    if origin is Mapping and _has_columns(parts[1]):
        return StructField(name, "collection", hint, parts[1], parts[0])
    return StructField(name, "scalar", hint)


def number_type(hint: Any) -> Any:  # noqa: ANN401  an annotation
    """The type of the numbers in an annotation of an array; None for any other annotation.

    From numpy 2.5 on ``NDArray`` is an alias of a ``type`` statement where Python has that; before,
    ``NDArray[…]`` was ``numpy.ndarray[…]`` itself.
    """
    while hasattr(origin := typing.get_origin(hint), "__value__"):
        hint = origin.__value__[typing.get_args(hint)]
    if origin is not np.ndarray:
        return None
    return typing.get_args(typing.get_args(hint)[1])[0]


def _has_columns(kind: Any) -> bool:  # noqa: ANN401  an annotation
    if not isinstance(kind, type) or not issubclass(kind, msgspec.Struct):
        return False
    return any(field.form not in ("scalar", "texts") for field in fields(kind))
