"""The two passes over a Perfetto file in the native library.

A row of text needs what stands behind it in the file: the end of a slice, and in torch's own files
where the work of a device ended. So the first pass surveys the file, the second writes the text.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

import numpy as np

from ...base.arrays import I64
from ...base.native import call, native
from ..raw import INT_ARGS

BOOT, REAL = 6, 1
"""Numbers of the clocks of a Perfetto file."""
RENAMED = {
    "device id": "device",
    "context id": "context",
    "registers_per_thread": "registers per thread",
    "shared_mem_dynamic": "dynamic shared memory",
    "thread_count": "threads per block",
}
_MORE_INTS = (
    "context",
    "priority",
    "queued",
    "channel",
    "channel_type",
    "flags",
    "value",
    "memory kind",
    "host process",
    "host thread",
    "process_id",
)
INT_EXTRAS = tuple(dict.fromkeys((*INT_ARGS, *_MORE_INTS)))
"""Arguments of a device's work that files of torch hold as texts, and that are integers."""
_KINDS = ("bad_packet", "oversized", "truncated", "other_packet", "unpaired_end", "lost_iid")
_HEAD = 3
_TABLE = "\n".join(
    [f"int\t{key}" for key in INT_EXTRAS]
    + [f"name\t{key}\t{name}" for key, name in RENAMED.items()]
).encode()


class Notes:
    """Irregularities: their number, and place and value of the first."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.first: dict[str, tuple[int, int]] = {}

    def add(self, kind: str, place: int, value: int, count: int = 1) -> None:
        """Count some; ``value`` is a size, a field number or an iid, as the kind says."""
        self.count[kind] += count
        self.first[kind] = min(self.first.get(kind, (place, value)), (place, value))

    def merged(self, other: Notes) -> Notes:
        """Both."""
        result = Notes()
        for notes in (self, other):
            for kind, count in notes.count.items():
                result.add(kind, *notes.first[kind], count)
        return result


class TranscoderFailed(Exception):
    """There is no native library, or it failed on this file; the text says which."""


class Transcoder(Protocol):
    """Two passes over a file; the second uses the results of the first."""

    @property
    def notes(self) -> Notes:
        """Irregularities of both passes."""
        ...

    @property
    def rows(self) -> int:
        """Rows that the first pass has seen so far."""
        ...

    @property
    def event_bytes(self) -> int:
        """Bytes of packets that made rows."""
        ...

    @property
    def from_torch(self) -> bool:
        """True if torch wrote the file."""
        ...

    def survey(self, piece: bytes, *, last: bool) -> None:
        """First pass: the next bytes of the file."""
        ...

    def write(self, piece: bytes, *, last: bool) -> bytes:
        """Second pass: the next bytes of the file; the text of the rows that they end."""
        ...


class NativeTranscoder:
    """The passes in the library, freed with this object."""

    def __init__(self, subtract: int) -> None:
        """Raises TranscoderFailed where there is no library."""
        self._passes = 0
        self._passes = self._call("new", subtract, _TABLE, len(_TABLE), of_passes=False)

    def __del__(self) -> None:
        if self._passes:
            call("kinetoscope_perfetto_free", self._passes)

    def _call(self, name: str, *arguments: object, of_passes: bool = True) -> int:
        own = (self._passes,) if of_passes else ()
        answer = call(f"kinetoscope_perfetto_{name}", *own, *arguments)  # type: ignore[arg-type]
        if answer is None:
            raise TranscoderFailed(native().reason or "it failed on this file")
        return answer

    def survey(self, piece: bytes, *, last: bool) -> None:
        """First pass: the next bytes of the file."""
        self._call("survey", piece, len(piece), int(last))

    def write(self, piece: bytes, *, last: bool) -> bytes:
        """Second pass: the next bytes of the file; the text of the rows that they end."""
        text = np.empty(self._call("write", piece, len(piece), int(last)), np.uint8)
        self._call("take", text, len(text))
        return text.tobytes()

    def _told(self) -> I64:
        told = np.zeros(_HEAD + 3 * len(_KINDS), np.int64)
        self._call("tell", told, len(told))
        return told

    @property
    def notes(self) -> Notes:
        """Irregularities of both passes."""
        notes = Notes()
        for kind, (count, place, value) in zip(
            _KINDS, self._told()[_HEAD:].reshape(-1, 3).tolist(), strict=True
        ):
            if count:
                notes.add(kind, place, value % (1 << 64), count)
        return notes

    @property
    def rows(self) -> int:
        """Rows that the first pass has seen so far."""
        return int(self._told()[0])

    @property
    def event_bytes(self) -> int:
        """Bytes of packets that made rows."""
        return int(self._told()[1])

    @property
    def from_torch(self) -> bool:
        """True if torch wrote the file."""
        return bool(self._told()[2])
