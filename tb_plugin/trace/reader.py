"""From a file to a trace: inflate and scan, then build."""

from __future__ import annotations

from pathlib import Path

from .build import build
from .folded import folded_trace, is_folded
from .model import Trace
from .raw import OnProgress, Progress
from .scan import scan
from .sniff import special_file


def read(path: str | Path, on_progress: OnProgress | None = None) -> Trace:
    """Read a trace, compressed or not, complete or not; folded stacks, too.

    Raises:
        TraceFormatError: the file is no trace; ``kind`` says what it is instead.
        NotFoundError: there is no such file.
    """
    path = Path(path)
    special = special_file(path.stat().st_mode) if path.exists() else None
    if special is not None:
        raise special
    # Only build() may hold the columns, so that it can let them go one by one.
    scanned = [scan(folded_trace(path) if is_folded(path) else path, on_progress)]
    file_bytes = path.stat().st_size
    if on_progress is not None:
        on_progress(Progress("linking", file_bytes, file_bytes, len(scanned[0].events)))
    return build(scanned.pop(), path, file_bytes)
