"""The cache on disk: for each content key a summary, the columns of the trace, and artifacts.

    <root>/entries/<digest>/summary.json     written first: with it, the trace can be shown
    <root>/entries/<digest>/columns/…        the tables of the trace (``base/columnar``)
    <root>/entries/<digest>/artifacts/…      columns made from them for one purpose (``artifacts``)
    <root>/keys/…                            hashes of large files (``content_key``)
    <root>/tmp/<token>/…                     being written; renamed into place when complete

A folder ``.kinetoscope`` beside traces or above them is such a root, too, but only read here
(``kinetoscope ingest --cache beside`` fills it): summaries and artifacts, no columns.

Nothing is ever changed in place, so several processes may share one root, and a reader keeps what
it has open. An entry that is damaged, truncated or foreign is dropped, and the file is read again.
When all entries together exceed the limit, the least recently used ones are removed.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from isal import isal_zlib
from msgspec import Struct
from msgspec.structs import replace

from ..discovery.walk import shown
from ..ingest import resources
from . import content_key
from .beside import folder_of, folders_beside

if TYPE_CHECKING:
    from ...trace.model import Trace

log = logging.getLogger(__name__)

SUMMARY, COLUMNS, ENTRIES, TMP = "summary.json", "columns", "entries", "tmp"
SIZE = "size.json"  # beside the hashes of files
MOST_SUMMARY_BYTES = 1 << 30
SIZE_SECONDS = 24 * 3600.0
TRACE = "index"
HOT: Mapping[str, frozenset[str]] = {
    "host": frozenset(
        ("ts", "dur", "name", "category", "kind", "thread", "parent", "depth", "raw")
    ),
    "device": frozenset(
        ("ts", "dur", "name", "category", "kind", "klass", "device", "stream", "raw")
    ),
}
"""Columns of each table that the timeline reads: mapped, so they take no memory of the process.
All others are compressed; each is inflated at its first use."""
ABANDONED_SECONDS = 24 * 3600.0


class StoredSummary(msgspec.Struct, frozen=True):
    """The content of summary.json."""

    path: str  # of the file it was read from first
    bytes: int
    events: int
    seconds: float  # that reading and summarizing took
    crc32: int  # of the text of the summary
    summary: msgspec.Raw


class StoredSize(Struct, frozen=True):
    """Bytes of all entries of a root, and when they were counted last."""

    bytes: int
    counted: float


class Cache(Struct, frozen=True):
    """The folders of the cache, best first: the user's cache folder, then one for this session."""

    roots: tuple[Path, ...]
    limit_bytes: int
    problem: str = ""  # why the first choice is not among the roots
    beside: tuple[Path, ...] = ()  # in logdirs: only read

    def with_beside(self, logdirs: Sequence[str]) -> Cache:
        """This cache, extended by caches inside the logdirs if there are any."""
        return replace(self, beside=tuple(filter(None, map(folder_of, logdirs))))

    def folders_beside(self, path: str) -> tuple[Path, ...]:
        """Where answers of a file may be, too: in the folder nearest to it, and in logdirs."""
        return folders_beside(path, self.beside)

    def load_summary(self, digest: str, path: str) -> StoredSummary | None:
        """The summary stored under the key of a file; None when there is none that can be used."""
        for root in (*self.roots, *self.folders_beside(path)):
            file = entry(root, digest) / SUMMARY
            try:
                text = content_key.read_regular(file, MOST_SUMMARY_BYTES)
                stored = msgspec.json.decode(text, type=StoredSummary)
                if isal_zlib.crc32(stored.summary) != stored.crc32:
                    raise ValueError("it does not have the content that was written")
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                log.warning("the damaged answer %s is not used: %s", file, error)
                if root in self.roots:
                    self.drop(digest)
                continue
            if root in self.roots:
                used(file.parent)
            return stored
        return None

    def has_columns(self, digest: str) -> bool:
        """True if columns are stored under a key; only reading shows whether they are whole."""
        return any((entry(root, digest) / COLUMNS).is_dir() for root in self.roots)

    def load_trace(self, digest: str, path: str) -> Trace | None:
        """The trace stored under a key, for the file at ``path``; None when none can be used."""
        from ...base.columnar import DamagedError

        for root in self.roots:
            folder = entry(root, digest) / COLUMNS
            before = _inode(folder)
            if before is None:
                continue
            try:
                trace = read_trace(
                    folder, path, mapped=not resources.is_shared_filesystem(str(root))
                )
            except DamagedError as error:
                if _inode(folder) == before:  # else another process removed it just then
                    log.warning("dropped the damaged columns %s: %s", folder, error)
                    self.drop(digest)
            else:
                used(folder.parent)
                return trace
        return None

    def drop(self, digest: str) -> None:
        """Forgets everything stored under a key."""
        for root in self.roots:
            remove(entry(root, digest), root)

    def make_room(self, digest: str) -> None:
        """Keep the cache below its limit after something was stored under a key.

        All entries are looked at where the limit may be reached by now, or once a day: what other
        programs store at the same moment is not added up.
        """
        for root in self.roots:
            stored = _size_of(entry(root, digest))
            if not stored:
                continue
            place = root / content_key.NOTES / SIZE
            known = _noted(place)
            if known is None or known.bytes + stored > self.limit_bytes:
                self._trim(root, {digest})
            else:
                content_key.write_note(place, replace(known, bytes=known.bytes + stored))

    def trim(self, keep: Collection[str]) -> int:
        """Remove the least recently used entries, not ``keep``, down to the limit; their number."""
        return sum(self._trim(root, keep) for root in self.roots)

    def _trim(self, root: Path, keep: Collection[str]) -> int:
        removed = 0
        content_key.forget_old(root)
        entries = sorted(_entries(root), key=lambda e: e.used)
        total = sum(e.bytes for e in entries)
        for one in entries:
            if total <= self.limit_bytes:
                break
            if one.folder.name not in keep:
                remove(one.folder, root)
                total -= one.bytes
                removed += 1
        content_key.write_note(root / content_key.NOTES / SIZE, StoredSize(total, time.time()))
        return removed

    def clear_token(self, token: str) -> None:
        """Remove the unfinished files of one reading process."""
        for root in self.roots:
            content_key.delete(root / TMP / token)

    def sweep(self) -> None:
        """Remove the unfinished files of processes that died long ago."""
        for root in self.roots:
            with contextlib.suppress(OSError):
                for folder in (root / TMP).iterdir():
                    if time.time() - folder.stat().st_mtime > ABANDONED_SECONDS:
                        content_key.delete(folder)


def entry(root: Path, digest: str) -> Path:
    """The folder of a key."""
    return root / ENTRIES / digest


def workspace(root: Path, token: str) -> Path:
    """A folder for unfinished files, made when missing.

    Raises:
        OSError: the root cannot be written.
    """
    folder = root / TMP / token
    for part in (root, root / ENTRIES, root / TMP, folder):
        part.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def publish_summary(stored: StoredSummary, root: Path, token: str, digest: str) -> None:
    """Stores a summary.

    Raises:
        OSError: no room, or no permission.
    """
    file = workspace(root, token) / SUMMARY
    file.write_bytes(msgspec.json.encode(stored))
    _move(file, entry(root, digest) / SUMMARY)


def publish_columns(trace: Trace, root: Path, token: str, digest: str) -> None:
    """Stores the columns of a trace.

    Raises:
        OSError: no room, or no permission.
    """
    folder = workspace(root, token) / COLUMNS
    content_key.delete(folder)
    folder.mkdir(mode=0o700)
    write_trace(trace, folder)
    move_folder(folder, entry(root, digest) / COLUMNS)


def write_trace(trace: Trace, folder: Path) -> None:
    """Stores a trace in an empty folder, table by table, with little memory on top of it.

    Raises:
        OSError: no room, or no permission.
    """
    from ...base.columnar import Writer

    with Writer(folder, HOT) as writer:
        writer.close(trace, TRACE, checked=True)


def read_trace(folder: Path, path: str, *, mapped: bool) -> Trace:
    """The trace stored in ``folder``, which was read from the file ``path``.

    Every file is checked. ``mapped`` leaves the files open and mapped; without it, everything is
    copied into memory.

    Raises:
        DamagedError: something is missing, or does not have the content that was written.
    """
    from ...base.arrays import with_fields
    from ...base.columnar import load
    from ...trace.model import Trace

    return with_fields(load(Trace, folder, TRACE, mapped=mapped), path=path)


def move_folder(folder: Path, target: Path) -> None:
    """Rename a complete folder to its place; if another process was first, its folder stays.

    Raises:
        OSError: no room, or no permission.
    """
    try:
        _move(folder, target)
    except OSError as error:
        # What the other one made is as good as ours.
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES) or not target.is_dir():
            raise
        content_key.delete(folder)


def _move(source: Path, target: Path) -> None:
    """Rename into an entry, created when missing; another process may remove it just then."""
    for last in (False, False, True):
        target.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            os.replace(source, target)
        except FileNotFoundError:
            if last:
                raise
        else:
            return


def used(folder: Path) -> None:
    """Mark an entry as used now."""
    with contextlib.suppress(OSError):  # not ours to change, or removed just then
        os.utime(folder)


def _inode(folder: Path) -> int | None:
    try:
        return folder.stat().st_ino if folder.is_dir() else None
    except OSError:
        return None


class _Entry(Struct, frozen=True):
    folder: Path
    bytes: int
    used: float


def _entries(root: Path) -> Iterator[_Entry]:
    with contextlib.suppress(OSError):
        for folder in (root / ENTRIES).iterdir():
            try:
                used = folder.stat().st_mtime
                yield _Entry(folder, _size(folder), used)
            except OSError:  # removed by another process
                continue


def _noted(place: Path) -> StoredSize | None:
    """The noted size of a root; None if it is too old to be updated."""
    try:
        text = content_key.read_regular(place, content_key.NOTE_BYTES)
        known = msgspec.json.decode(text, type=StoredSize)
    except (OSError, ValueError):
        return None
    return known if 0 <= time.time() - known.counted < SIZE_SECONDS else None


def _size_of(folder: Path) -> int:
    """Bytes below a folder; 0 where there is none."""
    try:
        return _size(folder)
    except OSError:
        return 0


def _size(folder: Path) -> int:
    total = 0
    with os.scandir(folder) as items:
        for item in items:
            below = item.is_dir(follow_symlinks=False)
            total += _size(Path(item.path)) if below else item.stat(follow_symlinks=False).st_size
    return total


def remove(folder: Path, root: Path) -> None:
    """Rename a folder away at once, then delete it."""
    trash = root / TMP / f"trash-{os.urandom(8).hex()}"
    try:
        os.rename(folder, trash)
    except FileNotFoundError:
        return
    except OSError:
        trash = folder
    content_key.delete(trash)


def encode_summary(
    path: str, size: int, events: int, seconds: float, summary: msgspec.Struct
) -> StoredSummary:
    """A summary as it is stored."""
    text = msgspec.json.encode(summary)
    return StoredSummary(path, size, events, seconds, isal_zlib.crc32(text), msgspec.Raw(text))


S = TypeVar("S", bound=msgspec.Struct)


def with_path(summary: S, path: str) -> S:
    """The summary of the file at ``path``, as text: a stored one may come from a copy elsewhere."""
    if "path" in summary.__struct_fields__:
        return msgspec.structs.replace(summary, path=shown(path))
    return summary


def first_that_takes(roots: Sequence[Path], store: Callable[[Path], None]) -> tuple[bool, str]:
    """True if any root accepted it, and the reasons of the roots before that."""
    notes = []
    for root in roots:
        try:
            store(root)
        except OSError as error:
            notes.append(f"{shown(str(root))}: {error.strerror or error}")
        else:
            return True, "; ".join(notes)
    return False, "; ".join(notes)
