"""How well was a device used over the chosen steps? Ratios, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from .facts import DeviceFacts, Gauges
from .selection import Selection
from .unavailable import no_launch_figure

TENSOR_CORE_CAPABILITY = 7  # Volta was the first with tensor cores


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of the GPU summary. ``ratio`` None: not available, ``reason`` says why."""

    key: str
    ratio: float | None
    reason: str = ""


def measures(selection: Selection, row: int) -> tuple[Measure, ...]:
    """Utilization, est. SM efficiency, est. achieved occupancy, tensor-core time of one device."""
    gauges, covered = selection.gauges(row)
    return (
        _utilization(gauges, covered),
        _sm_efficiency(gauges, covered, selection.facts.devices[row]),
        _occupancy(gauges, selection.facts.devices[row]),
        _tensor_cores(gauges, selection.facts.devices[row]),
    )


def _utilization(gauges: Gauges, covered: int) -> Measure:
    if not covered:
        return Measure("utilization", None, "The chosen steps last no time.")
    return Measure("utilization", gauges.busy_ns / covered)


def _sm_efficiency(gauges: Gauges, covered: int, device: DeviceFacts) -> Measure:
    if gauges.sm_ns is None or not covered:
        why = no_launch_figure("blocks per SM", device.vendor, device.capability)
        return Measure("sm_efficiency", None, why)
    return Measure("sm_efficiency", min(gauges.sm_ns / covered, 1.0))


def _occupancy(gauges: Gauges, device: DeviceFacts) -> Measure:
    if gauges.occupancy_weighted is None:
        why = no_launch_figure("achieved occupancy", device.vendor, device.capability)
        return Measure("occupancy", None, why)
    if not gauges.occupancy_ns:
        return Measure(
            "occupancy", None, "No kernel with a known occupancy ran in the chosen steps."
        )
    return Measure("occupancy", gauges.occupancy_weighted / gauges.occupancy_ns / 100)


def _tensor_cores(gauges: Gauges, device: DeviceFacts) -> Measure:
    key = "tensor_core"
    if device.vendor == "NVIDIA" and device.capability is not None:
        if device.capability[0] < TENSOR_CORE_CAPABILITY:
            number = ".".join(map(str, device.capability))
            return Measure(key, None, f"Compute capability {number} has no tensor cores.")
    elif device.vendor not in ("NVIDIA", "AMD", ""):
        return Measure(key, None, f"Kernel names of {device.vendor} devices do not tell.")
    if not gauges.op_kernel_ns:
        return Measure(key, None, "No kernel of the chosen steps is linked to an op.")
    # Names that do not tell make the figure a lower bound; where they prevail it says nothing.
    if gauges.tensor_core_unknown_ns > max(gauges.tensor_core_ns, gauges.op_kernel_ns / 2):
        return Measure(key, None, "The names of most kernels do not tell.")
    return Measure(key, gauges.tensor_core_ns / gauges.op_kernel_ns)
