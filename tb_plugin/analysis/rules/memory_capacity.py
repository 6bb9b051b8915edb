"""ME1: is the memory of a device nearly full?"""

from __future__ import annotations

from ...base.units import share, size
from ..facts import DeviceFacts
from ..findings import Evidence, Finding, Reference
from ..selection import Selection
from ..wording import device_name
from .needs import CAPACITY, DEVICE_ACTIVITY, MEMORY_TOTALS
from .rule import Rule
from .thresholds import MEMORY_RATIO

_DOCS = "https://docs.pytorch.org/docs/stable/checkpoint.html"


def check(selection: Selection) -> Finding | None:
    """Fires when tensors took over 90 % of the memory of the device they live on."""
    full = [device for device in selection.facts.devices if (filled(device) or 0.0) > MEMORY_RATIO]
    if not full:
        return None
    worst = max(full, key=lambda device: filled(device) or 0.0)
    return Finding(
        id="ME1",
        title=f"The memory of {device_name(worst)} is nearly full",
        severity="medium",
        confidence=0.9,
        text=(
            f"Tensors take up to {size(worst.peak_allocated_bytes or 0)}, "
            f"{share(filled(worst) or 0.0)} of the {size(worst.memory_bytes or 0)} of "
            f"{device_name(worst)}. Near its limit the allocator frees and asks again, which stops "
            "the device. Recompute activations (checkpointing), use mixed precision, or make the "
            "batch smaller."
        ),
        snippet=(
            "from torch.utils.checkpoint import checkpoint\n"
            "y = checkpoint(block, x, use_reentrant=False)"
        ),
        evidence=tuple(
            Evidence(f"peak of {device_name(device)}", filled(device) or 0.0, "ratio", MEMORY_RATIO)
            for device in full
        ),
        gain=None,
        scope=f"the whole recording, {device_name(worst)}",
        links=(Reference("How to checkpoint activations", url=_DOCS),),
        verify="Record again: the peak should fall below 90 % of the card.",
    )


def filled(device: DeviceFacts) -> float | None:
    """Highest allocated total of the memory of the same device; None where either is not known."""
    if device.peak_allocated_bytes is None or not device.memory_bytes:
        return None
    return device.peak_allocated_bytes / device.memory_bytes


RULE = Rule("ME1", "Memory near its capacity", (DEVICE_ACTIVITY, MEMORY_TOTALS, CAPACITY), check)
