"""Whether a file with any name is a trace, from its first bytes."""

from __future__ import annotations

from pathlib import Path

from ..base.errors import KinetoscopeError
from ..trace.faults import FaultLog
from ..trace.folded import is_folded
from ..trace.inflate import Text
from ..trace.sniff import SNIFF_BYTES, looks_like_trace, root_of
from .catalog_types import ErrorInfo


def not_a_trace(path: str) -> ErrorInfo | None:
    """None when the file begins like a trace, else what it is instead.

    Raises:
        OSError: the file cannot be read.
    """
    if is_folded(Path(path)):
        return None  # its lines are checked when it is read
    try:
        head = _head(path)
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


def _head(path: str) -> bytes:
    with Text(path, FaultLog()) as text:
        pieces = []
        missing = SNIFF_BYTES
        while missing > 0 and (piece := text.read(missing)):
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)
