"""The result of a scan: the events of a file as columns, not yet interpreted (contract).

Two scanners may exist (pure Python and native); both obey this page and are held against each
other, column by column and fault by fault:

    scan(stream, progress) -> RawTrace

* Rows are the events of ``traceEvents`` in file order; every event that could be decoded has a row,
  whatever its phase or category, ``{}`` too. What could not be decoded is in ``faults``, with a
  count and an example; ``KINDS`` is the table of all that is tolerated.
* Times are exact int64 ns, from the decimal text: "4370504323436.782" µs is 4370504323436782 ns.
  Numbers and numeric strings are the same time. Digits below 1 ns are rounded half to even.
* Texts are codes into ``strings``; code 0 is "", which a missing text is, too. Codes count texts in
  the order of their first use: by row, and within a row category, name, pid, tid, ``ID_TEXT``, then
  the columns of ``TEXT_ARGS`` and ``COUNTER_ARGS``. ``pid`` and ``tid`` are texts: 7 and "7" are
  the same key.
* Args named in ``INT_ARGS``, ``FLOAT_ARGS`` and ``TEXT_ARGS`` become sparse columns under the name
  given there. An absent arg and null have no entry; of two spellings of one column the first in the
  table counts. Integers may be written as true, 7.0, "7" or "0x1f" (``values``); the value of a
  text arg that is no string is its JSON without white space, non-ASCII as it is, numbers as
  written. Every other arg is found again through ``blocks``.
* Of equal keys in one object the last counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from ..base.arrays import ColumnTable, Sparse, seen, take
from ..base.regex import regex

MISSING = np.iinfo(np.int64).min  # a ts that the event does not have
NO_DUR = -1  # a dur that the event does not have; a dur of −1 ns in the file is −2, others stay

# Phases: the codes of the letters in "ph".
BEGIN, END, COMPLETE, COUNTER, META = ord("B"), ord("E"), ord("X"), ord("C"), ord("M")
FLOW_START, FLOW_STEP, FLOW_END = ord("s"), ord("t"), ord("f")
INSTANTS = tuple(ord(letter) for letter in "iIR")
RANGED = (COMPLETE, BEGIN)

# Key in the file → column. Later spellings of one thing share a column.
INT_ARGS: Mapping[str, str] = {
    "External id": "external_id",
    "external id": "external_id",
    "correlation": "correlation",
    "Sequence number": "sequence",
    "Fwd thread id": "forward_thread",
    "Python id": "python_id",
    "Python parent id": "python_parent_id",
    "Python module id": "python_module_id",
    "device": "device",
    "stream": "stream",
    "bytes": "bytes",
    "registers per thread": "registers",
    "shared memory": "shared_memory",
    "graph id": "graph_id",
    "graph node id": "graph_node_id",
    "original_stream": "original_stream",
    "annotated_stream": "annotated_stream",
    "Device Type": "device_type",
    "Device Id": "device_id",
    "Bytes": "memory_bytes",
    "Addr": "address",
    "Total Allocated": "total_allocated",
    "Total Reserved": "total_reserved",
    "wait_on_stream": "wait_on_stream",
    "wait_on_cuda_event_id": "wait_on_event",
    "wait_on_cuda_event_record_corr_id": "wait_on_record",
    "Seq": "collective_seq",
    "In msg nelems": "in_elements",
    "Out msg nelems": "out_elements",
    "Group size": "group_size",
    "Src Rank": "peer_rank",
    "Dst Rank": "peer_rank",
    "connection_id": "connection_id",
    "sort_index": "sort_index",
    "finished": "finished",
}
FLOAT_ARGS: Mapping[str, str] = {
    "blocks per SM": "blocks_per_sm",
    "warps per SM": "warps_per_sm",
    "est. achieved occupancy %": "occupancy",
    "memory bandwidth (GB/s)": "bandwidth",
}
TEXT_ARGS: Mapping[str, str] = {
    "Input Dims": "input_dims",
    "Input dims": "input_dims",
    "Input type": "input_types",
    "Input Strides": "input_strides",
    "Concrete Inputs": "concrete_inputs",
    "Call stack": "call_stack",
    "Module Hierarchy": "module_hierarchy",
    "grid": "grid",
    "block": "block",
    "kind": "copy_kind",
    "copy kind": "copy_kind",
    "src kind": "source_memory",
    "dst kind": "target_memory",
    "memory kind": "memory_kind",
    "cuda_sync_kind": "sync_kind",
    "Collective name": "collective",
    "dtype": "collective_dtype",
    "Process Group Name": "group_name",
    "Process Group Description": "group_description",
    "Process Group Ranks": "group_ranks",
    "Comms Id": "comms_id",
    "In split size": "in_split",
    "kernel": "kernel",  # of the launches of HIP: what is launched
    "kernel_backend": "kernel_backend",
    "kernel_file": "kernel_file",
    "module_fqn": "module_fqn",
    "Task Type": "task_type",
    "name": "label_name",  # of metadata events: process_name, thread_name
    "labels": "labels",
}
# Columns of integers that name something. They are int32 where all their values fit, else int64, as
# all other integers are: names are not summed, and they are a large part of all sparse values.
NAMING = frozenset(
    {
        "id", "external_id", "correlation", "sequence", "python_id", "python_parent_id",
        "python_module_id", "device", "stream", "graph_id", "graph_node_id", "device_type",
        "original_stream", "annotated_stream",
        "device_id", "wait_on_stream", "wait_on_event", "wait_on_record", "collective_seq",
        "connection_id", "sort_index",
    }
)  # fmt: skip
# Outside args: the flow or async id (an int also when written as "7", else a text), and the whole
# args of counter events as JSON.
ID_INT, ID_TEXT, COUNTER_ARGS = "id", "id_text", "counter_args"


class RawEvents(ColumnTable, frozen=True, eq=False):
    """Dense columns, one entry per event, in file order."""

    phase: NDArray[np.uint8]  # ord of "ph"; 0 when missing
    category: NDArray[np.int32]  # code of "cat"; code of "" when missing
    name: NDArray[np.int32]
    pid: NDArray[np.int32]
    tid: NDArray[np.int32]
    ts: NDArray[np.int64]  # ns as written (not yet relative to the trace); MISSING
    dur: NDArray[np.int64]  # ns; NO_DUR


class Blocks(Struct, frozen=True, eq=False):
    """Where rows are in the inflated text: block b holds rows [first_row[b], first_row[b + 1]).

    So ``first_row`` has one entry more than there are blocks. Where to cut is the scanner's own
    choice. A block is the text of whole events and what is between them; ``reread`` makes an event
    of it again.
    """

    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    first_row: NDArray[np.int64]
    # Rows that name processes and threads: no table has them. Found by ``build``.
    metadata: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))


class SeekIndex(ColumnTable, frozen=True, eq=False):
    """Points for random access to a gzip file (``io.gzip``), some MB of text apart; often none.

    At point p the text from ``text[p]`` on is inflated from bit ``bit[p]`` of the file, by who
    knows the 32 KB of text before it: ``window[window_end[p - 1] : window_end[p]]``, compressed.
    """

    bit: NDArray[np.int64]
    text: NDArray[np.int64]
    window_end: NDArray[np.int64]
    window: NDArray[np.uint8]


_NONE = np.empty(0, np.int64)
NO_POINTS = SeekIndex(_NONE, _NONE, _NONE, np.empty(0, np.uint8))


class Fault(Struct, frozen=True):
    """One kind of thing the reader tolerated: how often, and the first example in the text."""

    kind: str  # a key of KINDS, for example "truncated"
    count: int
    example: str = ""
    offset: int = -1  # of the first example in the inflated text; -1 = not a place


class RawTrace(Struct, frozen=True, eq=False):
    """A scanned file as columns."""

    events: RawEvents
    ints: Mapping[str, Sparse]
    floats: Mapping[str, Sparse]
    texts: Mapping[str, Sparse]  # values are codes into strings
    strings: tuple[str, ...]
    metadata: Mapping[str, Any]  # every top-level key but traceEvents, decoded
    blocks: Blocks
    faults: tuple[Fault, ...]
    text_bytes: int  # size of the inflated text
    seek: SeekIndex = NO_POINTS


class Progress(Struct, frozen=True):
    """Progress of a read: stored bytes, and events."""

    phase: str  # "reading" | "linking" | "summarizing" | "caching"
    bytes_done: int
    bytes_total: int
    events: int


OnProgress = Callable[[Progress], None]


# --- faults ---------------------------------------------------------------------------------------

EXAMPLE_CHARS = 200

# Strict JSON in whole and plain containers has no faults, save repeated keys and, under *fields*,
# values of a type that the format does not have. What the columns show by themselves (no phase, no
# ts, no name) is no fault of the scanner; the second stage counts it.
KINDS: Mapping[str, str] = {
    # The container. Each counts occurrences.
    "gzip_truncated": "the compressed stream ends early; all that it holds was read",
    "gzip_unfinished": "the compressed stream ends early, but behind the end of the trace",
    "gzip_checksum": "checksum or length in the gzip trailer are wrong; the text was used as it is",
    "gzip_corrupt": "compressed data is damaged; the text before the damage was read",
    "gzip_trailing": "bytes after the last gzip member were ignored",
    "gzip_nested": "gzip inside gzip; both layers were opened",
    "encoding": "a byte order mark before text in UTF-8; left out",
    "truncated": "the text ends before its JSON does; every complete event was read",
    # Packets of a Perfetto file, with places in the inflated file instead of its text.
    "bad_packet": "a packet that is no protobuf message; left out, read on at the next one",
    "other_packet": "a packet of a kind that is not read; left out",
    "unpaired_end": "the end of a slice without its begin; ignored",
    "lost_iid": "a name that is meant by a number which the file does not explain; #number",
    # Syntax. Each counts events or top-level values that have it, not single characters.
    "bad_utf8": "bytes that are no UTF-8; read as U+FFFD",
    "lone_surrogate": "half of a surrogate pair (\\ud83d alone); read as U+FFFD",
    "control_char": "a raw control character (a newline, a tab) inside a string; kept",
    "bad_escape": "a backslash that begins no escape; all those of its string are characters",
    "unescaped_quote": "a quote inside a string, which goes on to the quote that ends its field",
    "missing_quote": "a key without its opening quote; read as if it were there",
    "not_a_number": "NaN, inf, N/A, another bare word or nothing instead of a value; read as null",
    "bad_number": "a number JSON does not have (01, +1, .5, 1.); read as meant",
    "stray_comma": "a comma without a value; ignored",
    "missing_comma": "no comma between two events; read as if it were there",
    "comment": "// or /* */; ignored",
    "skipped_event": "an event that could not be read; reading went on at the next one",
    "skipped_text": "text that belongs neither to an event nor to a key; ignored",
    "oversized": "an event or a top-level value beyond the limit of memory; left out",
    "too_many_events": "more events than the limit; reading stopped there",
    "bad_metadata": "a top-level value that is no JSON; left out, read on at the next key",
    "repeated_key": "a top-level key given twice; the last one counts",
    "repeated_events": "a second traceEvents; its events follow those of the first",
    "repeated_document": "another trace behind the end of the first; its events follow",
    "json_lines": "events line by line instead of a list; read as one",
    "trailing_text": "text after the end of the JSON; ignored",
    # Fields. Each counts values.
    "not_an_event": "a member of traceEvents that is no object; left out",
    "odd_field": "ph, cat, name, pid, tid or id of an unusual type; its JSON text, null as missing",
    "odd_args": "args that is no object; ignored",
    "odd_arg": "an argument that its column cannot hold; not in the column",
    "bad_ts": "a ts that is no number or beyond int64 ns; missing",
    "bad_dur": "a dur that is no number or beyond int64 ns; missing",
    "wide_int": "an integer beyond int64: below 2^64 the same 64 bits, else not in the column",
}


class FaultLog:
    """Counts per kind, and the example that comes first in the text."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._first: dict[str, tuple[int, str]] = {}

    def add(
        self,
        kind: str,
        example: str | bytes = "",
        offset: int | Callable[[], int] = -1,
        *,
        floor: int = -1,
        count: int = 1,
    ) -> None:
        """Note one fault of ``kind`` at ``offset`` of the inflated text.

        An offset that costs something is a function, with a ``floor`` that it is not below: then it
        is only asked for when it may be the first. What comes first does not depend on the order
        in which faults are noted; of two at one place the lesser text is the example.
        """
        if kind not in KINDS:
            raise KeyError(kind)
        self._count[kind] = self._count.get(kind, 0) + count
        first = self._first.get(kind)
        if isinstance(offset, int):
            floor = max(floor, offset)
        if first is not None and -1 < first[0] < floor:
            return
        found = (offset if isinstance(offset, int) else offset(), shorten(example))
        self._first[kind] = found if first is None else min(first, found)

    def rename(self, kind: str, better: str) -> None:
        """Count the faults noted as ``kind`` under another kind."""
        if kind in self._count:
            self._count[better] = self._count.pop(kind)
            self._first[better] = self._first.pop(kind)

    def merge(self, other: FaultLog) -> None:
        """Add the faults of another log."""
        if not other._count:
            return
        for fault in other.result():
            self.add(fault.kind, fault.example, fault.offset, count=fault.count)

    def __contains__(self, kind: str) -> bool:
        return kind in self._count

    def result(self) -> tuple[Fault, ...]:
        """The faults, in the order of ``KINDS``."""
        return tuple(
            Fault(kind, self._count[kind], self._first[kind][1], self._first[kind][0])
            for kind in KINDS
            if kind in self._count
        )


def shorten(text: str | bytes) -> str:
    """``text`` fit to be shown: one line, printable, at most ``EXAMPLE_CHARS`` characters."""
    if isinstance(text, bytes):
        text = text[: 4 * EXAMPLE_CHARS].decode("utf-8", "replace")
    line = " ".join(text[: 2 * EXAMPLE_CHARS].split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= EXAMPLE_CHARS else line[: EXAMPLE_CHARS - 1] + "…"


# --- strings --------------------------------------------------------------------------------------


_ADDRESS = regex(r" at 0x[0-9a-fA-F]+(?=>)")


def without_address(name: str) -> str:
    """A name as it is the same in each run.

    >>> without_address("<function f at 0x7f01>")
    '<function f>'
    """
    return _ADDRESS.sub("", name)


def without_addresses(raw: RawTrace) -> RawTrace:
    """The trace with names that are the same in each run: ``<function f>`` has no address.

    What names it is decided here for every reader; arguments and the file's own text keep it.
    """
    plain = {
        code: without_address(text)
        for code, text in enumerate(raw.strings)
        if " at 0x" in text and _ADDRESS.search(text)
    }
    if not plain:
        return raw
    strings = list(raw.strings)
    wanted = set(plain.values())
    codes = {text: code for code, text in enumerate(strings) if text in wanted}
    # Codes that are beyond the type of the column are no names.
    renamed = np.arange(len(strings)).astype(raw.events.name.dtype)
    for code, text in plain.items():
        renamed[code] = codes.setdefault(text, code)
        strings[codes[text]] = text
    events = replace(raw.events, name=take(renamed, raw.events.name))
    return replace(raw, events=events, strings=tuple(strings))


class Texts:
    """The strings of a trace, to which a few may be added. Codes never change.

    A question about texts is answered once per text, not once per event (``table``).
    """

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = list(strings)
        self._codes: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self._strings)

    def __getitem__(self, code: int) -> str:
        return self._strings[code]

    def code(self, text: str) -> int:
        """The code of a text, which is added when it is new."""
        if self._codes is None:
            self._codes = {text: code for code, text in enumerate(self._strings)}
        code = self._codes.setdefault(text, len(self._strings))
        if code == len(self._strings):
            self._strings.append(text)
        return code

    def used(self, codes: NDArray[np.int32]) -> NDArray[np.intp]:
        """The distinct codes among ``codes``, ascending; O(n) without a sort."""
        return np.flatnonzero(seen(codes, len(self._strings)))

    def table(
        self, codes: NDArray[np.int32], answer: Callable[[str], Any], kind: type[np.generic]
    ) -> NDArray[Any]:
        """``answer(text)`` by code, called once per distinct text among ``codes``; else zero.

        ``table(names, is_module, np.bool_)[names]`` is the answer for every row.
        """
        result = np.zeros(len(self._strings), kind)
        for code in self.used(codes).tolist():
            result[code] = answer(self._strings[code])
        return result

    def freeze(self) -> tuple[str, ...]:
        """All strings, in the order of their codes."""
        return tuple(self._strings)
