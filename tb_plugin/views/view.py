"""What a view is: name, question, query, answer, and the function between them (contract)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from msgspec import Struct

from ..analysis.facts import Facts
from .table import Table


class Scope(Enum):
    """Over what a view is computed."""

    TRACE = "trace"  # one worker × span
    RUN = "run"  # all ranks of a span
    PAIR = "pair"  # two traces


def no_badge(facts: Facts) -> int | None:  # noqa: ARG001  # the form of View.badge
    """No figure beside the tab's title."""
    return None


@dataclass(frozen=True, slots=True)
class View:
    """One tab of the page, one ``kinetoscope show`` subject, one route.

    ``build`` maps the facts of a trace and a query to the answer; ``tables`` shows an answer as
    tables; ``unavailable`` says why these facts cannot fill the view, or None.
    """

    stem: str  # "overview": route, CLI name, file stem in every layer
    title: str  # "Overview"
    key: str  # the letter after g that opens it
    question: str  # "Where did the step's time go?"
    scope: Scope
    query: type[Struct]
    answer: type[Struct]
    build: Callable[[Facts, Any], Struct]
    tables: Callable[[Any], tuple[Table, ...]]
    unavailable: Callable[[Facts], str | None]
    badge: Callable[[Facts], int | None] = no_badge  # the figure beside the tab's title
