"""The text of a stored trace, block by block; or the actual type of another file.

The layers are found by their magic bytes, never by the file's name: plain text, gzip (any number of
members, up to three layers), UTF-8 with or without a byte order mark. Other compressors, UTF-16 and
UTF-32 are refused by name, and so is what is no trace by the first bytes of its text, with the
remedy. Memory grows neither with the file nor with its compression ratio.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from msgspec import Struct

from ...base.errors import NotFoundError, TraceFormatError
from ...base.regex import regex
from ..perfetto import SNIFFED, may_be_perfetto
from ..pickles import PICKLE
from ..raw import FaultLog, SeekIndex
from .gzip import (
    GZIP_MAGIC,
    Buffered,
    Gunzip,
    InflateObserver,
    Layer,
    SeekPoints,
    text_at,
)

if TYPE_CHECKING:
    from typing_extensions import Self

SNIFF_BYTES = 64 * 1024

_RECORD = "Record one with torch.profiler.profile(...) and export_chrome_trace()."
_ARRAY_OF_OBJECTS = regex(rb"\[\s*(?:\{|\])")
_EVENT = regex(rb'\{[ \t]*"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"[ \t]*:')
_PHASE = regex(rb'"ph"\s*:\s*"')
_TRACE_KEY = regex(
    rb'"(?:traceEvents|schemaVersion|deviceProperties|displayTimeUnit|baseTimeNanoseconds|traceName'
    rb'|distributedInfo|trace_id|record_shapes|with_stack|profile_memory)"\s*:'
)


class _Other(Struct, frozen=True):
    kind: str
    pattern: re.Pattern[bytes]
    message: str
    hint: str


def _other(kind: str, pattern: bytes, message: str, hint: str) -> _Other:
    return _Other(kind, regex(pattern, re.DOTALL), message, hint)


PYTHON_REPR = regex(rb"[\[({\s]*\{\s*'[^'\n]{0,200}'\s*:")
"""Beginning of ``repr()`` of a dict, or of a list of dicts."""

_SNAPSHOT_KEY = regex(rb"(?:segments|device_traces|host_segments|host_traces)")
TIMELINE = regex(
    rb"\s*\[\s*\[\s*(?:\d{9,}\s*,|-?\d+\s*,\s*[1-4]\s*,\s*-?\d+\s*,\s*\d+\s*\])", re.DOTALL
)
"""Beginning of an exported memory timeline, of sums or of single changes."""
_TIMELINE_HINT = "Export the trace itself, recorded with profile_memory=True."

# In order; matched at the first character that is no white space.
_BINARY = (
    _other(
        "pickle",
        PICKLE.pattern,
        "This is a Python pickle, and no memory snapshot.",
        "Memory snapshots are written by torch.cuda.memory._dump_snapshot().",
    ),
    _other("image", rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP", "This is an image.", _RECORD),
    _other("pdf", rb"%PDF-", "This is a PDF document.", _RECORD),
    _other(
        "parquet",
        rb"PAR1|ARROW1|\x89HDF|\x93NUMPY",
        "This is a table of numbers, not a trace.",
        _RECORD,
    ),
    _other(
        "sqlite",
        rb"SQLite format 3\0",
        "This is an SQLite database, for example an Nsight Systems report.",
        "Nsight reports are another tool's format. " + _RECORD,
    ),
    _other(
        "event_file",
        rb".{8}.{4}[\x08-\x1a].{0,40}brain\.Event:\d",
        "This is a TensorBoard event file.",
        "TensorBoard's own tabs show it. " + _RECORD,
    ),
    _other("executable", rb"\x7fELF|MZ\x90", "This is a program or a library.", _RECORD),
)
_TEXT = (
    _other(
        "lfs_pointer",
        rb"version https://git-lfs",
        "This is a Git LFS pointer: the trace itself was not downloaded.",
        "Run git lfs pull where the file comes from.",
    ),
    _other(
        "memory_timeline_html",
        rb"(?i)<html>.{0,600}?<img src=['\"]data:image/png;base64",
        "This is a page of export_memory_timeline(): a picture.",
        "The picture is not needed: export the same as .json.gz or .raw.json.gz, which is read.",
    ),
    _other(
        "html",
        rb"(?i)(?:<!--.{0,2000}?-->\s*)?<(?:!doctype|html|head|body|\?xml|svg)",
        "This is a web page, not a trace.",
        "The download probably ended at an error or sign-in page.",
    ),
    _other(
        "python_repr",
        PYTHON_REPR.pattern,
        "This is a Python repr (single quotes, as print() writes a dict), not JSON.",
        "Write it with json.dump() instead of str() or print().",
    ),
    _other(
        "execution_trace",
        rb'\{\s*"schema"\s*:\s*"[^"]{0,40}chakra(?=.{0,4000}?"nodes"\s*:\s*\[)',
        "This is an execution trace (a graph of operators without times).",
        "Open the Kineto trace of the same run; execution traces come from ExecutionTraceObserver.",
    ),
    _other(
        "speedscope",
        rb'\{.{0,4000}?(?:speedscope\.app/file-format-schema|"exporter"\s*:\s*"[^"]*speedscope)',
        "This is a speedscope profile.",
        "Open it at speedscope.app. " + _RECORD,
    ),
    _other(
        "rocprofiler",
        rb'\{\s*"rocprofiler-sdk-tool"',
        "This is output of rocprofiler-sdk.",
        "Open it with AMD's tools, or export Perfetto from them. " + _RECORD,
    ),
    _other(
        "memory_timeline",
        rb"\[\s*\[\s*\d{9,}\s*,",
        "This is an exported memory timeline.",
        _TIMELINE_HINT,
    ),
    _other(
        "memory_timeline",
        rb"\[\s*\[\s*-?\d+\s*,\s*\d\s*,\s*-?\d+\s*,\s*\d+\s*\]",
        "This is an exported memory timeline (raw).",
        _TIMELINE_HINT,
    ),
    _other(
        "memory_snapshot",
        rb'\{\s*"(?:segments|device_traces)"\s*:',
        "This is a CUDA memory snapshot.",
        "Open memory snapshots at pytorch.org/memory_viz.",
    ),
    _other(
        "key_averages",
        rb"-{5,}[\s-]*\n\s*Name\b.{0,400}(?:CPU|# of Calls)",
        "This is a printed table of key_averages(), not a trace.",
        'Export the trace: prof.export_chrome_trace("trace.json").',
    ),
)


_SPECIAL = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def special_file(mode: int) -> TraceFormatError | None:
    """Why a file of this mode is not opened; None for a regular file.

    Opening a pipe waits for a writer, and a device may have no end.
    """
    if stat.S_ISREG(mode):
        return None
    what = next((words for is_it, words in _SPECIAL if is_it(mode)), "no regular file")
    return TraceFormatError(
        "special_file",
        f"This is {what}, not a file with a trace.",
        hint="Write its output into a file, and open that file.",
    )


def looks_like_trace(head: bytes) -> bool:
    """True if a file whose inflated text begins with ``head`` (a few KiB) may be a trace.

    Cheap and generous, for finding traces among files with any name: an object that has
    ``traceEvents`` or one of the keys written before it, or an array of events.
    """
    if PICKLE.match(head):
        return bool(_SNAPSHOT_KEY.search(head))
    text = _strip(head)
    if TIMELINE.match(text):
        return True
    if text.startswith(b"["):
        return bool(_ARRAY_OF_OBJECTS.match(text) and _PHASE.search(text))
    if not text.startswith(b"{") or any(other.pattern.match(text) for other in _TEXT):
        return False
    return bool(_TRACE_KEY.search(text)) or _is_event_line(text)


def root_of(head: bytes) -> str:
    """``"object"``, ``"array"`` or ``"lines"`` (one event each) when the text may be a trace.

    Raises:
        TraceFormatError: ``kind`` names what the file is instead.
    """
    if not head:
        raise TraceFormatError(
            "empty",
            "The file is empty.",
            hint="The recording job may have died while writing it. If export_stacks() of torch"
            " 2.13 wrote it, it is always empty: export the trace instead.",
        )
    for other in _BINARY:
        if other.pattern.match(head):
            raise TraceFormatError(other.kind, other.message, hint=other.hint)
    text = _strip(head)
    if not text.strip(b"\0"):
        message = "The file holds nothing but white space or zero bytes."
        raise TraceFormatError(
            "empty", message, hint="The disk may have been full when it was written."
        )
    for other in _TEXT:
        if other.pattern.match(text):
            raise TraceFormatError(other.kind, other.message, hint=other.hint)
    if text.startswith(b"{"):
        return "lines" if _is_event_line(text) else "object"
    if text.startswith(b"["):
        return "array"
    raise _unknown(head, text)


def python_repr() -> TraceFormatError:
    """The refusal of events that ``repr()`` wrote."""
    (other,) = (other for other in _TEXT if other.kind == "python_repr")
    return TraceFormatError(other.kind, other.message, hint=other.hint)


def _is_event_line(text: bytes) -> bool:
    """True if the first line is an event by itself: an object with a phase, no list of events."""
    if not _EVENT.match(text):
        return False
    line = text.partition(b"\n")[0].rstrip(b" \t\r,")
    return bool(line.endswith(b"}") and _PHASE.search(line)) and b'"traceEvents"' not in line


def _unknown(head: bytes, text: bytes) -> TraceFormatError:
    if b"\0" in head[:4096] or sum(byte < 9 or 13 < byte < 32 for byte in head[:512]) > 16:
        if head.startswith(b"\n") and b"\0" not in head[:2]:
            return TraceFormatError(
                "perfetto",
                "This looks like a Perfetto protobuf trace, but no packet at its start is whole.",
                hint="Copy it again, or record again.",
            )
        return TraceFormatError("binary", "This is a binary file of an unknown kind.", hint=_RECORD)
    line = text.split(b"\n", 1)[0]
    if line.count(b",") >= 2 and not line.startswith((b'"{', b"{", b"[")):
        return TraceFormatError("csv", "This is a table (CSV), not a trace.", hint=_RECORD)
    return TraceFormatError("text", "This is plain text, not a trace.", hint=_RECORD)


def _strip(head: bytes) -> bytes:
    """The text without leading white space and comments."""
    text = head.lstrip(b" \t\r\n\0")
    while text.startswith((b"//", b"/*")):
        end = b"\n" if text.startswith(b"//") else b"*/"
        text = text.partition(end)[2].lstrip(b" \t\r\n")
    return text


def beginning(source: Source, most: int = 4096) -> bytes:
    """The first bytes of the text of a file, inflated: as many as asked for, or all.

    Raises:
        NotFoundError: there is no such file.
        TraceFormatError: it is compressed in a way that is not read.
    """
    found = b""
    with Text(source, FaultLog()) as text:
        while len(found) < most and (piece := text.read(most - len(found))):
            found += piece
    return found


# --- the text ------------------------------------------------------------------------------------

Source: TypeAlias = "bytes | str | os.PathLike[str] | BinaryIO"
"""A trace as stored: bytes, a path, or an open seekable file (read from its start, left open)."""

MAX_LAYERS = 3
HEAD = 8

_REFUSED = (
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -d"),
    (b"BZh", "bzip2", "bunzip2"),
    (b"\xfd7zXZ\x00", "xz", "xz -d"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -d"),
    (b"PK\x03\x04", "zip", "unzip"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x"),
)


class Text:
    """The inflated text of a source as UTF-8 (not checked): read front to back, then close."""

    def __init__(
        self, source: Source, faults: FaultLog, watch: InflateObserver | None = None
    ) -> None:
        self._stored = _Stored(source)
        try:
            self._layer: Layer = _peel(self._stored, faults, watch or InflateObserver())
        except TraceFormatError:
            self._stored.close()
            raise

    def read(self, n: int) -> bytes:
        """Up to n bytes of text; b"" only at the end."""
        return self._layer.read(n)

    def skip(self, n: int) -> None:
        """Move n bytes of text further."""
        self._layer.skip(n)

    @property
    def bytes_done(self) -> int:
        """Stored bytes read so far."""
        return self._stored.done

    @property
    def bytes_total(self) -> int:
        """Stored size."""
        return self._stored.total

    def close(self) -> None:
        """Closes the file, if it was opened here."""
        self._stored.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class WholeText(Text):
    """The text of a whole file; on the way, points for random access to it are made."""

    def __init__(self, source: Source, faults: FaultLog) -> None:
        self._points = SeekPoints()
        super().__init__(source, faults, self._points)

    def seek_index(self) -> SeekIndex:
        """Points of access in the text read so far."""
        return self._points.index()


class TextAt(Text):
    """The text from an offset on, for which the index has a point (``can_seek``)."""

    def __init__(self, source: Source, seek: SeekIndex, offset: int) -> None:
        self._stored = _Stored(source)
        self._layer = text_at(self._stored.from_start, seek, offset)


class _Stored:
    """The stored bytes, counted."""

    def __init__(self, source: Source) -> None:
        self._own = not hasattr(source, "read")
        if isinstance(source, bytes):
            self._file: BinaryIO = io.BytesIO(source)
        elif isinstance(source, (str, os.PathLike)):
            self._file = _open(Path(source))
        else:
            self._file = source
        self.total = self._file.seek(0, io.SEEK_END)
        self._file.seek(0)
        self.done = 0

    def from_start(self) -> Layer:
        self._file.seek(0)
        self.done = 0
        return self

    def read(self, n: int, /) -> bytes:
        data = self._file.read(n)
        self.done += len(data)
        return data

    def skip(self, n: int, /) -> None:
        self._file.seek(n, io.SEEK_CUR)
        self.done += n

    def close(self) -> None:
        if self._own:
            self._file.close()


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except IsADirectoryError:
        message = "This is a directory, not a trace file."
        raise TraceFormatError("directory", message, hint="Choose a file inside it.") from None
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.") from None


def _peel(stored: _Stored, faults: FaultLog, watch: InflateObserver) -> Layer:
    """The text under all layers of a file.

    ``watch`` looks on while the outermost gzip layer is inflated, if there is nothing else.
    """
    return _peeled(stored.from_start, faults, watch, stored.total, 0)


def _peeled(
    open_layer: Callable[[], Layer],
    faults: FaultLog,
    watch: InflateObserver,
    stored_bytes: int,
    depth: int,
) -> Layer:
    """The text under all layers of the stream that ``open_layer`` begins."""
    layer = Buffered(open_layer())
    head = layer.peek(HEAD)
    if head.startswith(GZIP_MAGIC):
        if depth == MAX_LAYERS:
            message = f"The file is compressed more than {MAX_LAYERS} times over."
            raise TraceFormatError("gzip_layers", message, hint="Decompress it once with gunzip.")
        if depth == 1:
            faults.add("gzip_nested")
            watch.give_up()
        # Opened again after damage further up, a layer has told its faults already.
        logs = [faults]
        while_inflating = InflateObserver() if depth else watch
        return _peeled(
            lambda: Gunzip(open_layer, logs.pop() if logs else FaultLog(), while_inflating),
            faults,
            watch,
            stored_bytes,
            depth + 1,
        )
    for magic, name, command in _REFUSED:
        if head.startswith(magic):
            message = f"The file is compressed with {name}, which is not read here."
            raise TraceFormatError(name, message, hint=f"Decompress it first: {command} FILE")
    if head.startswith(b"\n") and may_be_perfetto(begun := layer.peek(SNIFFED)):
        from ..perfetto.source import PerfettoText, is_perfetto

        if is_perfetto(begun):
            watch.give_up()
            return PerfettoText(begun, layer, open_layer, faults, stored_bytes)
    if head.startswith(_WIDE):
        message = "The text of this file is UTF-16 or UTF-32, which is not read here."
        hint = "Write it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE"
        raise TraceFormatError("encoding", message, hint=hint)
    if head.startswith(codecs.BOM_UTF8):
        faults.add("encoding", "UTF-8 with a byte order mark")
        layer.take(len(codecs.BOM_UTF8))
        watch.give_up()
    return layer


_WIDE = (
    *(codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE),
    *(b"{\0", b"[\0", b"\0{", b"\0[", b"\0\0\0{", b"\0\0\0["),
)
"""Beginnings of JSON in UTF-16 and UTF-32, with a byte order mark and without."""
