"""Contents of a device's peak, and the best way to lower it, in words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...analysis.facts import Facts
from ...analysis.memory.artifact import NO_ADDRESSES, NO_TOTALS, NO_TOTALS_OF_FILES
from ...analysis.memory.events import SHARED
from ...analysis.memory.growth import AllocationSite
from ...analysis.memory.model import Category, MemoryColumns, MemoryDevice
from ...analysis.memory.peak import AliveGroup, most_reserved
from ...base.regex import regex
from ...base.units import duration, share, size, times
from . import contract as answers
from .rows import NAMES, Chosen, path_name

_VERBS: Mapping[Category, str] = MappingProxyType(
    {
        Category.PARAMETER: "Memory kept from before the recording fills",
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
    chosen: Chosen,
    peak: answers.MemoryPeak,
    groups: tuple[AliveGroup, ...],
    without: tuple[answers.WithoutCategory, ...],
    facts: Facts,
) -> tuple[str, str]:
    """Sentences on the contents of the peak and its best remedy; ``groups`` are the contents."""
    columns, device = chosen.columns, chosen.device
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
    verb = "Parameters fill" if columns.told_base else _VERBS[Category.PARAMETER]
    verbs = {**_VERBS, Category.PARAMETER: verb}
    headline = (
        f"{verbs[by_name[first.category]]} {share(first.ratio)} of the peak of"
        f" {size(peak.bytes)}{where}."
    )
    found = [
        (min(one.gain_bytes, most), remedy)
        for one in without
        for remedy, most in [_remedy(columns, groups, by_name[one.category], facts)]
        if remedy
    ]
    if found:
        gain, remedy = max(found, key=lambda one: one[0])
        return headline, (
            f"{remedy[0].upper()}{remedy[1:]} can lower the peak by up to {size(gain)}."
        )
    if not without:
        return headline, "No category alone would lower it: the total is as high elsewhere."
    return headline, ""


def leak_words(
    columns: MemoryColumns, growth: answers.GrowthAnswer, sites: tuple[AllocationSite, ...]
) -> str:
    """The sentence on a leak, with the function that allocates most of what stays."""
    said = f"Memory grows by {size(growth.bytes_per_step)} a step"
    code = int(columns.blocks.frame[sites[0].block]) if sites else -1
    found = _FRAME.fullmatch(columns.strings[code]) if code >= 0 else None
    if found is None:
        return f"{said}, at the end of {growth.rising} of {growth.steps - 1} steps."
    file, line, function = found.groups()
    return f"{said}: blocks allocated in `{function}` ({file}:{line}) stay."


_FRAME = regex(r"(?:.*[\\/])?([^\\/]+)\((\d+)\): (.+)")
"""A Python frame: file without its folders, line, function."""


def _remedy(
    columns: MemoryColumns, groups: tuple[AliveGroup, ...], category: Category, facts: Facts
) -> tuple[str, int]:
    """The remedy for a category that this recording supports, and its greatest gain.

    "" for nothing. ``groups`` is what the peak consists of, the largest first.
    """
    ranks = facts.world_size or 1
    mine = [one for one in groups if one.category == category]
    held = sum(one.total_bytes for one in mine)
    if category == Category.TEMPORARY:
        return _smaller_temporary(columns, mine)
    of_shards = held - held // ranks
    shard = " or sharding over ranks" if ranks > 1 else ""
    if category == Category.PARAMETER and facts.traits.serving:
        return f"a smaller cache of {facts.traits.serving}", held
    fewer_bits = {Category.PARAMETER: held // 2, Category.OPTIMIZER: held - held // 4}
    one_by_one = held - max((one.bytes for one in mine), default=0)
    checkpoints = f"activation checkpointing or {_SMALLER}" if columns.trains else _SMALLER
    return {
        Category.PARAMETER: (
            f"a type of half the size for parameters{shard}",
            max(fewer_bits[Category.PARAMETER], of_shards),
        ),
        Category.OPTIMIZER: (
            f"optimizer states in 8 bits{shard}",
            max(fewer_bits[Category.OPTIMIZER], of_shards),
        ),
        Category.GRADIENT: (
            f"applying each gradient as soon as it is there{shard}",
            max(one_by_one, of_shards),
        ),
        Category.ACTIVATION: (checkpoints, held),
        Category.COMMUNICATION: (
            "smaller buckets or fewer unsharded parameters at a time",
            one_by_one,
        ),
        Category.INPUT: (_SMALLER, held),
        Category.AUTOGRAD: (_SMALLER, held),
    }.get(category, ("", 0))


def no_totals(device: MemoryDevice) -> str:
    """Why the curve of a device is a change, and how to record totals."""
    return NO_TOTALS_OF_FILES if device.key == SHARED else NO_TOTALS


def _smaller_temporary(columns: MemoryColumns, groups: list[AliveGroup]) -> tuple[str, int]:
    """Name and bytes of the op that holds most at once."""
    if not groups:
        return "", 0
    op = path_name(columns, groups[0].path)
    return f"smaller inputs, or a smaller workspace, of `{op}`", groups[0].total_bytes


_SMALLER = "smaller batches"


# --- head-room ------------------------------------------------------------------------------------

KEPT_FREE = 0.05  # of the device: what an allocator cannot use, and other processes take
_LEAST_SHARE = 0.1
_OF_BATCH = frozenset(
    NAMES[one]
    for one in (Category.ACTIVATION, Category.AUTOGRAD, Category.INPUT, Category.TEMPORARY)
)
"""Categories that are assumed to grow in proportion to the batch."""


def head_room(chosen: Chosen, peak: answers.MemoryPeak) -> answers.HeadRoom | None:
    """Free part of the device at the highest reserved total; None if its size is unknown."""
    device = chosen.device
    if device.capacity_bytes is None or not device.has_reserved:
        return None
    reserved = most_reserved(chosen.columns, device, chosen.span)
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
    """Factor for a larger batch, if the batch's part of the peak is known.

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
