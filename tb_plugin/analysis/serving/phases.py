"""What does each phase of a served model cost: time, idle time, tokens?

Figures contain whole iterations alone. Tokens are divided by periods, from the first work of an
iteration to that of the next one. Where no period is known, the time on the device stands for it:
tokens per second are then an upper bound, and time per token a lower one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from ...base.units import share
from ...trace.link.iterations import UNMARKED, Phase
from ..facts import Facts
from ..steps import Selection
from .model import IterationFacts

ORDER: tuple[Phase, ...] = ("prefill", "mixed", "decode", "idle", "")
_NAMES: Mapping[Phase, str] = {
    "prefill": "Prefill", "mixed": "Mixed", "decode": "Decode", "idle": "Idle",
    "": "Iterations without a phase",
}  # fmt: skip


class PhaseFigures(Struct, frozen=True, dict=True):
    """The whole iterations of one phase. None: not known."""

    phase: Phase
    iterations: tuple[IterationFacts, ...]
    left_out_count: int  # iterations of the phase that no figure contains

    @property
    def name(self) -> str:
        """``Decode``."""
        return _NAMES[self.phase]

    @property
    def count(self) -> int:
        """Whole iterations."""
        return len(self.iterations)

    @cached_property
    def span_ns(self) -> int:
        """Σ of the time from the first work of an iteration to its last."""
        return sum(one.span_ns for one in self.iterations)

    @cached_property
    def inside_idle_ns(self) -> int:
        """Σ of idle time of the device within these spans."""
        return sum(one.inside_idle_ns for one in self.iterations)

    @cached_property
    def gap_count(self) -> int:
        """Iterations of which the one before is known."""
        return sum(one.gap is not None for one in self.iterations)

    @cached_property
    def gap_idle_ns(self) -> int:
        """Σ of idle time of the device before these iterations, behind the one before."""
        return sum(one.gap.idle_ns for one in self.iterations if one.gap)

    @cached_property
    def holder(self) -> tuple[str, int]:
        """The name that held the device longest in these gaps, and for how long."""
        held: Counter[str] = Counter()
        for one in self.iterations:
            if one.gap and one.gap.holder:
                held[one.gap.holder] += one.gap.holder_ns
        return held.most_common(1)[0] if held else ("", 0)

    @cached_property
    def cause(self) -> str:
        """The cause of most of the idle time in these gaps."""
        causes: Counter[str] = Counter()
        for one in self.iterations:
            if one.gap and one.gap.cause:
                causes[one.gap.cause] += one.gap.idle_ns
        return causes.most_common(1)[0][0] if causes else ""

    @cached_property
    def timed(self) -> tuple[IterationFacts, ...]:
        """The iterations with a known period."""
        return tuple(one for one in self.iterations if one.period_ns is not None)

    @property
    def is_bound(self) -> bool:
        """True where no period is known, so that figures of tokens are bounds."""
        return not self.timed

    @property
    def period_ns(self) -> int | None:
        """Σ of the known periods."""
        return sum(one.period_ns or 0 for one in self.timed) if self.timed else None

    @property
    def is_certain(self) -> bool:
        """True if each iteration certainly is of this phase."""
        return all(one.is_certain for one in self.iterations)

    @property
    def is_speculative(self) -> bool:
        """True if tokens of generation are drafted ones: which were accepted is not recorded."""
        return any(one.is_speculative for one in self.iterations)

    @property
    def requests(self) -> float | None:
        """Mean number of requests."""
        return self._mean([one.batch for one in self.iterations])

    @property
    def prefill_tokens(self) -> int | None:
        """Σ of new tokens of requests in prefill."""
        return _sum([one.context.tokens for one in self.iterations])

    @property
    def generated_tokens(self) -> int | None:
        """Σ of new tokens of requests that generate."""
        return _sum([one.generation.tokens for one in self.iterations])

    @property
    def prefill_per_s(self) -> float | None:
        """Prefill tokens per second."""
        return self._per_s([one.context.tokens for one in self._basis])

    @property
    def generated_per_s(self) -> float | None:
        """Generated tokens per second; with speculation, drafted ones."""
        return self._per_s([one.generation.tokens for one in self._basis])

    @property
    def token_ns(self) -> float | None:
        """Time per output token of a request: Σ period · requests ÷ Σ tokens."""
        found = [
            (_time(one) * one.generation.requests, one.generation.tokens)
            for one in self._basis
            if one.generation.requests and one.generation.tokens
        ]
        tokens = sum(count for _, count in found)
        return (
            sum(ns for ns, _ in found) / tokens
            if tokens and len(found) == len(self._basis)
            else None
        )

    @property
    def padding_ratio(self) -> float | None:
        """Share of padded requests in the batches that ran."""
        known = [(one.batch, one.padded) for one in self.iterations if one.padded]
        if not known or any(batch is None or batch > padded for batch, padded in known):
            return None
        whole = sum(padded for _, padded in known)
        return 1 - sum(batch or 0 for batch, _ in known) / whole

    @cached_property
    def families(self) -> Mapping[str, int]:
        """Device time by family, the largest first."""
        total: Counter[str] = Counter()
        for one in self.iterations:
            total.update(one.families)
        return dict(total.most_common())

    @property
    def graph_ratio(self) -> float:
        """Share of the device time that lies in replayed graphs."""
        whole = sum(self.families.values())
        return sum(one.graph_ns for one in self.iterations) / whole if whole else 0.0

    @property
    def _basis(self) -> tuple[IterationFacts, ...]:
        return self.timed or self.iterations

    def _per_s(self, tokens: Sequence[int | None]) -> float | None:
        total, spent = _sum(tokens), sum(_time(one) for one in self._basis)
        return total / spent * 1e9 if total and spent else None

    def _mean(self, values: Sequence[int | None]) -> float | None:
        total = _sum(values)
        return None if total is None or not values else total / len(values)


def _time(one: IterationFacts) -> int:
    return one.span_ns if one.period_ns is None else one.period_ns


def _sum(values: Sequence[int | None]) -> int | None:
    """The sum; None where one of them is not known."""
    return sum(value or 0 for value in values) if values and None not in values else None


def chosen_iterations(selection: Selection) -> tuple[IterationFacts, ...]:
    """The iterations in the chosen steps, in order of time."""
    steps = frozenset(selection.indexes)
    return tuple(one for one in selection.facts.iterations if one.step in steps)


def phase_of_steps(facts: Facts) -> Mapping[int, Phase]:
    """The phase of the iterations in each step, where all of them are of one; by index."""
    found: dict[int, set[Phase]] = {}
    for one in facts.iterations:
        found.setdefault(one.step, set()).add(one.phase)
    return {step: next(iter(some)) for step, some in found.items() if len(some) == 1}


def iterations_are(facts: Facts) -> str:
    """A sentence about what marks the iterations of a recording."""
    if facts.step_family in UNMARKED:
        return f"Iterations are the calls of the model in a loop of {facts.step_family}."
    return f"Iterations are the ranges that {facts.step_family or 'your engine'} marked."


def phases(selection: Selection) -> tuple[PhaseFigures, ...]:
    """The phases of the chosen steps; one whose iterations are all left out is there as well."""
    found: dict[Phase, list[IterationFacts]] = {phase: [] for phase in ORDER}
    for one in chosen_iterations(selection):
        found[one.phase].append(one)
    return tuple(
        PhaseFigures(
            phase, tuple(one for one in some if one.is_whole), sum(not one.is_whole for one in some)
        )
        for phase, some in found.items()
        if some
    )


def bound_by_device(selection: Selection, unit: str) -> str:
    """The headline where the device works all the time: which phase it works on; "" unknown."""
    known = [one for one in phases(selection) if one.phase and one.count]
    whole = sum(one.span_ns for one in known)
    if not known or not whole:
        return ""
    if len(known) == 1:
        one = known[0]
        busy = share(1 - one.inside_idle_ns / max(one.span_ns, 1))
        requests = f" of {one.requests:,.0f} requests" if one.requests and one.requests > 1 else ""
        return f"{unit}-bound: {one.name.lower()}{requests} keeps it busy for {busy} of its time."
    first, second, *_ = sorted(known, key=lambda one: -one.span_ns)
    parts = [f"{one.name.lower()} {share(one.span_ns / whole)}" for one in (first, second)]
    return f"{unit}-bound: of its time, {parts[0]} and {parts[1]}."
