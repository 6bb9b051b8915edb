"""Many events in full, found again in the file in one pass over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..base.errors import NotFoundError
from .faults import FaultLog
from .inflate import Source, Text, TextAt
from .members import members_of
from .raw import NO_POINTS, Blocks, SeekIndex
from .rereader import events_in
from .seek import NotTheFile, can_seek
from .seeking import taken
from .strict import has_lone_surrogate
from .values import json_text

if TYPE_CHECKING:
    from typing_extensions import Self

I64 = NDArray[np.int64]
_OBJECT = msgspec.json.Decoder(dict[str, Any])
JUMP_BYTES = 32 << 20
"""Over so much text it is faster to enter a gzip file anew than to inflate what lies between."""


def event_texts(
    source: Source, blocks: Blocks, rows: I64, seek: SeekIndex = NO_POINTS
) -> Iterator[tuple[int, bytes]]:
    """The JSON text of some events by row, in the order of the file; ``rows`` ascend.

    The text is what the file writes, so that every digit and every argument stays; that of an event
    that had to be repaired is made anew, so it is always JSON. Only a block at a time is in memory.

    Raises:
        NotFoundError: there is no such file, or it is not the one that was scanned.
    """
    edges = np.searchsorted(rows, blocks.first_row)
    with _Pieces(source, seek) as pieces:
        for block in np.flatnonzero(np.diff(edges)).tolist():
            data = pieces.read(int(blocks.offset[block]), int(blocks.length[block]))
            first, behind = int(blocks.first_row[block]), int(blocks.first_row[block + 1])
            members = members_of(data)
            wanted = rows[edges[block] : edges[block + 1]] - first
            if len(members) != behind - first or not _are_strict(members, wanted):
                members = [json_text(event).encode("utf-8", "replace") for event in events_in(data)]
            for row in rows[edges[block] : edges[block + 1]].tolist():
                if row - first >= len(members):
                    raise NotFoundError("The file has changed since it was read.")
                yield row, members[row - first]


def _are_strict(members: list[bytes], wanted: I64) -> bool:
    """Whether some texts are JSON: who takes a block apart does not look into every corner."""
    try:
        for at in wanted.tolist():
            _OBJECT.decode(members[at])
    except (msgspec.DecodeError, RecursionError, IndexError):
        return False
    return not any(has_lone_surrogate(members[at]) for at in wanted.tolist())


class _Pieces:
    """Pieces of a text, one behind the other."""

    def __init__(self, source: Source, seek: SeekIndex) -> None:
        self._source = source
        self._seek = seek
        self._text = Text(source, FaultLog())
        self._place = 0

    def read(self, offset: int, length: int) -> bytes:
        """Text [offset, offset + length); no piece begins before the end of the one before."""
        if offset - self._place > JUMP_BYTES and can_seek(self._seek, offset):
            self._text.close()
            self._text = TextAt(self._source, self._seek, offset)
        else:
            self._text.skip(offset - self._place)
        try:
            data = taken(self._text, length)
        except NotTheFile:
            raise NotFoundError("The file has changed since it was read.") from None
        self._place = offset + len(data)
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.close()
