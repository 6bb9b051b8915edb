"""Is memory nearly full, badly used, or growing?

ME1: is the memory of a device nearly full?
ME2: does the allocator hold much that nothing uses?
ME3: does memory grow from step to step?
ME4: is most of a device's memory free?
"""

from __future__ import annotations

from ...base.units import plural, share, size
from ..facts import DeviceFacts
from ..findings import Evidence, Finding, Reference, SeenEvent
from ..steps import Selection
from ..wording import device_name
from .claims import PatternAdvice, PatternSum, Seen, pattern_rule, seen_event
from .rule import (
    CAPACITY,
    DEVICE_ACTIVITY,
    HELD_RATIO,
    MEMORY_EVENTS,
    MEMORY_TOTALS,
    TORCH_2_0,
    WHOLE,
    Fact,
    Remedy,
    Rule,
    is_older,
    remedy_of,
    sentences,
)

_ALLOCATOR_DOCS = "https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-memory-management"
LEAST_RESERVED = 1 << 30  # bytes: fragments of less are no matter

_MEMORY_CAPACITY_DOCS = "https://docs.pytorch.org/docs/stable/checkpoint.html"


GROWS = Fact(
    "a tenth of the peak or more is given back within the recording",
    lambda chosen: (least := _held(chosen)) is not None and least < HELD_RATIO,
)
HELD = Fact(
    "more than nine tenths of the peak are held from the first allocator event to the last",
    lambda chosen: (least := _held(chosen)) is not None and least >= HELD_RATIO,
)
TRAINS = Fact("autograd ran", lambda chosen: chosen.facts.traits.backward)

MEMORY_CAPACITY_REMEDIES = (
    Remedy(
        "Near its limit the allocator may have to free memory first, which stops the device. "
        "Recompute activations instead of keeping them (checkpointing), or make the batch smaller.",
        (GROWS, TRAINS),
        "from torch.utils.checkpoint import checkpoint\n"
        "y = checkpoint(block, x, use_reentrant=False)",
        (Reference("How to checkpoint activations", url=_MEMORY_CAPACITY_DOCS),),
    ),
    Remedy(
        "Near its limit the allocator may have to free memory first, which stops the device. Make "
        "the batch smaller.",
        (GROWS,),
    ),
    Remedy(
        "Nearly all of it is held throughout the recording: weights and caches, or memory that "
        "was taken beforehand. The work of a step adds little.",
        (HELD,),
    ),
)


def check_memory_capacity(selection: Selection) -> Finding | None:
    """Fires when tensors took over 90 % of the memory of their device.

    Frameworks that serve a model take nearly all memory when they start, on purpose: no finding.
    """
    if selection.facts.traits.serving:
        return None
    full = [
        device
        for device in selection.facts.devices
        if (filled(device) or 0.0) > selection.limits.memory_ratio
    ]
    if not full:
        return None
    worst = max(full, key=lambda device: filled(device) or 0.0)
    seen = selection.of_device(selection.facts.devices.index(worst))
    remedy = remedy_of(MEMORY_CAPACITY_REMEDIES, seen)
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
            Evidence(
                f"peak of {device_name(device)}",
                filled(device) or 0.0,
                "ratio",
                selection.limits.memory_ratio,
            )
            for device in full
        ),
        gain=None,
        scope=f"the whole recording, {device_name(worst)}",
        links=remedy.links,
        verify="Record again: the peak should fall below 90 % of the card.",
        events=_at_peak(selection, worst),
        action=remedy.text,
    )


def _at_peak(selection: Selection, device: DeviceFacts) -> tuple[SeenEvent, ...]:
    """The event in which the allocator reached the device's highest total."""
    at = device.peak_event
    return () if at is None else (seen_event(selection, at.name, at.spot, at.ts, at.dur_ns),)


def _held(selection: Selection) -> float | None:
    """The lowest allocated total divided by the highest; None where either is unknown."""
    device = selection.device_facts
    if device is None or device.least_allocated_bytes is None or not device.peak_allocated_bytes:
        return None
    return device.least_allocated_bytes / device.peak_allocated_bytes


def filled(device: DeviceFacts) -> float | None:
    """Highest allocated total divided by the memory of the same device; None where unknown."""
    if device.peak_allocated_bytes is None or not device.memory_bytes:
        return None
    return device.peak_allocated_bytes / device.memory_bytes


MEMORY_CAPACITY = Rule(
    "ME1",
    "Memory near its capacity",
    (DEVICE_ACTIVITY, MEMORY_TOTALS, CAPACITY),
    check_memory_capacity,
    remedies=MEMORY_CAPACITY_REMEDIES,
)


def check_fragments(selection: Selection) -> Finding | None:
    """Fires when over a quarter of at least 1 GiB that the allocator reserved is used by nothing.

    At the peaks of both totals, which the recording gives for the whole of it.
    """
    split = [
        (device, device.peak_reserved_bytes - device.peak_allocated_bytes)
        for device in selection.facts.devices
        if device.peak_reserved_bytes
        and device.peak_allocated_bytes is not None
        and device.peak_reserved_bytes >= LEAST_RESERVED
    ]
    split = [
        (device, unused)
        for device, unused in split
        if unused > selection.limits.fragmentation_ratio * (device.peak_reserved_bytes or 1)
    ]
    if not split or selection.facts.traits.serving:
        return None
    device, unused = max(split, key=lambda one: one[1])
    reserved = device.peak_reserved_bytes or 1
    grows = device.vendor == "NVIDIA" and not is_older(selection, TORCH_2_0)
    segments = ", or let segments grow (from torch 2.1 on)" if grows else ""
    action = (
        f"Keep sizes the same from step to step{segments}, and call no `empty_cache()` between "
        "steps."
    )
    return Finding(
        id="ME2",
        title=f"{size(unused)} of {device_name(device)} are reserved and unused",
        severity="low",
        confidence=0.6,
        text=sentences(
            f"At its highest the allocator of {device_name(device)} reserves {size(reserved)}, and "
            f"tensors never take more than {size(device.peak_allocated_bytes or 0)} of it: "
            f"{share(unused / reserved)} is in pieces that did not fit.",
            action,
        ),
        snippet="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" if grows else "",
        evidence=(
            Evidence(
                "unused part of what is reserved",
                unused / reserved,
                "ratio",
                selection.limits.fragmentation_ratio,
            ),
            Evidence("reserved at most", float(reserved), "bytes"),
        ),
        gain=None,
        scope=f"the whole recording, {device_name(device)}",
        links=(
            Reference("Memory of this device", "memory"),
            *(
                (Reference("How the allocator is set up", url=_ALLOCATOR_DOCS),)
                if device.type == "GPU"
                else ()
            ),
        ),
        verify="Record again: the reserved total should come closer to the allocated one.",
        events=_at_peak(selection, device),
        action=action,
    )


FRAGMENTS = Rule(
    "ME2", "Reserved memory that nothing uses", (DEVICE_ACTIVITY, MEMORY_TOTALS), check_fragments
)


@pattern_rule(
    "ME3",
    "Memory that grows",
    (WHOLE, MEMORY_EVENTS),
    "leak",
    choose=lambda seen: tuple(sorted(seen, key=_grows, reverse=True)[:1]),
)
def leak(selection: Selection, seen: Seen) -> PatternAdvice:
    """Memory grows in nearly every step; see ``memory.growth`` for the test."""
    one = seen[0]
    grown, steps = _grows(one), int(one.figure("steps"))
    on_host = not one.figure("device_type")
    where = "on the host" if on_host else f"on device {int(one.figure('device_id'))}"
    site = f" What stays is allocated at `{one.frame}`." if one.frame else ""
    trains = selection.facts.traits.backward
    return PatternAdvice(
        title=f"Memory grows by {size(grown)} in every step",
        said=(
            f"Tensors {where} take {size(grown)} more at the end of every step "
            f"(in {int(one.figure('rising'))} of {plural(steps - 1, 'difference')}).{site}"
        ),
        action=(
            "Keep no tensor of a step beyond it: `detach()` or read the value of what is kept, "
            "and empty lists."
        )
        if trains
        else "Keep no tensor of a step beyond it: empty lists and caches of results.",
        snippet="history.append(loss.item())  # not the loss with its graph" if trains else "",
        otherwise="high",
        confidence=0.85,
        evidence=(Evidence("growth per step", grown, "bytes", float(1 << 20)),),
        verify="Record again: the memory at the end of the steps stays the same.",
        links=(Reference("The curve in Memory", "memory"),),
    )


def _grows(one: PatternSum) -> float:
    """Bytes a step."""
    return one.figure("bytes_per_step")


def check_headroom(selection: Selection) -> Finding | None:
    """Fires when a training on one device uses less than half of its memory.

    Larger batches make a step longer, so it has no ceiling: the gain is per sample.
    """
    used = [one for one in selection.facts.devices if one.used]
    if len(used) != 1 or not selection.facts.traits.backward or selection.facts.traits.serving:
        return None
    device, part = used[0], filled(used[0])
    world = selection.facts.world_size or 1
    if part is None or part >= selection.limits.headroom_ratio or world > 1:
        return None
    action = "Try a larger batch: where each kernel gets more work, a sample takes less time."
    return Finding(
        id="ME4",
        title=f"Most of the memory of {device_name(device)} is free",
        severity="info",
        confidence=0.5,
        text=sentences(
            f"Tensors take at most {size(device.peak_allocated_bytes or 0)}, {share(part)} of the "
            f"{size(device.memory_bytes or 0)} of {device_name(device)}.",
            action,
        ),
        snippet="",
        evidence=(
            Evidence(
                f"peak of {device_name(device)}", part, "ratio", selection.limits.headroom_ratio
            ),
        ),
        gain=None,
        scope=f"the whole recording, {device_name(device)}",
        links=(Reference("Memory of this device", "memory"),),
        verify="Record again: the time per sample should be shorter.",
        events=_at_peak(selection, device),
        action=action,
    )


HEADROOM = Rule(
    "ME4", "Memory that is free", (DEVICE_ACTIVITY, MEMORY_TOTALS, CAPACITY), check_headroom
)

RULES = (MEMORY_CAPACITY, FRAGMENTS, leak, HEADROOM)
