"""Does Python hold the step, or what runs beside it? Frames, locks, printing, garbage, threads."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...base.arrays import I64, U8, Mask, equal, is_among, ranked, rows_between, take, where
from ...base.group_sums import group_sums
from ...base.intervals import Intervals, merge, subtract, union
from ...base.native import call
from ...base.units import NBSP, duration, plural
from ...trace.model import HostKind
from ..findings import Evidence, Reference
from ..host_activity import HostRole
from ..steps import Selection
from ..user_code import MOST_FRAMES, PRINTS, Found, HostCode, distinct_owners, of_code
from ..wording import per_step, short_frame, step_noun
from .claims import (
    Seen,
    count_of,
    in_python,
    longest,
    often,
    on_host,
    spent,
    spent_by,
    total_of,
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
)

THREAD_RATIO = Threshold("thread_ratio", 1.0, "threads per core; above it fires")


_THREAD_DOCS = "https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html"
MOST_RELEASED, _ROWS = 10_000, 1 << 18
LOCK_GAP_NS = 100_000  # a frame that takes a lock and records nothing for so long waits for it


@in_python
def find_python(code: HostCode, told: Intervals) -> Iterator[Found]:
    """Frames of the user's code by the time of Python in them, without the time already told.

    Python is what no op, call or waiting holds; a library's Python counts for its caller.
    """
    if not code.frame.any():
        return
    told = merge(told, code.loading)
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
    for at, name in enumerate(found.tolist(), start=1):
        frame, mine = code.trace.strings[name], number == at
        time = subtract(subtract(code.time_where(mine), code.time_where(around == at)), told)
        yield Found(
            "python", frame, time, code.host_rows(distinct_owners(code, where(mine))), frame
        )


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


@pattern_rule(
    "PY1",
    "Python that holds the step, by frame",
    (TIME, WHOLE, STACKS),
    "python",
    Threshold("python_ratio", 0.10, "Python in one frame"),
    choose=longest,
    answers=("python_ns", "idle_python_ns"),
)
def python(selection: Selection, seen: Seen) -> Advice:
    """Python in one frame of the user's code takes more than {python_ratio}.

    A library's Python belongs to its caller. What printing, garbage collection, locks, loops
    over tiny ops and the DataLoader take is not counted.

    Ceiling: time in which this frame is the innermost of the user's and no op runs.
    """
    one = seen[0]
    calls = selection.mean(one.count)
    split = f", in {round(calls):,} calls {per_step(selection)}" if round(calls) > 1 else ""
    return Advice(
        title=f"Python runs in `{one.frame}`",
        said=(
            f"`{one.frame}` runs Python for {spent_by(selection, seen)}{split}: no op of PyTorch "
            "is open meanwhile."
        ),
        action=(
            "Do that work once before the steps, in a worker of the DataLoader, or with ops on "
            "whole tensors. Recording stacks slows Python down: compare with a recording "
            "without `with_stack=True`."
        ),
        method="time in which this frame is the innermost of the user's code and no op runs",
        headline=f"`{one.frame}` runs Python for {{part}}.",
        confidence=0.8,
        verify="Record again: the frame should take less of the step.",
    )


_ACQUIRES = of_code(r"^<built-in method (acquire|__enter__) of _?(thread|multiprocessing)\b")
_RELEASES = of_code(r"^<built-in method __exit__ of _?(thread|multiprocessing)\b")


@on_host(hides_python=True)
def find_locks(code: HostCode) -> Iterator[Found]:
    """Waiting for locks: calls of ``acquire``, and in a ``with``, what passes before.

    No recorder sees the call of ``with``: it is the longest stretch without any event before the
    lock is given back.
    """
    rows = code.named(_ACQUIRES)
    # The DataLoader waits for its workers by a lock: that is another pattern.
    rows = code.outside_of_loader(rows[code.frame[rows]])
    released = code.named(_RELEASES)
    released = released[code.parent[released] >= 0][:MOST_RELEASED]
    around = code.parent[released]
    long = code.ts[released] - code.ts[around] >= LOCK_GAP_NS  # no gap within is longer
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
    given back.

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
            else "Freeze what is there before the steps, and collect between epochs."
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
