"""How far reading a file is, in the words of the page, with a guess at the rest."""

from __future__ import annotations

from dataclasses import dataclass

from .catalog_types import ReadProgress
from .messages import Progressed

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


@dataclass(frozen=True, slots=True)
class Pace:
    """What was heard of a reading process; ``read_seconds``: when it had read all events."""

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
