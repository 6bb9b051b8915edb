"""The comparison as the contract's Structs: sides, bridge, tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...analysis.diff.bridge import CLOCK, UNKNOWN, Bridge, BridgePart, Division, divisions
from ...analysis.diff.changes import ItemChange, changes
from ...analysis.diff.comparable import StepCount
from ...analysis.diff.sides import (
    LIGHT,
    Items,
    Side,
    kernel_items,
    memory_device,
    memory_items,
    module_items,
    operator_items,
)
from ...analysis.diff.verdict import PairVerdict, bridge_of, compare
from ...analysis.facts import Facts
from ...analysis.memory.artifact import MEMORY, NO_ADDRESSES
from ...analysis.memory.model import MemoryDevice
from ...analysis.modules.artifact import MODULES
from ...analysis.operators.artifact import OPERATORS
from ...analysis.operators.short_names import short_names
from ...analysis.recording import not_recorded
from ...analysis.speed_of_light.artifact import PLACES, SPEED
from ...analysis.speed_of_light.figures import lit_device
from ...analysis.steps import Selection, select
from ...analysis.wording import longest_work
from ...base.arrays import median
from ...base.artifact_spec import ArtifactSpec
from ...trace.recipes import ALLOCATIONS, FRAMES, with_option
from ..legend import BREAKDOWN, COPY, HOST, PARTITION, LegendEntry, named_for
from ..shared import as_structs, column_named
from ..table import Column, heads, sorts
from ..view import TracePlace
from . import contract as answers

_NO_MODULES = (
    "Not both recordings have modules: {}, or give our trace handler the model,"
    " `tensorboard_trace_handler(dir, modules=model)`."
)
NO_COMMON_MEMORY = "The two recorded the memory of devices of different kinds."
METRICS: Mapping[str, tuple[str, ...]] = {
    "operators": ("self_ns", "total_ns", "device_self_ns", "device_total_ns"),
    "kernels": ("device_self_ns",),
    "modules": ("device_self_ns", "self_ns", "bytes"),
    "memory": ("bytes", "peak_bytes"),
}
_CLOCK = LegendEntry(
    CLOCK,
    "Another clock",
    "other",
    "Effect of the clock alone on the work: kernels of equal name and size (without a device,"
    " operators of equal name and shapes) all take longer, or shorter, by one factor.",
    ghost=True,
)
_UNKNOWN = LegendEntry(
    UNKNOWN,
    "Not known",
    "other",
    "Kernels were not recorded in both: in this time work ran, or the device was idle.",
    ghost=True,
)
_LEGENDS: Mapping[Division, tuple[LegendEntry, ...]] = {
    "device": PARTITION,
    "host": HOST,
    "classic": BREAKDOWN,
}


class Recorded(Struct, frozen=True, eq=False, dict=True):
    """One trace of the pair, with its place and the steps that are chosen."""

    facts: Facts
    artifact: Callable[[ArtifactSpec[Any]], Any]
    place: TracePlace
    steps: str = ""
    repeats: tuple[Recorded, ...] = ()

    @cached_property
    def side(self) -> Side:
        """The chosen steps with the columns of operators. Raises QueryError."""
        repeats = tuple(one.side for one in self.repeats)
        return Side(select(self.facts, self.steps), self.artifact(OPERATORS), repeats=repeats)

    @cached_property
    def with_modules(self) -> Side:
        """The same with the columns of modules, which cost more to have."""
        repeats = tuple(one.with_modules for one in self.repeats)
        found = replace(self.with_light, repeats=repeats)
        if not self.facts.recording.modules:
            return found
        speed = found.speed and replace(found.speed, places=self.artifact(PLACES))
        return replace(found, modules=self.artifact(MODULES), speed=speed)

    @cached_property
    def with_light(self) -> Side:
        """The same with the work of kernels, where the device has a data sheet."""
        lit = lit_device(self.facts, self.side.selection.device)
        speed = None if lit is None else self.artifact(SPEED)
        repeats = tuple(one.with_light for one in self.repeats)
        return replace(self.side, speed=speed, repeats=repeats)

    @cached_property
    def with_memory(self) -> Side:
        """The same with the columns of memory; without any where no allocation was recorded."""
        has_memory = self.facts.counts.get("memory", 0) > 0
        repeats = tuple(one.with_memory for one in self.repeats)
        memory = self.artifact(MEMORY) if has_memory else None
        return replace(self.side, memory=memory, repeats=repeats)


class Pair(Struct, frozen=True, eq=False, dict=True):
    """Two recordings to compare."""

    base: Recorded
    other: Recorded
    budget: float = 0.02
    equal_clocks: bool = False

    @cached_property
    def comparison(self) -> PairVerdict:
        """The verdict and its evidence."""
        return compare(
            self.base.side, self.other.side, self.budget, at_equal_clocks=self.equal_clocks
        )

    def answer(self, query: answers.DiffQuery) -> answers.Diff:
        """The first screen. Raises QueryError."""
        found = self.comparison
        base, other = self.base.side.selection, self.other.side.selection
        known = divisions(base, other)
        seen = query.seen if query.seen in known else known[0]
        between = (
            found.bridge
            if seen == found.bridge.division
            else bridge_of(self.base.side, self.other.side, found.drift, seen)
        )
        verdict = found.adjusted or found.times
        return answers.Diff(
            outcome=found.outcome,
            headline=found.headline,
            detail=found.detail,
            certainty=found.certainty,
            settle=found.settle,
            # The rule for the step times, where it is they that decided.
            reason=verdict.reason if verdict and verdict.outcome == found.outcome else "",
            base=_side(self.base, found.noise_ratios[0]),
            other=_side(self.other, found.noise_ratios[1]),
            division=between.division,
            divisions=known,
            base_ns=between.base_ns,
            other_ns=between.other_ns,
            change_ns=between.change_ns,
            parts_columns=heads(answers.DiffPart),
            parts=tuple(self._part(between, part) for part in between.parts),
            clock_ns=found.clock_ns,
            can_equal_clocks=bool(found.clock_ns),
            clock_ratio=found.drift.ratio if found.drift else None,
            mismatches=as_structs(answers.DiffMismatch, found.mismatches),
            counts_columns=heads(answers.DiffCount),
            counts=tuple(map(_count, found.counts)),
            kernels_by=self.kernels_by,
            missing=self._missing,
            outliers=found.outliers,
        )

    @property
    def _missing(self) -> dict[str, str]:
        missing = {}
        for one in (self.base, self.other):
            if not one.facts.recording.modules:
                how = _NO_MODULES.format(with_option(FRAMES, one.facts.torch_era))
                missing["modules"] = not_recorded("module", how, one.facts.torch_era)
        for one in (self.base, self.other):
            if one.facts.device_type == "CPU" and "device" in one.side.operators.missing:
                missing["kernels"] = one.side.operators.missing["device"]
        for which, one in (("A", self.base), ("B", self.other)):
            if not one.facts.counts.get("memory", 0):
                era = one.facts.torch_era
                how = f"Allocations were not recorded in {which}: {with_option(ALLOCATIONS, era)}."
                missing["memory"] = not_recorded("allocator event", how, era)
        return missing

    @property
    def kernels_by(self) -> answers.KernelKey:
        """Key that matches kernels: names mean nothing on another device."""
        names = [one.side.selection.device_facts for one in (self.base, self.other)]
        a, b = ((one.name or one.vendor) if one else "" for one in names)
        return "role" if a != b else "name"

    @cached_property
    def memory_devices(self) -> tuple[MemoryDevice, MemoryDevice] | None:
        """The devices whose memory is compared; None where the two have none of a kind."""
        base = memory_device(self.base.with_memory)
        other = None if base is None else memory_device(self.other.with_memory, base.kind)
        return None if base is None or other is None else (base, other)

    def _part(self, between: Bridge, part: BridgePart) -> answers.DiffPart:
        # Where either is the file of another recorder, its rest is not known to be the other's.
        legend = named_for(_LEGENDS[between.division], self.base.facts, self.other.facts)
        if any(one.key == UNKNOWN for one in between.parts):
            legend = (COPY, *legend)  # no copy is known to be exposed
        entry = next(
            (one for one in (*legend, _CLOCK, _UNKNOWN) if one.key == part.key),
            LegendEntry(part.key, part.key.removesuffix("_ns").replace("_", " "), "other", ""),
        )
        return answers.DiffPart(
            key=part.key,
            label=entry.label,
            category=entry.category,
            ghost=entry.ghost,
            help=entry.help,
            base_ns=part.base_ns,
            other_ns=part.other_ns,
            change_ns=part.change_ns,
            is_real=part.is_real,
            door=answers.DiffDoor(
                _longest(self.base.side.selection, part.key),
                _longest(self.other.side.selection, part.key),
                "enumerate(Data" if "dataloader" in part.key else "",
            ),
        )

    def _metrics(self, query: answers.DiffTableQuery) -> tuple[str, ...]:
        """The metrics that a group has in both recordings."""
        metrics = METRICS[query.group]
        if query.group != "memory" or self.memory_devices is None:
            return metrics
        return metrics if all(one.has_addresses for one in self.memory_devices) else metrics[:1]

    def rows(self, query: answers.DiffTableQuery) -> tuple[tuple[ItemChange, ...], str, str]:
        """All rows of a group, the largest change first, the metric, and why there are none."""
        metrics = self._metrics(query)
        metric = query.metric if query.metric in (*metrics, "calls") else metrics[0]
        if query.group == "memory" and query.metric == "peak_bytes" and len(metrics) == 1:
            return (), query.metric, NO_ADDRESSES
        sides = self._items(query)
        if sides is None:
            return (), metric, self._missing.get(query.group, NO_COMMON_MEMORY)
        found = self.comparison
        clock = 1.0
        if found.drift is not None and found.drift.is_other_clock and "device" in metric:
            clock = found.drift.ratio
        return changes(*sides, metric, self.base.side.mean_ns, clock), metric, ""

    def _items(
        self, query: answers.DiffTableQuery
    ) -> tuple[Sequence[Items], Sequence[Items]] | None:
        """The judged recordings of both sides; None where not all have such rows."""
        if query.group in self._missing:
            return None
        with_columns = {"modules": "with_modules", "memory": "with_memory"}.get(
            query.group, "with_light"
        )
        sides = [getattr(one, with_columns).judged for one in (self.base, self.other)]
        items = [[self._items_of(one, query) for one in side] for side in sides]
        base, other = ([one for one in side if one is not None] for side in items)
        return (base, other) if [len(base), len(other)] == [*map(len, sides)] else None

    def _items_of(self, side: Side, query: answers.DiffTableQuery) -> Items | None:
        if query.group == "modules":
            return module_items(side)
        if query.group == "kernels":
            return kernel_items(side, query.kernels_by or self.kernels_by)
        if query.group == "memory":
            kind = None if self.memory_devices is None else self.memory_devices[0].kind
            device = None if kind is None else memory_device(side, kind)
            return None if device is None else memory_items(side, device)
        return operator_items(side, "shape" if query.by_shape else "name")

    def table(self, query: answers.DiffTableQuery) -> answers.DiffTable:
        """A window of the table. Raises QueryError."""
        every, metric, missing = self.rows(query)
        found = [one for one in every if _holds(one, query.search)]
        sort_by = column_named(query.sort_by or "change_ns", sorts(answers.DiffRow))
        rows = _sorted([row_of(one) for one in found], sort_by, ascending=query.ascending)
        kernels_by = (query.kernels_by or self.kernels_by) if query.group == "kernels" else None
        return answers.DiffTable(
            columns=columns_of(replace(query, metric=metric)),
            rows=_shortened(rows[query.offset : query.offset + query.limit])
            if kernels_by in ("name", "launch")
            else tuple(rows[query.offset : query.offset + query.limit]),
            offset=query.offset,
            count=len(rows),
            sort_by=sort_by,
            group=query.group,
            metric=metric,
            base_ns=sum(row.base_ns for row in rows),
            other_ns=sum(row.other_ns for row in rows),
            metrics=self._metrics(query),
            kernels_by=kernels_by,
            device=self._memory_words if query.group == "memory" else "",
            missing=missing,
        )

    @property
    def _memory_words(self) -> str:
        labels = [one.label for one in self.memory_devices or ()]
        return " against ".join(dict.fromkeys(labels))


def _holds(change: ItemChange, search: str) -> bool:
    parts = (change.name, change.other_name, change.detail, *change.examples)
    text = " ".join(parts).casefold()
    return all(word in text for word in search.casefold().split())


def _side(recorded: Recorded, noise: float | None) -> answers.DiffSide:
    selection = recorded.side.selection
    times = [selection.length_ns(step) for step in selection.steps]
    device = selection.device_facts
    run, worker, span = recorded.place
    return answers.DiffSide(
        run=run,
        worker=worker,
        span=span,
        label=run or worker,
        device=(device.name or device.type) if device else "CPU",
        step_count=len(times),
        mean_ns=selection.mean(selection.total_ns),
        median_ns=float(median(times)) if times else 0.0,
        noise_ratio=noise,
    )


def _longest(selection: Selection, key: str) -> str:
    """The range of the longest event of a part, with a margin, for the Trace view."""
    one = longest_work(selection, key)
    if one is not None:
        margin = max(one.dur_ns // 4, 1000)
        return f"{one.ts - margin}-{one.ts + one.dur_ns + margin}"
    longest = max(selection.steps, key=lambda step: step.dur_ns, default=None)
    return f"{longest.start_ns}-{longest.end_ns}" if longest else ""


_ROWS = {
    "operators": "Operator",
    "kernels": "Kernel",
    "modules": "Module",
    "memory": "Allocation site",
}


def columns_of(query: answers.DiffTableQuery) -> tuple[Column, ...]:
    """The columns of a table: figures of memory are bytes."""
    is_bytes = query.metric.endswith("bytes")

    def of_group(head: Column) -> Column:
        if head.key == "name":
            return replace(head, label=_ROWS[query.group])
        if head.unit != "ns" or not is_bytes:
            return head
        label = "By size" if head.key == "by_speed_ns" else head.label
        return replace(head, label=label, unit="bytes")

    return tuple(map(of_group, heads(answers.DiffRow, query)))


def _sorted(
    rows: Sequence[answers.DiffRow], sort_by: str, *, ascending: bool
) -> list[answers.DiffRow]:
    """Rows by a column, changes by their size; those without a value come last."""

    def value(row: answers.DiffRow) -> Any:  # noqa: ANN401  # of a column
        found = getattr(row, sort_by)
        if sort_by == "change_ns":
            return abs(found)
        return np.inf if found is None and sort_by == "ratio" else found

    known = [row for row in rows if value(row) is not None]
    known.sort(key=value, reverse=not ascending)
    return [*known, *(row for row in rows if value(row) is None)]


def _count(one: StepCount) -> answers.DiffCount:
    return answers.DiffCount(
        key=one.key,
        label=one.label,
        unit=one.unit,
        base=one.base,
        other=one.other,
        change=one.other - one.base,
        is_exact=one.is_exact,
    )


def _shortened(rows: Sequence[answers.DiffRow]) -> tuple[answers.DiffRow, ...]:
    """Rows of kernels with names that tell them apart."""
    names = sorted({name for row in rows for name in (row.name, row.other_name) if name})
    short = dict(zip(names, short_names(names), strict=True))
    return tuple(
        replace(row, short=short[row.name], other_short=short.get(row.other_name, ""))
        for row in rows
    )


def row_of(change: ItemChange) -> answers.DiffRow:
    """One row of the table."""
    device = change.sums.get("device_self_ns")
    base, other = change.light
    return answers.DiffRow(
        name=change.name,
        other_name=change.other_name if change.other_name != change.name else "",
        relation=change.relation or "",
        detail=change.detail,
        base_calls=change.base.calls,
        other_calls=change.other.calls,
        base_ns=change.base.ns,
        other_ns=change.other.ns,
        change_ns=change.change_ns,
        ratio=change.change_ns / change.base.ns if change.base.ns else None,
        by_calls_ns=change.by_calls_ns,
        by_speed_ns=change.by_speed_ns,
        adjusted_ns=change.adjusted_ns if change.drift != 1.0 else None,
        device_change_ns=device[1] - device[0] if device else None,
        waste_change_ns=other.waste_ns - base.waste_ns if base and other else None,
        work=change.work,
        base_light_ratio=base.ratio if base else None,
        other_light_ratio=other.ratio if other else None,
        base_waste_ns=base.waste_ns if base else None,
        other_waste_ns=other.waste_ns if other else None,
        base_bound=base.bound if base else None,
        other_bound=other.bound if other else None,
        status=change.status,
        p=change.p,
        sums={name: sums for name, sums in change.sums.items() if name not in LIGHT},
        base_kernel=change.examples[0],
        other_kernel=change.examples[1],
    )
