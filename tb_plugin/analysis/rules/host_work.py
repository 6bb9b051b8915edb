"""What else holds a step on the host?

CP1: is code compiled in the steps, again and again?
CPU1: do ops use more threads than there are cores, or fewer?
"""

from __future__ import annotations

from ...base.units import NBSP, plural
from ..overview.findings import Evidence, Finding, Reference
from ..steps import Selection
from ..wording import step_noun
from .claims import PatternAdvice, pattern_finding, patterns, spent
from .operators import total_of
from .python_code import large
from .rule import HOST_RANGES, OPS, THREADS, TIME, WHOLE, Rule

_RECOMPILE_DOCS = "https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html"
_THREAD_DOCS = "https://docs.pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html"


def check_compiling(selection: Selection) -> Finding | None:
    """Fires when compilation takes over 1 % of the steps."""
    seen = patterns(selection, "compiling")
    limit = selection.limits.compile_ratio
    if not seen or not large(selection, seen, limit):
        return None
    total, count = total_of(selection, seen), sum(one.count for one in seen)
    again = int(max(one.pattern.figures.get("again", 0.0) for one in seen))
    where = f"; `{seen[0].frame}` called it" if seen[0].frame else ""
    if again:
        said = (
            f"Compilation takes {spent(selection, total)}. {plural(again, 'version')} of code that "
            f"was compiled before {'are' if again > 1 else 'is'} compiled again{where}."
        )
        action = (
            "Shapes or values change from call to call: mark what changes as dynamic, or pad to a "
            "few sizes. `TORCH_LOGS=recompiles` names the guard that failed."
        )
        snippet = (
            "model = torch.compile(model, dynamic=True)\n# or: torch._dynamo.mark_dynamic(x, 0)"
        )
    else:
        said = f"Compilation takes {spent(selection, total)}, {plural(count, 'time')}{where}."
        action = "Code is compiled when it first runs: run some steps before the recording starts."
        snippet = "schedule=torch.profiler.schedule(wait=1, warmup=2, active=3, repeat=1)"
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="CP1",
            title="Code is compiled again in the steps"
            if again
            else "Code is compiled in the steps",
            said=said,
            action=action,
            snippet=snippet,
            method="time in the compiler",
            limit=limit,
            headline="Compilation takes {part}.",
            confidence=0.95,
            evidence=(Evidence("versions compiled again", float(again), "count", 0),),
            verify=f"Record again: no compilation in the {step_noun(selection.facts)}.",
            links=(Reference("Why code is compiled again", url=_RECOMPILE_DOCS),),
        ),
    )


COMPILING = Rule(
    "CP1",
    "Compilation in the steps",
    (TIME, WHOLE, HOST_RANGES),
    check_compiling,
    frozenset({"compile_ns", "idle_compile_ns"}),
)


def check_threads(selection: Selection) -> Finding | None:
    """Fires when ops on the host run on more threads than the process has cores."""
    threads, cores = selection.facts.recording.threads, selection.facts.recording.cores
    if selection.device is not None or not threads or not cores:
        return None
    seen = patterns(selection, "long_ops")
    if not seen or threads <= selection.limits.thread_ratio * cores:
        return None
    return pattern_finding(
        selection,
        seen,
        PatternAdvice(
            id="CPU1",
            title=f"{threads} threads share {plural(cores, 'core')}",
            said=(
                f"Ops run on up to {threads}{NBSP}threads, and the process may use "
                f"{plural(cores, 'core')}: threads wait for each other at the end of every op. Ops "
                f"of 20{NBSP}µs or more take {spent(selection, total_of(selection, seen))}."
            ),
            action="Use as many threads as there are cores.",
            snippet=f"torch.set_num_threads({cores})  # or OMP_NUM_THREADS={cores}",
            method="time of all ops long enough to be divided among threads",
            limit=0.0,
            headline=f"{threads} threads share {plural(cores, 'core')} for {{part}}.",
            confidence=0.9,
            evidence=(Evidence("threads of an op", float(threads), "count", float(cores)),),
            verify="Record again: ops should be shorter.",
            links=(Reference("Threads on the CPU", url=_THREAD_DOCS),),
        ),
    )


OVERSUBSCRIBED = Rule(
    "CPU1",
    "More threads than cores",
    (TIME, WHOLE, OPS, THREADS),
    check_threads,
    frozenset({"forward_ns", "backward_ns"}),
)

RULES = (COMPILING, OVERSUBSCRIBED)
