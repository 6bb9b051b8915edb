"""Do kernels take longer than they need to? Grids, memory, clocks, recomputation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from ...base.arrays import F64, distinct_values, search, take, where_code
from ...base.group_sums import group_medians, group_sums
from ...base.intervals import Intervals, intersect, length_within, union
from ...base.regex import regex
from ...base.units import share
from ...trace.model import HostKind
from ..counters.groups import (
    MEMORY_BOUND_PERCENT,
    SM_ACTIVE_PERCENT,
    group_figures,
    is_memory_bound,
    union_by_group,
)
from ..counters.samples import Series, real
from ..findings import Evidence, Reference
from ..kernel_families import family_of
from ..overview.utilization import sparse_of
from ..steps import Selection
from ..user_code import DeviceCode, Found
from ..wording import device_noun
from .claims import (
    Seen,
    on_collectives,
    on_kernels,
    part_of_step,
    patterns,
    wasted,
)
from .rule import (
    CLOCKS,
    COMPILE_DEVICES,
    COMPILE_DOCS,
    COMPUTES,
    DEVICE_ACTIVITY,
    GRIDS,
    KERNELS_OF_OPS,
    LOW_RATIO,
    STACKS,
    TIME,
    TORCH_2_4,
    TRAFFIC,
    WHOLE,
    Advice,
    Threshold,
    from_2_0,
    is_older,
    pattern_rule,
)

TINY_COUNT_RATIO = Threshold("tiny_count_ratio", 0.30, "… of the number of all kernels")
RECOMPUTE_RATIO = Threshold("recompute_ratio", 0.20, "of the time of all kernels")
SLOW_CLOCK_RATIO = Threshold("slow_clock_ratio", 0.05, "of the time with kernels, at a low clock")


FREE_RATIO = 0.70  # of the card's memory: above it there is no room to keep activations


def _is_nvidia(selection: Selection) -> bool:
    device = selection.device_facts
    return device is not None and device.vendor == "NVIDIA"


LONG_KERNEL_NS = 20_000


RESERVED_RATIO = 0.75  # of the multiprocessors: a grid beyond it leaves some to other kernels


@on_kernels
def find_underfilled(one: DeviceCode) -> Iterator[Found]:
    """Kernels of 20 µs or more with less than one block per multiprocessor.

    A grid of nearly all multiprocessors leaves the rest to others on purpose.
    """
    have, blocks = sparse_of(one.trace, "blocks_per_sm", one.rows)
    dur = take(one.trace.device.dur, one.rows)
    chosen = have & (blocks > 0) & (blocks < RESERVED_RATIO) & (dur > LONG_KERNEL_NS)
    if chosen.any():
        empty = float(((1 - blocks[chosen]) * dur[chosen]).sum() / dur[chosen].sum())
        yield one.found("underfilled", one.rows[chosen], part=empty)


@pattern_rule(
    "KE2",
    "Kernels that fill the device badly",
    (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS),
    "underfilled",
    Threshold("underfilled_ratio", 0.05, "kernels with less than one block per multiprocessor"),
    measure=wasted,
    answers=COMPUTES,
    theoretical=True,
)
def underfilled(selection: Selection, seen: Seen) -> Advice:
    """Kernels with less than one block per multiprocessor waste more than {underfilled_ratio}.

    Kernels of 20 µs and more count, on three quarters of the multiprocessors at most: a larger
    grid leaves some to other kernels on purpose.

    Ceiling: these kernels on all multiprocessors.
    """
    one, part = seen[0], seen[0].figure("part")
    return Advice(
        title="Kernels leave multiprocessors without work",
        said=(
            f"For {part_of_step(selection, one)} kernels of 20 µs and more run with less than one "
            f"block per multiprocessor, most of it of `{one.pattern.name}`{one.place}: "
            f"{share(part)} of the device has nothing to do."
        ),
        action="Give each launch more work: larger batches, or several small products in one.",
        method="these kernels on as many multiprocessors as there are",
        scale=part,
        confidence=0.6,
        verify="Record again: est. SM efficiency should rise.",
    )


TINY_KERNEL_NS = 5_000


@on_kernels
def find_tiny_kernels(one: DeviceCode) -> Iterator[Found]:
    """Kernels of a few microseconds."""
    tiny = one.rows[take(one.trace.device.dur, one.rows) < TINY_KERNEL_NS]
    if len(tiny):
        yield one.found("tiny_kernels", tiny, part=len(tiny) / len(one.rows))


@pattern_rule(
    "KE4",
    "Kernels of a few microseconds",
    (TIME, WHOLE, DEVICE_ACTIVITY, KERNELS_OF_OPS),
    "tiny_kernels",
    Threshold("tiny_kernel_ratio", 0.05, "kernels below 5 µs"),
    TINY_COUNT_RATIO,
    answers=COMPUTES,
    theoretical=True,
)
def tiny_kernels(selection: Selection, seen: Seen) -> Advice | None:
    """Kernels below 5 µs are {tiny_count_ratio} of all, and take more than {tiny_kernel_ratio}.

    Silent where graphs are replayed, or an engine serves: there the rest could not be joined.

    Ceiling: their time.
    """
    one, part, traits = seen[0], seen[0].figure("part"), selection.facts.traits
    if part <= TINY_COUNT_RATIO.of(selection.limits) or traits.graph_launches or traits.serving:
        return None
    compiles = not traits.compiled and device_noun(selection) in COMPILE_DEVICES
    since = from_2_0(selection).capitalize()
    return Advice(
        title="Many kernels last a few microseconds",
        said=(
            f"{share(part)} of the kernels last less than 5 µs and run for "
            f"{part_of_step(selection, one)}, most of it for `{one.pattern.name}`{one.place}: "
            "what they read and write costs more than what they compute."
        ),
        action=f"{since}`torch.compile` joins neighbours into one; `foreach` ops do so for lists."
        if compiles
        else "Ops on lists (`torch._foreach_add_`) work on many tensors at once.",
        snippet="model = torch.compile(model)" if compiles and not since else "",
        method="time of these kernels",
        confidence=0.6,
        evidence=(
            Evidence("kernels below 5 µs", part, "ratio", TINY_COUNT_RATIO.of(selection.limits)),
        ),
        verify="Record again: fewer and longer kernels.",
        links=(Reference("How torch.compile works", url=COMPILE_DOCS),) if compiles else (),
    )


@on_kernels
def find_memory_bound(one: DeviceCode) -> Iterator[Found]:
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


@pattern_rule(
    "KE5",
    "Kernels that memory bounds, as measured",
    (TIME, WHOLE, DEVICE_ACTIVITY, TRAFFIC),
    "memory_bound",
    Threshold("memory_bound_ratio", 0.10, "kernels that memory bounds, as measured"),
    answers=COMPUTES,
)
def memory_bound(selection: Selection, seen: Seen) -> Advice:
    """Kernels that the device's memory bounds take more than {memory_bound_ratio}.

    Memory moves 60 % of its peak or more while 80 % of the multiprocessors or more are active,
    in a family of kernels: measured by 20 samples or more of both, not estimated from shapes as
    KE1.

    Ceiling: the same bytes at the peak.
    """
    one = seen[0]
    dram, active = one.figure("dram") / 100, one.figure("active") / 100
    return Advice(
        title="The memory of the device bounds kernels",
        said=(
            f"Kernels run for {part_of_step(selection, one)}, most of it {one.pattern.name}, with "
            f"the memory at {share(dram)} of its peak and {share(active)} of the multiprocessors "
            "active, by samples of both: they wait for memory, and faster arithmetic gains nothing."
        ),
        action=(
            "Move fewer bytes: join neighbours (`torch.compile`), keep activations in 16 bits, "
            "leave out copies."
        ),
        method="the same bytes at the peak of the memory",
        scale=one.figure("part"),
        confidence=0.8,
        evidence=(
            Evidence("memory traffic, of its peak", dram, "ratio", MEMORY_BOUND_PERCENT / 100),
            Evidence("active multiprocessors", active, "ratio", SM_ACTIVE_PERCENT / 100),
        ),
        verify="Record again with the same counters: these kernels take less time.",
    )


_RECOMPUTES = regex(r"torch/utils/checkpoint\.py\(\d+\): (recompute_fn|unpack_hook)$")


@on_kernels
def find_recomputed(one: DeviceCode) -> Iterator[Found]:
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


@pattern_rule(
    "RE1",
    "Recomputed activations with memory to spare",
    (TIME, WHOLE, DEVICE_ACTIVITY, STACKS),
    "recompute",
    LOW_RATIO,
    RECOMPUTE_RATIO,
    answers=COMPUTES,
)
def recompute(selection: Selection, seen: Seen) -> Advice | None:
    """More than {recompute_ratio} of kernel time recomputes activations beside free memory.

    `torch.utils.checkpoint` recomputes them, and 30 % of the memory is free.

    Ceiling: these kernels.
    """
    device, part = selection.device_facts, seen[0].figure("part")
    if device is None or not device.memory_bytes or device.peak_allocated_bytes is None:
        return None
    filled = device.peak_allocated_bytes / device.memory_bytes
    if part <= RECOMPUTE_RATIO.of(selection.limits) or filled > FREE_RATIO:
        return None
    return Advice(
        title="Activations are recomputed although memory is free",
        said=(
            f"{share(part)} of kernel time computes activations a second time, "
            f"{part_of_step(selection, seen[0])}, and tensors take {share(filled)} of the memory."
        ),
        action="Checkpoint fewer blocks: those whose activations are small for their time.",
        method="time of these kernels, as far as memory allows",
        confidence=0.7,
        evidence=(
            Evidence("recomputed kernel time", part, "ratio", RECOMPUTE_RATIO.of(selection.limits)),
        ),
        verify="Record again: less recomputed time, and the peak below the card's memory.",
    )


LEAST_DRIFT_STEPS = 3  # to tell whether kernels get slower


@on_kernels
def find_drift(one: DeviceCode) -> Iterator[Found]:
    """Kinds of kernels whose last third is slower than the first, by the median.

    Needs grids, and three steps: within one, kernels of a kind may have other work each time.
    """
    if "grid" not in one.trace.device.args or len(one.code.windows) < LEAST_DRIFT_STEPS:
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


_WATCH = "nvidia-smi --query-gpu=clocks.sm,power.draw,temperature.gpu --format=csv -l 1"


@pattern_rule(
    "CLK1",
    "Kernels that get slower",
    (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS),
    "drift",
    Threshold("drift_ratio", 0.03, "by which kernels of one kind get slower"),
    measure=lambda _, seen: seen[0].figure("ratio"),
    answers=COMPUTES,
)
def drift(selection: Selection, seen: Seen) -> Advice:
    """Kernels of one kind get slower, by more than {drift_ratio} of all kernel time.

    Of one name, grid and block there are 12 or more; the last third is compared with the first,
    in three steps or more.

    Ceiling: the excess.
    """
    return Advice(
        title="Kernels get slower while the recording goes on",
        said=(
            f"Kernels of one name and size take {share(seen[0].figure('ratio'))} more of all "
            "kernel time than they would at the pace of the first third: the clock may have fallen."
        ),
        action="Look at clock, power and temperature of the device; lock its clock to compare.",
        snippet=_WATCH if _is_nvidia(selection) else "",
        method="these kernels as fast as in the first third",
        scale=seen[0].figure("part", 1.0),
        confidence=0.5,
        verify="Record again: kernels of one kind last the same throughout.",
    )


LEAST_SAMPLES = 10  # of a counter
SAMPLED_RATIO = 0.8  # of the time with kernels, by samples
LOW_CLOCK_RATIO = 0.95  # of the clock's 95th percentile
LIMIT_RATIO, LIMIT_DEGREES = 0.97, 2.0  # of the highest power; below the highest temperature
WITNESSES = ("power", "temperature")  # counters that say why a clock falls
COMPUTE_BOUND = ("gemm", "convolution", "attention", "moe")  # families that follow the clock


@on_kernels
def find_slow_clock(one: DeviceCode) -> Iterator[Found]:
    """Kernels while the clock is below 95 % of its 95th percentile, by the recorder's samples.

    Of the samples that hold while kernels run: an idle device sleeps at its lowest clock. A sample
    holds until the next one, for two periods at most; they have to cover 80 % of the time with
    kernels. A constant clock is a locked one, and no pattern.
    """
    clock = _counter(one, "sm_clock")
    if clock is None:
        return
    ts, end, mhz = clock.steps.start, clock.steps.end, _values(clock)
    busy = one.work.compute
    if intersect(busy, union(ts, end)).total_ns < SAMPLED_RATIO * busy.total_ns:
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


_REASONS = {
    1.0: "Power is at its highest meanwhile: the device keeps to its power limit.",
    2.0: "The device is at its hottest meanwhile: it protects itself from heat.",
}
_NO_REASON = (
    "Power and temperature, which could say why, were not recorded.",
    "Power does not say why, and temperature was not recorded.",
    "Temperature does not say why, and power was not recorded.",
    "Neither power nor temperature says why.",
)
_COOLER = {
    1.0: "Raise the power limit if the machine allows it, and compare steps at equal clocks only.",
    2.0: "Look after the cooling of the machine, and compare steps at equal clocks only.",
}


@pattern_rule(
    "CLK2",
    "A clock that falls under load",
    (TIME, WHOLE, DEVICE_ACTIVITY, CLOCKS),
    "slow_clock",
    also=(SLOW_CLOCK_RATIO,),
    answers=COMPUTES,
)
def slow_clock(selection: Selection, seen: Seen) -> Advice | None:
    """The clock is low for more than {slow_clock_ratio} of the time with kernels.

    Low is below 95 % of the 95th percentile of the clock, both while kernels run, by ten samples
    or more that cover 80 % of that time. It says whether power (within 3 % of its highest) or
    temperature (within 2 °C) is at its highest then, or which of them was not recorded. A clock
    that never changes is a locked one: no finding.

    Ceiling: kernels that follow the clock (products, convolutions, attention) at the higher
    one.
    """
    one, limits = seen[0], selection.limits
    low, usual = one.figure("low_mhz"), one.figure("usual_mhz")
    busy = selection.partition.compute_ns if selection.partition else 0
    slow = one.ns / busy if busy else 0.0
    if slow <= SLOW_CLOCK_RATIO.of(limits):
        return None
    return Advice(
        title="The clock of the device falls while it works",
        said=(
            f"For {share(slow)} of the time with kernels the clock is low. In the recording it is "
            f"at {low:,.0f} MHz in the mean while kernels run then, and at {usual:,.0f} MHz at its "
            "best. " + _REASONS.get(one.figure("reason"), _NO_REASON[int(one.figure("witnesses"))])
        ),
        action=_COOLER.get(
            one.figure("reason"), "Look after what lowers it: a limit that was set, or a neighbour."
        ),
        snippet=_WATCH if _is_nvidia(selection) else "",
        method="kernels that compute most (products, convolutions, attention) at the higher clock",
        scale=one.figure("part"),
        confidence=0.8,
        evidence=(
            Evidence(
                "time with kernels at a low clock", slow, "ratio", SLOW_CLOCK_RATIO.of(limits)
            ),
        ),
        verify="Record again with the same counters: the clock stays at its highest.",
    )


@on_collectives
def find_contention(one: DeviceCode) -> Iterator[Found]:
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


def _runs_nccl(selection: Selection) -> bool:
    """True if kernels of NCCL or RCCL run on the device."""
    events = (event for one in patterns(selection, "collectives") for event in one.pattern.events)
    return any("nccl" in event.name.lower() for event in events)


def _fewer_blocks(selection: Selection) -> str:
    """The setting of NCCL since 2.17, else the one that it and RCCL always had."""
    device = selection.device_facts
    new = device is not None and device.vendor == "NVIDIA" and not is_older(selection, TORCH_2_4)
    return "NCCL_MAX_CTAS=8" if new else "NCCL_MAX_NCHANNELS=8"


@pattern_rule(
    "CO6",
    "Kernels beside communication",
    (TIME, WHOLE, DEVICE_ACTIVITY, GRIDS),
    "contention",
    Threshold("contention_ratio", 0.03, "by which kernels take longer under communication"),
    measure=wasted,
)
def contention(selection: Selection, seen: Seen) -> Advice:
    """Kernels lose more than {contention_ratio} to collectives beside them.

    Kernels of one name, grid and block are compared, under a collective and without.

    Ceiling: the excess over the median of those without.
    """
    one, part = seen[0], seen[0].figure("part")
    return Advice(
        title="Kernels take longer while communication runs",
        said=(
            f"Kernels that run beside a collective, {part_of_step(selection, one)}, spend "
            f"{share(part)} of that time beyond what the same kernels take alone."
        ),
        action="Let collectives use fewer multiprocessors, and compare the whole step.",
        snippet=_fewer_blocks(selection) if _runs_nccl(selection) else "",
        method="what these kernels take beyond the median of those without communication",
        scale=part,
        confidence=0.5,
        verify="Record again: these kernels last as long as alone.",
    )
