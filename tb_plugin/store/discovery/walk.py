"""One walk over a folder: every file below it that is a trace, or may become or resemble one.

Directories are read with ``os.scandir``, and only files with a plausible name are touched at all,
so that a hundred thousand checkpoints and pictures cost one directory listing. Symbolic links are
followed after all real directories, each real directory once: loops end, and a link to a run that
is there anyway adds nothing. Directories whose name begins with a dot are left out (``.git``,
``.ipynb_checkpoints``).
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from . import file_names

Key: TypeAlias = tuple[int, str]
"""Number of the logdir, path below it."""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Marks of one state of a file, compared without reading it.

    No inode number: user-space file systems give the same file another one from time to time.
    """

    bytes: int
    modified_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileVersion:
        return cls(status.st_size, status.st_mtime_ns)

    @property
    def modified(self) -> float:
        """Seconds since the epoch."""
        return self.modified_ns / 1e9


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file worth listing. ``path`` is relative to the logdir, with slashes, and valid text."""

    path: str
    absolute: str
    identity: FileVersion
    unfinished: bool  # by its name

    @property
    def folder(self) -> str:
        """The run of the file: the path of its directory, "" for the logdir itself."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A directory that cannot be listed. The known files below it stay known."""

    path: str  # relative, "" for the logdir itself
    reason: str
    missing: bool


@dataclass(slots=True)
class PassedOver:
    """Files and folders that a look left out."""

    directories: int = 0
    others: int = 0  # files whose name is none of a trace


def look(root: str, tally: PassedOver) -> Iterator[FoundFile | Unreadable]:
    """Everything worth listing below ``root``, in no particular order, as it is found."""
    for item in _entries(root, tally):
        if isinstance(item, Unreadable):
            yield item
        elif item.is_folder:
            continue
        elif found := _file(item.entry, item.path):
            yield found
        else:
            tally.others += 1


def everything(root: str) -> Iterator[tuple[str, str]]:
    """Every file below ``root``, whatever its name: its path relative to it, and absolute.

    Folders that are not entered are among them, with a slash at the end.
    """
    for item in _entries(root, PassedOver()):
        if not isinstance(item, Unreadable):
            yield shown(item.path) + "/" * item.is_folder, item.entry.path


@dataclass(frozen=True, slots=True)
class _Entry:
    entry: os.DirEntry[str]
    path: str  # relative
    is_folder: bool  # one that is not entered


def _entries(root: str, tally: PassedOver) -> Iterator[_Entry | Unreadable]:
    """Every file below ``root``, and the folders that are not entered."""
    real: deque[tuple[str, str]] = deque([(root, "")])
    links: deque[tuple[str, str]] = deque()
    seen: set[tuple[int, int] | str] = set()
    while real or links:
        directory, path = (real or links).popleft()
        try:
            identity = _identity(directory)
            if identity in seen:
                continue
            seen.add(identity)
            with os.scandir(directory) as entries:
                listed = list(entries)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            if not (missing and path):  # below the root: went away while we looked
                yield Unreadable(path, error.strerror or str(error), missing)
            continue
        tally.directories += 1
        for entry in listed:
            below = f"{path}/{entry.name}" if path else entry.name
            if _is_directory(entry):
                if entry.name.startswith("."):
                    yield _Entry(entry, below, is_folder=True)
                else:
                    (links if entry.is_symlink() else real).append((entry.path, below))
            else:
                yield _Entry(entry, below, is_folder=False)


def shown(path: str) -> str:
    r"""A path as text that can be sent: bytes that are not UTF-8 become escapes."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text.replace(os.sep, "/")


def _identity(directory: str) -> tuple[int, int] | str:
    status = os.stat(directory)
    if status.st_ino:
        return (status.st_dev, status.st_ino)
    return os.path.realpath(directory)  # file systems without inode numbers


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link into a loop of links
        return False


def _file(entry: os.DirEntry[str], path: str) -> FoundFile | None:
    unfinished = file_names.is_unfinished(entry.name)
    hidden = entry.name.startswith(".")
    if not unfinished and (hidden or not file_names.is_plausible(entry.name)):
        return None
    try:
        status = entry.stat()
    except OSError:  # gone, or a link to nowhere
        return None
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would block
        return None
    if os.name == "nt":
        status = os.stat(entry.path)  # the listing's numbers are late there
    return FoundFile(shown(path), entry.path, FileVersion.of(status), unfinished)
