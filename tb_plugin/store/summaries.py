"""The few things the store asks of a summary, whatever its type; None or "" where it has none."""

from __future__ import annotations

import msgspec

from ..trace.health import HealthRecord
from .catalog_types import StepFigures
from .discovery import shown
from .news import S


def rank_of(summary: msgspec.Struct) -> int | None:
    """The rank the file tells."""
    rank = getattr(summary, "rank", None)
    return rank if isinstance(rank, int) else None


def truncation_of(summary: msgspec.Struct) -> str:
    """The sentence of the health record that says that the file is cut short, else ""."""
    health = getattr(summary, "health", None)
    if isinstance(health, HealthRecord):
        for note in health.notes:
            if "truncated" in note.kind:
                return f"{note.title}. {note.consequence}"
    return ""


_EARLIEST_NS = 45 * 31_556_952 * 10**9  # 2015: an earlier start is no wall clock


def steps_of(summary: msgspec.Struct) -> StepFigures | None:
    """The mean of its steps, and what was started when; None where nothing marks steps."""
    times = getattr(summary, "step_times_ns", ())
    if not times:
        return None
    began = getattr(summary, "base_ns", 0)
    return StepFigures(
        mean_ns=sum(times) / len(times),
        count=len(times),
        script=getattr(summary, "script", ""),
        recorded=began / 1e9 if began > _EARLIEST_NS else 0.0,
    )


def with_path(summary: S, path: str) -> S:
    """The summary of the file at ``path``, as text: a stored one may stem from a copy elsewhere."""
    if "path" in summary.__struct_fields__:
        return msgspec.structs.replace(summary, path=shown(path))
    return summary
