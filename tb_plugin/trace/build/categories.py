"""What does the category of an event say about it? One table for all vendors and versions.

Categories are compared without regard to case. A category that is not listed is kept: the event is
``OTHER`` on the host or on the device, whichever its process is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum


class EventRole(IntEnum):
    """The table that an event belongs to, and its meaning there."""

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
    EventRole.OP,
    EventRole.ANNOTATION,
    EventRole.PYTHON,
    EventRole.RUNTIME,
    EventRole.OVERHEAD,
    EventRole.HOST_OTHER,
)
DEVICE_ROLES = (EventRole.KERNEL, EventRole.MEMCPY, EventRole.MEMSET, EventRole.DEVICE_OTHER)

ROLES: Mapping[str, EventRole] = {
    "cpu_op": EventRole.OP,
    "operator": EventRole.OP,
    "user_annotation": EventRole.ANNOTATION,
    "python_function": EventRole.PYTHON,
    "pythonfunction": EventRole.PYTHON,
    "cuda_runtime": EventRole.RUNTIME,
    "cuda_driver": EventRole.RUNTIME,
    "hip_runtime": EventRole.RUNTIME,
    "hip_driver": EventRole.RUNTIME,
    "runtime": EventRole.RUNTIME,
    "driver": EventRole.RUNTIME,
    "xpu_runtime": EventRole.RUNTIME,
    "xpu_driver": EventRole.RUNTIME,
    "mtia_runtime": EventRole.RUNTIME,
    "glow_runtime": EventRole.RUNTIME,
    "privateuse1_runtime": EventRole.RUNTIME,
    "privateuse1_driver": EventRole.RUNTIME,
    "enqueue": EventRole.RUNTIME,  # Ascend: handing an op to the launching thread,
    "dequeue": EventRole.RUNTIME,  # and that thread taking it
    "overhead": EventRole.OVERHEAD,
    "kernel": EventRole.KERNEL,
    "concurrent_kernel": EventRole.KERNEL,
    "gpu_memcpy": EventRole.MEMCPY,
    "memcpy": EventRole.MEMCPY,
    "gpu_memset": EventRole.MEMSET,
    "memset": EventRole.MEMSET,
    "mtia_ccp_events": EventRole.DEVICE_OTHER,
    "mtia_insight": EventRole.DEVICE_OTHER,
    "gpu_user_annotation": EventRole.DEVICE_ANNOTATION,
    "cuda_sync": EventRole.SYNC,
    "cuda_event": EventRole.SYNC,
    # Nodes of a CUDA graph at which the device does nothing: it calls the host, it marks an event.
    "graph_host_node": EventRole.SYNC,
    "graph_event_node": EventRole.SYNC,
    "xpu_sync": EventRole.SYNC,
    "trace": EventRole.RANGE,
    "cuda_profiler_range": EventRole.RANGE,
    "hpu_op": EventRole.EITHER,
    "collective_comm": EventRole.EITHER,
    "privateuse1_op": EventRole.EITHER,
}

GRAPH_NODES = frozenset({"graph_host_node", "graph_event_node"})
"""Categories of rows on a stream that are no device work."""

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
MTIA_ROLES: Mapping[str, EventRole] = {
    "event_record": EventRole.SYNC,
    "event_wait": EventRole.SYNC,
    "dma_request": EventRole.MEMCPY,
}

# Ascend kernels have no category; the arg "Task Type" says what ran.
TASK_ROLES: Mapping[str, EventRole] = {
    "memcpy_async": EventRole.MEMCPY,
    "memcpy": EventRole.MEMCPY,
    "sdma": EventRole.MEMCPY,
    "pcie_dma_sqe": EventRole.MEMCPY,
    "event_record": EventRole.SYNC,
    "event_wait": EventRole.SYNC,
    "notify_record": EventRole.SYNC,
    "notify_wait": EventRole.SYNC,
    "write_value": EventRole.SYNC,
    "wait_value": EventRole.SYNC,
    "place_holder_sqe": EventRole.SYNC,
}

# Processes of exporters whose events carry no category.
PROCESS_ROLES: Mapping[str, EventRole] = {
    "CPU functions": EventRole.OP,
    "CUDA functions": EventRole.KERNEL,
    "CANN": EventRole.RUNTIME,
    "Overlap Analysis": EventRole.RANGE,  # derived from the other rows by the exporter
    "Overlay Analysis": EventRole.RANGE,
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


def role_of(category: str) -> EventRole:
    """Role of a category as written; ``EITHER`` for a category that is not listed.

    >>> role_of("Operator").name
    'OP'
    """
    return ROLES.get(category.casefold(), EventRole.EITHER)


def is_graph_node(category: str) -> bool:
    """True if rows of the category are graph nodes without device work."""
    return category.casefold() in GRAPH_NODES


def is_known(category: str) -> bool:
    """True if the table lists the category; the empty one counts as known."""
    return not category or category.casefold() in ROLES
