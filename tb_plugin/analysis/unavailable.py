"""Which facts can this recording not give, why, and how to record them?"""

from __future__ import annotations

from .facts import DeviceFacts, RecordingFacts, StepFacts

WITH_DEVICE = "record with `activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`"
NO_DEVICE = f"No device activity was recorded. On a machine with an accelerator, {WITH_DEVICE}."
WITH_STEPS = "call `prof.step()` after each step and give `profile()` a `schedule`"


def unavailable(
    steps: tuple[StepFacts, ...],
    source: str,
    devices: tuple[DeviceFacts, ...],
    counts: dict[str, int],
    recording: RecordingFacts,
) -> dict[str, str]:
    """Fact → the reason and the recipe, in one sentence each."""
    reasons: dict[str, str] = {}
    if not steps:
        reasons["steps"] = "The file holds no event that lasts, so there is no time to explain."
    elif source == "whole_trace":
        reasons["steps"] = (
            f"No step is marked, so the whole recording stands for one: {WITH_STEPS}."
        )
    if not any(device.used for device in devices):
        reasons["devices"] = NO_DEVICE
    if counts["memory"] and not recording.totals:
        reasons["memory"] = (
            "Allocator events carry no totals: record with torch 1.11 or later "
            "and `profile_memory=True`."
        )
    elif not counts["memory"]:
        reasons["memory"] = "No allocator event was recorded: record with `profile_memory=True`."
    return reasons


def no_launch_figure(what: str, vendor: str, capability: tuple[int, int] | None) -> str:
    """Why the kernels of a device have no figure of their launch: not written, not computable."""
    written = f"The recording carries no {what} of kernels"
    if vendor != "NVIDIA":
        return f"{written}, and the rules to compute it are those of NVIDIA's devices."
    if capability is None:
        return (
            f"{written}, and without the properties of the device (`deviceProperties`) it cannot"
            " be computed."
        )
    return (
        f"{written}, and it cannot be computed: that needs grid, block, registers, shared memory,"
        " and the limits of the device."
    )
