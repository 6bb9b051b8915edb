"""The summary of a trace, computed once at ingest: the figures of the first screen (contract).

All durations are integer ns, so that sums are exact; ratios are formed by the views. A fact that
the recording cannot give is None, with the reason in ``Facts.unavailable`` under the field's name.
"""

# Without `from __future__ import annotations`: msgspec would compile each annotation, a text then,
# before the first summary is read.
from collections.abc import Mapping
from typing import Literal, TypeVar

from msgspec import Struct, field, structs

from ..trace.health_record import HealthRecord
from .compile.model import CompiledFacts
from .findings import Patterns
from .serving.model import IterationFacts


class Breakdown(Struct, frozen=True):
    """A step by the classic categories: each instant counts for the first active one.

    The order is that of the fields; the eight sum to the step.
    """

    kernel_ns: int = 0
    memcpy_ns: int = 0
    memset_ns: int = 0
    communication_ns: int = 0
    runtime_ns: int = 0
    dataloader_ns: int = 0
    cpu_exec_ns: int = 0
    other_ns: int = 0


class Partition(Struct, frozen=True):
    """A step seen from one device. The first five and ``start_up_ns`` sum to its window.

    ``overlap_ns`` is the part of compute under which communication ran. The ``idle_*`` parts are
    the causes of idle time (``IDLE_CAUSES``): every idle instant has one, and they sum to
    ``idle_ns``.
    """

    compute_ns: int = 0
    exposed_communication_ns: int = 0
    exposed_copy_ns: int = 0
    memset_ns: int = 0
    idle_ns: int = 0
    overlap_ns: int = 0
    # The work did not exist yet, and the thread that launched it next was …
    idle_dataloader_ns: int = 0  # in the DataLoader's range, whatever ran there
    idle_capture_ns: int = 0  # recording a graph: launches put nothing on the device
    idle_compile_ns: int = 0  # compiling
    idle_gc_ns: int = 0  # collecting Python's garbage
    idle_allocator_ns: int = 0  # asking the driver for memory, or giving it back
    idle_blocking_ns: int = 0  # in a copy or synchronization that had nothing left to wait for
    idle_communication_ns: int = 0  # waiting in a collective of the host
    idle_optimizer_ns: int = 0  # in the optimizer
    idle_dispatch_ns: int = 0  # in ops
    idle_python_ns: int = 0  # in Python, outside of ops
    idle_launch_ns: int = 0  # in calls of the runtime that launch
    idle_first_launch_ns: int = 0  # in slow first launches of kernels, and loading their code
    idle_profiler_ns: int = 0  # in the profiler's own code
    idle_uninstrumented_ns: int = 0  # in nothing that was recorded, or in annotations alone
    # The work was launched.
    idle_latency_ns: int = 0  # the usual time from a launch to its work on an empty device
    idle_kernel_gap_ns: int = 0  # the usual time between two queued neighbours
    idle_device_wait_ns: int = 0  # longer than both: the device waited for something
    idle_graph_ns: int = 0  # between the nodes of one replay of a graph
    idle_before_ns: int = 0  # launched before the recording began
    # Nothing tells: no work follows, or its launch is not known, and the host recorded nothing.
    idle_unattributed_ns: int = 0
    # Nothing ran because first calls started the process: not judged, and no idle time.
    start_up_ns: int = 0

    @property
    def idle_host_ns(self) -> int:
        """Idle time in which the host prepares launches, and until they take effect.

        First launches are apart: later steps do not pay for them.
        """
        return (
            self.idle_dispatch_ns
            + self.idle_python_ns
            + self.idle_optimizer_ns
            + self.idle_launch_ns
            + self.idle_compile_ns
            + self.idle_gc_ns
            + self.idle_communication_ns
            + self.idle_profiler_ns
            + self.idle_uninstrumented_ns
            + self.idle_capture_ns
            + self.idle_latency_ns
        )

    @property
    def idle_sync_ns(self) -> int:
        """Idle time under blocking calls of the host."""
        return self.idle_blocking_ns + self.idle_allocator_ns

    @property
    def idle_queued_ns(self) -> int:
        """Idle time with work launched that had not begun, beyond the latency of a launch."""
        return (
            self.idle_kernel_gap_ns
            + self.idle_device_wait_ns
            + self.idle_graph_ns
            + self.idle_before_ns
        )


IDLE_CAUSES = tuple(
    name for name in Partition.__struct_fields__ if name.startswith("idle_") and name != "idle_ns"
)
"""Fields of ``Partition`` that sum to its idle time; a cause goes by its place here."""


class HostPartition(Struct, frozen=True):
    """A step without device activity, seen from the main thread.

    All parts but the last sum to the step. ``overlap_ns`` is the time of collectives under which
    the main thread worked; with ``communication_ns`` it sums to ``Breakdown.communication_ns``.
    """

    dataloader_ns: int = 0
    forward_ns: int = 0
    backward_ns: int = 0
    optimizer_ns: int = 0
    communication_ns: int = 0
    compile_ns: int = 0
    runtime_ns: int = 0
    python_ns: int = 0  # Python frames outside the parts above
    uninstrumented_ns: int = 0  # nothing was recorded, or annotations alone
    overlap_ns: int = 0


class Gauges(Struct, frozen=True):
    """Integrals over one window of one device, which the GPU summary adds up for any steps."""

    busy_ns: int = 0  # union of kernels
    kernel_ns: int = 0  # sum of kernel durations, clipped to the window
    sm_ns: float | None = None  # ∫ min(1, Σ blocks per SM) dt; None: not recorded
    occupancy_weighted: float | None = None  # Σ occupancy% · dur; None: not recorded
    occupancy_ns: int = 0  # Σ dur of the kernels that carry an occupancy
    tensor_core_ns: int = 0  # by kernel name
    op_kernel_ns: int = 0  # Σ dur of compute kernels launched by ops: base of the tensor-core share
    eligible_ns: int = 0  # Σ dur of kernels whose op could use tensor cores
    tensor_core_unknown_ns: int = (
        0  # Σ dur of kernels of ops whose name does not tell (Triton, AMD)
    )
    eligible_plain_ns: int = 0  # Σ dur of eligible kernels that, by name, use no tensor cores


First = Literal["", "call", "kernel"]
"""Nothing; it is the first event of its name; it launched a kernel for the first time."""


HeldKind = Literal["op", "runtime", "blocking", "python", "annotation", "other", "graph_node"]
"""Kinds of host events; ``graph_node`` is what work inside a replayed graph waited for."""


class HeldName(Struct, frozen=True):
    """Name and kind of an event that the host was in, and what its time counts as."""

    name: str  # "hipMemcpyWithStream"
    kind: HeldKind
    cause: str  # one of IDLE_CAUSES; without devices a field of HostPartition


class Place(Struct, frozen=True):
    """The ranges open around a call; "" = none of that kind."""

    op: str  # innermost op
    frame: str  # innermost Python frame of the user's code, else innermost of any


class IdleTables(Struct, frozen=True):
    """The texts behind the numbers in ``Held`` and ``Gap``."""

    names: tuple[HeldName, ...] = ()
    places: tuple[Place, ...] = ()
    following: tuple[str, ...] = ()  # names of device work


class Spot(Struct, frozen=True, array_like=True, gc=False):
    """One event as it is found again: in the Trace view, and in the file. −1: not known."""

    slice: int = -1  # row of the host's events, then the devices'
    event: int = -1  # place among all events of the file


class Held(Struct, frozen=True, array_like=True, gc=False):
    """Idle time of a device in one step under the events of one name and cause.

    A node of a graph holds the device from its start until what waited for it began.
    """

    name: int  # row of IdleTables.names
    count: int  # events
    idle_ns: int  # of the instants at which one of them was the innermost open event
    longest_ns: int  # … of the one that held the device longest
    ts: int  # of that one
    dur_ns: int
    first: First  # what happens in that one for the first time of the recording
    place: int  # row of IdleTables.places; −1: not kept
    spot: Spot = Spot()  # of that one


class Gap(Struct, frozen=True, array_like=True, gc=False):
    """One stretch of idle time of a device, with its main cause and what held the device in it."""

    ts: int
    dur_ns: int
    cause: int  # place in IDLE_CAUSES of what is most of it
    cause_ns: int
    name: int  # row of IdleTables.names: the event that held the device longest in it; −1 unknown
    held_ns: int  # … in it
    held_ts: int
    held_dur_ns: int
    place: int  # row of IdleTables.places: around that event; −1 unknown
    following: int  # row of IdleTables.following: the work that ended it; −1 where none follows
    launch_ts: int  # start of the call that launched that work; −1 unknown
    held_spot: Spot = Spot()  # the event that held the device
    following_spot: Spot = Spot()  # the work that ended it
    following_dur_ns: int = 0


class Learned(Struct, frozen=True, array_like=True):
    """Gap that a device needs between work, learned from the trace; 0 samples: a fallback."""

    latency_ns: int = 0  # λ: call returned → work begins, on an empty queue
    latency_samples: int = 0
    gap_ns: int = 0  # τ: between two queued neighbours of one stream
    gap_samples: int = 0


class Idle(Struct, frozen=True):
    """The idle time of one device in one step, beside its causes (fields of ``Partition``)."""

    queued_ns: int = 0  # the next work was launched, and the device did not start it
    unlinked_ns: int = 0  # who launched the next work is not known
    short_count: int = 0  # stretches below 1 ms that ended with a launch …
    short_ns: int = 0  # … and their sum: what many short launches leave
    frame_ns: int = 0  # under ``frame``
    frame: str = ""  # innermost frame of the user's code that holds half of it; of the recording
    held: tuple[Held, ...] = ()  # the names that hold most, the largest first
    gaps: tuple[Gap, ...] = ()  # the longest stretches, the longest first


class Communication(Struct, frozen=True, array_like=True, gc=False):
    """Collectives of one device in one step (idle/costs).

    ``total_ns`` = what compute hides + ``exposed_ns``; the last three sum to ``exposed_ns``.
    """

    total_ns: int = 0  # union of the device's collectives
    exposed_ns: int = 0  # no kernel computes meanwhile
    blocking_ns: int = 0  # the next compute kernel was launched, or the host waited for it
    host_limited_ns: int = 0  # the host had not launched the next compute kernel: no gain there
    unknown_ns: int = 0  # no compute kernel follows, or its launch is not known


class CopySum(Struct, frozen=True, array_like=True, gc=False):
    """Copies of one kind of one device in one step."""

    kind: str  # "HtoD", "DtoH", "DtoD", "PtoP", …; "" unknown
    memory: str  # of the host's side: "pageable", "pinned"; "" none, or not recorded
    count: int
    bytes: int  # 0: not recorded
    ns: int  # sum of durations
    exposed_ns: int  # union in which neither kernel nor collective ran
    small_count: int  # below 64 KiB
    ts: int  # of the longest one
    dur_ns: int
    name: str = ""
    spot: Spot = Spot()


class LaunchSums(Struct, frozen=True, array_like=True, gc=False):
    """Calls that launched work of one device that began in one step."""

    count: int = 0
    call_ns: int = 0  # inside these calls
    short_count: int = 0  # kernels below 10 µs that ran shorter than their own call took …
    short_ns: int = 0  # … and how long these calls took: the host sets the pace there
    slow_count: int = 0  # calls above 50 µs and ten times the median of their name …
    slow_ns: int = 0


class CounterFacts(Struct, frozen=True):
    """One sampled counter of a device over the whole recording (counters/samples)."""

    kind: str  # what it measures, one of ``KNOWN`` in counters/samples: "power", "dram", …
    name: str  # as recorded: "Power (W)"
    unit: str  # "W" | "°C" | "MHz" | "%" | "B/s"; "" where its name does not say
    decimals: int  # its integrals count in 10^−decimals of the unit, times ns
    samples: int
    period_ns: int  # the median distance of samples
    first_ns: int  # from the first sample …
    last_ns: int  # … until the last no longer holds
    low: float  # the least value
    high: float
    usual: float  # the 95th percentile
    peak: float | None = None  # of traffic in B/s, what the device's data sheet promises


class Integral(Struct, frozen=True, array_like=True):
    """∫ of a counter over a set of intervals, as far as samples cover it."""

    amount: int = 0  # in 10^−decimals of the counter's unit, times ns
    ns: int = 0  # what of the set is covered


class StepCounter(Struct, frozen=True, array_like=True):
    """A counter over one step of its device: over the first five parts of ``Partition``.

    They sum to the integral over the step. The last three are of samples that hold at some instant
    at which the device works; integers of 10^−decimals of the unit.
    """

    compute: Integral = Integral()
    exposed_communication: Integral = Integral()
    exposed_copy: Integral = Integral()
    memset: Integral = Integral()
    idle: Integral = Integral()
    samples: int = 0
    low: int = 0
    high: int = 0


class Longest(Struct, frozen=True, array_like=True, gc=False):
    """The longest device activity of one class in a step, as a place to look at."""

    part: str  # field of Partition: "compute_ns" …
    ts: int
    dur_ns: int


class DeviceStep(Struct, frozen=True):
    """One device in one step. ``gap`` covers [end of the step before, start of this step)."""

    device: int  # row of Facts.devices
    partition: Partition
    gauges: Gauges
    gap: Gauges
    idle: Idle = field(default_factory=Idle)
    longest: tuple[Longest, ...] = ()
    communication: Communication = field(default_factory=Communication)
    copies: tuple[CopySum, ...] = ()
    launches: LaunchSums = field(default_factory=LaunchSums)
    counters: tuple[StepCounter, ...] = ()  # as in ``DeviceFacts.counters``


class StepFacts(Struct, frozen=True):
    """One step: its window, and where its time went.

    ``excluded`` says why it is left out by default.
    """

    index: int
    number: int
    name: str
    host_start_ns: int
    host_end_ns: int
    start_ns: int  # window extended to the device work it launched; windows never overlap
    end_ns: int
    breakdown: Breakdown
    devices: tuple[DeviceStep, ...]
    host: HostPartition | None  # of runs without device activity
    launches: int
    device_events: int
    host_held: tuple[Held, ...] = ()  # without devices: what the main thread was in, exclusive
    parallel_ns: int = 0  # sum over threads of the time with an op or call open in the window
    threads: int = 0  # of these, threads with any
    # "incomplete": cut off at the end; "warm-up": first and slow; else it begins in the head
    excluded: str | None = None

    @property
    def dur_ns(self) -> int:
        """Length of the window without start-up; of several devices, of the least of it."""
        start_up = min((one.partition.start_up_ns for one in self.devices), default=0)
        return self.end_ns - self.start_ns - start_up


class PeakEvent(Struct, frozen=True):
    """The innermost host event that was open when an allocator's total was highest.

    Where none was, the allocator's own event, which lasts no time and is no slice.
    """

    name: str
    spot: Spot
    ts: int
    dur_ns: int


class DeviceFacts(Struct, frozen=True):
    """One device: its properties in the file, and how full its memory got."""

    index: int
    type: str
    vendor: str
    name: str
    memory_bytes: int | None
    capability: tuple[int, int] | None
    used: bool
    peak_allocated_bytes: int | None  # highest allocated total of the recording
    peak_reserved_bytes: int | None
    least_allocated_bytes: int | None = None  # lowest allocated total
    peak_event: PeakEvent | None = None  # where the highest allocated total was reached
    has_peak: bool = False  # its data sheet is in the table (speed_of_light/devices)
    learned: Learned = field(default_factory=Learned)
    # From a launch's return to its work's begin: 10th, 50th and 90th percentile, ns. Below 0: the
    # work began within the call. None: nothing linked.
    lead_ns: tuple[int, int, int] | None = None
    counters: tuple[CounterFacts, ...] = ()  # what was sampled of it
    # Start of its first recorded work: until then its state is unknown. None: that work was
    # launched before the recording, so earlier work would have been recorded, too.
    first_work_ns: int | None = None
    start_up: tuple[tuple[int, int], ...] = ()  # stretches that ``Partition.start_up_ns`` counts


class RunTraits(Struct, frozen=True):
    """Facts about the job, apart from times, that the advice rules need."""

    data_parallel: bool
    distributed_data_parallel: bool
    communication_backends: tuple[str, ...]  # seen in names and distributedInfo: "nccl", "gloo", …
    dataloader_class: str | None  # "_SingleProcessDataLoaderIter" …
    dataloader_longest_ns: int
    dataloader_shortest_ns: int
    pageable_copy_count: int | None  # None: the file does not tell the kinds of memory of copies
    eligible_ops: tuple[str, ...]  # names of ops that could use tensor cores, by kernel time
    backward: bool = False  # autograd ran
    fully_sharded: bool = False  # FSDP ran
    gradient_collectives: bool = False  # an all-reduce or reduce-scatter began during backward
    gradient_dtype: str = ""  # of these, as the recorder writes it: "Float", "BFloat16"; "" unknown
    # Time of collectives by operation: on devices, else on the host. Keys: OPERATIONS of traits.
    collective_ns: Mapping[str, int] = {}
    serving: str = ""  # framework that serves a model and takes its memory beforehand: "vLLM"
    compiled: bool = False  # code of torch.compile ran
    graph_launches: int = 0  # calls that replayed a graph


class UserValue(Struct, frozen=True):
    """A value that the user wrote into the file: ``add_metadata``, ``add_metadata_json``."""

    key: str
    text: str  # JSON where it is no text; its beginning
    more: int = 0  # characters that follow


class Accelerator(Struct, frozen=True):
    """The run's device by the file, with or without recorded activity."""

    type: str = ""  # as of ``DeviceFacts``, or "MPS"; "" nothing tells
    none: str = ""  # why there is nothing to record, as the end of a sentence


class RecordingFacts(Struct, frozen=True):
    """Settings of the recording by the file, and the optional kinds of data it has."""

    resolution_ns: int = 1
    backend: str | None = None
    trace_id: str | None = None
    with_stack: bool = False
    with_modules: bool = False
    record_shapes: bool = False
    profile_memory: bool = False
    with_flops: bool = False
    versions: Mapping[str, str] = {}  # "CUDA runtime" → "12.8"
    shapes: bool = False  # some op carries its input shapes
    call_stacks: bool = False  # some op carries its call stack as text
    addresses: bool = False  # allocator events carry addresses
    totals: bool = False  # allocator events carry totals
    syncs: bool = False  # synchronization records
    grids: bool = False  # launch geometry of kernels
    messages: bool = False  # sizes of collectives
    clocks: bool = False  # samples of a device's clock
    linked: int = 0  # device activity whose launch is known
    collectives: int = 0
    modules: str = ""  # how modules are named: "frames", "ranges", "lightning", …; "" = not at all
    working_directory: str = ""  # of the recording process, as our handler noted it down
    threads: int = 0  # that an op on the host may use, as our handler noted it down; 0 unknown
    cores: int = 0  # that the process may use; 0 unknown
    cpu_peak: bool = False  # the rates of the CPU were measured, and no device computed
    process: int = 0  # its number on the host, as our handler noted it down; 0 unknown
    job: str = ""  # its name to the launcher, as our handler noted it down; "" unknown
    script: str = ""  # what was started, as an absolute path where that is known; "" unknown
    user: tuple[UserValue, ...] = ()  # in the order of the file
    memory_alone: bool = False  # a memory snapshot or timeline, without ops and kernels
    user_more: int = 0  # values beyond those
    file_format: str = "json"  # "perfetto": protobuf by torch; "other_perfetto": by someone else
    accelerator: Accelerator = Accelerator()  # of the run, as far as the file tells
    graph_streams: int = 0  # streams of one device on which replayed graphs ran; the most of any


class Facts(Struct, frozen=True):
    """The summary of one trace (one worker × span)."""

    path: str
    base_ns: int
    duration_ns: int
    torch_era: str
    device_type: str  # "CPU" when no device activity was recorded
    rank: int | None
    world_size: int | None
    host_name: str | None
    step_source: str
    step_family: str
    steps: tuple[StepFacts, ...]
    devices: tuple[DeviceFacts, ...]
    traits: RunTraits
    counts: Mapping[str, int]  # rows of each table: {"op": …, "kernel": …}
    classified: Mapping[str, int]  # ns of kernel time by class; "unclassified" included
    unavailable: Mapping[str, str]  # fact → "why; record with …"
    health: HealthRecord
    recording: RecordingFacts = field(default_factory=RecordingFacts)
    idle: IdleTables = field(default_factory=IdleTables)
    patterns: Patterns = field(default_factory=Patterns)
    # The head of the recording: until then a device was on work launched before. It is unknown,
    # and belongs to no step. 0: none.
    head_ns: int = 0
    tail_ns: int = 0  # the end of the last step, in which only the recorder ran
    iterations: tuple[IterationFacts, ...] = ()  # of an inference engine, in order of time
    compiled: CompiledFacts | None = None  # what torch.compile did; None: nothing

    def skipped_before(self, index: int) -> range:
        """The numbers that are missing between a step of the profiler and the one before it."""
        if not index or self.step_source != "profiler_step":
            return range(0)
        return range(self.steps[index - 1].number + 1, self.steps[index].number)

    @property
    def script(self) -> str:
        """The started script; "" where the recording does not name it."""
        return self.recording.script

    @property
    def step_times_ns(self) -> tuple[int, ...]:
        """Lengths of the steps shown by default; () for a recording without steps."""
        if self.step_source == "whole_trace":
            return ()
        usual = tuple(step.dur_ns for step in self.steps if step.excluded is None)
        return usual or tuple(step.dur_ns for step in self.steps)


Summed = TypeVar("Summed", Breakdown, Partition, HostPartition, Gauges, Communication, LaunchSums)


def total_of(parts: list[Summed], zero: Summed) -> Summed:
    """Field by field; a sum is None only where every part is."""
    if not parts:
        return zero
    columns = zip(*(structs.astuple(part) for part in parts), strict=True)
    names = zero.__struct_fields__
    totals = {name: _sum(list(column)) for name, column in zip(names, columns, strict=True)}
    return structs.replace(zero, **totals)


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
