"""Tolerated, lost or missing parts of a file, and their consequences (contract).

It travels inside the summary of a trace, so it is known without any column.
"""

# Without `from __future__ import annotations`: msgspec would compile each annotation, a text then,
# before the first summary is read.
from collections.abc import Iterable, Mapping

from msgspec import Struct

WORST_FIRST = ("error", "warning", "info", "good")
"""The severities of notes."""
COSTLY = ("error", "warning")
"""Severities of lost data or affected figures."""

CUT = ("truncated", "gzip_truncated", "gzip_corrupt", "too_many_events")
"""Kinds of notes that say that the rest could not be read; the one with a place first."""


class Note(Struct, frozen=True):
    """One thing to know about a trace."""

    kind: str  # key of health.notes.CATALOG
    severity: (
        str  # "error" (part of the file is lost) | "warning" (taints a figure) | "info" | "good"
    )
    title: str  # "Allocator events carry no addresses or totals"
    count: int  # how often; 0 where counting makes no sense
    total: int  # out of how many; 0 = not a share
    consequence: str  # what it means for the reader of the page
    remedy: str = ""  # how to record it better; "" = nothing to do
    example: str = ""
    offset: int = -1  # place of the example in the inflated text, −1 = none
    taints: tuple[str, ...] = ()  # stems of views whose figures it touches


def worst_first(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes by severity; equal ones keep their order."""
    return tuple(sorted(notes, key=lambda note: WORST_FIRST.index(note.severity)))


class HealthRecord(Struct, frozen=True):
    """Counts that reconcile, and the notes.

    ``events`` = ``used`` + ``ignored`` and every ignored kind is listed with its count.
    """

    file_bytes: int
    text_bytes: int
    events: int
    used: int
    ignored: Mapping[str, int]  # for example {"flow without an other end": 312}
    skipped: int  # pieces of text that could not be decoded as an event
    repaired: int  # events that needed a repair
    notes: tuple[Note, ...]  # worst first

    @property
    def cut(self) -> Note | None:
        """The note that the file ends before the recording did, in whichever way, or None.

        Later events are unknown.
        ``offset`` is where in the inflated text the last complete event ends, or −1.
        """
        by_kind = {note.kind: note for note in self.notes}
        return next((by_kind[kind] for kind in CUT if kind in by_kind), None)

    @property
    def costly(self) -> tuple[Note, ...]:
        """The notes that report lost data or affected figures."""
        return tuple(note for note in self.notes if note.severity in COSTLY)
