"""Compile: what did torch.compile compile, why again, and where did it leave its graphs?"""

from __future__ import annotations

from ...analysis.compile.model import Break, CompiledFacts, KernelSource, Remainder, Version
from ...analysis.compile.reasons import why_again
from ...analysis.facts import Facts
from ...analysis.findings import at_time
from ...base.units import duration, plural, share
from ..table import Table, heads, table_from
from ..view import View
from . import contract as answers
from .contract import BreakRow, CompiledRow, EagerRow, KernelLine, LineRow

_HOW = "Record with `kinetoscope.handlers.tensorboard_trace_handler`."
_LINES = 'Record with `tensorboard_trace_handler(logdir, compile="lines")`, torch 2.9 or later.'
_CPP = (
    "Kernels in C++ leave no event in the trace. Set `TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE=1`"
    " before the start."
)
_LISTED = 2  # reasons in a cell
MOST_LINES = 200


def build(facts: Facts, query: answers.CompileQuery) -> answers.Compiled:  # noqa: ARG001
    """The answer of the whole recording."""
    found = facts.compiled or CompiledFacts()
    headline, detail = _words(found)
    rows = sorted(found.versions, key=lambda one: -(one.compile_ns or 0) - one.run_ns)
    return answers.Compiled(
        headline=headline,
        detail=detail,
        versions=tuple(_version(found, one) for one in rows),
        versions_columns=heads(CompiledRow),
        breaks=tuple(_break(one) for one in found.breaks),
        breaks_columns=heads(BreakRow),
        kernels=tuple(_kernel(one) for one in found.kernels),
        kernels_columns=heads(KernelLine),
        lines=_lines(found),
        lines_columns=heads(LineRow),
        eager=_eager(found.remainder),
        eager_columns=heads(EagerRow),
        missing=_missing(found),
        no_lines=_no_lines(facts, found),
    )


def _words(found: CompiledFacts) -> tuple[str, str]:
    first, again = (
        [one for one in found.versions if one.compile_ns and one.is_again == is_again]
        for is_again in (False, True)
    )
    spent = {
        row: sum(one.compile_ns or 0 for one in some) for row, some in enumerate((first, again))
    }
    refused = [one for one in found.versions if one.failed]
    if again:
        head = f"{plural(len(again), 'version')} compiled again: {duration(spent[1])}."
    elif first:
        head = f"{plural(len(first), 'function')} compiled, all first: {duration(spent[0])}."
    elif found.phases_ns and not found.occurrences:
        head = f"Compilation takes {duration(found.phases_ns)}; its functions are not recorded."
    elif found.versions:
        recorded = "Nothing is compiled inside the recording."
        head = recorded if found.recorded else "No compilation is recorded."
    elif found.kernels:
        head = (
            f"{plural(len(found.kernels), 'fused kernel')} ran; their functions are not recorded."
        )
    else:
        head = "No compiled code ran."
    parts = []
    if again and first:
        parts.append(f"First compilations, which are warm-up, take {duration(spent[0])}.")
    if refused:
        names = ", ".join(f"`{found.label(one)}`" for one in refused[:_LISTED])
        parts.append(f"The recompile limit was met: {names} runs eager.")
    if found.breaks:
        gaps = [one.gap_ns for one in found.breaks if one.gap_ns is not None]
        cost = f", {duration(sum(gaps))} of host time (estimate)" if gaps else ""
        parts.append(f"{plural(len(found.breaks), 'graph break')}{cost}.")
    elif found.recorded:
        parts.append("No graph break.")
    parts.append(_remainder(found.remainder))
    return head, " ".join(filter(None, parts))


def _version(found: CompiledFacts, one: Version) -> CompiledRow:
    place = found.functions[one.function].place if one.function >= 0 else ""
    kind = "refused" if one.failed else "again" if one.is_again else "first"
    return CompiledRow(
        name=found.label(one),
        place=place,
        id=one.id,
        kind=kind if one.id else "not known",
        calls=one.calls,
        run_ns=one.run_ns,
        compile_ns=one.compile_ns,
        before_ns=one.before_ns,
        why=why_again(one) or None,
        guards=one.guards,
        cache="hit" if one.cache_hit else None,
        link=at_time("in the trace", one.ts, one.dur_ns, one.slice) if one.ts >= 0 else None,
    )


def _break(one: Break) -> BreakRow:
    return BreakRow(
        place=one.place,
        name=one.name,
        reason=one.reason,
        calls=one.calls,
        gap_ns=one.gap_ns,
        hint=one.hint or None,
        callers=", ".join(one.callers) or None,
        versions=one.versions,
        link=at_time("in the trace", one.ts, 0, one.slice) if one.ts >= 0 else None,
    )


def _kernel(one: KernelSource) -> KernelLine:
    return KernelLine(
        kernel=one.name,
        version=one.id,
        direction="backward" if one.backward else "forward" if one.id else "",
        nodes=", ".join(one.nodes),
        lines=", ".join(one.lines),
        calls=one.calls,
        total_ns=one.total_ns,
    )


def _lines(found: CompiledFacts) -> tuple[LineRow, ...]:
    """Time by line; the time of a kernel is split evenly over its lines."""
    spent: dict[str, float] = {}
    kernels: dict[str, int] = {}
    for one in found.kernels:
        for line in one.lines:
            spent[line] = spent.get(line, 0.0) + one.total_ns / len(one.lines)
            kernels[line] = kernels.get(line, 0) + 1
    order = sorted(spent, key=lambda line: -spent[line])[:MOST_LINES]
    whole = max(found.fused_ns, 1)
    return tuple(
        LineRow(line, round(spent[line]), spent[line] / whole, kernels[line]) for line in order
    )


def _eager(found: Remainder | None) -> tuple[EagerRow, ...]:
    if found is None:
        return ()
    whole = max(found.total_ns, 1)
    return tuple(EagerRow(one.name, one.ns, one.ns / whole, one.calls) for one in found.ops)


def _remainder(found: Remainder | None) -> str:
    """Compiled graphs, eager ops and, on the host, compilation and guards."""
    if found is None or not found.total_ns:
        return ""
    where = f"of {plural(found.steps, 'step')}" if found.steps else "of the recording"
    if found.on == "device":
        whole = found.total_ns
        parts = [
            f"compiled graphs {share(found.graph_ns / whole)}",
            f"eager ops {share(found.eager_ns / whole)}",
        ]
        if found.unknown_ns:
            parts.append(f"unknown {share(found.unknown_ns / whole)}")
        return f"Device time {where}: {', '.join(parts)}."
    parts = [
        f"{name} {duration(ns)}"
        for name, ns in (
            ("compiled graphs", found.graph_ns),
            ("eager ops", found.eager_ns),
            ("compilation", found.compile_ns),
            ("guards", found.guard_ns),
        )
        if ns
    ]
    return f"Host time {where}: {', '.join(parts)}."


def _missing(found: CompiledFacts) -> str:
    if found.problem:
        return f"Functions, reasons and breaks: not available, because {found.problem}."
    if not found.recorded:
        return (
            "Functions, reasons, breaks and compilations before the recording: not available,"
            f" because nothing recorded them. {_HOW}"
        )
    if found.missing:
        return f"Not available in this torch: {', '.join(found.missing)}."
    return ""


def _no_lines(facts: Facts, found: CompiledFacts) -> str:
    if not found.kernels:
        return _CPP if facts.device_type == "CPU" else ""
    if found.lined_ns:
        part = share(found.lined_ns / max(found.fused_ns, 1))
        return f"{part} of the time of fused kernels has a line."
    return f"Lines are not available; nodes are those in the kernel's name. {_LINES}"


def tables(answer: answers.Compiled) -> tuple[Table, ...]:
    """The answer as tables."""
    return (
        table_from(
            "Compiled functions", answer.versions_columns, answer.versions, note=answer.missing
        ),
        *(
            (table_from("Graph breaks", answer.breaks_columns, answer.breaks),)
            if answer.breaks
            else ()
        ),
        *(
            (
                table_from(
                    "Fused kernels", answer.kernels_columns, answer.kernels, note=answer.no_lines
                ),
            )
            if answer.kernels
            else ()
        ),
        *(
            (table_from("Fused kernels by line", answer.lines_columns, answer.lines),)
            if answer.lines
            else ()
        ),
        *(
            (table_from("Eager remainder", answer.eager_columns, answer.eager),)
            if answer.eager
            else ()
        ),
    )


def unavailable(facts: Facts) -> str | None:
    """Why there is nothing to show."""
    if facts.compiled is not None:
        return None
    return "No compiled code: `torch.compile` was not used, or nothing of it ran."


VIEW = View(
    stem="compile",
    title="Compile",
    key="c",
    question="What did torch.compile compile, why again, and what does a graph break cost?",
    query=answers.CompileQuery,
    answer=answers.Compiled,
    build=build,
    tables=tables,
    unavailable=unavailable,
)
