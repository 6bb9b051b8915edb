"""Is a device idle, and why? Slow launches, first launches, and all other idle time."""

from __future__ import annotations

import re

from msgspec import structs

from ...base.regex import regex
from ...base.units import duration, plural, share
from ..facts import IDLE_CAUSES, Idle, Partition
from ..findings import Evidence, Gain, Reference, SeenEvent
from ..steps import HeldSum, Selection
from ..wording import (
    CAUSE_NAMES,
    device_name,
    device_names,
    device_noun,
    held_by,
    per_step,
    scope,
    short_frame,
    step_noun,
    the_device,
)
from .claims import MOST_EVENTS, ceiling, seen_event
from .input import COPY_REMEDIES
from .rule import (
    COMPILE_DEVICES,
    COMPILE_DOCS,
    DEVICE_ACTIVITY,
    GRAPH_DOCS,
    SCHEDULE_DOCS,
    TIME,
    TORCH_1_11,
    TORCH_2_0,
    TRAINS,
    TUNING_DOCS,
    WHOLE,
    Advice,
    Fact,
    Remedy,
    Threshold,
    given,
    is_older,
    remedy_of,
    rule,
    sentences,
)
from .serving import gap_cause
from .waits import (
    ALLOCATES,
    ALLOCATOR_RATIO,
    ALLOCATOR_REMEDY,
    BLOCKING_RATIO,
    COPY_NAMES,
    READ_REMEDY,
    READS_BACK,
    WAIT_REMEDY,
    WAITING_COPY_REMEDIES,
    WAITS,
    cause_ns,
    idles_for,
    is_compute_bound,
    longest_held,
    repeats,
)

UTILIZATION_RATIO = Threshold(
    "utilization_ratio", 0.50, "kernels, of the steps and the gaps between them"
)
IDLE_RATIO = Threshold("idle_ratio", 0.10, "idle time without the DataLoader's part")
LAUNCH_RATIO = Threshold("launch_ratio", 0.15, "idle time while the host dispatches and launches")
FIRST_LAUNCH_RATIO = Threshold("first_launch_ratio", 0.02, "slow first launches")


CAUSE_RATIO = 0.50  # of a device's idle time: what makes so much of it is its cause
NAMED_RATIO = 0.10  # of a device's idle time: names that hold less are not said
MANY_LAUNCHES = 20  # per step: short stretches of idle time that make a launch-bound run
_NAMED_GAPS_RATIO = 0.01  # of the steps: gaps between them that are less are not said
LONG_NS = 1_000_000  # a call below this is no start of the runtime


def _most_of_idle(name: str) -> Fact:
    """A cause is at least half of the device's time without kernels."""
    return Fact(
        f"{name} is at least half of the idle time",
        lambda chosen: (
            getattr(chosen.partition or Partition(), name)
            >= CAUSE_RATIO * max(without_kernels(chosen), 1)
        ),
    )


def without_kernels(selection: Selection) -> int:
    """The time without kernels: idle time, exposed copies and memsets."""
    part = selection.partition or Partition()
    return part.idle_ns + part.exposed_copy_ns + part.memset_ns


def _top(selection: Selection) -> HeldSum | None:
    return selection.held[0] if selection.held else None


def _blocks_in(calls: str = "", op: str = "") -> Fact:
    """True if one blocking call makes half of the idle time and its name, or its op's, matches."""
    call_name, op_name = regex(calls), regex(op)

    def holds(selection: Selection) -> bool:
        top = _top(selection)
        if top is None or top.idle_ns < CAUSE_RATIO * without_kernels(selection):
            return False
        around = top.place.op if top.place else ""
        return (
            top.kind == "blocking"
            and repeats(selection, top)
            and call_name.search(top.name) is not None
            and op_name.search(around) is not None
        )

    return Fact(f"a blocking call like {calls or op} holds most of the idle time", holds)


def _is_first(selection: Selection) -> bool:
    """True for one long call, the first of its kind, that may start the runtime or load code."""
    top = _top(selection)
    if top is None or not top.longest.first or top.longest.longest_ns < LONG_NS:
        return False
    if top.kind == "blocking" and re.search(ALLOCATES, top.name) is None:
        return False
    return top.kind in (
        "blocking",
        "runtime",
        "op",
    ) and top.longest.longest_ns >= CAUSE_RATIO * without_kernels(selection)


def _launch_bound(selection: Selection) -> bool:
    idle, part = selection.idle, selection.partition or Partition()
    short = idle.short_ns - part.idle_dataloader_ns - part.idle_capture_ns
    return short >= CAUSE_RATIO * without_kernels(
        selection
    ) and idle.short_count >= MANY_LAUNCHES * max(selection.count, 1)


def _mostly_copies(selection: Selection) -> bool:
    part = selection.partition or Partition()
    return part.exposed_copy_ns >= CAUSE_RATIO * max(without_kernels(selection), 1)


LAUNCH_CAUSES = ("idle_dispatch_ns", "idle_optimizer_ns", "idle_launch_ns", "idle_latency_ns")
"""Causes of idle time while the host launches without a pause, including Python between ops."""


def launch_causes(selection: Selection) -> tuple[str, ...]:
    """The causes that count as launching; () where the run is not launch-bound."""
    names = (*LAUNCH_CAUSES, "idle_python_ns")
    large = selection.ratio(cause_ns(selection, *names)) > LAUNCH_RATIO.of(selection.limits)
    return names if large and _launch_bound(selection) else ()


def own_causes(selection: Selection) -> tuple[str, ...]:
    """The causes of idle time that are large enough for findings of their own (``waiting``)."""
    limits = selection.limits
    single = {
        "idle_blocking_ns": BLOCKING_RATIO.of(limits),
        "idle_allocator_ns": ALLOCATOR_RATIO.of(limits),
        "idle_first_launch_ns": FIRST_LAUNCH_RATIO.of(limits),
    }
    found = [name for name, limit in single.items()
             if selection.ratio(cause_ns(selection, name)) > limit]  # fmt: skip
    between = gap_cause(selection)
    return (*found, *launch_causes(selection), *((between,) if between else ()))


IN_LOADER = _most_of_idle("idle_dataloader_ns")
CAPTURE = _most_of_idle("idle_capture_ns")
UNRECORDED = _most_of_idle("idle_uninstrumented_ns")
IN_PYTHON = Fact(
    "one frame of the user's code holds at least half of the idle time",
    lambda chosen: (
        bool(chosen.idle.frame)
        and chosen.idle.frame_ns >= CAUSE_RATIO * max(without_kernels(chosen), 1)
    ),
)
COPIES = Fact("copies are at least half of the time without kernels", _mostly_copies)
FIRST = Fact("one call that came for the first time holds half of the idle time", _is_first)
LAUNCH_BOUND = Fact(
    "many short stretches that end with a launch are at least half of the idle time", _launch_bound
)
COMPILED = Fact("code of torch.compile ran", lambda chosen: chosen.facts.traits.compiled)
NOT_COMPILED = Fact("no code of torch.compile ran", lambda chosen: not chosen.facts.traits.compiled)
NO_GRAPHS = Fact("no graph was replayed", lambda chosen: not chosen.facts.traits.graph_launches)
SERVES = Fact("a framework serves the model", lambda chosen: bool(chosen.facts.traits.serving))
CAN_COMPILE = Fact(
    "torch.compile has a back end for this device",
    lambda chosen: device_noun(chosen) in COMPILE_DEVICES,
)
HAS_COMPILE = Fact(
    "this torch has torch.compile, from 2.0 on", lambda chosen: not is_older(chosen, TORCH_2_0)
)
HAS_FRAMES = Fact(
    "this torch records Python frames, from 1.11 on",
    lambda chosen: not is_older(chosen, TORCH_1_11),
)
CUDA = Fact("the device is a GPU", lambda chosen: device_noun(chosen) == "GPU")
HAS_STACKS = Fact(
    "Python frames were recorded", lambda chosen: chosen.facts.counts.get("python", 0) > 0
)
NO_STACKS = Fact(
    "no Python frame was recorded", lambda chosen: not chosen.facts.counts.get("python")
)
ALONE = Fact(
    "nothing of the host was recorded",
    lambda chosen: (
        not any(chosen.facts.counts.get(kind) for kind in ("op", "runtime", "python", "module"))
    ),
)
HAS_OPS = Fact("ops were recorded", lambda chosen: chosen.facts.counts.get("op", 0) > 0)
_LARGER = "Larger batches give each launch more work"
_LARGER_TRAINING = f"{_LARGER} (check that the training still converges)"
_COMPILES = "`torch.compile` launches fewer kernels."
_WOULD_COMPILE = "from torch 2.0 on, `torch.compile` launches fewer kernels"
_REPLAYS = '`torch.compile(mode="reduce-overhead")` replays the launches as one graph.'
_COMPILE_CODE = "model = torch.compile(model)"
_REPLAY_CODE = 'model = torch.compile(model, mode="reduce-overhead")'
_COMPILE_LINK = (Reference("How torch.compile works", url=COMPILE_DOCS),)
_GRAPH_LINK = (Reference("How graphs are replayed", url=GRAPH_DOCS),)
_WHOLE_GRAPH = (COMPILED, NO_GRAPHS, CUDA)
_COULD_BE_COMPILED = (NOT_COMPILED, NO_GRAPHS, CAN_COMPILE, HAS_OPS)
CAN_BE_COMPILED = (*_COULD_BE_COMPILED, HAS_COMPILE)
# Remedies that several rules give; each adds the facts of its own.
LAUNCH_REMEDIES = (
    Remedy(
        f"{_LARGER}. Graphs replay many launches at once: do not run the server in eager mode.",
        (SERVES, NO_GRAPHS),
    ),
    Remedy(f"{_LARGER}.", (SERVES,)),
    Remedy(
        f"{_LARGER_TRAINING}; {_COMPILES}",
        (TRAINS, *CAN_BE_COMPILED),
        _COMPILE_CODE,
        _COMPILE_LINK,
    ),
    Remedy(f"{_LARGER}; {_COMPILES}", CAN_BE_COMPILED, _COMPILE_CODE, _COMPILE_LINK),
    Remedy(f"{_LARGER_TRAINING}; {_REPLAYS}", (TRAINS, *_WHOLE_GRAPH), _REPLAY_CODE, _GRAPH_LINK),
    Remedy(f"{_LARGER}; {_REPLAYS}", _WHOLE_GRAPH, _REPLAY_CODE, _GRAPH_LINK),
    Remedy(f"{_LARGER_TRAINING}; {_WOULD_COMPILE}.", (TRAINS, *_COULD_BE_COMPILED)),
    Remedy(f"{_LARGER}; {_WOULD_COMPILE}.", _COULD_BE_COMPILED),
    Remedy(f"{_LARGER_TRAINING}.", (TRAINS,)),
    Remedy(f"{_LARGER}.", ()),
)
FIRST_REMEDY = Remedy(
    "A first call may start the runtime or load kernels, which later steps do not pay for: run "
    "some steps before the recording starts.",
    (),
    "profile(…, schedule=torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1))",
    (Reference("How to record after a warm-up", url=SCHEDULE_DOCS),),
)


@rule(
    "LA1",
    "Launches that do not keep up",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    LAUNCH_RATIO,
    answers={"idle_host_ns", *("idle_dispatch_ns", "idle_launch_ns", "idle_optimizer_ns")},
    remedies=LAUNCH_REMEDIES,
)
def launches(selection: Selection) -> Advice | None:
    """The host launches too slowly: a device idles for more than {launch_ratio} meanwhile.

    The host runs ops, Python and launch calls; half of the idle time lies in stretches below 1
    ms that end with a launch, 20 or more per step.

    Ceiling: that idle time.
    """
    idle, launches = selection.idle, selection.launches
    count = plural(idle.short_count, "stretch", "stretches")
    pace = (
        f"{share(launches.short_count / launches.count)} of the calls take longer than the kernel "
        "that they launch."
        if launches.count and launches.short_count * 4 >= launches.count
        else ""
    )
    return idles_for(
        selection,
        LAUNCH_RATIO.of(selection.limits),
        Advice(
            title=f"The host launches too slowly: the {device_noun(selection)} starves",
            said="",
            method="while the host runs ops, Python and launch calls",
            confidence=0.8,
            verify="Record again: fewer launches, and less idle time between them.",
        ),
        launch_causes(selection),
        f"Most of it lies in {count} below 1 ms that each end with a launch.",
        pace,
    )


@rule(
    "LA4",
    "Slow first launches",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    FIRST_LAUNCH_RATIO,
    answers={"idle_first_launch_ns", "idle_host_ns"},
    remedies=(FIRST_REMEDY,),
)
def first_launches(selection: Selection) -> Advice | None:
    """A device idles for more than {first_launch_ratio} in slow first launches.

    They come for the first time and take long, or load code. Start-up is no idle time.

    Ceiling: that idle time.
    """
    return idles_for(
        selection,
        FIRST_LAUNCH_RATIO.of(selection.limits),
        Advice(
            title="First launches take long",
            said="",
            headline=f"{the_device(selection)} waits for slow first launches for {{part}}.",
            method="in launches that come for the first time, or load the code of a kernel",
            confidence=0.85,
            verify="Record later steps: no first launch in them.",
        ),
        ("idle_first_launch_ns",),
    )


IDLE_REMEDIES = (
    Remedy("Most of it is the DataLoader: see to that first.", (IN_LOADER,)),
    *(given(one, COPIES) for one in COPY_REMEDIES),
    given(FIRST_REMEDY, FIRST),
    given(READ_REMEDY, _blocks_in(op=READS_BACK)),
    *(given(one, _blocks_in(COPY_NAMES)) for one in WAITING_COPY_REMEDIES),
    given(ALLOCATOR_REMEDY, _blocks_in(ALLOCATES)),
    given(WAIT_REMEDY, _blocks_in(WAITS)),
    *(given(one, LAUNCH_BOUND) for one in LAUNCH_REMEDIES),
    Remedy(
        "Look at that code first. Recording stacks slows Python down, too: compare with a "
        "recording without `with_stack=True`.",
        (IN_PYTHON, HAS_STACKS),
    ),
    Remedy(
        "Record with `with_stack=True` to see the Python that ran there.",
        (UNRECORDED, NO_STACKS, HAS_OPS, HAS_FRAMES),
    ),
    Remedy(
        "Record with `torch.profiler.profile` of torch 1.11 or later and `with_stack=True` to see "
        "the Python that ran there.",
        (UNRECORDED, NO_STACKS, HAS_OPS),
    ),
    Remedy(
        "Record the host, too (`ProfilerActivity.CPU`): its calls tell what each stretch waited "
        "for.",
        (ALONE,),
    ),
)


@rule(
    "UT1",
    "Devices that are idle",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    UTILIZATION_RATIO,
    IDLE_RATIO,
    answers={"idle_host_ns", "idle_sync_ns", "idle_unattributed_ns", "exposed_copy_ns"},
    remedies=IDLE_REMEDIES,
)
def idle_devices(selection: Selection) -> Advice | None:
    """A device runs kernels less than {utilization_ratio} of the time, or idles {idle_ratio} of it.

    One that is compute-bound does not idle. Neither time in which a graph is captured counts,
    nor, for idle time, that of the DataLoader.

    Ceiling: its idle time without the DataLoader's part, the capture of graphs, and the causes
    above that are large enough for findings of their own.
    """
    if not selection.total_ns:
        return None
    seen = {
        row: selection.of_device(row)
        for row, device in enumerate(selection.facts.devices)
        if device.used
    }
    low = {row: utilization(one, row) for row, one in seen.items()}
    low = {
        row: ratio for row, ratio in low.items() if ratio < UTILIZATION_RATIO.of(selection.limits)
    }
    shown = selection.device
    if low and shown not in low:
        shown = min(low, key=low.__getitem__)
    if shown is None or not (low or _idles(seen[shown])):
        return None
    one = seen[shown]
    part = one.partition or Partition()
    if cause_ns(one, *own_causes(one)) >= CAUSE_RATIO * max(without_kernels(one), 1):
        return None  # causes with findings of their own
    if part.idle_capture_ns >= CAUSE_RATIO * (part.idle_ns - part.idle_dataloader_ns) > 0:
        return None
    told = {"idle_dataloader_ns", "idle_capture_ns", *own_causes(one)}
    rest = [name for name in IDLE_CAUSES if name not in told and getattr(part, name)]
    gain = ceiling(
        one,
        cause_ns(one, *rest),
        f"idle time of the {device_noun(one)} without the DataLoader's part, the capture of "
        "graphs, and causes with findings of their own",
        *rest,
    )
    return _idle_advice(selection, one, low, gain)


def _captured(selection: Selection) -> int:
    """Idle time under the capture of a graph, as far as the DataLoader's part leaves room."""
    part = selection.partition or Partition()
    return part.idle_capture_ns


def _idles(selection: Selection) -> bool:
    """True if a device, busy half of the time and not compute-bound, idles a tenth of it."""
    part = selection.partition or Partition()
    if is_compute_bound(selection, part):
        return False
    rest = part.idle_ns - part.idle_dataloader_ns - _captured(selection)
    return selection.ratio(rest) >= IDLE_RATIO.of(selection.limits)


def utilization(selection: Selection, row: int) -> float:
    """Union of kernels of a device, of the chosen time in which no graph was captured."""
    gauges, covered = selection.gauges(row)
    covered -= _captured(selection)
    return gauges.busy_ns / covered if covered > 0 else 1.0


def _idle_advice(
    selection: Selection, one: Selection, low: dict[int, float], gain: Gain | None
) -> Advice:
    part, idle, facts = one.partition or Partition(), one.idle, selection.facts
    row = one.device
    assert row is not None
    device = facts.devices[row]
    name = device_name(device)
    gauges, covered = selection.gauges(row)
    busy = gauges.busy_ns / covered if covered else 0.0
    low_devices = [facts.devices[other] for other in low]
    several = (
        f"{len(low)} devices are below half: {device_names(low_devices)}." if len(low) > 1 else ""
    )
    remedy = remedy_of(IDLE_REMEDIES, one)
    tuning = Reference(f"How to keep the {device_noun(one)} busy", url=TUNING_DOCS)
    title = (
        f"{name} runs kernels {share(busy)} of the time"
        if row in low
        else f"{name} idles {share(one.ratio(part.idle_ns))} of the {step_noun(facts)}"
    )
    copies = part.exposed_copy_ns
    # Its share of the steps alone stands elsewhere on the page: the two must not seem to differ.
    has_gaps = covered > (1 + _NAMED_GAPS_RATIO) * one.total_ns
    between = (
        " from the start of the first chosen step to the end of the last, the time between "
        "neighbours included"
        if has_gaps
        else ""
    )
    return Advice(
        title=title,
        otherwise="info",
        confidence=0.7,
        said=sentences(
            f"Kernels cover {share(busy)} of the time on {name}{between}, and it idles "
            f"{duration(one.mean(part.idle_ns))} {per_step(one)}.",
            several,
            f"For {duration(one.mean(copies))} {per_step(one)} it only copies."
            if copies >= NAMED_RATIO * without_kernels(one)
            else "",
            *_causes(one, idle),
        ),
        evidence=(
            *(
                Evidence(
                    f"utilization of {device_name(facts.devices[other])}",
                    ratio,
                    "ratio",
                )
                for other, ratio in (low or {row: busy}).items()
            ),
            *_parts(one),
        ),
        gain=gain,
        scope=scope(one),
        links=(*longest_held(one.held),),
        verify="Record again: utilization should rise, and as many samples take less time.",
        events=_events(one),
        remedy=structs.replace(remedy, links=(*remedy.links, tuning)),
    )


def _causes(selection: Selection, idle: Idle) -> list[str]:
    """The contents of the idle time: its kind, names with count and longest, the frame."""
    total = max(without_kernels(selection), 1)
    noun = device_noun(selection)
    part = selection.partition or Partition()
    said = []
    if part.idle_capture_ns >= NAMED_RATIO * total:
        said.append(
            f"For {duration(part.idle_capture_ns)} of that a graph is captured: launches put "
            f"nothing on the {noun} then."
        )
    if _launch_bound(selection):
        said.append(
            f"Of that, {duration(idle.short_ns)} lie in "
            f"{plural(idle.short_count, 'stretch', 'stretches')} below 1 ms that each end with a "
            "launch: the host launches no faster."
        )
    if idle.queued_ns >= CAUSE_RATIO * total:
        within = part.idle_graph_ns >= CAUSE_RATIO * idle.queued_ns
        graphs = " (within a graph, kernels wait for each other)" if within else ""
        said.append(
            f"For {duration(idle.queued_ns)} of that the next work was launched, and the {noun} "
            f"had not started it{graphs}."
        )
    names = held_by(selection, NAMED_RATIO * total)
    if names:
        said.append(f"Meanwhile the host is in {names}.")
    frame = short_frame(idle.frame)
    if frame and frame not in names and idle.frame_ns >= CAUSE_RATIO * total:
        said.append(f"{duration(idle.frame_ns)} lie under `{frame}`.")
    if part.idle_uninstrumented_ns >= NAMED_RATIO * total:
        said.append(
            f"For {duration(part.idle_uninstrumented_ns)} the thread that launches next runs no "
            "known operator."
        )
    if selection.count > 1 and said:
        said[0] = f"Over {plural(selection.count, 'step')}: {said[0][0].lower()}{said[0][1:]}"
    return said


def _parts(selection: Selection) -> tuple[Evidence, ...]:
    part = selection.partition or Partition()
    return tuple(
        Evidence(
            f"idle, {CAUSE_NAMES[name]}, {per_step(selection)}",
            selection.mean(getattr(part, name)),
            "ns",
        )
        for name in IDLE_CAUSES
        if getattr(part, name)
    )


def _events(selection: Selection) -> tuple[SeenEvent, ...]:
    """Holders of the device in its longest gaps, or the work that ended them."""
    found = []
    for seen in selection.gaps[:MOST_EVENTS]:
        gap = seen.gap
        text = f"Idle for {duration(gap.dur_ns)}"
        if seen.held is not None and gap.held_spot.slice >= 0:
            where = (gap.held_spot, gap.held_ts, gap.held_dur_ns)
            found.append(
                seen_event(
                    selection, seen.held.name, *where, f"{text}: {short_frame(seen.held.name)[:60]}"
                )
            )
        elif gap.following_spot.slice >= 0:
            where = (gap.following_spot, gap.ts + gap.dur_ns, gap.following_dur_ns)
            name = f"{text}, until {short_frame(seen.following)[:60]}"
            found.append(seen_event(selection, seen.following, *where, name))
    return tuple({one.slice: one for one in reversed(found)}.values())[::-1]
