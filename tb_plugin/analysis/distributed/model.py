"""Digest of one rank, small enough to compare a thousand of them (contract).

A ``RankDigest`` is made from one trace and needs no other rank. It has two parts: a *summary* of a
few kilobytes per step, and the *timing* of every collective with the graph that a replay needs. All
times are int64 ns from the start of the trace of that rank; ``base_ns`` + time is wall clock. Texts
are codes into ``strings``.

The graph of a rank is cut down to *junctions*: the start and end of each step, and for every
collective its issue (the call), ready (the end of the work it waits for), arrival and release.

    host     start ──► issue ──────────────► issue ──► end
    compute            ready ◄─ kernels        ▲
    comm                 └► arrival ··· release┘       time = max(source + weight) over its edges

The release is the one junction that other ranks decide; every other one is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from ...base.arrays import I8, I32, I64, ColumnTable

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
"""Which quantiles of work before arrival are kept."""
MOST_RANKS = 1 << 17
"""Ranks of a job at most: a number beyond it is damage, and counts as unknown."""
MOST_FAMILIES = 24
"""Kernel signatures (or ops, without a device) that are kept of a step, by time."""
MOST_RANGES = 20
"""Ranges, frames and ops that are kept of a step, by time."""
LEAST_RANGE = 0.002
"""Share of a step that each of them takes at least."""
MOST_NAMES = 4096
"""Names of a rank that are kept as hashes; of a rank with more none are, and it is not compared."""
SYMMETRIC = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"})
"""Operations that end on no rank before the last one has begun."""
POINT_TO_POINT = frozenset({"send", "recv", "send_recv"})


class Junction(IntEnum):
    """Kind of a junction."""

    STEP_START = 0
    ISSUE = 1  # the call of a collective
    READY = 2  # the last work that a collective waits for has ended
    ARRIVAL = 3  # this rank takes part: its kernel, or its range on a worker thread, begins
    RELEASE = 4  # the exchange has ended for this rank
    STEP_END = 5


class TrainingPass(IntEnum):
    """The pass of the training in which a collective is called."""

    UNKNOWN = 0
    FORWARD = 1  # before a backward pass
    BACKWARD = 2  # in it, or between it and the optimizer
    ELSEWHERE = 3


class WorkPart(IntEnum):
    """Parts of the time of an edge: columns of ``Edges.parts``."""

    KERNELS = 0
    COPIES = 1
    HOST = 2  # ops, Python and whatever else the launching threads do
    LOADER = 3
    BLOCKED = 4  # calls of the runtime that wait or allocate, beyond the work they wait for
    LATENCY = 5  # between a launch and its work
    QUEUE = 6  # behind other collectives: work of this rank's communication, and its worker threads


class DeviceInfo(Struct, frozen=True):
    """A device that a rank declared or used."""

    index: int
    name: str
    memory_bytes: int
    capability: str
    used: bool
    vendor: str = ""  # "NVIDIA", "AMD", …; "" unknown


class RankGroup(Struct, frozen=True):
    """A process group as one rank saw it. Its identity is ``ranks``, never its name."""

    name: str
    description: str
    ranks: tuple[int, ...]  # global ranks, ascending; () unknown
    size: int  # 0 unknown
    source: str  # how the ranks are known: "args", "distributedInfo", "stride", "world", ""
    backend: str


class DigestSteps(ColumnTable, frozen=True, eq=False):
    """The steps, in time order; the parts of the first device sum to ``length_ns``."""

    number: I64
    start_ns: I64
    end_ns: I64
    excluded: I8  # 1: left out by default (warm-up, incomplete)
    compute_ns: I64  # device: kernels; host-only: ops that are no collectives
    exposed_communication_ns: I64
    exposed_copy_ns: I64
    memset_ns: I64
    idle_ns: I64
    overlap_ns: I64  # communication under compute; no part of the sum
    communication_ns: I64  # union
    loader_ns: I64  # idle while the DataLoader ran; on the host its whole time
    idle_around_ns: I64  # before the first and after the last work, while no DataLoader ran
    idle_causes: I64  # (n, causes): idle time by ``IDLE_CAUSES``; zeros without a device
    start_up_ns: I64  # the device does nothing while first calls start the process

    @property
    def length_ns(self) -> I64:
        """Length of each step without start-up."""
        return self.end_ns - self.start_ns - self.start_up_ns


class DigestSums(ColumnTable, frozen=True, eq=False):
    """Collectives of one step, group and operation; ``quantiles`` has shape (n, 9)."""

    step: I32
    group: I32
    kind: I32
    count: I64
    bytes: I64
    duration_ns: I64
    exposed_ns: I64
    blocking_ns: I64  # of exposed: what the host did not cause; see ``exposure``
    unknown_ns: I64  # of exposed: what cannot be told
    quantiles: I64  # of own work before arrival, with this rank's shortest transfers


class DigestFamilies(ColumnTable, frozen=True, eq=False):
    """The signatures of kernels (or names of ops) that take most time in a step."""

    step: I32
    name: I32
    signature: I64  # same name, grid and block; of ops the name alone
    count: I64
    total_ns: I64
    p50_ns: I64
    p95_ns: I64


class DigestRanges(ColumnTable, frozen=True, eq=False):
    """The ranges, frames of the user's code, modules and ops of the host that take most time."""

    step: I32
    name: I32
    total_ns: I64  # from start to end, whatever runs inside; of one inside its like, the outer


class DigestCalls(ColumnTable, frozen=True, eq=False):
    """Collectives of the rank in the order of issue."""

    step: I32  # row of steps, −1
    group: I32  # row of groups, −1
    kind: I32  # code: "all_reduce" …
    sequence: I64  # as recorded, −1
    comms_id: I32  # code, −1
    shape: I32  # code of data type and sizes, "" where unknown
    in_bytes: I64  # −1 unknown
    out_bytes: I64
    issue_ns: I64
    arrival_ns: I64
    release_ns: I64
    exposed_ns: I64
    blocking_ns: I64
    unknown_ns: I64
    covered: I64  # (n, 8): time under compute in each eighth between arrival and release
    peer: I32  # global rank, of send and recv; root of broadcast …; −1
    on_device: I8
    name: I32  # code of the kernel or range
    raw: I32  # row in file order, by which the event is found again
    splits: I32  # first row of ``RankDigest.split_bytes``, −1; one a rank of the group
    phase: I8  # TrainingPass


class Junctions(ColumnTable, frozen=True, eq=False):
    """Points of the graph in an order in which every edge leads forward."""

    kind: I8
    step: I32
    call: I32  # row of calls, −1
    time_ns: I64


class Edges(ColumnTable, frozen=True, eq=False):
    """The longest way from one junction to another that meets no third; by target."""

    source: I32
    target: I32
    weight_ns: I64
    parts: I64  # (n, len(WorkPart)); sums to the weight
    op: I32  # code: the kernel, op or range that took most of it
    line: I32  # code: the Python frame around it, "" unknown
    op_ns: I64


class RankDigest(Struct, frozen=True, eq=False):
    """One rank: a summary, the timing of its collectives, and its graph."""

    rank: int  # −1 unknown
    world_size: int  # 0 unknown
    host_name: str
    backend: str
    trace_id: str
    step_source: str
    base_ns: int
    duration_ns: int
    resolution_ns: int
    graph_launches: int  # launches that hide collectives of a replayed graph
    on_device: bool
    refused: str  # why this rank cannot be replayed, "" where it can
    devices: tuple[DeviceInfo, ...]
    groups: tuple[RankGroup, ...]  # in which it took part
    declared: tuple[RankGroup, ...]  # that the recording lists
    strings: tuple[str, ...]
    notes: tuple[str, ...]  # what this recording cannot tell, and why
    wrappers: tuple[str, ...]  # roles of what wraps the model: see ``rank/ranges.py``
    steps: DigestSteps
    sums: DigestSums
    families: DigestFamilies
    ranges: DigestRanges
    names: I64  # hashes of the names of all host events, ascending; empty: too many, or none
    calls: DigestCalls
    split_bytes: I64  # of all_to_allv: what goes to each rank of the group
    junctions: Junctions
    edges: Edges

    def shape_of(self, row: int) -> str:
        """The shape of a call; with the iteration that it lies in, where an engine numbers them."""
        shape, number = self.text(int(self.calls.shape[row])), self.iteration_of(row)
        return shape if number is None else f"{shape} in {number}"

    def iteration_of(self, row: int) -> int | None:
        """The number of the iteration that a call lies in; None where no engine numbers them."""
        numbers, step = self.steps.number, int(self.calls.step[row])
        if self.step_source != "iteration" or step < 0 or not len(numbers) or numbers[0] <= 0:
            return None  # running numbers of two ranks need not begin at one iteration
        return int(numbers[step])

    def text(self, code: int) -> str:
        """The string behind a code, "" for −1."""
        return self.strings[code] if code >= 0 else ""


def comparable(first: Sequence[int | None], second: Sequence[int | None]) -> int:
    """Most calls that can have a counterpart, by their iterations (``iteration_of``) on two ranks.

    Where both recorded numbered iterations, only those in between have one.
    """
    counts = []
    for mine, other in ((first, second), (second, first)):
        numbers = [one for one in other if one is not None]
        low, high = min(numbers, default=0), max(numbers, default=-1)
        counts.append(sum(one is None or low <= one <= high for one in mine))
    return min(counts)
