"""Is a device used below its capacity?

ME1: is the memory of a device nearly full?
DT2: do matrix products run without tensor cores on a device that has them?
"""

from __future__ import annotations

from ...base.units import duration, plural, share, size
from ..facts import DeviceFacts, Gauges
from ..overview.findings import Evidence, Finding, Reference
from ..overview.utilization import DEFAULT_PEAK_RATIO, PEAK_RATIO
from ..steps import Selection
from ..wording import device_name, per_step, scope
from .rule import (
    CAPABILITY,
    CAPACITY,
    DEVICE_ACTIVITY,
    HELD_RATIO,
    KERNELS_OF_OPS,
    MEMORY_RATIO,
    MEMORY_TOTALS,
    TENSOR_CORE_CAPABILITY,
    TIME,
    WHOLE,
    Fact,
    Remedy,
    Rule,
    ceiling,
    remedy_of,
    sentences,
    severity_of,
)

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
    full = [device for device in selection.facts.devices if (filled(device) or 0.0) > MEMORY_RATIO]
    if not full:
        return None
    worst = max(full, key=lambda device: filled(device) or 0.0)
    seen = Selection(selection.facts, selection.indexes, selection.facts.devices.index(worst))
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
            Evidence(f"peak of {device_name(device)}", filled(device) or 0.0, "ratio", MEMORY_RATIO)
            for device in full
        ),
        gain=None,
        scope=f"the whole recording, {device_name(worst)}",
        links=remedy.links,
        verify="Record again: the peak should fall below 90 % of the card.",
    )


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


_TENSOR_CORES_DOCS = "https://docs.pytorch.org/docs/stable/amp.html"


def check_tensor_cores(selection: Selection) -> Finding | None:
    """Fires when no kernel's name shows tensor cores although ops ran that could use them.

    Only NVIDIA's kernels tell by name. Time of kernels whose name does not tell must be the smaller
    part, so that a Triton matrix product is not taken for one without tensor cores.
    """
    able = {
        row: device
        for row, device in enumerate(selection.facts.devices)
        if device.used and has_tensor_cores(device)
    }
    found = {row: selection.gauges(row)[0] for row in able}
    if not found or any(one.tensor_core_ns for one in found.values()):
        return None
    row = selection.device if selection.device in found else next(iter(found))
    own, device = found[row], able[row]
    if not own.eligible_plain_ns or own.tensor_core_unknown_ns >= own.eligible_plain_ns:
        return None
    return _finding(selection, own, device, row)


def has_tensor_cores(device: DeviceFacts) -> bool:
    """True for NVIDIA devices since Volta."""
    capability = device.capability or (0, 0)
    return device.vendor == "NVIDIA" and capability[0] >= TENSOR_CORE_CAPABILITY


def _finding(selection: Selection, own: Gauges, device: DeviceFacts, row: int) -> Finding:
    capability = device.capability or (0, 0)
    factor = PEAK_RATIO.get(capability, DEFAULT_PEAK_RATIO)
    seen = Selection(selection.facts, selection.indexes, row)
    compute = seen.partition.compute_ns if seen.partition else 0
    gain = ceiling(
        seen,
        min(own.eligible_plain_ns, compute) * (1 - 1 / factor),
        f"eligible kernels {factor} times as fast, the ratio of peak rates",
        "compute_ns",
    )
    of_kernels = own.eligible_plain_ns / own.op_kernel_ns
    dtype = "bfloat16" if capability >= (8, 0) else "float16"
    scaler = "" if dtype == "bfloat16" else "  # and torch.amp.GradScaler() for the gradients"
    trains = selection.facts.traits.backward
    scaler = scaler if trains else ""
    body = "loss = loss_fn(model(x), y)" if trains else "y = model(x)"
    tf32 = (
        '\n# or, for float32 products alone: torch.set_float32_matmul_precision("high")'
        if capability >= (8, 0)
        else ""
    )
    return Finding(
        id="DT2",
        title="Tensor cores are never used",
        severity=severity_of(gain, "low"),
        confidence=0.8 if not own.tensor_core_unknown_ns else 0.6,
        text=(
            f"{share(of_kernels)} of kernel time on {device_name(device)} is matrix work that "
            f"could run on tensor cores, {duration(selection.mean(own.eligible_plain_ns))} "
            f"{per_step(selection)}{_ops(selection)}. Its kernels' names say that it does not. "
            "Use mixed precision; "
            f"where the work is compute-bound it gets up to {factor} times as fast."
        ),
        snippet=(f'with torch.autocast("cuda", dtype=torch.{dtype}):{scaler}\n    {body}{tf32}'),
        evidence=(
            Evidence("kernel time of eligible ops", of_kernels, "ratio", 0.0),
            Evidence("tensor-core time", 0.0, "ratio", 0.0),
        ),
        gain=gain,
        scope=scope(seen),
        links=(
            *_kernels(selection),
            Reference("How to use mixed precision", url=_TENSOR_CORES_DOCS),
        ),
        verify="Record again: tensor-core time is above zero.",
    )


def _kernels(selection: Selection) -> tuple[Reference, ...]:
    """A link to the calls of the op that takes most of the time, in the Trace view."""
    names = selection.facts.traits.eligible_ops
    if not names:
        return ()
    find = {"find": names[0], "match": "exact"}
    return (Reference(f"Calls of {names[0]} in the trace", "timeline", find),)


def _ops(selection: Selection) -> str:
    names = selection.facts.traits.eligible_ops
    if not names:
        return ""
    more = f" and {plural(len(names) - 1, 'more op')}" if len(names) > 1 else ""
    return f", most of it `{names[0]}`{more}"


TENSOR_CORES = Rule(
    "DT2",
    "Matrix work without tensor cores",
    (TIME, WHOLE, DEVICE_ACTIVITY, CAPABILITY, KERNELS_OF_OPS),
    check_tensor_cores,
)
