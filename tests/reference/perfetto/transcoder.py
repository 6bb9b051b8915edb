"""The two passes over a Perfetto file, in Python."""

from __future__ import annotations

from kinetoscope.trace.perfetto.native import Notes

from .survey import Survey
from .writer import RowWriter


class ReferenceTranscoder:
    """Both passes in Python."""

    def __init__(self, subtract: int) -> None:
        self._subtract = subtract
        self._survey = Survey()
        self._writer: RowWriter | None = None

    @property
    def notes(self) -> Notes:
        """What was odd in both passes."""
        return self._survey.notes.merged(self._writer.notes if self._writer else Notes())

    @property
    def rows(self) -> int:
        """Rows that the first pass has seen so far."""
        return self._survey.rows

    @property
    def event_bytes(self) -> int:
        """Bytes of packets that made rows."""
        return self._survey.event_bytes

    @property
    def from_torch(self) -> bool:
        """Whether torch wrote the file."""
        return self._survey.packets.from_torch

    def survey(self, piece: bytes, *, last: bool) -> None:
        """First pass: the next bytes of the file."""
        self._survey.feed(piece, last=last)

    def write(self, piece: bytes, *, last: bool) -> bytes:
        """Second pass: the next bytes of the file; the text of the rows that they end."""
        if self._writer is None:
            self._writer = RowWriter(self._survey, self._subtract)
        return self._writer.feed(piece, last=last)
