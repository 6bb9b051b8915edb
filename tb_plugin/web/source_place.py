"""The answer to: where is this line of source?"""

from __future__ import annotations

import os
from typing import Annotated

from msgspec import Meta, Struct

from ..analysis.facts import Facts
from ..base.errors import KinetoscopeError
from .contract import SourcePlace
from .sources import PREFIXES, parse_prefixes, source_roots, text_around

LINES = 24


class SourceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A frame's file as the trace names it, and its line (1-based)."""

    file: Annotated[str, Meta(min_length=1, max_length=4096)]
    line: Annotated[int, Meta(ge=0, le=10_000_000)] = 0


def source_place(facts: Facts, query: SourceQuery) -> SourcePlace:
    """Looks a file up in the directories of the recording and in ours.

    Raises:
        QueryError: the map of prefixes that the server was given is wrong.
    """
    prefixes = parse_prefixes(os.environ.get(PREFIXES, ""))
    roots = source_roots(facts.recording.source_roots, prefixes)
    place = roots.find(query.file)
    if place is None:
        return SourcePlace(
            path=roots.guess(query.file),
            found=False,
            line=query.line,
            first=0,
            lines=(),
            missing="The file is not on the machine of the server. "
            f"{PREFIXES}=recorded=here tells where to look.",
        )
    first, missing = 0, ""
    lines: tuple[str, ...] = ()
    try:
        first, lines = text_around(place, query.line, LINES)
    except KinetoscopeError as error:
        missing = f"{error.message} {error.hint}".strip()
    return SourcePlace(str(place.path), True, query.line, first, lines, missing)
