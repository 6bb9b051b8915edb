"""UT1: do kernels run less than half of the time?"""

from __future__ import annotations

from ...base.units import duration, share
from ..facts import Partition
from ..findings import Evidence, Finding, Reference
from ..selection import Selection
from ..wording import device_name, device_names, per_step, scope
from .needs import DEVICE_ACTIVITY, TIME
from .rule import Rule, ceiling, severity_of
from .thresholds import UTILIZATION_RATIO

_DOCS = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"


def check(selection: Selection) -> Finding | None:
    """Fires when the kernels of some used device cover less than half of its time."""
    low = {
        row: ratio
        for row, device in enumerate(selection.facts.devices)
        if device.used and (ratio := utilization(selection, row)) < UTILIZATION_RATIO
    }
    if not low or not selection.total_ns:
        return None
    devices = [selection.facts.devices[row] for row in low]
    shown = selection.device if selection.device in low else min(low, key=low.__getitem__)
    part = Selection(selection.facts, selection.indexes, shown).partition or Partition()
    # The DataLoader's part is another finding's.
    gain = ceiling(
        selection,
        part.idle_ns - part.idle_dataloader_ns,
        "idle time of the device that is not under the DataLoader",
        "idle_ns without idle_dataloader_ns",
    )
    several = (
        f" {len(devices)} devices are below half: {device_names(devices)}." if devices[1:] else ""
    )
    worst = selection.facts.devices[shown]
    return Finding(
        id="UT1",
        title=f"{device_name(worst)} runs kernels {share(low[shown])} of the time",
        severity=severity_of(gain, "info"),
        confidence=0.7,
        text=(
            f"Kernels cover {share(low[shown])} of the time on {device_name(worst)}, and it idles "
            f"{duration(selection.mean(part.idle_ns))} {per_step(selection)}.{several} "
            f"{_advice(part)}"
        ),
        snippet="",
        evidence=tuple(
            Evidence(
                f"utilization of {device_name(selection.facts.devices[row])}",
                ratio,
                "ratio",
                UTILIZATION_RATIO,
            )
            for row, ratio in low.items()
        ),
        gain=gain,
        scope=scope(Selection(selection.facts, selection.indexes, shown)),
        links=(Reference("How to keep the GPU busy", url=_DOCS),),
        verify="Record again: utilization should rise; the step per sample should get shorter.",
    )


def utilization(selection: Selection, row: int) -> float:
    """Union of kernels of a device, of the chosen time."""
    gauges, covered = selection.gauges(row)
    return gauges.busy_ns / covered if covered else 0.0


def _advice(part: Partition) -> str:
    """What takes most of the time without kernels, and the act that answers it."""
    rest = part.idle_ns + part.exposed_copy_ns + part.memset_ns
    if part.idle_dataloader_ns * 2 > rest:
        return "Most of the rest is the DataLoader: see to it first."
    if part.exposed_copy_ns * 2 > rest:
        return (
            "Most of the rest is copies: copy from pinned memory with `non_blocking=True` while "
            "kernels run, or copy less."
        )
    if part.idle_sync_ns * 2 > rest:
        return (
            "Most of the rest the host sits in calls that wait for the device: "
            "read results back (`.item()`, `.cpu()`, printing) less often."
        )
    if (part.idle_cpu_exec_ns + part.idle_runtime_ns) * 2 > rest:
        return (
            "Most of the rest the host is still preparing the next launch. Larger batches give "
            "each launch more work (in training, check that it still converges); `torch.compile` "
            "launches less often."
        )
    return "Larger batches give each launch more work; in training, check that it still converges."


RULE = Rule("UT1", "Devices that are idle half of the time", (TIME, DEVICE_ACTIVITY), check)
