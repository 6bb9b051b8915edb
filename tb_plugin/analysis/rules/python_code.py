"""Does Python hold the step?

PY1: does one frame of the user's code run Python for long?
PY2: does the main thread wait for a lock?
SY3: is text printed in the step?
LA3: is garbage collected in the step?
PR1: does the profiler take time for itself?
"""

from __future__ import annotations

from ...base.units import duration
from ..overview.findings import Finding, Reference
from ..steps import Selection
from ..wording import per_step, short_frame, step_noun
from .claims import PatternAdvice, PatternSum, pattern_finding, patterns, spent, united_ns
from .rule import HOST_RANGES, STACKS, TIME, WHOLE, Rule

_WARMED_UP = "https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule"


def large(selection: Selection, seen: tuple[PatternSum, ...], limit: float) -> bool:
    """Whether the patterns together take more than a share of the chosen steps."""
    return selection.ratio(united_ns(selection, [one.row for one in seen])) > limit


def often(selection: Selection, count: int) -> str:
    """``3 times per step``; ``once in this step``."""
    mean = selection.mean(count)
    if round(mean) <= 1:
        return "once" if selection.count == 1 else "once a step"
    return f"{round(mean):,} times {per_step(selection)}"


def check_frame(selection: Selection) -> Finding | None:
    """Fires when Python in one frame of the user's code takes over 10 % of the steps.

    What printing, garbage collection, locks, loops over tiny ops and the DataLoader take is not
    counted: it has rules of its own.
    """
    seen = patterns(selection, "python")[:1]
    limit = selection.limits.python_ratio
    if not seen or not large(selection, seen, limit):
        return None
    one = seen[0]
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="PY1",
            title=f"Python runs in `{one.frame}`",
            said=(
                f"`{one.frame}` runs Python for {spent(selection, one.ns)}, "
                f"in {often(selection, one.count).replace('once a step', 'one call per step')}: "
                "no op of PyTorch is open meanwhile."
                if one.count != selection.count
                else f"`{one.frame}` runs Python for {spent(selection, one.ns)}: no op of PyTorch "
                "is open meanwhile."
            ),
            action=(
                "Do that work once before the steps, in a worker of the DataLoader, or with ops on "
                "whole tensors. Recording stacks slows Python down: compare with a recording "
                "without `with_stack=True`."
            ),
            method="time in which this frame is the innermost of the user's code and no op runs",
            limit=limit,
            headline=f"`{one.frame}` runs Python for {{part}}.",
            confidence=0.8,
            verify="Record again: the frame should take less of the step.",
        ),
    )


FRAME = Rule(
    "PY1",
    "Python that holds the step, by frame",
    (TIME, WHOLE, STACKS),
    check_frame,
    frozenset({"python_ns", "idle_python_ns"}),
)


def check_lock(selection: Selection) -> Finding | None:
    """Fires when the main thread waits for locks for over 5 % of the steps."""
    seen = patterns(selection, "lock")
    limit = selection.limits.lock_ratio
    if not seen or not large(selection, seen, limit):
        return None
    total = united_ns(selection, [one.row for one in seen])
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="PY2",
            title=f"The main thread waits for a lock{seen[0].place}",
            said=(
                f"For {spent(selection, total)}, the main thread waits for a lock{seen[0].place}: "
                "another thread holds it."
            ),
            action=(
                "Hold the lock for a shorter time in the other thread, or pass data through a "
                "queue and do not wait in the step."
            ),
            method="time in calls that take a lock, or without any event before it is given back",
            limit=limit,
            headline="The main thread waits for a lock for {part}.",
            confidence=0.7,
            verify="Record again: the frame should not wait any more.",
        ),
    )


LOCK = Rule(
    "PY2",
    "Waiting for a lock",
    (TIME, WHOLE, STACKS),
    check_lock,
    frozenset({"python_ns", "idle_python_ns"}),
)


def check_printing(selection: Selection) -> Finding | None:
    """Fires when printing and logging take over 1 % of the steps."""
    seen = patterns(selection, "printing")
    limit = selection.limits.printing_ratio
    if not seen or not large(selection, seen, limit):
        return None
    total = united_ns(selection, [one.row for one in seen])
    count = sum(one.count for one in seen)
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="SY3",
            title=f"Text is printed in the step{seen[0].place}",
            said=(
                f"Printing takes {spent(selection, total)}, {often(selection, count)}"
                f"{seen[0].place}. The text of a tensor reads its values one by one, and waits "
                "for the device."
            ),
            action="Print every hundredth step, and numbers that were added up meanwhile.",
            snippet=('if step % 100 == 0:\n    print(f"{step}: {total_loss.item() / 100:.3f}")'),
            method="time in `print`, the text of tensors, logging and progress bars",
            limit=limit,
            headline="Printing takes {part}.",
            confidence=0.9,
            verify="Record again: no printing in most steps.",
        ),
    )


PRINTING = Rule("SY3", "Printing in the step", (TIME, WHOLE, STACKS), check_printing)


def check_garbage(selection: Selection) -> Finding | None:
    """Fires when garbage collection takes over 1 % of the steps."""
    seen = patterns(selection, "garbage")
    limit = selection.limits.garbage_ratio
    if not seen or not large(selection, seen, limit):
        return None
    total = united_ns(selection, [one.row for one in seen])
    count = sum(one.count for one in seen)
    by_hand = seen[0].pattern.name.startswith("<built-in")
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="LA3",
            title=f"Garbage is collected in the step{seen[0].place}",
            said=(
                f"Garbage collection takes {spent(selection, total)}, {often(selection, count)}"
                f"{seen[0].place}."
            ),
            action=(
                "Leave out the call of `gc.collect()`, or collect between epochs."
                if by_hand
                else "Freeze what is there before the steps, and collect between epochs."
            ),
            snippet="" if by_hand else "gc.collect(); gc.freeze(); gc.disable()  # before the loop",
            method="time in garbage collection",
            limit=limit,
            headline="Garbage collection takes {part}.",
            confidence=0.95,
            verify="Record again: no garbage collection in most steps.",
        ),
    )


GARBAGE = Rule(
    "LA3",
    "Garbage collection in the step",
    (TIME, WHOLE, STACKS),
    check_garbage,
    frozenset({"idle_gc_ns"}),
)


def check_profiler(selection: Selection) -> Finding | None:
    """Fires when the profiler says that it took over 2 % of the steps for itself."""
    seen = patterns(selection, "profiler")
    limit = selection.limits.profiler_ratio
    if not seen or not large(selection, seen, limit):
        return None
    total = united_ns(selection, [one.row for one in seen])
    longest = max((event.dur_ns for event in seen[0].pattern.events), default=0)
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="PR1",
            title="The profiler takes time for itself",
            said=(
                f"`{short_frame(seen[0].pattern.name)}` of the profiler takes "
                f"{spent(selection, total)}, {duration(longest)} at once. Without the profiler "
                f"the {step_noun(selection.facts)} is shorter: no time to win for the program."
            ),
            action="Warm the profiler up for a step or two, and record fewer kinds of data.",
            snippet="schedule=torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1)",
            method="the profiler's own account of its time",
            limit=limit,
            confidence=0.9,
            verify="Record again: the profiler's own time should be shorter.",
            links=(Reference("How to warm the profiler up", url=_WARMED_UP),),
        ),
    )


PROFILER = Rule(
    "PR1",
    "Time of the profiler itself",
    (TIME, WHOLE, HOST_RANGES),
    check_profiler,
    frozenset({"idle_profiler_ns"}),
)

RULES = (FRAME, LOCK, PRINTING, GARBAGE, PROFILER)
