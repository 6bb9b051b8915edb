"""What a rule is: a small function from the facts of chosen steps to a finding, or to None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..facts import Facts
from ..findings import Finding, Gain, Severity
from ..selection import Selection
from .thresholds import SEVERITY


@dataclass(frozen=True, slots=True)
class Need:
    """An input of a rule. ``text`` says what is missing and how to record it."""

    text: str
    met: Callable[[Facts], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """One piece of advice and the condition for it. ``title`` says what is checked."""

    id: str
    title: str
    needs: tuple[Need, ...]
    check: Callable[[Selection], Finding | None]


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
