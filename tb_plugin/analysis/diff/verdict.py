"""Better, worse, no change, or cannot tell: the verdict on two recordings, and why, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from ...base.units import count, duration, listing, plural, share
from ..steps import step_parameter
from ..wording import CAUSE_NAMES
from .bridge import Bridge, BridgePart, bridge, divisions
from .changes import Drift, drift
from .comparable import Mismatch, StepCount, mismatches, step_counts
from .noise import (
    BUDGET,
    ENOUGH_STEPS,
    FEWEST_STEPS,
    UNKNOWN_SPREAD,
    Outcome,
    TimeVerdict,
    judge_times,
    noise_of,
    square_error,
    t_quantile,
)
from .sides import Side

MAIN_CAUSE = 0.5  # of the change: what explains as much is named in the headline
MENTIONED = 0.1

PHRASES: Mapping[str, str] = MappingProxyType(
    {
        "compute_ns": "compute",
        "exposed_communication_ns": "exposed communication",
        "exposed_copy_ns": "exposed copies",
        "memset_ns": "memsets",
        "idle_dataloader_ns": "waiting for the DataLoader",
        "dataloader_ns": "waiting for the DataLoader",
        "forward_ns": "the forward pass",
        "backward_ns": "the backward pass",
        "optimizer_ns": "the optimizer",
        "communication_ns": "communication",
        "compile_ns": "compilation",
        "runtime_ns": "runtime calls",
        "python_ns": "Python",
        "uninstrumented_ns": "uninstrumented host time",
        "kernel_ns": "kernels",
        "memcpy_ns": "copies",
        "cpu_exec_ns": "ops on the host",
        "other_ns": "the rest",
    }
)
"""Field of a division → what it is in a sentence."""


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """Two recordings side by side: the bridge, the verdict, and what limits it."""

    outcome: Outcome
    headline: str
    detail: str
    certainty: str  # how sure, of how many steps
    settle: str  # what would decide it; "" where it is decided
    times: TimeVerdict | None  # None where nothing marks steps
    adjusted: TimeVerdict | None  # without the difference of the clocks, where there is one
    mean_low_ns: float | None  # 95 % interval of the change of the mean step
    mean_high_ns: float | None
    noise_ratios: tuple[float | None, float | None]  # of each side's median, from its own steps
    bridge: Bridge
    drift: Drift | None
    clock_ns: int  # what the clocks alone make of the compute part; 0 where they agree
    mismatches: tuple[Mismatch, ...]
    counts: tuple[StepCount, ...]

    @property
    def is_other_machine(self) -> bool:
        """True where times say nothing about the code."""
        return any(one.weight == "other machine" for one in self.mismatches)


def compare(base: Side, other: Side, budget: float = BUDGET) -> PairVerdict:
    """The comparison of the chosen steps of two recordings."""
    between = bridge(base.selection, other.selection, divisions(base.selection, other.selection)[0])
    clocks = drift(base, other)
    found = PairVerdict(
        outcome="cannot tell",
        headline="",
        detail="",
        certainty="",
        settle="",
        times=_times(base, other, budget),
        adjusted=None,
        mean_low_ns=None,
        mean_high_ns=None,
        noise_ratios=(noise_of(base.step_times), noise_of(other.step_times)),
        bridge=between,
        drift=clocks,
        clock_ns=0,
        mismatches=mismatches(base, other, clocks),
        counts=step_counts(base, other),
    )
    low, high = mean_interval(base.step_times, other.step_times) or (None, None)
    found = replace(found, mean_low_ns=low, mean_high_ns=high)
    if clocks is not None and clocks.is_other_clock:
        slower = _work(between, of_device=clocks.of_device) * (clocks.ratio - 1)
        adjusted = _times(base, other, budget, clocks.ratio)
        found = replace(found, adjusted=adjusted, clock_ns=round(slower))
    outcome = _outcome(found)
    headline, detail = _words(found, outcome, other)
    return replace(
        found,
        outcome=outcome,
        headline=headline,
        detail=detail,
        certainty=_certainty(found),
        settle=_settle(found, outcome),
    )


_HOST_WORK = ("forward_ns", "backward_ns", "optimizer_ns", "python_ns", "uninstrumented_ns")


def _work(between: Bridge, *, of_device: bool) -> int:
    """The parts of the base that a clock makes longer or shorter."""
    keys = ("compute_ns", "kernel_ns") if of_device else (*_HOST_WORK, "cpu_exec_ns")
    return sum(part.base_ns for part in between.parts if part.key in keys)


def _times(base: Side, other: Side, budget: float, clock: float = 1.0) -> TimeVerdict | None:
    """The verdict on the step times; with ``clock``, as if the kernels had run at the base's."""
    if not base.step_times or not other.step_times:
        return None
    steps = list(other.step_times)
    if clock != 1.0:
        selection = other.selection
        for at, step in enumerate(selection.steps):
            one = selection.device_step(step)
            work = one.partition.compute_ns if one else 0
            if step.host is not None:
                work = sum(getattr(step.host, key) for key in _HOST_WORK)
            steps[at] -= round(work * (1 - 1 / clock))
    return judge_times((base.step_times, *base.repeats), (steps, *other.repeats), budget)


def _outcome(found: PairVerdict) -> Outcome:
    if found.times is None or found.is_other_machine:
        equal = found.bridge.change_ns == 0 and not any(one.differs for one in found.counts)
        return "no change" if equal and not found.is_other_machine else "cannot tell"
    if found.adjusted is None:
        return found.times.outcome
    # Real without the clocks, too, or not known to be the code's doing.
    same = found.adjusted.outcome == found.times.outcome
    if found.drift is not None and found.drift.is_disturbed:
        return "cannot tell"
    return found.adjusted.outcome if same or found.adjusted.outcome != "worse" else "cannot tell"


def mean_interval(base: Sequence[int], other: Sequence[int]) -> tuple[float, float] | None:
    """The 95 % interval of the change of the mean step by Welch; None below four steps."""
    if min(len(base), len(other)) < FEWEST_STEPS:
        return None
    sides = [np.asarray([one], np.float64) for one in (base, other)]
    parts = [square_error(side) for side in sides]
    square = float(sum(error[0] for error, _ in parts))
    change = float(sides[1].mean() - sides[0].mean())
    if not square:
        return change, change
    freedom = square**2 / float(sum(error[0] ** 2 / free[0] for error, free in parts))
    half = t_quantile(freedom) * math.sqrt(square)
    return change - half, change + half


# --- words ----------------------------------------------------------------------------------------


def _words(found: PairVerdict, outcome: Outcome, other: Side) -> tuple[str, str]:
    between = found.bridge
    change = between.change_ns
    unit = "per step" if found.times is not None else "in all"
    if found.is_other_machine:
        first = next(one for one in found.mismatches if one.weight == "other machine")
        amount = f"{duration(abs(change))} {'less' if change < 0 else 'more'} {unit}"
        against = f"{first.text} {first.base} against {first.other}."
        return (
            f"Different machines: {amount} says nothing about the code.",
            f"{against} The parts and the tables say where the time differs.",
        )
    if outcome == "no change":
        return _no_change(found)
    if outcome == "cannot tell":
        return _cannot_tell(found)
    faster = change < 0
    amount = f"{duration(abs(change))} {'faster' if faster else 'slower'} {unit}"
    cause = _main_cause(between)
    said = f"{amount}: {_cause_words(cause)}." if cause else f"{amount}."
    return said, _detail(found, cause, other)


def _no_change(found: PairVerdict) -> tuple[str, str]:
    between = found.bridge
    real = [one for one in found.counts if one.differs]
    if between.change_ns == 0 and not any(part.change_ns for part in between.parts) and not real:
        return "No change: every step is as long as before, in every part.", ""
    a, b = duration(between.base_ns), duration(between.other_ns)
    return f"No change: {a} and {b} per step are the same within the noise.", _counts_words(real)


def _cannot_tell(found: PairVerdict) -> tuple[str, str]:
    between, verdict = found.bridge, found.times
    change = between.change_ns
    faster = "faster" if change < 0 else "slower"
    ratio = share(abs(change) / between.base_ns) if between.base_ns else "–"
    real = _counts_words([one for one in found.counts if one.differs])
    said = f"Cannot tell: {ratio} {faster}"
    if verdict is None:
        why = f"One recording of each is one measurement. {real}"
        return f"{said}, and nothing marks steps.", why.strip()
    if found.adjusted is not None and found.drift is not None:
        clocks = share(abs(found.drift.ratio - 1))
        why = f"Without that, the verdict is “{found.adjusted.outcome}”. {real}"
        of = "clocks" if found.drift.of_device else "speeds of the hosts"
        return f"{said}, and the {of} differ by {clocks}.", why.strip()
    steps = min(verdict.base_steps, verdict.other_steps)
    if steps < FEWEST_STEPS:
        return f"{said}, from {plural(steps, 'step')}.", real
    noise = max((one for one in found.noise_ratios if one is not None), default=None)
    if noise is None:
        return f"{said}.", f"{verdict.reason} {real}".strip()
    return f"{said}, but the steps differ by {share(noise)} among themselves.", real


def _counts_words(real: Sequence[StepCount]) -> str:
    if not real:
        return ""
    parts = [
        f"{one.label.lower() if one.unit != 'flop' else one.label} {_count(one, one.base)} →"
        f" {_count(one, one.other)}"
        for one in real
    ]
    return f"Counted, and different in every step: {listing(parts)}."


def _count(one: StepCount, value: float) -> str:
    return f"{value:.3g}" if one.unit == "flop" else count(round(value))


def _main_cause(between: Bridge) -> BridgePart | None:
    """The part that explains most of the change, and at least half of it."""
    change = between.change_ns
    alike = [part for part in between.parts if part.change_ns * change > 0]
    main = max(alike, key=lambda part: abs(part.change_ns), default=None)
    enough = main is not None and abs(main.change_ns) >= MAIN_CAUSE * abs(change)
    return main if enough else None


def _cause_words(part: BridgePart) -> str:
    waits = "GPU" if part.key.startswith("idle_") else "main thread"
    if "dataloader" in part.key:
        if part.change_ns < 0 and part.other_ns <= 0.2 * part.base_ns:
            return f"the DataLoader no longer blocks the {waits}"
        return f"the {waits} waits {'less' if part.change_ns < 0 else 'longer'} for the DataLoader"
    less = "less" if part.change_ns < 0 else "more"
    return f"{duration(abs(part.change_ns))} {less} of {phrase(part.key)}"


def phrase(key: str) -> str:
    """What a part is called in a sentence."""
    cause = f"idle time ({CAUSE_NAMES[key]})" if key in CAUSE_NAMES else ""
    return PHRASES.get(key) or cause or key.removesuffix("_ns").replace("_", " ")


def _detail(found: PairVerdict, cause: BridgePart | None, other: Side) -> str:
    between = found.bridge
    said: list[str] = []
    if cause is not None:
        fell = "fell" if cause.change_ns < 0 else "rose"
        name = phrase(cause.key)
        said.append(f"{name[0].upper()}{name[1:]} {fell} by {duration(abs(cause.change_ns))}.")
    change = between.change_ns
    against = [part for part in between.parts if part.change_ns * change < 0]
    back = sum(part.change_ns for part in against)
    if abs(back) >= MENTIONED * abs(change):
        largest = sorted(against, key=lambda part: -abs(part.change_ns))[:2]
        names = listing([phrase(part.key) for part in largest])
        came = "came back as" if change < 0 else "was saved in"
        said.append(f"{duration(abs(back))} {came} {names}{_outlier_steps(found, other)}.")
    if found.clock_ns:
        said.append(f"The clocks alone make {_signed(found.clock_ns)} of it.")
    if real := _counts_words([one for one in found.counts if one.differs]):
        said.append(real)
    return " ".join(said)


def _outlier_steps(found: PairVerdict, other: Side) -> str:
    """The steps that are unlike the others, where they were set aside."""
    if found.times is None or not found.times.set_aside[1]:
        return ""
    lengths = other.step_times
    middle = float(np.median(lengths))
    far = sorted(range(len(lengths)), key=lambda at: -abs(lengths[at] - middle))
    chosen = sorted(far[: found.times.set_aside[1]])
    facts, indexes = other.selection.facts, other.selection.indexes
    names = [step_parameter(facts, indexes[at]) for at in chosen]
    return f", most of it in {'step' if len(names) == 1 else 'steps'} {listing(names)}"


def _signed(ns: float) -> str:
    return f"{'−' if ns < 0 else '+'}{duration(abs(ns))}"


def _certainty(found: PairVerdict) -> str:
    verdict = found.times
    if verdict is None:
        return ""
    said = f"{verdict.base_steps} against {plural(verdict.other_steps, 'step')}"
    low, high = found.mean_low_ns, found.mean_high_ns
    what = "the change"
    if verdict.low_ns is not None and verdict.high_ns is not None:
        low, high, what = verdict.low_ns, verdict.high_ns, "the change of the median step"
    if low is not None and high is not None and (low or high):
        said += f" · 95 % sure {what} is between {_signed(low)} and {_signed(high)}"
    if verdict.noise_ratio:
        said += f" · noise floor {share(verdict.noise_ratio)}"
    if max(verdict.repeats) == 1:
        said += f" · one recording a side: nothing below {share(UNKNOWN_SPREAD)} is claimed"
    else:
        said += f" · {verdict.repeats[0]} and {plural(verdict.repeats[1], 'recording')}"
    return said


def _settle(found: PairVerdict, outcome: Outcome) -> str:
    if outcome != "cannot tell":
        return ""
    if found.is_other_machine:
        return "Record both on the same machine."
    if found.times is None:
        return (
            "Mark the steps (`prof.step()` after each one, with a `schedule`) and record at least"
            f" {ENOUGH_STEPS} of them."
        )
    if found.adjusted is not None and found.drift is not None:
        is_device = found.drift.of_device
        locked = "Lock the clocks of the device, or record both again on a device at rest."
        return locked if is_device else "Record both again on a machine at rest."
    if found.times.more_steps:
        return f"Record {plural(found.times.more_steps, 'more step')} on each side."
    return ""
