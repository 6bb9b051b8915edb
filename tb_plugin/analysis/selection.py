"""The chosen steps and device, and the sums over them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from msgspec import structs

from ..base.errors import QueryError
from .facts import (
    Breakdown,
    DeviceFacts,
    DeviceStep,
    Facts,
    Gauges,
    Held,
    HostPartition,
    Idle,
    Partition,
    Place,
    StepFacts,
)

_PIECE = re.compile(r"(i?)(\d{1,9})(?:\s*[-–]\s*\1?(\d{1,9}))?", re.ASCII)
_HINT = 'Use "", "all", a step like "3", a range like "2-5", or several: "1,4-6".'

Summed = TypeVar("Summed", Breakdown, Partition, HostPartition, Gauges)


@dataclass(frozen=True)
class HeldSum:
    """Idle time of a device under the events of one name, over the chosen steps."""

    name: str
    kind: str  # field of Idle
    count: int
    idle_ns: int
    longest: Held
    place: Place | None  # of the longest


@dataclass(frozen=True)
class Selection:
    """The chosen steps of a trace, and the chosen device (row of ``Facts.devices``)."""

    facts: Facts
    indexes: tuple[int, ...]
    device: int | None

    @cached_property
    def steps(self) -> tuple[StepFacts, ...]:
        return tuple(self.facts.steps[i] for i in self.indexes)

    @cached_property
    def total_ns(self) -> int:
        return sum(step.dur_ns for step in self.steps)

    @cached_property
    def _chosen(self) -> frozenset[int]:
        return frozenset(self.indexes)

    @property
    def count(self) -> int:
        return len(self.indexes)

    def mean(self, total: float) -> float:
        """Per step; 0 where there is none."""
        return total / self.count if self.count else 0.0

    def ratio(self, part: float) -> float:
        """Share of the time of the chosen steps; 0 where there is none."""
        return part / self.total_ns if self.total_ns else 0.0

    @cached_property
    def breakdown(self) -> Breakdown:
        return total_of([step.breakdown for step in self.steps], Breakdown())

    @cached_property
    def partition(self) -> Partition | None:
        """The partition of the chosen device; None in a run without device activity."""
        parts = [one.partition for step in self.steps if (one := self.device_step(step))]
        return total_of(parts, Partition()) if parts else None

    @cached_property
    def idle(self) -> Idle:
        """The idle time of the chosen device by host activity; its names are in ``held``."""
        parts = [one.idle for step in self.steps if (one := self.device_step(step))]
        names = [name for name in Idle.__struct_fields__ if name not in ("frame", "held")]
        sums = {name: sum(getattr(part, name) for part in parts) for name in names}
        return Idle(**sums, frame=next((part.frame for part in parts if part.frame), ""))

    @cached_property
    def held(self) -> tuple[HeldSum, ...]:
        """Names of host events while the chosen device was idle, the largest sum first."""
        found: dict[int, list[Held]] = {}
        for step in self.steps:
            if one := self.device_step(step):
                for held in one.idle.held:
                    found.setdefault(held.name, []).append(held)
        tables = self.facts.idle
        sums = (
            HeldSum(
                name=tables.names[row].name,
                kind=tables.names[row].kind,
                count=sum(one.count for one in parts),
                idle_ns=sum(one.idle_ns for one in parts),
                longest=(longest := max(parts, key=lambda one: one.longest_ns)),
                place=tables.places[longest.place] if longest.place >= 0 else None,
            )
            for row, parts in found.items()
        )
        return tuple(sorted(sums, key=lambda one: -one.idle_ns))

    @cached_property
    def cut(self) -> str:
        """Why a part of the recording may be missing; "" where it is complete."""
        if self.facts.health.cut is not None:
            return "the file ends in the middle"
        if any(step.excluded == "incomplete" for step in self.steps):
            return "a chosen step was cut off at the end of the recording"
        return ""

    @cached_property
    def host(self) -> HostPartition | None:
        """The partition of the main thread, in a run without device activity."""
        parts = [step.host for step in self.steps if step.host is not None]
        return total_of(parts, HostPartition()) if parts else None

    @property
    def device_facts(self) -> DeviceFacts | None:
        return None if self.device is None else self.facts.devices[self.device]

    def device_step(self, step: StepFacts, device: int | None = None) -> DeviceStep | None:
        """One step seen from one device, by default the chosen one."""
        row = self.device if device is None else device
        return next((one for one in step.devices if one.device == row), None)

    def gauges(self, device: int) -> tuple[Gauges, int]:
        """Integrals of a device over the chosen steps, and the time they cover.

        Gaps between neighbours belong to it: the device could have worked there too.
        """
        parts: list[Gauges] = []
        covered = 0
        for i in self.indexes:
            step = self.facts.steps[i]
            one = self.device_step(step, device)
            if one is None:
                continue
            parts.append(one.gauges)
            covered += step.dur_ns
            if i - 1 in self._chosen:
                parts.append(one.gap)
                covered += step.start_ns - self.facts.steps[i - 1].end_ns
        return total_of(parts, Gauges()), covered


def select(facts: Facts, steps: str = "", device: int | None = None) -> Selection:
    """The selection of a query. Raises QueryError for unknown steps or devices."""
    used = [row for row, one in enumerate(facts.devices) if one.used]
    if device is not None and device not in used:
        known = ", ".join(map(str, used)) or "none"
        raise QueryError(
            f"device {device} has no activity in this trace",
            hint=f"Devices with activity: {known}.",
        )
    chosen = device if device is not None else busiest(facts)
    return Selection(facts, parse_steps(steps, facts), chosen)


def parse_steps(text: str, facts: Facts) -> tuple[int, ...]:
    """Indexes of the named steps, ascending. ``""`` = all but those left out by default.

    Steps go by their numbers, as the page shows them: ``7`` is ProfilerStep#7. Where numbers
    repeat, ``i0-2`` names steps by their place, counted from 0.

    Raises:
        QueryError: the text has no meaning, or names a step that is not there.
    """
    everything = tuple(range(len(facts.steps)))
    text = text.strip()
    if text == "":
        usual = tuple(step.index for step in facts.steps if step.excluded is None)
        return usual or everything
    if text == "all":
        return everything
    numbers = [step.number for step in facts.steps]
    chosen: set[int] = set()
    for piece in text.split(","):
        match = _PIECE.fullmatch(piece.strip())
        if match is None:
            raise QueryError(f"steps: {piece.strip()[:40]!r} is no step", hint=_HINT)
        low, high = int(match[2]), int(match[3] or match[2])
        if low > high:
            raise QueryError(f"steps: {piece.strip()[:40]!r} runs backwards", hint=_HINT)
        names = everything if match[1] else numbers
        for end in (low, high):
            if end not in names:
                raise QueryError(
                    f"steps: there is no step {match[1]}{end}",
                    hint=f"Steps of this recording: {_known(names, match[1])}.",
                )
        chosen.update(index for index, name in enumerate(names) if low <= name <= high)
    return tuple(sorted(chosen))


def _known(names: Sequence[int], mark: str) -> str:
    """The steps there are, as ``5 to 10`` where one range says it."""
    if not names:
        return "none"
    low, high = min(names), max(names)
    return f"{mark}{low}" if low == high else f"{mark}{low} to {mark}{high}"


def step_parameter(facts: Facts, index: int) -> str:
    """The parameter of one step in an address: its number, or its place where numbers repeat."""
    number = facts.steps[index].number
    alike = sum(step.number == number for step in facts.steps)
    return f"{number}" if alike == 1 and 0 <= number < 10**9 else f"i{index}"


def busiest(facts: Facts) -> int | None:
    """The device with the least idle time over all steps; None where none was used."""
    idle: dict[int, int] = {row: 0 for row, one in enumerate(facts.devices) if one.used}
    for step in facts.steps:
        for one in step.devices:
            idle[one.device] = idle.get(one.device, 0) + one.partition.idle_ns
    return min(idle, key=lambda row: (idle[row], row)) if idle else None


def total_of(parts: list[Summed], zero: Summed) -> Summed:
    """Field by field; a sum is None only where every part is."""
    if not parts:
        return zero
    columns = zip(*(structs.astuple(part) for part in parts), strict=True)
    names = zero.__struct_fields__
    totals = {name: _sum(list(column)) for name, column in zip(names, columns, strict=True)}
    return structs.replace(zero, **totals)


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
