"""Copies of remote files in the cache: a file that is read lies on this machine.

    <root>/copies/<digest><suffix>        a whole file
    <root>/copies/<digest>-head<suffix>   its beginning, by which it is judged
    <root>/copies/<digest>.compile.json.gz  the record of torch.compile beside a trace
    <root>/copies/<digest>-<token>.part   on its way

The digest is of the address and the version (size, etag, time) of a file, and of the record beside
it: a changed file has another one, and no name from outside becomes a path. What was used longest
ago goes when there is too much.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeAlias

from ...base.units import size as size_text
from ...handlers.remote_address import RemoteError
from ...handlers.remote_filesystem import CutOffError
from ...trace.compile_record import MOST_BYTES, record_name
from ...trace.io.folded import FOLDED
from ..cache.disk import Cache
from .listing import RemoteObject

COPIES = "copies"
AT_ONCE = 4
"""Files that are copied at the same time."""
HEADS_AT_ONCE = 8
HEAD_BYTES = 256 << 10
RESERVE_BYTES = 64 << 20  # left free on the disk
USED_EVERY_SECONDS = 3600.0
FRESH_SECONDS = 600.0
ABANDONED_SECONDS = 24 * 3600.0
_SUFFIXES = (".json.gz", ".json", ".pftrace", ".perfetto-trace", ".gz", ".pickle", ".zst", *FOLDED)

OnBytes: TypeAlias = Callable[[int, int], None]
"""Called with the bytes that are there, and all bytes."""


class ChangedMeanwhileError(RemoteError):
    """The file is another one than the one that was listed."""


class Copies:
    """Copies of remote files. Methods may be called from several threads."""

    def __init__(self, cache: Cache) -> None:
        self._folder = cache.roots[0] / COPIES
        self._limit_bytes = cache.limit_bytes
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._unread: dict[str, OSError] = {}  # heads that could not be fetched

    def place(self, found: RemoteObject) -> Path:
        """The path of the copy, whether it is there or not."""
        return self._folder / _name(found)

    def has(self, found: RemoteObject) -> bool:
        """True if the copy is there."""
        return self.place(found).is_file()

    def bring(
        self,
        found: RemoteObject,
        on_bytes: OnBytes = lambda _done, _total: None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Path:
        """The copy; made when it is missing.

        Raises:
            RemoteError: the file cannot be fetched, has changed, or is no longer wanted.
            OSError: this machine has no room for it.
        """
        place = self.place(found)
        with self._locks[place.name]:
            if not place.is_file():
                self._fetch_record(found, place)
                self._fetch(found, place, on_bytes, is_wanted)
                self._trim()
            _use(place)
        return place

    def head(self, found: RemoteObject) -> Path:
        """The beginning of a file, or its copy.

        Raises:
            OSError: it cannot be fetched; RemoteError says why.
        """
        name = _name(found)
        whole = self._folder / name
        if whole.is_file():
            return whole
        place = self._folder / _name(found, "-head")
        if place.is_file():
            return place
        known = self._unread.pop(name, None)
        if known is not None:
            raise known
        end = min(found.bytes, HEAD_BYTES)
        data = found.filesystem.call(lambda fs: fs.cat_file(found.path, start=0, end=end))
        self._make_folder()
        part = self._part(found)
        part.write_bytes(data[:HEAD_BYTES])
        part.replace(place)
        return place

    def bring_heads(self, every: Sequence[RemoteObject], seconds: float | None = None) -> None:
        """Fetch the beginnings of several files at the same time; ``head`` tells what went wrong.

        What is not there after ``seconds`` comes later.
        """
        missing = [one for one in every if not self._has_head(one)]
        if not missing:
            return
        pool = ThreadPoolExecutor(HEADS_AT_ONCE, "kinetoscope-heads")
        try:
            wait([pool.submit(self._try_head, one) for one in missing], seconds)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _has_head(self, found: RemoteObject) -> bool:
        places = (_name(found), _name(found, "-head"))
        return any((self._folder / name).is_file() for name in places)

    def _try_head(self, found: RemoteObject) -> None:
        try:
            self.head(found)
        except OSError as error:
            self._unread[_name(found)] = error

    def _fetch(
        self, found: RemoteObject, place: Path, on_bytes: OnBytes, is_wanted: Callable[[], bool]
    ) -> None:
        self._make_folder()
        free = shutil.disk_usage(self._folder).free
        if free < found.bytes + RESERVE_BYTES:
            text = f"no room for a copy of {size_text(found.bytes)} ({size_text(free)} are free)"
            raise OSError(errno.ENOSPC, text, str(self._folder))
        part = self._part(found)

        def fetch(fs: Any) -> None:  # noqa: ANN401  # fsspec carries no types
            if not is_wanted():
                raise RemoteError(f"{found.shown}: no longer wanted", "refused")
            on_bytes(0, found.bytes)
            fs.get_file(found.path, str(part), callback=_callback(found, on_bytes, is_wanted))
            fs.invalidate_cache()
            if not found.is_same(fs.info(found.path)):
                raise ChangedMeanwhileError(f"{found.shown}: it changed meanwhile", "refused")
            # Bytes that were sent compressed may have become more, but never fewer.
            if os.path.getsize(part) < found.bytes:
                raise CutOffError(f"{os.path.getsize(part)} of {found.bytes} bytes came")

        try:
            found.filesystem.call(fetch, carries=found.bytes)
            part.chmod(0o600)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)

    def _fetch_record(self, found: RemoteObject, place: Path) -> None:
        """Fetch the record of torch.compile that lies beside a trace; most have none."""
        name, own = record_name(found.name), record_name(place.name)
        if name is None or own is None:
            return
        beside = f"{found.path[: -len(found.name)]}{name}"
        self._make_folder()
        part = self._part(found)

        def fetch(fs: Any) -> bool:  # noqa: ANN401  # fsspec carries no types
            is_there = fs.exists(beside) and int(fs.size(beside) or 0) <= MOST_BYTES
            if is_there:
                fs.get_file(beside, str(part))
            return bool(is_there)

        with contextlib.suppress(OSError):  # the trace says that its record is not there
            if found.filesystem.call(fetch, once=True):
                part.chmod(0o600)
                part.replace(place.with_name(own))
        part.unlink(missing_ok=True)

    def _make_folder(self) -> None:
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.mkdir(mode=0o700, exist_ok=True)

    def _part(self, found: RemoteObject) -> Path:
        return self._folder / f"{_digest(found)}-{secrets.token_hex(4)}.part"

    def _trim(self) -> None:
        """Remove the least recently used copies, down to the limit, and unfinished ones."""
        now = time.time()
        files = []
        for file in self._folder.iterdir():
            with contextlib.suppress(OSError):
                status = file.stat()
                used = max(status.st_atime, status.st_ctime)
                if file.suffix == ".part" and now - status.st_mtime > ABANDONED_SECONDS:
                    file.unlink()
                elif file.suffix != ".part":
                    files.append((used, status.st_size, file))
        total = sum(size for _, size, _ in files)
        for used, size, file in sorted(files):
            if total <= self._limit_bytes or now - used < FRESH_SECONDS:
                break
            with contextlib.suppress(OSError):
                file.unlink()
                total -= size


def _digest(found: RemoteObject) -> str:
    address = found.filesystem.address
    told = (address.protocol, address.url.partition("/")[0], found.path, found.bytes)
    version = found.modified_ns, found.tag, *filter(None, [found.record])
    text = "\0".join(map(str, (*told, *version)))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def _name(found: RemoteObject, which: str = "") -> str:
    """Digest and a suffix that shows the type of the file."""
    lower = found.name.lower()
    suffix = next((one for one in _SUFFIXES if lower.endswith(one)), "")
    return f"{_digest(found)}{which}{suffix}"


def _use(place: Path) -> None:
    """Remember that a copy was used; the time of its last change stays."""
    with contextlib.suppress(OSError):
        status = place.stat()
        if time.time() - status.st_atime > USED_EVERY_SECONDS:
            os.utime(place, ns=(time.time_ns(), status.st_mtime_ns))


def _callback(found: RemoteObject, on_bytes: OnBytes, is_wanted: Callable[[], bool]) -> Any:  # noqa: ANN401
    from fsspec.callbacks import Callback

    class Progress(Callback):  # type: ignore[misc]  # fsspec carries no types
        def call(self, *_: object, **__: object) -> None:
            if not is_wanted():
                raise RemoteError(f"{found.shown}: no longer wanted", "refused")
            on_bytes(self.value, self.size or found.bytes)

    return Progress()
