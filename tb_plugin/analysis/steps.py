"""Which steps are there, from when to when, and which of them are chosen?

A step begins on the host and ends when the last device work it launched has ended, so it is
extended by that work and the next step begins no earlier: windows are laid end to end and never
overlap.

    host     ├─ step 1 ─┤├─ step 2 ─┤
    device      ▒▒▒▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓▓
    windows  ├─── 1 ──────┤├── 2 ────┤

``outliers`` marks steps that are unusually long or short. ``select`` chooses steps and a device;
a ``Selection`` has the sums over them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ..base.arrays import (
    I64,
    ColumnTable,
    chunks,
    distinct_values,
    equal,
    median,
    search,
    stable_order,
    take,
    where,
    with_fields,
)
from ..base.errors import QueryError
from ..base.intervals import length_within, union_where
from ..base.regex import regex
from ..trace.model import HostKind, Trace
from .device_work import used_devices
from .facts import (
    IDLE_CAUSES,
    Breakdown,
    Communication,
    CopySum,
    DeviceFacts,
    DeviceStep,
    Facts,
    Gap,
    Gauges,
    Held,
    HeldKind,
    HeldName,
    HostPartition,
    Idle,
    LaunchSums,
    Partition,
    Place,
    StepFacts,
    total_of,
)
from .overview.left_out import left_out, tail_of
from .serving.model import PhaseUse

Limits = Mapping[str, float]
"""Thresholds of advice that a user replaces, by name."""
NO_LIMITS: Limits = MappingProxyType({})

HEAD = "cut off at the start"
MOST_GAPS = 20  # of the longest idle stretches, over all chosen steps


class Windows(ColumnTable, frozen=True, eq=False):
    """The windows of all steps in order; ``start[i] ≤ end[i] ≤ start[i + 1]``; shape (steps,)."""

    host_start: I64
    host_end: I64
    start: I64
    end: I64
    launches: I64  # calls that launched device work in this step
    device_events: I64  # device work launched in this step
    excluded: tuple[str | None, ...]
    head_ns: int = 0  # until then a device was on work launched before the recording
    tail_ns: int = 0  # of the end of the last step, in which only the recorder ran

    def of(self, ts: I64) -> I64:
        """The window that each instant lies in; −1 where in none."""
        window = search(self.start, ts, "right") - 1
        # Before the first window, at −1, the last end is read, which is before all.
        window[ts >= np.append(self.end, np.iinfo(np.int64).min)[window]] = -1
        return window

    @property
    def edges(self) -> I64:
        """start, end, start, end …: cell 2i is window i, cell 2i + 1 the gap after it."""
        edges = np.empty(2 * len(self), np.int64)
        edges[0::2], edges[1::2] = self.start, self.end
        return edges


def step_windows(trace: Trace) -> Windows:
    """The windows of all steps; those to leave out by default are marked, never dropped."""
    host_start, host_end = trace.steps.ts, trace.steps.end
    count = len(host_start)
    if not count or not (len(trace.host) or len(trace.device)):
        nothing = np.zeros(0, np.int64)
        return Windows(nothing, nothing, nothing, nothing, nothing, nothing, ())
    if trace.steps.source == "whole_trace":
        start, end = _whole(trace)
        tail = tail_of(trace, int(start[0]), int(end[0]))
        end = end - tail
        calls, events = distinct_values(trace.device.launch), np.array([len(trace.device)])
        launches = np.array([np.count_nonzero(calls >= 0)])
        whole = Windows(host_start, host_end, start, end, launches, events, (None,), tail_ns=tail)
        return _without_head(trace, whole)
    first, last, events, launches = _device_work(trace, count)
    start, end = _end_to_end(trace, first, last, events)
    work = events if events.any() else _ops_per_step(trace, count)
    if (launches[events > 0] > 0).all() and launches.any():
        # A replay of a graph is one launch, however much it starts.
        work = launches
    tail = tail_of(trace, int(start[-1]), int(end[-1]))
    end[-1] -= tail
    excluded = left_out(trace, start, end, work)
    found = Windows(host_start, host_end, start, end, launches, events, excluded, tail_ns=tail)
    return _without_head(trace, found)


def _without_head(trace: Trace, windows: Windows) -> Windows:
    """The windows behind the head of the recording (``DeviceWork.head_ns``).

    A step that begins in it is not whole. The recording as a whole counts from its end, and so does
    an iteration of an engine: its work lies behind its range, so that all of it may be recorded.
    """
    head = max((work.head_ns for work in used_devices(trace)), default=0)
    if not head:
        return windows
    start, end = (np.maximum(edge, head) for edge in (windows.start, windows.end))
    excluded = windows.excluded
    if trace.steps.source != "whole_trace":
        edge = windows.end if trace.steps.source == "iteration" else windows.start + 1
        begun = zip((edge <= head).tolist(), excluded, strict=True)
        excluded = tuple(HEAD if is_cut else why for is_cut, why in begun)
    return with_fields(windows, start=start, end=end, excluded=excluded, head_ns=head)


def _whole(trace: Trace) -> tuple[I64, I64]:
    """One window around all events with a duration, on the host and on devices."""
    tables = [table for table in (trace.host, trace.device) if len(table)]
    start = min(int(table.ts.min()) for table in tables)
    end = max(int(table.end.max()) for table in tables)
    return np.array([start]), np.array([end])


def _device_work(trace: Trace, count: int) -> tuple[I64, I64, I64, I64]:
    """Per step: first start and last end of its device work, its amount, its number of calls."""
    device = trace.device
    first = np.full(count, np.iinfo(np.int64).max, np.int64)
    last = np.full(count, np.iinfo(np.int64).min, np.int64)
    events = np.bincount(device.step + 1, minlength=count + 1)[1:].astype(np.int64)
    if len(device):
        # Work of one step lies together on each stream: what is compared is runs, not rows.
        run = np.flatnonzero(np.diff(device.step, prepend=-2))
        step = device.step[run]
        own = step >= 0
        np.minimum.at(first, step[own], np.minimum.reduceat(device.ts, run)[own])
        np.maximum.at(last, step[own], np.maximum.reduceat(device.end, run)[own])
    # A call launches in one step, however much it launches.
    launched = where((device.step >= 0) & (device.launch >= 0))
    call = take(device.launch, launched).astype(np.int64)
    order = stable_order(call)
    call = take(call, order)
    is_first = np.ones(len(call), np.bool_)
    np.not_equal(call[1:], call[:-1], out=is_first[1:])
    step = take(device.step, take(launched, order[is_first]))
    launches = np.bincount(step, minlength=count).astype(np.int64)
    return first, last, events, launches


def _end_to_end(trace: Trace, first: I64, last: I64, events: I64) -> tuple[I64, I64]:
    """Each step from the end of the one before, or its own start, to the end of its last work.

    An iteration of an engine begins where the one before ends: what its host does in between, as
    scheduling, is what the iteration waits for.
    """
    host_start, host_end = trace.steps.ts, trace.steps.end
    follows = np.diff(trace.steps.number, prepend=-1) == 1
    follows &= trace.steps.source == "iteration"
    start, end = np.empty_like(host_start), np.empty_like(host_end)
    reached = _prologue_end(trace, first, events)
    for i in range(len(host_start)):
        start[i] = reached if i and follows[i] else max(reached, host_start[i])
        end[i] = max(host_end[i], start[i], last[i] if events[i] else start[i])
        reached = end[i]
    return start, end


def _prologue_end(trace: Trace, first: I64, events: I64) -> int:
    """The end of a queue from before the first step; sparse work only lacks its launches."""
    begin, device = int(trace.steps.ts[0]), trace.device
    before = (device.step < 0) & (device.end < first[0]) & (device.end > begin) & (events[0] > 0)
    ends = device.end[before]
    ran = length_within(union_where(before, device.ts, device.dur), np.full_like(ends, begin), ends)
    return int(ends[2 * ran >= ends - begin].max(initial=begin))


def _ops_per_step(trace: Trace, count: int) -> I64:
    """The number of ops of each step, for runs without device work."""
    found = np.zeros(count + 1, np.int64)
    for part in chunks(len(trace.host)):
        ops = trace.host.step[part][equal(trace.host.kind[part], HostKind.OP)]
        found += np.bincount(ops + 1, minlength=count + 1)
    return found[1:]


_MAD_TO_SIGMA = 1.4826
SIGMAS = 3.5
LEAST_RATIO = 0.05  # of the median: below this a difference is not worth a mark


def outliers(facts: Facts) -> tuple[bool, ...]:
    """Per step: |length − median| > 3.5 σ and > 5 % of the median.

    σ is told by the median absolute deviation; the median is that of the steps not left out by
    default, where phases are known of those of the same phase.
    """
    phases = {one.step: one.phase for one in facts.iterations}
    usual: dict[str, list[int]] = {}
    for step in facts.steps:
        if step.excluded is None:
            usual.setdefault(phases.get(step.index, ""), []).append(step.dur_ns)
    limits = {phase: _limits(some) for phase, some in usual.items() if len(some) >= 3}

    def is_far(step: StepFacts) -> bool:
        middle, limit = limits.get(phases.get(step.index, ""), (0.0, np.inf))
        return abs(step.dur_ns - middle) > limit

    return tuple(is_far(step) for step in facts.steps)


def _limits(lengths: Sequence[int]) -> tuple[float, float]:
    middle = median(lengths)
    return middle, max(SIGMAS * sigma_of(lengths), LEAST_RATIO * middle)


def sigma_of(values: NDArray[Any] | Sequence[float]) -> float:
    """The deviation of values by the median distance from their median."""
    return _MAD_TO_SIGMA * median(np.abs(np.asarray(values) - median(values)))


_PIECE = regex(r"(i?)(\d{1,9})(?:\s*[-–]\s*\1?(\d{1,9}))?", re.ASCII)
EVERYTHING = "everything"  # beside all steps, what lies outside of any
_HINT = f'Use "", "all", "{EVERYTHING}", a step like "3", a range like "2-5", or several: "1,4-6".'


class HeldSum(Struct, frozen=True):
    """Idle time of a device under the events of one name, over the chosen steps."""

    name: str
    kind: HeldKind
    cause: str  # one of IDLE_CAUSES, start_up_ns, or a field of HostPartition
    count: int
    idle_ns: int
    longest: Held
    place: Place | None  # of the longest


class GapSeen(Struct, frozen=True):
    """One of the longest idle stretches, with its texts."""

    step: int  # index
    gap: Gap
    cause: str  # one of IDLE_CAUSES: what is most of it
    held: HeldName | None  # the event that held the device longest in it
    place: Place | None  # around that event
    following: str  # name of the work that ended it


class Selection(Struct, frozen=True, dict=True):
    """The chosen steps of a trace, and the chosen device (row of ``Facts.devices``)."""

    facts: Facts
    indexes: tuple[int, ...]
    device: int | None
    limits: Limits = {}
    # Of each phase of a served model, by name; what a view finds out with captures beside.
    use: Mapping[str, PhaseUse] = {}

    @cached_property
    def steps(self) -> tuple[StepFacts, ...]:
        return tuple(self.facts.steps[i] for i in self.indexes)

    @cached_property
    def total_ns(self) -> int:
        """Length of the chosen steps, without start-up on the chosen device."""
        return sum(map(self.length_ns, self.steps))

    def length_ns(self, step: StepFacts) -> int:
        """Length of one step, without start-up on the chosen device."""
        one = self.device_step(step)
        return step.end_ns - step.start_ns - (one.partition.start_up_ns if one else 0)

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

    @property
    def records_capture(self) -> bool:
        """True if graphs are captured for most of the time: nothing of that comes again."""
        return self.partition is not None and 2 * self.partition.idle_capture_ns > self.total_ns

    @cached_property
    def idle(self) -> Idle:
        """The idle time of the chosen device beside its causes; names are in ``held``."""
        parts = [one.idle for step in self.steps if (one := self.device_step(step))]
        names = [name for name in Idle.__struct_fields__ if name not in ("frame", "held", "gaps")]
        sums = {name: sum(getattr(part, name) for part in parts) for name in names}
        return Idle(**sums, frame=next((part.frame for part in parts if part.frame), ""))

    @cached_property
    def held(self) -> tuple[HeldSum, ...]:
        """The host events that held the chosen device up, the largest sum first.

        Those of the DataLoader are apart, and the nodes of graphs (``held_of``).
        """
        apart = ("idle_dataloader_ns", "idle_graph_ns", "start_up_ns")
        return tuple(one for one in self.all_held if one.cause not in apart)

    def held_of(self, *causes: str) -> tuple[HeldSum, ...]:
        """Events that held up the chosen device for these causes, the largest sum first."""
        return tuple(one for one in self.all_held if one.cause in causes)

    @cached_property
    def gaps(self) -> tuple[GapSeen, ...]:
        """The longest idle stretches of the chosen device, the longest first."""
        tables = self.facts.idle
        found = [
            GapSeen(
                step=step.index,
                gap=gap,
                cause=IDLE_CAUSES[gap.cause],
                held=tables.names[gap.name] if gap.name >= 0 else None,
                place=tables.places[gap.place] if gap.place >= 0 else None,
                following=tables.following[gap.following] if gap.following >= 0 else "",
            )
            for step in self.steps
            if (one := self.device_step(step))
            for gap in one.idle.gaps
        ]
        found.sort(key=lambda one: (-one.gap.dur_ns, one.gap.ts))
        return tuple(found[:MOST_GAPS])

    @cached_property
    def all_held(self) -> tuple[HeldSum, ...]:
        """Names of host events while the chosen device was idle, the largest sum first."""
        parts = [one.idle.held for step in self.steps if (one := self.device_step(step))]
        return _held_sums(self.facts, parts)

    @cached_property
    def host_held(self) -> tuple[HeldSum, ...]:
        """Events of the main thread where no device was recorded, the largest sum first."""
        return _held_sums(self.facts, [step.host_held for step in self.steps])

    @cached_property
    def communication(self) -> Communication:
        """Collectives of the chosen device, their exposed time, and its blocking part."""
        parts = [one.communication for step in self.steps if (one := self.device_step(step))]
        return total_of(parts, Communication())

    @cached_property
    def launches(self) -> LaunchSums:
        """The calls that launched work of the chosen device."""
        parts = [one.launches for step in self.steps if (one := self.device_step(step))]
        return total_of(parts, LaunchSums())

    @cached_property
    def copies(self) -> tuple[CopySum, ...]:
        """Copies of the chosen device by kind and memory, those that take most time first."""
        found: dict[tuple[str, str], list[CopySum]] = {}
        for step in self.steps:
            if one := self.device_step(step):
                for copy in one.copies:
                    found.setdefault((copy.kind, copy.memory), []).append(copy)
        sums = [_copies_together(parts) for parts in found.values()]
        return tuple(sorted(sums, key=lambda one: -one.ns))

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

    def of_device(self, row: int) -> Selection:
        """The same steps, seen from another device."""
        return replace(self, device=row)

    @property
    def device_facts(self) -> DeviceFacts | None:
        return None if self.device is None else self.facts.devices[self.device]

    def device_step(self, step: StepFacts, device: int | None = None) -> DeviceStep | None:
        """One step seen from one device, by default the chosen one."""
        row = self.device if device is None else device
        return next((one for one in step.devices if one.device == row), None)

    def gauges(self, device: int) -> tuple[Gauges, int]:
        """Integrals of a device over the chosen steps, and the time they cover.

        Gaps between neighbours belong to it, unless steps between them are not recorded.
        """
        parts: list[Gauges] = []
        covered = 0
        for i in self.indexes:
            step = self.facts.steps[i]
            if (one := self.device_step(step, device)) is None:
                continue
            parts.append(one.gauges)
            covered += self.of_device(device).length_ns(step)
            if i - 1 in self._chosen and not self.facts.skipped_before(i):
                parts.append(one.gap)
                covered += step.start_ns - self.facts.steps[i - 1].end_ns
        return total_of(parts, Gauges()), covered


def _held_sums(facts: Facts, parts: Sequence[Sequence[Held]]) -> tuple[HeldSum, ...]:
    """Names over several steps, the largest sum first."""
    found: dict[int, list[Held]] = {}
    for part in parts:
        for held in part:
            found.setdefault(held.name, []).append(held)
    tables = facts.idle
    sums = (
        HeldSum(
            name=tables.names[row].name,
            kind=tables.names[row].kind,
            cause=tables.names[row].cause,
            count=sum(one.count for one in some),
            idle_ns=sum(one.idle_ns for one in some),
            longest=(longest := max(some, key=lambda one: one.longest_ns)),
            place=tables.places[longest.place] if longest.place >= 0 else None,
        )
        for row, some in found.items()
    )
    return tuple(sorted(sums, key=lambda one: -one.idle_ns))


def _copies_together(parts: Sequence[CopySum]) -> CopySum:
    longest = max(parts, key=lambda one: one.dur_ns)
    added = ("count", "bytes", "ns", "exposed_ns", "small_count")
    sums = {name: sum(getattr(part, name) for part in parts) for name in added}
    return replace(longest, **sums)


def select(
    facts: Facts, steps: str = "", device: int | None = None, limits: Limits = NO_LIMITS
) -> Selection:
    """The selection of a query. Raises QueryError for unknown steps or devices."""
    used = [row for row, one in enumerate(facts.devices) if one.used]
    if device is not None and device not in used:
        known = ", ".join(map(str, used)) or "none"
        raise QueryError(
            f"device {device} has no activity in this trace",
            hint=f"Devices with activity: {known}.",
        )
    chosen = device if device is not None else busiest(facts)
    return Selection(facts, parse_steps(steps, facts), chosen, limits)


def parse_steps(text: str, facts: Facts) -> tuple[int, ...]:
    """Indexes of the named steps, ascending. ``""`` = all but those left out by default.

    ``everything`` is all steps here; ``scope_of`` also counts what lies outside of them.
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
    if text in ("all", EVERYTHING):
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


class Scope(Struct, frozen=True):
    """Scope of a query: some steps, or everything recorded."""

    steps: tuple[int, ...] | None  # indexes; None = everything recorded, outside of steps too
    tells_outside: bool = False  # what lies outside of them is worth a sentence

    def count(self, facts: Facts) -> int:
        """Number of steps."""
        return len(facts.steps) if self.steps is None else len(self.steps)

    def divisor(self, facts: Facts) -> int:
        """Steps that a sum is divided by to be that of one; 1 where more is counted than steps."""
        return 1 if self.steps is None else max(1, self.count(facts))

    def wall_ns(self, facts: Facts) -> int:
        """Length of the chosen steps, start-up too; 0 where more is counted than steps."""
        if self.steps is None and facts.step_source != "whole_trace":
            return 0
        chosen = facts.steps if self.steps is None else [facts.steps[at] for at in self.steps]
        return sum(step.end_ns - step.start_ns for step in chosen)


def scope_of(facts: Facts, text: str) -> Scope:
    """The scope of a query, the same in every view. ``""`` = the steps of ``parse_steps``.

    A recording without marked steps counts as a whole.

    Raises:
        QueryError: there are no such steps.
    """
    text = text.strip()
    is_whole = not facts.steps or facts.step_source == "whole_trace"
    if text == EVERYTHING or (is_whole and text in ("", "all")):
        return Scope(None)
    return Scope(parse_steps(text, facts), tells_outside=text in ("", "all"))


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
