"""The cache on disk: for each content key a summary, the columns of the trace, and artifacts.

    <root>/entries/<digest>/summary.json     written first: with it, the trace can be shown
    <root>/entries/<digest>/columns/…        the tables of the trace (``base/columnar``)
    <root>/entries/<digest>/artifacts/<name>-<variant>/   columns made from them for one purpose
                                             seal.json    version of the code, sizes, checksums
    <root>/keys/…                            hashes of large files (``content_key``)
    <root>/tmp/<token>/…                     being written; renamed into place when complete

A folder ``.kinetoscope`` beside traces or above them is such a root, too, but only read here
(``kinetoscope ingest --cache beside`` fills it): summaries and artifacts, no columns.

Nothing is ever changed in place, so several processes may share one root, and a reader keeps what
it has open. An entry that is damaged, truncated or foreign is dropped, and the file is read again.
When all entries together exceed the limit, the least recently used ones are removed.

The seal of an artifact has the size of each file, and a checksum of its first and last 64 KiB:
opening a gigabyte must not read it. After a change of the code that made an artifact, which the
seal names too, it is made anew.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from isal import isal_zlib
from msgspec import Struct, field
from msgspec.structs import replace

from ...base.logs import logger
from ...base.machine import free_disk, temporary_folder, user_folder
from ...base.units import parse_size
from ..discovery.walk import shown
from ..ingest import resources
from . import content_key

if TYPE_CHECKING:
    from ...trace.model import Trace

log = logger(__name__)

SUMMARY, COLUMNS, ENTRIES, TMP = "summary.json", "columns", "entries", "tmp"
ARTIFACTS, SEAL = "artifacts", "seal.json"
ENDS, MOST_SUMMARY_BYTES, MOST_SEAL_BYTES = 64 << 10, 1 << 30, 16 << 20
TRACE = "index"
HOT: Mapping[str, frozenset[str]] = {
    "host": frozenset(
        ("ts", "dur", "name", "category", "kind", "thread", "parent", "depth", "raw")
    ),
    "device": frozenset(
        ("ts", "dur", "name", "category", "kind", "klass", "device", "stream", "raw")
    ),
}
"""Columns of each table that the timeline is cut from: mapped, so they take no memory of their own.
All others are compressed, and inflated one by one, each when it is asked for."""
ABANDONED_SECONDS = 24 * 3600.0


class StoredSummary(msgspec.Struct, frozen=True):
    """The content of summary.json."""

    path: str  # of the file it was read from first
    bytes: int
    events: int
    seconds: float  # that reading and summarizing took
    crc32: int  # of the text of the summary
    summary: msgspec.Raw


class Cache(Struct, frozen=True):
    """The folders of the cache, best first: the user's cache folder, then one for this session."""

    roots: tuple[Path, ...]
    limit_bytes: int
    problem: str = ""  # why the first choice is not among the roots
    beside: list[Path] = field(default_factory=list)  # in or around logdirs: read only, and grows

    def with_beside(self, logdirs: Sequence[str]) -> Cache:
        """The cache that also reads what lies in these logdirs, if there is anything."""
        folders = (Path(logdir) / content_key.BESIDE for logdir in logdirs)
        return replace(self, beside=[one for one in folders if one.is_dir()])

    def look_beside(self, path: str) -> None:
        """Also read from now on what lies nearest beside a file: in its folder, or above it."""
        if (folder := content_key.folder_beside(path)) and folder not in self.beside:
            self.beside.append(folder)

    def load_summary(self, digest: str) -> StoredSummary | None:
        """The summary stored under a key; None when there is none that can be used."""
        for root in (*self.roots, *self.beside):
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

    def trim(self, keep: Collection[str]) -> int:
        """Removes what was used longest ago, down to the limit, but not ``keep``; how many went."""
        removed = 0
        for root in self.roots:
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


def open_to_readers(root: Path, digest: str) -> None:
    """Let whoever may read the folder around ``root`` read what is stored under a key.

    Raises:
        OSError: it is not ours to change.
    """
    mode = root.parent.stat().st_mode & 0o777
    for folder in (root, root / ENTRIES, root / TMP, root / content_key.NOTES):
        if folder.is_dir():
            folder.chmod(mode)
    for place in (entry(root, digest), *entry(root, digest).rglob("*")):
        place.chmod(mode if place.is_dir() else mode & 0o666)


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


# --- artifacts ----------------------------------------------------------------------------------

OnShare = Callable[[float], None]
"""Called with the share of an artifact that is made, 0 … 1."""


class Making(Struct, frozen=True):
    """An artifact to make of a trace: some of its variants, in this order."""

    function: Callable[..., None]  # (trace, folder, on_share[, variant])
    version: str  # of the code behind it
    name: str
    variants: Sequence[str]


class Target(Struct, frozen=True):
    """Destination of an artifact: root, content key, temporary folder."""

    root: Path
    digest: str
    token: str


def make_missing(trace: Trace, making: Making, target: Target, on_share: OnShare) -> None:
    """Make and publish the missing variants; ``on_share`` gets the share of the whole.

    Raises:
        OSError: no room, or no permission.
    """
    root, version = target.root, making.version
    missing = [
        variant
        for variant in making.variants
        if not is_whole(artifact_folder(root, target.digest, making.name, variant), version)
    ]
    for done, variant in enumerate(missing):

        def on_part(share: float, done: int = done) -> None:
            on_share((done + min(max(share, 0.0), 1.0)) / len(missing))

        folder = workspace(root, target.token) / folder_name(making.name, variant)
        folder.mkdir(mode=0o700)
        making.function(trace, folder, on_part, *([variant] if variant else []))
        seal(folder, version)
        publish_artifact(folder, root, target.digest, version)


def needed_variants(variants: tuple[str, ...], variant: str) -> tuple[str, ...]:
    """The variants required to open one, in the order in which they are made."""
    return tuple(dict.fromkeys((variants[0], variant)))


def version_of(make: str) -> str:
    """Version of an artifact: a key of the code that makes it."""
    return content_key.code_version(make)


def artifact_folder(root: Path, digest: str, name: str, variant: str) -> Path:
    """The folder of a variant of an artifact."""
    return entry(root, digest) / ARTIFACTS / folder_name(name, variant)


def folder_name(name: str, variant: str) -> str:
    """The name of the folder of a variant."""
    return f"{name}-{variant}" if variant else name


def seal(folder: Path, version: str) -> None:
    """Closes a folder that is complete.

    Raises:
        OSError: no room, or no permission.
    """
    from ...base.columnar.sealed import sealed

    files = {file.name: _ends(file) for file in sorted(folder.iterdir())}
    text = sealed({"version": version, "files": files})
    (folder / SEAL).write_text(text, encoding="ascii")


def is_whole(folder: Path, version: str) -> bool:
    """True if a folder is there as this version of the code made it."""
    from ...base.columnar.sealed import unsealed

    try:
        told = unsealed(content_key.read_regular(folder / SEAL, MOST_SEAL_BYTES).decode("ascii"))
        if told["version"] != version:
            return False
        return all(_ends(folder / name) == ends for name, ends in told["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def publish_artifact(folder: Path, root: Path, digest: str, version: str) -> None:
    """Move a sealed folder, which has the name of its place, to its place.

    Raises:
        OSError: no room, or no permission.
    """
    target = entry(root, digest) / ARTIFACTS / folder.name
    if is_whole(target, version):
        content_key.delete(folder)  # another process was first
        return
    remove(target, root)
    entry(root, digest).mkdir(mode=0o700, exist_ok=True)
    move_folder(folder, target)


def _ends(file: Path) -> list[int]:
    """Size, and the checksum of the ends."""
    with content_key.open_regular(file) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        crc = isal_zlib.crc32(stream.read(ENDS))
        stream.seek(max(size - ENDS, 0))
        return [size, isal_zlib.crc32(stream.read(ENDS), crc)]


# --- which folder, and how large it may grow ----------------------------------------------------

DIR_VARIABLE = "KINETOSCOPE_CACHE_DIR"
SIZE_VARIABLE = "KINETOSCOPE_CACHE_SIZE"
MOST_BYTES = 10 << 30
SHARE_OF_FREE = 0.1
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Answers of kinetoscope; may be deleted at any time.\n"
)
_SESSION = "kinetoscope-"


def open_cache(
    folder: str | None = None, limit_bytes: int | None = None, *, lasting: bool = False
) -> Cache:
    """The cache of this user, ready to use; never fails.

    ``folder`` and ``limit_bytes`` default to the environment (``KINETOSCOPE_CACHE_DIR``,
    ``KINETOSCOPE_CACHE_SIZE``, for example ``20GB``), then to the user's cache folder and the
    smaller of 10 GB and a tenth of the free disk. A folder for this session, in the system's
    temporary folder, is always second: it takes what the first cannot. ``close_session`` removes
    it. ``lasting``: without that one, for a program that soon ends.
    """
    chosen = folder or os.environ.get(DIR_VARIABLE) or user_folder("cache")
    root = Path(os.path.abspath(os.path.expanduser(chosen)))
    problem = _prepare(root)
    roots: tuple[Path, ...] = () if problem else (root,)
    if not lasting:
        roots += (_session_root(),)
    limit = _limit(roots[0] if roots else root) if limit_bytes is None else limit_bytes
    cache = Cache(roots, limit, problem)
    cache.sweep()
    if not lasting:
        _sweep_sessions()
    return cache


def close_session(cache: Cache) -> None:
    """Remove the cache of this session."""
    content_key.delete(cache.roots[-1])


def _session_root() -> Path:
    # Not made before it is needed; its name cannot be guessed and taken by others.
    return Path(temporary_folder()) / f"{_SESSION}{os.getpid()}-{os.urandom(8).hex()}"


def _sweep_sessions() -> None:
    """Remove session folders of this user's programs that were killed long ago."""
    for folder in Path(temporary_folder()).glob(f"{_SESSION}*-*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            ours = os.name != "posix" or status.st_uid == os.geteuid()
            old = time.time() - status.st_mtime > ABANDONED_SECONDS
            if ours and old and stat.S_ISDIR(status.st_mode) and not _is_running(folder.name):
                content_key.delete(folder)


def _is_running(name: str) -> bool:
    pid = name[len(_SESSION) :].partition("-")[0]
    if os.name != "posix" or not pid.isdecimal():
        return True  # cannot be told
    try:
        os.kill(int(pid), 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _prepare(root: Path) -> str:
    """Makes the folders of a cache; returns why it cannot be used, "" when it can."""
    try:
        for part in (root, root / ENTRIES, root / TMP):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = root.stat()
        if os.name == "posix" and status.st_uid != os.geteuid() and os.geteuid() != 0:
            return f"The cache folder {root} belongs to another user."
        if os.name == "posix" and status.st_mode & stat.S_IWOTH:
            return f"The cache folder {root} can be written by everybody."
        probe = root / TMP / f"probe-{os.urandom(8).hex()}"
        probe.write_bytes(b"")
        probe.unlink()
        tag = root / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(_TAG)
    except OSError as error:
        # A full disk may have room again later: only a folder that cannot be written is given up.
        if (
            not isinstance(error, PermissionError)
            and (root / TMP).is_dir()
            and os.access(root, os.W_OK)
        ):
            return ""
        return f"The cache folder {root} cannot be used: {error.strerror or error}."
    return ""


def _limit(root: Path) -> int:
    given = parse_size(os.environ.get(SIZE_VARIABLE, ""))
    if given is not None:
        return given
    while not root.exists() and root.parent != root:
        root = root.parent
    try:
        return min(MOST_BYTES, int(free_disk(root) * SHARE_OF_FREE))
    except OSError:
        return MOST_BYTES
