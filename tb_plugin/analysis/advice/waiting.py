"""What does a step wait for, cause by cause?

IN1: does it wait for its batch?
SY1: does the host sit in blocking calls? Without a device: are values read one by one?
SY2: does the allocator ask the driver for memory?
LA1: does the host launch no faster?
LA4: do first launches take long?
IN4: are copies in the way?
"""

from __future__ import annotations

from msgspec import Struct, structs

from ...base.regex import regex
from ...base.units import NBSP, duration, plural, share
from ..findings import Evidence, Finding, Reference
from ..steps import HeldSum, Selection, step_parameter
from ..wording import (
    called,
    device_noun,
    of_step,
    per_step,
    scope,
    short_frame,
    spread,
    step_noun,
    the_device,
    whereabouts,
)
from .claims import MOST_EVENTS, events_of, patterns, seen_event
from .operators import reads
from .rule import (
    CALLS,
    DEVICE_ACTIVITY,
    HOST_RANGES,
    TIME,
    WHOLE,
    Fact,
    Remedy,
    Rule,
    ceiling,
    given,
    remedy_of,
    sentences,
    severity_of,
)
from .utilization import (
    ALLOCATES,
    ALLOCATOR_REMEDY,
    COPY_NAMES,
    COPY_REMEDIES,
    FIRST_REMEDY,
    LAUNCH_REMEDIES,
    READ_REMEDY,
    READS_BACK,
    WAIT_REMEDY,
    WAITING_COPY_REMEDIES,
    WAITS,
    cause_ns,
    exposed_copies,
    launch_causes,
    longest_held,
)

# --- batches --------------------------------------------------------------------------------------

_LOADER_DOCS = (
    "https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading"
)


def _class(selection: Selection) -> str:
    return selection.facts.traits.dataloader_class or ""


IN_PROCESS = Fact(
    "batches are made in the training process",
    lambda chosen: _class(chosen).startswith("_SingleProcess"),
)
IN_WORKERS = Fact(
    "batches come from worker processes",
    lambda chosen: _class(chosen).startswith("_MultiProcess"),
)
PAGEABLE = Fact(
    "copies from or to pageable memory were recorded",
    lambda chosen: (chosen.facts.traits.pageable_copy_count or 0) > 0,
)

_GIVE = "The dataset is read in the training process itself: give the DataLoader workers."
_MORE = "Use more workers or prefetch more, or do less work per sample."
_PIN = ", pin_memory=True"
_FIRST_WORKERS, _MOST_WORKERS = 4, 8
_WORKERS = f"DataLoader(…, num_workers={_FIRST_WORKERS}{{}})  # now 0"
_PREFETCH = (
    f"DataLoader(…, num_workers={_MOST_WORKERS}, prefetch_factor=4, persistent_workers=True{{}})"
)

LOADER_REMEDIES = (
    Remedy(_GIVE, (IN_PROCESS, PAGEABLE), _WORKERS.format(_PIN)),
    Remedy(_GIVE, (IN_PROCESS,), _WORKERS.format("")),
    Remedy(_MORE, (IN_WORKERS, PAGEABLE), _PREFETCH.format(_PIN)),
    Remedy(_MORE, (IN_WORKERS,), _PREFETCH.format("")),
    Remedy("Make batches ahead of time in other processes, or do less work per sample.", ()),
)


def check_loader(selection: Selection) -> Finding | None:
    """Fires when the DataLoader, with nothing of higher priority, takes over 5 % of the steps."""
    classic = selection.ratio(selection.breakdown.dataloader_ns)
    limit = selection.limits.loader_ratio
    if classic <= limit:
        return None
    seen = patterns(selection, "loading")
    frame = seen[0].pattern.frame if seen else ""
    waits = _waits(selection)
    total = sum(waits)
    gain = ceiling(
        selection,
        total,
        "time in which nothing but the DataLoader ran"
        if selection.device is None
        # The device could work in all of it, if batches were there in time.
        else "idle time of the device while a launching thread was in the DataLoader",
        *(
            ("idle_dataloader_ns",)
            if selection.device is not None
            else ("dataloader_ns", *(f"pattern {one.row}" for one in seen))
        ),
    )
    remedy = remedy_of(LOADER_REMEDIES, selection)
    worst = max(range(selection.count), key=waits.__getitem__)
    return Finding(
        id="IN1",
        title=_loader_title(selection),
        severity=severity_of(selection, gain, "low", shares=_loader_shares(selection), limit=limit),
        confidence=0.95,
        text=sentences(
            _loader_evidence(selection, waits),
            f"Most of it passes in `{short_frame(frame)}`." if frame else "",
            remedy.text,
        ),
        snippet=_for_cores(remedy.snippet, selection.facts.recording.cores),
        evidence=(
            Evidence("DataLoader", classic, "ratio", limit),
            Evidence(
                f"waiting for the DataLoader, {per_step(selection)}", selection.mean(total), "ns"
            ),
        ),
        gain=gain,
        scope=scope(selection),
        links=(
            *_worst_step(selection, worst),
            Reference("How to load in workers", url=_LOADER_DOCS),
        ),
        verify="Record again: DataLoader should fall below 5 % of the step.",
        events=events_of(selection, seen),
        action=remedy.text,
        frame=frame,
    )


def _for_cores(snippet: str, cores: int) -> str:
    """No more workers than the process has cores, where their number is known."""
    if not 0 < cores < _MOST_WORKERS:
        return snippet
    # How many there are now is not recorded: only that there are some.
    few = snippet.replace(f"num_workers={_MOST_WORKERS}, ", "")
    return few.replace(f"num_workers={_FIRST_WORKERS}", f"num_workers={min(cores, _FIRST_WORKERS)}")


def _loader_shares(selection: Selection) -> list[float]:
    """The DataLoader's part of each step."""
    return [step.breakdown.dataloader_ns / max(step.dur_ns, 1) for step in selection.steps]


def _waits(selection: Selection) -> list[int]:
    """Per step: idle time under the DataLoader, or time in it where there is no device."""
    if selection.device is None:
        return [step.host.dataloader_ns if step.host else 0 for step in selection.steps]
    return [
        one.partition.idle_dataloader_ns if (one := selection.device_step(step)) else 0
        for step in selection.steps
    ]


def _loader_title(selection: Selection) -> str:
    if IN_PROCESS.holds(selection):
        return "Input-bound: load batches in worker processes"
    if IN_WORKERS.holds(selection):
        return "Input-bound: the loader's workers do not keep up"
    return "Input-bound: batches are not there in time"


def _loader_evidence(selection: Selection, waits: list[int]) -> str:
    mean = duration(selection.mean(sum(waits)))
    doing = "prepares the batch" if IN_PROCESS.holds(selection) else "waits for the next batch"
    steps = f" ({spread(waits)}, {selection.count}{NBSP}steps)" if selection.count > 1 else ""
    if selection.device is None:
        part = share(selection.ratio(sum(waits)))
        noun = step_noun(selection.facts)
        when = f"{mean} {per_step(selection)}{steps}, {part} of the {noun}"
        return f"For {when}, the main thread {doing}."
    where = the_device(selection)
    return f"{where} idles {mean} {per_step(selection)} while the launching thread {doing}{steps}."


def _worst_step(selection: Selection, worst: int) -> tuple[Reference, ...]:
    """The step with the longest wait, and where the loader stands in it on the timeline."""
    step = selection.steps[worst]
    steps = {"steps": step_parameter(selection.facts, step.index)}
    loader = Reference("The loader in the trace", "timeline", {**steps, "find": "enumerate(Data"})
    if selection.count < 2:
        return (loader,)
    # Not the longest range of the loader: only the part in which the device idles counts here.
    what = "most time in the loader" if selection.device is None else "most idle under the loader"
    return (Reference(f"Step {step.number}, {what}", "overview", steps), loader)


LOADER = Rule(
    "IN1",
    "Steps that wait for their batch",
    (TIME, WHOLE, HOST_RANGES),
    check_loader,
    frozenset({"idle_dataloader_ns", "dataloader_ns"}),
    LOADER_REMEDIES,
)


# --- causes of a device's idle time ---------------------------------------------------------------


def _named(cause: str, call: str = "", op: str = "") -> Fact:
    """True if the call that holds most of a cause's time, or the op around it, has such a name."""
    of_call, of_op = regex(call), regex(op)

    def holds(selection: Selection) -> bool:
        held = selection.held_of(cause)
        if not held:
            return False
        around = held[0].place.op if held[0].place else ""
        return of_call.search(held[0].name) is not None and of_op.search(around) is not None

    return Fact(f"most of this time is held by a call like {call or op}", holds)


class CauseAdvice(Struct, frozen=True):
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
    idle = f"idle time of the {device_noun(selection)} {method}"
    gain = ceiling(selection, total, idle, *causes)
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
        links=(*longest_held(held), *remedy.links),
        verify=advice.verify,
        events=tuple(
            seen_event(selection, one.name, one.longest.spot, one.longest.ts, one.longest.dur_ns)
            for one in held[:MOST_EVENTS]
        ),
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


_BLOCKING = ("idle_blocking_ns",)
SYNC_REMEDIES = (
    given(READ_REMEDY, _named(_BLOCKING[0], op=READS_BACK)),
    *(given(one, _named(_BLOCKING[0], COPY_NAMES)) for one in WAITING_COPY_REMEDIES),
    given(WAIT_REMEDY, _named(_BLOCKING[0], WAITS)),
)


def check_blocking(selection: Selection) -> Finding | None:
    """Fires when a device idles under blocking calls for over 5 %; on the host see ``reads``."""
    if selection.device is None:
        return reads.check(selection)
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
ALLOCATOR_REMEDIES = (given(ALLOCATOR_REMEDY, _named(_ALLOCATOR[0], ALLOCATES)),)


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
            remedies=(FIRST_REMEDY,),
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
    (FIRST_REMEDY,),
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
    kinds = exposed_copies(selection)
    events = tuple(
        seen_event(selection, one.name, one.spot, one.ts, one.dur_ns) for one in kinds[:2]
    )
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
        evidence=(Evidence("copies alone", selection.ratio(part.exposed_copy_ns), "ratio", limit),),
        gain=gain,
        scope=scope(selection),
        links=(
            *(
                structs.replace(one.link, text="The longest copy in the trace")
                for one in events[:1]
            ),
            *remedy.links,
        ),
        verify="Record again: copies should lie under kernels.",
        events=events,
        action=remedy.text,
    )


COPYING = Rule(
    "IN4",
    "Copies in the way of kernels",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    check_copies,
    frozenset({"exposed_copy_ns"}),
    COPY_REMEDIES,
)

RULES = (LOADER, BLOCKING, ALLOCATOR, LAUNCHES, FIRST_LAUNCHES, COPYING)
