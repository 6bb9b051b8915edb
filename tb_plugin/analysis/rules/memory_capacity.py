"""ME1: is the memory of a device nearly full?"""

from __future__ import annotations

from ...base.units import share, size
from ..facts import DeviceFacts
from ..findings import Evidence, Finding, Reference
from ..selection import Selection
from ..wording import device_name
from .needs import CAPACITY, DEVICE_ACTIVITY, MEMORY_TOTALS
from .rule import Fact, Remedy, Rule, remedy_of, sentences
from .thresholds import HELD_RATIO, MEMORY_RATIO

_DOCS = "https://docs.pytorch.org/docs/stable/checkpoint.html"


GROWS = Fact(
    "a tenth of the peak or more is given back within the recording",
    lambda chosen: (least := _held(chosen)) is not None and least < HELD_RATIO,
)
HELD = Fact(
    "more than nine tenths of the peak are held from the first allocator event to the last",
    lambda chosen: (least := _held(chosen)) is not None and least >= HELD_RATIO,
)
TRAINS = Fact("autograd ran", lambda chosen: chosen.facts.traits.backward)

REMEDIES = (
    Remedy(
        "Near its limit the allocator may have to free and ask again, which stops the device. "
        "Recompute activations instead of keeping them (checkpointing), or make the batch smaller.",
        (GROWS, TRAINS),
        "from torch.utils.checkpoint import checkpoint\n"
        "y = checkpoint(block, x, use_reentrant=False)",
        (Reference("How to checkpoint activations", url=_DOCS),),
    ),
    Remedy(
        "Near its limit the allocator may have to free and ask again, which stops the device. Make "
        "the batch smaller.",
        (GROWS,),
    ),
    Remedy(
        "Nearly all of it is held throughout the recording: weights and caches, or memory that "
        "was taken beforehand. The work of a step adds little.",
        (HELD,),
    ),
)


def check(selection: Selection) -> Finding | None:
    """Fires when tensors took over 90 % of the memory of the device they live on.

    Frameworks that serve a model take nearly all memory when they start, on purpose: no finding.
    """
    if selection.facts.traits.serving:
        return None
    full = [device for device in selection.facts.devices if (filled(device) or 0.0) > MEMORY_RATIO]
    if not full:
        return None
    worst = max(full, key=lambda device: filled(device) or 0.0)
    seen = Selection(selection.facts, selection.indexes, selection.facts.devices.index(worst))
    remedy = remedy_of(REMEDIES, seen)
    return Finding(
        id="ME1",
        title=f"The memory of {device_name(worst)} is nearly full",
        severity="medium",
        confidence=0.9,
        text=sentences(
            f"Tensors take up to {size(worst.peak_allocated_bytes or 0)}, "
            f"{share(filled(worst) or 0.0)} of the {size(worst.memory_bytes or 0)} of "
            f"{device_name(worst)}.",
            remedy.text,
        ),
        snippet=remedy.snippet,
        evidence=tuple(
            Evidence(f"peak of {device_name(device)}", filled(device) or 0.0, "ratio", MEMORY_RATIO)
            for device in full
        ),
        gain=None,
        scope=f"the whole recording, {device_name(worst)}",
        links=remedy.links,
        verify="Record again: the peak should fall below 90 % of the card.",
    )


def _held(selection: Selection) -> float | None:
    """The lowest allocated total of the highest; None where either is not known."""
    device = selection.device_facts
    if device is None or device.least_allocated_bytes is None or not device.peak_allocated_bytes:
        return None
    return device.least_allocated_bytes / device.peak_allocated_bytes


def filled(device: DeviceFacts) -> float | None:
    """Highest allocated total of the memory of the same device; None where either is not known."""
    if device.peak_allocated_bytes is None or not device.memory_bytes:
        return None
    return device.peak_allocated_bytes / device.memory_bytes


RULE = Rule(
    "ME1",
    "Memory near its capacity",
    (DEVICE_ACTIVITY, MEMORY_TOTALS, CAPACITY),
    check,
    remedies=REMEDIES,
)
