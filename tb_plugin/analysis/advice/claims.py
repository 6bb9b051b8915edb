"""The patterns of a trace as rules see them: sums over the chosen steps, ceilings, evidence.

``pattern_rule`` makes a rule that speaks of patterns alone: it fires where they take more than a
threshold, and a function words it. ``check_all`` asks all rules, and says of each ceiling what
findings above it claim already: they must not be added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from ...base.units import duration, share
from ..facts import Spot
from ..findings import (
    Evidence,
    Finding,
    Gain,
    Reference,
    SeenEvent,
    Severity,
    Unchecked,
    at_time,
)
from ..patterns.model import Pattern
from ..steps import Selection
from ..wording import device_noun, of_step, per_step, scope, short_frame, step_noun, whole_of
from .rule import Need, Rule, ceiling, check_each, sentences, severity_of

MOST_EVENTS = 5


class PatternSum(Struct, frozen=True):
    """One pattern over the chosen steps. ``row`` is its place in ``Facts.patterns.found``."""

    row: int
    pattern: Pattern
    ns: int
    count: int
    shares: tuple[float, ...]  # of each chosen step

    @property
    def name(self) -> str:
        """What it is about, as code: `` `aten::mm` and the like``."""
        return f"`{self.pattern.name}` and the like"

    @property
    def frame(self) -> str:
        """The frame of the user's code, as it is shown; "" unknown."""
        return short_frame(self.pattern.frame)

    @property
    def place(self) -> str:
        """`` at `train.py(12): step` ``, or nothing."""
        return f" at `{self.frame}`" if self.frame else ""

    def figure(self, name: str, default: float = 0.0) -> float:
        """One of its figures."""
        return self.pattern.figures.get(name, default)


Seen = tuple[PatternSum, ...]


def patterns(selection: Selection, *kinds: str) -> Seen:
    """The patterns of some kinds in the chosen steps, for the chosen device; longest first."""
    device = -1 if selection.device is None else selection.device
    found = []
    for row, one in enumerate(selection.facts.patterns.found):
        if one.kind not in kinds or one.device != device:
            continue
        spent = {step.step: step for step in one.steps}
        chosen = [spent[i] for i in selection.indexes if i in spent]
        if not chosen:
            continue
        shares = tuple(
            (spent[step.index].ns if step.index in spent else 0) / max(step.dur_ns, 1)
            for step in selection.steps
        )
        ns, count = sum(step.ns for step in chosen), sum(step.count for step in chosen)
        found.append(PatternSum(row, one, ns, count, shares))
    return tuple(sorted(found, key=lambda one: (-one.ns, -one.count)))


def united_ns(selection: Selection, rows: Iterable[int]) -> int:
    """The length of the union of what some patterns claim in the chosen steps."""
    found = selection.facts.patterns.found
    number: dict[int, int] = {}
    bit: dict[int, int] = {}
    for row, one in enumerate(found):
        bit[row] = number.get(one.device, 0)
        number[one.device] = bit[row] + 1
    masks: dict[int, int] = {}
    for row in rows:
        masks[found[row].device] = masks.get(found[row].device, 0) | 1 << bit[row]
    chosen = set(selection.indexes)
    return sum(
        claim.ns
        for claim in selection.facts.patterns.claims
        if claim.members & masks.get(claim.device, 0) and claim.step in chosen
    )


def longest(seen: Seen) -> Seen:
    """The longest of some patterns alone."""
    return seen[:1]


def total_of(selection: Selection, seen: Seen) -> int:
    """The time that some patterns claim together."""
    return united_ns(selection, [one.row for one in seen])


def share_of(selection: Selection, seen: Seen) -> float:
    """The part of the chosen steps that some patterns claim together."""
    return selection.ratio(total_of(selection, seen))


def wasted(selection: Selection, seen: Seen) -> float:
    """The part of the steps that a pattern could save: its time, as far as its figures say."""
    return share_of(selection, seen) * seen[0].figure("part", 1.0)


def gain_of(selection: Selection, seen: Seen, method: str, scale: float = 1.0) -> Gain | None:
    """The ceiling of some patterns: the union of their times, or a part ``scale`` of it."""
    total = total_of(selection, seen) * scale
    return ceiling(selection, total, method, *(f"pattern {one.row}" for one in seen))


# --- words ----------------------------------------------------------------------------------------


def seen_event(
    selection: Selection, name: str, spot: Spot, ts: int, dur_ns: int, text: str = ""
) -> SeenEvent:
    """An event as evidence, with its step and a link that selects it in the Trace view."""
    step = next((one.name for one in selection.facts.steps if one.start_ns <= ts < one.end_ns), "")
    link = at_time(text or short_frame(name)[:80], ts, dur_ns, spot.slice)
    return SeenEvent(name, spot.slice, spot.event, ts, dur_ns, step, link)


def events_of(selection: Selection, seen: Iterable[PatternSum]) -> tuple[SeenEvent, ...]:
    """The longest events of some patterns, those of the chosen steps first."""
    chosen = set(selection.indexes)
    events = [event for one in seen for event in one.pattern.events]
    events.sort(key=lambda one: (one.step not in chosen, -one.dur_ns))
    return tuple(
        seen_event(selection, one.name, Spot(one.slice, one.event), one.ts, one.dur_ns)
        for one in events[:MOST_EVENTS]
    )


def spent(selection: Selection, ns: float, *, kernels: bool = False) -> str:
    """``12.0 ms per step, 40.1 % of the step``; with a device, of time in which it idles.

    ``kernels``: of time in which it works, too.
    """
    part = f"{duration(selection.mean(ns))} {per_step(selection)}"
    noun = step_noun(selection.facts)
    if selection.device is None or kernels:
        return f"{part}, {share(selection.ratio(ns))} of the {noun}"
    idles = f"in which the {device_noun(selection)} idles"
    return f"{part} {idles}, {share(selection.ratio(ns))} of the {noun}"


def spent_by(selection: Selection, seen: Seen) -> str:
    """As ``spent``, of what some patterns claim together."""
    return spent(selection, total_of(selection, seen))


def part_of_step(selection: Selection, one: PatternSum) -> str:
    """``12.3 % of every step``: the time of one pattern of kernels."""
    agree = sum(part > 0 for part in one.shares)
    return f"{share(selection.ratio(one.ns))} {of_step(selection, agree)}"


def count_of(seen: Seen) -> int:
    """The events of some patterns in the chosen steps."""
    return sum(one.count for one in seen)


def often(selection: Selection, count: int) -> str:
    """``3 times per step``; ``once in this step``."""
    mean = selection.mean(count)
    if round(mean) <= 1:
        return "once" if selection.count == 1 else "once a step"
    return f"{round(mean):,} times {per_step(selection)}"


# --- rules that speak of patterns -----------------------------------------------------------------


class PatternAdvice(Struct, frozen=True):
    """What a rule says of patterns; the rest of a finding follows from them."""

    title: str
    said: str  # the evidence, with number and scope, and the cause
    action: str
    confidence: float
    verify: str
    method: str = ""  # how the ceiling is formed
    snippet: str = ""
    scale: float = 1.0  # of the claimed time
    evidence: tuple[Evidence, ...] = ()
    links: tuple[Reference, ...] = ()
    otherwise: Severity = "low"  # the severity where nothing is claimed
    headline: str = ""  # see ``Finding``


Wording = Callable[[Selection, Seen], PatternAdvice | None]


def pattern_rule(
    rule_id: str,
    title: str,
    needs: tuple[Need, ...],
    kinds: str | tuple[str, ...],
    limit: str = "",
    *,
    choose: Callable[[Seen], Seen] = tuple,
    measure: Callable[[Selection, Seen], float] = share_of,
    answers: Iterable[str] = (),
) -> Callable[[Wording], Rule]:
    """A rule on patterns of some kinds, worded by the function that this decorates.

    It fires where ``measure`` of those it chooses exceeds the threshold named ``limit`` ("": where
    there are any) and the function has something to say.
    """

    def of(word: Wording) -> Rule:
        def check(selection: Selection) -> Finding | None:
            every = patterns(selection, *((kinds,) if isinstance(kinds, str) else kinds))
            seen = choose(every)
            least: float = getattr(selection.limits, limit) if limit else 0.0
            if not seen or (limit and measure(selection, seen) <= least):
                return None
            advice = word(selection, seen)
            return None if advice is None else _finding(rule_id, selection, seen, least, advice)

        return Rule(rule_id, title, needs, check, frozenset(answers))

    return of


def _finding(
    rule_id: str, selection: Selection, seen: Seen, limit: float, advice: PatternAdvice
) -> Finding:
    """The finding of some patterns, the longest first."""
    gain = gain_of(selection, seen, advice.method, advice.scale) if advice.method else None
    shares = [sum(parts) for parts in zip(*(one.shares for one in seen), strict=True)]
    events = events_of(selection, seen)
    first = (structs.replace(events[0].link, text="The longest in the trace"),) if events else ()
    whole = f"share of the {whole_of(selection)}"
    return Finding(
        id=rule_id,
        title=advice.title,
        severity=severity_of(selection, gain, advice.otherwise, shares=shares, limit=limit),
        confidence=advice.confidence,
        text=sentences(advice.said, advice.action),
        snippet=advice.snippet,
        evidence=(
            Evidence(whole, share_of(selection, seen), "ratio", limit or None),
            Evidence("events", float(count_of(seen)), "count"),
            *advice.evidence,
        ),
        gain=gain,
        scope=scope(selection),
        links=(*first, *advice.links),
        verify=advice.verify,
        events=events,
        action=advice.action,
        frame=seen[0].pattern.frame,
        headline=advice.headline,
        agreeing=sum(part > limit for part in shares),
    )


# --- all rules at once ----------------------------------------------------------------------------

_PATTERN = "pattern "


def check_all(
    rules: Iterable[Rule], selection: Selection
) -> tuple[tuple[Finding, ...], tuple[Unchecked, ...]]:
    """The findings of the rules, the largest gain ceiling first, and rules that could not run."""
    findings, unchecked = check_each(rules, selection)
    return tuple(with_shared(selection, findings)), unchecked


def with_shared(selection: Selection, findings: Sequence[Finding]) -> list[Finding]:
    """The findings in their order; of each ceiling, the part that those above it claim already."""
    result = []
    above: list[Gain] = []
    for finding in findings:
        gain = finding.gain
        if gain is not None:
            alone, before = gain.ns_per_step, claimed_ns(selection, above)
            together = claimed_ns(selection, [*above, gain])
            shared = min(max(alone - (together - before), 0.0), alone)
            above.append(gain)
            finding = structs.replace(  # noqa: PLW2901
                finding, gain=structs.replace(gain, shared_ns_per_step=shared)
            )
        result.append(finding)
    return result


def claimed_ns(selection: Selection, gains: Sequence[Gain]) -> float:
    """What some ceilings amount to together, per step: no instant counts twice.

    Patterns are united exactly; fields of one partition are disjoint, and each counts once. Idle
    time, or that of kernels, may be claimed by a pattern and by a field: together they are never
    more than all of it. A ceiling that is a part of what it claims counts with that part.
    """
    part = selection.partition
    found = selection.facts.patterns.found
    fields = [gain for gain in gains if not _rows(gain)]
    sizes: dict[tuple[str, ...], float] = {}
    for gain in fields:
        sizes[gain.claims] = max(sizes.get(gain.claims, 0.0), gain.ns_per_step)
    idle = sum(ns for names, ns in sizes.items() if names and names[0].startswith("idle_"))
    work = sum(ns for names, ns in sizes.items() if names == ("compute_ns",))
    rest = sum(sizes.values()) - idle - work
    whole = {
        False: (idle, part.idle_ns if part is not None else selection.total_ns),
        True: (work, part.compute_ns if part is not None else selection.total_ns),
    }
    total = rest
    for kernels, (fixed, most) in whole.items():
        mine = [gain for gain in gains
                if _rows(gain) and found[_rows(gain)[0]].kernels is kernels]  # fmt: skip
        rows = {row for gain in mine for row in _rows(gain)}
        union = selection.mean(united_ns(selection, rows)) if rows else 0.0
        alone = sum(gain.ns_per_step for gain in mine)
        total += max(fixed, min(fixed + min(union, alone), selection.mean(most))) if mine else fixed
    return total


def _rows(gain: Gain) -> list[int]:
    return [int(name.removeprefix(_PATTERN)) for name in gain.claims if name.startswith(_PATTERN)]
