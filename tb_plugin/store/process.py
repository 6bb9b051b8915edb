"""A reading process, seen from the server: start it, listen to it, end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import spawn
from typing import IO

import msgspec

from .catalog_types import ErrorInfo
from .messages import Failed, Job, Message
from .worker import BOOT

# One thread each: the processes are the parallelism. Few malloc arenas: freed memory goes back.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONUNBUFFERED": "",
}
_LAST_SECONDS = 10.0  # for dumping core, or printing a traceback
_DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


class Child:
    """One started reading process. ``messages`` is to be read by one thread until it ends."""

    def __init__(self, job: Job) -> None:
        """Start it.

        Raises:
            OSError: no process can be started.
        """
        self._stderr: IO[bytes] | None = None
        with suppress(OSError):
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        self._process = subprocess.Popen(
            [_python(), "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr or subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
            creationflags=_CREATION_FLAGS,
        )
        self.heard = time.monotonic()
        self._ended_because: ErrorInfo | None = None
        self._lock = threading.Lock()
        assert self._process.stdin is not None
        with suppress(OSError):  # dead already: found out by reading
            self._process.stdin.write(msgspec.json.encode(job) + b"\n")
            self._process.stdin.flush()

    @property
    def pid(self) -> int:
        return self._process.pid

    def messages(self) -> Iterator[Message]:
        """Every message until the process ends."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.heard = time.monotonic()
            with suppress(msgspec.DecodeError):  # half a line of one that was killed
                yield _DECODER.decode(line)

    def end(self, because: ErrorInfo | None = None) -> None:
        """Kills the process; ``because`` is what its file is told."""
        with self._lock:
            self._ended_because = self._ended_because or because
        with suppress(OSError):
            self._process.kill()

    def wait(self) -> Failed | None:
        """How it ended, once ``messages`` is exhausted: None when it ended well, or was ended without a reason."""
        try:
            code = self._process.wait(_LAST_SECONDS)
        except subprocess.TimeoutExpired:  # closed its output, and stays
            self._process.kill()
            code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        said = self._last_words()
        with self._lock:
            if self._ended_because is not None:
                return Failed("", self._ended_because, "")
        return None if code == 0 else Failed("", _how_it_died(code, said), said)

    def _last_words(self) -> str:
        if self._stderr is None:
            return ""
        with self._stderr as file, suppress(OSError):
            file.seek(max(0, file.seek(0, os.SEEK_END) - 8000))
            return file.read().decode(errors="replace").strip()
        return ""


def _how_it_died(code: int, said: str) -> ErrorInfo:
    last = said.rpartition("\n")[2]
    if code == -getattr(signal, "SIGKILL", 9):
        return ErrorInfo(
            "killed",
            "The system killed the process that read this file (SIGKILL), most often because memory ran out.",
            "Free memory and retry, or record fewer steps.",
        )
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return ErrorInfo(
            "crashed",
            f"The process that read this file crashed ({name}).",
            "Retry; if it happens again, please report it with the log.",
        )
    return ErrorInfo(
        "crashed",
        f"The process that read this file ended with exit code {code}"
        + (f": {last}" if last else "."),
        "Retry; if it happens again, please report it with the log.",
    )


def _python() -> str:
    # Knows better than sys.executable where Python is embedded.
    found = spawn.get_executable() or sys.executable
    return os.fsdecode(found)


if sys.platform == "win32":
    _CREATION_FLAGS = subprocess.CREATE_NO_WINDOW | subprocess.BELOW_NORMAL_PRIORITY_CLASS
else:
    _CREATION_FLAGS = 0
