"""Runs of plain events decoded by the native library; the reference decodes the rest.

The library takes events that are strict JSON with values of the usual types, each wholly or not at
all, and stops in front of any other. So what it takes means the same as member by member. Recorders
write few other events; where there are many, the reference decodes blocks of them.

The library also holds the columns while they grow; ``column_builder`` is their reference. Codes are
mostly given in the order of their first use, as ``raw`` requires, and then not renumbered.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import Sparse
from ...base.native import PANICKED
from ..raw import FLOAT_ARGS, INT_ARGS, NAMING, TEXT_ARGS, Blocks, FaultLog, RawEvents
from .column_builder import (
    DENSE,
    FLOATS,
    INTS,
    TEXTS,
    BlockTable,
    FinishedColumns,
    SharedRows,
    in_order_of_use,
    not_events,
    sparse_dtype,
)
from .cursor import PIECE_BYTES, ScanLimits, TextWindow
from .events import BlockRuns, Event, Runs
from .sinks import ColumnsSink

_SPARSE = (*INTS, *FLOATS, *TEXTS)
_NUMBER = {name: number for number, name in enumerate(_SPARSE)}
_CODES = ("category", "name", "pid", "tid")
_KEYS = {**INT_ARGS, **FLOAT_ARGS, **TEXT_ARGS}
_MAX_KNOWN = 100_000
_PIECES_AHEAD = 8  # read while the last events of a run are scanned by other threads
_LEAST_BYTES = 3  # of an event and its comma

_POINTER, _INT = ctypes.c_void_p, ctypes.c_int64
_AHEAD = ctypes.CFUNCTYPE(_INT)
_SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "new": (ctypes.c_char_p, _INT, _INT, _INT, _INT),
    "free": (_POINTER,),
    "run": (
        *(_POINTER, _POINTER, _POINTER, _INT, _INT, _INT, _INT, _INT, _INT),
        *(_AHEAD, _POINTER, _INT, _POINTER),
    ),
    "code": (_POINTER, ctypes.c_char_p, _INT),
    "expect": (_POINTER, _INT),
    "phased": (_POINTER,),
    "add": (_POINTER, _INT, _POINTER, _POINTER, _POINTER, _POINTER),
    "put": (_POINTER, _INT, _INT, _POINTER, _POINTER),
    "take": (_POINTER, _INT, _POINTER),
    "take_rows": (_POINTER, _INT, _POINTER),
    "take_values": (_POINTER, _INT, _POINTER),
    "take_wide_values": (_POINTER, _INT, _POINTER),
    "free_column": (_POINTER,),
    "texts": (_POINTER, _POINTER),
    "take_texts": (_POINTER, _POINTER, _POINTER),
}
# What returns a pointer, null where it failed.
_POINTERS = frozenset({"new", "take", "take_rows", "take_values", "take_wide_values"})


class NativePanic(Exception):
    """The library has a bug: the text must be read again without it."""


class _Handed(ctypes.Structure):
    _fields_ = (("data", _POINTER), ("count", _INT), ("width", _INT))


class _Memory:
    """A column that the library has handed over: freed when the last array that shows it goes."""

    def __init__(self, free: Callable[[int], int], column: int, place: Mapping[str, Any]) -> None:
        self._free = free
        self._column = column
        self.__array_interface__ = place

    def __del__(self) -> None:
        self._free(self._column)


class NativeColumns:
    """Columns in the library, freed with this object."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._functions = _functions(library)
        table = "\n".join(f"{_NUMBER[column]}\t{key}" for key, column in _KEYS.items()).encode()
        self._scanner = self._functions["new"](
            table, len(table), len(INTS), len(FLOATS), len(TEXTS)
        )
        if not self._scanner:
            raise NativePanic
        self._blocks = BlockTable()
        self._rows = 0
        self.codes: Mapping[str, int] = _Codes(self)
        self.in_order = True  # Codes were given in the order of their first use.

    def __del__(self) -> None:
        if getattr(self, "_scanner", None):
            self._functions["free"](self._scanner)

    def call(self, name: str, *args: object) -> int:
        """Calls ``kinetoscope_scan_<name>`` with the scanner and ``args``.

        Raises:
            NativePanic: it failed.
        """
        result = int(self._functions[name](self._scanner, *args))
        if result == PANICKED:
            raise NativePanic
        return result

    @property
    def rows(self) -> int:
        """The number of events."""
        return self._rows

    def run(
        self, pieces: Sequence[bytes], window: TextWindow, stop: int, limits: ScanLimits
    ) -> tuple[int, bool]:
        """Takes the events at the window's position in blocks, none of which begins from ``stop``.

        ``pieces`` is the text in memory. The index in it behind the last event taken, and whether
        the next one is for the reference. On several threads the text of the next run is read
        meanwhile.
        """
        start, count = window.pos, len(pieces)
        most = max(1, -(-(stop - start) // limits.block_bytes))
        blocks = np.empty((most, 3), np.int64)
        found = _INT()
        # The first run is short, that no thread waits long for its text; each may be twice as long.
        next_bytes = min(2 * (stop - start), limits.most_run_bytes)
        in_memory = stop + next_bytes + _PIECES_AHEAD * PIECE_BYTES

        def ahead() -> int:
            return -(-window.read_ahead(in_memory) // PIECE_BYTES)

        why = self.call(
            "run",
            _array(ctypes.c_char_p, count)(*pieces), _array(_INT, count)(*map(len, pieces)), count,
            start, stop, limits.block_bytes, limits.event_bytes,
            limits.threads_now, _AHEAD(ahead), blocks.ctypes.data, most, ctypes.byref(found),
        )  # fmt: skip
        behind = start
        for begin, behind, rows in blocks[: found.value].tolist():
            self._blocks.add(window.offset + begin, behind - begin, self._rows)
            self._rows += rows
        return behind, bool(why)

    def expect(self, rows: int) -> None:
        """Let the next run make room for so many rows in all, on a thread that is free by then.

        Columns that grow without it are moved, to memory never used.
        """
        self.call("expect", rows)

    def add_dense(self, chunk: Mapping[str, NDArray[Any]]) -> None:
        """Appends one chunk of every dense column; the chunk's sparse values go in before."""
        columns = {name: np.ascontiguousarray(chunk[name], DENSE[name]) for name in DENSE}
        codes = (_POINTER * 4)(*(columns[name].ctypes.data for name in _CODES))
        phase, ts, dur = (columns[name].ctypes.data for name in ("phase", "ts", "dur"))
        self.call("add", len(columns["phase"]), phase, codes, ts, dur)
        self._rows += len(columns["phase"])

    def add_sparse(self, name: str, row: NDArray[Any], value: NDArray[Any]) -> None:
        """Appends values of the current chunk; ``row`` counts from the chunk's first row."""
        rows = np.ascontiguousarray(row + self.rows, np.int32)
        values = np.ascontiguousarray(value, sparse_dtype(name))
        self.call("put", _NUMBER[name], len(rows), rows.ctypes.data, values.ctypes.data)

    def add_block(self, offset: int, length: int, rows: int) -> None:
        """Note that the last ``rows`` rows came from this part of the text."""
        if rows:
            self._blocks.add(offset, length, self.rows - rows)

    def check_phases(self) -> None:
        """Check that some row has a phase.

        Raises:
            TraceFormatError: the members of the array are no events.
        """
        if not self.call("phased"):
            raise not_events()

    def finish(self) -> FinishedColumns:
        """All columns; takes them out, and copies none."""
        dense = {
            name: self._taken("take", number, DENSE[name]) for number, name in enumerate(DENSE)
        }
        rows_known = SharedRows()
        found = FinishedColumns(
            events=RawEvents(**dense),
            ints=self._take(INTS, rows_known),
            floats=self._take(FLOATS, rows_known),
            texts=self._take(TEXTS, rows_known),
            strings=self._strings(),
        )
        return found if self.in_order else in_order_of_use(found)

    def blocks(self) -> Blocks:
        """The places of the rows in the text."""
        return self._blocks.finish(self.rows)

    def _take(self, names: tuple[str, ...], known: SharedRows) -> dict[str, Sparse]:
        taken = {}
        for name in names:
            number = _NUMBER[name]
            row = self._taken("take_rows", number, np.int32)
            if len(row):
                values = "take_values" if name in NAMING else "take_wide_values"
                value = self._taken(values, number, sparse_dtype(name))
                taken[name] = Sparse(known.share(row), value)
        return taken

    def _taken(self, what: str, number: int, dtype: type[np.generic]) -> NDArray[Any]:
        """A column of this type, or of a narrower one, where the library has it."""
        handed = _Handed()
        column = self._functions[what](self._scanner, number, ctypes.byref(handed))
        if not column:
            raise NativePanic
        place = {
            "data": (handed.data, False),
            "shape": (handed.count,),
            "typestr": np.dtype(f"{np.dtype(dtype).kind}{handed.width}").str,
            "version": 3,
        }
        return np.asarray(_Memory(self._functions["free_column"], column, place))

    def _strings(self) -> tuple[str, ...]:
        size = _INT()
        ends = np.empty(self.call("texts", ctypes.byref(size)), np.int64)
        text = np.empty(size.value, np.uint8)
        self.call("take_texts", ends.ctypes.data, text.ctypes.data)
        data = text.tobytes()
        start = 0
        strings = []
        for end in ends.tolist():
            strings.append(data[start:end].decode("utf-8", "surrogatepass"))
            start = end
        return tuple(strings)


class _Codes(dict[str, int]):
    """Codes that the library has given; only those asked for lately are kept here."""

    def __init__(self, columns: NativeColumns) -> None:
        super().__init__()
        self._call = columns.call

    def __missing__(self, text: str) -> int:
        if len(self) >= _MAX_KNOWN:
            self.clear()
        data = text.encode("utf-8", "surrogatepass")
        code = self[text] = self._call("code", data, len(data))
        return code


@cache
def _array(of: type[Any], count: int) -> Callable[..., Any]:
    """The type of an array; to make one takes longer than to fill it."""
    made: Callable[..., Any] = of * count
    return made


@cache
def _functions(library: ctypes.CDLL) -> Mapping[str, Callable[..., int]]:
    return {name: _function(library, name) for name in _SIGNATURES}


def _function(library: ctypes.CDLL, name: str) -> Callable[..., int]:
    try:
        function = library[f"kinetoscope_scan_{name}"]
    except AttributeError:  # Built before there was one.
        raise NativePanic from None
    function.argtypes = _SIGNATURES[name]
    function.restype = _POINTER if name in _POINTERS else _INT
    return function


_MANY = 64
# One event read by itself costs as much as some in a block that the reference reads.
_SAMPLE, _WORTH = 16, 5
_ODD_BYTES = 64 * 1024


class NativeSink:
    """A sink into columns that the library grows."""

    def __init__(self, columns: NativeColumns, faults: FaultLog) -> None:
        self.columns = columns
        self._faults = faults

    @property
    def rows(self) -> int:
        """The number of events taken."""
        return self.columns.rows

    @cached_property
    def _others(self) -> ColumnsSink:
        """The sink of events that the library leaves; most files have none."""
        return ColumnsSink(self.columns, self._faults)

    def runs(self, limits: ScanLimits) -> Runs:
        """Blocks of events by the library."""
        return NativeRuns(self.columns, BlockRuns(self._block, _small(limits)), limits)

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:
        """Take events value by value."""
        self._others.events(events, starts, end)

    def _block(self, array: bytes, place: int) -> None:
        self.columns.in_order = False
        self._others.block(array, place)


class NativeRuns:
    """Blocks of events that the library takes; where it leaves many, blocks of others."""

    def __init__(self, columns: NativeColumns, odd_runs: Runs, limits: ScanLimits) -> None:
        self._columns = columns
        self._odd_runs = odd_runs
        self._limits = limits
        self._left = False  # It has just refused the event at this position.
        self._odd = False
        self._few = 1
        self._pause = self._tries_left_out = 0
        self._taken = self._singles = 0  # rows, and members read one by one, of late

    def take(self, window: TextWindow) -> bool:
        """Hands over as many events of the text in memory as the library takes."""
        if self._odd:
            self._odd = False
            if self._take_odd(window):
                self._left = False
                return True
        if self._left:
            self._left = False
            return False
        before = self._columns.rows
        # A block that may go on behind the text in memory waits until there is more of it, so that
        # blocks are the same however much of it is there.
        behind = self._limits.block_bytes + self._limits.block_end_bytes - 1
        pieces = window.hold(self._limits.run_bytes)
        stop = sum(map(len, pieces)) - (0 if window.all_read else behind)
        if before + (stop - window.pos) // _LEAST_BYTES > self._limits.events:
            stop = 0  # Near the limit it is looked at behind each block.
        stop = max(stop, window.pos + 1)
        behind, self._left = self._columns.run(pieces, window, stop, self._limits)
        if behind == window.pos:
            self._left = False
            return False
        window.move(behind)
        self._taken += self._columns.rows - before
        self._few = 1
        return True

    def _take_odd(self, window: TextWindow) -> bool:
        """Hands over a block of strict JSON; seldom tries to where the text is damaged instead."""
        if self._tries_left_out < self._pause:
            self._tries_left_out += 1
            return False
        before = self._columns.rows
        taken = self._odd_runs.take(window)
        worth = self._columns.rows - before > _SAMPLE
        self._pause = 0 if worth else min(2 * self._pause + 1, _MANY)
        self._tries_left_out = 0
        return taken

    def singles(self) -> int:
        """The number of members to read one by one; it grows where the library takes none."""
        few = self._few
        self._few = min(2 * few, _MANY)
        self._singles += few
        if self._singles >= _SAMPLE:
            self._odd = self._taken < _WORTH * self._singles
            self._taken = self._singles = 0
        return few


def _small(limits: ScanLimits) -> ScanLimits:
    return replace(limits, threads=1, block_bytes=min(limits.block_bytes, _ODD_BYTES))
