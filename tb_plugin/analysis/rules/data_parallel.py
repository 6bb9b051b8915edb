"""CO7: does one process drive several devices through DataParallel?"""

from __future__ import annotations

from ..findings import Evidence, Finding, Reference
from ..selection import Selection
from ..wording import device_names, scope
from .needs import DEVICE_ACTIVITY, OPS
from .rule import Rule

_DOCS = "https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html"


def check(selection: Selection) -> Finding | None:
    """Fires when `DataParallel.forward` ran and more than one device worked."""
    used = [device for device in selection.facts.devices if device.used]
    if not selection.facts.traits.data_parallel or len(used) < 2:
        return None
    return Finding(
        id="CO7",
        title="One process drives all devices: use DistributedDataParallel",
        severity="medium",
        confidence=0.9,
        text=(
            f"`DataParallel` runs on {device_names(used)} from one Python process, which copies "
            "the model to each of them in every step and launches for all. Run one process per "
            "device with `DistributedDataParallel`."
        ),
        snippet=(
            f"torchrun --nproc-per-node={len(used)} train.py\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank])"
        ),
        evidence=(Evidence("devices of one process", len(used), "count", 1),),
        gain=None,
        scope=scope(selection, device=False),
        links=(
            Reference(
                "DataParallel.forward in the trace", "timeline", {"find": "DataParallel.forward"}
            ),
            Reference("How to use DistributedDataParallel", url=_DOCS),
        ),
        verify="Record one rank again: `DataParallel.forward` is gone, each rank uses one device.",
    )


RULE = Rule("CO7", "DataParallel on several devices", (OPS, DEVICE_ACTIVITY), check)
