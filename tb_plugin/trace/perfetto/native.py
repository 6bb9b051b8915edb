"""The two passes over a Perfetto file in the native library, as ``survey`` and ``writer`` say."""

from __future__ import annotations

import numpy as np

from ...base.arrays import I64
from ...base.native import call
from .survey import Notes
from .writer import INT_EXTRAS, RENAMED

_KINDS = ("bad_packet", "oversized", "truncated", "other_packet", "unpaired_end", "lost_iid")
_HEAD = 3
_TABLE = "\n".join(
    [f"int\t{key}" for key in INT_EXTRAS]
    + [f"name\t{key}\t{name}" for key, name in RENAMED.items()]
).encode()


class TranscoderFailed(Exception):
    """The library has a bug: the file must be read by the reference."""


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
            raise TranscoderFailed
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
        """What was odd in both passes."""
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
        """Whether torch wrote the file."""
        return bool(self._told()[2])
