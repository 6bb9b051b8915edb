"""The result of a scan: the events of a file as columns, not yet interpreted (contract).

Two scanners may exist (pure Python and native); both obey this page and are held against each
other, column by column and fault by fault:

    scan(stream, progress) -> RawTrace

* Rows are the events of ``traceEvents`` in file order; every event that could be decoded has a row,
  whatever its phase or category, ``{}`` too. What could not be decoded is in ``faults``, with a
  count and an example; ``faults.KINDS`` is the table of all that is tolerated.
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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Sparse

MISSING = np.iinfo(np.int64).min  # a ts that the event does not have
NO_DUR = -1  # a dur that the event does not have; a dur of −1 ns in the file is −2, others stay

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
        "device_id", "wait_on_stream", "wait_on_event", "wait_on_record", "collective_seq",
        "connection_id", "sort_index",
    }
)  # fmt: skip
# Outside args: the flow or async id (an int also when written as "7", else a text), and the whole
# args of counter events as JSON.
ID_INT, ID_TEXT, COUNTER_ARGS = "id", "id_text", "counter_args"


@dataclass(frozen=True, slots=True, eq=False)
class RawEvents:
    """Dense columns, one entry per event, in file order."""

    phase: NDArray[np.uint8]  # ord of "ph"; 0 when missing
    category: NDArray[np.int32]  # code of "cat"; code of "" when missing
    name: NDArray[np.int32]
    pid: NDArray[np.int32]
    tid: NDArray[np.int32]
    ts: NDArray[np.int64]  # ns as written (not yet relative to the trace); MISSING
    dur: NDArray[np.int64]  # ns; NO_DUR

    def __len__(self) -> int:
        return len(self.phase)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
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


@dataclass(frozen=True, slots=True, eq=False)
class SeekIndex:
    """Points for random access to a gzip file (``gzip_index``), some MB of text apart; often none.

    At point p the text from ``text[p]`` on is inflated from bit ``bit[p]`` of the file, by who
    knows the 32 KB of text before it: ``window[window_end[p - 1] : window_end[p]]``, compressed.
    """

    bit: NDArray[np.int64]
    text: NDArray[np.int64]
    window_end: NDArray[np.int64]
    window: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.bit)


_NONE = np.empty(0, np.int64)
NO_POINTS = SeekIndex(_NONE, _NONE, _NONE, np.empty(0, np.uint8))


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of thing the reader tolerated: how often, and the first example in the text."""

    kind: str  # a key of faults.KINDS, for example "truncated"
    count: int
    example: str = ""
    offset: int = -1  # of the first example in the inflated text; -1 = not a place


@dataclass(frozen=True, slots=True, eq=False)
class RawTrace:
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


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a read: stored bytes, and events."""

    phase: str  # "reading" | "linking" | "summarizing" | "caching"
    bytes_done: int
    bytes_total: int
    events: int


OnProgress = Callable[[Progress], None]
