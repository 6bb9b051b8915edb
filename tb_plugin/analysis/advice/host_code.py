"""Does Python, or what runs between ops, hold the step?

PY1: does one frame of the user's code run Python for long?
PY2: does the main thread wait for a lock?
SY3: is text printed in the step?
LA3: is garbage collected in the step?
PR1: does the profiler take time for itself?
CP1: is code compiled in the steps, again and again?
CP2: do compiled functions leave their graphs?
CP3: do compiled functions launch kernel by kernel where others replay graphs?
CPU1: do ops use more threads than there are cores?
"""

from __future__ import annotations

from ...base.units import NBSP, duration, plural
from ..findings import Evidence, Reference
from ..steps import Selection
from ..wording import per_step, short_frame, step_noun
from .claims import (
    PatternAdvice,
    Seen,
    count_of,
    longest,
    often,
    pattern_rule,
    spent,
    spent_by,
    total_of,
)
from .rule import (
    DEVICE_ACTIVITY,
    HOST_RANGES,
    OPS,
    STACKS,
    THREADS,
    TIME,
    TORCH_2_4,
    WHOLE,
    is_older,
)

_WARMED_UP = "https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule"
_COMPILER_DOCS = "https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html"
_GRAPH_TREES = "https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html"
_THREAD_DOCS = "https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html"


@pattern_rule(
    "PY1",
    "Python that holds the step, by frame",
    (TIME, WHOLE, STACKS),
    "python",
    "python_ratio",
    choose=longest,
    answers=("python_ns", "idle_python_ns"),
)
def frame(selection: Selection, seen: Seen) -> PatternAdvice:
    """Python in one frame of the user's code takes over 10 % of the steps.

    What printing, garbage collection, locks, loops over tiny ops and the DataLoader take is not
    counted: it has rules of its own.
    """
    one = seen[0]
    calls = selection.mean(one.count)
    split = f", in {round(calls):,} calls {per_step(selection)}" if round(calls) > 1 else ""
    return PatternAdvice(
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


@pattern_rule(
    "PY2",
    "Waiting for a lock",
    (TIME, WHOLE, STACKS),
    "lock",
    "lock_ratio",
    answers=("python_ns", "idle_python_ns"),
)
def lock(selection: Selection, seen: Seen) -> PatternAdvice:
    """The main thread waits for locks for over 5 % of the steps."""
    return PatternAdvice(
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


@pattern_rule("SY3", "Printing in the step", (TIME, WHOLE, STACKS), "printing", "printing_ratio")
def printing(selection: Selection, seen: Seen) -> PatternAdvice:
    """Printing and logging take over 1 % of the steps."""
    waits = "" if selection.device is None else ", and waits for the device"
    return PatternAdvice(
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


@pattern_rule(
    "LA3",
    "Garbage collection in the step",
    (TIME, WHOLE, STACKS),
    "garbage",
    "garbage_ratio",
    answers=("idle_gc_ns",),
)
def garbage(selection: Selection, seen: Seen) -> PatternAdvice:
    """Garbage collection takes over 1 % of the steps."""
    by_hand = seen[0].pattern.name.startswith("<built-in")
    return PatternAdvice(
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


@pattern_rule(
    "PR1",
    "Time of the profiler itself",
    (TIME, WHOLE, HOST_RANGES),
    "profiler",
    "profiler_ratio",
    answers=("idle_profiler_ns",),
)
def profiler(selection: Selection, seen: Seen) -> PatternAdvice:
    """The profiler says that it took over 2 % of the steps for itself."""
    most = max((event.dur_ns for event in seen[0].pattern.events), default=0)
    noun = step_noun(selection.facts)
    return PatternAdvice(
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
        links=(Reference("How to warm the profiler up", url=_WARMED_UP),),
    )


# --- compiled code --------------------------------------------------------------------------------


def _logs(selection: Selection, since: str = "2.1") -> str:
    """From which version on there is such a log, where the recording may be of an older one."""
    return f" (torch {since} or later)" if is_older(selection, TORCH_2_4) else ""


@pattern_rule(
    "CP1",
    "Compilation in the steps",
    (TIME, WHOLE, HOST_RANGES),
    "compiling",
    "compile_ratio",
    answers=("compile_ns", "idle_compile_ns"),
)
def compiling(selection: Selection, seen: Seen) -> PatternAdvice:
    """Compilation takes over 1 % of the steps."""
    again = int(max(one.figure("again") for one in seen))
    where = f"; `{seen[0].frame}` called it" if seen[0].frame else ""
    if again:
        said = (
            f"Compilation takes {spent_by(selection, seen)}. {plural(again, 'version')} of code "
            f"that was compiled before {'are' if again > 1 else 'is'} compiled again{where}."
        )
        action = (
            "Shapes or values change from call to call: mark what changes as dynamic, or pad to a "
            f"few sizes. `TORCH_LOGS=recompiles`{_logs(selection)} names the guard that failed."
        )
        snippet = (
            "model = torch.compile(model, dynamic=True)\n# or: torch._dynamo.mark_dynamic(x, 0)"
        )
    else:
        times = plural(count_of(seen), "time")
        said = f"Compilation takes {spent_by(selection, seen)}, {times}{where}."
        action = "Code is compiled when it first runs: run some steps before the recording starts."
        snippet = "schedule=torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1)"
    return PatternAdvice(
        title=f"Code is compiled {'again ' if again else ''}in the steps",
        said=said,
        action=action,
        snippet=snippet,
        method="time in the compiler",
        headline="Compilation takes {part}.",
        confidence=0.95,
        evidence=(Evidence("versions compiled again", float(again), "count", 0),),
        verify=f"Record again: no compilation in the {step_noun(selection.facts)}.",
        links=(Reference("Why code is compiled again", url=_COMPILER_DOCS),),
    )


@pattern_rule(
    "CP2",
    "Compiled functions that leave their graphs",
    (TIME, WHOLE, OPS),
    "graph_breaks",
    "graph_break_ratio",
    answers=("forward_ns", "python_ns", "idle_dispatch_ns", "idle_python_ns"),
)
def graph_breaks(selection: Selection, seen: Seen) -> PatternAdvice:
    """Compiled functions spend over 5 % of the steps outside of their graphs, after breaks."""
    return PatternAdvice(
        title=f"Compiled functions leave their graphs{seen[0].place}",
        said=(
            f"Compiled functions go on in another graph {often(selection, count_of(seen))}"
            f"{seen[0].place}. Outside of graphs, in ops one by one and in Python, they spend "
            f"{spent_by(selection, seen)}."
        ),
        action=(
            "Keep printing, `.item()` and calls that cannot be traced out of compiled functions. "
            f"`TORCH_LOGS=graph_breaks`{_logs(selection)} names each line and its reason."
        ),
        snippet="model = torch.compile(model, fullgraph=True)  # fails at the first break",
        method="time of these compiled functions outside of their graphs",
        confidence=0.7,
        verify="Record again: no compiled region lies in another one.",
        links=(Reference("Why a function leaves its graph", url=_COMPILER_DOCS),),
    )


@pattern_rule(
    "CP3",
    "Compiled functions that launch kernel by kernel",
    (TIME, WHOLE, OPS, DEVICE_ACTIVITY),
    "not_replayed",
    "not_replayed_ratio",
    answers=("idle_launch_ns", "idle_dispatch_ns"),
)
def not_replayed(selection: Selection, seen: Seen) -> PatternAdvice:
    """The device idles for over 3 % under compiled functions that replay no graph, as others do."""
    return PatternAdvice(
        title=f"Some compiled functions replay no graph{seen[0].place}",
        said=(
            f"`{seen[0].pattern.name}` and the like launch {seen[0].figure('launches'):,.0f} "
            f"kernels one by one in a call{seen[0].place}, where other compiled functions of this "
            f"recording replay a graph. They take {spent_by(selection, seen)}."
        ),
        action=(
            "Find out why no graph is made of them: inputs on the host, changing shapes, or inputs "
            f"that are written to. `TORCH_LOGS=cudagraphs`{_logs(selection, '2.4')} says the "
            "reason."
        ),
        method="idle time of the device during these functions",
        confidence=0.6,
        verify="Record again: each compiled function launches one graph.",
        links=(Reference("When a graph is not replayed", url=_GRAPH_TREES),),
    )


# --- threads --------------------------------------------------------------------------------------


@pattern_rule(
    "CPU1",
    "More threads than cores",
    (TIME, WHOLE, OPS, THREADS),
    "long_ops",
    answers=("forward_ns", "backward_ns"),
)
def threads(selection: Selection, seen: Seen) -> PatternAdvice | None:
    """Ops on the host run on more threads than the process has cores."""
    recording = selection.facts.recording
    many, cores = recording.threads, recording.cores
    if selection.device is not None or many <= selection.limits.thread_ratio * cores:
        return None
    return PatternAdvice(
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


RULES = (
    frame,
    lock,
    printing,
    garbage,
    profiler,
    compiling,
    graph_breaks,
    not_replayed,
    threads,
)
