"""The answer to: where is this line of source?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from ..analysis.facts import Facts
from ..analysis.operators.stacks import files_named
from ..base.errors import NotFoundError
from ..store.keep import Recent
from ..store.lookup import Entry
from .contract import SourcePlace
from .service import Traces
from .sources import MOST_NAME_CHARS, PREFIXES, SHOW, editor_path, excerpt, may_show, parse_prefixes

LINES = 24
TRACES_KEPT = 4

NOT_SERVED = f"Source texts are not served here: `{SHOW}=1` for the server shows them."
NOT_FOUND = f"Not found here. `{PREFIXES}=recorded=here` tells the server where to look."


class SourceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A frame's file as the trace names it, and its line (1-based)."""

    file: Annotated[str, Meta(min_length=1, max_length=MOST_NAME_CHARS)]
    line: Annotated[int, Meta(ge=0, le=10_000_000)] = 0


class NamedFiles:
    """The files that the frames of the traces last asked about name."""

    def __init__(self) -> None:
        self._kept: Recent[frozenset[str]] = Recent(TRACES_KEPT)

    def of(self, catalog: Traces, entry: Entry) -> frozenset[str]:
        """Those of a trace. Raises BeingRead."""
        found = self._kept.get(entry.digest)
        return found or self._kept.put(entry.digest, files_named(catalog.trace(entry)))


def started_in() -> Path | None:
    """The directory that this process was started in; None where it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None


def place_as_told(facts: Facts, query: SourceQuery) -> SourcePlace:
    """The place for an editor, by what the recording and the user say; no file is looked at.

    Raises:
        QueryError: the map of prefixes that the server was given is wrong.
    """
    directory = facts.recording.working_directory
    path = editor_path(query.file, directory, parse_prefixes(os.environ.get(PREFIXES, "")))
    missing = NOT_SERVED if path else NOT_FOUND
    return SourcePlace(path, False, query.line, 0, (), missing, directory)


def place_with_lines(
    facts: Facts, named: frozenset[str], query: SourceQuery, root: Path | None
) -> SourcePlace:
    """The file below a root of the user, with its lines; no path where there is none.

    ``named`` are the files of the recording's frames: no other is looked for.

    Raises:
        QueryError: the map of prefixes that the server was given is wrong.
    """
    directory = facts.recording.working_directory
    prefixes = parse_prefixes(os.environ.get(PREFIXES, ""))
    missing = NOT_FOUND
    if query.file in named:
        try:
            found = excerpt(query.file, directory, prefixes, root, query.line, LINES)
        except NotFoundError as error:
            found, missing = None, error.message
        if found is not None:
            return SourcePlace(
                found.path, True, query.line, found.first, found.lines, "", directory
            )
    return SourcePlace("", False, query.line, 0, (), missing, directory)


def source_place(
    catalog: Traces, entry: Entry, query: SourceQuery, named: NamedFiles, root: Path | None
) -> SourcePlace:
    """Where a file of a frame is, and its lines where they may be shown.

    Raises:
        QueryError: the map of prefixes that the server was given is wrong.
        BeingRead: the trace is being read.
    """
    facts = catalog.summary(entry)
    if not may_show():
        return place_as_told(facts, query)
    return place_with_lines(facts, named.of(catalog, entry), query, root)
