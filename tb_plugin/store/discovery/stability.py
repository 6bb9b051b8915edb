"""Is a file complete, and is it a trace?

A file is left alone while it changes, a moment after its last change, and longer when its end shows
that something is missing. Every wait ends: then the file is read as it is, and read again when it
changes. ``not_a_trace`` judges a file with any name by its first bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ...base.errors import KinetoscopeError
from ...trace.io.folded import is_folded
from ...trace.pickles import PICKLE
from ..contract import ErrorInfo
from .walk import FileVersion

ABANDONED_SECONDS = 24 * 3600.0
ABANDONED = (
    "The name is that of a file being written, but it has not changed for a day. A job that "
    "was killed leaves such files; they can be deleted."
)


class Patience(Struct, frozen=True):
    """Waiting times in seconds."""

    old: float = 5.0  # a file changed this long ago is finished
    quiet: float = 2.0  # or one that did not change for so long while we watched
    incomplete: float = 30.0  # the same, when the text stops in the middle or there is none
    longest: float = 600.0  # a file that changes all the time is read this often


class FileWatch(Struct, frozen=True):
    """A file under observation; times on the monotonic clock."""

    identity: FileVersion
    since: float  # seen in this state first
    began: float  # seen changing first

    def seen(self, identity: FileVersion, now: float) -> FileWatch:
        """The watch after another look."""
        return self if identity == self.identity else FileWatch(identity, now, self.began)


def begin(identity: FileVersion, now: float) -> FileWatch:
    """Watch a file that is new or changed."""
    return FileWatch(identity, now, now)


def is_settled(
    watch: FileWatch, now: float, wall: float, *, complete: bool, patience: Patience
) -> bool:
    """True if the file may be read now; ``wall`` is the time of day, compared with its time stamp.

    A time stamp in the future (another machine's clock) tells nothing.
    """
    quiet = now - watch.since
    age = wall - watch.identity.modified
    wait = (
        (patience.old, patience.quiet)
        if complete
        else (patience.incomplete + patience.old, patience.incomplete)
    )
    return age >= wait[0] or quiet >= wait[1] or is_restless(watch, now, patience)


def is_restless(watch: FileWatch, now: float, patience: Patience) -> bool:
    """True if the file kept changing for longer than ``patience.longest``."""
    return now - watch.began >= patience.longest


def is_abandoned(identity: FileVersion, wall: float) -> bool:
    """True if a file with a temporary name was left behind; ``wall`` is the time of day."""
    return wall - identity.modified > ABANDONED_SECONDS


def why_waiting(watch: FileWatch, *, complete: bool) -> str:
    """The sentence shown beside a file that waits."""
    if not watch.identity.bytes:
        return "The file is still empty; it is read as soon as something is in it."
    if not complete:
        return "The text stops in the middle: the file is probably still being written."
    return "The file changed a moment ago; it is read as soon as it stays the same."


def looks_complete(path: str, size: int) -> bool:
    """True if the end of the file is the end of a JSON text, or of a pickle.

    True where the end tells nothing: of compressed files, and of what is no JSON in the first place
    (a pointer, a web page), which is to be refused at once instead of waited for.

    Raises:
        OSError: the file cannot be read.
    """
    if size == 0:
        return False
    with open(path, "rb") as file:
        head = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()
        if PICKLE.match(head):
            file.seek(size - 1, os.SEEK_SET)
            return file.read(1) == b"."
        if not head.startswith((b"{", b"[")):
            return True
        file.seek(max(0, size - 256), os.SEEK_SET)
        tail = file.read(256).rstrip(b" \t\r\n\0")
    return tail.endswith((b"}", b"]"))


def not_a_trace(path: str) -> ErrorInfo | None:
    """None if the file begins like a trace, else its actual type.

    Raises:
        OSError: the file cannot be read.
    """
    if is_folded(Path(path)):
        return None  # its lines are checked when it is read
    from ...trace.io.source import SNIFF_BYTES, beginning, looks_like_trace, root_of

    try:
        head = beginning(path, SNIFF_BYTES)
        if looks_like_trace(head):
            return None
        root_of(head)
    except KinetoscopeError as error:
        return ErrorInfo(error.kind, error.message, error.hint)
    return ErrorInfo(
        "json",
        "The file is JSON, but has no traceEvents near its start.",
        "Traces are written by export_chrome_trace() or by a trace handler.",
    )
