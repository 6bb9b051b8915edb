"""Memory: what fills it, when is it fullest, and does it grow?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from ...analysis.facts import Facts
from ...analysis.memory.artifact import MEMORY, NO_ADDRESSES
from ...analysis.memory.categories import RULES
from ...analysis.memory.curve import (
    LayerKeys,
    by_category,
    by_code,
    curve,
    highest,
    layers_at,
    owner_layers,
)
from ...analysis.memory.events import TYPE_NAMES
from ...analysis.memory.growth import leaking_sites, steps_of
from ...analysis.memory.model import NONE, Category, FailedAllocation, MemoryColumns, MemoryDevice
from ...analysis.memory.peak import AliveGroup, alive, most_reserved, peaks, total_after
from ...analysis.memory.snapshots.free import free_memory, free_pieces
from ...analysis.modules.artifact import MODULES
from ...analysis.modules.model import ModuleColumns
from ...analysis.timeline.tracks import HOST
from ...base.group_sums import group_sums
from ...base.units import duration, plural, size
from ..table import Table, heads, table_from
from ..view import Part, Subject, View
from . import contract as answers
from .compare import comparison
from .rows import NAMES, Chosen, MemoryEventRow, StatisticsRow, label_of
from .steps import churn_answer, counted_steps, growth_answer, steps_memory
from .tiles import address_map, map_tiles
from .windows import (
    alive_tree,
    block_details,
    chosen_of,
    event_window,
    main_rule,
    statistics_window,
    step_name,
)
from .words import head_room, leak_words, no_totals, words

MOST_LAYERS = 8
_MODULE = "nn.Module: "  # as Kineto names a module
OUTSIDE = "(outside of ops)"
NO_STACK = "(without a stack)"
NO_CAPACITY = "The file does not tell the memory of this device (`deviceProperties`)."
NO_CAPACITY_HERE = (
    "A memory snapshot does not tell the memory of the device. `kinetoscope snapshot FILE"
    " --capacity 80GiB` takes it from you."
)
NO_RESERVED = "No reserved total was recorded: this allocator keeps no memory in reserve."
NOT_COUNTED = (
    "These totals do not include host memory allocated before the recording: torch counts it from"
    " the first event it reports."
)


def build(subject: Subject, query: answers.MemoryQuery) -> answers.Memory:
    """The memory of a device over a range. Raises QueryError."""
    columns: MemoryColumns = subject.artifact("")
    chosen = chosen_of(subject, query.device, query.steps, query.start_ns, query.end_ns)
    device = chosen.device
    figures = columns.computed.get(device.key, {})
    if (figures.get("start_ns"), figures.get("end_ns")) != (chosen.start, chosen.end):
        figures = columns.computed[device.key] = _of_range(subject.facts, chosen)
    outside = _outside(chosen, figures["peak"])
    of_range = answers.StatisticsQuery(
        device.key, "", chosen.start, chosen.end, query.search, limit=query.limit
    )
    blocks = answers.MemoryEventQuery(
        device.key, "", chosen.start, chosen.end, query.search, limit=query.limit
    )
    figures = {**figures, "detail": f"{figures['detail']} {outside}".strip()}
    return answers.Memory(
        curve=_curve(chosen, query, _modules_above(subject, query)),
        statistics=statistics_window(subject, of_range),
        events=event_window(subject, blocks),
        **figures,
    )


def _outside(chosen: Chosen, peak: answers.MemoryPeak) -> str:
    """Where the recording has a higher total than the steps; "" where it was not to be counted."""
    columns, device = chosen.columns, chosen.device
    highest = peaks(columns, device).first
    total = total_after(columns, device, highest)
    if not chosen.tells_outside or total <= peak.bytes:
        return ""
    ts = int(columns.events.ts[device.first + highest]) if highest >= 0 else 0
    return f"Outside these steps, at {duration(ts)}, the total reaches {size(total)}."


def _of_range(facts: Facts, chosen: Chosen) -> dict[str, Any]:
    """The fields of the answer but its curve and its tables."""
    columns, device = chosen.columns, chosen.device
    found = peaks(columns, device, chosen.span)
    peak, groups = _peak(chosen, found.first)
    steps = steps_of(columns, device)
    counted = counted_steps(facts, columns)
    without = _without(chosen, peak)
    growth = growth_answer(steps, counted, columns)
    headline, detail = words(chosen, peak, groups, without, facts)
    if growth.verdict == "leak":
        sites = leaking_sites(columns, device, counted, 1)
        headline, detail = leak_words(columns, growth, sites), f"{headline} {detail}".strip()
    failure = next((one for one in columns.failures if one.device == device.key), None)
    if failure is not None:
        headline, detail = failure.headline, f"{failure.sentence} {headline}"
    return {
        "start_ns": chosen.start,
        "end_ns": chosen.end,
        "headline": headline,
        "detail": detail,
        "device": device.key,
        "devices_columns": heads(answers.MemoryDeviceRow),
        "devices": tuple(_device_row(replace(chosen, device=one)) for one in columns.devices),
        "recording_end_ns": columns.end_ns,
        "steps": _marks(columns),
        "peak": peak,
        "second": _peak(chosen, found.second)[0] if found.second >= 0 else None,
        "without_columns": heads(answers.WithoutCategory),
        "without": without,
        "head_room": head_room(chosen, peak),
        "growth": growth,
        "churn": churn_answer(columns, steps, counted, peak.bytes if device.has_totals else 0),
        "categories": {NAMES[one]: label_of(columns, one) for one in Category},
        "rules": _rules(columns, device),
        "failure": None if failure is None else _failure(failure),
        "is_snapshot": columns.is_snapshot,
        "missing": dict(columns.missing),
    }


def _failure(failed: FailedAllocation) -> answers.MemoryFailure:
    return answers.MemoryFailure(
        ts=failed.ts,
        requested_bytes=failed.requested_bytes,
        sentence=failed.sentence,
        failures=failed.failures,
        holders=tuple(answers.HolderOfMemory(*one) for one in failed.holders),
    )


def _marks(columns: MemoryColumns) -> tuple[answers.StepMark, ...]:
    steps = columns.steps
    if not steps.marked:
        return ()
    rows = zip(
        steps.name.tolist(), steps.number.tolist(), steps.start.tolist(), steps.end.tolist(),
        strict=True,
    )  # fmt: skip
    return tuple(
        answers.StepMark(columns.strings[name], number, start, end)
        for name, number, start, end in rows
    )


def _device_row(chosen: Chosen) -> answers.MemoryDeviceRow:
    columns, device, mine = chosen.columns, chosen.device, chosen.device.events
    missing = {}
    if not device.has_totals:
        missing["totals"] = no_totals(device)
    if not device.has_reserved:
        missing["reserved"] = NO_RESERVED if device.has_totals else no_totals(device)
    if device.capacity_bytes is None and device.kind != HOST:
        missing["capacity"] = NO_CAPACITY_HERE if columns.is_snapshot else NO_CAPACITY
    if not device.has_addresses:
        missing["blocks"] = NO_ADDRESSES
    if device.kind == HOST and device.has_totals and not columns.is_snapshot:
        missing["before"] = NOT_COUNTED
    span = chosen.span
    highest = total_after(columns, device, peaks(columns, device, span).first)
    return answers.MemoryDeviceRow(
        key=device.key,
        label=device.label,
        type=TYPE_NAMES.get(device.kind, f"type{device.kind}"),
        events=mine.stop - mine.start,
        capacity_bytes=device.capacity_bytes,
        peak_bytes=highest if device.has_totals else None,
        peak_reserved_bytes=most_reserved(columns, device, span) if device.has_reserved else None,
        has_blocks=device.has_addresses,
        missing=missing,
    )


# --- the peak -------------------------------------------------------------------------------------


def _peak(chosen: Chosen, row: int) -> tuple[answers.MemoryPeak, tuple[AliveGroup, ...]]:
    """The total after an event, counted from the device's first one, and its contents.

    −1 is before it. What a range begins with is a total of its start.
    """
    columns, device = chosen.columns, chosen.device
    groups = alive(columns, device, row) if device.has_addresses else ()
    event = device.first + max(row, 0)
    ts = max(int(columns.events.ts[event]) if row >= 0 else 0, chosen.start)
    peak = answers.MemoryPeak(
        ts=ts,
        bytes=total_after(columns, device, row),
        reserved_bytes=int(columns.events.reserved[event])
        if device.has_reserved and row >= 0
        else None,
        step=step_name(columns, ts) if row >= 0 else "",
        categories=_shares(columns, groups),
    )
    return peak, groups


def _shares(
    columns: MemoryColumns, groups: tuple[AliveGroup, ...]
) -> tuple[answers.CategoryShare, ...]:
    total = sum(one.total_bytes for one in groups)
    found = []
    for category in Category:
        mine = [one for one in groups if one.category == category]
        if mine:
            held = sum(one.total_bytes for one in mine)
            rule = RULES[main_rule(mine)]
            found.append(
                answers.CategoryShare(
                    NAMES[category],
                    label_of(columns, category),
                    held,
                    held / total if total else 0.0,
                    rule.confidence,
                    rule.why,
                )
            )
    return tuple(sorted(found, key=lambda one: -one.bytes))


def _rules(columns: MemoryColumns, device: MemoryDevice) -> tuple[answers.AppliedRule, ...]:
    blocks, mine = columns.blocks, device.blocks
    found = group_sums(blocks.rule[mine].astype(np.int32), blocks.bytes[mine], len(RULES))
    rows = zip(RULES, found.count.tolist(), found.total.tolist(), strict=True)
    return tuple(
        answers.AppliedRule(
            NAMES[one.category],
            label_of(columns, one.category),
            one.confidence,
            one.why,
            count,
            held,
        )
        for one, count, held in sorted(rows, key=lambda row: -row[2])
        if count
    )


def _without(chosen: Chosen, peak: answers.MemoryPeak) -> tuple[answers.WithoutCategory, ...]:
    columns, held = chosen.columns, {one.category for one in peak.categories}
    lower = {
        category: highest(columns, chosen.device, category, chosen.span)
        for category in Category
        if NAMES[category] in held
    }
    found = [
        answers.WithoutCategory(
            NAMES[category], label_of(columns, category), total, peak.bytes - total
        )
        for category, total in lower.items()
    ]
    gains = [one for one in found if one.gain_bytes > 0]
    return tuple(sorted(gains, key=lambda one: -one.gain_bytes))


# --- the curve ------------------------------------------------------------------------------------


def curve_part(subject: Subject, query: answers.MemoryQuery) -> answers.MemoryCurve:
    """The curve of a range. Raises QueryError."""
    chosen = chosen_of(subject, query.device, query.steps, query.start_ns, query.end_ns)
    return _curve(chosen, query, _modules_above(subject, query))


def _modules_above(subject: Subject, query: answers.MemoryQuery) -> Mapping[str, str]:
    """The name of the module around each; empty where the curve is not by module."""
    if query.by != "module" or subject.facts.recording.memory_alone:
        return {}
    modules: ModuleColumns = subject.other_artifact(MODULES)
    tree, strings = modules.tree, modules.strings
    names = [strings[code] for code in tree.name.tolist()]
    found: dict[str, str] = {}
    for name, outer in zip(names, tree.parent.tolist(), strict=True):
        if outer >= 0 and name not in found and name not in _with_outer(found, names[outer]):
            found[name] = names[outer]
    return found


def _with_outer(above: Mapping[str, str], name: str) -> list[str]:
    """A module and those around it."""
    names = [name]
    while (outer := above.get(names[-1])) is not None:
        names.append(outer)
    return names


def _curve(
    chosen: Chosen, query: answers.MemoryQuery, above: Mapping[str, str]
) -> answers.MemoryCurve:
    by, points = query.by, query.points
    columns, device = chosen.columns, chosen.device
    found = curve(columns, device, chosen.start, chosen.end, points)
    layers: tuple[answers.MemoryLayer, ...] = ()
    if device.has_addresses and by != "total":
        names, keys = _keys(chosen, by, above)
        values = layers_at(columns, device, found.row, keys)
        layers = tuple(
            answers.MemoryLayer(key, label, tuple(values[at].tolist()))
            for at, (key, label) in enumerate(names)
            if values[at].any()
        )
    return answers.MemoryCurve(
        device=device.key,
        start_ns=chosen.start,
        end_ns=chosen.end,
        ts=tuple(found.ts.tolist()),
        allocated=tuple(found.allocated.tolist()),
        reserved=tuple(found.reserved.tolist()) if device.has_reserved else None,
        layers=layers,
        is_change=not device.has_totals,
        events=found.events,
        is_exact=found.events == len(found.row) - 2,
        peak_ns=int(found.ts[found.peak]),
        peak_bytes=int(found.allocated[found.peak]),
    )


def _keys(
    chosen: Chosen, by: answers.LayerBy, above: Mapping[str, str]
) -> tuple[list[tuple[str, str]], LayerKeys]:
    """(key, label) of each layer from bottom to top, and what belongs to it.

    ``above`` names the module around each module.
    """
    columns, device = chosen.columns, chosen.device
    if by == "category":
        return [(NAMES[one], label_of(columns, one)) for one in Category], by_category(
            columns, device
        )
    code_of_block = columns.blocks.module if by == "module" else columns.blocks.frame
    held: dict[int, int] = {}
    for group in alive(columns, device, peaks(columns, device, chosen.span).first):
        code = int(code_of_block[group.block]) if group.block >= 0 else NONE
        if code >= 0:
            held[code] = held.get(code, 0) + group.total_bytes
    strings, ids = columns.strings, dict[str, int]()

    def number(name: str) -> int:
        return ids.setdefault(name.removeprefix(_MODULE), len(ids))

    codes: dict[int, list[int]] = {}
    for code in held:
        codes.setdefault(number(strings[code]), []).append(code)
    sizes = {owner: sum(held[code] for code in mine) for owner, mine in codes.items()}
    around = {number(name): number(outer) for name, outer in above.items()}
    layers = owner_layers(around, sizes, MOST_LAYERS)
    owners = list(ids)
    names = [
        (owners[one.owner], owners[one.owner] + ("" if one.is_whole else " itself"))
        for one in layers
    ]
    chosen_codes = [[code for at in one.members for code in codes.get(at, ())] for one in layers]
    return [*names, ("", "Everything else")], by_code(columns, device, code_of_block, chosen_codes)


# --- what is reserved and free --------------------------------------------------------------------


NO_SEGMENTS = (
    "Allocator events do not tell the segments that the allocator holds. A memory snapshot has"
    " them: `_dump_snapshot()` of `torch.cuda.memory` or `torch.xpu.memory`, where the device has"
    " one."
)
_FREE_POINTS = 400


def free_part(subject: Subject, query: answers.MemoryQuery) -> answers.FreeMemoryAnswer:
    """Free memory within the segments, of a range. Raises QueryError."""
    chosen = chosen_of(subject, query.device, query.steps, query.start_ns, query.end_ns)
    columns, device = chosen.columns, chosen.device
    has_segments = device.stop_segment > device.first_segment
    found = free_memory(columns, device, chosen.start, chosen.end, min(query.points, _FREE_POINTS))
    worst_ns = int(found.ts[found.worst])
    states = free_pieces(columns, device).at(worst_ns)
    pools = tuple(
        answers.FreePool(
            columns.pools[one.pool].name,
            columns.pools[one.pool].is_private,
            one.reserved,
            one.free,
            one.largest,
            one.unusable,
            one.pieces,
        )
        for one in sorted(states, key=lambda one: -one.unusable)
    )
    layers = (
        answers.MemoryLayer("unusable", "Free but unusable", tuple(found.unusable.tolist())),
        answers.MemoryLayer(
            "largest", "Largest piece of each pool", tuple((found.free - found.unusable).tolist())
        ),
    )
    top = int(found.free.argmax())
    shown = answers.MemoryCurve(
        device=device.key,
        start_ns=chosen.start,
        end_ns=chosen.end,
        ts=tuple(found.ts.tolist()),
        allocated=tuple(found.free.tolist()),
        reserved=None,
        layers=layers,
        is_change=False,
        events=len(found.ts),
        is_exact=found.is_exact,
        peak_ns=int(found.ts[top]),
        peak_bytes=int(found.free[top]),
    )
    return answers.FreeMemoryAnswer(
        curve=shown,
        worst_ns=worst_ns,
        columns=heads(answers.FreePool),
        pools=pools,
        sentence=_free_words(pools, worst_ns),
        missing="" if has_segments else NO_SEGMENTS,
    )


def _free_words(pools: tuple[answers.FreePool, ...], worst_ns: int) -> str:
    free = sum(one.free_bytes for one in pools)
    unusable = sum(one.unusable_bytes for one in pools)
    reserved = sum(one.reserved_bytes for one in pools)
    if not free:
        return "All that is reserved is in use."
    return (
        f"At {duration(worst_ns)}, {size(unusable)} of {size(reserved)} reserved is free but"
        f" unusable for a large request: {size(free)} is free, in"
        f" {plural(sum(one.pieces for one in pools), 'piece')}."
    )


# --- in a terminal --------------------------------------------------------------------------------


def tables(answer: answers.Memory) -> tuple[Table, ...]:
    """Ops, or the lines of a snapshot; blocks, categories of the peak, devices."""
    nothing = NO_STACK if answer.is_snapshot else OUTSIDE

    def owner(row: StatisticsRow | MemoryEventRow) -> str:
        return row.name or nothing

    of_owners, blocks = answer.statistics, answer.events
    found = []
    if "blocks" not in answer.missing:  # an exported timeline has no ops either
        title = "By line" if answer.is_snapshot else "By operator"
        found.append(
            table_from(title, of_owners.columns, of_owners.rows, of_owners.count, name=owner)
        )
    if not blocks.missing:
        found.append(table_from("Events", blocks.columns, blocks.rows, blocks.count, name=owner))
    if answer.peak.categories:
        shares = heads(answers.CategoryShare)
        found.append(table_from("At the peak", shares, answer.peak.categories))
    found.append(table_from("Devices", answer.devices_columns, answer.devices))
    return tuple(found)


def unavailable(facts: Facts) -> str | None:
    """Why there is nothing to show."""
    return None if facts.counts.get("memory", 0) else facts.unavailable["memory"]


VIEW = View(
    stem="memory",
    title="Memory",
    key="m",
    question="What fills the memory, when is it fullest, and does it grow?",
    query=answers.MemoryQuery,
    answer=answers.Memory,
    build=build,
    tables=tables,
    unavailable=unavailable,
    of_memory_alone=True,
    artifact=MEMORY,
    parts=(
        Part("curve", answers.MemoryQuery, answers.MemoryCurve, curve_part),
        Part("events", answers.MemoryEventQuery, answers.MemoryEventTable, event_window),
        Part("statistics", answers.StatisticsQuery, answers.StatisticsTable, statistics_window),
        Part("alive", answers.AliveQuery, answers.AliveTree, alive_tree),
        Part("block", answers.BlockQuery, answers.BlockDetails, block_details),
        Part("map", answers.MapQuery, answers.AddressMap, address_map),
        Part("map_tiles", answers.MapTilesQuery, None, map_tiles),
        Part(
            "compare",
            answers.CompareQuery,
            answers.MemoryComparison,
            comparison,
            reads_others=True,
        ),
        Part("free", answers.MemoryQuery, answers.FreeMemoryAnswer, free_part),
        Part("steps", answers.StepsQuery, answers.StepsMemory, steps_memory),
    ),
)
