"""Better, worse, no change, or cannot tell: the verdict on two recordings, and why, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.units import count, duration, flops, listing, plural, share, size, times
from ...trace.health.notes import STEPS_OF_ANY_RECORDER
from ...trace.model import is_of_other_recorder
from ..steps import step_parameter
from ..wording import CAUSE_NAMES
from .bridge import (
    CLOCK,
    HOST_WORK,
    PARTS,
    UNKNOWN,
    Bridge,
    BridgePart,
    Center,
    Division,
    bridge,
    divisions,
    step_parts,
    with_clock,
)
from .changes import Drift, drift
from .comparable import Mismatch, StepCount, mismatches, step_counts
from .noise import (
    BUDGET,
    ENOUGH_STEPS,
    FEW_STEPS_RATIO,
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
CLAIMS = ("better", "worse")
TWICE = 2.0  # from here on a ratio is told as a factor

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
        "uninstrumented_ns": "host time without a known operator",
        "kernel_ns": "kernels",
        "memcpy_ns": "copies",
        "cpu_exec_ns": "ops on the host",
        "other_ns": "the rest",
        "clock_ns": "another clock",
        "unknown_ns": "time that may be work or idle",
    }
)
"""Field of a division → what it is in a sentence."""


class PairVerdict(Struct, frozen=True):
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
    clock_ns: int  # of the change, what another clock alone makes; 0 where they agree
    mismatches: tuple[Mismatch, ...]
    counts: tuple[StepCount, ...]
    at_equal_clocks: bool = False  # judged as if both had run at the clock of the base

    @property
    def change_ns(self) -> int:
        """The change of the mean step that is judged: without the clocks if that was asked for."""
        return self.bridge.change_ns - (self.clock_ns if self.at_equal_clocks else 0)

    @property
    def is_other_machine(self) -> bool:
        """True where times say nothing about the code."""
        return any(one.weight == "other machine" for one in self.mismatches)


def compare(
    base: Side, other: Side, budget: float = BUDGET, *, at_equal_clocks: bool = False
) -> PairVerdict:
    """The comparison of the chosen steps of two recordings.

    ``at_equal_clocks``: judge the steps of the other as if it had run at the clock of the base,
    where their clocks differ.
    """
    clocks = drift(base, other)
    division = divisions(base.selection, other.selection)[0]
    between = bridge_of(base, other, clocks, division)
    found = PairVerdict(
        outcome="cannot tell",
        headline="",
        detail="",
        certainty="",
        settle="",
        times=_times(base, other, other.step_times, budget),
        adjusted=None,
        mean_low_ns=None,
        mean_high_ns=None,
        noise_ratios=(noise_of(base.step_times), noise_of(other.step_times)),
        bridge=between,
        drift=clocks,
        clock_ns=next((part.change_ns for part in between.parts if part.key == CLOCK), 0),
        mismatches=mismatches(base, other, clocks),
        counts=step_counts(base, other),
    )
    steps = other.step_times
    if clocks is not None and clocks.is_other_clock:
        alike = _at_equal_clock(other, clocks)
        found = replace(found, adjusted=_times(base, other, alike, budget))
        if at_equal_clocks and not clocks.is_disturbed:
            steps = alike
            found = replace(found, at_equal_clocks=True, times=found.adjusted)
    low, high = mean_interval(base.step_times, steps) or (None, None)
    found = replace(found, mean_low_ns=low, mean_high_ns=high)
    outcome = _outcome(found)
    found = replace(found, mismatches=_reconciled(found, outcome))
    headline, detail = _words(found, outcome, (base, other))
    return replace(
        found,
        outcome=outcome,
        headline=headline,
        detail=detail,
        certainty=_certainty(found, (base, other)),
        settle=_settle(found, outcome, (base, other)),
    )


def bridge_of(
    base: Side, other: Side, clocks: Drift | None, division: Division, center: Center = "mean"
) -> Bridge:
    """The bridge between two sides, with another clock as a part of its own."""
    found = bridge(base.selection, other.selection, division, center)
    if clocks is None or not clocks.is_other_clock or clocks.is_disturbed:
        return found
    return with_clock(found, clocks.ratio, of_device=clocks.of_device)


def _times(
    base: Side, other: Side, other_steps: Sequence[int], budget: float
) -> TimeVerdict | None:
    """The verdict on the step times; None where one side has none."""
    if not base.step_times or not other_steps:
        return None
    return judge_times((base.step_times, *base.repeats), (other_steps, *other.repeats), budget)


def _at_equal_clock(other: Side, clocks: Drift) -> tuple[int, ...]:
    """Lengths of the steps as if their work had run at the clock of the base."""
    steps = list(other.step_times)
    selection = other.selection
    for at, step in enumerate(selection.steps[: len(steps)]):
        one = selection.device_step(step)
        work = one.partition.compute_ns if one else 0
        if not clocks.of_device and step.host is not None:
            work = sum(getattr(step.host, key) for key in HOST_WORK)
        steps[at] -= round(work * (1 - 1 / clocks.ratio))
    return tuple(steps)


def _is_doubted(found: PairVerdict) -> bool:
    """True if the steps differ for sure, but other work on a host may have been the reason."""
    drift, times = found.drift, found.times
    if drift is None or times is None or times.outcome not in CLAIMS or not drift.is_disturbed:
        return False
    return drift.explains(found.bridge.change_ns, found.bridge.base_ns)


def _outcome(found: PairVerdict) -> Outcome:
    if found.times is None or found.is_other_machine:
        equal = found.bridge.change_ns == 0 and not any(one.differs for one in found.counts)
        return "no change" if equal and not found.is_other_machine else "cannot tell"
    is_disturbed = found.drift is not None and found.drift.is_disturbed
    if found.adjusted is None or found.at_equal_clocks:
        return "cannot tell" if _is_doubted(found) else found.times.outcome
    # Real without the clocks, too, or not known to be the code's doing.
    same = found.adjusted.outcome == found.times.outcome
    if is_disturbed:
        return "cannot tell"
    return found.adjusted.outcome if same or found.adjusted.outcome != "worse" else "cannot tell"


def _reconciled(found: PairVerdict, outcome: Outcome) -> tuple[Mismatch, ...]:
    """What the two do not have in common; beside a claim, why the claim is made all the same."""
    if outcome not in CLAIMS:
        return found.mismatches
    without = "That is taken out of the verdict" if found.at_equal_clocks else "Without that"
    also = without if found.at_equal_clocks else f"{without}, the steps are {outcome}, too"
    why = {
        "load of the host": "The change is larger than such a load makes.",
        **dict.fromkeys(("clock", "speed of the host"), f"{also}."),
    }
    return tuple(
        replace(one, text=f"{one.text} {why.get(one.what, _NOT_THE_CODE_ALONE)}")
        if one.weight == "taints"
        else one
        for one in found.mismatches
    )


_NOT_THE_CODE_ALONE = "The change is real, but this may be a part of its cause."


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


def _words(found: PairVerdict, outcome: Outcome, sides: tuple[Side, Side]) -> tuple[str, str]:
    between = found.bridge
    change = found.change_ns
    if found.is_other_machine:
        return _other_machines(found, sides)
    if outcome == "no change":
        return _no_change(found)
    if outcome == "cannot tell":
        return _cannot_tell(found, sides)
    faster = change < 0
    amount = f"{duration(abs(change))} {'faster' if faster else 'slower'} per step"
    if found.at_equal_clocks:
        amount += " at equal clocks"
    cause = _main_cause(between, change)
    said = f"{amount}: {_cause_words(cause)}." if cause else f"{amount}."
    return said, _detail(found, cause, sides[1])


def _other_machines(found: PairVerdict, sides: tuple[Side, Side]) -> tuple[str, str]:
    first = next(one for one in found.mismatches if one.weight == "other machine")
    against = f"{first.text} {first.base} against {first.other}."
    if unmarked := _unmarked_side(sides):
        why = f"{against} {_whole_against_step(found, unmarked)}"
        return f"Different machines, and nothing marks steps in {unmarked}.", why
    said = f"Different machines: {_amount(found)} says nothing about the code."
    if not any(part.change_ns for part in found.bridge.parts):
        return said, against
    return said, f"{against} The parts and the tables say where the time differs."


def _amount(found: PairVerdict) -> str:
    """The change in words: ``1.83 ms more per step (2.4 %)``, ``43.4 s less in all``."""
    change, base_ns = found.change_ns, found.bridge.base_ns
    unit = _unit(found)
    if not change:
        return f"the same time {unit}"
    said = f"{duration(abs(change))} {'less' if change < 0 else 'more'} {unit}"
    is_told = base_ns and 0.0005 <= abs(change) / base_ns <= 0.995
    return f"{said} ({share(abs(change) / base_ns)})" if is_told else said


def _unit(found: PairVerdict) -> str:
    """What a time is of: the mean step, or the whole recording where nothing marks steps."""
    return "per step" if found.times is not None else "in all"


def _no_change(found: PairVerdict) -> tuple[str, str]:
    between = found.bridge
    real = [one for one in found.counts if one.differs]
    if between.change_ns == 0 and not any(part.change_ns for part in between.parts) and not real:
        what = "every step is" if found.times is not None else "the recording is"
        return f"No change: {what} as long as before, in every part.", ""
    a, b = duration(between.base_ns), duration(between.base_ns + found.change_ns)
    if found.times is None:
        return f"No change: {a} and {b} in all are the same, but not in every part.", ""
    clocks = " at equal clocks" if found.at_equal_clocks else ""
    said = f"No change: {a} and {b} per step are the same within the noise{clocks}."
    return said, _counts_words(real)


def _cannot_tell(found: PairVerdict, sides: tuple[Side, Side]) -> tuple[str, str]:
    verdict = found.times
    real = _counts_words([one for one in found.counts if one.differs])
    said = f"Cannot tell: {_amount(found)}"
    if verdict is None:
        return _without_steps(found, sides, real)
    if found.adjusted is not None and found.drift is not None and not found.at_equal_clocks:
        ratio = found.drift.ratio
        clocks = share(abs(ratio - 1)) if ratio < TWICE else f"a factor of {times(ratio)[:-1]}"
        why = f"Without that, the verdict is “{found.adjusted.outcome}”. {real}"
        of = "clocks" if found.drift.of_device else "speeds of the hosts"
        return f"{said}, and the {of} differ by {clocks}.", why.strip()
    if _is_doubted(found):
        why = f"By the steps alone the verdict is “{verdict.outcome}”. {real}"
        return f"{said}, and equal operators differ, too: other work shared a host.", why.strip()
    steps = min(verdict.base_steps, verdict.other_steps)
    if steps < FEWEST_STEPS:
        of = "A" if verdict.base_steps < verdict.other_steps else "B"
        of = "each" if verdict.base_steps == verdict.other_steps else of
        return f"{said}, from {plural(steps, 'step')} of {of}.", real
    noise = max((one for one in found.noise_ratios if one is not None), default=None)
    if noise is None or not verdict.more_steps:
        return f"{said}.", f"{verdict.reason} {real}".strip()
    return f"{said}, but the steps differ by {share(noise)} among themselves.", real


def _without_steps(found: PairVerdict, sides: tuple[Side, Side], real: str) -> tuple[str, str]:
    """What to say where a side has no steps: one measurement, or two things of different kind."""
    if unmarked := _unmarked_side(sides):
        said = f"Cannot tell: nothing marks steps in {unmarked}."
        return said, _whole_against_step(found, unmarked)
    why = f"One recording of each is one measurement. {real}"
    return f"Cannot tell: {_amount(found)}, and nothing marks steps.", why.strip()


def _unmarked_side(sides: tuple[Side, Side]) -> str:
    """The only side that has no steps, "A" or "B"; "" where both have some, or neither."""
    unmarked = [which for which, side in zip("AB", sides, strict=True) if not side.step_times]
    return unmarked[0] if len(unmarked) == 1 else ""


def _whole_against_step(found: PairVerdict, unmarked: str) -> str:
    whole, step = found.bridge.base_ns, found.bridge.other_ns
    if unmarked == "B":
        whole, step = step, whole
    return (
        f"All of its {duration(whole)} stands against one step of {duration(step)}: what each"
        " consists of can be compared, not how long they are."
    )


def _counts_words(real: Sequence[StepCount]) -> str:
    if not real:
        return ""
    parts = [
        f"{one.label.lower() if one.unit != 'flop' else one.label} {count_words(one, one.base)} →"
        f" {count_words(one, one.other)}"
        for one in real
    ]
    return f"Counted, and different in every step: {listing(parts)}."


def count_words(one: StepCount, value: float) -> str:
    """A number per step in its unit."""
    if one.unit == "bytes":
        return size(value)
    return flops(value) if one.unit == "flop" else count(round(value))


def _main_cause(between: Bridge, change: int) -> BridgePart | None:
    """The part that explains most of the change, and at least half of it."""
    causes = [part for part in between.parts if part.key not in (CLOCK, UNKNOWN)]
    alike = [part for part in causes if part.change_ns * change > 0]
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
    change = found.change_ns
    against = [part for part in between.parts if part.change_ns * change < 0 and part.key != CLOCK]
    back = sum(part.change_ns for part in against)
    if abs(back) >= MENTIONED * abs(change):
        largest = sorted(against, key=lambda part: -abs(part.change_ns))[:2]
        names = listing([phrase(part.key) for part in largest])
        came = "came back as" if change < 0 else "was saved in"
        said.append(f"{duration(abs(back))} {came} {names}{_outlier_steps(found, other, against)}.")
    if found.clock_ns:
        beside = "beside it" if found.at_equal_clocks else "of it"
        said.append(f"Another clock alone makes {_signed(found.clock_ns)} {beside}.")
    if real := _counts_words([one for one in found.counts if one.differs]):
        said.append(real)
    return " ".join(said)


def _outlier_steps(found: PairVerdict, other: Side, against: Sequence[BridgePart]) -> str:
    """The steps that are unlike the others, where most of what these parts changed is in them."""
    aside = found.times.set_aside[1] if found.times is not None else 0
    if not aside:
        return ""
    division = found.bridge.division
    places = [PARTS[division].index(name) for part in against for name in part.fields]
    usual = sum(part.base_ns for part in against)
    changed = [
        sum(step_parts(other.selection, step, division)[at] for at in places) - usual
        for step in other.selection.steps
    ]
    most = sum(changed[at] for at in _far(other, aside)) / (sum(changed) or 1)
    return f", most of it in {_far_steps(other, aside)}" if most >= MAIN_CAUSE else ""


def _far(side: Side, number: int) -> list[int]:
    """The places of so many steps that are farthest from the median, in their order."""
    lengths = side.step_times
    middle = float(np.median(lengths))
    far = sorted(range(len(lengths)), key=lambda at: -abs(lengths[at] - middle))
    return sorted(far[:number])


def _far_steps(side: Side, number: int) -> str:
    """Those steps by name: ``steps 5 and 9``."""
    facts, indexes = side.selection.facts, side.selection.indexes
    names = [step_parameter(facts, indexes[at]) for at in _far(side, number)]
    return f"{'step' if len(names) == 1 else 'steps'} {listing(names)}"


def _signed(ns: float) -> str:
    return f"{'−' if ns < 0 else '+'}{duration(abs(ns))}"


def _certainty(found: PairVerdict, sides: tuple[Side, Side]) -> str:
    """How many steps were compared, which of them took no part, and how sure the change is."""
    verdict = found.times
    if verdict is None or found.is_other_machine:
        return ""
    said = f"{verdict.base_steps} against {plural(verdict.other_steps, 'step')}"
    aside = [
        f"{_far_steps(side, verdict.set_aside[at])} of {'AB'[at]}"
        for at, side in enumerate(sides)
        if verdict.set_aside[at]
    ]
    if aside:
        are = "is" if sum(verdict.set_aside) == 1 else "are"
        said += f", judged without {listing(aside)}, which {are} unlike the others"
    if min(verdict.base_steps, verdict.other_steps) < FEWEST_STEPS or verdict.is_equal:
        return said
    low, high, what = verdict.low_ns, verdict.high_ns, "the median step"
    if low is None or high is None:
        low, high = found.mean_low_ns, found.mean_high_ns
        what = "the mean of all steps" if aside else "the mean step"
    if low is not None and high is not None:
        between = f"between {_signed(low)} and {_signed(high)}"
        said += f" · 95 % sure the change of {what} is {between}"
    if verdict.noise_ratio:
        said += f" · noise floor {share(verdict.noise_ratio)}"
    if max(verdict.repeats) == 1:
        least = FEW_STEPS_RATIO if verdict.low_ns is None else UNKNOWN_SPREAD
        said += f" · one recording a side: nothing below {share(least)} is claimed"
    else:
        said += f" · {verdict.repeats[0]} and {plural(verdict.repeats[1], 'recording')}"
    return said


def _settle(  # noqa: PLR0911  # one line a case
    found: PairVerdict, outcome: Outcome, sides: tuple[Side, Side]
) -> str:
    if outcome != "cannot tell":
        return ""
    if found.is_other_machine:
        return "Record both on the same machine."
    if found.times is None:
        return _how_to_mark(sides)
    is_clock = found.adjusted is not None and not found.at_equal_clocks
    if found.drift is not None and (is_clock or _is_doubted(found)):
        is_device = found.drift.of_device
        locked = "Lock the clocks of the device, or record both again on a device at rest."
        return locked if is_device else "Record both again on a machine at rest."
    if found.times.more_steps:
        return f"Record {plural(found.times.more_steps, 'more step')} on each side."
    if not found.times.more_repeats:
        return ""
    alone = [side for side, count in zip("AB", found.times.repeats, strict=True) if count == 1]
    whose = alone[0] if len(alone) == 1 else "each of them"
    again = plural(found.times.more_repeats, "more time")
    why = "is not known" if alone else "hides the change"
    return f"Record {whose} {again}: how far equal code differs {why}."


def _how_to_mark(sides: tuple[Side, Side]) -> str:
    """How the steps of the sides that have none can be marked, by who recorded them."""
    unmarked = {which: one for which, one in zip("AB", sides, strict=True) if not one.step_times}
    others = [
        which
        for which, side in unmarked.items()
        if is_of_other_recorder(side.selection.facts.torch_era)
    ]
    said: list[str] = []
    if others:
        where = "either file" if len(others) == len(sides) else others[0]
        said.append(f"No event in {where} is of torch.profiler. {STEPS_OF_ANY_RECORDER}")
    if rest := [which for which in unmarked if which not in others]:
        whose = f" of {rest[0]}" if len(rest) == 1 else ""
        said.append(
            f"Mark the steps{whose} (`prof.step()` after each one, with a `schedule`) and record at"
            f" least {ENOUGH_STEPS} of them."
        )
    return " ".join(said)
