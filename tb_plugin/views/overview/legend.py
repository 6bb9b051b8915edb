"""Name, colour and definition of the parts of a step: one table per division.

Keys are the field names of ``Partition``, ``HostPartition`` and ``Breakdown``; the order is that of
stacked bars.
"""

from __future__ import annotations

from typing import NamedTuple


class LegendEntry(NamedTuple):
    """Name, colour and definition of one part."""

    key: str
    label: str
    category: str  # colour token stem
    help: str
    ghost: bool = False  # the device was idle; the hue says what the host did meanwhile


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
    LegendEntry(
        "idle_dataloader_ns",
        "Idle: DataLoader",
        "loader",
        "The device idles while a launching thread is in the DataLoader.",
        ghost=True,
    ),
    LegendEntry(
        "idle_cpu_exec_ns",
        "Idle: host dispatch",
        "cpu",
        "The device idles while a launching thread runs ops, annotated code or Python.",
        ghost=True,
    ),
    LegendEntry(
        "idle_runtime_ns",
        "Idle: launch API",
        "runtime",
        "The device idles while a launching thread is in a runtime call that does not block.",
        ghost=True,
    ),
    LegendEntry(
        "idle_sync_ns",
        "Idle: host sync",
        "memcpy",
        "The device idles while a launching thread sits in a call that waits for it or may.",
        ghost=True,
    ),
    LegendEntry(
        "idle_unattributed_ns",
        "Idle: unattributed",
        "other",
        "The device idles and no launching thread recorded any activity.",
        ghost=True,
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
    LegendEntry("python_ns", "Python", "other", "Python frames without an op below them."),
    LegendEntry(
        "uninstrumented_ns",
        "Uninstrumented",
        "other",
        "The main thread recorded no op and no frame, though annotations may be open; "
        "`with_stack=True` shows its Python.",
        ghost=True,
    ),
)

BREAKDOWN: tuple[LegendEntry, ...] = (
    LegendEntry("kernel_ns", "Kernel", "compute", "Kernels run on a device."),
    LegendEntry("memcpy_ns", "Memcpy", "memcpy", "A device copies, and no kernel runs."),
    LegendEntry("memset_ns", "Memset", "memset", "A device sets memory, and nothing above runs."),
    LegendEntry(
        "communication_ns",
        "Communication",
        "comm",
        "Collectives, on a device or the host, and nothing above runs; also under ops of the host.",
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
    LegendEntry("other_ns", "Other", "other", "None of the above: the rest of the step."),
)

DEVICE_PARTS = tuple(
    part for part in BREAKDOWN if part.key in {"kernel_ns", "memcpy_ns", "memset_ns", "runtime_ns"}
)
"""The classic categories that only a recorded device has."""

GAUGES: dict[str, tuple[str, str]] = {
    "utilization": (
        "Utilization",
        (
            "Part of the time in which at least one kernel runs, gaps between neighbouring steps "
            "included. The rest is not all idle: copies and memsets run in some of it. Coarse: one "
            "thread of one kernel keeps it at 100 %. Higher is better."
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
MATRIX_CORE_LABEL = "Matrix-core time"  # AMD's word
