"""Is a device used below its capacity?

DT2: do matrix products run without tensor cores on a device that has them?
"""

from __future__ import annotations

from ...base.units import duration, plural, share
from ..facts import DeviceFacts, Gauges
from ..overview.findings import Evidence, Finding, Reference
from ..overview.utilization import DEFAULT_PEAK_RATIO, PEAK_RATIO
from ..steps import Selection
from ..wording import device_name, per_step, scope
from .claims import events_of, patterns
from .rule import (
    CAPABILITY,
    DEVICE_ACTIVITY,
    KERNELS_OF_OPS,
    TENSOR_CORE_CAPABILITY,
    TIME,
    WHOLE,
    Rule,
    ceiling,
    severity_of,
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
    seen = selection.of_device(row)
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
        severity=severity_of(selection, gain, "low"),
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
        events=events_of(seen, patterns(seen, "plain_products")),
        action="Use mixed precision.",
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
