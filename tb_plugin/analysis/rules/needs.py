"""The inputs that rules ask for, each with the recipe to record it."""

from __future__ import annotations

from ..unavailable import WITH_DEVICE
from .rule import Need

TIME = Need("events that last: the file holds none", lambda chosen: bool(chosen.facts.steps))
WHOLE = Need(
    "all of the recording: what is missing could change the answer. The file ends in the middle, "
    "or a chosen step was cut off",
    lambda chosen: not chosen.cut,
)
DEVICE_ACTIVITY = Need(
    f"device activity: {WITH_DEVICE}",
    lambda chosen: any(device.used for device in chosen.facts.devices),
)
OPS = Need(
    "ops: record with `activities=[ProfilerActivity.CPU, …]`",
    lambda chosen: chosen.facts.counts.get("op", 0) > 0,
)
HOST_RANGES = Need(
    "ops or annotations: record with `activities=[ProfilerActivity.CPU, …]`",
    lambda chosen: chosen.facts.counts.get("op", 0) + chosen.facts.counts.get("annotation", 0) > 0,
)
KERNELS_OF_OPS = Need(
    "kernels linked to the ops that launched them: record host and device together",
    lambda chosen: any(
        one.gauges.op_kernel_ns or one.gap.op_kernel_ns
        for step in chosen.facts.steps
        for one in step.devices
    ),
)
CAPABILITY = Need(
    "the compute capability of the device, which the file does not say",
    lambda chosen: any(device.used and device.capability for device in chosen.facts.devices),
)
MEMORY_TOTALS = Need(
    "totals of the device's allocator: record with `profile_memory=True`, torch 1.11 or later",
    lambda chosen: any(device.peak_allocated_bytes is not None for device in chosen.facts.devices),
)
CAPACITY = Need(
    "the memory size of the device, which the file does not say",
    lambda chosen: any(
        device.memory_bytes and device.peak_allocated_bytes is not None
        for device in chosen.facts.devices
    ),
)
