"""Records of a memory snapshot, read by the native library.

Where a file is cut off or damaged the library keeps what stands before, and ``unpickle`` says what
is wrong there. What torch does not write (protocol 0, values of other types) it leaves.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.native import call
from ..memory_model import FrameStacks
from .pickle_bytes import CHUNK, LACKS, NO_DICT, NO_LIST, NO_VALUE, ByteStream
from .records import BLOCK_COLUMNS, EVENT_COLUMNS, RecordTables, revived
from .unpickle import Cut, damage_at, unpickle

_MORE, _DONE, _LEFT, _CUT = 0, 1, 2, 3
_WHY = {2: LACKS, 3: NO_DICT, 4: NO_LIST, 5: NO_VALUE}
_WIDE, _CODE, _BYTE = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint8)
_CODED = frozenset(("action", "stack", "pool", "context", "metadata", "state"))
# In the order of native/src/snapshot.rs.
_COLUMNS: tuple[tuple[str, np.dtype[Any]], ...] = (
    *((f"event {name}", _CODE if name in _CODED else _WIDE) for name in EVENT_COLUMNS),
    *((f"block {name}", _CODE if name in _CODED else _WIDE) for name in BLOCK_COLUMNS),
    ("frame name", _CODE),
    ("frame filename", _CODE),
    ("frame line", _WIDE),
    ("stack starts", _WIDE),
    ("stack frames", _CODE),
    ("actions", _CODE),
    ("states", _CODE),
    ("texts", _CODE),
    ("pools", _WIDE),
    ("text ends", _WIDE),
    ("text bytes", _BYTE),
    ("root", _BYTE),
)
_OF_CUT = (("cut", _WIDE), ("rest", _BYTE), ("top", _BYTE))


class _Joined:
    """Some bytes, and then those of a stream."""

    def __init__(self, first: bytes, stream: ByteStream) -> None:
        self._first, self._stream = first, stream

    def read(self, n: int, /) -> bytes:
        found, self._first = self._first[:n], self._first[n:]
        return found or self._stream.read(n)


def read_natively(stream: ByteStream) -> tuple[RecordTables, str] | None:
    """The rows of a snapshot and its damage, "" if it is whole.

    None: there is no library, or torch did not write the file.

    Raises:
        TraceFormatError: as ``unpickle``.
    """
    reader = call("kinetoscope_snapshot_new")
    if reader is None:
        return None
    try:
        state: int | None = _MORE
        while state == _MORE and (data := stream.read(CHUNK)):
            state = call("kinetoscope_snapshot_feed", reader, data, len(data))
        if state in (_MORE, _CUT) and call("kinetoscope_snapshot_end", reader) == _CUT:
            damage = _damage(reader, stream)
            state = _DONE if damage else _LEFT
        else:
            damage = ""
        tables = _tables(reader) if state == _DONE else None
        return None if tables is None else (tables, damage)
    finally:
        call("kinetoscope_snapshot_free", reader)


def _damage(reader: int, stream: ByteStream) -> str:
    """The fault of the instruction at which the reader stopped; "" if there is none."""
    found = _columns(reader, _OF_CUT, len(_COLUMNS))
    if found is None:
        return ""
    offset, why, is_marked = found["cut"].tolist()
    top = unpickle(io.BytesIO(found["top"].tobytes())).value
    texts = tuple(top) if isinstance(top, tuple) else ()
    cut = Cut(offset, _WHY.get(why, ""), texts, bool(is_marked))
    return damage_at(cut, _Joined(found["rest"].tobytes(), stream))


def _columns(
    reader: int, named: Sequence[tuple[str, np.dtype[Any]]], first: int = 0
) -> dict[str, NDArray[Any]] | None:
    """Columns by name; None: the library failed."""
    found: dict[str, NDArray[Any]] = {}
    for number, (name, kind) in enumerate(named, first):
        size = call("kinetoscope_snapshot_size", reader, number)
        if size is None:
            return None
        column = np.empty(size // kind.itemsize, kind)
        if call("kinetoscope_snapshot_take", reader, number, column, size) != size:
            return None
        found[name] = column
    return found


def _tables(reader: int) -> RecordTables | None:
    found = _columns(reader, _COLUMNS)
    if found is None:
        return None
    texts = _texts(found["text ends"], found["text bytes"])

    def named(column: str) -> tuple[str, ...]:
        return tuple(texts[code] for code in found[column].tolist())

    root = unpickle(io.BytesIO(found["root"].tobytes()))
    return RecordTables(
        events={name: found[f"event {name}"] for name in EVENT_COLUMNS},
        blocks={name: found[f"block {name}"] for name in BLOCK_COLUMNS},
        stacks=FrameStacks(
            name=named("frame name"),
            filename=named("frame filename"),
            line=found["frame line"],
            starts=found["stack starts"],
            frames=found["stack frames"],
        ),
        actions=named("actions"),
        states=named("states"),
        texts=named("texts"),
        pools=tuple(map(tuple, found["pools"].reshape(-1, 2).tolist())),
        root=revived(root.value),
    )


def _texts(ends: NDArray[np.int64], data: NDArray[np.uint8]) -> list[str]:
    whole, start, found = data.tobytes(), 0, []
    for end in ends.tolist():
        found.append(whole[start:end].decode())
        start = end
    return found
