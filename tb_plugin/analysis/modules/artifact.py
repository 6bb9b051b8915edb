"""The stored columns of the Module view: made once per trace, then memory-mapped."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ...base.artifact_spec import ArtifactSpec, opens, stores
from ...base.group_sums import summed
from ...trace.model import Trace
from ...trace.recipes import SHAPES, with_option
from ..accelerator import accelerator
from ..recording import no_allocator_events, no_device_activity, says
from ..steps import step_windows
from .costs import allocations, costs
from .model import ModuleCalls, ModuleColumns, Phase
from .sources import FoundModules, find_modules


def modules_of(trace: Trace) -> ModuleColumns:
    """The modules of a trace, their calls and their costs."""
    found = find_modules(trace)
    known = costs(trace, found, step_windows(trace))
    return ModuleColumns(
        strings=found.strings,
        tree=found.tree,
        calls=_calls(trace, found),
        sums=known.sums,
        busy=known.busy,
        outside=known.outside,
        source=found.source,
        missing=_missing(trace),
        never_called=never_called(
            trace.recording.handler.get("modules"),
            {found.strings[code] for code in found.tree.qualified.tolist() if code >= 0},
        ),
    )


def _calls(trace: Trace, found: FoundModules) -> ModuleCalls:
    calls, host = found.calls, trace.host
    ts = host.ts[calls.host]
    dur = calls.end - ts
    inside = summed(dur, calls.above, len(dur))
    return ModuleCalls(
        module=calls.module,
        phase=np.where(found.in_backward[calls.host], Phase.RECOMPUTE, Phase.FORWARD).astype(
            np.int8
        ),
        host=calls.host,
        step=host.step[calls.host].astype(np.int32),
        ts=ts,
        dur_ns=dur,
        self_ns=np.maximum(dur - inside, 0),
    )


def never_called(model: object, called: Collection[str]) -> tuple[str, ...]:
    """The modules of the model that did not run, nor did any inside them; the outermost of them.

    ``model`` has the type of each module by its name, as our handler writes it; anything else is
    no list. What is not called itself, but holds what is, such as a ``ModuleList``, did run.
    """
    if not isinstance(model, Mapping):
        return ()
    ran = {""}
    for name in called:
        parts = name.split(".")
        ran |= {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
    names = [name for name in model if isinstance(name, str) and name not in ran]
    return tuple(name for name in names if name.rpartition(".")[0] in ran)


def _missing(trace: Trace) -> Mapping[str, str]:
    """Missing data of this recording: reason, and how to record it."""
    missing = {}
    era = trace.recording.torch_era
    if not len(trace.device):
        missing["device"] = no_device_activity(accelerator(trace), era, trace.health.notes)
    if not says(trace, "input_dims"):
        missing["flops"] = f"No input shapes were recorded: {with_option(SHAPES, era)}."
    counted = allocations(trace)
    if not counted:
        missing["memory"] = no_allocator_events(trace.recording.file_format, era)
    elif not all((trace.memory.address[one.rows] != 0).all() for one in counted):
        missing["kept"] = (
            "The allocator events carry no addresses: record with torch 1.11 or later."
        )
    return missing


make_modules = stores(modules_of, "modules")
MODULES = ArtifactSpec("modules-5", f"{__name__}:make_modules", opens(ModuleColumns, "modules"))
