"""Where is a source file of a stack on this machine, and may its text be shown?

A recording is hostile. Its directories are only text: an editor's path is put together without
asking the disk, so that no answer shows which files exist. A file is opened only where the server
was started to show sources, and only when it is text of Python, a frame of the recording names it,
and it lies, after all links are followed, below a directory that the user named: a target of the
map, or the directory that the server was started in.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from posixpath import normpath
from typing import Annotated

from msgspec import Meta, Struct

from ..analysis.facts import Facts
from ..analysis.operators.stacks import files_named
from ..base.errors import NotFoundError, QueryError
from ..session.catalog import Traces
from ..store.cache.memory import LruCache
from ..store.catalog import Entry
from .contract import SourcePlace

MOST_LINES = 400
MOST_LINE_CHARS = 2000
MOST_NAME_CHARS = 4096
MOST_FILE_BYTES = 4 << 20
SUFFIXES = (".py", ".pyi", ".pyw", ".pyx", ".pxd")
"""Suffixes of files that may be served: sources only, never keys or settings."""
PREFIXES = "KINETOSCOPE_SOURCE_MAP"  # "/workspace=~/src;/app=/home/me/app"
SHOW = "KINETOSCOPE_SHOW_SOURCE"  # "1": texts of source files may be served

Prefixes = Sequence[tuple[str, str]]


# --- as text: nothing here asks the disk ---------------------------------------------------------


def editor_path(name: str, directory: str, prefixes: Prefixes) -> str:
    """An absolute path for an editor on the user's machine; "" where none is known.

    ``directory`` is the working directory as recorded. A relative name is joined with it, but for
    names of torch and of the standard library, which lie elsewhere.
    """
    if not _is_name(name):
        return ""
    recorded = _recorded(name, directory)
    for text in (recorded, name):
        if moved := _moved(text, prefixes):
            return moved[0]
    # A path with two slashes is a share of another machine on Windows: opening it signs in there.
    return "" if recorded.replace("\\", "/").startswith("//") else recorded


def parse_prefixes(text: str) -> tuple[tuple[str, str], ...]:
    """``old=new;old=new`` as pairs; ``~`` is the home of the server's user.

    Raises:
        QueryError: a part has another form.
    """
    pairs = []
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        old, equals, new = part.partition("=")
        if not (old.rstrip("/\\") and equals and new):
            raise QueryError(
                f"{PREFIXES}: {part[:80]!r} maps nothing", hint="Write it as recorded=here."
            )
        pairs.append((old, os.path.expanduser(new)))
    return tuple(pairs)


def _is_name(name: str) -> bool:
    """True if a text can be a path at all: ``<string>`` and control characters cannot."""
    usual = 0 < len(name) <= MOST_NAME_CHARS and not name.startswith("<")
    return usual and all(char >= " " and char != "\x7f" for char in name)


def _recorded(name: str, directory: str) -> str:
    """The absolute name on the machine of the recording; "" where unknown."""
    if _is_absolute(name):
        return name
    if _is_of_a_library(name) or not _is_name(directory) or not _is_absolute(directory):
        return ""
    if PurePosixPath(directory).is_absolute():
        return normpath(f"{directory}/{name}")
    return str(PureWindowsPath(directory, name))


def _is_absolute(name: str) -> bool:
    return PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()


def _is_of_a_library(name: str) -> bool:
    first = name.replace("\\", "/").partition("/")[0].removesuffix(".py")
    return first == "torch" or first in sys.stdlib_module_names


def _moved(name: str, prefixes: Prefixes) -> tuple[str, str] | None:
    """The name with its first matching prefix replaced, and the replacement; whole parts only."""
    for recorded, here in prefixes:
        old = recorded.rstrip("/\\")
        if name == old or name.startswith((old + "/", old + "\\")):
            rest = name[len(old) :]
            if PurePosixPath(here).is_absolute():
                rest = rest.replace("\\", "/")
            return here + rest, here
    return None


# --- on the disk: only where the server was told to show sources ---------------------------------


def may_show() -> bool:
    """True if texts may be served."""
    return os.environ.get(SHOW) == "1"


class Excerpt(Struct, frozen=True):
    """Lines of a file of this machine; ``first`` is the number of the first, 1-based."""

    path: str
    first: int
    lines: tuple[str, ...]


def excerpt(
    name: str, directory: str, prefixes: Prefixes, started_in: Path | None, line: int, count: int
) -> Excerpt | None:
    """Lines around a line of the file of a frame; None where no root has such a file.

    Raises:
        NotFoundError: the file is below a root, and is no text, too large, or cannot be read.
    """
    for root, wanted in _candidates(name, directory, prefixes, started_in):
        path = _inside(root, wanted)
        if path is not None:
            first = max(1, line - count // 2)
            lines = islice(StringIO(_text(path)), first - 1, first - 1 + min(count, MOST_LINES))
            return Excerpt(path, first, tuple(_cut(text) for text in lines))
    return None


def _cut(line: str) -> str:
    return line.rstrip("\r\n")[:MOST_LINE_CHARS]


def _candidates(
    name: str, directory: str, prefixes: Prefixes, started_in: Path | None
) -> Iterator[tuple[str, str]]:
    """Roots, and below each the path that may be the file, best first."""
    if not _is_name(name) or not name.endswith(SUFFIXES):
        return
    for text in (_recorded(name, directory), name):
        if moved := _moved(text, prefixes):
            yield moved[1], moved[0]
    roots = [here for _, here in prefixes] + ([str(started_in)] if started_in else [])
    for root in roots:
        yield root, os.path.join(root, name)  # an absolute name stays what it is


def _inside(root: str, wanted: str) -> str | None:
    """The file, if it is below the root; any other file is treated as missing."""
    if not os.path.isabs(root):
        return None
    # By its text first, so that nothing is asked about what cannot be below the root.
    if not _is_below(os.path.normpath(wanted), os.path.normpath(root)):
        return None
    try:
        path, real_root = os.path.realpath(wanted), os.path.realpath(root)
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):  # no such file, a loop of links, a name too long
        return None
    is_source = path.endswith(SUFFIXES)  # a link may lead from a source to a key
    return path if is_file and is_source and _is_below(path, real_root) else None


def _is_below(path: str, root: str) -> bool:
    """True if the path lies in the directory, which is not the root of the file system."""
    return os.path.dirname(root) != root and Path(path).is_relative_to(root) and path != root


def _text(path: str) -> str:
    """The text of a file.

    Raises:
        NotFoundError: it is not text, too large, or cannot be read.
    """
    try:
        # Between the look and the opening it may have become a pipe, or a link.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise NotFoundError("The file is not a regular one.")
            content = file.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        raise NotFoundError(f"The file cannot be read: {error.strerror}.") from None
    if len(content) > MOST_FILE_BYTES:
        raise NotFoundError(f"The file is larger than {MOST_FILE_BYTES >> 20} MB.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotFoundError("The file is no text in UTF-8.") from None
    if "\0" in text:
        raise NotFoundError("The file is no text in UTF-8.")
    return text


LINES = 24
TRACES_KEPT = 4

NOT_SERVED = f"Source texts are not served here: `{SHOW}=1` for the server shows them."
NOT_FOUND = f"Not found here. `{PREFIXES}=recorded=here` maps recorded paths to local ones."


class SourceQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A frame's file as the trace names it, and its line (1-based)."""

    file: Annotated[str, Meta(min_length=1, max_length=MOST_NAME_CHARS)]
    line: Annotated[int, Meta(ge=0, le=10_000_000)] = 0


class NamedFiles:
    """Files in the frames of the traces used last."""

    def __init__(self) -> None:
        self._kept: LruCache[frozenset[str]] = LruCache(TRACES_KEPT)

    def of(self, catalog: Traces, entry: Entry) -> frozenset[str]:
        """The files of a trace. Raises BeingRead."""
        found = self._kept.get(entry.digest)
        return found or self._kept.put(entry.digest, files_named(catalog.trace(entry)))


def started_in() -> Path | None:
    """The directory that this process was started in; None where it no longer exists."""
    try:
        return Path.cwd()
    except OSError:
        return None


def place_as_told(facts: Facts, query: SourceQuery) -> SourcePlace:
    """The place for an editor, from the recording and the user's map; no file is looked at.

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
    """The place of a file of a frame, and its lines where they may be shown.

    Raises:
        QueryError: the map of prefixes that the server was given is wrong.
        BeingRead: the trace is being read.
    """
    facts = catalog.summary(entry)
    if not may_show():
        return place_as_told(facts, query)
    return place_with_lines(facts, named.of(catalog, entry), query, root)
