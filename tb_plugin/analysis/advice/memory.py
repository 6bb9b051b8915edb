"""Is memory nearly full, badly used, or growing?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...base.arrays import I64, distinct_values, search
from ...base.intervals import EMPTY
from ...base.units import plural, share, size
from ..facts import DeviceFacts
from ..findings import Evidence, Reference, SeenEvent
from ..steps import Selection
from ..user_code import Found, HostCode
from ..wording import device_name
from .claims import PatternSum, Seen, on_host, seen_event
from .rule import (
    CAPACITY,
    DEVICE_ACTIVITY,
    MEMORY_EVENTS,
    MEMORY_TOTALS,
    TORCH_2_0,
    TRAINS,
    WHOLE,
    Advice,
    Fact,
    Remedy,
    Threshold,
    is_older,
    pattern_rule,
    remedy_of,
    rule,
    sentences,
)

MEMORY_RATIO = Threshold("memory_ratio", 0.90, "of the card's memory")
FRAGMENTATION_RATIO = Threshold(
    "fragmentation_ratio", 0.25, "of the reserved memory that nothing uses at the peak"
)
HEADROOM_RATIO = Threshold("headroom_ratio", 0.50, "of the card's memory; below it there is room")


HELD_RATIO = 0.90  # of the highest allocated total: what is never given back was taken beforehand
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


@rule(
    "ME1",
    "Memory near its capacity",
    (DEVICE_ACTIVITY, MEMORY_TOTALS, CAPACITY),
    MEMORY_RATIO,
    remedies=MEMORY_CAPACITY_REMEDIES,
)
def capacity(selection: Selection) -> Advice | None:
    """Tensors take more than {memory_ratio} of the memory of their device.

    Frameworks that serve a model take nearly all memory when they start, on purpose: no
    finding.
    """
    if selection.facts.traits.serving:
        return None
    full = [
        device
        for device in selection.facts.devices
        if (filled(device) or 0.0) > MEMORY_RATIO.of(selection.limits)
    ]
    if not full:
        return None
    worst = max(full, key=lambda device: filled(device) or 0.0)
    seen = selection.of_device(selection.facts.devices.index(worst))
    remedy = remedy_of(MEMORY_CAPACITY_REMEDIES, seen)
    return Advice(
        title=f"The memory of {device_name(worst)} is nearly full",
        severity="medium",
        confidence=0.9,
        said=sentences(
            f"Tensors take up to {size(worst.peak_allocated_bytes or 0)}, "
            f"{share(filled(worst) or 0.0)} of the {size(worst.memory_bytes or 0)} of "
            f"{device_name(worst)}.",
        ),
        remedy=remedy,
        evidence=tuple(
            Evidence(
                f"peak of {device_name(device)}",
                filled(device) or 0.0,
                "ratio",
                MEMORY_RATIO.of(selection.limits),
            )
            for device in full
        ),
        scope=f"the whole recording, {device_name(worst)}",
        verify="Record again: the peak should fall below 90 % of the card.",
        events=_at_peak(selection, worst),
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


@rule(
    "ME2",
    "Reserved memory that nothing uses",
    (DEVICE_ACTIVITY, MEMORY_TOTALS),
    FRAGMENTATION_RATIO,
)
def fragments(selection: Selection) -> Advice | None:
    """Tensors never use more than {fragmentation_ratio} of the memory that the allocator reserved.

    It reserved at least 1 GiB. Both totals are at their peaks.
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
        if unused > FRAGMENTATION_RATIO.of(selection.limits) * (device.peak_reserved_bytes or 1)
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
    return Advice(
        title=f"{size(unused)} of {device_name(device)} are reserved and unused",
        severity="low",
        confidence=0.6,
        said=sentences(
            f"At its highest the allocator of {device_name(device)} reserves {size(reserved)}, and "
            f"tensors never take more than {size(device.peak_allocated_bytes or 0)} of it: "
            f"{share(unused / reserved)} is in pieces that did not fit.",
        ),
        snippet="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" if grows else "",
        evidence=(
            Evidence(
                "unused part of what is reserved",
                unused / reserved,
                "ratio",
                FRAGMENTATION_RATIO.of(selection.limits),
            ),
            Evidence("reserved at most", float(reserved), "bytes"),
        ),
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


@on_host()
def find_leaks(code: HostCode) -> Iterator[Found]:
    """Memory that grows in every step: of the host, and of each device."""
    memory, windows = code.trace.memory, code.windows
    if not len(memory):
        return
    from ..memory.growth import after_warm_up, growth  # of recordings with memory events

    chosen = np.array(after_warm_up(windows.excluded), np.int64)
    if len(chosen) < 2:
        return
    for kind, number in memory.allocating_devices():
        mine = np.flatnonzero((memory.device_type == kind) & (memory.device_id == number))
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(memory.bytes[mine])])
        at = np.searchsorted(memory.ts[mine], windows.end[chosen], side="left")
        test = growth(total[at] - int(total.min()))
        if test.verdict != "leak":
            continue
        rows = _kept(code, mine)
        owners = _owners(code, rows)
        sizes = memory.bytes[rows]
        frame, where = "", rows
        if len(rows) and (owners >= 0).any():
            names = np.where(owners >= 0, code.name[np.maximum(owners, 0)], -1)
            by_name = np.bincount(names + 1, sizes, len(code.trace.strings) + 1)
            best = int(by_name[1:].argmax())
            frame, where = code.trace.strings[best], rows[names == best]
        figures = {
            "bytes_per_step": test.bytes_per_step,
            "rising": float(test.rising),
            "steps": float(test.steps),
            "device_type": float(kind),
            "device_id": float(number),
            "kept_here": float(memory.bytes[where].sum() / max(len(chosen), 1)),
        }
        yield Found("leak", "", EMPTY, _allocating(code, where), frame, figures)


def _kept(code: HostCode, mine: I64) -> I64:
    """Allocations within the steps whose address is not given back; () without addresses."""
    memory = code.trace.memory
    address = memory.address[mine]
    if not len(mine) or not address.all():
        return mine[:0]
    order = np.lexsort((np.arange(len(mine)), address))
    last = np.flatnonzero(np.diff(address[order], append=-1))
    rows = np.sort(mine[order[last]])
    rows = rows[memory.bytes[rows] > 0]
    return rows[code.windows.of(memory.ts[rows]) >= 0]


def _inner(code: HostCode, rows: I64) -> I64:
    """The innermost event of the main thread that is open at each allocation; −1 for none."""
    ts = code.trace.memory.ts[rows]
    at = search(code.ts, ts, "right") - 1
    for _ in range(200):
        outside = (at >= 0) & (code.end[np.maximum(at, 0)] <= ts)
        if not outside.any():
            break
        at = np.where(outside, code.parent[np.maximum(at, 0)], at)
    return np.asarray(at, np.int64)


def _owners(code: HostCode, rows: I64) -> I64:
    if not len(code.ts):
        return np.full(len(rows), -1, np.int64)
    inner = _inner(code, rows)
    return np.where(inner >= 0, code.owner[np.maximum(inner, 0)], -1).astype(np.int64)


def _allocating(code: HostCode, rows: I64) -> I64:
    """The events in which the blocks were allocated, as rows of the host table."""
    if not len(code.ts):
        return rows[:0]
    inner = _inner(code, rows)
    return code.host_rows(distinct_values(inner[inner >= 0]))


@pattern_rule(
    "ME3",
    "Memory that grows",
    (WHOLE, MEMORY_EVENTS),
    "leak",
    choose=lambda seen: tuple(sorted(seen, key=_grows, reverse=True)[:1]),
)
def leak(selection: Selection, seen: Seen) -> Advice:
    """Memory at the end of the steps grows.

    By more than 1 MiB a step and 0.1 % of its mean, in four of five steps. It names the line
    that keeps the blocks.
    """
    one = seen[0]
    grown, steps = _grows(one), int(one.figure("steps"))
    on_host = not one.figure("device_type")
    where = "on the host" if on_host else f"on device {int(one.figure('device_id'))}"
    site = f" What stays is allocated at `{one.frame}`." if one.frame else ""
    trains = selection.facts.traits.backward
    return Advice(
        title=f"Memory grows by {size(grown)} a step",
        said=(
            f"Tensors {where} take {size(grown)} more at the end of a step than at its start "
            f"(in {int(one.figure('rising'))} of {plural(steps - 1, 'difference')}).{site}"
        ),
        action=(
            "Keep no tensor of a step beyond it: `detach()` it or keep its value, and empty lists."
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


@rule(
    "ME4",
    "Memory that is free",
    (DEVICE_ACTIVITY, MEMORY_TOTALS, CAPACITY),
    HEADROOM_RATIO,
)
def headroom(selection: Selection) -> Advice | None:
    """A training on one device uses less than {headroom_ratio} of its memory.

    Larger batches make a step longer, so there is no ceiling: the gain is per sample.
    """
    used = [one for one in selection.facts.devices if one.used]
    if len(used) != 1 or not selection.facts.traits.backward or selection.facts.traits.serving:
        return None
    device, part = used[0], filled(used[0])
    world = selection.facts.world_size or 1
    if part is None or part >= HEADROOM_RATIO.of(selection.limits) or world > 1:
        return None
    action = "Try a larger batch: where each kernel gets more work, a sample takes less time."
    return Advice(
        title=f"Most of the memory of {device_name(device)} is free",
        severity="info",
        confidence=0.5,
        said=sentences(
            f"Tensors take at most {size(device.peak_allocated_bytes or 0)}, {share(part)} of the "
            f"{size(device.memory_bytes or 0)} of {device_name(device)}.",
        ),
        evidence=(
            Evidence(
                f"peak of {device_name(device)}", part, "ratio", HEADROOM_RATIO.of(selection.limits)
            ),
        ),
        scope=f"the whole recording, {device_name(device)}",
        links=(Reference("Memory of this device", "memory"),),
        verify="Record again: the time per sample should be shorter.",
        events=_at_peak(selection, device),
        action=action,
    )
