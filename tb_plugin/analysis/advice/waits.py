"""Does the host wait, or make a device wait? Blocking calls, reads, the allocator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import structs

from ...base.intervals import merge
from ...base.regex import regex
from ...base.units import plural
from ..facts import Partition
from ..findings import Evidence, Reference, at_time
from ..steps import HeldSum, Selection
from ..user_code import MOST_FRAMES, OPTIMIZES, PRINTS, Found, HostCode, loops, of_code
from ..wording import (
    called,
    device_noun,
    short_frame,
    step_noun,
    the_device,
    whereabouts,
)
from .claims import (
    MOST_EVENTS,
    Seen,
    ceiling,
    count_of,
    longest,
    often,
    on_host,
    seen_event,
    shares_of,
    spent,
    spent_by,
)
from .input import FROM_PINNED, INTO_PINNED, PINNED_LINK
from .rule import (
    CALLS,
    DEVICE_ACTIVITY,
    STACKS,
    TIME,
    WHOLE,
    Advice,
    Fact,
    Remedy,
    Threshold,
    given,
    on_patterns,
    pattern_rule,
    rule,
    sentences,
)

READ_BACK_RATIO = Threshold("read_back_ratio", 0.01, "time under values read back")
BLOCKING_RATIO = Threshold("blocking_ratio", 0.05, "idle time under one blocking call")
ALLOCATOR_RATIO = Threshold(
    "allocator_ratio", 0.01, "idle time under the allocator's calls of the driver"
)


# Blocking calls, and ops around them, by what they wait for; names of all vendors that have them.
READS_BACK = r"^aten::(_local_scalar_dense|item|is_nonzero|nonzero|equal|_unique2?)$"
COPY_NAMES = r"Memcpy|[cC]opy"
ALLOCATES = r"^(cuda|cu|hip)(Mem)?(Malloc|Free|Alloc|HostAlloc|HostFree|HostMalloc)"
WAITS = r"[sS]ynchronize|QueueFinish|EventWait"


COMPUTE_BOUND_RATIO = 0.85  # kernels fill the step
MOSTLY_RATIO = 0.50  # … or they fill most of it
SMALL_RATIO = 0.10  # … and nothing else takes this much


def device_causes(part: Partition) -> dict[str, int]:
    """Possible causes of idle time, in ns. Launch calls and all other host work are one cause."""
    return {
        "idle_dataloader_ns": part.idle_dataloader_ns,
        "idle_host_ns": part.idle_host_ns,
        "idle_first_launch_ns": part.idle_first_launch_ns,
        "idle_sync_ns": part.idle_sync_ns,
        "idle_unattributed_ns": part.idle_unattributed_ns + part.idle_queued_ns,
        "exposed_communication_ns": part.exposed_communication_ns,
        "exposed_copy_ns": part.exposed_copy_ns,
    }


def is_compute_bound(selection: Selection, total: Partition) -> bool:
    """True if kernels fill the chosen steps, or most of them and nothing else takes a tenth."""
    largest = max(device_causes(total).values())
    return compute_bound(selection.ratio(total.compute_ns), selection.ratio(largest))


def compute_bound(compute: float, largest_other: float) -> bool:
    """True if kernels take that much of a step, beside its largest other part."""
    most = compute >= MOSTLY_RATIO and largest_other < SMALL_RATIO
    return most or compute >= COMPUTE_BOUND_RATIO


def cause_ns(selection: Selection, *names: str) -> int:
    """The idle time of the chosen device for some causes."""
    part = selection.partition or Partition()
    return sum(getattr(part, name) for name in names)


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


def _copies_one_way(kind: str, other: str, text: str) -> Fact:
    """Copies that cross between host and device all go one way."""

    def holds(selection: Selection) -> bool:
        kinds = {one.kind for one in selection.copies}
        return kind in kinds and other not in kinds

    return Fact(text, holds)


COPIES_IN = _copies_one_way("HtoD", "DtoH", "copies go to the device, and none to the host")
COPIES_OUT = _copies_one_way("DtoH", "HtoD", "copies go to the host, and none to the device")


HIDDEN_DEVICE = Fact(
    "the run used a device that was not recorded: calls may wait for it",
    lambda chosen: chosen.device is None and bool(chosen.facts.recording.accelerator.type),
)
FEWEST = 5  # iterations of an engine from which a typical one is told
REPEATS_RATIO = 0.5  # of the steps in which a call comes that comes again and again
RELEASES = r"Free"
_COPIES = regex(COPY_NAMES)


def repeats(selection: Selection, held: HeldSum) -> bool:
    """True if a call comes in most steps and its first one is not most of its time.

    Of a recording without steps: whether it comes twice.
    """
    is_whole = selection.facts.step_source == "whole_trace"
    least = 2 if is_whole else REPEATS_RATIO * selection.count
    is_start = bool(held.longest.first) and 2 * held.longest.longest_ns > held.idle_ns
    return held.count >= least and not is_start


def each_iteration(selection: Selection) -> HeldSum | None:
    """The copy that blocks the host once or more in each iteration of an engine, at one place.

    All but one iteration have it: nothing waits before the first. No first call, not in the head.
    """
    whole = {one.step for one in selection.facts.iterations if one.is_whole} & set(
        selection.indexes
    )
    if len(whole) < FEWEST or selection.facts.step_source != "iteration":
        return None
    tables = selection.facts.idle
    for one in selection.held_of("idle_blocking_ns")[:1]:
        if not _COPIES.search(one.name) or not repeats(selection, one):
            continue
        parts = [
            held
            for step in selection.steps
            if step.index in whole and (device := selection.device_step(step))
            for held in device.idle.held
            if tables.names[held.name].name == one.name
            and tables.names[held.name].cause == one.cause
        ]
        places = {held.place for held in parts if held.place >= 0}  # not every one is kept
        if len(parts) >= len(whole) - 1 and len(places) <= 1:
            return one
    return None


READ_REMEDY = Remedy(
    "Reading a value back (`.item()`, `if tensor:`, printing) waits for the device: do it less "
    "often, or after the next work was launched.",
    (),
)
_WAITING_COPY = "Such a copy returns when it is done: keep the tensor on the device, or copy"
WAITING_COPY_REMEDIES = (
    Remedy(
        f"{_WAITING_COPY} it with `non_blocking=True` into pinned memory and read it later, when "
        "the copy is done.",
        (COPIES_OUT,),
        f"{INTO_PINNED} in pinned memory",
        PINNED_LINK,
    ),
    Remedy(
        f"{_WAITING_COPY} it with `non_blocking=True` from pinned memory.",
        (COPIES_IN,),
        FROM_PINNED,
        PINNED_LINK,
    ),
    Remedy(
        f"{_WAITING_COPY} it with `non_blocking=True` from or into pinned memory.",
        (),
        "",
        PINNED_LINK,
    ),
)
_ALLOCATOR_DOCS = "https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-memory-management"
_ALLOCATOR_LINK = (Reference("How the allocator works", url=_ALLOCATOR_DOCS),)
ALLOCATOR_REMEDY = Remedy(
    "The allocator asks the driver for memory: keep sizes the same from step to step.",
    (),
    links=_ALLOCATOR_LINK,
)
RELEASE_REMEDY = Remedy(
    "The allocator gives memory back to the driver: keep sizes the same from step to step, and "
    "call no `empty_cache()` between steps.",
    (),
    links=_ALLOCATOR_LINK,
)
WAIT_REMEDY = Remedy(
    "Nothing is launched until the call returns: wait for the device less often.", ()
)


def _repeated(cause: str) -> Fact:
    """True if the call that holds most of a cause's time comes again and again."""

    def holds(selection: Selection) -> bool:
        held = selection.held_of(cause)
        return bool(held) and repeats(selection, held[0])

    return Fact("the call comes in most steps, and is no first one", holds)


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


def idles_for(
    selection: Selection, limit: float, advice: Advice, causes: tuple[str, ...], *more: str
) -> Advice | None:
    """Advice where a device idles for some causes for longer than a limit; else None.

    ``advice.method`` is the end of a sentence: what the host does then. ``more`` is said, too.
    """
    total = cause_ns(selection, *causes)
    if not causes or selection.ratio(total) <= limit:
        return None
    held = selection.held_of(*causes)
    where = _where(held[0]) if held else ""
    where = f", {'the longest ' if held[0].count > 1 else ''}{where}" if where else ""
    calls = [called(one) for one in held[:2] if one.idle_ns * 10 >= total]
    sums = f", over {plural(selection.count, 'step')}," if selection.count > 1 else ""
    names = f"Meanwhile the host is{sums} in {calls[0]}{where}" if calls else ""
    names += "".join(f"; {call}" for call in calls[1:]) + ("." if calls else "")
    noun = step_noun(selection.facts)
    return structs.replace(
        advice,
        said=sentences(
            f"The {device_noun(selection)} idles {spent(selection, total, kernels=True)}, "
            f"{advice.method}.",
            names,
            *more,
        ),
        evidence=(
            Evidence(f"idle, of the {noun}", selection.ratio(total), "ratio", limit),
            *(Evidence(f"`{one.name}`, in all", float(one.idle_ns), "ns") for one in held[:3]),
        ),
        gain=ceiling(
            selection, total, f"idle time of the {device_noun(selection)} {advice.method}", *causes
        ),
        shares=shares_of(selection, *causes),
        limit=limit,
        links=longest_held(held),
        events=tuple(
            seen_event(selection, one.name, one.longest.spot, one.longest.ts, one.longest.dur_ns)
            for one in held[:MOST_EVENTS]
        ),
        frame=next((one.place.frame for one in held[:1] if one.place), ""),
    )


def _where(held: HeldSum) -> str:
    return whereabouts(held.place, held.name)


_READS = of_code(r"^aten::(item|_local_scalar_dense|is_nonzero|equal|nonzero)$")


@on_host(hides_python=True)
def find_reads(code: HostCode) -> Iterator[Found]:
    """Values read into Python. Where a frame reads many, from the first of them to the last."""
    reads = code.named(_READS)
    rows = code.outside_of_loader(code.outermost(reads[code.top_op[reads]]))
    # An optimizer reads its own counters, and the text of a tensor its values: other patterns.
    told = merge(code.updates(code.named(OPTIMIZES)), code.time(code.named(PRINTS)))
    rows = code.outside(rows, told)
    for frame, mine in code.by_owner(rows, code.dur[rows], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        yield Found("read_back", name, loops(code, mine), code.host_rows(mine), frame)


def reads(selection: Selection, seen: Seen) -> Advice:
    """Values read into Python one by one.

    With a device that is idle time under these reads: a read while the device still works, and
    whose next work arrives in time, costs nothing.
    """
    host = selection.device is None
    waits = "" if host else " Each waits until the device has done all before."
    return Advice(
        title=f"Values are read one by one{seen[0].place}",
        said=(
            f"{seen[0].name} take {spent_by(selection, seen)}, "
            f"{often(selection, count_of(seen))}{seen[0].place}.{waits}"
        ),
        action=(
            "Keep values on tensors: add losses up with `detach()`, and read the sum every "
            "hundredth step; read many values at once with `tolist()`."
        )
        if selection.facts.traits.backward
        else "Keep values on tensors, and read many at once with `tolist()`.",
        snippet="total += loss.detach()\nif step % 100 == 0:\n    print(total.item() / 100)"
        if selection.facts.traits.backward
        else "values = results.tolist()  # one read for all",
        method="time of these reads, and of the loops that consist of them"
        if host
        else "idle time during these reads",
        headline="Reading values one by one takes {part}.",
        confidence=0.9,
        verify="Record again: fewer `aten::item`.",
    )


_BLOCKING = ("idle_blocking_ns",)
_REPEATED = _repeated(_BLOCKING[0])
SYNC_REMEDIES = (
    given(READ_REMEDY, _REPEATED, _named(_BLOCKING[0], op=READS_BACK)),
    *(given(one, _REPEATED, _named(_BLOCKING[0], COPY_NAMES)) for one in WAITING_COPY_REMEDIES),
    given(WAIT_REMEDY, _REPEATED, _named(_BLOCKING[0], WAITS)),
)


@rule(
    "SY1",
    "Blocking calls, and values read into Python",
    (TIME, WHOLE, CALLS),
    BLOCKING_RATIO,
    READ_BACK_RATIO,
    answers={"idle_blocking_ns", "idle_sync_ns", "forward_ns"},
    remedies=SYNC_REMEDIES,
)
def blocking(selection: Selection) -> Advice | None:
    """A device idles for more than {blocking_ratio} in a call of the host that waits.

    It names the call, the op and the line; of a copy in each iteration SV7 speaks. Without a
    device: values are read into Python (`item()`, `nonzero`, …) for more than {read_back_ratio}.
    Silent where the run used a device
    that was not recorded: these calls may wait for it.

    Ceiling: that idle time.
    """
    if HIDDEN_DEVICE.holds(selection):
        return None
    if selection.device is None:
        return on_patterns(selection, "read_back", reads, (READ_BACK_RATIO,))
    if each_iteration(selection) is not None:
        return None  # SV7
    held = selection.held_of(*_BLOCKING)
    frame = f"{held[0].place.frame}" if held and held[0].place and held[0].place.frame else ""
    name = held[0].name if held else ""
    return idles_for(
        selection,
        BLOCKING_RATIO.of(selection.limits),
        Advice(
            title=f"`{name}` blocks the host{f' at `{frame}`' if frame else ''}"
            if held
            else "Blocking calls hold the host",
            said="",
            headline=f"{the_device(selection)} idles while `{name}` blocks the host, for {{part}}."
            if held
            else "",
            method="while the launching thread sits in a call that waits",
            confidence=0.85,
            verify="Record again: the call should be shorter, or come less often.",
        ),
        _BLOCKING,
    )


_SLEEPS = of_code(r"^<built-in function sleep>$")


@on_host(hides_python=True)
def find_thread_waits(code: HostCode) -> Iterator[Found]:
    """Waiting for other threads and processes, and sleeping, by the frame that calls for it."""
    for calls, sleeps in ((code.joins, 0.0), (code.named(_SLEEPS), 1.0)):
        rows = code.outside_of_loader(code.outermost(calls))
        for frame, mine in code.by_owner(rows, code.dur[rows], 1):
            name = code.trace.strings[int(code.name[mine[0]])]
            figures = {"sleeps": sleeps}
            yield Found("thread_wait", name, code.time(mine), code.host_rows(mine), frame, figures)


@pattern_rule(
    "PY3",
    "Waiting for another thread, or sleeping",
    (TIME, WHOLE, STACKS),
    "thread_wait",
    Threshold("thread_wait_ratio", 0.05, "waiting for another thread, or sleeping"),
    choose=longest,
    answers=("python_ns", "idle_python_ns"),
)
def thread_wait(selection: Selection, seen: Seen) -> Advice:
    """Waiting for other threads or processes, or sleeping, takes more than {thread_wait_ratio}.

    That is `join`, `Future.result`, `get` of a queue, an event, and `time.sleep`; the DataLoader's
    own waiting is not.

    Ceiling: that time.
    """
    sleeps, place = seen[0].figure("sleeps") > 0, seen[0].place
    what = "sleeps" if sleeps else "waits for another thread or process"
    return Advice(
        title=f"The main thread {what}{place}",
        said=f"It {what} for {spent_by(selection, seen)}.",
        action="Avoid `time.sleep()`, or wait in another thread."
        if sleeps
        else "Start that work a step earlier, or give it more threads.",
        method="time in these calls",
        headline=f"The main thread {what} for {{part}}.",
        confidence=0.85,
        verify="Record again: the frame waits for less of the step.",
    )


_ALLOCATOR = ("idle_allocator_ns",)
ALLOCATOR_REMEDIES = (
    given(RELEASE_REMEDY, _named(_ALLOCATOR[0], RELEASES)),
    given(ALLOCATOR_REMEDY, _named(_ALLOCATOR[0], ALLOCATES)),
)


@rule(
    "SY2",
    "Memory asked of the driver",
    (TIME, WHOLE, DEVICE_ACTIVITY),
    ALLOCATOR_RATIO,
    answers={"idle_allocator_ns", "idle_sync_ns"},
    remedies=ALLOCATOR_REMEDIES,
)
def allocator(selection: Selection) -> Advice | None:
    """A device idles for more than {allocator_ratio} while the host asks the driver for memory.

    The call comes in most steps, and its first one is not most of its time.

    Ceiling: that idle time.
    """
    held = selection.held_of(*_ALLOCATOR)
    if held and not repeats(selection, held[0]):
        return None
    return idles_for(
        selection,
        ALLOCATOR_RATIO.of(selection.limits),
        Advice(
            title="The step asks the driver for memory",
            said="",
            headline=f"{the_device(selection)} waits for the driver's memory calls for {{part}}.",
            method="while the launching thread asks the driver for memory or gives it back",
            confidence=0.85,
            verify="Record again: no such call after the first steps.",
        ),
        _ALLOCATOR,
    )
