"""Tables that every face can show: a terminal, CSV, pandas."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ColumnKind = Literal["value", "name", "path", "words", "text"]


class Column(Struct, frozen=True):
    """``key`` carries the unit (``compute_ns``); ``label`` and ``help`` are for people.

    ``kind`` says what may be shortened where there is little room: the name of an op or a kernel, a
    path; words of a few lines and text of sentences are never cut. A minor column is shown on a
    terminal only when it is asked for.
    """

    key: str
    label: str
    help: str = ""
    kind: ColumnKind = "value"
    is_minor: bool = False


class Table(Struct, frozen=True):
    """Rows of plain values in the order of the columns; None = not known."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    row_count: int | None = None  # of all that match, where the rows may be only some of them
