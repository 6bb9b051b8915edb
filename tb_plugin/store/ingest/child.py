"""A reading process, seen from the server: start it, send it jobs, get its messages, end it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

import msgspec

from ...base import machine
from ...base.native import native
from ...trace.scan.cursor import CPU_VARIABLE
from ..contract import ErrorInfo
from ..discovery.walk import shown
from . import resources
from .protocol import Changed, Command, Failed, Finished, Gone, MakeCommand, Message, ShareCommand
from .worker import BOOT

_ENVIRONMENT = {
    # One thread each: the processes are the parallelism.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # One malloc arena: what one thread frees is found again by another.
    "MALLOC_ARENA_MAX": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    **machine.SMALL_PAGES,
}
_LAST_SECONDS = 10.0  # for dumping core, or printing a traceback
_LAST_WORDS = 8000
_DECODER: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)

if sys.platform == "win32":
    _CREATION_FLAGS = subprocess.CREATE_NO_WINDOW | subprocess.BELOW_NORMAL_PRIORITY_CLASS
else:
    _CREATION_FLAGS = 0


def environment() -> dict[str, str]:
    """Environment variables of a reading process, in addition to the server's."""
    return {**_ENVIRONMENT, **(machine.KEPT_MEMORY if native().library else {})}


class Child:
    """A started reading process, for one thread to use; others may end it."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            OSError: no process can be started.
        """
        self.heard = time.monotonic()
        self.job_count = 0
        self._stderr: IO[bytes] | None = None
        with suppress(OSError):
            self._stderr = machine.temporary_file()
        self._process = subprocess.Popen(
            [_python(), "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr or subprocess.DEVNULL,
            env={**os.environ, **environment()},
            creationflags=_CREATION_FLAGS,
        )
        self._because: ErrorInfo | None = None
        self._job: Command | None = None
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._write(json.dumps(sys.path).encode())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def do(self, job: Command) -> Iterator[Message]:
        """Run a job and yield its messages; a last ``Failed`` when the process ends too early."""
        self.heard = time.monotonic()
        self.job_count += 1
        self._job = job
        self._write(msgspec.json.encode(job))
        for line in self._process.stdout or ():
            self.heard = time.monotonic()
            try:
                message = _DECODER.decode(line)
            except msgspec.DecodeError:  # half a line: it was killed
                continue
            yield message
            if isinstance(message, (Finished, Changed, Gone, Failed)):
                return
        yield self._how_it_ended()

    def share(self, command: ShareCommand) -> None:
        """Tell the process how many threads its job may use from now on."""
        self._write(msgspec.json.encode(command))

    def is_usable(self, most_jobs: int) -> bool:
        """True if the process may be given another file."""
        return self._process.poll() is None and self.job_count < most_jobs

    def end(self, because: ErrorInfo | None = None) -> None:
        """Kill the process; ``because`` is the error of the file that it was reading."""
        with self._lock:
            self._because = self._because or because
        with suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        """End the process and wait until it is gone."""
        self.end()
        self._process.wait()
        self._close_pipes()

    def _write(self, line: bytes) -> None:
        with suppress(OSError, ValueError), self._writing:  # dead already: found out by reading
            if self._process.stdin is not None:
                self._process.stdin.write(line + b"\n")
                self._process.stdin.flush()

    def _how_it_ended(self) -> Failed:
        try:
            code = self._process.wait(_LAST_SECONDS)
        except subprocess.TimeoutExpired:  # closed its output, and stays
            self._process.kill()
            code = self._process.wait()
        said = self._last_words()
        with self._lock:
            error = self._because or _how_it_died(code, said, self._job)
        return Failed("", error, said)

    def _last_words(self) -> str:
        if self._stderr is None:
            return ""
        with suppress(OSError):
            self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - _LAST_WORDS))
            return self._stderr.read().decode(errors="replace").strip()
        return ""

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _how_it_died(code: int, said: str, job: Command | None) -> ErrorInfo:
    again = "Retry; if it happens again, please report it with the log."
    if job is not None and code == -getattr(signal, "SIGXCPU", 0):
        path = os.fsdecode(job.path)
        bounds = job.bounds if isinstance(job, MakeCommand) else None
        limit = bounds.cpu_seconds if bounds else resources.cpu_seconds(path, job.size)
        return ErrorInfo(
            "cpu_limit",
            f"{shown(os.path.basename(path))} takes too long to read: reading was ended after"
            f" {limit} s of processor time, the limit for a file of its size.",
            f"Record fewer steps, or set {CPU_VARIABLE} (s per MB); please report the file.",
        )
    if code == -getattr(signal, "SIGKILL", 9):
        return ErrorInfo(
            "killed",
            "The system killed the process that read this file (SIGKILL), most often because memory"
            " ran out.",
            "Free memory and retry, or record fewer steps.",
        )
    if code < 0:
        name = next((s.name for s in signal.Signals if s == -code), f"signal {-code}")
        return ErrorInfo("crashed", f"The process that read this file crashed ({name}).", again)
    last = said.rpartition("\n")[2]
    return ErrorInfo(
        "crashed",
        f"The process that read this file ended with exit code {code}{': ' if last else '.'}{last}",
        again,
    )


def _python() -> str:
    # Who embeds Python tells it to multiprocessing, which Windows and framework builds adjust.
    if sys.platform == "linux" and "multiprocessing.spawn" not in sys.modules:
        return sys.executable
    from multiprocessing import spawn

    return os.fsdecode(spawn.get_executable() or sys.executable)
