"""`RemoteWriter`: publishes traces into a folder of another machine, such as `s3://bucket/logs`.

A trace is packed in a folder of this machine first, and then sent. What could not be sent is kept
there, and sent with the next trace that goes through, of this process or of a later one:

    <temporary folder>/kinetoscope-sending-<user>/<digest of the address>/
        <worker>.<time>.pt.trace.json.gz       packed
        <mark of a process>/<worker>.…gz       being sent by that process, or kept by it
        <mark of a process>/.read/…            sent, and read once more for what goes beside it

What `outputs` write beside a trace goes the same way.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .naming import TraceName, is_trace_name, take_free_name
from .outputs import paths_beside
from .process import MARK, is_gone, process_mark
from .remote_address import RemoteAddress, RemoteError
from .remote_filesystem import ATOMIC, PAUSES_S, RemoteFilesystem
from .writer import LocalWriter, Publication, RemotePath

_log = logging.getLogger("kinetoscope.handlers")
_MOST_KEPT = 4
_MOST_BESIDE = 16
_READ = ".read"


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
        *,
        reads_back: bool = False,
    ) -> None:
        self.address = address
        self._reads_back = reads_back
        self._min_free_bytes = min_free_bytes
        self._remote = RemoteFilesystem(address, pauses_s)
        self._local: LocalWriter | None = None
        self._failed = False  # the last time: then one attempt must do

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(RemoteWriter, reads_back=self._reads_back)
        return make, (self.address, self._min_free_bytes)

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
            sent = self._send(mine, is_last=not self._reads_back)
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
        if self._reads_back:
            place = mine.parent / _READ / sent.name
            place.parent.mkdir(mode=0o700, exist_ok=True)
            mine.replace(place)
        self._send_kept()
        return sent

    @contextlib.contextmanager
    def read_back(self, published: Path) -> Iterator[Path]:
        """The published trace as a local file; files written beside it are sent, or kept."""
        sending = self._sending()
        place = sending / _READ / published.name
        try:
            yield place
        finally:
            place.unlink(missing_ok=True)
            for file in _files(place.parent):
                _claimed(file, sending / file.parent.relative_to(place.parent))
            shutil.rmtree(place.parent, ignore_errors=True)
            self._send_kept()

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
        """Files not sent yet, by this process or by one that has ended."""
        folder, mine = self._here().directory, self._sending()
        for entry in sorted(folder.iterdir()):
            with contextlib.suppress(OSError):  # another process is at it, too
                if entry.is_file() and not entry.name.startswith("."):
                    _claimed(entry, mine)
                elif entry != mine and re.fullmatch(MARK, entry.name) and is_gone(entry.name):
                    for file in _files(entry):
                        _claimed(file, mine / file.parent.relative_to(entry))
                    shutil.rmtree(entry)
        yield from _files(mine)

    def _drop_oldest(self) -> None:
        kept = sorted(_files(self._sending()), key=lambda file: file.stat().st_mtime_ns)
        traces = [file for file in kept if is_trace_name(file.name)]
        lost = traces[:-_MOST_KEPT]
        for file in lost:
            _log.error(
                "kinetoscope could not send %s to %s, and has no room to keep it: it is lost.",
                file.name,
                self.address.shown,
            )
        theirs = {path for trace in lost for path in paths_beside(trace).values()}
        beside = [file for file in kept if file not in traces and file not in theirs]
        for file in (*lost, *theirs, *beside[:-_MOST_BESIDE]):
            file.unlink(missing_ok=True)

    # --- there --------------------------------------------------------------------------------

    def _send_kept(self) -> None:
        """Send what waits; a failure leaves the rest there."""
        for file in self._kept():
            try:
                sent = self._send(file)
            except RemoteError as error:
                self._drop_oldest()
                _log.warning("kinetoscope could not send %s: %s", file.name, error)
                return
            if is_trace_name(file.name):
                _log.info("kinetoscope sent a profile that was kept: %s", sent)
        with contextlib.suppress(OSError):  # something is to be read back
            _remove_empty(self._sending())

    def _send(self, file: Path, *, is_last: bool = True) -> RemotePath:
        """Send a file under its name, or the next one that is free; the last use of it here."""
        size = file.stat().st_size
        below = file.parent.relative_to(self._sending()).as_posix()
        folder = self._remote.root if below == "." else f"{self._remote.root}/{below}"
        try:
            name = take_free_name(file.name, lambda name: self._put(file, f"{folder}/{name}", size))
        except FileExistsError as error:
            raise RemoteError(f"{self.address.shown}: {error}", "exists") from None
        if is_last:
            file.unlink(missing_ok=True)
        return RemotePath.of(self.address.shown, name, size)

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
                self._remote.call(attempt, once=self._failed, carries=size)
            except RemoteError as error:
                if error.reason != "refused" or put is not _put_new:
                    raise
                # A server that knows no conditions: two that choose one name at once could meet.
                put, tries = _put_unless_there, 0
                self._remote.call(attempt, once=self._failed, carries=size)
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
        if fs.exists(hidden):  # HDFS answers so when the name was taken meanwhile
            raise FileExistsError(target)
    except BaseException:
        with contextlib.suppress(OSError):
            fs.rm_file(hidden)
        raise


def _files(folder: Path) -> list[Path]:
    """Files of a folder to send; hidden files and folders are left out."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
    )


def _remove_empty(folder: Path) -> None:
    """Remove a folder and those in it. Raises OSError: there is a file."""
    for path in folder.iterdir():
        path.rmdir()
    folder.rmdir()


def _claimed(file: Path, folder: Path) -> Path | None:
    """The file, moved into a folder of this process; None when another process has it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / file.name
    try:
        file.rename(target)
    except FileNotFoundError:
        return None
    return target


def _own_folder() -> Path:
    """A folder in the system's temporary folder that only this user can read or write.

    Raises:
        PermissionError: it is a link, belongs to another user, or is open to others.
    """
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    folder = Path(tempfile.gettempdir()) / f"kinetoscope-sending-{user}"
    with contextlib.suppress(FileExistsError):  # what is there is looked at
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if os.name == "posix" and (
        not stat.S_ISDIR(status.st_mode) or status.st_uid != user or status.st_mode & 0o077
    ):
        raise PermissionError(
            f"{folder} is a link, belongs to another user, or is open to others; TMPDIR chooses "
            "another place"
        )
    return folder
