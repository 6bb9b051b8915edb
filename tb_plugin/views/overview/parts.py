"""Which parts of a step can this recording tell, and why not the others?

A part that nothing in the file could be is not 0: it is not shown, and ``missing_parts`` says why.
"""

from __future__ import annotations

from typing import NamedTuple

from ...analysis.facts import IDLE_CAUSES, Facts, Partition
from ...analysis.recording import NO_PART_OF_OURS
from ...analysis.steps import Selection
from ...base.units import listing
from ...trace.model import is_of_other_recorder
from ..legend import BREAKDOWN, DEVICE_PARTS, HOST, PARTITION, RESTS, LegendEntry, named_for

_OF_KERNELS = ("compute_ns", "exposed_communication_ns", "kernel_ns")
_OF_COPIES = ("exposed_copy_ns", "memcpy_ns")
_OF_THE_HOST = ("dataloader_ns", "cpu_exec_ns")
_NO_OPS = "no op and no annotation was recorded: record with `activities=[ProfilerActivity.CPU, …]`"


class ToldParts(NamedTuple):
    """The parts of one division that are shown, and why each of the others is not."""

    shown: tuple[LegendEntry, ...]
    lacking: dict[str, str]  # label → the end of a sentence


def parts_of_step(selection: Selection) -> ToldParts:
    """The parts of the ruler: of the chosen device, or of the main thread."""
    facts = selection.facts
    if selection.partition is None:
        recorded = {
            "runtime_ns": facts.counts.get("runtime", 0),
            "python_ns": facts.counts.get("python", 0) + facts.counts.get("module", 0),
        }
        seen = {
            part.key for part in HOST for step in facts.steps if getattr(step.host, part.key, 0)
        }
        return _told(facts, tuple(one for one in HOST if recorded.get(one.key, 1)), seen)
    seen = {
        key
        for step in facts.steps
        if (one := selection.device_step(step))
        for key in Partition.__struct_fields__
        if getattr(one.partition, key)
    }
    # Of the causes of idle time those that occur in any step.
    some = tuple(part for part in PARTITION if part.key not in IDLE_CAUSES or part.key in seen)
    return _told(facts, some, seen)


def classic_parts(facts: Facts) -> ToldParts:
    """The classic categories. Without device activity those of a device are said to be missing."""
    seen = {
        part.key for part in BREAKDOWN for step in facts.steps if getattr(step.breakdown, part.key)
    }
    without = facts.device_type == "CPU"
    some = tuple(
        part for part in BREAKDOWN if part.key in seen or not (without and part in DEVICE_PARTS)
    )
    return _told(facts, some, seen)


def _told(facts: Facts, parts: tuple[LegendEntry, ...], seen: set[str]) -> ToldParts:
    """Those that took time, and those that could have."""
    lacking = {
        part.label: why for part in parts if part.key not in seen and (why := _why(facts, part.key))
    }
    shown = [part for part in parts if part.label not in lacking]
    return ToldParts(named_for(shown, facts.torch_era), lacking)


def _why(facts: Facts, key: str) -> str:
    """Why a part without any time is not known to be 0; "" where it is."""
    if key in RESTS or key in IDLE_CAUSES or not facts.steps:
        return ""
    if is_of_other_recorder(facts.torch_era):
        return NO_PART_OF_OURS
    for keys, kind in ((_OF_KERNELS, "kernels"), (_OF_COPIES, "copies")):
        if key in keys and kind in facts.unavailable:
            return facts.unavailable[kind].rstrip(".")
    if key in _OF_THE_HOST and not facts.counts.get("op", 0) + facts.counts.get("annotation", 0):
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
