"""All patterns of a trace, step by step, and how the times they claim overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from typing import TypeVar

import numpy as np

from ...base.arrays import I64, least_of_largest, ranked, search, stable_order, take, where
from ...base.group_sums import group_sums
from ...base.intervals import (
    EMPTY,
    Intervals,
    complement,
    intersect,
    length_within,
    merge,
)
from ...base.machine import each, side_by_side
from ...trace.model import Trace
from ..counters.samples import Series
from ..device_work import DeviceWork
from ..host_activity import Hosts
from ..steps import Windows
from . import host_code, kernels, operators
from .host_code import Found, HostCode
from .model import Claim, Pattern, PatternEvent, Patterns, PatternStep
from .products import DeviceCode

T = TypeVar("T", HostCode, DeviceCode)

HOST: tuple[Callable[[HostCode], Iterator[Found]], ...] = (
    host_code.loading,
    host_code.compiling,
    host_code.printing,
    host_code.garbage,
    host_code.locks,
    host_code.profiler,
    host_code.collectives,
    host_code.data_parallel,
    host_code.graph_breaks,
    host_code.not_replayed,
    operators.reads,
    operators.optimizers,
    operators.zeroing,
    operators.conversions,
    operators.per_sample,
    operators.tiny_ops,
    operators.biases,
    operators.made_on_host,
    operators.all_ops,
    operators.leaks,
)
TELLS = (
    "compiling",
    "printing",
    "garbage",
    "lock",
    "profiler",
    "read_back",
    "optimizer",
    "conversion",
    "tiny_ops",
    "per_sample",
)
"""Kinds whose time is not told a second time as Python of the frame around them."""
MOST_EVENTS = 5
MOST_PATTERNS = 60  # of one device: a claim's members are the bits of an int64
MOST_DEVICES = 16


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


def _each(recognizers: Sequence[Callable[[T], Iterator[Found]]], code: T) -> list[Found]:
    """What each of them finds, one after the other."""
    return [one for found in each(lambda one: list(one(code)), recognizers) for one in found]


def _on_host(code: HostCode) -> list[Found]:
    """The patterns of the main thread."""
    if code.hosts.main < 0:
        return []
    found = _each(HOST, code)
    told = merge(*(one.time for one in found if one.kind in TELLS)) if found else EMPTY
    return found + list(host_code.frames(code, told))


def _on_device(code: HostCode, work: DeviceWork, counters: tuple[Series, ...]) -> list[Found]:
    """The patterns of the kernels of a device; ``counters`` are what was sampled of it."""
    return _each(kernels.RECOGNIZERS, DeviceCode(code, work, counters))


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
