"""Phases and iterations of a served model, in the Overview."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated

import numpy as np
from msgspec import Struct, structs

from ...analysis.facts import IDLE_CAUSES, Facts
from ...analysis.findings import Reference, at_time
from ...analysis.kernel_families import UNCLASSIFIED, families
from ...analysis.serving.model import IterationFacts, PhaseUse
from ...analysis.serving.phases import PhaseFigures, chosen_iterations, phases
from ...analysis.steps import Limits, Selection, select
from ...analysis.wording import CAUSE_NAMES
from ...base.units import plural, share
from ..shared import device_row
from ..table import Column, Table, column, heads, table_from
from ..view import Subject

MOST_ITERATIONS = 2_000
MOST_FAMILIES = 8  # of a phase; the smaller ones are one part
OTHERS = "other"
_COLOURS = {
    "gemm": "compute", "attention": "cpu", "moe": "cpu-deep", "communication": "comm",
    "copy": "memcpy", "memset": "memset", "norm": "loader", "elementwise": "runtime",
    "triton": "cpu-light",
}  # fmt: skip


class PhaseFamily(Struct, frozen=True):
    """Device time of a phase in one family of kernels."""

    name: str
    ns: int
    ratio: float  # of the device time of the phase
    category: str  # colour


class ServedPhase(Struct, frozen=True):
    """The whole iterations of one phase."""

    phase: str  # "prefill", "mixed", "decode", "idle", ""
    steps: str  # its whole iterations, as a choice of steps: "0-3,7"
    name: Annotated[str, column("Phase", "By the requests in the batch.", kind="words")]
    count: Annotated[int, column("Iterations", "Whole ones; the others are in no figure.")]
    share_ratio: Annotated[float, column("Share", "Of the device time of all phases.")]
    requests: Annotated[float | None, column("Requests", "Mean of an iteration.")]
    span_ns: Annotated[
        float, column("Device time", "Mean of an iteration, from its first work to its last.")
    ]
    period_ns: Annotated[
        float | None,
        column("Period", "Mean time from the first work of an iteration to that of the next."),
    ]
    busy_ratio: Annotated[float, column("Busy", "Of the device time.")]
    gap_ns: Annotated[
        float | None,
        column("Gap before", "Mean idle time of the device before an iteration."),
    ]
    holder: Annotated[
        str,
        column("Held by", "The host event that held the device longest in gaps.", kind="name"),
    ]
    prefill_per_s: Annotated[int | None, column("Prefill tokens/s", "New tokens of prompts.")]
    generated_per_s: Annotated[
        int | None, column("Generated tokens/s", "With speculation: drafted tokens.")
    ]
    token_ns: Annotated[
        float | None, column("Time per output token", "Period · requests ÷ generated tokens.")
    ]
    basis: Annotated[str, column("Tokens by", "The time behind figures of tokens.", kind="words")]
    mfu_ratio: Annotated[
        float | None,
        column("MFU", "Of prefill: FLOPs ÷ period ÷ peak rate. Without a period: device time."),
    ]
    mbu_ratio: Annotated[
        float | None,
        column(
            "MBU",
            "Of decode: weights, keys and values ÷ period ÷ bandwidth. Without a period: device"
            " time.",
        ),
    ]
    padding_ratio: Annotated[
        float | None,
        column("Padding", "Of the batches that ran; where the engine writes it.", is_minor=True),
    ]
    graph_ratio: Annotated[
        float, column("In graphs", "Share of device time in replayed graphs.", is_minor=True)
    ]
    families: tuple[PhaseFamily, ...]


class ServedIteration(Struct, frozen=True):
    """One iteration of the chosen steps."""

    index: int
    number: Annotated[int, column("Iteration", "In order, or as the engine counts it.")]
    label: Annotated[str, column("What", "Phase and batch.", kind="words", is_sortable=True)]
    phase: str
    batch: Annotated[int | None, column("Requests", "Of the batch.")]
    prefill_tokens: Annotated[int | None, column("Prefill tokens", "New tokens of prompts.")]
    generated_tokens: Annotated[int | None, column("Generated tokens", "New tokens.")]
    keys: Annotated[int | None, column("Keys", "Σ of keys that attention reads.", is_minor=True)]
    span_ns: Annotated[int, column("Device time", "From its first work to its last.")]
    period_ns: Annotated[int | None, column("Period", "To the first work of the next one.")]
    busy_ratio: Annotated[float, column("Busy", "Of the device time.")]
    gap_ns: Annotated[int | None, column("Gap before", "Idle time behind the one before.")]
    cause: Annotated[str, column("Cause", "Of most of the gap.", kind="words", is_minor=True)]
    holder: Annotated[str, column("Held by", "Longest in the gap.", kind="name")]
    launches: Annotated[int, column("Launches", "Calls that launched its work.")]
    replays: Annotated[int, column("Replays", "Of these, replays of graphs.", is_minor=True)]
    left_out: Annotated[str, column("Left out", "Why no figure contains it.", kind="words")]
    link: Reference  # its work in the Trace view


class Serving(Struct, frozen=True):
    """The served model; only in recordings of inference engines."""

    title: str  # "Phases of vLLM"
    phases_columns: tuple[Column, ...]
    phases: tuple[ServedPhase, ...]
    iterations_columns: tuple[Column, ...]
    iterations: tuple[ServedIteration, ...]
    iteration_count: int  # of the chosen steps; the first ones are listed
    notes: tuple[str, ...]  # what the figures cannot tell, and why


def chosen_of(of: Subject | Facts, steps: str, device: str, limits: Limits) -> Selection:
    """The chosen steps and device; of a served model with MFU and MBU of its phases.

    Raises:
        QueryError: there are no such steps, or no such device.
        NotReadyError: what MFU and MBU are made of is being made.
    """
    facts = of.facts if isinstance(of, Subject) else of
    selection = select(facts, steps, device_row(facts, device), limits)
    if not isinstance(of, Subject) or not facts.iterations:
        return selection
    from ..origins import phase_uses  # a recording without iterations needs none

    return structs.replace(selection, use=phase_uses(of, selection))


def serving_of(of: Subject | Facts, selection: Selection) -> Serving | None:
    """The phases and iterations of the chosen steps; None without an inference engine.

    Raises:
        NotReadyError: a recording of a capture is being read.
    """
    chosen = chosen_iterations(selection)
    if not chosen:
        return None
    found = phases(selection)
    whole = sum(one.span_ns for one in found)
    moved = _lent_families(of) if isinstance(of, Subject) else {}
    engine = next((one.engine for one in chosen if one.engine), "")
    return Serving(
        title=f"Phases of {engine}" if engine else "Phases",
        phases_columns=heads(ServedPhase),
        phases=tuple(_phase(selection, one, whole, moved) for one in found if one.count),
        iterations_columns=heads(ServedIteration),
        iterations=tuple(_iteration(one) for one in chosen[:MOST_ITERATIONS]),
        iteration_count=len(chosen),
        notes=tuple(_notes(found, selection, has_lent=bool(moved))),
    )


def _steps(selection: Selection, one: PhaseFigures) -> str:
    """The steps of a phase as the parameter of an address: runs of numbers, else of places."""
    facts = selection.facts
    numbers = [step.number for step in facts.steps]
    mark = "" if len(set(numbers)) == len(numbers) and min(numbers) >= 0 else "i"
    indexes = sorted({found.step for found in one.iterations})
    runs: list[list[int]] = []
    for index in indexes:
        value = index if mark else numbers[index]
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(f"{mark}{low}" if low == high else f"{mark}{low}-{high}" for low, high in runs)


def _lent_families(subject: Subject) -> Mapping[int, Mapping[str, int]]:
    """By step, device time that operators lent by a capture move between families.

    A graph's kernels have names alone; an operator names what it computes: experts, attention.
    """
    from ..origins import has_replays, near_captures, operators_of

    if not has_replays(subject.facts) or not near_captures(subject):
        return {}
    columns = operators_of(subject)
    work, strings, known = columns.activities, columns.strings, families()
    own = np.flatnonzero(work.call >= len(columns.calls) - columns.lent_count)
    if not columns.lent_count:
        return {}
    found: dict[int, Counter[str]] = {}
    key = np.stack([work.step[own], work.name[own], columns.calls.name[work.call[own]]])
    values, at = np.unique(key, axis=1, return_inverse=True)
    sums = np.bincount(at.reshape(-1), work.dur_ns[own]).astype(np.int64)
    for (step, kernel, op), ns in zip(values.T.tolist(), sums.tolist(), strict=True):
        before, after = known.of(strings[kernel]).name, known.of(strings[op]).name
        if after not in (UNCLASSIFIED, before):
            moves = found.setdefault(step, Counter())
            moves[before] -= ns
            moves[after] += ns
    return found


def _phase(
    selection: Selection, one: PhaseFigures, whole: int, moved: Mapping[int, Mapping[str, int]]
) -> ServedPhase:
    period = one.period_ns
    use = selection.use.get(one.phase)
    return ServedPhase(
        phase=one.phase,
        steps=_steps(selection, one),
        name=one.name,
        count=one.count,
        share_ratio=one.span_ns / whole if whole else 0.0,
        requests=one.requests,
        span_ns=one.span_ns / one.count,
        period_ns=period / len(one.timed) if period is not None else None,
        busy_ratio=1 - one.inside_idle_ns / one.span_ns if one.span_ns else 0.0,
        gap_ns=one.gap_idle_ns / one.gap_count if one.gap_count else None,
        holder=one.holder[0],
        prefill_per_s=_whole(one.prefill_per_s),
        generated_per_s=_whole(one.generated_per_s),
        token_ns=one.token_ns,
        basis=_basis(one),
        mfu_ratio=use.mfu_ratio if use is not None and one.phase == "prefill" else None,
        mbu_ratio=use.mbu_ratio if use is not None and one.phase == "decode" else None,
        padding_ratio=one.padding_ratio,
        graph_ratio=one.graph_ratio,
        families=_families(one, moved),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _basis(one: PhaseFigures) -> str:
    if one.prefill_per_s is None and one.generated_per_s is None:
        return "tokens not recorded"
    if one.is_bound:
        return "device time"
    return "period"


def _families(one: PhaseFigures, moved: Mapping[int, Mapping[str, int]]) -> tuple[PhaseFamily, ...]:
    whole = sum(one.families.values())
    total = Counter(one.families)
    for step in {each.step for each in one.iterations}:
        total.update(moved.get(step, {}))
    if min(total.values(), default=0) < 0:
        total = Counter(one.families)  # a step of other iterations, too
    listed = [(name, ns) for name, ns in total.most_common() if ns]
    rest = sum(ns for _, ns in listed[MOST_FAMILIES:])
    listed = [*listed[:MOST_FAMILIES], *([(OTHERS, rest)] if rest else [])]
    return tuple(
        PhaseFamily(name, ns, ns / whole, _COLOURS.get(name, "other")) for name, ns in listed
    )


def _iteration(one: IterationFacts) -> ServedIteration:
    known = [group.keys for group in (one.context, one.generation)]
    gap = one.gap
    return ServedIteration(
        index=one.index,
        number=one.number,
        label=one.label,
        phase=one.phase,
        batch=one.batch,
        prefill_tokens=one.context.tokens,
        generated_tokens=one.generation.tokens,
        keys=None if None in known else sum(keys or 0 for keys in known),
        span_ns=one.span_ns,
        period_ns=one.period_ns,
        busy_ratio=one.busy_ns / one.span_ns if one.span_ns else 0.0,
        gap_ns=gap.idle_ns if gap else None,
        cause=_cause(gap.cause) if gap else "",
        holder=gap.holder if gap else "",
        launches=one.launches,
        replays=one.replays,
        left_out=one.left_out,
        link=at_time(f"The work of {one.label}", one.start_ns, one.span_ns),
    )


def _cause(key: str) -> str:
    return CAUSE_NAMES[key] if key in IDLE_CAUSES else key.removesuffix("_ns").replace("_", " ")


def _notes(
    found: tuple[PhaseFigures, ...], selection: Selection, *, has_lent: bool
) -> Iterator[str]:
    """Limits of the figures."""
    yield from _uses(found, selection)
    if selection.device is None:
        yield "No device was recorded: device time is the range of an iteration on the host."
    if left := sum(one.left_out_count for one in found):
        yield f"{plural(left, 'iteration')} left out: see the table."
    bound = [one for one in found if one.is_bound and one.count]
    if bound:
        has_tokens = any(_basis(one) != "tokens not recorded" for one in bound)
        by_time = "By device time, tokens/s are an upper bound, time per output token a lower one. "
        yield (
            "Not available: periods of phases whose next iteration was not recorded."
            f" {by_time if has_tokens else ''}Record several iterations."
        )
    if any(not one.is_certain for one in found):
        yield "Decode is not certain: this engine does not write whether a request is in prefill."
    if any(one.is_speculative for one in found):
        yield "Not available: accepted tokens. Figures of speculation are per drafted token."
    graphs = max((one.graph_ratio for one in found), default=0.0)
    if has_lent:
        yield "Families of work in replayed graphs follow the operators of the capture."
    elif graphs > 0.5:
        yield (
            f"Up to {share(graphs)} of the device time of a phase is in replayed graphs: families"
            " are told by kernel names alone."
        )
    yield (
        "Not available: time to first token, queueing, latency of a request, because requests have"
        " no identity in a trace."
    )


def _uses(found: tuple[PhaseFigures, ...], selection: Selection) -> Iterator[str]:
    """Why MFU or MBU is not available, and where they are lower bounds."""
    for phase, name, figure in (("prefill", "MFU of prefill", "mfu_ratio"),
                                ("decode", "MBU of decode", "mbu_ratio")):  # fmt: skip
        if not any(one.phase == phase and one.count for one in found):
            continue
        use = selection.use.get(phase)
        if use is None or getattr(use, figure) is None:
            why = _why_no_use(selection, use)
            yield f"Not available: {name}, because {why}."
        elif use.at_least:
            yield f"{name} is a lower bound: {share(use.figure_ratio)} of compute time has sizes."


def _why_no_use(selection: Selection, use: PhaseUse | None) -> str:
    device, facts = selection.device_facts, selection.facts
    if device is None:
        return "no device was recorded"
    if not device.has_peak:
        return "the data sheet of this device is not in the table"
    has_shapes = facts.recording.shapes or facts.recording.record_shapes
    if not has_shapes and not facts.traits.graph_launches:
        return "shapes are not recorded"
    if use is not None and use.figure_ratio:
        return f"only {share(use.figure_ratio)} of its compute time has sizes and a model"
    if facts.traits.graph_launches:
        return "no capture beside tells the sizes of replayed work"
    return "no product or attention has a figure"


def serving_tables(answer: Serving) -> tuple[Table, ...]:
    """Phases and iterations for the terminal."""
    return (
        table_from(answer.title, answer.phases_columns, answer.phases, note=" ".join(answer.notes)),
        table_from(
            "Iterations", answer.iterations_columns, answer.iterations, answer.iteration_count
        ),
    )
