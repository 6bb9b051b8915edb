"""Better, worse, differs, no change, or cannot tell: the verdict on two recordings, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from ...base.units import count, duration, flops, listing, plural, share, size, times
from ...trace.health.notes import STEPS_OF_ANY_RECORDER
from ...trace.model import is_of_other_recorder
from ..compile.news import MOST_NEWS, compile_news
from ..steps import outliers, step_parameter
from ..wording import CAUSE_NAMES
from .bridge import (
    CLOCK,
    HOST_WORK,
    UNKNOWN,
    Bridge,
    BridgePart,
    Division,
    bridge,
    divisions,
    median_step,
    parts_by_step,
    parts_of,
    with_clock,
)
from .changes import Drift, drift
from .comparable import Mismatch, StepCount, mismatches, step_counts
from .noise import (
    BUDGET,
    DAY_RATIO,
    ENOUGH_STEPS,
    FEWEST_RECORDINGS,
    FEWEST_STEPS,
    Outcome,
    TimeVerdict,
    judge_times,
    noise_of,
)
from .sides import Side

MAIN_CAUSE = 0.5  # of the change: what explains as much is named in the headline
MENTIONED = 0.1
CLAIMS = ("better", "worse")
MOST_OUTLIERS = 3  # of a side that are named
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
        "python_ns": "other Python",
        "uninstrumented_ns": "host time without a known operator",
        "kernel_ns": "kernels",
        "memcpy_ns": "copies",
        "cpu_exec_ns": "ops on the host",
        "other_ns": "the rest",
        "clock_ns": "another clock",
        "unknown_ns": "time that may be work or idle",
    }
)
"""Field of a division → its name in a sentence."""


class PairVerdict(Struct, frozen=True):
    """Two recordings side by side: the bridge, the verdict, and what limits it."""

    outcome: Outcome
    headline: str
    detail: str
    certainty: str  # how sure, of how many steps
    settle: str  # what would decide it; "" where it is decided
    times: TimeVerdict | None  # None where nothing marks steps
    adjusted: TimeVerdict | None  # without the difference of the clocks, where there is one
    noise_ratios: tuple[float | None, float | None]  # of each side's median, from its own steps
    bridge: Bridge
    drift: Drift | None
    clock_ns: int  # of the change, what another clock alone makes; 0 where they agree
    mismatches: tuple[Mismatch, ...]
    counts: tuple[StepCount, ...]
    outliers: tuple[str, ...]  # steps that are far from the others of their side, and why
    at_equal_clocks: bool = False  # judged as if both had run at the clock of the base

    @property
    def change_ns(self) -> int:
        """The change of the median step, without the clocks on request."""
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
        times=_times(base, other, budget),
        adjusted=None,
        noise_ratios=(noise_of(base.step_times), noise_of(other.step_times)),
        bridge=between,
        drift=clocks,
        clock_ns=next((part.change_ns for part in between.parts if part.key == CLOCK), 0),
        mismatches=mismatches(base, other, clocks),
        counts=step_counts(base, other),
        outliers=(*_outliers(base, "A", division), *_outliers(other, "B", division)),
    )
    if clocks is not None and clocks.is_other_clock:
        found = replace(found, adjusted=_times(base, other, budget, clocks))
        if at_equal_clocks and not clocks.is_disturbed:
            found = replace(found, at_equal_clocks=True, times=found.adjusted)
    outcome = _outcome(found)
    found = replace(found, mismatches=_reconciled(found, outcome))
    headline, detail = _with_news(_words(found, outcome, (base, other)), base, other)
    return replace(
        found,
        outcome=outcome,
        headline=headline,
        detail=detail,
        certainty=_certainty(found),
        settle=_settle(found, outcome, (base, other)),
    )


def bridge_of(base: Side, other: Side, clocks: Drift | None, division: Division) -> Bridge:
    """The bridge between two sides, with the clock as a separate part."""
    sides = [[one.selection for one in side.judged] for side in (base, other)]
    found = bridge(sides[0], sides[1], division)
    if clocks is None or not clocks.is_other_clock or clocks.is_disturbed:
        return found
    return with_clock(found, clocks.ratio, of_device=clocks.of_device)


def _times(
    base: Side, other: Side, budget: float, clocks: Drift | None = None
) -> TimeVerdict | None:
    """The verdict on the step times, at equal clocks where these are given; None: a side has none.

    A repeat in which nothing marks steps is none.
    """
    if not base.step_times or not other.step_times:
        return None
    sides = ([one for one in (side, *side.repeats) if one.step_times] for side in (base, other))
    before, after = (list(side) for side in sides)
    lengths = [_at_equal_clock(one, clocks) if clocks else one.step_times for one in after]
    return judge_times([one.step_times for one in before], lengths, budget)


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


def _is_far_larger(found: PairVerdict) -> bool:
    """True if the hosts differ in speed, and the steps by far more than that explains."""
    drift, times = found.drift, found.times
    if drift is None or times is None or times.outcome not in CLAIMS:
        return False
    return drift.is_disturbed and drift.is_small_beside(
        found.bridge.change_ns, _longer_step(found.bridge)
    )


def _longer_step(between: Bridge) -> float:
    return float(max(between.base_ns, between.other_ns))


def _apart(drift: Drift) -> str:
    """By how much two clocks, or hosts, differ in speed."""
    ratio = drift.ratio
    return share(abs(ratio - 1)) if ratio < TWICE else f"a factor of {times(ratio)[:-1]}"


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
        return found.times.outcome if same and _is_far_larger(found) else "cannot tell"
    return found.adjusted.outcome if same or found.adjusted.outcome != "worse" else "cannot tell"


def _reconciled(found: PairVerdict, outcome: Outcome) -> tuple[Mismatch, ...]:
    """Differences between the two; beside a claim, the reason why it holds all the same."""
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


# --- words ----------------------------------------------------------------------------------------


def _with_news(words: tuple[str, str], base: Side, other: Side) -> tuple[str, str]:
    """Headline and detail with what torch.compile does in one of the recordings alone."""
    news = compile_news(base.selection.facts.compiled, other.selection.facts.compiled)
    if not news:
        return words
    headline, detail = words
    first = f"{news[0][0].upper()}{news[0][1:]}."
    rest = f"Also: {listing(list(news[1:MOST_NEWS]))}." if news[1:] else ""
    return f"{headline} {first}", f"{rest} {detail}".strip()


def _words(found: PairVerdict, outcome: Outcome, sides: tuple[Side, Side]) -> tuple[str, str]:
    between = found.bridge
    change = found.change_ns
    if found.is_other_machine:
        return _other_machines(found, sides)
    if outcome == "no change":
        return _no_change(found)
    if outcome == "cannot tell":
        return _cannot_tell(found, sides)
    if outcome == "differs":
        return _differs(found)
    faster = change < 0
    amount = f"{duration(abs(change))} {'faster' if faster else 'slower'} per step"
    lengths = sorted((between.base_ns, between.base_ns + change))
    if lengths[0] > 0 and lengths[1] >= TWICE * lengths[0]:
        amount += f" ({times(lengths[1] / lengths[0])})"
    if found.at_equal_clocks:
        amount += " at equal clocks"
    cause = _main_cause(between, change)
    said = f"{amount}: {_cause_words(cause)}." if cause else f"{amount}."
    return said, _detail(found, cause)


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
    """Subject of a time: the median step, or the whole recording where nothing marks steps."""
    return "per step" if found.times is not None else "in all"


def _differs(found: PairVerdict) -> tuple[str, str]:
    """The recordings differ for certain; the code is not known to be the reason."""
    more = f"{duration(abs(found.change_ns))} {'less' if found.change_ns < 0 else 'more'} per step"
    by = share(abs(found.change_ns) / found.bridge.base_ns)
    clocks = ", at equal clocks" if found.at_equal_clocks else ""
    repeat = "repeat the recording to tell the code from the day"
    said = f"Differs by {by} ({more}{clocks}): {repeat}."
    return said, _detail(found, _main_cause(found.bridge, found.change_ns))


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
        clocks = _apart(found.drift)
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
    low, high = verdict.low_ns, verdict.high_ns
    is_noise = bool(low is not None and high is not None and low <= 0 <= high)
    differ = [one for one in found.bridge.parts if one.is_real]
    parts = listing([f"{phrase(one.key)} {_signed(one.change_ns)}" for one in differ])
    why = f"{verdict.reason} {f'Parts that differ here: {parts}.' if differ else ''} {real}"
    return f"{said}{', but noise alone makes as much' * is_noise}.", " ".join(
        why.split(" ")
    ).strip()


def _without_steps(found: PairVerdict, sides: tuple[Side, Side], real: str) -> tuple[str, str]:
    """Sentence where a side has no steps: one measurement, or two things of different kind."""
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
    """The verdict on the counts: they need no statistics.

    "Exact counts that changed: 16 more kernels per step (100 → 116)."
    """
    if not real:
        return ""
    parts = [
        f"{count_words(one, abs(one.other - one.base))}"
        f" {'more' if one.other > one.base else 'fewer' if one.unit == 'count' else 'less'}"
        f" {_counted(one)} ({count_words(one, one.base)} → {count_words(one, one.other)})"
        for one in real
    ]
    return f"Exact counts that changed per step: {listing(parts)}."


def _counted(one: StepCount) -> str:
    """Name of a count in a sentence: "kernels", "copy", "FLOPs of ops with a model"."""
    if one.unit == "bytes":
        return one.label.removeprefix("Bytes ")
    name = one.label if one.unit == "flop" else one.label.lower()
    is_one = one.unit == "count" and abs(one.other - one.base) == 1
    return {"launches": "launch", "copies": "copy"}.get(name, name[:-1]) if is_one else name


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
    """Name of a part in a sentence."""
    cause = f"idle time ({CAUSE_NAMES[key]})" if key in CAUSE_NAMES else ""
    return PHRASES.get(key) or cause or key.removesuffix("_ns").replace("_", " ")


def _detail(found: PairVerdict, cause: BridgePart | None) -> str:
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
        said.append(f"{duration(abs(back))} {came} {names}.")
    if _is_far_larger(found) and found.drift is not None and found.drift.is_other_clock:
        most = duration(found.drift.most_ns(_longer_step(between)))
        apart = _apart(found.drift)
        said.append(f"The speeds of the hosts differ by {apart}: that explains at most {most}.")
    if found.clock_ns:
        beside = "beside it" if found.at_equal_clocks else "of it"
        said.append(f"Another clock alone makes {_signed(found.clock_ns)} {beside}.")
    if real := _counts_words([one for one in found.counts if one.differs]):
        said.append(real)
    return " ".join(said)


def _outliers(side: Side, which: str, division: Division) -> tuple[str, ...]:
    """The chosen steps that are far from the others, the farthest first, and the part behind each.

    "Step 9 of B takes 207 ms, 80 ms more than the median: waiting for the DataLoader."
    """
    selection = side.selection
    are_far = outliers(selection.facts)
    far = [at for at, index in enumerate(selection.indexes) if are_far[index]]
    if not far or not side.step_times:
        return ()
    fields = parts_of(selection, selection, division)
    rows = parts_by_step(selection, division, fields)
    off = rows - median_step(rows)
    change = off.sum(axis=1)
    far.sort(key=lambda at: -abs(change[at]))
    said = []
    for at in far[:MOST_OUTLIERS]:
        name = step_parameter(selection.facts, selection.indexes[at])
        sign = 1 if change[at] > 0 else -1
        more = f"{duration(abs(change[at]))} {'more' if sign > 0 else 'less'} than the median"
        part = int((sign * off[at]).argmax())
        is_cause = sign * off[at][part] >= MAIN_CAUSE * abs(change[at])
        cause = f": {phrase(list(fields)[part])}" if is_cause else ""
        said.append(f"Step {name} of {which} takes {duration(int(rows[at].sum()))}, {more}{cause}.")
    if rest := len(far) - MOST_OUTLIERS:
        said += [f"{plural(rest, 'more step')} of {which} are outliers."] * (rest > 0)
    return tuple(said)


def _signed(ns: float) -> str:
    return f"{'−' if ns < 0 else '+'}{duration(abs(ns))}"


def _certainty(found: PairVerdict) -> str:
    """Numbers of judged steps and recordings, and the certainty of the change."""
    verdict = found.times
    if verdict is None or found.is_other_machine:
        return ""
    said = f"{verdict.base_steps} against {plural(verdict.other_steps, 'step')}"
    if max(verdict.repeats) > 1:
        said = f"{verdict.repeats[0]} against {plural(verdict.repeats[1], 'recording')}"
    if verdict.is_equal:
        return said
    if verdict.p is not None:
        said = f"Exact rank test, {said}: p = {verdict.p:.3f}"
    low, high = verdict.low_ns, verdict.high_ns
    if low is not None and high is not None:
        between = f"between {_signed(low)} and {_signed(high)}"
        said += f" · 95 % sure the change of the median step is {between}"
    if max(verdict.repeats) == 1 and min(verdict.base_steps, verdict.other_steps) >= FEWEST_STEPS:
        said += f" · one recording a side: the code is blamed above {share(DAY_RATIO)}"
    return said


def _settle(  # one line a case
    found: PairVerdict, outcome: Outcome, sides: tuple[Side, Side]
) -> str:
    if outcome not in ("cannot tell", "differs"):
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
    return _ask_for_recordings(found.times)


def _ask_for_recordings(verdict: TimeVerdict) -> str:
    """Which recordings would tell the code from the day."""
    base, other = verdict.more_repeats
    if not base and not other:
        return ""
    if base == other:
        whose = f"each of them {plural(base, 'more time')}"
    else:
        asked = [
            f"{which} {plural(n, 'more time')}" for which, n in (("A", base), ("B", other)) if n
        ]
        whose = listing(asked)
    if max(verdict.repeats) > 1 and min(verdict.repeats) > 1:
        return f"Record {whose}: the recordings of one code differ too much."
    return f"Record {whose}: {FEWEST_RECORDINGS} recordings a side tell the code from the day."


def _how_to_mark(sides: tuple[Side, Side]) -> str:
    """Ways to mark the steps of the sides that have none, by their recorder."""
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
