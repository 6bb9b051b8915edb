"""An artifact of a trace: its name, and how it is made and opened; functions by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ReadBounds(Struct, frozen=True):
    """Limits for a ``make`` that reads files of a logdir itself; it never runs in the server."""

    cpu_seconds: int
    memory_bytes: int | None  # beside what the process has already


class ArtifactSpec(Struct, Generic[T_co], frozen=True):
    """Columns that a view needs beside the summary: made once per trace, stored beside its columns.

    It is made when it is first asked for, in a reading process, by the function that ``make``
    names: ``(trace, folder, on_share) -> None`` fills an empty folder; ``on_share`` takes the
    share that is done, 0 … 1. ``variants`` are made one by one, each as an artifact of its own; the
    function then takes the variant as a last argument. The first variant is always there before any
    other, in the folder ``<name>-<variant>`` beside it, so that others may refer to it.
    """

    name: str  # "timeline": a folder beside the columns; changes when the format does: "timeline-2"
    make: str  # "module:function"
    open: Callable[[Path], T_co]  # maps the folder into memory, or reads it
    variants: tuple[str, ...] = ("",)
    kept: int = 8  # how many stay open, those of the last traces; more where they are small
    is_mapped: bool = True  # False: its files are read whole, so that to close it frees no pages
    argument: str = ""  # given to ``make`` after the variant, which tells its digest
    bounds: ReadBounds | None = None


def stores(
    columns_of: Callable[[Any], object], stem: str
) -> Callable[[Any, Path, Callable[[float], None]], None]:
    """A ``make`` that stores the columns that a function returns for a trace; raises OSError."""

    def make(trace: object, folder: Path, on_share: Callable[[float], None]) -> None:
        from .columnar import Writer  # imports Arrow, which the first screen does without

        with Writer(folder) as writer:
            writer.close(columns_of(trace), stem)
        on_share(1.0)

    return make


def opens(columns: type[T], stem: str) -> Callable[[Path], T]:
    """An ``open`` that maps columns stored under a stem into memory; raises DamagedError."""

    def open_columns(folder: Path) -> T:
        from .columnar import load

        return load(columns, folder, stem)

    return open_columns


def given(variant: str, argument: str) -> list[str]:
    """The last arguments of the function that makes a variant."""
    return [one for one in (variant, argument) if one]


def load_callable(name: str) -> Callable[..., Any]:
    """The object behind ``"module:function"``.

    Raises:
        ImportError: there is no such module or name.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except AttributeError as error:
        raise ImportError(f"{module} has no {attribute}") from error
    return found  # type: ignore[no-any-return]
