"""Destination of the bytes of a trace: the protocol `Writer`, and `LocalWriter` for a directory.

A trace is first exported to a *staged* file, then *published*: packed and given its final name in
one step, so that a reader of the directory never sees half a trace. A writer that publishes in the
background or to an object store, or that removes old traces, has the same three methods.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Protocol

from .metadata import splice
from .naming import TraceName, mark_in
from .process import is_gone, process_mark

_BLOCK_BYTES = 1 << 20
_MAX_NAME_TRIES = 1000


@dataclass(frozen=True)
class Publication:
    """One exported trace, complete and still hidden. `metadata` is JSON text to be spliced in."""

    staged: Path
    name: TraceName
    metadata: bytes
    compresslevel: int


class Writer(Protocol):
    """Publishes traces. Every method may raise OSError; the handler decides how to report it."""

    def stage(self, name: TraceName) -> Path:
        """A new, empty, hidden file that torch may export to."""

    def publish(self, publication: Publication) -> Path:
        """Give the complete trace a new name. The staged file is removed in any case."""

    def discard(self, staged: Path) -> None:
        """Remove a staged file, and files that torch left beside it, after a failed export."""


class LocalWriter:
    """Publishes into `directory`, which is made when the first trace comes.

    `~` is the home; a relative directory is relative to the current directory of each call.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._too_little_bytes = 0
        self._tidied: tuple[int, Path] | None = None  # the process that did, and where

    def stage(self, name: TraceName) -> Path:
        """Create the hidden file.

        Torch only prints a line when it cannot open its file. Opened here, before the export, the
        reason comes as an exception.

        Raises:
            OSError: among others ENOSPC, when the disk has no more room than was too little before.
        """
        # Absolute, because torch takes what stands before `://` in a path for a protocol.
        directory = self.directory.expanduser().absolute()
        directory.mkdir(parents=True, exist_ok=True)
        # Each export to a full disk costs the job time and, because torch does not close the file,
        # a descriptor. One such attempt is enough.
        free = shutil.disk_usage(directory).free
        if self._too_little_bytes and free <= self._too_little_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))
        self._tidy(directory)
        path = directory / name.hidden_name(process_mark())
        path.open("xb").close()
        return path

    def _tidy(self, directory: Path) -> None:
        """Remove, once per process, files that killed processes of ours left behind.

        Only files of this user, named by our handler, of a process that is known to have ended on
        this very machine. Everything else may belong to a job that lives.
        """
        if self._tidied == (os.getpid(), directory):
            return
        self._tidied = (os.getpid(), directory)
        with contextlib.suppress(OSError), os.scandir(directory) as entries:
            for entry in entries:
                mark = mark_in(entry.name)
                if mark is None or not is_gone(mark):
                    continue
                with contextlib.suppress(OSError):
                    if _is_own_file(entry.stat(follow_symlinks=False)):
                        os.unlink(entry.path)

    def publish(self, publication: Publication) -> Path:
        """Pack into a second hidden file, then rename it."""
        directory = publication.staged.parent
        packed = directory / publication.name.hidden_name(process_mark())
        try:
            _pack(publication, packed)
            return _move_in(packed, directory, publication.name)
        finally:
            packed.unlink(missing_ok=True)
            publication.staged.unlink(missing_ok=True)

    def discard(self, staged: Path) -> None:
        """Remove the file and `<file>.tmp`, which torch writes first and renames at the end."""
        for path in (staged, staged.with_name(staged.name + ".tmp")):
            with contextlib.suppress(OSError):
                self._too_little_bytes = max(self._too_little_bytes, path.stat().st_size)
                # Emptied first: unlinked alone, a file that torch holds open keeps its blocks.
                os.truncate(path, 0)
                path.unlink()


def _is_own_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid()


def _pack(publication: Publication, target: Path) -> None:
    """Copy the trace to the new file `target`, with its metadata, compressed if so named."""
    with publication.staged.open("rb") as source, _packer(publication, target) as packer:
        packer.write(splice(source.read(_BLOCK_BYTES), publication.metadata))
        while block := source.read(_BLOCK_BYTES):
            packer.write(block)


@contextlib.contextmanager
def _packer(publication: Publication, target: Path) -> Iterator[BufferedIOBase]:
    # Not tempfile.mkstemp, whose files only their owner may read: TensorBoard may be another user.
    with target.open("xb") as file:
        if publication.name.use_gzip:
            with gzip.GzipFile("", "wb", publication.compresslevel, file) as packer:
                yield packer
        else:
            yield file


def _move_in(packed: Path, directory: Path, name: TraceName) -> Path:
    """Give `packed` its name, or the next one that is free.

    Names meet when two ranks share a worker name, or when the clock is set back.
    """
    for _ in range(_MAX_NAME_TRIES):
        target = directory / name.file_name
        try:
            _rename_to_new(packed, target)
        except FileExistsError:
            name = name.following()
        else:
            return target
    raise FileExistsError(f"no free name up to {name.file_name}")


def _rename_to_new(source: Path, target: Path) -> None:
    """Rename in one step, but never over an existing file.

    A hard link does both. File systems without links get a look and a replace; there, two processes
    that choose one name could still meet within the microseconds between the two.

    Raises:
        FileExistsError: `target` exists.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        source.replace(target)
