"""`RemoteWriter`: publishes traces into a folder of another machine, such as `s3://bucket/logs`.

A trace is packed in a folder of this machine first, and then sent. What could not be sent is kept
there, and sent with the next trace that goes through, of this process or of a later one:

    <temporary folder>/kinetoscope-sending-<user>/<digest of the address>/
        <worker>.<time>.pt.trace.json.gz       packed
        <mark of a process>/<worker>.…gz       being sent by that process, or kept by it
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .naming import TraceName
from .process import MARK, is_gone, process_mark
from .remote_address import ATOMIC, PAUSES_S, RemoteAddress, RemoteError, RemoteFilesystem
from .writer import LocalWriter, Publication, RemotePath

_log = logging.getLogger("kinetoscope.handlers")
_MOST_KEPT = 4
_MAX_NAME_TRIES = 100
_NAME = re.compile(r"(?P<worker>.+)\.(?P<time>\d+)\.pt\.trace\.json(?P<gz>\.gz)?", re.DOTALL)


class RemoteWriter:
    """Publishes into the folder of `address`.

    Object stores show a file whole or not at all; elsewhere it is sent under a hidden name, and
    renamed.
    """

    def __init__(
        self,
        address: RemoteAddress,
        min_free_bytes: int | None = None,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self.address = address
        self._min_free_bytes = min_free_bytes
        self._remote = RemoteFilesystem(address, pauses_s)
        self._local: LocalWriter | None = None
        self._failed = False  # the last time: then one attempt must do

    def __reduce__(self) -> tuple[type[RemoteWriter], tuple[RemoteAddress, int | None]]:
        return RemoteWriter, (self.address, self._min_free_bytes)

    def stage(self, name: TraceName) -> Path:
        """A hidden file of this machine. Raises OSError."""
        return self._here().stage(name)

    def discard(self, staged: Path) -> None:
        """Remove it after a failed export."""
        self._here().discard(staged)

    def place(self, name: TraceName) -> RemotePath:
        """Where a trace of this name will be, if the name is free."""
        return RemotePath.of(self.address.shown, name.file_name)

    def publish(self, publication: Publication) -> Path:
        """Pack the trace here, and send it.

        Raises:
            OSError: it could not be packed; RemoteError: it could not be sent, and is kept.
        """
        packed = self._here().publish(publication)
        mine = _claimed(packed, self._sending())
        if mine is None:  # another process of this machine found it, and sends it
            return packed
        try:
            sent = self._send(mine)
        except RemoteError as error:
            self._failed = True
            self._drop_oldest()
            raise RemoteError(
                f"{error.message}. The trace is kept in {mine.parent}, and sent with the next one "
                "that goes through",
                error.reason,
                error.hint,
            ) from None
        self._failed = False
        self._send_kept()
        with contextlib.suppress(OSError):  # something was kept after all
            self._sending().rmdir()
        return sent

    def remove(self, published: Path) -> None:
        """Remove a trace that was published. One that is gone is no error."""
        target = f"{self._remote.root}/{published.name}"
        try:
            self._remote.call(lambda fs: fs.rm_file(target))
        except RemoteError as error:
            if error.reason != "missing":
                raise

    # --- here ---------------------------------------------------------------------------------

    def _here(self) -> LocalWriter:
        """The writer into the folder of this machine from which traces are sent."""
        folder = _own_folder() / hashlib.sha256(self.address.url.encode()).hexdigest()[:16]
        if self._local is None or self._local.directory != folder:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._local = LocalWriter(folder, self._min_free_bytes)
        return self._local

    def _sending(self) -> Path:
        folder = self._here().directory / process_mark()
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _kept(self) -> Iterator[Path]:
        """Traces that were not sent: by this process, or by one that has ended."""
        folder, mine = self._here().directory, self._sending()
        for entry in sorted(folder.iterdir()):
            with contextlib.suppress(OSError):  # another process is at it, too
                if entry.is_file() and _NAME.fullmatch(entry.name) and entry.name[0] != ".":
                    _claimed(entry, mine)
                elif entry != mine and re.fullmatch(MARK, entry.name) and is_gone(entry.name):
                    for file in sorted(entry.iterdir()):
                        _claimed(file, mine)
                    entry.rmdir()
        yield from sorted(mine.iterdir())

    def _drop_oldest(self) -> None:
        kept = sorted(self._sending().iterdir(), key=lambda file: file.stat().st_mtime_ns)
        for file in kept[:-_MOST_KEPT]:
            file.unlink(missing_ok=True)
            _log.error(
                "kinetoscope could not send %s to %s, and has no room to keep it: it is lost.",
                file.name,
                self.address.shown,
            )

    # --- there --------------------------------------------------------------------------------

    def _send_kept(self) -> None:
        """Send what earlier failures left; a further failure leaves it there."""
        for file in self._kept():
            try:
                sent = self._send(file)
            except RemoteError as error:
                _log.warning("kinetoscope could not send %s: %s", file.name, error)
                return
            _log.info("kinetoscope sent a profile that was kept: %s", sent)

    def _send(self, file: Path) -> RemotePath:
        """Send a file under its name, or the next one that is free, and remove it here."""
        name, size = file.name, file.stat().st_size
        for _ in range(_MAX_NAME_TRIES):
            target = f"{self._remote.root}/{name}"
            if not self._put(file, target, size):
                name = _following(name)
                continue
            file.unlink(missing_ok=True)
            return RemotePath.of(self.address.shown, name, size)
        raise RemoteError(f"{self.address.shown}: no free name up to {name}", "exists")

    def _put(self, file: Path, target: str, size: int) -> bool:
        """True if the file is there now; False if the name is taken."""
        put = _put_new if self.address.protocol in ATOMIC else _put_and_rename
        tries = 0

        def attempt(fs: Any) -> None:  # noqa: ANN401  # fsspec carries no types
            nonlocal tries
            tries += 1
            put(fs, file, target)

        try:
            try:
                self._remote.call(attempt, once=self._failed)
            except RemoteError as error:
                if error.reason != "refused" or put is not _put_new:
                    raise
                # A server that knows no conditions: two that choose one name at once could meet.
                put, tries = _put_unless_there, 0
                self._remote.call(attempt, once=self._failed)
        except RemoteError as error:
            if error.reason != "exists":
                raise
            # An earlier attempt may have succeeded although its answer was lost.
            return tries > 1 and self._remote.call(partial(_size_of, path=target)) == size
        return True


def _put_new(fs: Any, file: Path, target: str) -> None:  # noqa: ANN401
    fs.put_file(str(file), target, mode="create")


def _size_of(fs: Any, path: str) -> object:  # noqa: ANN401
    return fs.info(path).get("size")


def _put_unless_there(fs: Any, file: Path, target: str) -> None:  # noqa: ANN401
    if fs.exists(target):
        raise FileExistsError(target)
    fs.put_file(str(file), target)


def _put_and_rename(fs: Any, file: Path, target: str) -> None:  # noqa: ANN401
    folder, _, name = target.rpartition("/")
    fs.makedirs(folder, exist_ok=True)
    if fs.exists(target):
        raise FileExistsError(target)
    hidden = f"{folder}/.{name}.{secrets.token_hex(4)}.tmp"
    try:
        fs.put_file(str(file), hidden)
        fs.mv(hidden, target)
    except BaseException:
        with contextlib.suppress(OSError):
            fs.rm_file(hidden)
        raise


def _following(name: str) -> str:
    match = _NAME.fullmatch(name)
    if match is None:
        return f"{name}.1"
    return TraceName(match["worker"], int(match["time"]) + 1, bool(match["gz"])).file_name


def _claimed(file: Path, folder: Path) -> Path | None:
    """The file, moved into a folder of this process; None when another process has it."""
    target = folder / file.name
    try:
        file.rename(target)
    except FileNotFoundError:
        return None
    return target


def _own_folder() -> Path:
    """A folder in the system's temporary one that nobody else can write or read."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"kinetoscope-sending-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if os.name == "posix" and (
        not stat.S_ISDIR(status.st_mode) or status.st_uid != user or status.st_mode & 0o077
    ):
        raise PermissionError(f"{folder} belongs to somebody else, or is open to others")
    return folder
