"""Grows the columns of a RawTrace, chunk by chunk; no object per event outlives its chunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import TraceFormatError
from .raw import FLOAT_ARGS, ID_INT, INT_ARGS, Blocks, RawEvents, Sparse

DENSE: Mapping[str, type[np.generic]] = {
    "phase": np.uint8,
    "category": np.int32,
    "name": np.int32,
    "pid": np.int32,
    "tid": np.int32,
    "ts": np.int64,
    "dur": np.int64,
}
_INTS = frozenset((*INT_ARGS.values(), ID_INT))
_FLOATS = frozenset(FLOAT_ARGS.values())


def sparse_dtype(column: str) -> type[np.generic]:
    """Type of the values of a sparse column; texts are codes."""
    return np.int64 if column in _INTS else np.float64 if column in _FLOATS else np.int32


class Codes(dict[str, int]):
    """Text → code; a new text gets the next one. Code 0 is the empty text."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code


class RawColumns:
    """The columns so far, and where their rows are in the text."""

    def __init__(self) -> None:
        self.codes = Codes()
        self.rows = 0
        self._dense: dict[str, list[NDArray[Any]]] = {name: [] for name in DENSE}
        self._sparse: dict[str, list[tuple[NDArray[np.int32], NDArray[Any]]]] = {}
        self._blocks: list[tuple[int, int, int]] = []

    def add_dense(self, chunk: Mapping[str, NDArray[Any]]) -> None:
        """Appends one chunk of every dense column; the chunk's sparse values go in before."""
        for name, dtype in DENSE.items():
            self._dense[name].append(np.asarray(chunk[name], dtype))
        self.rows += len(chunk["phase"])

    def add_sparse(self, name: str, row: NDArray[Any], value: NDArray[Any]) -> None:
        """Appends values of the current chunk; ``row`` counts from the chunk's first row."""
        if len(row):
            rows = (row + self.rows).astype(np.int32)
            values = np.asarray(value, sparse_dtype(name))
            self._sparse.setdefault(name, []).append((rows, values))

    def add_block(self, offset: int, length: int, rows: int) -> None:
        """The last ``rows`` rows came from this part of the text."""
        if rows:
            self._blocks.append((offset, length, self.rows - rows))

    def check_phases(self) -> None:
        """Some row must have a phase.

        Raises:
            TraceFormatError: the members of the array are no events.
        """
        if not any(phases.any() for phases in self._dense["phase"]):
            raise TraceFormatError(
                "not_events",
                "This is a JSON array, but not of trace events.",
                hint="A trace is what export_chrome_trace() writes.",
            )

    def events(self) -> RawEvents:
        """All dense columns, each in one piece; takes them out."""
        return RawEvents(**{name: _joined(self._dense.pop(name), DENSE[name]) for name in DENSE})

    def sparse(self, names: tuple[str, ...]) -> dict[str, Sparse]:
        """Those of these sparse columns that have values; takes them out."""
        result = {}
        for name in dict.fromkeys(names):
            pieces = self._sparse.pop(name, None)
            if pieces:
                rows = _joined([row for row, _ in pieces], np.int32)
                result[name] = Sparse(rows, _joined([value for _, value in pieces], sparse_dtype(name)))
        return result

    def blocks(self) -> Blocks:
        """Where the rows are in the text."""
        table = np.array(self._blocks, np.int64).reshape(-1, 3)
        first_row = np.append(table[:, 2], self.rows)
        return Blocks(table[:, 0].copy(), table[:, 1].copy(), first_row)


def _joined(pieces: list[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(pieces) if pieces else np.empty(0, dtype)
