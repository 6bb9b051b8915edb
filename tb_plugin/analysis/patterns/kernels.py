"""Patterns of the kernels of one device; matrix products and attention are in ``products``.

* ``collectives``: all of them
* ``underfilled``: kernels with less than one block per multiprocessor
* ``tiny_kernels``: kernels of a few microseconds
* ``conversion_kernels``: kernels that copy into another type or layout
* ``recompute``: kernels of activations that are computed a second time
* ``drift``: kernels of one kind that get slower while the recording goes on
* ``slow_clock``: kernels while the clock of the device is lower than it can be
* ``memory_bound``: families of kernels that the device's memory bounds, as its counters measured
* ``contention``: kernels that take longer while communication runs
* ``small_messages``, ``sync_batch_norm``: collectives of a few bytes, and those of SyncBatchNorm
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import (
    F64,
    I64,
    cells,
    distinct_values,
    matches,
    search,
    take,
    where_code,
)
from ...base.group_sums import group_medians, group_sums
from ...base.intervals import Intervals, intersect, length_within, subtract, union
from ...base.regex import regex
from ...trace.model import HostKind
from ..counters.groups import group_figures, is_memory_bound, union_by_group
from ..counters.samples import Series, real
from ..kernel_families import family_of
from ..overview.utilization import sparse_of
from .host_code import Found
from .products import DeviceCode, attention, products

TINY_KERNEL_NS = 5_000
LONG_KERNEL_NS = 20_000
LEAST_STEPS = 3  # to tell whether kernels get slower
LEAST_SAMPLES = 10  # of a counter
COVERED_RATIO = 0.8  # of the time with kernels, by samples
LOW_CLOCK_RATIO = 0.95  # of the clock's 95th percentile
LIMIT_RATIO, LIMIT_DEGREES = 0.97, 2.0  # of the highest power; below the highest temperature
WITNESSES = ("power", "temperature")  # counters that say why a clock falls
COMPUTE_BOUND = ("gemm", "convolution", "attention", "moe")  # families that follow the clock

Recognizer = Callable[[DeviceCode], Iterator[Found]]

_CONVERTS = regex(r"^aten::(to|_to_copy|contiguous|clone|type_as)$")
_COPIES = regex(r"^aten::copy_$")
_RECOMPUTES = regex(r"torch/utils/checkpoint\.py\(\d+\): (recompute_fn|unpack_hook)$")
_SYNC_NORM = regex(r"SyncBatchNorm|sync_batch_norm|batch_norm_gather_stats")
_ELEMENT_BYTES = {"Byte": 1, "Char": 1, "Half": 2, "BFloat16": 2, "Float": 4, "Int": 4,
                  "Double": 8, "Long": 8}  # fmt: skip


def _underfilled(one: DeviceCode) -> Iterator[Found]:
    """Kernels of 20 µs or more with less than one block per multiprocessor."""
    have, blocks = sparse_of(one.trace, "blocks_per_sm", one.rows)
    dur = take(one.trace.device.dur, one.rows)
    chosen = have & (blocks > 0) & (blocks < 1) & (dur > LONG_KERNEL_NS)
    if chosen.any():
        empty = float(((1 - blocks[chosen]) * dur[chosen]).sum() / dur[chosen].sum())
        yield one.found("underfilled", one.rows[chosen], part=empty)


def _small(one: DeviceCode) -> Iterator[Found]:
    """Tiny kernels; kernels that only copy into another type or layout."""
    trace, dur = one.trace, take(one.trace.device.dur, one.rows)
    tiny = one.rows[dur < TINY_KERNEL_NS]
    if len(tiny):
        yield one.found("tiny_kernels", tiny, part=len(tiny) / len(one.rows))
    copies = one.op_names(one.rows, _COPIES)
    above = trace.host.parent[trace.device.op[one.rows[copies]]]
    copies[copies] = above >= 0
    copies[copies] = matches(trace.strings, trace.host.name[above[above >= 0]], _CONVERTS)
    if copies.any():
        yield one.found("conversion_kernels", one.rows[copies])


def _recomputed(one: DeviceCode) -> Iterator[Found]:
    """Kernels launched while activations are computed a second time."""
    trace, host = one.trace, one.trace.host
    recomputes = one.code.hosts.ask_names(
        lambda name: _RECOMPUTES.search(name) is not None, np.bool_
    )
    again = where_code(host.name, recomputes)
    again = again[host.kind[again] == HostKind.PYTHON]
    launch = trace.device.launch[one.rows].astype(np.int64)
    known = launch >= 0
    if not len(again) or not known.any():
        return
    inside = np.zeros(len(one.rows), np.bool_)
    for thread in distinct_values(host.thread[again]).tolist():
        mine = again[host.thread[again] == thread]
        time = union(host.ts[mine], host.ts[mine] + host.dur[mine])
        ts = host.ts[launch[known]]
        at = search(time.start, ts, "right") - 1
        within = (at >= 0) & (ts < time.end[np.maximum(at, 0)])
        inside[np.flatnonzero(known)[within & (host.thread[launch[known]] == thread)]] = True
    if inside.any():
        spent = trace.device.dur[one.rows]
        yield one.found("recompute", one.rows[inside],
                        part=float(spent[inside].sum() / max(int(spent.sum()), 1)))  # fmt: skip


def _drift(one: DeviceCode) -> Iterator[Found]:
    """Kinds of kernels whose last third is slower than the first, by the median.

    Needs grids, and three steps: within one, kernels of a kind may have other work each time.
    """
    if "grid" not in one.trace.device.args or len(one.code.windows) < LEAST_STEPS:
        return
    place, kind, begin, size = one.kinds
    dur = take(one.trace.device.dur, take(one.rows, place))
    # Kernels of a kind are neighbours.
    turn, third = np.arange(len(place)) - np.repeat(begin, size), size // 3
    of_first, of_last = turn < np.repeat(third, size), turn >= np.repeat(size - third, size)
    first, last = (
        group_medians(kind[some], dur[some], len(size)).tolist() for some in (of_first, of_last)
    )
    spent = group_sums(kind, dur, len(size)).total
    is_slower = np.zeros(len(size), np.bool_)
    excess = total = 0.0
    for at, ns in enumerate(spent.astype(np.float64).tolist()):
        total += ns
        if first[at] > 0 and last[at] > first[at]:
            is_slower[at] = True
            excess += ns * (1 - first[at] / last[at])
        elif first[at] > 0:
            excess -= ns * (1 - last[at] / first[at])
    if is_slower.any() and excess > 0:
        rows = one.rows[np.sort(place[is_slower[kind]])]
        mine = float(spent[is_slower].sum())
        yield one.found("drift", rows, part=excess / max(mine, 1.0), ratio=excess / max(total, 1.0))


def _slow_clock(one: DeviceCode) -> Iterator[Found]:
    """Kernels while the clock is below 95 % of its own 95th percentile, by the recorder's samples.

    Of the samples that hold while kernels run: an idle device sleeps at its lowest clock. A sample
    holds until the next one, for two periods at most; they have to cover 80 % of the time with
    kernels. A constant clock is a locked one, and no pattern.
    """
    clock = _counter(one, "sm_clock")
    if clock is None:
        return
    ts, end, mhz = clock.steps.start, clock.steps.end, _values(clock)
    busy = one.work.compute
    if intersect(busy, union(ts, end)).total_ns < COVERED_RATIO * busy.total_ns:
        return
    held = length_within(busy, ts, end)
    if np.count_nonzero(held) < LEAST_SAMPLES:
        return
    usual = float(np.percentile(mhz[held > 0], 95))
    low = (mhz < LOW_CLOCK_RATIO * usual) & (held > 0)
    slow = union(ts[low], end[low])
    time = intersect(busy, slow)
    if not time.total_ns:
        return
    mean = float(np.average(mhz[low], weights=held[low]))
    start = one.trace.device.ts[one.rows]
    rows = one.rows[length_within(slow, start, start + one.trace.device.dur[one.rows]) > 0]
    strings, names = one.trace.strings, one.trace.device.name[rows]
    heavy = {c: family_of(strings[c]) in COMPUTE_BOUND for c in distinct_values(names).tolist()}
    bound = rows[[heavy[code] for code in names.tolist()]]
    won = intersect(one.time(bound), slow).total_ns * (1 - mean / usual)
    figures = {"low_mhz": mean, "usual_mhz": usual, "part": won / time.total_ns}
    witnesses = sum(2**at for at, kind in enumerate(WITNESSES) if _counter(one, kind) is not None)
    found = one.found(
        "slow_clock", rows, **figures, reason=_why_slow(one, time), witnesses=float(witnesses)
    )
    yield replace(found, time=time)


def _why_slow(one: DeviceCode, slow: Intervals) -> float:
    """1: mean power is within 3 % of its highest then; 2: temperature within 2 °C; else 0.

    ``slow``: the time with kernels at a low clock.
    """
    for reason, kind in enumerate(WITNESSES, start=1):
        if (counter := _counter(one, kind)) is None:
            continue
        held, value = length_within(slow, counter.steps.start, counter.steps.end), _values(counter)
        most = float(value.max(initial=0.0))
        least = LIMIT_RATIO * most if kind == "power" else most - LIMIT_DEGREES
        if held.any() and float(np.average(value, weights=held)) >= least:
            return float(reason)
    return 0.0


def _counter(one: DeviceCode, kind: str) -> Series | None:
    """The first counter of a kind of the device."""
    return next((counter for counter in one.counters if counter.facts.kind == kind), None)


def _values(counter: Series) -> F64:
    """Its samples in its unit."""
    return np.asarray(counter.steps.value * real(1.0, counter.facts.decimals), np.float64)


def _memory_bound(one: DeviceCode) -> Iterator[Found]:
    """Families whose kernels keep DRAM at 60 % of its peak while 80 % of the SMs are active.

    By samples of both, 20 or more while kernels of the family run (counters/groups).
    """
    told = {
        counter.facts.kind: counter
        for counter in reversed(one.counters)
        if counter.facts.unit == "%" or counter.facts.peak
    }
    if not {"dram", "sm_active"} <= told.keys():
        return
    strings, names = one.trace.strings, one.trace.device.name[one.rows]
    family = {code: family_of(strings[code]) for code in distinct_values(names).tolist()}
    families = sorted(set(family.values()))
    group = np.array([families.index(family[code]) for code in names.tolist()], np.int64)
    ts = one.trace.device.ts[one.rows]
    work = union_by_group(group, ts, ts + one.trace.device.dur[one.rows])
    dram, active = (
        group_figures([told[kind]], {one.device: work}, len(families))
        for kind in ("dram", "sm_active")
    )
    bound = is_memory_bound(dram, active)
    if not bound.any():
        return
    spent = np.bincount(group, one.trace.device.dur[one.rows], len(families)) * bound
    percent = float(np.average(dram.mean[bound], weights=spent[bound]))
    busy = float(np.average(active.mean[bound], weights=spent[bound]))
    found = one.found(
        "memory_bound", one.rows[bound[group]], dram=percent, active=busy,
        part=max(0.0, 1 - percent / 100),
    )  # fmt: skip
    yield replace(found, name=families[int(spent.argmax())])


def _contention(one: DeviceCode) -> Iterator[Found]:
    """Kinds of kernels that take longer where half of them or more lies under a collective."""
    device = one.trace.device
    if "grid" not in device.args:
        return
    place, kind, _, size = one.kinds
    ts, dur = take(device.ts, one.rows), take(device.dur, one.rows)
    under = take(length_within(one.work.communication, ts, ts + dur) * 2 >= dur, place)
    dur = take(dur, place)
    here = group_sums(kind[under], dur[under], len(size))
    count, alone = here.count, group_medians(kind[~under], dur[~under], len(size))
    more = here.total - count * alone
    taxed = (count >= 3) & (count <= size - 3) & (more > 0)
    if taxed.any():
        rows = one.rows[np.sort(place[under & taxed[kind]])]
        spent = float(device.dur[rows].sum())
        tax = sum(more[taxed].tolist())
        yield one.found("contention", rows, part=tax / max(spent, 1.0))


def _messages(one: DeviceCode) -> Iterator[Found]:
    """Collectives by the size of their message, and those of SyncBatchNorm; exposed time alone."""
    trace = one.trace
    launch = trace.device.launch[one.collectives].astype(np.int64)
    size = _message_bytes(one, launch)
    kernels = one.work.compute
    small = one.collectives[(size >= 0) & (size < 262144)]
    if len(small):
        spent = trace.device.dur[one.collectives]
        found = one.found("small_messages", small,
                          part=float(trace.device.dur[small].sum() / max(int(spent.sum()), 1)),
                          largest=float(size[(size >= 0) & (size < 262144)].max()))  # fmt: skip
        yield _exposed(found, kernels)
    norm = _below(one, _SYNC_NORM)
    if norm.any():
        yield _exposed(one.found("sync_batch_norm", one.collectives[norm]), kernels)


def _exposed(found: Found, kernels: Intervals) -> Found:
    """The same pattern, with the time in which no kernel computes."""
    return replace(found, time=subtract(found.time, kernels))


def _message_bytes(one: DeviceCode, launch: I64) -> I64:
    """The larger of what a collective sends and receives, in bytes; −1 unknown."""
    trace = one.trace
    result = np.full(len(launch), -1, np.int64)
    elements = trace.device.args.get("in_elements")
    if elements is None:
        return result
    rows = one.collectives
    sent = cells(elements, rows, -1)
    received = cells(trace.device.args.get("out_elements"), rows, -1)
    dtype = cells(trace.device.args.get("collective_dtype"), rows, -1)
    width = np.array(
        [_ELEMENT_BYTES.get(trace.strings[d], 0) if d >= 0 else 0 for d in dtype.tolist()], np.int64
    )
    known = (width > 0) & (np.maximum(sent, received) >= 0)
    result[known] = (np.maximum(sent, received) * width)[known]
    return result


def _below(one: DeviceCode, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Collectives whose launch lies below an event of such a name, within twelve levels."""
    trace, host = one.trace, one.trace.host
    at = trace.device.launch[one.collectives].astype(np.int64)
    result = np.zeros(len(at), np.bool_)
    for _ in range(12):
        known = (at >= 0) & ~result
        if not known.any():
            break
        result[known] = matches(trace.strings, host.name[at[known]], pattern)
        at = np.where(at >= 0, host.parent[np.maximum(at, 0)], -1)
    return result


def _collectives(one: DeviceCode) -> Iterator[Found]:
    """All collectives."""
    yield one.found("collectives", one.collectives)


def _of_kernels(recognize: Recognizer) -> Recognizer:
    """Asks only where there are kernels."""
    return lambda one: recognize(one) if len(one.rows) else iter(())


def _of_collectives(recognize: Recognizer) -> Recognizer:
    """Asks only where there are collectives."""
    return lambda one: recognize(one) if len(one.collectives) else iter(())


_KERNELS = (products, _underfilled, attention, _small, _recomputed, _drift, _slow_clock,
            _memory_bound)  # fmt: skip
RECOGNIZERS: tuple[Recognizer, ...] = (
    *map(_of_kernels, _KERNELS),
    *map(_of_collectives, (_collectives, _contention, _messages)),
)
"""All patterns of one device."""
