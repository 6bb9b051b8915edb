"""The content key of a trace file: files with equal keys have equal results.

* Up to ``WHOLE`` bytes every byte counts and nothing else does: a copied, moved or touched file
  keeps its key, and any change of the content changes it. A compressed trace of several million
  events is below that.
* Above, the size, the time of the last change and evenly spread samples count (the ends among
  them): reading gigabytes twice would delay the first picture. A copy then has a key of its own,
  and so has a file that was edited in the middle, as long as its time stamp moves.
* The record of torch.compile beside a trace counts with it: a record that is copied there later is
  read. Recordings of a capture do not: they are traces with keys of their own, and what they lend
  is never stored with this one.
* The key covers the code that reads and summarizes: an upgrade never uses results of older code.

What the bytes of a larger file came to is noted in the cache, so that an unchanged file is not
hashed at every start. A note counts only while size, both time stamps, inode and device are those
that it was made with. The time of the last *change* is one of them, which the system sets at every
write and no program can set back. What is stamped by another machine's clock, or was changed so
lately that a further change could have the same stamp, is hashed every time.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib.util
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

try:  # hashlib has it from there, and loads OpenSSL besides
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from ... import base
from ...base.machine import ITERATIONS_VARIABLE
from ...trace.compile_record import record_hash
from ..discovery.walk import FileVersion
from ..ingest import resources

READER = f"{__package__.rpartition('.store.')[0]}.trace.read:read"
"""The function that reads a trace, by name, because it runs in other processes."""
WHOLE = 256 << 20
SAMPLES = 64
SAMPLE_BYTES = 64 << 10
_PIECE = 1 << 20
NOTES = "keys"  # the folder of the notes, in a root of the cache
NOTED = 1 << 20  # bytes: a smaller file is hashed sooner than its note is found
_CODE = (".py", ".so", ".pyd", ".dll", ".dylib", ".toml", ".json")
REST_SECONDS = 5.0  # coarse clocks of file systems tick every 2 s at most
NOTE_DAYS = 30.0
NOTE_BYTES = 64 << 10  # more than any note has


def _nothing() -> None:
    pass


def digest(
    path: str,
    identity: FileVersion,
    version: str,
    root: Path | None = None,
    before_first_hash: Callable[[], None] = _nothing,
) -> str:
    """32 hex digits for the content of a file, as read by the code of this ``version``.

    Notes of hashed files are kept below ``root``, a folder of the cache; None: there are none.
    ``before_first_hash`` is called where a note could be and is none: the file is probably new, and
    its bytes take a while to hash.

    Raises:
        OSError: the file cannot be read.
    """
    key = blake2b(f"{version}\0{identity.bytes}\0".encode(), digest_size=16)
    if record := record_hash(Path(path)):
        key.update(b"record\0" + record)
    if identity.bytes > WHOLE:
        key.update(f"{identity.modified_ns}\0".encode())
        with open(path, "rb") as file:
            for sample in range(SAMPLES):
                file.seek((identity.bytes - SAMPLE_BYTES) * sample // (SAMPLES - 1))
                key.update(file.read(SAMPLE_BYTES))
    else:
        key.update(_content(path, root if identity.bytes >= NOTED else None, before_first_hash))
    return key.hexdigest()


class HashedFile(msgspec.Struct, frozen=True):
    """The hash of a file's bytes, and the marks of the file when it was made."""

    marks: tuple[int, ...]
    content: str  # hex


def _content(
    path: str, root: Path | None, before_first_hash: Callable[[], None] = _nothing
) -> bytes:
    """The hash of all bytes of a file, from its note where there is one that counts."""
    before = os.stat(path)
    name = blake2b(os.fsencode(os.path.abspath(path)), digest_size=16).hexdigest()
    place = root / NOTES / f"{name}.json" if root and resources.has_local_clock(path) else None
    if place is not None:
        with contextlib.suppress(OSError, ValueError):
            note = msgspec.json.decode(read_regular(place, NOTE_BYTES), type=HashedFile)
            if note.marks == _marks(before):
                return bytes.fromhex(note.content)
    if place is not None:
        before_first_hash()
    content = blake2b(digest_size=32)
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            content.update(piece)
        after = os.fstat(file.fileno())
    if place is not None and _marks(after) == _marks(before) and _rests(after):
        write_note(place, HashedFile(_marks(after), content.hexdigest()))
    return content.digest()


def open_regular(path: Path) -> BinaryIO:
    """A file of a cache, opened to be read: others may have put a pipe or a device in its place.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, most: int) -> bytes:
    """The content of such a file.

    Raises:
        OSError: it cannot be read, is no regular file, or has more bytes than ``most``.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
        return file.read(most)


def delete(folder: Path) -> None:
    """Delete a folder as far as that is possible; most often it is empty, or not there."""
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return
    except OSError:
        import shutil  # with four modules of compression

        shutil.rmtree(folder, ignore_errors=True)


def _marks(status: os.stat_result) -> tuple[int, ...]:
    """Values that change when a file is modified or replaced."""
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return (status.st_size, *times, status.st_ino, status.st_dev)


def _rests(status: os.stat_result) -> bool:
    """True if a change from now on has another time stamp than the last one."""
    return time.time() - max(status.st_mtime, status.st_ctime) > REST_SECONDS


def write_note(place: Path, note: msgspec.Struct) -> None:
    """Put a note into its place, by one rename; without room or permission there is none."""
    half = place.with_name(f"{place.stem}-{os.urandom(4).hex()}.tmp")
    with contextlib.suppress(OSError):
        place.parent.mkdir(mode=0o700, exist_ok=True)
        half.write_bytes(msgspec.json.encode(note))
        os.replace(half, place)


def forget_old(root: Path) -> None:
    """Remove notes of long ago."""
    with contextlib.suppress(OSError):
        for note in (root / NOTES).iterdir():
            if time.time() - note.stat().st_mtime > NOTE_DAYS * 86400:
                note.unlink(missing_ok=True)


@functools.cache
def code_version(*callables: str, root: Path | None = None) -> str:
    """``code_version_now`` as it was when this program first asked: that of the code it runs."""
    return code_version_now(*callables, root=root)


def code_version_now(*callables: str, root: Path | None = None) -> str:
    """A key of the code of ``"module:function"`` names: of all source files of their packages.

    Those in folders inside a package count, too. Nobody has to remember to raise a number when a
    formula changes. ``base`` and this package count always. The key is noted below ``root``, a
    folder of the cache, as the hash of a large file is: a start only looks at the marks.
    """
    folders = {os.path.dirname(__file__), os.path.dirname(base.__file__)}
    own = os.environ.get(ITERATIONS_VARIABLE)  # it decides which ranges are steps
    unknown = [own] if own else []
    for name in callables:
        spec = importlib.util.find_spec(name.partition(":")[0])
        if spec is None or spec.origin is None or not os.path.isfile(spec.origin):
            unknown.append(name)
        else:
            folders.add(os.path.dirname(spec.origin))
    found = [(folder, path) for folder in sorted(folders) for path in _code_below(folder)]
    if root is None or not all(map(resources.has_local_clock, folders)):
        return _code_key(unknown, found)
    states = [os.stat(path) for _, path in found]
    marked = [(path, *_marks(state)) for (_, path), state in zip(found, states, strict=True)]
    marks = blake2b(repr((unknown, marked)).encode(errors="surrogateescape"), digest_size=16)
    place = root / NOTES / f"code-{marks.hexdigest()}.json"
    with contextlib.suppress(OSError, ValueError):
        return msgspec.json.decode(read_regular(place, NOTE_BYTES), type=HashedFile).content
    key = _code_key(unknown, found)
    if all(map(_rests, states)):
        write_note(place, HashedFile((), key))
    return key


def _code_key(unknown: Iterable[str], found: Iterable[tuple[str, str]]) -> str:
    key = blake2b("".join(unknown).encode(), digest_size=8)
    for folder, path in found:
        key.update(path[len(folder) + 1 :].replace(os.sep, "/").encode() + b"\0")
        with open(path, "rb") as file:
            key.update(file.read())
    return key.hexdigest()


def _code_below(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (f"{place}{os.sep}{name}" for name in sorted(names) if name.endswith(_CODE))
