"""CO9: does DistributedDataParallel on GPUs communicate without NCCL?"""

from __future__ import annotations

from ...base.units import listing
from ..findings import Evidence, Finding, Reference
from ..selection import Selection
from ..wording import scope
from .needs import CAPABILITY, DEVICE_ACTIVITY, OPS, WHOLE
from .rule import Rule
from .thresholds import NCCL_CAPABILITY

_DOCS = "https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use"


def check(selection: Selection) -> Finding | None:
    """Fires when DDP ran on a device that NCCL supports, and only other back ends were seen."""
    traits = selection.facts.traits
    able = [
        device
        for device in selection.facts.devices
        if device.used and device.type == "GPU" and (device.capability or (0, 0)) >= NCCL_CAPABILITY
    ]
    backends = traits.communication_backends
    # Where nothing was seen to communicate, nothing can be said of how.
    if not traits.distributed_data_parallel or not backends or "nccl" in backends or not able:
        return None
    with_what = f"with {listing([f'`{name}`' for name in backends])}"
    return Finding(
        id="CO9",
        title="Gradients do not travel by NCCL",
        severity="medium",
        confidence=0.8,
        text=(
            f"`DistributedDataParallel` runs on a {able[0].type} and communicates {with_what}. "
            "NCCL is the fastest back end between GPUs (RCCL on AMD, under the same name): "
            "choose it when the process group is made."
        ),
        snippet='torch.distributed.init_process_group("nccl")',
        evidence=(Evidence("collectives seen", selection.facts.recording.collectives, "count"),),
        gain=None,
        scope=scope(selection, device=False),
        links=(
            Reference("The collectives in the trace", "timeline", {"find": f"{backends[0]}:"}),
            Reference("Which back end to use", url=_DOCS),
        ),
        verify="Record again: collectives are named `nccl:…`.",
    )


RULE = Rule(
    "CO9",
    "The back end of DistributedDataParallel",
    (WHOLE, OPS, DEVICE_ACTIVITY, CAPABILITY),
    check,
)
