"""What the category of an event says about it: one table for all vendors and times.

Categories are compared without regard to case. A category that is not listed is kept: the event is
``OTHER`` on the host or on the device, whichever its process is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class Role(IntEnum):
    """Where an event belongs, and what it is there."""

    OP = 0
    ANNOTATION = 1
    PYTHON = 2
    RUNTIME = 3
    OVERHEAD = 4
    KERNEL = 5
    MEMCPY = 6
    MEMSET = 7
    DEVICE_OTHER = 8
    DEVICE_ANNOTATION = 9
    SYNC = 10
    RANGE = 11
    HOST_OTHER = 12
    EITHER = 13  # host or device: its process decides


HOST_ROLES = (
    Role.OP,
    Role.ANNOTATION,
    Role.PYTHON,
    Role.RUNTIME,
    Role.OVERHEAD,
    Role.HOST_OTHER,
)
DEVICE_ROLES = (Role.KERNEL, Role.MEMCPY, Role.MEMSET, Role.DEVICE_OTHER)

ROLES: Mapping[str, Role] = {
    "cpu_op": Role.OP,
    "operator": Role.OP,
    "user_annotation": Role.ANNOTATION,
    "python_function": Role.PYTHON,
    "pythonfunction": Role.PYTHON,
    "cuda_runtime": Role.RUNTIME,
    "cuda_driver": Role.RUNTIME,
    "hip_runtime": Role.RUNTIME,
    "hip_driver": Role.RUNTIME,
    "runtime": Role.RUNTIME,
    "driver": Role.RUNTIME,
    "xpu_runtime": Role.RUNTIME,
    "xpu_driver": Role.RUNTIME,
    "mtia_runtime": Role.RUNTIME,
    "glow_runtime": Role.RUNTIME,
    "privateuse1_runtime": Role.RUNTIME,
    "privateuse1_driver": Role.RUNTIME,
    "enqueue": Role.RUNTIME,  # Ascend: handing an op to the launching thread,
    "dequeue": Role.RUNTIME,  # and that thread taking it
    "overhead": Role.OVERHEAD,
    "kernel": Role.KERNEL,
    "concurrent_kernel": Role.KERNEL,
    "gpu_memcpy": Role.MEMCPY,
    "memcpy": Role.MEMCPY,
    "gpu_memset": Role.MEMSET,
    "memset": Role.MEMSET,
    "mtia_ccp_events": Role.DEVICE_OTHER,
    "mtia_insight": Role.DEVICE_OTHER,
    "gpu_user_annotation": Role.DEVICE_ANNOTATION,
    "cuda_sync": Role.SYNC,
    "cuda_event": Role.SYNC,
    # Nodes of a CUDA graph at which the device does nothing: it calls the host, it marks an event.
    "graph_host_node": Role.SYNC,
    "graph_event_node": Role.SYNC,
    "xpu_sync": Role.SYNC,
    "trace": Role.RANGE,
    "cuda_profiler_range": Role.RANGE,
    "hpu_op": Role.EITHER,
    "collective_comm": Role.EITHER,
    "privateuse1_op": Role.EITHER,
}

GRAPH_NODES = frozenset({"graph_host_node", "graph_event_node"})
"""Categories of rows that stand on a stream among its work and are none."""

# Python exporters write allocator events as ranges, Kineto as instants.
MEMORY_CATEGORIES = frozenset({"", "cpu_instant_event"})
MEMORY_NAME = "[memory]"

# Until torch 1.9 these annotations were written as ops.
ANNOTATION_PREFIXES = (
    "ProfilerStep#",
    "enumerate(DataLoader)#",
    "Optimizer.step#",
    "Optimizer.zero_grad#",
)
MODULE_PREFIX = "nn.Module: "

# MTIA writes waits, copies and programs under one category; what has no name of these is a program.
MTIA_WORK = "mtia_ccp_events"
MTIA_ROLES: Mapping[str, Role] = {
    "event_record": Role.SYNC,
    "event_wait": Role.SYNC,
    "dma_request": Role.MEMCPY,
}

# Ascend kernels have no category; the arg "Task Type" says what ran.
TASK_ROLES: Mapping[str, Role] = {
    "memcpy_async": Role.MEMCPY,
    "memcpy": Role.MEMCPY,
    "sdma": Role.MEMCPY,
    "pcie_dma_sqe": Role.MEMCPY,
    "event_record": Role.SYNC,
    "event_wait": Role.SYNC,
    "notify_record": Role.SYNC,
    "notify_wait": Role.SYNC,
    "write_value": Role.SYNC,
    "wait_value": Role.SYNC,
    "place_holder_sqe": Role.SYNC,
}

# Processes of exporters whose events carry no category.
PROCESS_ROLES: Mapping[str, Role] = {
    "CPU functions": Role.OP,
    "CUDA functions": Role.KERNEL,
    "CANN": Role.RUNTIME,
    "Overlap Analysis": Role.RANGE,  # derived from the other rows by the exporter
    "Overlay Analysis": Role.RANGE,
}

# Flows by what their ends mean.
FORWARD_FLOWS = frozenset({"fwdbwd", "forward_backward"})
LAUNCH_FLOWS = frozenset(
    {"ac2g", "async_cpu_to_gpu", "async_gpu", "async", "cpu_to_cuda", "hosttodevice"}
)
OP_FLOWS = frozenset({"async_npu"})
# Arrows between nodes of a graph are written as launches are, and numbered from here on.
DEPENDENCY_FLOW, FIRST_DEPENDENCY = "ac2g", 1 << 40

# Words by which a process label names a device type; first match wins.
DEVICE_LABELS: Mapping[str, str] = {
    "GPU": "GPU",
    "CUDA": "GPU",
    "HIP": "GPU",
    "XPU": "XPU",
    "MTIA": "MTIA",
    "HPU": "HPU",
    "NPU": "NPU",
    "PrivateUse1": "PrivateUse1",
}


def role_of(category: str) -> Role:
    """Role of a category as written; ``EITHER`` when nobody has listed it.

    >>> role_of("Operator").name
    'OP'
    """
    return ROLES.get(category.casefold(), Role.EITHER)


def is_graph_node(category: str) -> bool:
    """Whether rows of the category are nodes of a graph at which the device does nothing."""
    return category.casefold() in GRAPH_NODES


def is_known(category: str) -> bool:
    """Whether the table lists the category; the empty one counts as known."""
    return not category or category.casefold() in ROLES
