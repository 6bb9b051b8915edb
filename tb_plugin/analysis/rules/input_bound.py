"""IN1: does the step wait for its batch?"""

from __future__ import annotations

from ...base.units import NBSP, duration, share
from ..overview.findings import Evidence, Finding, Reference
from ..steps import Selection, step_parameter
from ..wording import per_step, scope, short_frame, spread, step_noun, the_device
from .claims import events_of, patterns
from .rule import (
    HOST_RANGES,
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

_DOCS = "https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading"


def _class(selection: Selection) -> str:
    return selection.facts.traits.dataloader_class or ""


IN_PROCESS = Fact(
    "batches are made in the training process",
    lambda chosen: _class(chosen).startswith("_SingleProcess"),
)
IN_WORKERS = Fact(
    "batches come from worker processes",
    lambda chosen: _class(chosen).startswith("_MultiProcess"),
)
PAGEABLE = Fact(
    "copies from pageable memory were recorded",
    lambda chosen: (chosen.facts.traits.pageable_copy_count or 0) > 0,
)

_GIVE = "The dataset is read in the training process itself: give the DataLoader workers."
_MORE = "Use more workers or prefetch more, or do less work per sample."
_PIN = ", pin_memory=True"
_WORKERS = "DataLoader(…, num_workers=4{})  # now 0"
_PREFETCH = "DataLoader(…, num_workers=8, prefetch_factor=4, persistent_workers=True{})"

REMEDIES = (
    Remedy(_GIVE, (IN_PROCESS, PAGEABLE), _WORKERS.format(_PIN)),
    Remedy(_GIVE, (IN_PROCESS,), _WORKERS.format("")),
    Remedy(_MORE, (IN_WORKERS, PAGEABLE), _PREFETCH.format(_PIN)),
    Remedy(_MORE, (IN_WORKERS,), _PREFETCH.format("")),
    Remedy("Make batches ahead of time in other processes, or do less work per sample.", ()),
)


def check(selection: Selection) -> Finding | None:
    """Fires when the DataLoader, with nothing of higher priority, takes over 5 % of the steps."""
    classic = selection.ratio(selection.breakdown.dataloader_ns)
    limit = selection.limits.loader_ratio
    if classic <= limit:
        return None
    seen = patterns(selection, "loading")
    frame = seen[0].pattern.frame if seen else ""
    waits = _waits(selection)
    total = sum(waits)
    gain = ceiling(
        selection,
        total,
        "time in which nothing but the DataLoader ran"
        if selection.device is None
        # The device could work in all of it, if batches were there in time.
        else "idle time of the device while a launching thread was in the DataLoader",
        *(
            ("idle_dataloader_ns",)
            if selection.device is not None
            else ("dataloader_ns", *(f"pattern {one.row}" for one in seen))
        ),
    )
    remedy = remedy_of(REMEDIES, selection)
    worst = max(range(selection.count), key=waits.__getitem__)
    return Finding(
        id="IN1",
        title=_title(selection),
        severity=severity_of(selection, gain, "low", shares=_shares(selection), limit=limit),
        confidence=0.95,
        text=sentences(
            _evidence(selection, waits),
            f"Most of it passes in `{short_frame(frame)}`." if frame else "",
            remedy.text,
        ),
        snippet=remedy.snippet,
        evidence=(
            Evidence("DataLoader", classic, "ratio", limit),
            Evidence("waiting for the DataLoader, per step", selection.mean(total), "ns"),
        ),
        gain=gain,
        scope=scope(selection),
        links=(*_worst_step(selection, worst), Reference("How to load in workers", url=_DOCS)),
        verify="Record again: DataLoader should fall below 5 % of the step.",
        events=events_of(selection, seen),
        action=remedy.text,
        frame=frame,
    )


def _shares(selection: Selection) -> list[float]:
    """The DataLoader's part of each step."""
    return [step.breakdown.dataloader_ns / max(step.dur_ns, 1) for step in selection.steps]


def _waits(selection: Selection) -> list[int]:
    """Per step: idle time under the DataLoader, or time in it where there is no device."""
    if selection.device is None:
        return [step.host.dataloader_ns if step.host else 0 for step in selection.steps]
    return [
        one.partition.idle_dataloader_ns if (one := selection.device_step(step)) else 0
        for step in selection.steps
    ]


def _title(selection: Selection) -> str:
    if IN_PROCESS.holds(selection):
        return "Input-bound: load batches in worker processes"
    if IN_WORKERS.holds(selection):
        return "Input-bound: the loader's workers do not keep up"
    return "Input-bound: batches are not there in time"


def _evidence(selection: Selection, waits: list[int]) -> str:
    mean = duration(selection.mean(sum(waits)))
    doing = "prepares the batch" if IN_PROCESS.holds(selection) else "waits for the next batch"
    steps = f" ({spread(waits)}, {selection.count}{NBSP}steps)" if selection.count > 1 else ""
    if selection.device is None:
        part = share(selection.ratio(sum(waits)))
        noun = step_noun(selection.facts)
        when = f"{mean} {per_step(selection)}{steps}, {part} of the {noun}"
        return f"For {when}, the main thread {doing}."
    where = the_device(selection)
    return f"{where} idles {mean} {per_step(selection)} while the launching thread {doing}{steps}."


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


RULE = Rule(
    "IN1",
    "Steps that wait for their batch",
    (TIME, WHOLE, HOST_RANGES),
    check,
    frozenset({"idle_dataloader_ns", "dataloader_ns"}),
    REMEDIES,
)
