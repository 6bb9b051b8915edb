"""UT1: is a device idle for a good part of its time, and what was the host doing meanwhile?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...base.regex import regex
from ...base.units import duration, plural, share
from ..facts import IDLE_CAUSES, CopySum, Idle, Partition
from ..findings import Evidence, Finding, Gain, Reference, SeenEvent, at_time
from ..headline import is_compute_bound
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
)
from .claims import MOST_EVENTS, seen_event
from .rule import (
    CAUSE_RATIO,
    COMPILE_DEVICES,
    DEVICE_ACTIVITY,
    MANY_LAUNCHES,
    NAMED_RATIO,
    TIME,
    TORCH_1_11,
    TORCH_2_0,
    WHOLE,
    Fact,
    Remedy,
    Rule,
    ceiling,
    given,
    is_older,
    remedy_of,
    sentences,
    severity_of,
)

_TUNING = "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html"
_COMPILE = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
_GRAPHS = "https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html"
_SCHEDULE = "https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule"

_PINNED = "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
_ALLOCATOR = "https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-memory-management"
_PINNED_LINK = (Reference("How to copy without waiting", url=_PINNED),)

# Blocking calls, and ops around them, by what they wait for; names of all vendors that have them.
READS_BACK = r"^aten::(_local_scalar_dense|item|is_nonzero|nonzero|equal|_unique2?)$"
COPY_NAMES = r"Memcpy|[cC]opy"
ALLOCATES = r"^(cuda|cu|hip)(Mem)?(Malloc|Free|Alloc|HostAlloc|HostFree|HostMalloc)"
WAITS = r"[sS]ynchronize|QueueFinish|EventWait"

_NAMED_GAPS_RATIO = 0.01  # of the steps: gaps between them that are less are not said
LONG_NS = 1_000_000  # a call below this is no start of the runtime


def _most_of_idle(name: str) -> Fact:
    """A cause is at least half of the device's time without kernels."""
    return Fact(
        f"{name} is at least half of the idle time",
        lambda chosen: (
            getattr(chosen.partition or Partition(), name) >= CAUSE_RATIO * max(_rest(chosen), 1)
        ),
    )


def _rest(selection: Selection) -> int:
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
        if top is None or top.idle_ns < CAUSE_RATIO * _rest(selection):
            return False
        around = top.place.op if top.place else ""
        return (
            top.kind == "blocking"
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
    ) and top.longest.longest_ns >= CAUSE_RATIO * _rest(selection)


def _launch_bound(selection: Selection) -> bool:
    idle, part = selection.idle, selection.partition or Partition()
    short = idle.short_ns - part.idle_dataloader_ns - part.idle_capture_ns
    return short >= CAUSE_RATIO * _rest(selection) and idle.short_count >= MANY_LAUNCHES * max(
        selection.count, 1
    )


def _copies(selection: Selection) -> bool:
    part = selection.partition or Partition()
    return part.exposed_copy_ns >= CAUSE_RATIO * max(_rest(selection), 1)


def exposed_copies(selection: Selection) -> list[CopySum]:
    """Kinds of copies that run with nothing else, those that take most time so first."""
    kinds = [one for one in selection.copies if one.exposed_ns]
    return sorted(kinds, key=lambda one: -one.exposed_ns)


def _copies_most(kind: str, text: str) -> Fact:
    """Most of the time of exposed copies is that of pageable ones of a kind."""

    def holds(selection: Selection) -> bool:
        first = exposed_copies(selection)[:1]
        return any((one.kind, one.memory) == (kind, "pageable") for one in first)

    return Fact(text, holds)


def longest_held(held: Sequence[HeldSum]) -> tuple[Reference, ...]:
    """A link to the longest event of the name that holds most idle time, in the Trace view."""
    return tuple(
        at_time(
            f"The longest {short_frame(one.name)[:80]}",
            one.longest.ts,
            one.longest.dur_ns,
            one.longest.spot.slice,
        )
        for one in held[:1]
    )


LAUNCH_CAUSES = ("idle_dispatch_ns", "idle_optimizer_ns", "idle_launch_ns", "idle_latency_ns")
"""What a device idles for while the host launches as fast as it can; Python between ops too."""


def cause_ns(selection: Selection, *names: str) -> int:
    """The idle time of the chosen device for some causes."""
    part = selection.partition or Partition()
    return sum(getattr(part, name) for name in names)


def launch_causes(selection: Selection) -> tuple[str, ...]:
    """The causes that count as launching; () where the run is not launch-bound."""
    names = (*LAUNCH_CAUSES, "idle_python_ns")
    large = selection.ratio(cause_ns(selection, *names)) > selection.limits.launch_ratio
    return names if large and _launch_bound(selection) else ()


def own_causes(selection: Selection) -> tuple[str, ...]:
    """The causes of idle time that are large enough for findings of their own (``waiting``)."""
    limits = selection.limits
    single = {
        "idle_blocking_ns": limits.blocking_ratio,
        "idle_allocator_ns": limits.allocator_ratio,
        "idle_first_launch_ns": limits.first_launch_ratio,
    }
    found = [name for name, limit in single.items()
             if selection.ratio(cause_ns(selection, name)) > limit]  # fmt: skip
    return (*found, *launch_causes(selection))


COVERED = Fact(
    "causes with findings of their own are at least half of the idle time",
    lambda chosen: cause_ns(chosen, *own_causes(chosen)) >= CAUSE_RATIO * max(_rest(chosen), 1),
)
LOADER = _most_of_idle("idle_dataloader_ns")
CAPTURE = _most_of_idle("idle_capture_ns")
UNRECORDED = _most_of_idle("idle_uninstrumented_ns")
IN_PYTHON = Fact(
    "one frame of the user's code holds at least half of the idle time",
    lambda chosen: (
        bool(chosen.idle.frame) and chosen.idle.frame_ns >= CAUSE_RATIO * max(_rest(chosen), 1)
    ),
)
COPIES = Fact("copies are at least half of the time without kernels", _copies)
LOADS = Fact(
    "batches come from a DataLoader", lambda chosen: bool(chosen.facts.traits.dataloader_class)
)


def _copies_one_way(kind: str, other: str, text: str) -> Fact:
    """Copies that cross between host and device all go one way."""

    def holds(selection: Selection) -> bool:
        kinds = {one.kind for one in selection.copies}
        return kind in kinds and other not in kinds

    return Fact(text, holds)


COPIES_IN = _copies_one_way("HtoD", "DtoH", "copies go to the device, and none to the host")
COPIES_OUT = _copies_one_way("DtoH", "HtoD", "copies go to the host, and none to the device")
PAGEABLE_IN = _copies_most("HtoD", "copies from pageable memory take most of the exposed time")
PAGEABLE_OUT = _copies_most("DtoH", "copies to pageable memory take most of the exposed time")
FIRST = Fact("one call that came for the first time holds half of the idle time", _is_first)
LAUNCH_BOUND = Fact(
    "many short stretches that end with a launch are at least half of the idle time", _launch_bound
)
COMPILED = Fact("code of torch.compile ran", lambda chosen: chosen.facts.traits.compiled)
NOT_COMPILED = Fact("no code of torch.compile ran", lambda chosen: not chosen.facts.traits.compiled)
NO_GRAPHS = Fact("no graph was replayed", lambda chosen: not chosen.facts.traits.graph_launches)
SERVES = Fact("a framework serves the model", lambda chosen: bool(chosen.facts.traits.serving))
TRAINS = Fact("autograd ran", lambda chosen: chosen.facts.traits.backward)
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
STACKS = Fact(
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
_COMPILE_LINK = (Reference("How torch.compile works", url=_COMPILE),)
_GRAPH_LINK = (Reference("How graphs are replayed", url=_GRAPHS),)
_WHOLE_GRAPH = (COMPILED, NO_GRAPHS, CUDA)
_COULD_BE_COMPILED = (NOT_COMPILED, NO_GRAPHS, CAN_COMPILE, HAS_OPS)
_CAN_BE_COMPILED = (*_COULD_BE_COMPILED, HAS_COMPILE)

# Remedies that several rules give; each adds the facts of its own.
LAUNCH_REMEDIES = (
    Remedy(
        f"{_LARGER}. Graphs replay many launches at once: do not run the server in eager mode.",
        (SERVES, NO_GRAPHS),
    ),
    Remedy(f"{_LARGER}.", (SERVES,)),
    Remedy(
        f"{_LARGER_TRAINING}; {_COMPILES}",
        (TRAINS, *_CAN_BE_COMPILED),
        _COMPILE_CODE,
        _COMPILE_LINK,
    ),
    Remedy(f"{_LARGER}; {_COMPILES}", _CAN_BE_COMPILED, _COMPILE_CODE, _COMPILE_LINK),
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
    (Reference("How to record after a warm-up", url=_SCHEDULE),),
)
READ_REMEDY = Remedy(
    "Reading a value back (`.item()`, `if tensor:`, printing) waits for the device: do it less "
    "often, or after the next work was launched.",
    (),
)
_INTO_PINNED = "results.copy_(y, non_blocking=True)  # results"
_FROM_PINNED = "x = x.to(device, non_blocking=True)  # x in pinned memory"
_WAITING_COPY = "Such a copy returns when it is done: keep the tensor on the device, or copy"
WAITING_COPY_REMEDIES = (
    Remedy(
        f"{_WAITING_COPY} it with `non_blocking=True` into pinned memory and read it later, when "
        "the copy is done.",
        (COPIES_OUT,),
        f"{_INTO_PINNED} in pinned memory",
        _PINNED_LINK,
    ),
    Remedy(
        f"{_WAITING_COPY} it with `non_blocking=True` from pinned memory.",
        (COPIES_IN,),
        _FROM_PINNED,
        _PINNED_LINK,
    ),
    Remedy(
        f"{_WAITING_COPY} it with `non_blocking=True` from or into pinned memory.",
        (),
        "",
        _PINNED_LINK,
    ),
)
ALLOCATOR_REMEDY = Remedy(
    "The allocator asks the driver for memory or gives it back: keep sizes the same from step "
    "to step, and call no `empty_cache()` between steps.",
    (),
    "",
    (Reference("How the allocator works", url=_ALLOCATOR),),
)
WAIT_REMEDY = Remedy(
    "Nothing is launched until the call returns: wait for the device less often.", ()
)
COPY_REMEDIES = (
    Remedy(
        "Have the DataLoader put batches into pinned memory, and copy them with "
        "`non_blocking=True` while kernels run.",
        (LOADS, PAGEABLE_IN),
        "DataLoader(…, pin_memory=True)\nx = x.to(device, non_blocking=True)",
        _PINNED_LINK,
    ),
    Remedy(
        "Copy from pinned memory with `non_blocking=True` while kernels run, or copy less.",
        (PAGEABLE_IN,),
        _FROM_PINNED,
        _PINNED_LINK,
    ),
    Remedy(
        "Copy results to pinned memory with `non_blocking=True` and read them later, or copy less.",
        (PAGEABLE_OUT,),
        f"{_INTO_PINNED} = torch.empty(…, pin_memory=True)",
        _PINNED_LINK,
    ),
    Remedy("Copy less, or on a stream of its own while kernels run.", ()),
)

REMEDIES = (
    Remedy("Most of it is the DataLoader: see to that first.", (LOADER,)),
    Remedy("Most of it has findings of its own: see to these first.", (COVERED,)),
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
        (IN_PYTHON, STACKS),
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


def check(selection: Selection) -> Finding | None:
    """Fires for a used device with kernels in less than half of its time, or 10 % of it idle.

    Neither time in which a graph is captured counts, nor, for the idle time, that of the
    DataLoader, which is another finding's.
    """
    if not selection.total_ns:
        return None
    seen = {
        row: selection.of_device(row)
        for row, device in enumerate(selection.facts.devices)
        if device.used
    }
    low = {row: utilization(one, row) for row, one in seen.items()}
    low = {row: ratio for row, ratio in low.items() if ratio < selection.limits.utilization_ratio}
    shown = selection.device
    if low and shown not in low:
        shown = min(low, key=low.__getitem__)
    if shown is None or not (low or _idles(seen[shown])):
        return None
    one = seen[shown]
    part = one.partition or Partition()
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
    return _finding(selection, one, low, gain)


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
    return selection.ratio(rest) >= selection.limits.idle_ratio


def utilization(selection: Selection, row: int) -> float:
    """Union of kernels of a device, of the chosen time in which no graph was captured."""
    gauges, covered = selection.gauges(row)
    covered -= _captured(selection)
    return gauges.busy_ns / covered if covered > 0 else 1.0


def _finding(
    selection: Selection, one: Selection, low: dict[int, float], gain: Gain | None
) -> Finding:
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
    remedy = remedy_of(REMEDIES, one)
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
    return Finding(
        id="UT1",
        title=title,
        severity=severity_of(selection, gain, "info"),
        confidence=0.7,
        text=sentences(
            f"Kernels cover {share(busy)} of the time on {name}{between}, and it idles "
            f"{duration(one.mean(part.idle_ns))} {per_step(one)}.",
            several,
            f"For {duration(one.mean(copies))} {per_step(one)} it only copies."
            if copies >= NAMED_RATIO * _rest(one)
            else "",
            *_causes(one, idle),
            remedy.text,
        ),
        snippet=remedy.snippet,
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
        links=(
            *longest_held(one.held),
            *remedy.links,
            Reference(f"How to keep the {device_noun(one)} busy", url=_TUNING),
        ),
        verify="Record again: utilization should rise, and as many samples take less time.",
        events=_events(one),
        action=remedy.text,
    )


def _causes(selection: Selection, idle: Idle) -> list[str]:
    """The contents of the idle time: its kind, names with count and longest, the frame."""
    total = max(_rest(selection), 1)
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
            f"For {duration(part.idle_uninstrumented_ns)} the thread that launches next recorded "
            "nothing."
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
    """What held the device in its longest idle stretches, or the work that ended them."""
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


RULE = Rule(
    "UT1",
    "Devices that are idle",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    check,
    frozenset({"idle_host_ns", "idle_sync_ns", "idle_unattributed_ns", "exposed_copy_ns"}),
    REMEDIES,
)
