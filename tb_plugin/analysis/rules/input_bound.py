"""IN1: does the step wait for its batch?"""

from __future__ import annotations

from ...base.units import NBSP, duration, share
from ..findings import Evidence, Finding, Reference
from ..selection import Selection, step_parameter
from ..wording import per_step, scope, spread, step_noun, the_device
from .needs import HOST_RANGES, TIME
from .rule import Rule, ceiling, severity_of
from .thresholds import DATALOADER_RATIO

_DOCS = "https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading"


def check(selection: Selection) -> Finding | None:
    """Fires when the DataLoader, with nothing of higher priority, takes over 5 % of the steps."""
    classic = selection.ratio(selection.breakdown.dataloader_ns)
    if classic <= DATALOADER_RATIO:
        return None
    waits = _waits(selection)
    total = sum(waits)
    gain = ceiling(
        selection,
        total,
        "time in which nothing but the DataLoader ran"
        if selection.device is None
        # The device could work in all of it, if batches were there in time.
        else "idle time of the device while a launching thread was in the DataLoader",
        "idle_dataloader_ns" if selection.device is not None else "dataloader_ns",
    )
    workers = not (selection.facts.traits.dataloader_class or "").startswith("_SingleProcess")
    worst = max(range(selection.count), key=waits.__getitem__)
    return Finding(
        id="IN1",
        title="Input-bound: the loader's workers do not keep up"
        if workers
        else "Input-bound: load batches in worker processes",
        severity=severity_of(gain, "low"),
        confidence=0.95,
        text=f"{_evidence(selection, waits, workers)} {_action(workers)}",
        snippet=_snippet(selection, workers),
        evidence=(
            Evidence("DataLoader", classic, "ratio", DATALOADER_RATIO),
            Evidence("waiting for the DataLoader, per step", selection.mean(total), "ns"),
        ),
        gain=gain,
        scope=scope(selection),
        links=(*_worst_step(selection, worst), Reference("How to load in workers", url=_DOCS)),
        verify="Record again: DataLoader should fall below 5 % of the step.",
    )


def _waits(selection: Selection) -> list[int]:
    """Per step: idle time under the DataLoader, or time in it where there is no device."""
    if selection.device is None:
        return [step.host.dataloader_ns if step.host else 0 for step in selection.steps]
    return [
        one.partition.idle_dataloader_ns if (one := selection.device_step(step)) else 0
        for step in selection.steps
    ]


def _evidence(selection: Selection, waits: list[int], workers: bool) -> str:
    mean = duration(selection.mean(sum(waits)))
    doing = "waits for the next batch" if workers else "prepares the batch"
    steps = f" ({spread(waits)}, {selection.count}{NBSP}steps)" if selection.count > 1 else ""
    if selection.device is None:
        part = share(selection.ratio(sum(waits)))
        noun = step_noun(selection.facts)
        when = f"{mean} {per_step(selection)}{steps}, {part} of the {noun}"
        return f"For {when}, the main thread {doing}."
    where = the_device(selection)
    return f"{where} idles {mean} {per_step(selection)} while the launching thread {doing}{steps}."


def _action(workers: bool) -> str:
    if workers:
        return "Use more workers or prefetch more, or do less work per sample."
    return "The dataset is read in the training process itself: give the DataLoader workers."


def _snippet(selection: Selection, workers: bool) -> str:
    pin = ", pin_memory=True" if selection.device is not None else ""
    if workers:
        return f"DataLoader(…, num_workers=8, prefetch_factor=4, persistent_workers=True{pin})"
    return f"DataLoader(…, num_workers=4{pin})  # now 0"


def _worst_step(selection: Selection, worst: int) -> tuple[Reference, ...]:
    """The step with the longest wait, and where the loader stands in it on the timeline."""
    step = selection.steps[worst]
    steps = {"steps": step_parameter(selection.facts, step.index)}
    loader = Reference("The loader in the trace", "timeline", {**steps, "find": "enumerate(Data"})
    if selection.count < 2:
        return (loader,)
    # Not the longest range of the loader: only the part in which the device idles counts here.
    what = "most time in the loader" if selection.device is None else "most idle under the loader"
    return (Reference(f"Step {step.number}, {what}", "overview", steps), loader)


RULE = Rule("IN1", "Steps that wait for their batch", (TIME, HOST_RANGES), check)
