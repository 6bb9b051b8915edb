"""Records of a memory snapshot read by the native library; ``records`` is the reference.

The library takes files as torch writes them, whole and plain. Anything else it leaves, so the
reference refuses, repairs and explains.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.native import call
from .records import BLOCK_COLUMNS, EVENT_COLUMNS, FrameStacks, RecordTables, revived
from .unpickle import CHUNK, ByteStream, unpickle

_MORE, _DONE = 0, 1
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


def read_natively(stream: ByteStream) -> RecordTables | None:
    """The rows of a snapshot; None: the reference has to read it from the start."""
    reader = call("kinetoscope_snapshot_new")
    if reader is None:
        return None
    try:
        state: int | None = _MORE
        while state == _MORE and (data := stream.read(CHUNK)):
            state = call("kinetoscope_snapshot_feed", reader, data, len(data))
        return _tables(reader) if state == _DONE else None
    finally:
        call("kinetoscope_snapshot_free", reader)


def _tables(reader: int) -> RecordTables | None:
    found: dict[str, NDArray[Any]] = {}
    for number, (name, kind) in enumerate(_COLUMNS):
        size = call("kinetoscope_snapshot_size", reader, number)
        if size is None:
            return None
        column = np.empty(size // kind.itemsize, kind)
        if call("kinetoscope_snapshot_take", reader, number, column, size) != size:
            return None
        found[name] = column
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
