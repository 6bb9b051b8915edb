"""Is a file a trace, by the first bytes of its text? If not: what it is, and the remedy."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import TraceFormatError

SNIFF_BYTES = 64 * 1024
FOLDED = (".stacks", ".folded", ".collapsed")
"""Suffixes of files of folded stacks."""

_RECORD = "Record one with torch.profiler.profile(...) and export_chrome_trace()."
_ARRAY_OF_OBJECTS = re.compile(rb"\[\s*(?:\{|\])")
_EVENT = re.compile(rb'\{[ \t]*"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"[ \t]*:')
_PHASE = re.compile(rb'"ph"\s*:\s*"')
_TRACE_KEY = re.compile(
    rb'"(?:traceEvents|schemaVersion|deviceProperties|displayTimeUnit|baseTimeNanoseconds|traceName'
    rb'|distributedInfo|trace_id|record_shapes|with_stack|profile_memory)"\s*:'
)


@dataclass(frozen=True, slots=True)
class _Other:
    kind: str
    pattern: re.Pattern[bytes]
    message: str
    hint: str


def _other(kind: str, pattern: bytes, message: str, hint: str) -> _Other:
    return _Other(kind, re.compile(pattern, re.DOTALL), message, hint)


PYTHON_REPR = re.compile(rb"[\[({\s]*\{\s*'[^'\n]{0,200}'\s*:")
"""Beginning of ``repr()`` of a dict, or of a list of dicts."""

_TIMELINE_HINT = "Export the trace itself, recorded with profile_memory=True."

# In order; matched at the first character that is no white space.
_BINARY = (
    _other(
        "memory_snapshot",
        rb"\x80[\x02-\x05]",
        "This is a Python pickle, probably a CUDA memory snapshot.",
        "kinetoscope snapshot FILE explains memory snapshots; a trace is a .json or .json.gz file.",
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
        hint="Write what it gives into a file, and open that.",
    )


def looks_like_trace(head: bytes) -> bool:
    """True if a file whose inflated text begins with ``head`` (a few KiB) may be a trace.

    Cheap and generous, for finding traces among files with any name: an object that has
    ``traceEvents`` or one of the keys written before it, or an array of events.
    """
    text = _strip(head)
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
            "empty", "The file is empty.", hint="The recording job may have died while writing it."
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
            hint = "Open it at ui.perfetto.dev. " + _RECORD
            return TraceFormatError(
                "perfetto", "This looks like a Perfetto protobuf trace.", hint=hint
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


def is_folded(path: Path) -> bool:
    """Whether the name says that a file holds folded stacks."""
    return path.suffix.lower() in FOLDED
