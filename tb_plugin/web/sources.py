"""Where a source file named in a stack is on this machine, and its text where that may be shown.

The tracer strips import directories from names, so ``sub/train.py`` has to be looked up again: in
what a prefix map makes of the recorded directories, in those directories, in our own ``sys.path``.
A name from a trace is hostile: it is only ever answered with a file that lies inside one of these
directories, after all links are followed, and its text only where the server was told to show it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath

from ..base.errors import NotFoundError, QueryError, UnavailableError

MOST_LINES = 400
MOST_LINE_CHARS = 2000
MOST_NAME_CHARS = 4096
PREFIXES = "KINETOSCOPE_SOURCE_MAP"  # "/workspace=~/src;/app=/home/me/app"
SHOW = "KINETOSCOPE_SHOW_SOURCE"  # "1": texts of source files may be served


@dataclass(frozen=True, slots=True)
class Place:
    """A file of this machine."""

    path: Path
    root: Path  # the directory that it lies in


@dataclass(frozen=True, slots=True)
class SourceRoots:
    """Directories to look in, in order; ``prefixes`` are replaced in absolute names first."""

    roots: tuple[Path, ...]
    prefixes: tuple[tuple[str, str], ...] = ()

    def find(self, name: str) -> Place | None:
        """The file of a name in a stack; None where there is none inside the directories."""
        for wanted in self._wanted(name):
            for root in self.roots:
                path = (root / wanted).resolve()
                if path.is_relative_to(root) and path.is_file():
                    return Place(path, root)
        return None

    def _wanted(self, name: str) -> Iterator[str]:
        """The names under which a file may be found, best first."""
        if not name or len(name) > MOST_NAME_CHARS or "\0" in name:
            return
        yield from _moved(name, self.prefixes)
        yield name

    def guess(self, name: str) -> str:
        """An absolute path for an editor on another machine, whether or not it exists here."""
        if PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute():
            return next(self._wanted(name), name)
        return str(self.roots[0] / name) if self.roots else ""


def _moved(name: str, prefixes: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The name with each prefix that it has replaced; whole parts of the path only."""
    for recorded, here in prefixes:
        old = recorded.rstrip("/\\")
        if name == old or name.startswith(old + "/"):
            yield here + name[len(old) :]


def source_roots(recorded: Sequence[str], prefixes: Sequence[tuple[str, str]]) -> SourceRoots:
    """The directories of a recording, as they are called here, then those of this process."""
    moved = [here for root in recorded for here in _moved(root, prefixes)]
    own = [entry for entry in sys.path if entry]
    targets = [new for _, new in prefixes]
    found: dict[Path, None] = {}
    for root in (*moved, *targets, *recorded, *own):
        path = Path(root)
        if path.is_absolute() and path.is_dir():
            found[path.resolve()] = None
    # The root of the file system would open everything.
    return SourceRoots(tuple(p for p in found if p != Path(p.anchor)), tuple(prefixes))


def parse_prefixes(text: str) -> tuple[tuple[str, str], ...]:
    """``old=new;old=new`` as pairs; ``~`` is the home of who runs the server.

    Raises:
        QueryError: a part has another form.
    """
    pairs = []
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        old, equals, new = part.partition("=")
        if not (old and equals and new):
            raise QueryError(
                f"{PREFIXES}: {part[:80]!r} maps nothing", hint="Write it as recorded=here."
            )
        pairs.append((old, os.path.expanduser(new)))
    return tuple(pairs)


def may_show() -> bool:
    """Whether texts may be served."""
    return os.environ.get(SHOW) == "1"


def text_around(place: Place, line: int, count: int) -> tuple[int, tuple[str, ...]]:
    """Lines around a line (1-based), and the number of the first.

    Raises:
        UnavailableError: the server was not told to show source texts.
        NotFoundError: the file cannot be read.
    """
    if not may_show():
        raise UnavailableError(
            "Source texts are not served here.",
            hint=f"Start the server with {SHOW}=1 to show them.",
        )
    first = max(1, line - count // 2)
    try:
        with place.path.open(encoding="utf-8", errors="replace") as file:
            lines = islice(file, first - 1, first - 1 + min(count, MOST_LINES))
            return first, tuple(text.rstrip("\n")[:MOST_LINE_CHARS] for text in lines)
    except OSError as error:
        raise NotFoundError(f"The file cannot be read: {error.strerror}.") from None
