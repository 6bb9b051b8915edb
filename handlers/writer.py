"""Destination of the bytes of a trace: the protocol `Writer`, and `LocalWriter` for a directory.

A trace is first exported to a *staged* file, then *published*: packed and given its final name in
one step, so that a reader of the directory never sees half a trace. A writer that publishes to an
object store has the same methods. The handler calls `publish` in a thread of its own.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import math
import os
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .metadata import splice
from .naming import TraceName, hidden_file, hidden_name, take_free_name
from .process import is_gone, is_known, process_mark

_log = logging.getLogger("kinetoscope.handlers")
_BLOCK_BYTES = 1 << 20
_MOST_FREE_BYTES = 512 << 20
_GZIP_WINDOW = 31
_O_BINARY = getattr(os, "O_BINARY", 0)  # of Windows


@dataclass(frozen=True)
class Publication:
    """One exported trace, complete and still hidden. `metadata` is JSON text to be spliced in.

    `beside` are small files by name, which are there before the trace is.
    """

    staged: Path
    name: TraceName
    metadata: bytes
    compresslevel: int
    beside: Mapping[str, bytes] = field(default_factory=dict)


if sys.platform == "win32":
    from pathlib import WindowsPath as _LocalPath
else:
    from pathlib import PosixPath as _LocalPath


class RemotePath(_LocalPath):
    """Where a trace is on another machine. Its text, name and size tell; it cannot be opened."""

    address: str = ""  # of the folder
    bytes: int = 0

    @classmethod
    def of(cls, address: str, name: str, size: int = 0) -> RemotePath:
        """The file `name` in the folder of `address`."""
        made = cls(name)
        made.address, made.bytes = address, size
        return made

    def __str__(self) -> str:
        return f"{self.address}/{self.name}" if self.address else super().__str__()

    def __reduce__(self) -> tuple[Any, ...]:
        return RemotePath.of, (self.address, self.name, self.bytes)


class Writer(Protocol):
    """Publishes traces. Every method may raise OSError; the handler decides how to report it."""

    def stage(self, name: TraceName) -> Path:
        """A new, empty, hidden file that torch may export to."""

    def publish(self, publication: Publication) -> Path:
        """Give the complete trace a new name. The staged file is removed in any case."""

    def discard(self, staged: Path) -> None:
        """Remove a staged file, and files that torch left beside it, after a failed export."""

    def remove(self, published: Path) -> None:
        """Remove a trace that this writer published. One that is gone is no error."""

    def read_back(self, published: Path) -> AbstractContextManager[Path]:
        """The published trace as a local file; files written beside it are published, too.

        Asked for once, and only if `outputs` of the handler need it.
        """


class LocalWriter:
    """Publishes into `directory`, which is made when the first trace comes.

    `~` is the home; a relative directory is relative to the current directory of each call.
    `min_free_bytes` are left free for the rest of the job; by default a twentieth of the disk, at
    most 512 MiB.
    """

    def __init__(
        self, directory: str | os.PathLike[str], min_free_bytes: int | None = None
    ) -> None:
        self.directory = Path(directory)
        self._min_free_bytes = min_free_bytes
        self._too_little_bytes = 0
        self._export_bytes = 0
        self._tidied: tuple[int, Path] | None = None  # the process that did, and where

    def stage(self, name: TraceName) -> Path:
        """Create the hidden file.

        Torch only prints a line when it cannot open its file. Opened here, before the export, the
        reason comes as an exception.

        Raises:
            OSError: among others ENOSPC, when the disk has too little room: less than is to be left
                free with an export as large as the last one, or not more than was too little.
        """
        # Absolute, because torch takes what stands before `://` in a path for a protocol.
        directory = self.directory.expanduser().absolute()
        directory.mkdir(parents=True, exist_ok=True)
        self._tidy(directory)
        self._check_room(directory)
        path = directory / name.hidden_name(process_mark())
        # Not `open`: where there is no memory for its buffer, the file would stay.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        return path

    def _check_room(self, directory: Path) -> None:
        disk = shutil.disk_usage(directory)
        reserve = self._min_free_bytes
        if reserve is None:
            reserve = min(_MOST_FREE_BYTES, disk.total // 20)
        # Each export to a full disk costs the job time and, because torch does not close the file,
        # a descriptor. One such attempt is enough.
        is_too_little = self._too_little_bytes and disk.free <= self._too_little_bytes
        # Some network file systems say zero of zero: they do not know.
        if disk.total and (is_too_little or disk.free < reserve + self._export_bytes):
            raise OSError(
                errno.ENOSPC,
                f"{os.strerror(errno.ENOSPC)} ({disk.free:,} bytes are free, the last trace took "
                f"{self._export_bytes:,} and {reserve:,} are left to the job)",
                str(directory),
            )

    def _tidy(self, directory: Path) -> None:
        """Once per process, handle temporary files of dead processes.

        A trace that torch had exported whole is published as it is; everything else is removed.
        """
        if self._tidied == (os.getpid(), directory):
            return
        self._tidied = (os.getpid(), directory)
        removed = 0
        with contextlib.suppress(OSError):
            for name in os.listdir(directory):
                with contextlib.suppress(OSError):
                    found = left_behind(directory / name)
                    if found is None:
                        continue
                    trace = clear_away(found)
                    if trace is None:
                        removed += 1
                    else:
                        _log.warning(
                            "kinetoscope found a trace that a killed process had exported, and "
                            "published it: %s",
                            trace,
                        )
        if removed:
            _log.warning(
                "kinetoscope removed %d temporary files of killed processes from %s: traces that "
                "were not finished are lost.",
                removed,
                directory,
            )

    def publish(self, publication: Publication) -> Path:
        """Pack into a second hidden file, then rename it."""
        directory = publication.staged.parent
        unfinished = [publication.staged]
        try:
            packed = directory / publication.name.hidden_name(process_mark())
            unfinished.append(packed)
            self._export_bytes = publication.staged.stat().st_size
            _pack(publication, packed)
            for name, data in publication.beside.items():
                with contextlib.suppress(OSError):  # the trace counts
                    _put_beside(directory / name, data)
            return directory / take_free_name(
                publication.name.file_name, lambda name: _rename_to_new(packed, directory / name)
            )
        finally:
            for path in unfinished:
                with contextlib.suppress(OSError):  # a vanished directory took them along
                    path.unlink()

    def discard(self, staged: Path) -> None:
        """Remove the file and `<file>.tmp`, which torch writes first and renames at the end."""
        for path in (staged, staged.with_name(staged.name + ".tmp")):
            with contextlib.suppress(OSError):
                self._too_little_bytes = max(self._too_little_bytes, path.stat().st_size)
                # Emptied first: unlinked alone, a file that torch holds open keeps its blocks.
                os.truncate(path, 0)
                path.unlink()

    def remove(self, published: Path) -> None:
        """Remove the file."""
        published.unlink(missing_ok=True)

    def read_back(self, published: Path) -> AbstractContextManager[Path]:
        """The trace, in its place."""
        return contextlib.nullcontext(published)


@dataclass(frozen=True)
class LeftBehind:
    """A temporary file of a dead process.

    `trace` is the name that the whole trace in it was to have; None if there is none.
    """

    path: Path
    trace: str | None


def left_behind(path: Path, foreign_after_s: float = math.inf) -> LeftBehind | None:
    """Temporary file of a dead process; None for any other file.

    Only files of this user, named by our handler, of a process that is known to have ended on this
    very machine. The rest may belong to a job that lives. Of another machine or container nothing
    is known: its files count when they have not changed for `foreign_after_s` seconds.

    Raises:
        OSError: the file is gone.
    """
    hidden = hidden_file(path.name)
    if hidden is None:
        return None
    if not is_gone(hidden.mark):
        age_s = time.time() - path.lstat().st_mtime
        if is_known(hidden.mark) or not age_s > foreign_after_s:
            return None
    return LeftBehind(path, hidden.trace) if _is_own_file(path.lstat()) else None


def clear_away(found: LeftBehind) -> Path | None:
    """Publish the trace in a file that was left behind, or remove the file.

    Returns where the trace is now; None if there was none, or it had been published before.

    Raises:
        OSError: neither is possible.
    """
    if found.trace is not None:
        final = found.path.with_name(found.trace)
        if not os.path.lexists(f"{final}.gz") and _rename_to_new(found.path, final):
            found.path.unlink(missing_ok=True)  # a link leaves it
            return final
    found.path.unlink()
    return None


def _is_own_file(status: os.stat_result) -> bool:
    """True if this user wrote it. Windows tells no owner: there, folders keep others away."""
    is_own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return stat.S_ISREG(status.st_mode) and is_own


def _pack(publication: Publication, target: Path) -> None:
    """Copy the trace to the new file `target`, with its metadata, compressed if so named.

    The training may fork while this runs in a thread. So nothing here holds bytes back that the
    child would write a second time when it drops its copies: descriptors, and no file objects.
    """
    packer = zlib.compressobj(publication.compresslevel, zlib.DEFLATED, _GZIP_WINDOW)
    plain = not publication.name.use_gzip
    # Not tempfile.mkstemp, whose files only their owner may read: TensorBoard may be another user.
    output = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_BINARY, 0o666)
    try:
        source = os.open(publication.staged, os.O_RDONLY | _O_BINARY)
        try:
            block = splice(_read_block(source), publication.metadata)
            while block:
                _write(output, block if plain else packer.compress(block))
                block = os.read(source, _BLOCK_BYTES)
            _write(output, b"" if plain else packer.flush())
        finally:
            os.close(source)
    finally:
        os.close(output)


def _put_beside(path: Path, data: bytes) -> None:
    """Write a small file under its name in one rename."""
    hidden = path.with_name(hidden_name(path.name, process_mark()))
    output = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_BINARY, 0o666)
    try:
        _write(output, data)
    finally:
        os.close(output)
    try:
        hidden.replace(path)
    finally:
        hidden.unlink(missing_ok=True)


def _read_block(source: int) -> bytes:
    """The start of the file, as far as it goes: a single read may bring a few bytes only."""
    start = b""
    while len(start) < _BLOCK_BYTES and (part := os.read(source, _BLOCK_BYTES - len(start))):
        start += part
    return start


def _write(output: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(output, rest) :]


def _rename_to_new(source: Path, target: Path) -> bool:
    """Rename in one step, but never over an existing file: False if there is one.

    A hard link does both. File systems without links get a look and a replace; there, two processes
    that choose one name could still meet within the microseconds between the two.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError:
        if os.path.lexists(target):
            return False
        source.replace(target)
    return True
