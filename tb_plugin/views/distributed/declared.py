"""The rows of the Distributed view's tables, each column declared beside its field (contract)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Struct

from ...analysis.findings import Reference
from ..table import column

SMALL_BYTES = 256 << 10
SLOW_RATIO = 0.1  # of the group's fast collectives: slower and small is bound by latency
FAST_RATIO = 0.5

_NODE = "The host name of the recording, else of the worker's name; without either it is not known."
_OWN = "Step time without waiting for other ranks: its recording replayed alone."
_WAITING = (
    "From the start of a collective on this rank until the last rank started it, at most until its"
    " end: clip(S − start, 0, end − start), S = latest start, by fitted clocks. If clocks cannot be"
    " compared: its excess over the rank with the shortest call."
)
_TRANSFER = (
    "From the last start to the first end, the time in which data moved: min over ranks of end −"
    " max over ranks of start. Where clocks cannot be compared, or one ends before, the shortest"
    " duration of any rank."
)
_TRANSFERRING = (
    "Of the time in collectives, as much as the rank is in each that is in it for the shortest"
    " time, at its end: min over ranks of (end − start). Calls at the same time count once, and no"
    " clock is needed. The PyTorch profiler's TensorBoard plugin defined it so."
)
_SIZE = (
    "all_gather: what each rank receives in all; reduce_scatter and all_to_all: what each sends in"
    " all, of all_to_allv without its own part, the largest of any rank; gather and scatter: what"
    " the root has; else the message (NVIDIA nccl-tests, PERFORMANCE.md)."
)
_ALGORITHM = (
    "Size / transfer, GB/s = 10⁹ bytes a second; of several collectives the median (NVIDIA"
    " nccl-tests, PERFORMANCE.md)."
)
_BUS = (
    "Algorithm bandwidth × factor, for n ranks: 2(n−1)/n for all_reduce; (n−1)/n for all_gather,"
    " reduce_scatter, all_to_all, gather and scatter; 1 for broadcast, reduce, send and recv, and"
    " for all_to_allv, whose own part is not in the size. So it can be held against the hardware's"
    " figure (NVIDIA nccl-tests, PERFORMANCE.md)."
)
_VERDICT = (
    f"latency-bound: smaller than {SMALL_BYTES >> 10} KiB, at less than {100 * SLOW_RATIO:.0f} %"
    " of the bus bandwidth that large ones of its group reach; bandwidth-bound: larger, at"
    f" {100 * FAST_RATIO:.0f} % of it or more. Else nothing."
)


def some(key: str) -> Callable[[Sequence[Struct]], bool]:
    """Make the test whether a row has a value."""
    return lambda rows: any(getattr(row, key) for row in rows)


def several(key: str) -> Callable[[Sequence[Struct]], bool]:
    """Make the test whether rows differ."""
    return lambda rows: len({getattr(row, key) for row in rows}) > 1


class RankStep(Struct, frozen=True):
    """Where a rank's step went: means over the chosen steps; five parts sum to its length."""

    length_ns: Annotated[int, column("Step", "Length of the rank's own step.")]
    compute_ns: Annotated[
        int,
        column(
            "Computation",
            "Kernels that are no communication, while no communication ran; without device"
            " activity, ops that are no collectives.",
        ),
    ]
    overlap_ns: Annotated[int, column("Overlapping", "Compute and communication at the same time.")]
    communication_ns: Annotated[
        int, column("Communication", "Communication while nothing computed.")
    ]
    copy_ns: Annotated[int, column("Copies", "Copies and sets while no kernel ran.")]
    idle_ns: Annotated[int, column("Other", "Nothing of the above.")]
    synchronizing_ns: Annotated[
        int | None,
        column(
            "Synchronizing",
            "Of the time in collectives, the rest beyond data transfer: this rank was there and"
            " another was not yet.",
        ),
    ]
    transferring_ns: Annotated[int | None, column("Data transfer", _TRANSFERRING)]


class DistributedRank(Struct, frozen=True):
    """One worker of the run."""

    worker: Annotated[
        str,
        column(
            "Worker",
            "Name of the worker: that of its recording, without time.",
            kind="name",
            is_sortable=True,
        ),
    ]
    rank: Annotated[int | None, column("Rank", "Its number among all processes of the job.")]
    node: Annotated[str, column("Node", _NODE, kind="name", is_sortable=True)]
    process: Annotated[
        str,
        column(
            "Process",
            "The number in the worker's name host_process, as our handlers and PyTorch's write it.",
            is_minor=True,
            is_sortable=True,
            when=some("process"),
        ),
    ]
    role: Annotated[
        str,
        column(
            "Role",
            "Role of the process in the job, by its name or its process group.",
            is_sortable=True,
            when=some("role"),
        ),
    ]
    problem: Annotated[
        str,
        column(
            "Problem",
            "Why the recording takes no part in the comparison, or what else must be known of it.",
            kind="text",
            is_sortable=True,
            when=some("problem"),
        ),
    ]
    device: Annotated[
        str,
        column(
            "Device",
            "The accelerator that it used, and its number on the host.",
            kind="name",
            is_sortable=True,
        ),
    ]
    device_index: Annotated[
        str,
        column(
            "Device number",
            "Its number on the host; several of a process with several.",
            is_minor=True,
        ),
    ]
    memory_bytes: Annotated[
        int | None, column("Memory", "All memory of the device.", is_minor=True)
    ]
    capability: Annotated[
        str, column("Capability", "Compute capability of the device.", is_minor=True)
    ]
    busy_ratio: Annotated[
        float | None,
        column("Busy", "Share of the step in which a kernel, a copy or communication ran."),
    ]
    own_ns: Annotated[int | None, column("Own time", _OWN)]
    excess_ns: Annotated[
        int | None,
        column(
            "Beyond peers",
            "Own work before each of its collectives beyond the median of the ranks that make the"
            " same calls, added up over a step: its recording replayed alone, so no clock and no"
            " other rank's delay is in it.",
        ),
    ]
    cost_ns: Annotated[
        int | None,
        column(
            "Cost others",
            "Waiting time of all other ranks in collectives that this rank started last, per step;"
            " if several start last together, the first counts.",
        ),
    ]
    inherited_ns: Annotated[
        int | None,
        column(
            "Inherited",
            "Of what it cost others, waiting at collectives to which it came late only because it"
            " had waited for another rank in another collective before.",
            when=some("inherited_ns"),
        ),
    ]
    inherited_from: int | None  # row of the rank for which most of it is
    lost_ns: Annotated[
        int | None,
        column("Lost to others", "Time this rank waited for others in collectives, per step."),
    ]
    times_last: Annotated[
        int | None,
        column(
            "Last",
            "Collectives that this rank started last; of ranks that started one at the same"
            " instant, the first counts.",
        ),
    ]
    brought_in_ns: Annotated[
        int | None,
        column(
            "Brought in",
            "Later than the first rank before the first collective of the recording.",
            is_minor=True,
        ),
    ]
    gain_ns: Annotated[
        int | None, column("Gain", "Shorter steps without its excess of own time.", is_minor=True)
    ]
    received_bytes: Annotated[
        int | None,
        column(
            "Received",
            "Bytes received in all_to_all with recorded parts, per step of the recording.",
            when=some("received_bytes"),
        ),
    ]
    used: bool  # its recording takes part
    step: RankStep | None
    uncertainty_ns: int | None  # of its clock


class DistributedNode(Struct, frozen=True):
    """The ranks of one machine beside those of the others."""

    name: Annotated[str, column("Node", _NODE, kind="name", is_sortable=True)]
    ranks: Annotated[str, column("Ranks", "The ranks that run on it.", is_sortable=True)]
    count: int
    own_ns: Annotated[int | None, column("Own time", _OWN)]
    cost_ns: Annotated[
        int,
        column(
            "Cost other nodes",
            "Waiting time of ranks of other nodes in collectives that one of its ranks started"
            " last, per step.",
        ),
    ]
    lost_ns: Annotated[
        int,
        column("Lost to other nodes", "Time its ranks waited for ranks of other nodes, per step."),
    ]
    times_last: Annotated[
        int, column("Last", "Collectives over several nodes that one of its ranks started last.")
    ]
    is_late: bool  # it is named: all its ranks are late by their own work


class DistributedGroup(Struct, frozen=True):
    """A process group."""

    label: Annotated[
        str,
        column(
            "Group", "The process group, as the recordings name it.", kind="name", is_sortable=True
        ),
    ]
    key: Annotated[str, column("Ranks", "The ranks that are in it.", is_sortable=True)]
    # "0-7", "0-56:8": a key for ``roles``
    shape: str  # number of ranks and their distance, "8x1": a key for ``roles``; "" uneven
    alike: int  # groups of this shape
    backend: str
    size: int
    role: Annotated[
        str,
        column(
            "Role",
            "Its parallelism, guessed from shape and operations unless you choose it.",
        ),
    ]
    operations: Annotated[
        str,
        column(
            "Operations per step",
            "Calls of each operation, mean of the steps.",
            kind="words",
        ),
    ]
    bytes: Annotated[
        int, column("Bytes per step", "Sizes of its operations, added up, mean of the steps.")
    ]
    exposed_ns: Annotated[
        int, column("Exposed", "Communication while nothing computed, mean of the group's ranks.")
    ]
    blocking_ns: Annotated[
        int, column("Blocking", "Of that, when the host had already issued the next work.")
    ]
    missing: Annotated[
        str, column("Missing", "Its ranks without a recording.", kind="words", when=some("missing"))
    ]
    why: str  # why this role; "chosen" = by the user
    exposed_by_step: tuple[int, ...]  # mean of its ranks in each column of ``Distributed.steps`` …
    blocking_by_step: tuple[int, ...]
    note: str


class DistributedCollective(Struct, frozen=True):
    """One collective, matched across ranks."""

    number: Annotated[int, column("#", "Its place among the collectives of the run, in time.")]
    step: Annotated[
        str,
        column(
            "Step",
            "The step of the recording in which it began.",
            is_sortable=True,
            when=several("step"),
        ),
    ]
    operation: Annotated[str, column("Operation", "What it does.", kind="name", is_sortable=True)]
    group: Annotated[
        str,
        column(
            "Group",
            "The process group that it runs in.",
            kind="name",
            is_sortable=True,
            when=several("group"),
        ),
    ]
    bytes: Annotated[int | None, column("Size", _SIZE)]
    ranks: int  # of which it was recorded
    skew_ns: Annotated[
        int | None, column("Start spread", "From the first to the last start of the collective.")
    ]
    waiting_ns: Annotated[int | None, column("Waiting, all ranks", _WAITING)]
    transfer_ns: Annotated[int | None, column("Transfer", _TRANSFER)]
    algorithm_gbs: Annotated[float | None, column("Algorithm GB/s", _ALGORITHM)]
    bus_gbs: Annotated[float | None, column("Bus GB/s", _BUS)]
    last: Annotated[
        int | None,
        column(
            "Last",
            "The rank that started it last, of several at the same instant the first, and how"
            " many others those are. None where all started it at one instant.",
        ),
    ]
    tied: Annotated[
        int, column("At the same instant", "Other ranks that came as late.", is_minor=True)
    ]
    match: Annotated[
        str,
        column(
            "Matched by",
            "Rule that matched the calls of the ranks to one collective.",
            is_minor=True,
        ),
    ]
    verdict: Annotated[str, column("Verdict", _VERDICT, is_sortable=True, when=some("verdict"))]
    link: Reference  # from the first arrival on, on the rank that came last


class BandwidthPoint(Struct, frozen=True):
    """Collectives of one group, operation and size: median bandwidth."""

    operation: Annotated[str, column("Operation", "What they do.")]
    group: Annotated[str, column("Group", "The process group that they run in.")]
    bytes: Annotated[int, column("Size", _SIZE)]
    count: Annotated[int, column("Calls", "Collectives of this group, operation and size.")]
    transfer_ns: Annotated[int, column("Transfer", _TRANSFER)]
    algorithm_gbs: Annotated[float, column("Algorithm GB/s", _ALGORITHM)]
    bus_gbs: Annotated[float, column("Bus GB/s", _BUS)]


class PipelineStage(Struct, frozen=True):
    """One stage of a pipeline."""

    number: Annotated[int, column("Stage", "Its place in the pipeline, from 0.")]
    ranks: Annotated[str, column("Ranks", "The ranks of the stage.")]
    bubble_ns: Annotated[
        int | None,
        column(
            "Bubble",
            "Time in send and receive while nothing computes, and idle before the first and after"
            " the last work of a step unless the DataLoader ran; per step, mean of the stage's"
            " ranks.",
        ),
    ]
    bubble_ratio: Annotated[
        float | None, column("Of the step", "The bubble by the length of the step.")
    ]
    least_ratio: Annotated[
        float | None,
        column(
            "GPipe, 1F1B",
            "The least bubble of GPipe and 1F1B, (p − 1) / (m + p − 1) for p stages and m parts"
            " of the batch. Below it the schedule is another, or the stage waits elsewhere.",
        ),
    ]
    slack_ns: Annotated[
        int | None,
        column(
            "Slack",
            "When the receiver was ready minus when the sender was, median: positive, the data"
            " waited; negative, the stage did.",
        ),
    ]
    waited_ratio: Annotated[
        float | None, column("Waited for", "Share of the messages it receives for which it waited.")
    ]


class RankOperation(Struct, frozen=True):
    """All calls of one operation in one group and of one size, over the chosen steps."""

    operation: Annotated[
        str,
        column(
            "Operation",
            "Calls of one operation and process group are one row.",
            kind="name",
            is_sortable=True,
        ),
    ]
    group: Annotated[
        str,
        column(
            "Group",
            "The process group that they run in.",
            kind="name",
            is_sortable=True,
            when=several("group"),
        ),
    ]
    calls: Annotated[
        int, column("Calls", "Calls in the chosen steps, of the chosen rank or of all.")
    ]
    alone: Annotated[
        int, column("Alone", "Of these, calls that no other recording has.", is_minor=True)
    ]
    total_bytes: Annotated[int | None, column("Size", _SIZE)]
    mean_bytes: Annotated[float | None, column("Mean size", "Size by calls.")]
    latency_ns: Annotated[
        int,
        column(
            "Latency",
            "Length of the calls, waiting and transfer; calls of a rank at the same time count"
            " once.",
        ),
    ]
    mean_latency_ns: Annotated[float, column("Mean latency", "Latency by calls.")]
    transfer_ns: Annotated[int | None, column("Data transfer", _TRANSFERRING)]
    mean_transfer_ns: Annotated[float | None, column("Mean transfer", "Data transfer by calls.")]
    algorithm_gbs: Annotated[float | None, column("Algorithm GB/s", _ALGORITHM)]
    bus_gbs: Annotated[float | None, column("Bus GB/s", _BUS)]
