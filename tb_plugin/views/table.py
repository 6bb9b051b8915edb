"""Tables that every face can show: a terminal, CSV, pandas."""

from __future__ import annotations

from msgspec import Struct


class Column(Struct, frozen=True):
    """``key`` carries the unit (``compute_ns``); ``label`` and ``help`` are for people."""

    key: str
    label: str
    help: str = ""


class Table(Struct, frozen=True):
    """Rows of plain values in the order of the columns; None = not known."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
