"""The answer in one sentence: what holds the steps up, by the data, and how sure that is."""

from __future__ import annotations

from ..base.units import duration, plural, share
from .facts import HostPartition, Partition, StepFacts
from .findings import Sentence
from .selection import Selection
from .wording import fraction, of_step, step_noun, the_device

COMPUTE_BOUND_RATIO = 0.85  # kernels fill the step
MOSTLY_RATIO = 0.50  # … or they fill most of it
SMALL_RATIO = 0.10  # … and nothing else takes this much

# What can hold a device up: the field of Partition, and the sentence that says so.
_DEVICE_CAUSES = {
    "idle_dataloader_ns": "{device} waits for the DataLoader for {part}.",
    "idle_host_ns": "{device} waits for the host to launch work for {part}.",
    "idle_sync_ns": "{device} is idle under blocking calls of the host for {part}.",
    "idle_unattributed_ns": "{device} is idle without a recorded cause for {part}.",
    "exposed_communication_ns": "{device} waits for communication for {part}.",
    "exposed_copy_ns": "{device} only copies for {part}.",
}
_HOST_CAUSES = {
    "dataloader_ns": "The run waits for the DataLoader for {part}.",
    "communication_ns": "The run communicates for {part}.",
    "compile_ns": "Compilation takes {part}.",
    "uninstrumented_ns": "For {part} the main thread runs nothing that was recorded.",
}
_HOST_WORK = {
    "forward_ns": "forward",
    "backward_ns": "backward",
    "optimizer_ns": "the optimizer",
    "python_ns": "Python",
}


def headline(selection: Selection) -> Sentence:
    """What is so, with a number; then why; then how many steps agree."""
    if not selection.total_ns:
        return Sentence(
            "Nothing was recorded that takes time.",
            "The file holds no op, no kernel and no annotation: "
            "did the code run inside `with profile(…)`?",
        )
    if selection.partition is not None:
        return _device_sentence(selection, selection.partition)
    return _host_sentence(selection, selection.host or HostPartition())


def _device_sentence(selection: Selection, total: Partition) -> Sentence:
    parts = device_causes(total)
    cause = max(parts, key=lambda key: parts[key])
    compute = selection.ratio(total.compute_ns)
    noun = step_noun(selection.facts)
    if _compute_bound(compute, selection.ratio(parts[cause])):
        said = f"The {noun} is compute-bound: {share(compute)} of it runs kernels."
        detail = _device_detail(selection, total) + _rest(selection, cause, parts[cause])
        return Sentence(said, detail, _agreement(selection, "compute_ns"))
    part = _part(selection, cause, parts[cause])
    said = _DEVICE_CAUSES[cause].format(device=the_device(selection), part=part)
    detail = _device_detail(selection, total) + _why(selection, cause, parts[cause])
    return Sentence(said, detail, _agreement(selection, cause))


def device_causes(part: Partition) -> dict[str, int]:
    """What can hold a device up, in ns. Launch calls and all other host work are one cause."""
    return {
        "idle_dataloader_ns": part.idle_dataloader_ns,
        "idle_host_ns": part.idle_cpu_exec_ns + part.idle_runtime_ns,
        "idle_sync_ns": part.idle_sync_ns,
        "idle_unattributed_ns": part.idle_unattributed_ns,
        "exposed_communication_ns": part.exposed_communication_ns,
        "exposed_copy_ns": part.exposed_copy_ns,
    }


def _part(selection: Selection, cause: str, ns: int) -> str:
    """``a third of every step``."""
    return f"{fraction(selection.ratio(ns))} {of_step(selection, _agreeing(selection, cause))}"


def _compute_bound(compute: float, largest_other: float) -> bool:
    most = compute >= MOSTLY_RATIO and largest_other < SMALL_RATIO
    return most or compute >= COMPUTE_BOUND_RATIO


def _device_detail(selection: Selection, total: Partition) -> str:
    busy = selection.total_ns - total.idle_ns
    idle = f", idle for {duration(selection.mean(total.idle_ns))}" if total.idle_ns else ""
    part = f" ({share(selection.ratio(total.idle_ns))})" if total.idle_ns else ""
    return (
        f"Of {_mean_step(selection)} it is busy for {duration(selection.mean(busy))}{idle}{part}."
    )


def _mean_step(selection: Selection) -> str:
    length = duration(selection.mean(selection.total_ns))
    if selection.facts.step_source == "whole_trace":
        return f"{length} of recording"
    return f"a mean step of {length}" if selection.count > 1 else f"a step of {length}"


def _why(selection: Selection, cause: str, ns: int) -> str:
    mean = duration(selection.mean(ns))
    loader = selection.facts.traits.dataloader_class
    match cause:
        case "idle_dataloader_ns":
            what = f"`{loader}.__next__`" if loader else "the DataLoader"
            why = f"{what} runs on a thread that launches kernels"
            return f" For {mean} nothing is queued because {why}."
        case "idle_host_ns":
            return f" For {mean} nothing is queued: the host still runs ops and launch calls."
        case "idle_sync_ns":
            return (
                f" For {mean} it idles while a launching thread sits in a call that waits for it."
            )
        case "exposed_communication_ns":
            return f" For {mean} collectives run and nothing computes."
        case "exposed_copy_ns":
            return f" For {mean} copies run and nothing computes."
        case _:
            return f" For {mean} no launching thread recorded any activity."


def _rest(selection: Selection, cause: str, ns: int) -> str:
    if not ns:
        return ""
    names = {
        "idle_dataloader_ns": "idle time under the DataLoader",
        "idle_host_ns": "idle time in which the host prepares launches",
        "idle_sync_ns": "idle time under blocking calls",
        "idle_unattributed_ns": "idle time without a recorded cause",
        "exposed_communication_ns": "communication that nothing covers",
        "exposed_copy_ns": "copies that nothing covers",
    }
    return f" The largest other part is {names[cause]}, {share(selection.ratio(ns))}."


def _host_sentence(selection: Selection, total: HostPartition) -> Sentence:
    waits = {key: getattr(total, key) for key in _HOST_CAUSES}
    work = {key: getattr(total, key) for key in _HOST_WORK}
    cause, largest = max(waits, key=waits.__getitem__), max(work, key=work.__getitem__)
    detail = _host_detail(selection, total)
    if waits[cause] > work[largest]:
        part = _part(selection, cause, waits[cause])
        said = _HOST_CAUSES[cause].format(part=part)
        return Sentence(said, detail, _agreement(selection, cause))
    noun = step_noun(selection.facts)
    part = fraction(selection.ratio(work[largest]))
    said = f"The {noun} runs on the host; {_HOST_WORK[largest]} takes {part} of it."
    return Sentence(said, detail, _agreement(selection, largest))


def _host_detail(selection: Selection, total: HostPartition) -> str:
    named = {**_HOST_WORK, "dataloader_ns": "the DataLoader", "communication_ns": "communication"}
    parts = sorted(((getattr(total, key), text) for key, text in named.items()), reverse=True)
    said = [f"{text} {duration(selection.mean(ns))}" for ns, text in parts[:3] if ns]
    known = f": {', '.join(said)}" if said else ""
    return f"Of {_mean_step(selection)}{known}. No device activity was recorded."


def _agreement(selection: Selection, cause: str) -> str:
    if selection.count < 2:
        return ""
    return f"{_agreeing(selection, cause)} of {plural(selection.count, 'step')} agree"


def _agreeing(selection: Selection, cause: str) -> int:
    """How many of the steps would name the same cause."""
    return sum(_leading(selection, step) == cause for step in selection.steps)


def _leading(selection: Selection, step: StepFacts) -> str:
    """The cause that one step alone would name."""
    length = max(step.dur_ns, 1)
    one = selection.device_step(step)
    if one is not None:
        parts = device_causes(one.partition)
        cause = max(parts, key=lambda key: parts[key])
        bound = _compute_bound(one.partition.compute_ns / length, parts[cause] / length)
        return "compute_ns" if bound else cause
    host = step.host or HostPartition()
    keys = (*_HOST_CAUSES, *_HOST_WORK)
    return max(keys, key=lambda key: getattr(host, key))
