"""Does Python hold the step, or what runs beside it? Frames, locks, printing, garbage, threads."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...base.arrays import (
    I64,
    U8,
    Mask,
    distinct_values,
    equal,
    is_among,
    ranked,
    rows_between,
    search,
    take,
    where,
)
from ...base.group_sums import group_sums, middles
from ...base.intervals import EMPTY, Intervals, holds, merge, subtract, union
from ...base.native import call
from ...base.units import NBSP, duration, plural, share
from ...trace.model import HostKind
from ..findings import Evidence, Reference
from ..host_activity import HostRole
from ..steps import Selection
from ..user_code import MOST_FRAMES, PRINTS, Found, HostCode, distinct_owners, of_code
from ..wording import per_step, short_frame, step_noun
from .claims import (
    PatternSum,
    Seen,
    count_of,
    gain_of,
    in_python,
    longest,
    often,
    on_host,
    spent,
    spent_by,
    total_of,
    wasted,
)
from .operators import TINY_NS
from .rule import (
    HOST_RANGES,
    OPS,
    SCHEDULE_DOCS,
    STACKS,
    THREADS,
    TIME,
    WHOLE,
    Advice,
    Threshold,
    pattern_rule,
    severity_of,
)

HALF = 0.5
THREAD_RATIO = Threshold("thread_ratio", 1.0, "threads per core; above it fires")


_THREAD_DOCS = "https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html"
MOST_RELEASED, _ROWS = 10_000, 1 << 18
LOCK_GAP_NS = 100_000  # a frame that takes a lock and records nothing for so long waits for it


_SCRIPTS = of_code(r"^nn\.Module: \w*ScriptModule_\d+$")  # their code is no Python


@in_python
def find_python(code: HostCode, told: Intervals) -> Iterator[Found]:
    """Frames of the user's code by the time of Python in them, without the time already told.

    Python is what no op, call or waiting holds; a library's Python counts for its caller.
    """
    if not code.frame.any():
        return
    told = merge(told, code.loading, code.time(code.named(_SCRIPTS)))
    runs = code.frame & (code.owner >= 0)
    runs &= ~code.all_begin_in(told)
    for role in (HostRole.WAITING, HostRole.BACKWARD):
        runs &= ~code.role(role)
    total = frame_sums(code, runs)
    order = np.argsort(-total, kind="stable")[:MOST_FRAMES]
    found = order[total[order] > 0]
    of_name = np.zeros(len(total), np.uint8)
    of_name[found] = np.arange(1, len(found) + 1)
    number, around = frame_numbers(code, runs, of_name)
    cost, models = cost_of_frames(code), code.time_where(code.module)
    for at, name in enumerate(found.tolist(), start=1):
        frame, mine = code.trace.strings[name], number == at
        time = subtract(subtract(code.time_where(mine), code.time_where(around == at)), told)
        rows = where(mine)
        recording = np.count_nonzero(take(code.frame, rows)) * cost
        owners = distinct_owners(code, rows)
        figures = {
            "part": float(max(0.0, 1 - recording / max(time.total_ns, 1))),
            "in_model": float(code.begin_in(owners, models).mean()),
            "feeds": float(_before_model(code, owners).mean()),
        }
        yield Found("python", frame, time, code.host_rows(owners), frame, figures)


def _before_model(code: HostCode, rows: I64) -> Mask:
    """Which rows end before the first op with a gradient of their step, or its first module."""
    ts, end = take(code.ts, rows), take(code.end, rows)
    step = code.windows.of(ts)
    models = np.sort(np.concatenate([take(code.ts, code.differentiated), code.ts[code.module]]))
    if not len(models):
        return np.zeros(len(rows), np.bool_)
    first = search(models, code.windows.start[np.maximum(step, 0)])
    first = take(np.append(models, np.iinfo(np.int64).max), first)
    before: Mask = (step >= 0) & (end <= first) & (first < code.windows.end[np.maximum(step, 0)])
    return before


def frame_sums(code: HostCode, mask: Mask) -> I64:
    """The own time of the chosen rows by the name of the frame they belong to."""
    total = np.zeros(len(code.trace.strings), np.int64)
    columns = mask, code.owner, code.name, code.self_ns, len(mask)
    if call("kinetoscope_frame_sums", *columns, total, len(total)) is not None:
        return total
    rows = where(mask)
    names = take(code.name, take(code.owner, rows))
    return group_sums(names, take(code.self_ns, rows), len(total)).total


def frame_numbers(code: HostCode, mask: Mask, of_name: U8) -> tuple[U8, U8]:
    """The number of the frame that each row counts for, by its name; 0 for rows not chosen.

    And the number of the row's parent, where that is another one.
    """
    number, around = np.empty(len(mask), np.uint8), np.zeros(len(mask), np.uint8)
    columns = mask, code.owner, code.name, code.parent, len(mask)
    asked = of_name, len(of_name), number, around
    if call("kinetoscope_frame_numbers", *columns, *asked) is not None:
        return number, around
    rows = where(mask)
    number[:], around[:] = 0, 0
    number[rows] = of_name[take(code.name, take(code.owner, rows))]
    below = where(code.parent >= 0)
    above = take(number, take(code.parent, below))
    around[below] = np.where(above == take(number, below), np.uint8(0), above)
    return number, around


PYTHON_RATIO = Threshold("python_ratio", 0.10, "Python in one frame")


@pattern_rule(
    "PY1",
    "Python that holds the step, by frame",
    (TIME, WHOLE, STACKS),
    "python",
    PYTHON_RATIO,
    choose=longest,
    measure=wasted,
    answers=("python_ns", "idle_python_ns"),
)
def python(selection: Selection, seen: Seen) -> Advice:
    """Python in one frame of the user's code takes more than {python_ratio}.

    A library's Python belongs to its caller. What it takes to record calls is left out, and so is
    what printing, garbage collection, locks, loops over tiny ops and the DataLoader take.

    Ceiling: time in which this frame is the innermost of the user's and no op runs, as recorded.
    Its severity is that without what recording takes.
    """
    one = seen[0]
    gain = gain_of(selection, seen, "", one.figure("part", 1.0))
    calls = selection.mean(one.count)
    split = f", in {round(calls):,} calls {per_step(selection)}" if round(calls) > 1 else ""
    return Advice(
        title=f"Python runs in `{one.frame}`",
        said=(
            f"`{one.frame}` runs Python for {spent_by(selection, seen)}{split}: no op of PyTorch "
            "is open meanwhile."
        ),
        action=(
            f"{_better(selection, one)} Recording stacks slows Python down: compare with a "
            "recording without `with_stack=True`."
        ),
        severity=severity_of(
            selection, gain, shares=one.shares, limit=PYTHON_RATIO.of(selection.limits)
        ),
        method="time in which this frame is the innermost of the user's code and no op runs, as "
        "recorded: without stacks there is less to gain",
        headline=f"`{one.frame}` runs Python for {{part}}.",
        confidence=0.8,
        verify="Record again: the frame should take less of the step.",
    )


def _better(selection: Selection, one: PatternSum) -> str:
    """Remedy for Python in one frame, by the place where most of it runs."""
    if one.figure("in_model") >= HALF:
        return "Do that work with ops on whole tensors."
    if one.figure("feeds") >= HALF and selection.facts.traits.backward:
        return (
            "Do that work once before the steps, in a worker of the DataLoader, or with ops on "
            "whole tensors."
        )
    return "Do that work before the steps, less often, or with ops on whole tensors."


_ACQUIRES = of_code(r"^<built-in method (acquire|__enter__) of _?(thread|multiprocessing)\b")
_RELEASES = of_code(r"^<built-in method __exit__ of _?(thread|multiprocessing)\b")


@on_host(hides_python=True)
def find_locks(code: HostCode) -> Iterator[Found]:
    """Waiting for locks: calls of ``acquire``, and in a ``with``, what passes before.

    No recorder sees the call of ``with``: it is the longest stretch without any event before the
    lock is given back. A wait for a thread, a result or an event is a join.
    """
    rows = code.named(_ACQUIRES)
    joins = code.time(code.joins)
    # The DataLoader waits for its workers by a lock: that is another pattern.
    rows = code.outside(code.outside_of_loader(rows[code.frame[rows]]), joins)
    released = code.named(_RELEASES)
    released = released[code.parent[released] >= 0][:MOST_RELEASED]
    around = code.parent[released]
    long = code.ts[released] - code.ts[around] >= LOCK_GAP_NS  # no gap within is longer
    long &= ~holds(joins, code.ts[around])
    above = around[long].astype(np.int64)
    low, high = longest_gaps(code, above, released[long])
    waits = high - low >= LOCK_GAP_NS
    events: I64 = np.concatenate([rows, above[waits]])
    starts = np.concatenate([code.ts[rows], low[waits]])
    ends = np.concatenate([code.end[rows], high[waits]])
    for frame, mine in code.by_owner(events, ends - starts, MOST_FRAMES):
        chosen = is_among(events, mine)
        time = union(starts[chosen], ends[chosen])
        yield Found("lock", "lock", time, code.host_rows(mine), frame)


def longest_gaps(code: HostCode, above: I64, row: I64) -> tuple[I64, I64]:
    """The longest stretch of each frame, up to one of its children, in which no child is open."""
    found = np.empty((2, len(row)), np.int64)
    rows, low = np.cumsum(row - above), 0
    while low < len(row):  # as many frames at a time as have not too many rows together
        most = _ROWS + (int(rows[low - 1]) if low else 0)
        high = max(int(np.searchsorted(rows, most, side="right")), low + 1)
        found[:, low:high] = _gaps_of(code, above[low:high], row[low:high])
        low = high
    return found[0], found[1]


def _gaps_of(code: HostCode, above: I64, row: I64) -> tuple[I64, I64]:
    child, frame = rows_between(above + 1, row + 1), np.repeat(np.arange(len(row)), row - above)
    are_children = code.parent[child] == above[frame]
    child, frame = child[are_children], frame[are_children]
    first = np.searchsorted(frame, np.arange(len(row)))  # there is one: the row itself
    # When the children before one have ended: ranks, so that no frame reaches into the next one.
    ends, rank = ranked(code.end[child])
    last = np.maximum.accumulate(frame * len(child) + rank) - frame * len(child)
    free = np.append(0, ends[last[:-1]])
    free[first] = code.ts[above]
    gap = code.ts[child] - free
    longest = np.flatnonzero(gap == np.maximum.reduceat(gap, first)[frame])
    longest = longest[np.searchsorted(longest, first)]
    return free[longest], code.ts[child[longest]]


@pattern_rule(
    "PY2",
    "Waiting for a lock",
    (TIME, WHOLE, STACKS),
    "lock",
    Threshold("lock_ratio", 0.05, "waiting for a lock"),
    answers=("python_ns", "idle_python_ns"),
)
def lock(selection: Selection, seen: Seen) -> Advice:
    """Waiting for locks takes more than {lock_ratio}.

    That is `acquire`, or a `with` in which nothing is recorded for 0.1 ms before the lock is
    given back. `Thread.start`, `join`, `Future.result` and queues are no locks.

    Ceiling: that time.
    """
    return Advice(
        title=f"The main thread waits for a lock{seen[0].place}",
        said=(
            f"For {spent_by(selection, seen)}, the main thread waits for a lock{seen[0].place}: "
            "another thread holds it."
        ),
        action=(
            "Hold the lock for a shorter time in the other thread, or pass data through a "
            "queue and do not wait in the step."
        ),
        method="time in calls that take a lock, or without any event before it is given back",
        headline="The main thread waits for a lock for {part}.",
        confidence=0.7,
        verify="Record again: the frame should not wait any more.",
    )


def _of_frames(code: HostCode, kind: str, pattern: re.Pattern[str]) -> Iterator[Found]:
    rows = code.outermost(code.named(pattern))
    for frame, mine in code.by_owner(rows, code.dur[rows], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        yield Found(kind, name, code.time(mine), code.host_rows(mine), frame)


@on_host(hides_python=True)
def find_printing(code: HostCode) -> Iterator[Found]:
    """Calls that write text, by the frame that calls them."""
    yield from _of_frames(code, "printing", PRINTS)


@pattern_rule(
    "SY3",
    "Printing in the step",
    (TIME, WHOLE, STACKS),
    "printing",
    Threshold("printing_ratio", 0.01, "printing"),
)
def printing(selection: Selection, seen: Seen) -> Advice:
    """Printing, texts of tensors, logging, progress bars for more than {printing_ratio}.

    Ceiling: their time.
    """
    waits = "" if selection.device is None else ", and waits for the device"
    return Advice(
        title=f"Text is printed in the step{seen[0].place}",
        said=(
            f"Printing takes {spent_by(selection, seen)}, {often(selection, count_of(seen))}"
            f"{seen[0].place}. The text of a tensor reads its values one by one{waits}."
        ),
        action="Print every hundredth step, and numbers that were added up meanwhile.",
        snippet='if step % 100 == 0:\n    print(f"{step}: {total_loss.item() / 100:.3f}")',
        method="time in `print`, the text of tensors, logging and progress bars",
        headline="Printing takes {part}.",
        confidence=0.9,
        verify="Record again: no printing in most steps.",
    )


_COLLECTS = of_code(r"^Python GC\b|^<built-in function collect>$")


@on_host(hides_python=True)
def find_garbage(code: HostCode) -> Iterator[Found]:
    """Garbage collection, by the frame in which it happens."""
    yield from _of_frames(code, "garbage", _COLLECTS)


@pattern_rule(
    "LA3",
    "Garbage collection in the step",
    (TIME, WHOLE, STACKS),
    "garbage",
    Threshold("garbage_ratio", 0.01, "garbage collection"),
    answers=("idle_gc_ns",),
)
def garbage(selection: Selection, seen: Seen) -> Advice:
    """Garbage collection for more than {garbage_ratio}.

    Ceiling: its time.
    """
    by_hand = seen[0].pattern.name.startswith("<built-in")
    return Advice(
        title=f"Garbage is collected in the step{seen[0].place}",
        said=(
            f"Garbage collection takes {spent_by(selection, seen)}, "
            f"{often(selection, count_of(seen))}{seen[0].place}."
        ),
        action=(
            "Leave out the call of `gc.collect()`, or collect between epochs."
            if by_hand
            else "Freeze all objects before the steps, and collect between epochs."
        ),
        snippet="" if by_hand else "gc.collect(); gc.freeze(); gc.disable()  # before the loop",
        method="time in garbage collection",
        headline="Garbage collection takes {part}.",
        confidence=0.95,
        verify="Record again: no garbage collection in most steps.",
    )


@on_host(hides_python=True)
def find_profiler(code: HostCode) -> Iterator[Found]:
    """The profiler's own time, where it says so."""
    kind = code.trace.host.kind[code.low : code.high]
    rows = np.flatnonzero(equal(kind, HostKind.OVERHEAD))
    if len(rows):
        name = code.trace.strings[int(code.name[rows[np.argmax(code.dur[rows])]])]
        yield Found("profiler", name, code.time(rows), code.host_rows(rows))


@pattern_rule(
    "PR1",
    "Time of the profiler itself",
    (TIME, WHOLE, HOST_RANGES),
    "profiler",
    Threshold("profiler_ratio", 0.02, "the profiler's own time"),
    answers=("idle_profiler_ns",),
)
def profiler(selection: Selection, seen: Seen) -> Advice:
    """The profiler takes more than {profiler_ratio} for itself, by its own account.

    Ceiling: that time: none of it is the program's.
    """
    most = max((event.dur_ns for event in seen[0].pattern.events), default=0)
    noun = step_noun(selection.facts)
    return Advice(
        title="The profiler takes time for itself",
        said=(
            f"`{short_frame(seen[0].pattern.name)}` of the profiler takes "
            f"{spent_by(selection, seen)}, up to {duration(most)} at once. Without the "
            f"profiler the {noun} is shorter: the program itself wins nothing."
        ),
        action="Warm the profiler up for a step or two, and record fewer kinds of data.",
        snippet="schedule=torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1)",
        method="the profiler's own account of its time",
        confidence=0.9,
        verify="Record again: the profiler's own time should be shorter.",
        links=(Reference("How to warm the profiler up", url=SCHEDULE_DOCS),),
    )


@on_host()
def find_long_ops(code: HostCode) -> Iterator[Found]:
    """All ops of the main thread, the outermost ones, apart from those of the DataLoader."""
    compiles = code.role(HostRole.COMPILE)
    rows = code.outermost(where(code.op & ~compiles))
    rows = code.outside(rows, merge(code.loading, code.time_where(compiles)))
    long = rows[code.dur[rows] >= TINY_NS]
    if len(long):
        name = code.trace.strings[int(code.name[long[np.argmax(code.dur[long])]])]
        yield Found("long_ops", name, code.time(long), code.host_rows(long))


@pattern_rule(
    "CPU1",
    "More threads than cores",
    (TIME, WHOLE, OPS, THREADS),
    "long_ops",
    also=(THREAD_RATIO,),
    answers=("forward_ns", "backward_ns"),
)
def threads(selection: Selection, seen: Seen) -> Advice | None:
    """Ops may use more threads than the process has cores.

    Our handler notes both numbers down.

    Ceiling: ops of 20 µs or more.
    """
    recording = selection.facts.recording
    many, cores = recording.threads, recording.cores
    if selection.device is not None or many <= THREAD_RATIO.of(selection.limits) * cores:
        return None
    return Advice(
        title=f"{many} threads share {plural(cores, 'core')}",
        said=(
            f"Ops run on up to {many}{NBSP}threads, and the process may use "
            f"{plural(cores, 'core')}: threads wait for each other at the end of every op. Ops "
            f"of 20{NBSP}µs or more take {spent(selection, total_of(selection, seen))}."
        ),
        action="Use as many threads as there are cores.",
        snippet=f"torch.set_num_threads({cores})  # or OMP_NUM_THREADS={cores}",
        method="time of all ops long enough to be divided among threads",
        headline=f"{many} threads share {plural(cores, 'core')} for {{part}}.",
        confidence=0.9,
        evidence=(Evidence("threads of an op", float(many), "count", float(cores)),),
        verify="Record again: ops should be shorter.",
        links=(Reference("Threads on the CPU", url=_THREAD_DOCS),),
    )


LEAST_CALLS = 1000  # of Python, to tell what it costs to record one
EVENT_PARTS = 2.0  # of a recorded call: as much passes around it as in it
MOST_RATE = 200  # calls of Python per millisecond


def cost_of_frames(code: HostCode) -> float:
    """Time to record one call of Python, in ns; 0 where there are few.

    The shortest tenth tells: these calls do nearly nothing.
    """
    rows = where(code.frame)
    if len(rows) < LEAST_CALLS:
        return 0.0
    return EVENT_PARTS * float(np.percentile(take(code.dur, rows), 10))


@on_host()
def find_recorded(code: HostCode) -> Iterator[Found]:
    """Calls of Python, their rate, and what recording them takes of the steps."""
    cost, rows = cost_of_frames(code), where(code.frame).astype(np.int64)
    if not cost:
        return
    length = int((code.windows.end - code.windows.start).sum())
    rows = rows[code.windows.of(take(code.ts, rows)) >= 0]
    if not len(rows):
        return
    most = int(np.bincount(code.name[rows]).argmax())
    mine = rows[code.name[rows] == most]
    figures = {
        "per_ms": len(rows) * 1e6 / max(length, 1),
        "part": min(len(rows) * cost / max(length, 1), 1.0),
    }
    yield Found("recorded", code.trace.strings[most], EMPTY, code.host_rows(mine), "", figures)


@pattern_rule(
    "PR2",
    "Stacks that take long to record",
    (TIME, WHOLE, STACKS),
    "recorded",
    Threshold("recording_ratio", 0.05, "recording calls of Python"),
    measure=lambda _, seen: seen[0].figure("part"),
)
def recorded(_: Selection, seen: Seen) -> Advice | None:
    """Recording calls of Python takes more than {recording_ratio}.

    There are more than 200 calls per millisecond, and the shortest tell what one costs.
    """
    rate, part = seen[0].figure("per_ms"), seen[0].figure("part")
    if rate <= MOST_RATE:
        return None
    return Advice(
        title="Recording stacks slows the program down",
        said=(
            f"The profiler records {rate:,.0f} calls of Python per millisecond, most of them of "
            f"`{short_frame(seen[0].pattern.name)}`. That takes {share(part)} of the time or more. "
            "Without stacks Python is faster than it seems here."
        ),
        action="Record without stacks to see how long the steps take.",
        snippet="profile(…, with_stack=False)",
        confidence=0.8,
        otherwise="medium",
        verify="Record again: the steps are shorter.",
    )


STALL_NS = 3_000_000
USUAL_CALLS = 20  # of one name, to tell how long it usually takes
LEAST_STALLS = 5


@on_host()
def find_stalls(code: HostCode) -> Iterator[Found]:
    """Calls of milliseconds whose name usually takes microseconds, and waits for no device."""
    hosts, mine = code.hosts, slice(code.low, code.high)
    calls = (code.op | hosts.runtime[mine]) & ~hosts.blocking[mine]
    rows = where(calls & equal(hosts.role[mine], HostRole.NONE)).astype(np.int64)
    rows = code.outside_of_loader(rows)
    if not len(rows):
        return
    names, place = ranked(code.name[rows])
    own = take(code.self_ns, rows)
    usual = (middles(place, own, len(names))[1] <= TINY_NS) & (np.bincount(place) >= USUAL_CALLS)
    first = np.full(len(names), len(rows), np.int64)
    np.minimum.at(first, place, np.arange(len(rows)))
    later = np.arange(len(rows)) > first[place]  # a first call may start something
    found = rows[usual[place] & later & (own >= STALL_NS)]
    if len(found) < LEAST_STALLS or len(distinct_values(code.name[found])) < 2:
        return
    found = code.outermost(found)
    name = code.trace.strings[int(code.name[found[np.argmax(code.dur[found])]])]
    yield Found("stalls", name, code.time(found), code.host_rows(found))


@pattern_rule(
    "HS1",
    "Stalls of the main thread",
    (TIME, WHOLE, OPS),
    "stalls",
    Threshold("stall_ratio", 0.05, "calls that take far longer than usual"),
)
def stalls(selection: Selection, seen: Seen) -> Advice:
    """Calls that usually take 20 µs or less take 3 ms or more, for more than {stall_ratio}.

    Five calls or more of two names or more; none waits for a device or comes for the first time.

    Ceiling: their time.
    """
    return Advice(
        title="The main thread stalls in small calls",
        said=(
            f"{count_of(seen):,} calls such as `{seen[0].pattern.name}` usually take less than "
            f"20{NBSP}µs. Here each takes 3{NBSP}ms or more, together {spent_by(selection, seen)}."
        ),
        action=(
            "Give each busy thread a core. Look at the CPU quota of its "
            "container, and at other processes on its cores."
        ),
        method="time of these calls",
        # What other programs do to this one stands behind what it does itself.
        severity="medium" if selection.device is None else None,
        confidence=0.6,
        verify="Record again: these calls take microseconds.",
    )
