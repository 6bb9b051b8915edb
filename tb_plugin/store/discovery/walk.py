"""Which folders are looked at, and which files below them are traces or may become one?

TensorBoard hands over ``--logdir`` exactly as typed (``./runs``, ``~/runs/``), and an empty one
when ``--logdir_spec`` was used. Paths are made absolute at once: the working directory may change.

Directories are read with ``os.scandir``, and only files with a plausible name are touched at all,
so that a hundred thousand checkpoints and pictures cost one directory listing. Symbolic links are
followed after all real directories, each real directory once: loops end, and a link to a run that
is there anyway adds nothing. Directories whose name begins with a dot are left out (``.git``,
``.ipynb_checkpoints``).
"""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from ...base.units import plural
from ...handlers.remote_address import (
    RemoteError,
    has_scheme,
    is_remote,
    parse,
    without_file_scheme,
)
from ...trace.compile_record import SUFFIX, record_name
from ..contract import ErrorInfo
from ..discovery import file_names

if TYPE_CHECKING:  # most logdirs lie here: nothing waits for what reaches other machines
    from ...handlers.remote_filesystem import RemoteFilesystem
    from ..filesystems.listing import RemoteObject

Key: TypeAlias = tuple[int, str]
"""Number of the logdir, path below it."""


class FileVersion(Struct, frozen=True):
    """Marks of one state of a file, compared without reading it.

    No inode number: user-space file systems give the same file another one from time to time.
    """

    bytes: int
    modified_ns: int
    tag: str = ""  # of a remote file, where its server has one; else of the record beside it

    @classmethod
    def of(cls, status: os.stat_result, record: os.stat_result | None = None) -> FileVersion:
        tag = f"{record.st_size}-{record.st_mtime_ns}" if record is not None else ""
        return cls(status.st_size, status.st_mtime_ns, tag)

    @classmethod
    def at(cls, path: str | Path) -> FileVersion:
        """The version of a file of this machine, with the record of torch.compile beside it.

        Raises:
            OSError: the file is not there.
        """
        status, record = os.stat(path), record_name(os.path.basename(path))
        with suppress(OSError):
            if record is not None:
                beside = os.path.join(os.path.dirname(path), record)
                return cls.of(status, os.stat(beside, follow_symlinks=False))
        return cls.of(status)

    @property
    def modified(self) -> float:
        """Seconds since the epoch."""
        return self.modified_ns / 1e9


class FoundFile(Struct, frozen=True):
    """A file worth listing. ``path`` is relative to the logdir, with slashes, and valid text."""

    path: str
    absolute: str
    identity: FileVersion
    unfinished: bool  # by its name
    origin: RemoteObject | None = None  # ``absolute`` is the place of its copy, made when needed

    @property
    def folder(self) -> str:
        """The run of the file: the path of its directory, "" for the logdir itself."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Unreadable(Struct, frozen=True):
    """A directory that cannot be listed. The known files below it stay known."""

    path: str  # relative, "" for the logdir itself
    reason: str
    missing: bool
    problem: ErrorInfo | None = None  # what is said of it, where that is more than the reason


class PassedOver(Struct):
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
        elif found := _file(item):
            yield found
        else:
            tally.others += 1


class CopyPlaces(Protocol):
    """Where copies of remote files lie."""

    def place(self, found: RemoteObject) -> Path: ...


def look_far(
    filesystem: RemoteFilesystem, copies: CopyPlaces, tally: PassedOver
) -> Iterator[FoundFile | Unreadable]:
    """The same below an address of another machine. Its files are listed, and none is opened."""
    from ..filesystems.listing import as_info, list_files

    try:
        for found in list_files(filesystem):
            unfinished = file_names.is_unfinished(found.name)
            hidden = found.name.startswith(".")
            if not unfinished and (hidden or not file_names.is_plausible(found.name)):
                tally.others += 1
                continue
            identity = FileVersion(found.bytes, found.modified_ns, found.tag + found.record)
            path, copy = shown(found.below), str(copies.place(found))
            yield FoundFile(path, copy, identity, unfinished, found)
    except RemoteError as error:
        yield Unreadable("", error.message, error.reason == "missing", as_info(error))


def everything(root: str) -> Iterator[tuple[str, str]]:
    """Every file below ``root``, whatever its name: its path relative to it, and absolute.

    Folders that are not entered are among them, with a slash at the end.
    """
    for item in _entries(root, PassedOver()):
        if not isinstance(item, Unreadable):
            yield shown(item.path) + "/" * item.is_folder, item.entry.path


class _Entry(Struct, frozen=True):
    entry: os.DirEntry[str]
    path: str  # relative
    is_folder: bool  # one that is not entered
    record: os.DirEntry[str] | None = None  # of torch.compile, beside it


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
        records = {entry.name: entry for entry in listed if entry.name.endswith(SUFFIX)}
        for entry in listed:
            below = f"{path}/{entry.name}" if path else entry.name
            if _is_directory(entry):
                if entry.name.startswith("."):
                    yield _Entry(entry, below, is_folder=True)
                else:
                    (links if entry.is_symlink() else real).append((entry.path, below))
            else:
                own = record_name(entry.name) if records else None
                yield _Entry(entry, below, is_folder=False, record=records.get(own or ""))


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


def _file(item: _Entry) -> FoundFile | None:
    entry, record = item.entry, None
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
    if item.record is not None:
        with suppress(OSError):  # gone meanwhile
            record = os.stat(item.record.path, follow_symlinks=False)
    return FoundFile(shown(item.path), entry.path, FileVersion.of(status, record), unfinished)


# --- logdirs --------------------------------------------------------------------------------------


class Logdir(Struct, frozen=True):
    """One folder to look at.

    ``path`` is absolute, an address for a folder of another machine (``far``), "" when the place
    cannot be read at all: then ``problem`` says why. A folder that does not exist (yet) has a path:
    it is tried again at every look.
    """

    shown: str  # as typed
    path: str
    name: str  # the start of the names of its runs; "" for a lone folder without a given name
    problem: ErrorInfo | None = None
    far: RemoteFilesystem | None = None


def resolve(logdir: str | Sequence[str] | None, logdir_spec: str | None) -> tuple[Logdir, ...]:
    """The folders of ``--logdir`` and ``--logdir_spec``; none without either.

    A ``logdir`` that is text is one path, whatever characters it has; several come as a sequence.
    ``logdir_spec`` is ``name:path,path2`` as TensorBoard reads it. With more than one folder, each
    gets a name, so that equal runs of two folders stay apart.
    """
    typed = [logdir] if isinstance(logdir, str) else list(logdir or ())
    pairs = [("", text) for text in typed] + [_named(s) for s in (logdir_spec or "").split(",")]
    found: dict[str, Logdir] = {}
    for name, text in pairs:
        if text.strip():
            one = _one(name.strip(), text.strip())
            found.setdefault(one.path or one.shown, one)
    return _with_names(tuple(found.values()))


def _named(specification: str) -> tuple[str, str]:
    """``name:path`` in two parts; a scheme, an absolute path and a Windows drive are no names."""
    text = specification.strip()
    is_name = (
        ":" in text
        and not has_scheme(text)
        and not text.startswith("/")
        and not os.path.splitdrive(text)[0]
    )
    name, _, path = text.partition(":") if is_name else ("", "", text)
    return name, path


def _one(name: str, text: str) -> Logdir:
    text = without_file_scheme(text)
    if is_far(text):
        return _far(shown(name), text)
    path = os.path.abspath(os.path.expanduser(text))
    return Logdir(shown=shown(text), path=path, name=shown(name))


def is_far(path: str) -> bool:
    """True for an address of another machine; a file or folder of this name goes first."""
    return is_remote(path) and not os.path.exists(path)


def _far(name: str, text: str) -> Logdir:
    from ...handlers.remote_filesystem import RemoteFilesystem
    from ..filesystems.listing import as_info

    address = parse(text)
    told = shown(address.shown)
    absent = address.problem()
    if absent is not None:
        return Logdir(shown=told, path="", name=name, problem=as_info(absent))
    return Logdir(shown=told, path=told, name=name, far=RemoteFilesystem(address))


def _with_names(logdirs: tuple[Logdir, ...]) -> tuple[Logdir, ...]:
    """Unique names: the shortest distinct ends of the paths. A single folder needs none."""
    if len(logdirs) <= 1:
        return logdirs
    depth = 1
    names = [_label(one, depth) for one in logdirs]
    while max(Counter(names).values()) > 1 and depth < 32:
        depth += 1
        names = [_label(one, depth) for one in logdirs]
    if max(Counter(names).values()) > 1:  # one name given twice
        names = [
            f"{name} ({one.path or one.shown})" for name, one in zip(names, logdirs, strict=False)
        ]
    return tuple(replace(one, name=name) for name, one in zip(names, logdirs, strict=False))


def _label(one: Logdir, depth: int) -> str:
    parts = (one.path or one.shown).replace(os.sep, "/").rstrip("/").split("/")
    return one.name or "/".join(parts[-depth:]) or "/"


UNREADABLE_SHOWN = 20
_MAY_LIST = (
    "A logdir is a folder this user may list; a single file is opened with kinetoscope show."
)


class Outcome(Struct):
    """Findings of one walk over all logdirs."""

    found: dict[Key, FoundFile] = field(default_factory=dict)
    problems: list[ErrorInfo] = field(default_factory=list)
    kept: list[Key] = field(
        default_factory=list
    )  # folders that could not be listed: what was below stays
    unreadable: int = 0  # folders
    tally: PassedOver = field(default_factory=PassedOver)
    numbers: frozenset[int] | None = None  # of the logdirs that were looked at; None: all

    def covers(self, key: Key) -> bool:
        """True if a file that was not found is really gone."""
        if self.numbers is not None and key[0] not in self.numbers:
            return False
        return not any(
            key[0] == number and (not path or key[1].startswith(path + "/"))
            for number, path in self.kept
        )


def walk(
    logdirs: Sequence[Logdir],
    outcome: Outcome,
    copies: CopyPlaces | None = None,
    only: Collection[int] | None = None,
) -> Iterator[tuple[Key, FoundFile]]:
    """Every file worth listing, as it is found; problems and the rest go into ``outcome``.

    ``copies`` says where those of remote files lie, ``only`` which logdirs are looked at.
    """
    if only is not None:
        outcome.numbers = frozenset(only)
    yield from _walk(logdirs, outcome, copies)
    more = outcome.unreadable - UNREADABLE_SHOWN
    if more > 0:
        outcome.problems.append(
            ErrorInfo(
                "folder_unreadable", f"{plural(more, 'more folder')} cannot be read.", _MAY_LIST
            )
        )


def _walk(
    logdirs: Sequence[Logdir], outcome: Outcome, copies: CopyPlaces | None
) -> Iterator[tuple[Key, FoundFile]]:
    for number, logdir in enumerate(logdirs):
        if outcome.numbers is not None and number not in outcome.numbers:
            continue
        if logdir.problem is not None:
            outcome.problems.append(logdir.problem)
            continue
        if logdir.far is None:
            items = look(logdir.path, outcome.tally)
        elif copies is not None:
            items = look_far(logdir.far, copies, outcome.tally)
        else:
            continue
        for item in items:
            if isinstance(item, Unreadable):
                _note(outcome, number, logdir, item)
            else:
                key = (number, item.path)
                outcome.found[key] = item
                yield key, item


def _note(outcome: Outcome, number: int, logdir: Logdir, item: Unreadable) -> None:
    if not item.missing:
        outcome.kept.append((number, item.path))
    outcome.unreadable += 1
    if outcome.unreadable <= UNREADABLE_SHOWN:
        outcome.problems.append(_problem(logdir, item))


def _problem(logdir: Logdir, item: Unreadable) -> ErrorInfo:
    if item.problem is not None and not item.missing:
        return item.problem
    if item.missing:
        return ErrorInfo(
            "logdir_missing",
            f"{logdir.shown}: there is no such folder.",
            "Check the spelling; a folder that appears later is found by itself.",
        )
    where = f"{logdir.shown}: {item.path}" if item.path else logdir.shown
    return ErrorInfo(
        "folder_unreadable",
        f"{where}: the folder cannot be read: {item.reason}.",
        _MAY_LIST,
    )
