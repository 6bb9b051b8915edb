"""How many cores and how much memory may this process use? What machine and container leave it.

``side_by_side`` runs independent steps of one computation on as many threads.

A control group may limit both, or any group above it; the least limit holds. Version 2 of the
groups has one tree, version 1 one tree for each kind of limit; a machine may have both.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:  # imported for the first steps: an answer that was kept needs none
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

_ROOT = Path("/")
THREADS_VARIABLE = "KINETOSCOPE_THREADS"
ITERATIONS_VARIABLE = "KINETOSCOPE_ITERATIONS"  # a form of names that mark iterations
MOST_THREADS = 64
_ASSUMED_MEMORY = 8 << 30  # where the system does not tell


def thread_count() -> int:
    """Threads on which one file may be read: as many as the user says, else as there are cores.

    ``KINETOSCOPE_THREADS`` says it. ``OMP_NUM_THREADS``, which batch systems set for all that runs
    in a job, is a limit: no more than that, and no more than there are cores.
    """
    if asked := _threads_by(THREADS_VARIABLE):
        return min(asked, MOST_THREADS)
    return min(core_count(), _threads_by("OMP_NUM_THREADS") or MOST_THREADS, MOST_THREADS)


def _threads_by(variable: str) -> int:
    """Number of threads in an environment variable; 0 if that is no number."""
    said = os.environ.get(variable, "").split(",")[0].strip()
    return int(said) if said.isdecimal() else 0


def core_count() -> int:
    """Cores this process may use."""
    try:
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    except OSError:
        cores = os.cpu_count() or 1
    return min(cores, _quota(int(time.monotonic()), _ROOT) or cores)


@lru_cache(maxsize=1)
def _quota(second: int, root: Path) -> int:  # noqa: ARG001  what it found is kept by both
    """Cores that the control groups leave; 0 where they limit nothing.

    Each step that may use more threads asks for it, and there are dozens of files to look for.
    """
    least = 0
    for group in _groups("cpu"):
        for quota, period in (
            _numbers(group / "cpu.max", 2),
            _numbers(group / "cpu.cfs_quota_us", 1) + _numbers(group / "cpu.cfs_period_us", 1),
        ):
            if quota and period:
                cores = max(1, round(quota / period))
                least = min(least or cores, cores)
    return least


def free_memory() -> int:
    """Bytes that can be used without taking memory in use, inside the container's limits.

    Files that were read lately fill a group's memory, too. They are no loss: what is inactive of
    them counts as free.
    """
    available = _named(_ROOT / "proc/meminfo", "MemAvailable:")
    free = available << 10 if available else _half_of_the_machine()
    for group in _groups("memory"):
        for limit, usage, cached in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.high", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            (most,), (used,) = _numbers(group / limit, 1), _numbers(group / usage, 1)
            if most is not None and used is not None:
                used -= min(used, _named(group / "memory.stat", cached) or 0)
                free = min(free, max(0, most - used))
    return free


def _groups(controller: str) -> Collection[Path]:
    """The control groups of this process that may have limits, and all above them; each once."""
    tree = _ROOT / "sys/fs/cgroup"
    found = [tree, tree / controller]  # in a container, these are its own
    try:
        lines = (_ROOT / "proc/self/cgroup").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        parts = Path(path.lstrip("/")).parts
        if (controllers and controller not in controllers.split(",")) or ".." in parts:
            continue
        for base in (tree / controllers, tree / controller) if controllers else (tree,):
            found += [base.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]
    return dict.fromkeys(found)


def _numbers(path: Path, count: int) -> list[int | None]:
    """The integers that a file of the kernel begins with; None for "max" and missing ones."""
    try:
        words = path.read_text(errors="replace").split()[:count]
    except OSError:
        words = []
    found = [int(word) if word.isdecimal() else None for word in words]
    return found + [None] * (count - len(found))


def _named(path: Path, name: str) -> int | None:
    """The number beside a name in a file of the kernel; None where it has none."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return None
    words = (line.split()[:2] for line in lines)
    return next((int(one[1]) for one in words if one[:1] == [name] and one[-1].isdecimal()), None)


def _half_of_the_machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):  # not everywhere is it told
        return _ASSUMED_MEMORY


def free_disk(folder: Path) -> int:
    """Bytes that this user may still write below a folder.

    Raises:
        OSError: the system does not tell.
    """
    if sys.platform == "win32":
        import shutil

        return shutil.disk_usage(folder).free
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def user_folder(kind: Literal["cache", "config"]) -> str:
    """This package's folder for cache or settings of the current user."""
    # By far the most frequent cases, for which nothing needs to be imported.
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        given, home = os.environ.get(f"XDG_{kind.upper()}_HOME", ""), os.environ.get("HOME", "")
        if given.startswith("/"):
            return f"{given.rstrip('/')}/kinetoscope"
        if not given and home.startswith("/"):
            return f"{home.rstrip('/')}/.{kind}/kinetoscope"
    import platformdirs

    # On Windows the folder of settings is below one of the author, that of the cache is not.
    if kind == "config":
        return platformdirs.user_config_dir("kinetoscope")
    return platformdirs.user_cache_dir("kinetoscope", False)


SMALL_PAGES: Mapping[str, str] = {"NUMPY_MADVISE_HUGEPAGE": "0"}
"""Most columns live for a moment: to clear them in pages of 2 MB costs more than it saves."""
KEPT_MEMORY: Mapping[str, str] = {
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
}
"""Memory that glibc keeps for the next column is not cleared again; all of it goes back with the
process. The reader in Python grows its columns, for which such memory has no room."""
_OPTIONS = (-1, -3)  # the same in malloc.h


MANY_OBJECTS = 100_000
"""New objects before a process of short life looks for garbage: what it makes mostly stays."""


def keep_memory() -> None:
    """Settings of malloc for this process, before it imports numpy: those of a reading process."""
    from .native import native

    os.environ.update({**SMALL_PAGES, **os.environ})
    if (library := native().library) is not None and sys.platform == "linux":
        with suppress(AttributeError):  # musl has none
            for option, value in zip(_OPTIONS, KEPT_MEMORY.values(), strict=True):
                library.mallopt(option, int(value))


_TEMPORARY = ("TMPDIR", "TEMP", "TMP")


def temporary_folder() -> str:
    """The system's folder for temporary files: that of ``tempfile``."""
    given = next(filter(None, map(os.environ.get, _TEMPORARY)), "/tmp")  # noqa: S108  as tempfile
    # By far the most frequent case. To import tempfile takes as long as to read a small file.
    if sys.platform == "linux" and "tempfile" not in sys.modules and given.startswith("/"):
        if os.path.isdir(given) and os.access(given, os.R_OK | os.W_OK | os.X_OK):
            return given
    import tempfile

    return tempfile.gettempdir()


def temporary_file() -> IO[bytes]:
    """A file without a name, to be written and read: it is gone when it is closed.

    Raises:
        OSError: there is no room, or no permission.
    """
    if sys.platform == "linux" and "tempfile" not in sys.modules:
        flags = os.O_RDWR | os.O_EXCL | os.O_CLOEXEC | os.O_TMPFILE
        with suppress(OSError):  # not every file system has files without names
            return os.fdopen(os.open(temporary_folder(), flags, 0o600), "w+b")
    import tempfile

    return tempfile.TemporaryFile()


# --- steps side by side ---------------------------------------------------------------------------


_here = threading.local()
"""``pool`` of a thread: the executor that runs the steps of its calls."""


def _join(pool: ThreadPoolExecutor | None) -> None:
    _here.pool = pool


@contextmanager
def threads_kept() -> Iterator[None]:
    """Inside, the threads of ``side_by_side`` wait for its next call and end with the last.

    To begin a thread takes longer than many of the steps. In a step, it is so anyway.
    """
    count = thread_count()
    if getattr(_here, "pool", None) is not None or count < 2:
        yield
        return
    from concurrent.futures import ThreadPoolExecutor

    # Of the count that was asked for: between two looks it may change, with the machine's load.
    pool: ThreadPoolExecutor = ThreadPoolExecutor(count - 1, initializer=lambda: _join(pool))
    _join(pool)
    try:
        yield
    finally:
        _join(None)
        pool.shutdown()


class _Steps:
    """The steps of one call; each is taken once, by any thread that came before the end."""

    def __init__(self, steps: Sequence[Callable[[], Any]]) -> None:
        self._steps = steps
        self._next = iter(range(len(steps)))
        self._changed = threading.Condition()
        self._threads = 0
        self._is_over = False
        self.results: list[Any] = [None] * len(steps)
        self.errors: dict[int, BaseException] = {}

    def run(self) -> None:
        """Take steps until none is left; behind one that failed, none begins."""
        with self._changed:
            if self._is_over:
                return
            self._threads += 1
        for at in self._next:
            if self.errors:
                break
            try:
                self.results[at] = self._steps[at]()
            except BaseException as error:  # noqa: BLE001  raised again where all were called
                self.errors[at] = error
        with self._changed:
            self._threads -= 1
            self._changed.notify_all()

    def finish(self) -> list[Any]:
        """Wait for the threads that came; their results, or the first error."""
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: not self._threads)
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results


def side_by_side(*steps: Callable[[], Any]) -> list[Any]:
    """The result of each step, in their order; it does not depend on the number of threads.

        this thread   a ▒▒▒▒▒▒▒▒▒▒ d ▒▒▒▒
        another       b ▒▒▒ c ▒▒▒▒▒

    The interpreter runs Python one thread at a time; what runs beside it are numpy's loops over
    many values and the native library. So it pays for steps over millions of rows. All steps of a
    call, those that they call among them, use no more than ``thread_count`` threads.

    Steps may not change what another one reads. Raises what the first of the steps that failed
    raised, when all that had begun are done.
    """
    call = _Steps(steps)
    with threads_kept():
        pool: ThreadPoolExecutor | None = getattr(_here, "pool", None)
        if pool is not None:
            with suppress(RuntimeError):  # the system refuses a thread: others take its steps
                for _ in range(min(len(steps), thread_count()) - 1):
                    pool.submit(call.run)
        call.run()
        return call.finish()


def each(answer: Callable[[T], Any], values: Sequence[T]) -> list[Any]:
    """``answer(value)`` of each value, side by side."""
    return side_by_side(*(lambda value=value: answer(value) for value in values))


PIECE = 1 << 17
"""Rows for which it pays to use one more thread."""


def pieces(count: int) -> list[slice]:
    """Parts of so many rows for several threads: as many as may be used, if there is enough."""
    parts = max(1, min(thread_count(), count // PIECE))
    bounds = [part * count // parts for part in range(parts + 1)]
    return [slice(low, high) for low, high in pairwise(bounds)]
