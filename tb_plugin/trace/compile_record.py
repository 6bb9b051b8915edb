"""The record of torch.compile that our handler writes beside a trace, read within limits.

It is found by the name in the trace's metadata, which also has its SHA-256, else beside the trace
by its name: ``<worker>.<time_ns>.compile.json.gz``. Only a regular file of the same folder is
opened. It is read where the trace is read, never in the server.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..base.errors import TraceFormatError
from ..base.regex import regex
from .io.json_text import decoded

SUFFIX = ".compile.json.gz"
MOST_BYTES = 16 << 20
MOST_TEXT_BYTES = 64 << 20
MOST_ROWS = 5000
_MOST_CHARACTERS = 500
_TRACE_SUFFIX = regex(r"(\.pt\.trace)?\.json(\.gz)?$|\.pftrace(\.gz)?$")


class FailedGuard(Struct, frozen=True):
    """One guard that failed: of which version, its kind, its text, the user's line."""

    of: str | None = None
    kind: str = "other"  # "size" | "dtype" | "object" | "global" | "value" | "other"
    guard: str = ""  # "" where texts are not recorded
    file: str = ""
    line: int = 0


class CompiledCode(Struct, frozen=True):
    """A function that was compiled."""

    id: int
    name: str
    file: str = ""
    line: int = 0


class RecordedCompilation(Struct, frozen=True):
    """One compilation; a backward has the id of its forward. Times are µs since 1970."""

    id: str | None = None
    function: int = -1  # id of ``CompiledCode``
    backward: bool = False
    start_us: int | None = None
    dur_us: int | None = None
    in_window: bool | None = None
    reasons: tuple[FailedGuard, ...] = ()
    failed: str | None = None
    cache_hit: bool = False
    phases_us: dict[str, int] = {}
    guards: int | None = None
    nodes: int | None = None


class RecordedBreak(Struct, frozen=True):
    """A graph break; ``stack`` is the user's: file, line, function, the innermost first."""

    compilation: str | None = None
    reason: str = ""
    explanation: str = ""
    hint: str = ""
    stack: tuple[tuple[str, int, str], ...] = ()
    count: int = 1


class FusedKernel(Struct, frozen=True):
    """A kernel with its nodes and the lines that they come from: file, line, function."""

    name: str = ""
    nodes: tuple[str, ...] = ()
    lines: tuple[tuple[str, int, str], ...] = ()


class CompiledGraph(Struct, frozen=True):
    """The kernels of one graph, forward or backward."""

    compilation: str = ""
    backward: bool = False
    kernels: tuple[FusedKernel, ...] = ()


class CompileRecord(Struct, frozen=True):
    """Record of torch.compile in the process, from its start on."""

    format: int = 1
    torch: str = ""
    level: str = "light"
    missing: tuple[str, ...] = ()
    dropped: int = 0
    functions: tuple[CompiledCode, ...] = ()
    compilations: tuple[RecordedCompilation, ...] = ()
    breaks: tuple[RecordedBreak, ...] = ()
    graphs: tuple[CompiledGraph, ...] = ()
    problem: str = ""  # why the file that the trace names was not read; the rest is empty then


def record_name(name: str) -> str | None:
    """Name of the record beside a trace of this name; None where the name is not one of a trace.

    >>> record_name("worker0.12.pt.trace.json.gz")
    'worker0.12.compile.json.gz'
    """
    stem = _TRACE_SUFFIX.sub("", name)
    return None if stem == name else stem + SUFFIX


def record_beside(path: Path, handler: Any) -> CompileRecord | None:  # noqa: ANN401
    """The record of a trace, whose metadata by our handler is given; None where there is none.

    What cannot be read is a record with a ``problem``.
    """
    named = handler.get("compile") if isinstance(handler, dict) else None
    name = named.get("file") if isinstance(named, dict) else None
    digest = named.get("sha256") if isinstance(named, dict) else None
    own = record_name(path.name)
    if not isinstance(name, str):
        if own is None or not path.with_name(own).is_file():
            return None
        name, digest = own, None
    elif not _is_plain(name):
        return CompileRecord(problem="the trace names a file outside of its folder")
    try:
        return _bounded(_read(path.with_name(name), digest))
    except FileNotFoundError:
        # A copied or renamed trace keeps its record beside it under its own name.
        if own is not None and own != name and path.with_name(own).is_file():
            return record_beside(path, {"compile": {"file": own, "sha256": digest}})
        # Under another name than its own the cached answer would not change with it.
        how = "" if own in (None, name) else f", as {own}"
        return CompileRecord(problem=f"{name} is not beside the trace: copy it, too{how}")
    except (OSError, ValueError, zlib.error, TraceFormatError) as error:
        return CompileRecord(problem=f"{name}: {error}"[:_MOST_CHARACTERS])


def _is_plain(name: str) -> bool:
    return (
        name.endswith(SUFFIX)
        and name.isprintable()
        and not name.startswith(".")
        and not {"/", "\\", ":"} & set(name)
    )


def record_hash(path: Path) -> bytes:
    """Hash of the record beside a trace under the trace's own name; b"" where there is none.

    It is a part of the trace's content key. A record that is refused has a hash of the reason.
    """
    own = record_name(path.name)
    try:
        return hashlib.sha256(_bytes(path.with_name(own))).digest() if own else b""
    except FileNotFoundError:
        return b""
    except (OSError, ValueError) as error:
        return hashlib.sha256(f"refused: {type(error).__name__}".encode()).digest()


def _bytes(path: Path) -> bytes:
    """The packed record.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no regular file, or too large.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("no regular file")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES >> 20} MiB")
    return data


def _read(path: Path, digest: object) -> CompileRecord:
    data = _bytes(path)
    if isinstance(digest, str) and hashlib.sha256(data).hexdigest() != digest:
        raise ValueError("it is not the file that the trace was recorded with")
    unpack = zlib.decompressobj(31)
    text = unpack.decompress(data, MOST_TEXT_BYTES)
    if unpack.unconsumed_tail:
        raise ValueError(f"more than {MOST_TEXT_BYTES >> 20} MiB of text")
    if not unpack.eof:
        raise ValueError("it is cut off")
    found: CompileRecord = decoded(text, CompileRecord)
    if found.format != 1:
        raise ValueError(f"format {found.format} of a later kinetoscope")
    return found


def _bounded(record: CompileRecord) -> CompileRecord:
    """The record with as many rows and as long texts as a page can show."""
    found: CompileRecord = _cut(record)
    return found


def _cut(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return value[:_MOST_CHARACTERS]
    if isinstance(value, Struct):
        kind = type(value)
        return kind(*(_cut(getattr(value, name)) for name in kind.__struct_fields__))
    if isinstance(value, tuple):
        return tuple(map(_cut, value[:MOST_ROWS]))
    if isinstance(value, dict):
        return {_cut(key): _cut(one) for key, one in list(value.items())[:64]}
    if isinstance(value, int) and not -(2**62) < value < 2**62:
        return 0
    return value
