"""Folded stacks (the FlameGraph format, ``export_stacks``) as a trace: one line per call path.

    main;step;mm 40         frames from the outermost to the innermost, a blank, a number
    main;step;relu 10

Such a file has no times. Each path becomes nested Python frames whose length is its number (µs in
torch's export), and the paths follow one another; equal outer frames of neighbours are one frame.
So totals by frame and the flame graph are those of the file; positions in time mean nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TextIO

from ...base.errors import NotFoundError, TraceFormatError
from ...base.regex import regex

MOST_BYTES = 64 << 20
MOST_LINE = 1 << 20
MOST_FRAMES = 1_000_000
"""Most frames of the resulting trace, about a gigabyte of memory."""
_LINE = regex(r"(?P<frames>.*\S)\s+(?P<value>\d+(?:\.\d+)?)")
PID = "folded stacks"
FOLDED = (".stacks", ".folded", ".collapsed")
"""Suffixes of files of folded stacks."""


def is_folded(path: Path) -> bool:
    """True if the name is that of a file of folded stacks."""
    return path.suffix.lower() in FOLDED


def folded_trace(path: Path) -> bytes:
    """A file of folded stacks as a trace in JSON.

    Raises:
        NotFoundError: there is no such file.
        TraceFormatError: a line has another form, or the file is too large.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise TraceFormatError(
                "folded_too_large",
                f"Folded stacks of {size >> 20} MiB; {MOST_BYTES >> 20} MiB are read at most.",
                hint="Merge equal lines before.",
            )
        with path.open(encoding="utf-8", errors="replace") as lines:
            return _as_trace(_frames(_paths(lines, path.name), path.name))
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path.name!r}.") from None


def _as_trace(frames: Iterable[tuple[str, float, float]]) -> bytes:
    begin = '{"schemaVersion": 1, "with_stack": 1, "traceEvents": ['
    same = f'"ph": "X", "cat": "python_function", "pid": "{PID}", "tid": "{PID}"'
    events = (
        f'{{{same}, "name": {json.dumps(name)}, "ts": {start}, "dur": {end - start}}}'
        for name, start, end in frames
    )
    return (begin + ",".join(events) + "]}").encode()


def _paths(lines: TextIO, name: str) -> Iterator[tuple[list[str], float]]:
    found = False
    for number, line in enumerate(iter(lambda: lines.readline(MOST_LINE + 1), ""), start=1):
        if len(line) > MOST_LINE:
            raise _too_large(f"Line {number} of {name} is longer than {MOST_LINE >> 20} MiB.")
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise TraceFormatError(
                "folded_line",
                f"Line {number} of {name} is no folded stack: {line.strip()[:80]!r}.",
                hint="Each line is frame;frame;frame, a blank, a number.",
            )
        found = True
        yield [frame or "(no name)" for frame in match["frames"].split(";")], float(match["value"])
    if not found:
        raise TraceFormatError(
            "folded_empty",
            "The file holds no stacks.",
            hint="torch 2.13's export_stacks() writes empty files. Record with with_stack=True and"
            " export the trace instead; its flame graph writes folded stacks.",
        )


def _too_large(message: str) -> TraceFormatError:
    return TraceFormatError("folded_too_large", message, hint="Merge equal lines before.")


def _frames(
    paths: Iterator[tuple[list[str], float]], file: str
) -> Iterator[tuple[str, float, float]]:
    """Name, start and end of each frame; of equal ones the outer comes first."""
    frames = list(islice(_closed(paths), MOST_FRAMES + 1))
    if len(frames) > MOST_FRAMES:
        raise _too_large(f"{file} unfolds to more than {MOST_FRAMES:,} frames.")
    frames.sort(key=lambda frame: (frame[1], frame[3]))
    return ((name, start, end) for name, start, end, _ in frames)


def _closed(paths: Iterator[tuple[list[str], float]]) -> Iterator[tuple[str, float, float, int]]:
    """Name, start, end and depth of each frame, in order of their ends."""
    open_: list[tuple[str, float]] = []
    now = 0.0
    for path, value in paths:
        same = 0
        while same < min(len(path), len(open_)) and open_[same][0] == path[same]:
            same += 1
        yield from _ends(open_, same, now)
        open_ = [*open_[:same], *((name, now) for name in path[same:])]
        now = round(now + value, 3)
    yield from _ends(open_, 0, now)


def _ends(
    open_: list[tuple[str, float]], keep: int, now: float
) -> Iterator[tuple[str, float, float, int]]:
    for depth in range(len(open_) - 1, keep - 1, -1):
        name, start = open_[depth]
        yield name, start, now, depth
