"""File names: `<worker>.<time_ns>.pt.trace.json[.gz]`.

This is the pattern of torch's own handler, so that every reader of its files finds ours.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from .process import MARK, Process

# A file name may have 255 bytes; time, suffixes and the marks of temporary files take about 60.
_MAX_WORKER_BYTES = 150
_MAX_NAME_TRIES = 1000
# Not allowed in names on Windows: a job may write to a share that a Windows machine reads.
_UNSAFE = frozenset('/\\:*?"<>|')
_TRACE = re.compile(
    r"(?P<worker>.+)\.(?P<time>\d+)\.pt\.trace\.json(?P<gz>\.gz)?", re.ASCII | re.DOTALL
)
_HIDDEN = re.compile(
    r"\.(?P<file>.+\.\d+\.(?:pt\.trace\.json|key_averages\.txt|snapshot\.pickle|stacks\.txt"
    r"|compile\.json\.gz))"
    rf"\.(?P<mark>{MARK})-[0-9a-f]{{8}}(?:\.tmp(\.tmp)?|(?P<exported>-exported)\.tmp)",
    re.ASCII | re.DOTALL,
)


@dataclass(frozen=True)
class TraceName:
    """The name of one trace file: its worker and its time (ns since 1970)."""

    worker: str
    time_ns: int
    use_gzip: bool

    @property
    def file_name(self) -> str:
        """The name under which the trace is published."""
        return f"{self.worker}.{self.time_ns}.pt.trace.json" + (".gz" if self.use_gzip else "")

    def hidden_name(self, mark: str) -> str:
        """A name for a temporary file of a process, different at each call.

        The trace's name is in it, because torch writes the path of the export into the trace.
        """
        return hidden_name(f"{self.worker}.{self.time_ns}.pt.trace.json", mark)


def hidden_name(name: str, mark: str) -> str:
    """The name of a file while a process writes it, different at each call.

    The leading dot and `.tmp` tell scanners that the file is none of their business yet. The mark
    tells who left it behind.
    """
    return f".{name}.{mark}-{secrets.token_hex(4)}.tmp"


def is_trace_name(name: str) -> bool:
    """True if the name is that of a published trace."""
    return _TRACE.fullmatch(name) is not None and not name.startswith(".")


def following(name: str) -> str:
    """The name to try when the name of a file is taken: of a trace, a nanosecond later."""
    match = _TRACE.fullmatch(name)
    if match is None:
        return f"{name}.1"
    return TraceName(match["worker"], int(match["time"]) + 1, bool(match["gz"])).file_name


def take_free_name(name: str, take: Callable[[str], bool]) -> str:
    """Take the first name that is free: `name`, or one of those that follow.

    Names meet when two ranks share a worker name, or when the clock is set back. `take` gives a
    file a name, never that of another one: False if there is one.

    Raises:
        FileExistsError: a thousand of them are taken.
    """
    for _ in range(_MAX_NAME_TRIES):
        if take(name):
            return name
        name = following(name)
    raise FileExistsError(f"no free name up to {name}")


def exported_name(hidden_name: str) -> str:
    """Name of a temporary file that holds a complete, unpublished trace."""
    return f"{hidden_name.removesuffix('.tmp')}-exported.tmp"


@dataclass(frozen=True)
class HiddenFile:
    """Parsed name of a temporary file.

    `mark` is of the process that made it. `trace` is the name that the uncompressed trace in it was
    to have; None unless the file holds a whole one.
    """

    mark: str
    trace: str | None


def hidden_file(name: str) -> HiddenFile | None:
    """Parse the name of a temporary file; None for any other file."""
    match = _HIDDEN.fullmatch(name)
    if match is None:
        return None
    return HiddenFile(match["mark"], match["file"] if match["exported"] else None)


def worker_of(process: Process, wanted: str | None) -> str:
    """The worker part of a name: the user's, made safe, or `<host>_<pid>[_rank<r>]`."""
    return safe_worker(wanted or "") or safe_worker(_default_worker(process))


def _default_worker(process: Process) -> str:
    worker = f"{process.host or 'unknown'}_{process.pid}"
    return worker if process.rank is None else f"{worker}_rank{process.rank}"


def safe_worker(name: str) -> str:
    """`name` as one visible path component of bounded length. Empty when nothing is left of it.

    Separators, control characters and undecodable bytes become `_`. Leading dots go, because a
    hidden file is never shown.
    """
    safe = "".join("_" if c in _UNSAFE or not c.isprintable() else c for c in name)
    safe = safe.strip(" ").lstrip(". ")
    encoded = safe.encode()
    if len(encoded) <= _MAX_WORKER_BYTES:
        return safe
    # Long names often differ only at their end: the digest keeps two workers apart.
    digest = hashlib.sha256(encoded).hexdigest()[:8]
    return encoded[: _MAX_WORKER_BYTES - 9].decode(errors="ignore") + "_" + digest
