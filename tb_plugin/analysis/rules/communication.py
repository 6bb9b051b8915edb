"""CO1: does communication take a large part of the step?"""

from __future__ import annotations

from ...base.units import duration, share
from ..findings import Evidence, Finding, Reference
from ..selection import Selection
from ..wording import per_step, scope, step_noun
from .needs import HOST_RANGES, TIME
from .rule import Rule, ceiling, severity_of
from .thresholds import COMMUNICATION_RATIO

_DOCS = "https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html"


def check(selection: Selection) -> Finding | None:
    """Fires when communication that no kernel or copy covers takes over 10 % of the steps."""
    classic = selection.ratio(selection.breakdown.communication_ns)
    if classic <= COMMUNICATION_RATIO:
        return None
    part, host = selection.partition, selection.host
    exposed = part.exposed_communication_ns if part else host.communication_ns if host else 0
    gain = ceiling(
        selection,
        exposed,
        "time of collectives under which no kernel computed"
        if part
        else "time of collectives on the main thread",
        "exposed_communication_ns" if part else "communication_ns",
    )
    # The classic category is only what no copy covers; a part of a device's collectives is said of
    # all their time, or the part could be larger than the whole.
    running = exposed + part.overlap_ns if part else selection.breakdown.communication_ns
    where = (
        f", and for {duration(selection.mean(exposed))} of that nothing computes" if part else ""
    )
    return Finding(
        id="CO1",
        title="Communication takes a large part of the step",
        severity=severity_of(gain, "low"),
        confidence=0.8,
        text=(
            f"Collectives take {duration(selection.mean(running))} {per_step(selection)}, "
            f"{share(selection.ratio(running))} of the {step_noun(selection.facts)}{where}. "
            "Waiting for slower ranks is part of that. Communicate less often or less: "
            "accumulate gradients over several batches, compress them, or use larger batches "
            "(with LAMB, for example; check that training still converges)."
        ),
        snippet=(
            "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
            "ddp_model.register_comm_hook(None, default_hooks.bf16_compress_hook)"
        ),
        evidence=(
            Evidence("communication", classic, "ratio", COMMUNICATION_RATIO),
            Evidence("exposed communication, per step", selection.mean(exposed), "ns"),
        ),
        gain=gain,
        scope=scope(selection),
        links=(Reference("How to compress gradients", url=_DOCS),),
        verify="Record again: communication should fall below 10 % of the step.",
    )


RULE = Rule("CO1", "Communication in the way of the step", (TIME, HOST_RANGES), check)
