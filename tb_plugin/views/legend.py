"""Name, colour and definition of the parts of a step: one table per division.

Keys are the field names of ``Partition``, ``HostPartition`` and ``Breakdown``; the order is that of
stacked bars.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..analysis.facts import DeviceFacts, Facts
from ..analysis.wording import CAUSE_NAMES, step_noun
from ..base.regex import regex
from ..trace.model import is_of_other_recorder
from ..trace.recipes import FRAMES, with_option


class LegendEntry(NamedTuple):
    """Name, colour and definition of one part."""

    key: str
    label: str
    category: str  # colour token stem
    help: str
    ghost: bool = False  # the device was idle; the hue says what the host did meanwhile


def _until(doing: str) -> str:
    return f"The device has no work, and the thread that launches it next {doing}."


PARTITION: tuple[LegendEntry, ...] = (
    LegendEntry("compute_ns", "Compute", "compute", "At least one compute kernel runs."),
    LegendEntry(
        "exposed_communication_ns",
        "Exposed communication",
        "comm",
        "A collective runs and no compute kernel does.",
    ),
    LegendEntry("exposed_copy_ns", "Exposed copy", "memcpy", "A copy runs and no kernel does."),
    LegendEntry("memset_ns", "Memset", "memset", "A memset runs and nothing else does."),
    *(
        LegendEntry(key, f"Idle: {CAUSE_NAMES[key]}", category, help_, ghost=True)
        for key, category, help_ in (
            ("idle_dataloader_ns", "loader", _until("is in the DataLoader, whatever runs there")),
            (
                "idle_capture_ns",
                "runtime",
                _until("records a graph: launches put nothing on the device"),
            ),
            ("idle_compile_ns", "cpu", _until("compiles code")),
            ("idle_gc_ns", "cpu", _until("collects Python's garbage")),
            (
                "idle_allocator_ns",
                "runtime",
                _until("asks the driver for memory, or gives it back"),
            ),
            (
                "idle_blocking_ns",
                "memcpy",
                _until("is in a copy or synchronization that has nothing left to wait for"),
            ),
            ("idle_communication_ns", "comm", _until("waits in a collective of the host")),
            ("idle_optimizer_ns", "cpu-deep", _until("is in the optimizer")),
            ("idle_dispatch_ns", "cpu", _until("is in ops, outside of calls of the runtime")),
            ("idle_python_ns", "cpu-light", _until("runs Python, outside of ops")),
            ("idle_launch_ns", "runtime", _until("is in calls of the runtime that launch")),
            (
                "idle_first_launch_ns",
                "runtime",
                _until("is in a slow first launch of a kernel, or loads its code"),
            ),
            ("idle_profiler_ns", "other", _until("is in code of the profiler itself")),
            (
                "idle_uninstrumented_ns",
                "other",
                _until(
                    "is in no op and no Python frame that was recorded. Annotations may be open, "
                    "or functions that another recorder wrote"
                ),
            ),
            (
                "idle_latency_ns",
                "runtime",
                (
                    "The work was launched, and starts as late as it usually does on an idle "
                    "device: the 90th percentile of this recording."
                ),
            ),
            (
                "idle_kernel_gap_ns",
                "idle",
                (
                    "The usual time between two pieces of work that were both launched before: the "
                    "90th percentile of this recording."
                ),
            ),
            (
                "idle_device_wait_ns",
                "comm",
                (
                    "The work was launched, and the device starts it later than it usually does: "
                    "it waits for another stream, an event, another process, or the cause is not "
                    "recorded."
                ),
            ),
            (
                "idle_graph_ns",
                "idle",
                "Between two pieces of work of one replay of a graph.",
            ),
            (
                "idle_before_ns",
                "other",
                "The next work was launched before the recording began.",
            ),
            (
                "idle_unattributed_ns",
                "other",
                (
                    "No work follows, or its launch is not known, and the thread that runs the "
                    "steps recorded nothing, or annotations alone."
                ),
            ),
        )
    ),
)

HOST: tuple[LegendEntry, ...] = (
    LegendEntry("dataloader_ns", "DataLoader", "loader", "The main thread waits for a batch."),
    LegendEntry(
        "forward_ns", "Forward", "cpu-light", "Ops and module calls outside the other parts."
    ),
    LegendEntry("backward_ns", "Backward", "cpu", "Autograd runs, on the main thread or for it."),
    LegendEntry(
        "optimizer_ns", "Optimizer", "cpu-deep", "`Optimizer.step` and `Optimizer.zero_grad`."
    ),
    LegendEntry(
        "communication_ns",
        "Communication",
        "comm",
        "The main thread calls a collective, or runs nothing else while one is under way.",
    ),
    LegendEntry("compile_ns", "Compile", "cpu-deepest", "Code is compiled inside the recording."),
    LegendEntry("runtime_ns", "Runtime", "runtime", "Calls of the device's runtime outside ops."),
    LegendEntry(
        "python_ns",
        "Other Python",
        "other",
        "Python outside of all other parts, with no op below it. Forward, Backward and Optimizer "
        "include their own Python.",
    ),
    LegendEntry(
        "uninstrumented_ns",
        "No known operator",
        "other",
        "The main thread is in no op and no Python frame that was recorded. Annotations may be "
        "open, or functions that another recorder wrote.",
        ghost=True,
    ),
)

BREAKDOWN: tuple[LegendEntry, ...] = (
    LegendEntry("kernel_ns", "Kernel", "compute", "Kernels run on a device."),
    LegendEntry("memcpy_ns", "Memcpy", "memcpy", "A device copies, and no kernel runs."),
    LegendEntry("memset_ns", "Memset", "memset", "A device sets memory, and nothing above runs."),
    LegendEntry(
        "communication_ns",
        "Communication anywhere",
        "comm",
        "A collective runs on any device or thread of the host, also under ops, and nothing above "
        "runs.",
    ),
    LegendEntry(
        "runtime_ns",
        "Runtime",
        "runtime",
        "The host is in a call of the device's runtime, and nothing above runs.",
    ),
    LegendEntry(
        "dataloader_ns",
        "DataLoader",
        "loader",
        "The DataLoader prepares a batch, and nothing above runs.",
    ),
    LegendEntry(
        "cpu_exec_ns",
        "CPU exec",
        "cpu",
        "Ops or annotated code run on the host, and nothing above runs.",
    ),
    LegendEntry("other_ns", "Other", "other", "None of the above: the rest."),
)

UNKNOWN_KIND = LegendEntry(
    "uninstrumented_ns",
    "Of no known kind",
    "other",
    "Nothing was recorded, or another recorder's events whose role in a training step is not known."
    " Trace shows them.",
    ghost=True,
)
"""The rest of a step in the file of another recorder."""

COPY = LegendEntry("exposed_copy_ns", "Copy", "memcpy", "A copy runs.")
UNTOLD = LegendEntry(
    "unknown_ns",
    "Not known",
    "other",
    "No kernel was recorded: in this time kernels ran, or the device was idle.",
    ghost=True,
)
"""Parts of a step on a device whose kernels were not recorded: copies, and the rest."""

RESTS = ("uninstrumented_ns", "other_ns")
"""The rest of a step after all other parts; every recording has it."""


def named_for(parts: Sequence[LegendEntry], *recordings: Facts) -> tuple[LegendEntry, ...]:
    """The parts under their names for these recordings; the rest depends on the missing data.

    How to record the Python that ran in it is said as their recorder could have done so.
    """
    if not any(is_of_other_recorder(one.torch_era) for one in recordings):
        without = [one for one in recordings if not one.counts.get("python", 0)]
        if not without:
            return tuple(parts)
        how = f" To see the Python that ran there: {with_option(FRAMES, without[0].torch_era)}."
        return tuple(
            part._replace(help=part.help + how) if part.key in _WITHOUT_PYTHON else part
            for part in parts
        )
    label, text = UNKNOWN_KIND.label, UNKNOWN_KIND.help
    return tuple(
        part._replace(label=label, help=text) if part.key in RESTS else part for part in parts
    )


_WITHOUT_PYTHON = ("uninstrumented_ns", "idle_uninstrumented_ns")

DEVICE_PARTS = tuple(
    part for part in BREAKDOWN if part.key in {"kernel_ns", "memcpy_ns", "memset_ns", "runtime_ns"}
)
"""The classic categories that only a recorded device has."""

_OF_STEPS = (
    ", from the start of the first chosen step to the end of the last work of the last one. Gaps "
    "between neighbours count, the time behind the last step does not"
)
GAUGES: dict[str, tuple[str, str]] = {
    "utilization": (
        "Utilization",
        (
            f"Part of the time in which at least one kernel runs{_OF_STEPS}. The rest is not "
            "all idle: copies and memsets run in some of it. Coarse: one thread of one "
            "kernel keeps it at 100 %. Higher is better."
        ),
    ),
    "sm_efficiency": (
        "Est. SM efficiency",
        (
            "Part of the time, weighted by how many of the multiprocessors have a block to run: "
            "the blocks per SM of the running kernels, at most 1. Estimated from launch geometry. "
            "Higher is better."
        ),
    ),
    "occupancy": (
        "Est. achieved occupancy",
        (
            "Warps per multiprocessor of the most it could hold, estimated from launch geometry; "
            "mean over kernels by duration. For memory-bound kernels higher is usually better."
        ),
    ),
    "tensor_core": (
        "Tensor-core time",
        (
            "Part of the time of compute kernels launched by ops that runs on tensor cores, by "
            "kernel name. Collectives, copies and sets are no candidates. “Tensor-core share” of "
            "the Kernel view takes all compute kernels, those without a known op too."
        ),
    ),
}


def gauge_help(key: str, facts: Facts) -> str:
    """Description of a device figure; for a recording without steps it does not mention steps."""
    text = GAUGES[key][1]
    return text.replace(_OF_STEPS, "") if step_noun(facts) == "recording" else text


TENSOR_CORES, MATRIX_CORES = "Tensor cores", "Matrix cores"
_CORES = regex(r"\b([Tt])ensor(?=[- ]core)")


def cores_name(devices: Iterable[DeviceFacts]) -> str:
    """The vendor's name for the units for matrix products of the used devices."""
    return MATRIX_CORES if {one.vendor for one in devices if one.used} == {"AMD"} else TENSOR_CORES


def core_words(text: str, name: str) -> str:
    """A text about tensor cores in the word of a vendor.

    >>> core_words("Tensor-core time: on tensor cores", MATRIX_CORES)
    'Matrix-core time: on matrix cores'
    """
    if name != MATRIX_CORES:
        return text
    return _CORES.sub(lambda found: f"{'M' if found[1] == 'T' else 'm'}atrix", text)


_ON_A_DEVICE = {
    "compute": ("Compute", "compute"),
    "communication_device": ("Communication", "comm"),
    "copy": ("Copy", "memcpy"),
    "memset": ("Memset", "memset"),
}


# Without a device, as the parts of the step are called.
_ON_THE_HOST = {
    "dispatch": "ops",
    "uninstrumented": next(one.label for one in HOST if one.key == "uninstrumented_ns"),
}


class PathKind(NamedTuple):
    """Name and colour of a kind of part of a critical path."""

    label: str
    category: str
    ghost: bool  # no work of a device


def path_kind(kind: str, facts: Facts) -> PathKind:
    """Name of one of ``PATH_KINDS``: device work by class, else by cause.

    Without a device what the host does is the work.
    """
    has_device = facts.device_type != "CPU"
    if kind == "start_up":
        return PathKind("Start-up", "other", ghost=True)
    if kind in _ON_A_DEVICE:
        return PathKind(*_ON_A_DEVICE[kind], ghost=False)
    key = f"idle_{kind}_ns"
    words = CAUSE_NAMES[key]
    category = next(part.category for part in PARTITION if part.key == key)
    if not has_device:
        words = _ON_THE_HOST.get(kind, words)
    if kind == "uninstrumented" and is_of_other_recorder(facts.torch_era):
        words = UNKNOWN_KIND.label
    ghost = has_device or kind in ("uninstrumented", "unattributed")
    return PathKind(words[0].upper() + words[1:], category, ghost)
