"""The patterns of a trace as rules see them: sums over the chosen steps, ceilings, evidence.

``pattern_finding`` makes the finding of a rule that speaks of patterns alone. ``check_all`` asks
all rules, and says of each ceiling what findings above it claim already: they must not be added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import structs

from ...base.units import duration, share
from ..overview.findings import (
    Evidence,
    Finding,
    Gain,
    Reference,
    SeenEvent,
    Severity,
    Unchecked,
    at_time,
)
from ..patterns.model import Pattern, PatternEvent
from ..steps import Selection
from ..wording import device_noun, per_step, scope, short_frame, step_noun, whole_of
from .rule import Rule, ceiling, check_each, sentences, severity_of

MOST_EVENTS = 5


@dataclass(frozen=True, slots=True)
class PatternSum:
    """One pattern over the chosen steps. ``row`` is its place in ``Facts.patterns.found``."""

    row: int
    pattern: Pattern
    ns: int
    count: int
    shares: tuple[float, ...]  # of each chosen step

    @property
    def frame(self) -> str:
        """The frame of the user's code, as it is shown; "" unknown."""
        return short_frame(self.pattern.frame)

    @property
    def place(self) -> str:
        """`` at `train.py(12): step` ``, or nothing."""
        return f" at `{self.frame}`" if self.frame else ""


def patterns(selection: Selection, kind: str) -> tuple[PatternSum, ...]:
    """The patterns of one kind in the chosen steps, for the chosen device; longest first."""
    device = -1 if selection.device is None else selection.device
    found = []
    for row, one in enumerate(selection.facts.patterns.found):
        if one.kind != kind or one.device != device:
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


def gain_of(
    selection: Selection, seen: Sequence[PatternSum], method: str, scale: float = 1.0
) -> Gain | None:
    """The ceiling of some patterns: the union of their times, or a part ``scale`` of it."""
    rows = [one.row for one in seen]
    total = united_ns(selection, rows) * scale
    return ceiling(selection, total, method, *(f"pattern {row}" for row in rows))


def events_of(selection: Selection, seen: Iterable[PatternSum]) -> tuple[SeenEvent, ...]:
    """The longest events of some patterns, those of the chosen steps first."""
    chosen = set(selection.indexes)
    events = [event for one in seen for event in one.pattern.events]
    events.sort(key=lambda one: (one.step not in chosen, -one.dur_ns))
    return tuple(_seen(selection, one) for one in events[:MOST_EVENTS])


def _seen(selection: Selection, event: PatternEvent) -> SeenEvent:
    step = selection.facts.steps[event.step].name if event.step >= 0 else ""
    return SeenEvent(
        event.name, event.slice, event.event, event.ts, event.dur_ns, step, door(event)
    )


def door(event: PatternEvent, text: str = "") -> Reference:
    """A link to the Trace view at an event, which is selected there."""
    to = at_time(text or short_frame(event.name)[:80], event.ts, event.dur_ns)
    return structs.replace(to, params={**to.params, "select": str(event.slice)})


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


@dataclass(frozen=True, slots=True)
class PatternAdvice:
    """What a rule says of patterns; the rest of a finding follows from them."""

    id: str
    title: str
    said: str  # the evidence, with number and scope, and the cause
    action: str
    method: str  # how the ceiling is formed
    limit: float
    confidence: float
    verify: str
    snippet: str = ""
    scale: float = 1.0  # of the claimed time
    evidence: tuple[Evidence, ...] = ()
    links: tuple[Reference, ...] = ()
    otherwise: Severity = "low"  # the severity where nothing is claimed
    headline: str = ""  # see ``Finding``


def pattern_finding(
    selection: Selection, seen: Sequence[PatternSum], advice: PatternAdvice
) -> Finding:
    """The finding of some patterns, the longest first."""
    gain = gain_of(selection, seen, advice.method, advice.scale)
    total = united_ns(selection, [one.row for one in seen])
    shares = [sum(parts) for parts in zip(*(one.shares for one in seen), strict=True)]
    events = events_of(selection, seen)
    first = (structs.replace(events[0].link, text="The longest in the trace"),) if events else ()
    return Finding(
        id=advice.id,
        title=advice.title,
        severity=severity_of(selection, gain, advice.otherwise, shares=shares, limit=advice.limit),
        confidence=advice.confidence,
        text=sentences(advice.said, advice.action),
        snippet=advice.snippet,
        evidence=(
            Evidence(
                f"share of the {whole_of(selection)}", selection.ratio(total), "ratio", advice.limit
            ),
            Evidence("events", float(sum(one.count for one in seen)), "count"),
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
        agreeing=sum(part > advice.limit for part in shares),
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
