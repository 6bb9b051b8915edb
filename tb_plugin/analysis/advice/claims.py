"""Patterns that recognizers find in a trace, times that findings claim of it, phrases about both.

A recognizer looks for one thing that programs do; ``on_host``, ``on_kernels`` and
``on_collectives`` register it. ``patterns_of`` asks all, step by step, and keeps how the times that
they claim overlap: so the union of any of them is exact for any choice of steps. ``with_shared``
says of each ceiling what findings above it claim already: they must not be added.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from typing import TypeVar

import numpy as np
from msgspec import Struct, structs

from ...base.arrays import I64, least_of_largest, median, ranked, search, stable_order, take, where
from ...base.group_sums import group_sums
from ...base.intervals import EMPTY, Intervals, complement, intersect, length_within, merge
from ...base.machine import each, side_by_side
from ...base.units import duration, share
from ...trace.model import Trace
from ..counters.samples import Series
from ..device_work import DeviceWork
from ..facts import Spot
from ..findings import (
    Claim,
    Finding,
    Gain,
    Pattern,
    PatternEvent,
    Patterns,
    PatternStep,
    SeenEvent,
    at_time,
)
from ..host_activity import Hosts
from ..steps import Selection, Windows, sigma_of
from ..user_code import DeviceCode, Found, HostCode
from ..wording import device_noun, of_step, per_step, short_frame

T = TypeVar("T", HostCode, DeviceCode)
HostRecognizer = Callable[[HostCode], Iterator[Found]]
DeviceRecognizer = Callable[[DeviceCode], Iterator[Found]]
MOST_EVENTS = 5
MOST_PATTERNS = 60  # of one device: a claim's members are the bits of an int64
MOST_DEVICES = 16


_HOST: list[HostRecognizer] = []
_HIDING: set[HostRecognizer] = set()
_PYTHON: list[Callable[[HostCode, Intervals], Iterator[Found]]] = []
_KERNELS: list[DeviceRecognizer] = []
_COLLECTIVES: list[DeviceRecognizer] = []


def on_host(*, hides_python: bool = False) -> Callable[[HostRecognizer], HostRecognizer]:
    """Register a recognizer of the main thread.

    ``hides_python``: what it finds is not told again as Python of the frame around it.
    """

    def register(recognize: HostRecognizer) -> HostRecognizer:
        _HOST.append(recognize)
        if hides_python:
            _HIDING.add(recognize)
        return recognize

    return register


def in_python(
    recognize: Callable[[HostCode, Intervals], Iterator[Found]],
) -> Callable[[HostCode, Intervals], Iterator[Found]]:
    """Register a recognizer of what others leave of Python's time."""
    _PYTHON.append(recognize)
    return recognize


def on_kernels(recognize: DeviceRecognizer) -> DeviceRecognizer:
    """Register a recognizer for devices that ran compute kernels."""
    _KERNELS.append(recognize)
    return recognize


def on_collectives(recognize: DeviceRecognizer) -> DeviceRecognizer:
    """Register a recognizer for devices that ran collectives."""
    _COLLECTIVES.append(recognize)
    return recognize


def patterns_of(
    hosts: Hosts,
    works: Sequence[DeviceWork],
    counters: Mapping[int, tuple[Series, ...]],
    windows: Windows,
) -> Patterns:
    """The patterns of a trace; nothing for a trace without events that last.

    ``counters`` are what was sampled of each device, by its row.
    """
    if not len(windows):
        return Patterns()
    code = HostCode(hosts.trace, hosts, windows)
    works = works[:MOST_DEVICES]
    on_host, *on_devices = side_by_side(
        lambda: _on_host(code),
        *(lambda one=one: _on_device(code, one, counters[one.device]) for one in works),
    )
    told = side_by_side(
        *(
            partial(_of_device, code, one, [*on_host, *found])
            for one, found in zip(works, on_devices, strict=True)
        )
    ) or [_of_device(code, None, on_host)]
    patterns = chain.from_iterable(some for some, _ in told)
    claims = chain.from_iterable(some for _, some in told)
    return Patterns(tuple(patterns), tuple(claims))


def _each(recognizers: Sequence[Callable[[T], Iterator[Found]]], code: T) -> list[list[Found]]:
    """Findings of each."""
    return each(lambda one: list(one(code)), recognizers)


def _on_host(code: HostCode) -> list[Found]:
    """The patterns of the main thread."""
    if code.hosts.main < 0:
        return []
    by_each = _each(_HOST, code)
    told = [
        one.time
        for recognize, some in zip(_HOST, by_each, strict=True)
        for one in some
        if recognize in _HIDING
    ]
    found = list(chain.from_iterable(by_each))
    hidden = merge(*told) if told else EMPTY
    return found + [one for recognize in _PYTHON for one in recognize(code, hidden)]


def _on_device(code: HostCode, work: DeviceWork, counters: tuple[Series, ...]) -> list[Found]:
    """The patterns of the kernels of a device; ``counters`` are its samples."""
    one = DeviceCode(code, work, counters)
    asked = [*(_KERNELS if len(one.rows) else ()), *(_COLLECTIVES if len(one.collectives) else ())]
    return list(chain.from_iterable(_each(asked, one)))


def _of_device(
    code: HostCode, work: DeviceWork | None, found: Iterable[Found]
) -> tuple[list[Pattern], list[Claim]]:
    """The patterns as one device has them, or a run without, and the time of each set of them."""
    device, idle = -1, None
    if work is not None:
        device = work.device
        first, last = int(code.windows.start.min()), int(code.windows.end.max())
        idle = complement(work.busy, first, last)
    patterns: list[Pattern] = []
    times: list[Intervals] = []
    for one in found:
        time = one.time
        if idle is not None and not one.on_device:
            time = intersect(time, idle)
        pattern = _pattern(code, device, one, time)
        if pattern.steps and len(patterns) < MOST_PATTERNS:
            patterns.append(pattern)
            times.append(time)
    return patterns, _claims(code.windows, device, times)


def _pattern(code: HostCode, device: int, found: Found, time: Intervals) -> Pattern:
    windows, table = code.windows, code.trace.device if found.on_device else code.trace.host
    rows = found.rows
    step = code.windows.of(take(table.ts, rows))
    count = np.bincount(step[step >= 0], minlength=len(windows))
    spent = length_within(time, windows.start, windows.end)
    some = np.flatnonzero((spent != 0) | (count > 0))
    columns = some.tolist(), count[some].tolist(), spent[some].tolist()
    steps = tuple(map(PatternStep, *columns))
    return Pattern(
        kind=found.kind,
        name=found.name,
        device=device,
        frame=found.frame,
        steps=steps,
        events=_longest(code.trace, found, rows, step),
        figures=found.figures,
        kernels=found.on_device,
    )


def _longest(trace: Trace, found: Found, rows: I64, step: I64) -> tuple[PatternEvent, ...]:
    """The longest events; those outside of all steps only where no other is."""
    table = trace.device if found.on_device else trace.host
    if (step >= 0).any():
        rows, step = rows[step >= 0], step[step >= 0]
    length = table.dur[rows]
    if len(length) > MOST_EVENTS:
        # Of equally long ones the first count; none that is shorter than the limit does.
        long = np.flatnonzero(length >= least_of_largest(length, MOST_EVENTS))
        rows, step, length = rows[long], step[long], length[long]
    order = np.argsort(-length, kind="stable")[:MOST_EVENTS]
    return tuple(
        PatternEvent(
            int(table.raw[rows[at]]),
            int(rows[at]) + (len(trace.host) if found.on_device else 0),
            int(table.ts[rows[at]]),
            int(table.dur[rows[at]]),
            int(step[at]),
            trace.strings[int(table.name[rows[at]])],
        )
        for at in order.tolist()
    )


def _claims(windows: Windows, device: int, times: Sequence[Intervals]) -> list[Claim]:
    """The time of each step by the set of patterns that claim it.

    One sweep over the edges of all intervals: between two edges the set is the same.
    """
    cuts, members = _sweep(times, [windows.start, windows.end])
    some = where(members != 0)  # all end at the last cut
    members, start = take(members, some), take(cuts, some)
    length = take(cuts, some + np.int32(1)) - start
    del cuts, some
    at = search(windows.start, start, "right") - 1
    some = where((at >= 0) & (start < take(windows.end, np.maximum(at, 0))))
    del start
    sets, member = ranked(take(members, some))
    del members
    cells, cell = ranked(take(at, some) * max(len(sets), 1) + member)
    del at, member
    sums = group_sums(cell, take(length, some), len(cells)).total
    steps, kinds = np.divmod(cells, max(len(sets), 1))
    columns = (steps.tolist(), sets[kinds].tolist(), sums.tolist())
    return list(map(Claim, repeat(device), *columns))


def _sweep(times: Sequence[Intervals], more: Sequence[I64]) -> tuple[I64, I64]:
    """All edges of some sets and ``more`` instants, and which sets hold from each to the next.

    Bit i of what is told says so of the i-th set. Its intervals do not touch, so that each of its
    edges turns the bit over.
    """
    sides = [edge for one in times for edge in (one.start, one.end)]
    edges = [*sides, *more]
    sets = [at for at in range(len(times)) for _ in range(2)] + [len(times)] * len(more)
    which = np.repeat(np.array(sets, np.uint8), [len(one) for one in edges])
    cuts = np.concatenate(edges)
    low = int(cuts.min())
    cuts -= low
    order = stable_order(cuts)
    which, cuts = take(which, order), take(cuts, order)
    del order
    last = np.ones(len(cuts), np.bool_)
    np.not_equal(cuts[1:], cuts[:-1], out=last[:-1])
    cuts = cuts[last]
    cuts += low
    bits = np.array([*(1 << at for at in range(len(times))), 0], np.int64)
    members = take(bits.astype(np.int32) if len(times) < 31 else bits, which)
    np.bitwise_xor.accumulate(members, out=members)
    return cuts, members[last].astype(np.int64)


class PatternSum(Struct, frozen=True):
    """One pattern over the chosen steps. ``row`` is its place in ``Facts.patterns.found``."""

    row: int
    pattern: Pattern
    ns: int
    count: int
    shares: tuple[float, ...]  # of each chosen step

    @property
    def name(self) -> str:
        """Its subject, as code: `` `aten::mm` and the like``."""
        return f"`{self.pattern.name}` and the like"

    @property
    def frame(self) -> str:
        """The frame of the user's code, as it is shown; "" unknown."""
        return short_frame(self.pattern.frame)

    @property
    def place(self) -> str:
        """`` at `train.py(12): step` ``, or nothing."""
        return f" at `{self.frame}`" if self.frame else ""

    def figure(self, name: str, default: float = 0.0) -> float:
        """One of its figures."""
        return self.pattern.figures.get(name, default)


Seen = tuple[PatternSum, ...]


def patterns(selection: Selection, *kinds: str) -> Seen:
    """The patterns of some kinds in the chosen steps, for the chosen device; longest first."""
    device = -1 if selection.device is None else selection.device
    found = []
    for row, one in enumerate(selection.facts.patterns.found):
        if one.kind not in kinds or one.device != device:
            continue
        spent = {step.step: step for step in one.steps}
        chosen = [spent[i] for i in selection.indexes if i in spent]
        if not chosen:
            continue
        shares = tuple(
            (spent[step.index].ns if step.index in spent else 0) / max(selection.length_ns(step), 1)
            for step in selection.steps
        )
        ns, count = sum(step.ns for step in chosen), sum(step.count for step in chosen)
        found.append(PatternSum(row, one, ns, count, shares))
    return tuple(sorted(found, key=lambda one: (-one.ns, -one.count)))


def united_ns(selection: Selection, rows: Iterable[int]) -> int:
    """The length of the union of what some patterns claim in the chosen steps."""
    found = selection.facts.patterns.found
    number: dict[int, int] = {}
    bit: dict[int, int] = {}
    for row, one in enumerate(found):
        bit[row] = number.get(one.device, 0)
        number[one.device] = bit[row] + 1
    masks: dict[int, int] = {}
    for row in rows:
        masks[found[row].device] = masks.get(found[row].device, 0) | 1 << bit[row]
    chosen = set(selection.indexes)
    return sum(
        claim.ns
        for claim in selection.facts.patterns.claims
        if claim.members & masks.get(claim.device, 0) and claim.step in chosen
    )


def longest(seen: Seen) -> Seen:
    """The longest of some patterns alone."""
    return seen[:1]


def total_of(selection: Selection, seen: Seen) -> int:
    """The time that some patterns claim together."""
    return united_ns(selection, [one.row for one in seen])


def share_of(selection: Selection, seen: Seen) -> float:
    """The part of the chosen steps that some patterns claim together."""
    return selection.ratio(total_of(selection, seen))


def wasted(selection: Selection, seen: Seen) -> float:
    """The part of the steps that a pattern could save: its time, as far as its figures say."""
    return share_of(selection, seen) * seen[0].figure("part", 1.0)


def ceiling(selection: Selection, total_ns: float, method: str, *claims: str) -> Gain | None:
    """A gain of ``total_ns`` over the chosen steps; None where there is nothing to gain."""
    if total_ns <= 0:
        return None
    return Gain(
        ns_per_step=selection.mean(total_ns),
        ratio=selection.ratio(total_ns),
        method=method,
        claims=claims,
    )


def shares_of(selection: Selection, *names: str) -> list[float]:
    """Some parts of the chosen device's partition, in each step that has one, of the step."""
    found = []
    for step in selection.steps:
        if one := selection.device_step(step):
            spent = sum(getattr(one.partition, name) for name in names)
            found.append(spent / max(selection.length_ns(step), 1))
    return found


def gain_of(selection: Selection, seen: Seen, method: str, scale: float = 1.0) -> Gain | None:
    """The ceiling of some patterns: the union of their times, or a part ``scale`` of it."""
    total = total_of(selection, seen) * scale
    return ceiling(selection, total, method, *(f"pattern {one.row}" for one in seen))


_PATTERN = "pattern "


LEAST_STEPS = 4
"""Steps that measure the noise of a share."""


def is_noise(shares: Sequence[float], limit: float) -> bool:
    """True if the middle of the shares exceeds the limit by less than one deviation.

    Of two or three steps, if fewer than two thirds exceed it.
    """
    if len(shares) < LEAST_STEPS:
        return 3 * sum(one > limit for one in shares) < 2 * len(shares)
    return median(shares) - limit < sigma_of(shares)


def specific_first(
    selection: Selection, findings: Sequence[Finding], general: Collection[str]
) -> list[Finding]:
    """The findings in their order, but each general one behind those that say why.

    That is a finding of medium or high severity that takes half of its time or more: of the same
    frame, or of what it claims.
    """
    found = list(findings)
    for one in [one for one in findings if one.id in general]:
        at = found.index(one)
        why = [
            each
            for each in found[at + 1 :]
            if each.id not in general and each.severity in ("high", "medium")
            if _says_why(selection, each, one)
        ]
        rest = [each for each in found[at:] if each not in why]
        found[at:] = [*why, *rest]
    return found


def _says_why(selection: Selection, one: Finding, general: Finding) -> bool:
    if one.gain is None or general.gain is None:
        return bool(one.frame) and one.frame == general.frame
    ns = general.gain.ns_per_step
    if one.frame and one.frame == general.frame:
        return 2 * one.gain.ns_per_step >= ns
    return 2 * (ns + one.gain.ns_per_step - claimed_ns(selection, [one.gain, general.gain])) >= ns


def with_shared(selection: Selection, findings: Sequence[Finding]) -> list[Finding]:
    """The findings in their order; of each ceiling, the part that those above it claim already."""
    result = []
    above: list[Gain] = []
    for finding in findings:
        gain = finding.gain
        if gain is not None:
            alone, before = gain.ns_per_step, claimed_ns(selection, above)
            together = claimed_ns(selection, [*above, gain])
            shared = min(max(alone - (together - before), 0.0), alone)
            above.append(gain)
            finding = structs.replace(  # noqa: PLW2901
                finding, gain=structs.replace(gain, shared_ns_per_step=shared)
            )
        result.append(finding)
    return result


def claimed_ns(selection: Selection, gains: Sequence[Gain]) -> float:
    """The sum of some ceilings per step, in which no instant counts twice.

    Patterns are united exactly; fields of one partition are disjoint, and each counts once. Idle
    time, or that of kernels, may be claimed by a pattern and by a field: together they are never
    more than all of it. A ceiling that is a part of what it claims counts with that part.
    """
    part = selection.partition
    found = selection.facts.patterns.found
    fields = [gain for gain in gains if not _rows(gain)]
    sizes: dict[tuple[str, ...], float] = {}
    for gain in fields:
        sizes[gain.claims] = max(sizes.get(gain.claims, 0.0), gain.ns_per_step)
    idle = sum(ns for names, ns in sizes.items() if names and names[0].startswith("idle_"))
    work = sum(ns for names, ns in sizes.items() if names == ("compute_ns",))
    rest = sum(sizes.values()) - idle - work
    whole = {
        False: (idle, part.idle_ns if part is not None else selection.total_ns),
        True: (work, part.compute_ns if part is not None else selection.total_ns),
    }
    total = rest
    for kernels, (fixed, most) in whole.items():
        mine = [gain for gain in gains
                if _rows(gain) and found[_rows(gain)[0]].kernels is kernels]  # fmt: skip
        rows = {row for gain in mine for row in _rows(gain)}
        union = selection.mean(united_ns(selection, rows)) if rows else 0.0
        alone = sum(gain.ns_per_step for gain in mine)
        total += max(fixed, min(fixed + min(union, alone), selection.mean(most))) if mine else fixed
    return total


def _rows(gain: Gain) -> list[int]:
    return [int(name.removeprefix(_PATTERN)) for name in gain.claims if name.startswith(_PATTERN)]


def seen_event(
    selection: Selection, name: str, spot: Spot, ts: int, dur_ns: int, text: str = ""
) -> SeenEvent:
    """An event as evidence, with its step and a link that selects it in the Trace view."""
    step = next((one.name for one in selection.facts.steps if one.start_ns <= ts < one.end_ns), "")
    link = at_time(text or short_frame(name)[:80], ts, dur_ns, spot.slice)
    return SeenEvent(name, spot.slice, spot.event, ts, dur_ns, step, link)


def events_of(selection: Selection, seen: Iterable[PatternSum]) -> tuple[SeenEvent, ...]:
    """The longest events of some patterns, those of the chosen steps first."""
    chosen = set(selection.indexes)
    events = [event for one in seen for event in one.pattern.events]
    events.sort(key=lambda one: (one.step not in chosen, -one.dur_ns))
    return tuple(
        seen_event(selection, one.name, Spot(one.slice, one.event), one.ts, one.dur_ns)
        for one in events[:MOST_EVENTS]
    )


def spent(selection: Selection, ns: float, *, kernels: bool = False) -> str:
    """``12.0 ms per step (40.1 %)``; with a device, of time in which it idles.

    ``kernels``: of time in which it works, too.
    """
    part = f"{duration(selection.mean(ns))} {per_step(selection)} ({share(selection.ratio(ns))})"
    if selection.device is None or kernels:
        return part
    return f"{part} in which the {device_noun(selection)} idles"


def spent_by(selection: Selection, seen: Seen) -> str:
    """As ``spent``, of what some patterns claim together."""
    return spent(selection, total_of(selection, seen))


def part_of_step(selection: Selection, one: PatternSum) -> str:
    """``12.3 % of every step``: the time of one pattern of kernels."""
    return f"{share(selection.ratio(one.ns))} {of_step(selection, one.shares)}"


def count_of(seen: Seen) -> int:
    """The events of some patterns in the chosen steps."""
    return sum(one.count for one in seen)


def often(selection: Selection, count: int) -> str:
    """``3 times per step``; ``once in this step``."""
    mean = selection.mean(count)
    if round(mean) <= 1:
        return "once" if selection.count == 1 else "once a step"
    return f"{round(mean):,} times {per_step(selection)}"
