"""What lies below a remote logdir? One listing of the whole tree, and marks of each file's version.

Names in it are hostile: they are shown as text, and no path of this machine is made of them.
"""

from __future__ import annotations

import calendar
import datetime as dt
import functools
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ...base.errors import KinetoscopeError, NotFoundError, UnavailableError
from ...handlers.remote_address import RemoteError
from ...handlers.remote_filesystem import CALL_S, RemoteFilesystem
from ...trace.compile_record import record_name
from ..contract import ErrorInfo


@dataclass(frozen=True, slots=True)
class RemoteObject:
    """One version of a file of another machine."""

    filesystem: RemoteFilesystem = field(compare=False, repr=False)
    path: str  # in its filesystem
    below: str  # the logdir; "" for an object that was named itself
    bytes: int
    modified_ns: int  # 0: not told
    tag: str  # etag or the like; "": not told
    record: str = ""  # version of the record of torch.compile beside it; "": there is none

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def shown(self) -> str:
        """Its address, without secrets."""
        address = self.filesystem.address.shown
        return f"{address}/{self.below}" if self.below else address

    def is_same(self, info: Mapping[str, Any]) -> bool:
        """True if the file still has this version."""
        tag = tag_of(info)
        if tag and self.tag:
            return tag == self.tag
        return info.get("size") in {None, self.bytes}


def list_files(filesystem: RemoteFilesystem) -> Iterator[RemoteObject]:
    """Every file below the address, as far as no folder on the way begins with a dot.

    Raises:
        RemoteError: it cannot be listed, or there is nothing.
    """
    root = filesystem.root
    listed = filesystem.call(functools.partial(_find, root=root))
    if not listed:
        raise RemoteError(f"{filesystem.address.shown}: there is no such folder", "missing")
    prefix = root.strip("/") + "/"
    end = time.monotonic() + CALL_S
    for path, info in listed.items():
        plain = path.lstrip("/")  # some tell absolute paths, others do not
        below = plain[len(prefix) :] if plain.startswith(prefix) else ""
        if not below or below.endswith("/") or info.get("type") == "directory":
            continue
        if any(part.startswith(".") for part in below.split("/")[:-1]):
            continue
        if info.get("size") is None:  # a web server's index: each file is asked for
            if time.monotonic() > end:
                raise RemoteError(
                    f"{filesystem.address.shown}: no list of files within {CALL_S:.0f} s",
                    "unreachable",
                    "Name a folder with fewer files.",
                )
            info = filesystem.call(functools.partial(_info, path=path))  # noqa: PLW2901
        yield _object(filesystem, path, below, info, listed.get(record_name(path) or ""))


def named_file(filesystem: RemoteFilesystem) -> RemoteObject | None:
    """The file that the address itself names; None for a folder.

    Raises:
        RemoteError: there is neither, or it cannot be reached.
    """
    root = filesystem.root
    info = filesystem.call(functools.partial(_info, path=root))
    is_file = info.get("type") == "file" and not root.endswith("/")
    if not is_file:
        return None
    record, own = None, record_name(root)
    with suppress(RemoteError):  # most have none
        record = filesystem.call(functools.partial(_info, path=own), once=True) if own else None
    return _object(filesystem, root, "", info, record)


def _find(fs: Any, root: str) -> dict[str, dict[str, Any]]:  # noqa: ANN401  # fsspec: no types
    fs.invalidate_cache()  # or what another machine added would not be seen
    found: dict[str, dict[str, Any]] = fs.find(root, detail=True)
    return found


def _info(fs: Any, path: str) -> dict[str, Any]:  # noqa: ANN401
    fs.invalidate_cache()
    found: dict[str, Any] = fs.info(path)
    return found


def _object(
    filesystem: RemoteFilesystem,
    path: str,
    below: str,
    info: Mapping[str, Any],
    record: Mapping[str, Any] | None,
) -> RemoteObject:
    size = int(info.get("size") or 0)
    known = f"{record.get('size')}-{modified_of(record)}-{tag_of(record)}" if record else ""
    return RemoteObject(filesystem, path, below, size, modified_of(info), tag_of(info), known)


_TIMES = ("LastModified", "last_modified", "mtime", "modificationTime", "updated", "modified")
_CREATED = ("created", "creation_time", "timeCreated")
_TAGS = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "generation")


def modified_of(info: Mapping[str, Any]) -> int:
    """When a file was changed, ns since the epoch; 0 where its filesystem does not tell."""
    for name in (*_TIMES, *_CREATED):
        value = info.get(name)
        if isinstance(value, dt.datetime):
            return calendar.timegm(value.utctimetuple()) * 10**9 + value.microsecond * 1000
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > 1e11 else value  # WebHDFS counts milliseconds
            return round(seconds * 1e6) * 1000
        if isinstance(value, str):
            try:
                moment = dt.datetime.fromisoformat(value.replace("Z", "+00:00"))
            except ValueError:
                continue
            return round(moment.timestamp() * 1e6) * 1000
    return 0


def tag_of(info: Mapping[str, Any]) -> str:
    """A value that changes with the content of a file; "" if its filesystem has none."""
    for name in _TAGS:
        value = info.get(name)
        if isinstance(value, str | int) and value != "":
            return str(value).removeprefix("W/").strip('"')
    return ""


def as_info(error: RemoteError) -> ErrorInfo:
    """The error as the page gets it."""
    kind = "logdir_missing" if error.reason == "missing" else f"remote_{error.reason}"
    hint = error.hint
    if error.reason == "extra" and hint.startswith("pip "):
        hint = f"Install it with `{hint}` in the environment of this program, and start it again."
    return ErrorInfo(kind, f"{error.message}.", hint)


def as_error(error: RemoteError) -> KinetoscopeError:
    """The error as the command line and the library get it."""
    if error.reason == "missing":
        return NotFoundError(error.message, hint="check the spelling")
    if error.reason == "extra":
        return UnavailableError(error.message, hint=error.hint)
    return KinetoscopeError(error.message, hint=error.hint)
