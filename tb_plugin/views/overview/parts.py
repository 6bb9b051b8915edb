"""Which parts of a step can this recording tell, and why not the others?

A part that nothing in the file could be is not 0: it is not shown, and ``missing_parts`` says why.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from msgspec import Struct, structs

from ...analysis.facts import (
    IDLE_CAUSES,
    Breakdown,
    DeviceStep,
    Facts,
    HostPartition,
    Partition,
    StepFacts,
    total_of,
)
from ...analysis.recording import NO_PART_OF_OURS
from ...analysis.steps import Selection
from ...base.units import listing
from ...trace.model import is_of_other_recorder
from ...trace.recipes import LEGACY
from ..legend import (
    BREAKDOWN,
    COPY,
    DEVICE_PARTS,
    HOST,
    PARTITION,
    RESTS,
    UNTOLD,
    LegendEntry,
    named_for,
)

_OF_KERNELS = ("compute_ns", "exposed_communication_ns", "kernel_ns", "overlap_ns")
_OF_COPIES = ("exposed_copy_ns", "memcpy_ns")
_OF_THE_HOST = ("dataloader_ns", "cpu_exec_ns")
_SINCE_1_8 = ("dataloader_ns", "optimizer_ns", "idle_dataloader_ns", "idle_optimizer_ns")
_NO_RANGES = "torch 1.7 and earlier write no range of it, and the file does not tell its version"
_OF_A_DEVICE = tuple(part.key for part in DEVICE_PARTS)
# Tables of the trace without a row in which a part can only be told from them.
_FROM_PYTHON = ("python_ns", "idle_python_ns")
_FROM_CALLS = ("runtime_ns", "idle_launch_ns", "idle_first_launch_ns", "idle_allocator_ns")
_FROM_OPS = ("idle_dataloader_ns", "idle_compile_ns", "idle_optimizer_ns", "idle_dispatch_ns")
_NO_OPS = "no op and no annotation was recorded: record with `activities=[ProfilerActivity.CPU, …]`"


class ToldParts(NamedTuple):
    """The parts of one division that are shown, and why each of the others is not."""

    shown: tuple[LegendEntry, ...]
    lacking: dict[str, str]  # label → the end of a sentence


def parts_of_step(selection: Selection) -> ToldParts:
    """The parts of the ruler: of the chosen device, or of the main thread."""
    facts = selection.facts
    if selection.partition is None:
        seen = _seen([step.host for step in facts.steps])
        return _told(facts, tuple(one for one in HOST if _is_recorded(facts, one.key)), seen)
    seen = _seen([_partition(selection.device_step(step)) for step in facts.steps])
    if why := facts.unavailable.get("kernels"):
        busy = [part for part in PARTITION if part.key not in IDLE_CAUSES]
        named = [COPY if part.key == COPY.key else part for part in busy]
        told = _told(facts, (*named, UNTOLD), seen)
        return ToldParts(told.shown, {**told.lacking, "Idle time": why.rstrip(".")})
    # Of the causes of idle time those that occur in any step.
    some = tuple(part for part in PARTITION if part.key not in IDLE_CAUSES or part.key in seen)
    return _told(facts, some, seen)


def part_ns(division: Struct, key: str) -> int:
    """A part of a division, or its rest if a device's kernels are not known."""
    ns: int = getattr(division, "idle_ns" if key == UNTOLD.key else key)
    return ns


def classic_parts(facts: Facts) -> ToldParts:
    """The classic categories. Without device activity those of a device are missing."""
    seen = _seen([step.breakdown for step in facts.steps])
    without = facts.device_type == "CPU"
    some = tuple(
        part for part in BREAKDOWN if part.key in seen or not (without and part in DEVICE_PARTS)
    )
    return _told(facts, some, seen)


def _told(facts: Facts, parts: tuple[LegendEntry, ...], seen: set[str]) -> ToldParts:
    """Those that took time, and those that could have."""
    why = {part.key: "" if part.key in seen else _why(facts, part.key) for part in parts}
    shown = [part for part in parts if not why[part.key]]
    # The same thing, seen from the main thread and anywhere, is missing once.
    lacking = {
        part.label.removesuffix(" anywhere"): why[part.key] for part in parts if why[part.key]
    }
    return ToldParts(named_for(shown, facts), lacking)


def classic_of(selection: Selection, step: StepFacts) -> Breakdown:
    """The classic categories of a step without start-up, which is time in calls of the runtime."""
    start_up = step.end_ns - step.start_ns - selection.length_ns(step)
    runtime = step.breakdown.runtime_ns
    return structs.replace(step.breakdown, runtime_ns=runtime - min(start_up, runtime))


def classic_total(selection: Selection) -> Breakdown:
    """The classic categories of the chosen steps, added."""
    return total_of([classic_of(selection, step) for step in selection.steps], Breakdown())


class StepParts(NamedTuple):
    """A step in the parts of each division: key → ns; None is not known, and no 0."""

    breakdown: dict[str, int | None]
    partition: dict[str, int | None] | None
    host: dict[str, int | None] | None


def parts_of_steps(selection: Selection) -> tuple[StepParts, ...]:
    """Every step of the recording in its parts, as the chosen device and the host saw it."""
    facts = selection.facts
    devices = [_partition(selection.device_step(step)) for step in facts.steps]
    breakdowns = [classic_of(selection, step) for step in facts.steps]
    hosts = [step.host for step in facts.steps]
    of_category = _unknown(facts, Breakdown, _seen(breakdowns))
    of_device = _unknown(facts, Partition, _seen(devices))
    of_host = _unknown(facts, HostPartition, _seen(hosts))
    rest = (UNTOLD.key,) if "kernels" in facts.unavailable else ()
    return tuple(
        StepParts(
            _values(category, of_category),
            _values(device, of_device, *rest) if device is not None else None,
            _values(host, of_host) if host is not None else None,
        )
        for category, device, host in zip(breakdowns, devices, hosts, strict=True)
    )


def is_overlap_known(selection: Selection) -> bool:
    """True if the time of overlapped communication is known, also if it is zero."""
    division = HostPartition if selection.partition is None else Partition
    return "overlap_ns" not in _unknown(selection.facts, division, set())


def _partition(step: DeviceStep | None) -> Partition | None:
    return step.partition if step is not None else None


def _seen(divisions: Collection[Struct | None]) -> set[str]:
    """The parts that took time in any step."""
    return {
        key
        for one in divisions
        if one is not None
        for key in one.__struct_fields__
        if getattr(one, key)
    }


def _unknown(facts: Facts, division: type[Struct], seen: set[str]) -> set[str]:
    """The parts of a division that no event of the file could be."""
    without = division is Breakdown and facts.device_type == "CPU"
    if division is Partition and "kernels" in facts.unavailable:
        seen = seen - {"idle_ns", *IDLE_CAUSES}
    return {
        key
        for key in division.__struct_fields__
        if key not in seen
        and (
            not _is_recorded(facts, key)
            or (without and key in _OF_A_DEVICE)
            or (key.startswith("idle_") and "kernels" in facts.unavailable)
            or bool(_why(facts, key))
        )
    }


def _values(parts: Struct, unknown: set[str], *more: str) -> dict[str, int | None]:
    keys = (*parts.__struct_fields__, *more)
    return {key: None if key in unknown else part_ns(parts, key) for key in keys}


def _is_recorded(facts: Facts, key: str) -> bool:
    """True if the file has the events of this part."""
    if key in _FROM_PYTHON:
        return _count(facts, "python", "module") > 0
    if key in _FROM_CALLS:
        return _count(facts, "runtime") > 0
    return key not in _FROM_OPS or _count(facts, "op", "annotation") > 0


def _count(facts: Facts, *tables: str) -> int:
    return sum(facts.counts.get(table, 0) for table in tables)


def _why(facts: Facts, key: str) -> str:
    """Why a part without any time is not known to be 0; "" where it is."""
    if key in RESTS or (key in IDLE_CAUSES and key not in _SINCE_1_8) or not facts.steps:
        return ""
    if is_of_other_recorder(facts.torch_era):
        return NO_PART_OF_OURS
    for keys, kind in ((_OF_KERNELS, "kernels"), (_OF_COPIES, "copies")):
        if key in keys and kind in facts.unavailable:
            return facts.unavailable[kind].rstrip(".")
    if key in _SINCE_1_8 and facts.torch_era == LEGACY:
        return _NO_RANGES
    if key in _OF_THE_HOST and not _count(facts, "op", "annotation"):
        return _NO_OPS
    return ""


def missing_parts(*divisions: ToldParts) -> str:
    """Which parts are not available, and why: a sentence per reason; "" where none is missing.

    >>> missing_parts(ToldParts((), {"DataLoader": "no op was recorded"}))
    'DataLoader is not available, because no op was recorded.'
    """
    by_reason: dict[str, list[str]] = {}
    for one in divisions:
        for label, why in one.lacking.items():
            labels = by_reason.setdefault(why, [])
            if label not in labels:
                labels.append(label)
    return " ".join(
        f"{listing(labels)} {'are' if len(labels) > 1 else 'is'} not available, because"
        f" {why[:1].lower()}{why[1:]}."
        for why, labels in by_reason.items()
    )
