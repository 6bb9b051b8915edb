"""Many events in full, found again in the file in one pass over it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .faults import FaultLog
from .inflate import Source, Text
from .members import members_of
from .raw import Blocks
from .rereader import events_in
from .seeking import taken
from .values import json_text

I64 = NDArray[np.int64]
METADATA = re.compile(rb'"ph"\s*:\s*"M"')
"""How an event names a process or a thread: found in the text, because no table has its row."""
_METADATA_VALUE = b'"M"'


def event_texts(source: Source, blocks: Blocks, rows: I64) -> Iterator[tuple[int, bytes]]:
    """The JSON text of some events, and of all metadata events, by row.

    The text is what the file writes, so that every digit and every argument stays; that of an event
    that had to be repaired is made anew. Only a block at a time is in memory. ``rows`` ascend.
    """
    low = np.searchsorted(rows, blocks.first_row)
    with Text(source, FaultLog()) as text:
        place = 0
        for block in range(len(blocks.offset)):
            text.skip(int(blocks.offset[block]) - place)
            data = taken(text, int(blocks.length[block]))
            place = int(blocks.offset[block]) + len(data)
            wanted = rows[low[block] : low[block + 1]]
            may_name = _METADATA_VALUE in data and METADATA.search(data) is not None
            if len(wanted) or may_name:
                yield from _of_block(data, blocks, block, set(wanted.tolist()))


def _of_block(
    data: bytes, blocks: Blocks, block: int, wanted: set[int]
) -> Iterator[tuple[int, bytes]]:
    first, behind = int(blocks.first_row[block]), int(blocks.first_row[block + 1])
    members = members_of(data)
    if len(members) != behind - first:
        members = [json_text(event).encode("utf-8", "replace") for event in events_in(data)]
    for row, member in zip(range(first, behind), members, strict=False):
        if row in wanted or METADATA.search(member):
            yield row, member
