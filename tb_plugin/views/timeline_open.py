"""What the Trace view is made from: a folder of mapped columns per layout."""

from __future__ import annotations

from ..analysis.timeline.build import make
from ..analysis.timeline.model import DEFAULT_LAYOUT, LAYOUTS
from ..analysis.timeline.opened import Opened, opened
from ..base.errors import NotFoundError, QueryError
from .timeline_answers import LayoutName
from .view import Artifact, Subject

_ENDLESS_NS = 1 << 62

ARTIFACT = Artifact(
    name="timeline",
    make=f"{make.__module__}:{make.__name__}",
    open=opened,
    variants=(DEFAULT_LAYOUT, *(name for name in LAYOUTS if name != DEFAULT_LAYOUT)),
)


def opened_of(subject: Subject, layout: LayoutName) -> Opened:
    """The timeline in a layout.

    Raises:
        BeingRead: the layout is being made.
    """
    if not subject.facts.counts.get("python", 0) and layout in ("filtered", "user"):
        layout = "split"  # there is no frame to hide
    found = subject.artifact(layout)
    if not isinstance(found, Opened):
        raise TypeError(f"the timeline opened as {type(found).__name__}")
    return found


def check_slice(opened: Opened, one: int) -> int:
    """The slice id.

    Raises:
        NotFoundError: there is no such slice.
    """
    if one >= len(opened.timeline.slices):
        raise NotFoundError(f"there is no slice {one}", hint="Ids are those of the tiles.")
    return one


def check_range(start: int, end: int) -> None:
    """Raises a QueryError where a range of time is empty, runs backwards, or is endless."""
    if end <= start:
        raise QueryError("the range of time is empty", hint="`end_ns` has to be after `start_ns`.")
    if end - start >= _ENDLESS_NS:
        raise QueryError("the range of time is longer than any trace")
