"""Messages between the server and a reading process: one JSON line each.

``Pace`` turns them into the progress of a file, with an estimate of the rest.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from ...base import errors
from ...base.artifact_spec import ReadBounds
from ...handlers.remote_address import RemoteError
from ..contract import ErrorInfo, ReadProgress


class ReadCommand(Struct, frozen=True, tag="read"):
    """One file to read."""

    path: bytes  # as the system writes it: it need not be text
    size: int
    threads: int  # on which it may be read
    modified_ns: int
    digest: str
    as_is: bool  # read it although it changes meanwhile
    token: str  # name of its temporary folder below each root
    roots: list[bytes]  # where results may go, best first
    read: str  # "module:function", (path, on_progress) → Trace
    summarize: str  # "module:function", (Trace) → Struct


class MakeCommand(Struct, frozen=True, tag="make"):
    """An artifact to make of the stored columns of a file."""

    path: bytes
    size: int
    threads: int
    digest: str
    token: str
    roots: list[bytes]  # where the columns may be, and where the artifact may go, best first
    make: str  # "module:function", (trace, folder, on_share[, variant])
    name: str
    variants: list[str]  # those that must be there, in the order in which they are made
    argument: str
    bounds: ReadBounds | None


class ShareCommand(Struct, frozen=True, tag="share"):
    """From now on the job of this token may use so many threads: another one began, or ended."""

    token: str
    threads: int


Command: TypeAlias = ReadCommand | MakeCommand


class Progressed(Struct, frozen=True, tag="progress"):
    """Progress of the current job."""

    phase: str
    bytes_done: int
    bytes_total: int
    events: int


class Summarized(Struct, frozen=True, tag="summary"):
    """The summary is there: in a file, or in ``text`` where that failed."""

    text: str
    note: str  # why it is not where it belongs


class Finished(Struct, frozen=True, tag="done"):
    """The columns, or the artifact, are stored, or could not be stored."""

    is_kept: bool
    note: str  # why not, or why not where they belong


class Gone(Struct, frozen=True, tag="gone"):
    """The columns are missing or damaged: the file has to be read again."""


class Changed(Struct, frozen=True, tag="changed"):
    """The file was replaced, or grew, while it was read: nothing was stored."""


class Failed(Struct, frozen=True, tag="failed"):
    """No result: an exception, or the end of the process."""

    cls: str  # name of a class of base.errors, "" for any other exception
    error: ErrorInfo
    traceback: str


Message: TypeAlias = Progressed | Summarized | Finished | Changed | Gone | Failed


def info_of(error: BaseException) -> ErrorInfo:
    """An exception as an ``ErrorInfo``."""
    if isinstance(error, errors.KinetoscopeError):
        return ErrorInfo(error.kind, error.message, error.hint)
    if isinstance(error, MemoryError):
        return ErrorInfo(
            "out_of_memory",
            "The memory of this machine was not enough to read the file.",
            "Free memory and retry, or record fewer steps.",
        )
    if isinstance(error, RemoteError):
        from ..filesystems.listing import as_info

        return as_info(error)
    if isinstance(error, OSError):
        return ErrorInfo("unreadable", f"The file cannot be read: {error.strerror or error}.")
    return ErrorInfo(
        "internal",
        f"Reading stopped at an error of the reader itself: {errors.told(error)}",
        "kinetoscope doctor tells whether this installation works; please report this.",
    )


def error_of(info: ErrorInfo, cls: str = "TraceFormatError") -> errors.KinetoscopeError:
    """The exception of an ``ErrorInfo``: same class, kind, message and hint."""
    found = getattr(errors, cls, None)
    if (
        isinstance(found, type)
        and issubclass(found, errors.KinetoscopeError)
        and found is not errors.TraceFormatError
    ):
        error: errors.KinetoscopeError = found(info.message, hint=info.hint)
        error.kind = info.kind
        return error
    return errors.TraceFormatError(info.kind, info.message, hint=info.hint)


WAITING = "waiting for a free process"
PREPARING = "preparing"
_PHASES = {
    "reading": "reading events",
    "linking": "linking launches",
    "summarizing": "summarizing",
    "caching": "writing the cache",
}
READING_SHARE = 0.85  # of the time until the summary; the rest is linking and summarizing
_ENOUGH_SECONDS, _ENOUGH_SHARE = 0.5, 0.03  # below that, a guess would jump about


class Pace(Struct, frozen=True):
    """Messages of a reading process so far; ``read_seconds``: when it had read all events."""

    last: Progressed | None
    seconds: float
    read_seconds: float | None


def waiting(size: int) -> ReadProgress:
    """The progress of a file in the queue."""
    return ReadProgress(WAITING, 0, size, 0, 0.0)


def describe(pace: Pace, size: int) -> ReadProgress:
    """The progress of a file that is being read."""
    last = pace.last
    if last is None:
        return ReadProgress(_PHASES["reading"], 0, size, 0, pace.seconds)
    return ReadProgress(
        phase=_PHASES.get(last.phase, last.phase),
        bytes_done=last.bytes_done,
        bytes_total=last.bytes_total or size,
        events=last.events,
        seconds=pace.seconds,
        seconds_left=_seconds_left(pace, last),
    )


def of_making(last: Progressed | None, seconds: float, size: int) -> ReadProgress:
    """The progress of an artifact that is being made."""
    if last is None:
        return ReadProgress(PREPARING, 0, size, 0, seconds)
    share = last.bytes_done / last.bytes_total if last.bytes_total else 0.0
    known = seconds >= _ENOUGH_SECONDS and share >= _ENOUGH_SHARE
    left = round(max(0.0, seconds / share - seconds), 1) if known else None
    return ReadProgress(PREPARING, last.bytes_done, last.bytes_total, last.events, seconds, left)


def _seconds_left(pace: Pace, last: Progressed) -> float | None:
    if pace.read_seconds is not None:
        left = pace.read_seconds / READING_SHARE - pace.seconds
        return round(left, 1) if left > 0 else None
    share = last.bytes_done / last.bytes_total if last.bytes_total else 0.0
    if pace.seconds < _ENOUGH_SECONDS or share < _ENOUGH_SHARE:
        return None
    return round(max(0.0, pace.seconds / share / READING_SHARE - pace.seconds), 1)
