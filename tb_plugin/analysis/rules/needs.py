"""The inputs that rules ask for, each with the recipe to record it."""

from __future__ import annotations

from ..unavailable import WITH_DEVICE
from .rule import Need

TIME = Need("events that last: the file holds none", lambda facts: bool(facts.steps))
DEVICE_ACTIVITY = Need(
    f"device activity: {WITH_DEVICE}",
    lambda facts: any(device.used for device in facts.devices),
)
OPS = Need(
    "ops: record with `activities=[ProfilerActivity.CPU, …]`",
    lambda facts: facts.counts.get("op", 0) > 0,
)
HOST_RANGES = Need(
    "ops or annotations: record with `activities=[ProfilerActivity.CPU, …]`",
    lambda facts: facts.counts.get("op", 0) + facts.counts.get("annotation", 0) > 0,
)
KERNELS_OF_OPS = Need(
    "kernels linked to the ops that launched them: record host and device together",
    lambda facts: any(
        one.gauges.op_kernel_ns or one.gap.op_kernel_ns
        for step in facts.steps
        for one in step.devices
    ),
)
CAPABILITY = Need(
    "the compute capability of the device, which the file does not say",
    lambda facts: any(device.used and device.capability for device in facts.devices),
)
MEMORY_TOTALS = Need(
    "totals of the device's allocator: record with `profile_memory=True`, torch 1.11 or later",
    lambda facts: any(device.peak_allocated_bytes is not None for device in facts.devices),
)
CAPACITY = Need(
    "the memory size of the device, which the file does not say",
    lambda facts: any(
        device.memory_bytes and device.peak_allocated_bytes is not None for device in facts.devices
    ),
)
