"""What a rule is: a small function from the facts of chosen steps to a finding, or to None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..findings import Finding, Gain, Reference, Severity
from ..selection import Selection
from .thresholds import SEVERITY


@dataclass(frozen=True, slots=True)
class Need:
    """An input of a rule. ``text`` says what is missing and how to record it."""

    text: str
    met: Callable[[Selection], bool]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that must hold before a remedy is given. ``text`` says what."""

    text: str
    holds: Callable[[Selection], bool]


@dataclass(frozen=True, slots=True)
class Remedy:
    """An act that a rule may advise, and the facts without which it is never said.

    Where a rule has several, the first whose facts hold is given.
    """

    text: str
    facts: tuple[Fact, ...]
    snippet: str = ""
    links: tuple[Reference, ...] = ()


NO_REMEDY = Remedy("", ())


@dataclass(frozen=True, slots=True)
class Rule:
    """One piece of advice and the condition for it. ``title`` says what is checked.

    ``answers`` are the causes that the sentence on top may blame and this rule speaks of: fields of
    Partition and HostPartition, as ``headline`` names them.
    """

    id: str
    title: str
    needs: tuple[Need, ...]
    check: Callable[[Selection], Finding | None]
    answers: frozenset[str] = frozenset()
    remedies: tuple[Remedy, ...] = ()


def remedy_of(remedies: tuple[Remedy, ...], selection: Selection) -> Remedy:
    """The first remedy whose facts all hold, else none."""
    return next((one for one in remedies if applies(one, selection)), NO_REMEDY)


def applies(remedy: Remedy, selection: Selection) -> bool:
    """Whether all facts of a remedy hold."""
    return all(fact.holds(selection) for fact in remedy.facts)


def severity_of(gain: Gain | None, otherwise: Severity = "info") -> Severity:
    """The severity of a finding by its gain ceiling, or ``otherwise`` where none can be formed."""
    if gain is None:
        return otherwise
    for limit, severity in SEVERITY:
        if gain.ratio >= limit:
            return severity
    return "info"


def ceiling(selection: Selection, total_ns: float, method: str, claims: str) -> Gain | None:
    """A gain of ``total_ns`` over the chosen steps; None where there is nothing to gain."""
    if total_ns <= 0:
        return None
    return Gain(
        ns_per_step=selection.mean(total_ns),
        ratio=selection.ratio(total_ns),
        method=method,
        claims=claims,
    )


def sentences(*parts: str) -> str:
    """Parts of a text, without the empty ones."""
    return " ".join(part for part in parts if part)
