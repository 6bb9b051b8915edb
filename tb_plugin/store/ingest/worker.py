"""The reading process: a trace file in; a summary, columns and artifacts on disk out.

Started by ``child.py`` as ``python -c BOOT``. The first line of its input is the module path of the
server, every further one a ``ReadCommand``, ``MakeCommand`` or ``ShareCommand``; the end of its
input ends the process. Its output is ``Message`` lines.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from ...base.artifact_spec import load_callable
from ...base.errors import KinetoscopeError
from ...base.machine import THREADS_VARIABLE
from ...trace.health_record import HealthRecord
from ..cache import artifacts
from ..cache.artifacts import Making, Target, make_missing
from ..cache.disk import (
    Cache,
    encode_summary,
    first_that_takes,
    publish_columns,
    publish_summary,
    with_path,
)
from ..contract import StepFigures
from ..discovery.walk import FileVersion, shown
from . import resources
from .protocol import (
    Changed,
    Command,
    Failed,
    Finished,
    Gone,
    MakeCommand,
    Message,
    Progressed,
    ReadCommand,
    ShareCommand,
    Summarized,
    info_of,
)

if TYPE_CHECKING:
    from ...trace.model import Trace
    from ...trace.raw import Progress


def rank_of(summary: msgspec.Struct) -> int | None:
    """The rank in a summary."""
    rank = getattr(summary, "rank", None)
    return rank if isinstance(rank, int) else None


def process_of(summary: msgspec.Struct) -> tuple[str, int | None]:
    """Host and number of the process in a summary; "" and None for unknown."""
    node = getattr(summary, "host_name", None)
    process = getattr(getattr(summary, "recording", None), "process", None)
    return node or "", process or None


def job_of(summary: msgspec.Struct) -> str:
    """Name of the job in a summary; "" for unknown."""
    return getattr(getattr(summary, "recording", None), "job", "")


def truncation_of(summary: msgspec.Struct) -> str:
    """The health note that the file ends before the recording did, else ""."""
    health = getattr(summary, "health", None)
    note = health.cut if isinstance(health, HealthRecord) else None
    return f"{note.title}. {note.consequence}" if note else ""


_EARLIEST_NS = 45 * 31_556_952 * 10**9  # 2015: an earlier start is no wall clock


def steps_of(summary: msgspec.Struct) -> StepFigures | None:
    """Median and number of the steps, script and start; None for a recording without steps."""
    times = getattr(summary, "step_times_ns", ())
    if not times:
        return None
    ordered, began = sorted(times), getattr(summary, "base_ns", 0)
    return StepFigures(
        median_ns=(ordered[(len(times) - 1) // 2] + ordered[len(times) // 2]) / 2,
        count=len(times),
        script=getattr(summary, "script", ""),
        recorded=began / 1e9 if began > _EARLIEST_NS else 0.0,
    )


if sys.platform != "win32":
    import resource


# Run with -c: no file of the server's program is imported, whatever the server is. The empty entry,
# the working directory, goes first: a file of the user's must not replace a module. A server that
# ends before it has said anything leaves an empty pipe, at which there is nothing to wait for.
# Modules are no garbage: to look for some while they are imported is a tenth of the start.
BOOT = (
    "import gc; gc.disable(); "
    "import sys; sys.path[:] = [p for p in sys.path if p]; import json, os; "
    "line = b''.join(iter(lambda: os.read(0, 1) or os._exit(0), b'\\n')); "
    "sys.path[:] = json.loads(line); "
    f"from {__package__}.worker import main; main()"
)

REPORT_SECONDS = 0.1
NICENESS = 10


def main() -> None:
    """Do one job after the other, until the server closes the input."""
    faulthandler.enable()
    _step_back()
    jobs: SimpleQueue[Command] = SimpleQueue()
    with _own_stdout() as out:
        threading.Thread(target=_listen, args=(jobs,), daemon=True).start()
        # Every job needs it. While the server still hashes a new file, this process has to wait.
        import numpy as np  # noqa: F401

        while True:
            job = jobs.get()
            say = Reporter(out).say
            try:
                if isinstance(job, MakeCommand):
                    make(job, say)
                else:
                    work(job, say)
            except BrokenPipeError:
                os._exit(0)
            except Exception as error:  # noqa: BLE001  the boundary of one trace
                changed = isinstance(job, ReadCommand) and _changed(job)
                say(Changed() if changed else failure(error))


def work(job: ReadCommand, say: Callable[[Message], None]) -> None:
    """Read, summarize and store one trace, and report progress."""
    began = time.monotonic()

    def on_progress(progress: Progress) -> None:
        say(Progressed(progress.phase, progress.bytes_done, progress.bytes_total, progress.events))

    path = os.fsdecode(job.path)
    bound_cpu(resources.cpu_seconds(path, job.size))
    read, summarize = load_callable(job.read), load_callable(job.summarize)
    collect_garbage()
    trace: Trace = read(path, on_progress)
    events = trace.health.events
    say(Progressed("summarizing", job.size, job.size, events))
    summary = with_path(summarize(trace), path)
    if _changed(job):
        say(Changed())
        return
    seconds = time.monotonic() - began
    stored = encode_summary(shown(path), job.size, events, seconds, summary)
    roots = [Path(os.fsdecode(root)) for root in job.roots]
    place = (job.token, job.digest)
    kept, note = first_that_takes(roots, lambda r: publish_summary(stored, r, *place))
    say(Summarized("" if kept else msgspec.json.encode(stored).decode(), note))
    say(Progressed("caching", job.size, job.size, events))
    kept, note = first_that_takes(roots, lambda r: publish_columns(trace, r, *place))
    say(Finished(kept, note))


def collect_garbage() -> None:
    """Collect garbage from now on, but skip imported modules."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def bound_cpu(seconds: int | None) -> None:
    """Limit the further processor time of this process; None: no limit."""
    if sys.platform == "win32":
        return
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    soft = most
    if seconds is not None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
        soft = soft if most == resource.RLIM_INFINITY else min(soft, most)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, most))


def make(job: MakeCommand, say: Callable[[Message], None]) -> None:
    """Make an artifact of the stored columns of a trace, and the variants before it."""
    say(Progressed("preparing", 0, job.size, 0))
    bound_cpu(job.bounds.cpu_seconds if job.bounds else None)
    roots = tuple(Path(os.fsdecode(root)) for root in job.roots)
    trace = Cache(roots, 0).load_trace(job.digest, os.fsdecode(job.path))
    if trace is None:
        say(Gone())
        return
    version, events = artifacts.version_of(job.make), trace.health.events
    making = Making(load_callable(job.make), version, job.name, job.variants, job.argument)
    collect_garbage()

    def on_share(share: float) -> None:
        say(Progressed("preparing", int(share * job.size), job.size, events))

    def store(root: Path) -> None:
        make_missing(trace, making, Target(root, job.digest, job.token), on_share)

    with bound_memory(job.bounds.memory_bytes if job.bounds else None):
        kept, note = first_that_takes(roots, store)
    say(Finished(kept, note))


@contextmanager
def bound_memory(more: int | None) -> Iterator[None]:
    """Limit the memory of this process to its present size plus ``more``; None: no limit."""
    if sys.platform != "linux" or more is None:
        yield
        return
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    before = resource.getrlimit(resource.RLIMIT_DATA)
    soft = used * resource.getpagesize() + more
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (soft, before[1]))
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, before)


def failure(error: Exception) -> Failed:
    """An exception as a message; errors meant for users carry no traceback."""
    meant = isinstance(error, KinetoscopeError)
    text = "" if meant else "".join(traceback.format_exception(error))[-8000:]
    return Failed(type(error).__name__ if meant else "", info_of(error), text)


class Reporter:
    """Writes messages; progress at most a few times a second."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._phase = ""
        self._next = 0.0

    def say(self, message: Message) -> None:
        if isinstance(message, Progressed):
            now = time.monotonic()
            if message.phase == self._phase and now < self._next:
                return
            self._phase, self._next = message.phase, now + REPORT_SECONDS
        self._out.write(msgspec.json.encode(message) + b"\n")
        self._out.flush()


def _changed(job: ReadCommand) -> bool:
    if job.as_is:
        return False
    try:
        now = FileVersion.of(os.stat(job.path))
    except OSError:
        return True
    return now != FileVersion(job.size, job.modified_ns)


def _step_back() -> None:
    """Lower the priority of this process: training on this machine comes first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server; it ends us
    with suppress(OSError, AttributeError):
        os.nice(NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800")


def _listen(jobs: SimpleQueue[Command]) -> None:
    """Take jobs from the input; the process ends when the input does.

    The server may have died, or not want the answer any more. Taking millions of objects apart one
    by one helps no user, so there is no orderly end.
    """
    threads = _Threads()
    decoder: msgspec.json.Decoder[Command | ShareCommand] = msgspec.json.Decoder(
        ReadCommand | MakeCommand | ShareCommand
    )
    rest = b""
    try:
        while piece := os.read(0, 1 << 16):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                command = decoder.decode(line)
                threads.follow(command)
                if not isinstance(command, ShareCommand):
                    jobs.put(command)
    finally:
        os._exit(0)


class _Threads:
    """The number of threads that this process may use, as the commands say it."""

    def __init__(self) -> None:
        self._token = ""
        self._share = ShareCommand("", 1)

    def follow(self, command: Command | ShareCommand) -> None:
        """Store a share that may arrive before its job, or after its job has ended."""
        if isinstance(command, ShareCommand):
            self._share = command
        else:
            self._token = command.token
        told = self._share if self._share.token == self._token else command
        if told.token == self._token:
            # What is left of the user's own number.
            os.environ[THREADS_VARIABLE] = str(told.threads)


@contextmanager
def _own_stdout() -> Iterator[BinaryIO]:
    """The real standard output; other output goes to standard error instead."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        yield out
    finally:
        with suppress(OSError):
            out.close()
