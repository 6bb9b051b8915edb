"""What fills the peak of a device, and what would lower it most, in words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...analysis.facts import Facts
from ...analysis.memory.artifact import NO_ADDRESSES, NO_TOTALS, NO_TOTALS_OF_FILES
from ...analysis.memory.events import SHARED
from ...analysis.memory.model import Category, MemoryColumns, MemoryDevice
from ...analysis.memory.peak import alive, most_reserved, peaks
from ...base.units import duration, share, size, times
from . import contract as answers
from .rows import NAMES, path_name

_VERBS: Mapping[Category, str] = MappingProxyType(
    {
        Category.PARAMETER: "Parameters, and what else was there before the recording, fill",
        Category.OPTIMIZER: "Optimizer state fills",
        Category.INPUT: "Inputs fill",
        Category.COMMUNICATION: "Communication buffers fill",
        Category.UNKNOWN: "Blocks of unknown use fill",
        Category.GRADIENT: "Gradients fill",
        Category.AUTOGRAD: "Gradients of activations fill",
        Category.ACTIVATION: "Activations fill",
        Category.TEMPORARY: "Temporaries of single ops fill",
    }
)


def words(
    columns: MemoryColumns,
    device: MemoryDevice,
    peak: answers.MemoryPeak,
    without: tuple[answers.WithoutCategory, ...],
    facts: Facts,
) -> tuple[str, str]:
    """What fills the peak, and what would lower it most."""
    where = f" in {peak.step}" if peak.step else ""
    if not device.has_totals:
        return (
            f"Allocated memory rises by up to {size(peak.bytes)} above where the recording began.",
            no_totals(device),
        )
    if not peak.categories:
        return (
            f"The peak of {size(peak.bytes)} is reached{where} at {duration(peak.ts)}.",
            NO_ADDRESSES,
        )
    by_name = {name: category for category, name in NAMES.items()}
    first = peak.categories[0]
    headline = (
        f"{_VERBS[by_name[first.category]]} {share(first.ratio)} of the peak of"
        f" {size(peak.bytes)}{where}."
    )
    for one in without:
        category = by_name[one.category]
        remedy = _remedy(columns, device, category, facts)
        if remedy:
            return headline, (
                f"Without {_ANY[category]} the peak would be {size(one.peak_bytes)}:"
                f" {remedy} can lower it by up to {size(one.gain_bytes)}."
            )
    if not without:
        return headline, "No category alone would lower it: the total is as high elsewhere."
    return headline, ""


def _remedy(columns: MemoryColumns, device: MemoryDevice, category: Category, facts: Facts) -> str:
    """What lowers a category, as far as this recording allows it; "" for nothing."""
    has_ranks = (facts.world_size or 1) > 1
    if category == Category.TEMPORARY:
        return _smaller_temporary(columns, device)
    cache = f"a smaller cache of {facts.traits.serving}, or " if facts.traits.serving else ""
    shard = " or sharding over ranks" if has_ranks else ""
    return {
        Category.PARAMETER: f"{cache}a smaller type for parameters{shard}",
        Category.OPTIMIZER: f"optimizer states in 8 bits{shard}",
        Category.GRADIENT: f"applying each gradient as soon as it is there{shard}",
        Category.ACTIVATION: f"activation checkpointing or {_SMALLER}"
        if columns.trains
        else _SMALLER,
        Category.COMMUNICATION: "smaller buckets or fewer unsharded parameters at a time",
        Category.INPUT: _SMALLER,
        Category.AUTOGRAD: _SMALLER,
    }.get(category, "")


def no_totals(device: MemoryDevice) -> str:
    """Why the curve of a device is a change, and how to record totals."""
    return NO_TOTALS_OF_FILES if device.key == SHARED else NO_TOTALS


def _smaller_temporary(columns: MemoryColumns, device: MemoryDevice) -> str:
    groups = alive(columns, device, peaks(columns, device).first)
    largest = next((one for one in groups if one.category == Category.TEMPORARY), None)
    if largest is None:
        return ""
    op, held = path_name(columns, largest.path), size(largest.total_bytes)
    return f"smaller inputs, or a smaller workspace, of `{op}` ({held} at once)"


_SMALLER = "smaller batches"
_ANY: Mapping[Category, str] = MappingProxyType(
    {
        Category.PARAMETER: "what was there before the recording",
        Category.OPTIMIZER: "optimizer state",
        Category.INPUT: "inputs",
        Category.COMMUNICATION: "communication buffers",
        Category.GRADIENT: "gradients",
        Category.AUTOGRAD: "gradients of activations",
        Category.ACTIVATION: "activations",
        Category.TEMPORARY: "temporaries",
    }
)


# --- head-room ------------------------------------------------------------------------------------

KEPT_FREE = 0.05  # of the device: what an allocator cannot use, and other processes take
_LEAST_SHARE = 0.1
_OF_BATCH = frozenset(
    NAMES[one]
    for one in (Category.ACTIVATION, Category.AUTOGRAD, Category.INPUT, Category.TEMPORARY)
)
"""What is taken to grow in proportion to the batch."""


def head_room(
    columns: MemoryColumns, device: MemoryDevice, peak: answers.MemoryPeak
) -> answers.HeadRoom | None:
    """What is left of the device at the highest reserved total; None where its size is unknown."""
    if device.capacity_bytes is None or not device.has_reserved:
        return None
    reserved = most_reserved(columns, device)
    free = max(device.capacity_bytes - reserved, 0)
    unused = share((reserved - peak.bytes) / reserved) if reserved else ""
    said = (
        f"{size(reserved)} of {size(device.capacity_bytes)} are reserved at most;"
        f" {size(free)} are left. {unused} of what is reserved is never in use at once."
    )
    larger = larger_batch(device.capacity_bytes, reserved, peak)
    return answers.HeadRoom(
        capacity_bytes=device.capacity_bytes,
        reserved_bytes=reserved,
        free_bytes=free,
        ratio=reserved / device.capacity_bytes,
        sentence=said if larger is None else f"{said} {larger}",
    )


def larger_batch(capacity: int, reserved: int, peak: answers.MemoryPeak) -> str | None:
    """How much larger a batch may be, where the part of it in the peak is known.

    (capacity · 0.95 − what is fixed) / what grows with the batch, which is activations, their
    gradients, inputs and temporaries at the peak. None where activations are guessed, or are few,
    or where nothing is left.
    """
    sure = {one.category for one in peak.categories if one.confidence != "low"}
    grows = sum(one.bytes for one in peak.categories if one.category in _OF_BATCH & sure)
    activation = NAMES[Category.ACTIVATION]
    if activation not in sure or grows < _LEAST_SHARE * peak.bytes:
        return None
    fixed = max(reserved, peak.bytes) - grows
    factor = (capacity * (1 - KEPT_FREE) - fixed) / grows
    if factor <= 1:
        return None
    return (
        f"A batch up to about {times(factor)} as large would fit, if the {size(grows)} of"
        " activations, inputs and temporaries at the peak grow in proportion and the rest stays;"
        f" {share(KEPT_FREE)} of the device is left free."
    )
