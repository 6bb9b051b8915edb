"""Why does a device wait, cause by cause?

SY1: does the host sit in blocking calls? Without a device: are values read one by one?
SY2: does the allocator ask the driver for memory?
LA1: does the host launch no faster?
LA4: do first launches take long?
IN4: are copies in the way?
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...base.units import duration, plural, share
from ..overview.findings import Evidence, Finding, Reference, SeenEvent, at_time
from ..steps import HeldSum, Selection
from ..wording import (
    called,
    device_noun,
    of_step,
    per_step,
    scope,
    step_noun,
    the_device,
    whereabouts,
)
from .operators import check_reads
from .rule import (
    CALLS,
    DEVICE_ACTIVITY,
    TIME,
    WHOLE,
    Fact,
    Remedy,
    Rule,
    ceiling,
    remedy_of,
    sentences,
    severity_of,
)
from .utilization import (
    ALLOCATES,
    CAN_COMPILE,
    COMPILE_LINK,
    COMPILED,
    CUDA,
    GRAPH_LINK,
    HAS_OPS,
    NO_GRAPHS,
    NOT_COMPILED,
    PAGEABLE,
    READS_BACK,
    SCHEDULE,
    SERVES,
    TRAINS,
    WAITS,
    cause_ns,
    launch_causes,
)

MOST_EVENTS = 5
_PINNED_DOCS = "https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html"
_ALLOCATOR_DOCS = "https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-memory-management"


def _named(cause: str, call: str = "", op: str = "") -> Fact:
    """True if the call that holds most of a cause's time, or the op around it, has such a name."""
    of_call, of_op = re.compile(call), re.compile(op)

    def holds(selection: Selection) -> bool:
        held = selection.held_of(cause)
        if not held:
            return False
        around = held[0].place.op if held[0].place else ""
        return of_call.search(held[0].name) is not None and of_op.search(around) is not None

    return Fact(f"most of this time is held by a call like {call or op}", holds)


@dataclass(frozen=True, slots=True)
class CauseAdvice:
    """What a rule says of some causes of idle time."""

    id: str
    title: str
    causes: tuple[str, ...]
    limit: float
    remedies: tuple[Remedy, ...]
    method: str  # how the ceiling is formed, as the end of a sentence
    confidence: float
    verify: str
    more: tuple[str, ...] = ()
    headline: str = ""  # see ``Finding``


def cause_finding(selection: Selection, advice: CauseAdvice) -> Finding | None:
    """The finding that a device idles for some causes for more than its limit; None for less."""
    causes, limit, method = advice.causes, advice.limit, advice.method
    total = cause_ns(selection, *causes)
    if not causes or selection.ratio(total) <= limit:
        return None
    held = selection.held_of(*causes)
    gain = ceiling(selection, total, method, *causes)
    shares = _shares(selection, causes)
    remedy = remedy_of(advice.remedies, selection)
    noun = step_noun(selection.facts)
    several = "the longest " if held and held[0].count > 1 else ""
    where = f", {several}{_where(held[0])}" if held and _where(held[0]) else ""
    calls = [called(one) for one in held[:2] if one.idle_ns * 10 >= total]
    sums = f"over {plural(selection.count, 'step')}, " if selection.count > 1 else ""
    names = f"Meanwhile the host is, {sums}in {calls[0]}{where}" if calls else ""
    names += "".join(f"; {call}" for call in calls[1:]) + ("." if calls else "")
    return Finding(
        id=advice.id,
        title=advice.title,
        severity=severity_of(selection, gain, "low", shares=shares, limit=limit),
        confidence=advice.confidence,
        text=sentences(
            f"The {device_noun(selection)} idles {duration(selection.mean(total))} "
            f"{per_step(selection)}, {share(selection.ratio(total))} of the {noun}, {method}.",
            names.replace("is, in", "is in"),
            *advice.more,
            remedy.text,
        ),
        snippet=remedy.snippet,
        evidence=(
            Evidence(f"idle, of the {noun}", selection.ratio(total), "ratio", limit),
            *(Evidence(f"`{one.name}`, in all", float(one.idle_ns), "ns") for one in held[:3]),
        ),
        gain=gain,
        scope=scope(selection),
        links=(*_doors(held), *remedy.links),
        verify=advice.verify,
        events=tuple(map(_event, held[:MOST_EVENTS])),
        action=remedy.text,
        frame=next((one.place.frame for one in held[:1] if one.place), ""),
        headline=advice.headline,
        agreeing=sum(part > limit for part in shares),
    )


def _shares(selection: Selection, causes: tuple[str, ...]) -> list[float]:
    found = []
    for step in selection.steps:
        one = selection.device_step(step)
        spent = sum(getattr(one.partition, name) for name in causes) if one else 0
        found.append(spent / max(step.dur_ns, 1))
    return found


def _where(held: HeldSum) -> str:
    return whereabouts(held.place, held.name)


def _event(held: HeldSum) -> SeenEvent:
    """The longest event of a name. Its stretch of time is known, its number is not."""
    ts, dur = held.longest.ts, held.longest.dur_ns
    return SeenEvent(held.name, -1, -1, ts, dur, "", at_time(held.name[:80], ts, dur))


def _doors(held: tuple[HeldSum, ...]) -> tuple[Reference, ...]:
    return tuple(
        at_time("The longest in the trace", one.longest.ts, one.longest.dur_ns) for one in held[:1]
    )


_BLOCKING = ("idle_blocking_ns",)
SYNC_REMEDIES = (
    Remedy(
        "Reading a value back (`.item()`, `if tensor:`, printing) waits for the device: do it less "
        "often, or after the next work was launched.",
        (_named(_BLOCKING[0], op=READS_BACK),),
    ),
    Remedy(
        "Such a copy returns when it is done: keep the tensor on the device, or copy between "
        "pinned memory and the device with `non_blocking=True`.",
        (_named(_BLOCKING[0], "Memcpy|[cC]opy"),),
        "x = x.to(device, non_blocking=True)  # x in pinned memory",
        (Reference("How to copy without waiting", url=_PINNED_DOCS),),
    ),
    Remedy(
        "Nothing is launched until the call returns: wait for the device less often.",
        (_named(_BLOCKING[0], WAITS),),
    ),
)


def check_blocking(selection: Selection) -> Finding | None:
    """Fires when a device idles under blocking calls for over 5 %; on the host see ``reads``."""
    if selection.device is None:
        return check_reads(selection)
    held = selection.held_of(*_BLOCKING)
    frame = f"{held[0].place.frame}" if held and held[0].place and held[0].place.frame else ""
    name = held[0].name if held else "A blocking call"
    at = f" at `{frame}`" if frame else ""
    return cause_finding(
        selection,
        CauseAdvice(
            id="SY1",
            headline=f"{the_device(selection)} idles while `{name}` blocks the host, for {{part}}."
            if held
            else "",
            title=f"`{name}` blocks the host{at}" if held else "Blocking calls hold the host",
            causes=_BLOCKING,
            limit=selection.limits.blocking_ratio,
            remedies=SYNC_REMEDIES,
            method="while the launching thread sits in a call that waits",
            confidence=0.85,
            verify="Record again: the call should be shorter, or come less often.",
        ),
    )


BLOCKING = Rule(
    "SY1",
    "Blocking calls, and values read into Python",
    (TIME, WHOLE, CALLS),
    check_blocking,
    frozenset({"idle_blocking_ns", "idle_sync_ns", "forward_ns"}),
    SYNC_REMEDIES,
)

_ALLOCATOR = ("idle_allocator_ns",)
ALLOCATOR_REMEDIES = (
    Remedy(
        "The allocator asks the driver for memory or gives it back: keep sizes the same from step "
        "to step, and call no `empty_cache()` between steps.",
        (_named(_ALLOCATOR[0], ALLOCATES),),
        "",
        (Reference("How the allocator works", url=_ALLOCATOR_DOCS),),
    ),
)


def check_allocator(selection: Selection) -> Finding | None:
    """Fires when a device idles for over 1 % while the driver is asked for memory."""
    return cause_finding(
        selection,
        CauseAdvice(
            id="SY2",
            headline=f"{the_device(selection)} waits for the driver's memory calls for {{part}}.",
            title="The driver is asked for memory in the step",
            causes=_ALLOCATOR,
            limit=selection.limits.allocator_ratio,
            remedies=ALLOCATOR_REMEDIES,
            method="while the launching thread asks the driver for memory or gives it back",
            confidence=0.85,
            verify="Record again: no such call after the first steps.",
        ),
    )


ALLOCATOR = Rule(
    "SY2",
    "Memory asked of the driver",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    check_allocator,
    frozenset({"idle_allocator_ns", "idle_sync_ns"}),
    ALLOCATOR_REMEDIES,
)

_LARGER = "Larger batches give each launch more work"
_LARGER_TRAINING = f"{_LARGER} (check that the training still converges)"
_COMPILES = "`torch.compile` launches fewer kernels."
_REPLAYS = '`torch.compile(mode="reduce-overhead")` replays the launches as one graph.'
_COMPILE_CODE = "model = torch.compile(model)"
_REPLAY_CODE = 'model = torch.compile(model, mode="reduce-overhead")'

LAUNCH_REMEDIES = (
    Remedy(
        f"{_LARGER}. Graphs replay many launches at once: do not run the server in eager mode.",
        (SERVES, NO_GRAPHS),
    ),
    Remedy(f"{_LARGER}.", (SERVES,)),
    Remedy(
        f"{_LARGER_TRAINING}; {_COMPILES}",
        (TRAINS, NOT_COMPILED, NO_GRAPHS, CAN_COMPILE, HAS_OPS),
        _COMPILE_CODE,
        COMPILE_LINK,
    ),
    Remedy(
        f"{_LARGER}; {_COMPILES}",
        (NOT_COMPILED, NO_GRAPHS, CAN_COMPILE, HAS_OPS),
        _COMPILE_CODE,
        COMPILE_LINK,
    ),
    Remedy(
        f"{_LARGER_TRAINING}; {_REPLAYS}",
        (TRAINS, COMPILED, NO_GRAPHS, CUDA),
        _REPLAY_CODE,
        GRAPH_LINK,
    ),
    Remedy(f"{_LARGER}; {_REPLAYS}", (COMPILED, NO_GRAPHS, CUDA), _REPLAY_CODE, GRAPH_LINK),
    Remedy(f"{_LARGER_TRAINING}.", (TRAINS,)),
    Remedy(f"{_LARGER}.", ()),
)


def check_launches(selection: Selection) -> Finding | None:
    """Fires when a device idles for over 15 % in many short stretches that end with a launch."""
    idle, launches = selection.idle, selection.launches
    count = plural(idle.short_count, "stretch", "stretches")
    pace = (
        f"{share(launches.short_count / launches.count)} of the calls take longer than the kernel "
        "that they launch."
        if launches.count and launches.short_count * 4 >= launches.count
        else ""
    )
    return cause_finding(
        selection,
        CauseAdvice(
            id="LA1",
            title=f"The host launches no faster: the {device_noun(selection)} runs dry",
            causes=launch_causes(selection),
            limit=selection.limits.launch_ratio,
            remedies=LAUNCH_REMEDIES,
            method="while the host runs ops, Python and launch calls",
            confidence=0.8,
            verify="Record again: fewer launches, and less idle time between them.",
            more=(
                f"Most of it lies in {count} below 1 ms that each end with a launch.",
                pace,
            ),
        ),
    )


LAUNCHES = Rule(
    "LA1",
    "Launches that do not keep up",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    check_launches,
    frozenset({"idle_host_ns", *("idle_dispatch_ns", "idle_launch_ns", "idle_optimizer_ns")}),
    LAUNCH_REMEDIES,
)

FIRST_REMEDIES = (
    Remedy(
        "A first call may start the runtime or load kernels, which later steps do not pay for: run "
        "some steps before the recording starts.",
        (),
        "profile(…, schedule=torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1))",
        (Reference("How to record after a warm-up", url=SCHEDULE),),
    ),
)


def check_first(selection: Selection) -> Finding | None:
    """Fires when a device idles for over 2 % in slow first launches, or while code is loaded."""
    return cause_finding(
        selection,
        CauseAdvice(
            id="LA4",
            headline=f"{the_device(selection)} waits for slow first launches for {{part}}.",
            title="First launches take long",
            causes=("idle_first_launch_ns",),
            limit=selection.limits.first_launch_ratio,
            remedies=FIRST_REMEDIES,
            method="in launches that come for the first time, or load the code of a kernel",
            confidence=0.85,
            verify="Record later steps: no first launch in them.",
        ),
    )


FIRST_LAUNCHES = Rule(
    "LA4",
    "Slow first launches",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    check_first,
    frozenset({"idle_first_launch_ns", "idle_host_ns"}),
    FIRST_REMEDIES,
)

COPY_REMEDIES = (
    Remedy(
        "Copy from pinned memory with `non_blocking=True` while kernels run, or copy less.",
        (PAGEABLE,),
        "DataLoader(…, pin_memory=True)\nx = x.to(device, non_blocking=True)",
        (Reference("How to copy without waiting", url=_PINNED_DOCS),),
    ),
    Remedy("Copy less, or on a stream of its own while kernels run.", ()),
)


def check_copies(selection: Selection) -> Finding | None:
    """Fires when copies that nothing covers take over 2 % of the steps."""
    part = selection.partition
    limit = selection.limits.blocking_copy_ratio
    if part is None or selection.ratio(part.exposed_copy_ns) <= limit:
        return None
    remedy = remedy_of(COPY_REMEDIES, selection)
    gain = ceiling(
        selection,
        part.exposed_copy_ns,
        "copies under which neither a kernel nor a collective runs",
        "exposed_copy_ns",
    )
    kinds = [one for one in selection.copies if one.exposed_ns]
    kinds.sort(key=lambda one: -one.exposed_ns)
    told = "; ".join(
        f"{duration(selection.mean(one.exposed_ns))} {one.kind or 'copies'}"
        f"{f' with {one.memory} memory' if one.memory else ''} ({one.count:,} in all)"
        for one in kinds[:2]
    )
    shares = [
        one.partition.exposed_copy_ns / max(step.dur_ns, 1)
        for step in selection.steps
        if (one := selection.device_step(step))
    ]
    noun = device_noun(selection)
    agree = sum(one > limit for one in shares)
    return Finding(
        id="IN4",
        title=f"The {noun} only copies for {share(selection.ratio(part.exposed_copy_ns))} "
        f"{of_step(selection, agree)}",
        severity=severity_of(selection, gain, "low", shares=shares, limit=limit),
        confidence=0.85,
        text=sentences(
            f"For {duration(selection.mean(part.exposed_copy_ns))} {per_step(selection)} copies "
            f"run on the {noun} and nothing computes{f': {told}' if told else ''}.",
            remedy.text,
        ),
        snippet=remedy.snippet,
        evidence=(
            Evidence("copies alone", selection.ratio(part.exposed_copy_ns), "ratio", limit),
        ),
        gain=gain,
        scope=scope(selection),
        links=(
            *(at_time("The longest copy in the trace", one.ts, one.dur_ns) for one in kinds[:1]),
            *remedy.links,
        ),
        verify="Record again: copies should lie under kernels.",
        events=tuple(
            SeenEvent(
                f"Memcpy {one.kind}", -1, -1, one.ts, one.dur_ns, "",
                at_time(f"Memcpy {one.kind}", one.ts, one.dur_ns),
            )
            for one in kinds[:2]
        ),
        action=remedy.text,
    )  # fmt: skip


COPYING = Rule(
    "IN4",
    "Copies in the way of kernels",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    check_copies,
    frozenset({"exposed_copy_ns"}),
    COPY_REMEDIES,
)

RULES = (BLOCKING, ALLOCATOR, LAUNCHES, FIRST_LAUNCHES, COPYING)
