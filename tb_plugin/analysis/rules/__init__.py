"""Advice: a registry of small rules over chosen steps. Add a rule here, and nowhere else."""

from __future__ import annotations

from ..findings import Finding, Unchecked
from ..selection import Selection
from . import (
    backend,
    communication,
    data_parallel,
    input_bound,
    memory_capacity,
    tensor_cores,
    utilization,
)
from .rule import Rule

RULES: tuple[Rule, ...] = (
    input_bound.RULE,
    data_parallel.RULE,
    backend.RULE,
    communication.RULE,
    utilization.RULE,
    tensor_cores.RULE,
    memory_capacity.RULE,
)

_ORDER = {"high": 0, "medium": 1, "low": 2, "info": 3}


def check_all(selection: Selection) -> tuple[tuple[Finding, ...], tuple[Unchecked, ...]]:
    """What the rules find, the largest gain ceiling first, and which of them could not run."""
    findings: list[Finding] = []
    unchecked: list[Unchecked] = []
    for rule in RULES:
        missing = next((need for need in rule.needs if not need.met(selection.facts)), None)
        if missing is not None:
            unchecked.append(Unchecked(rule.id, rule.title, missing.text))
        elif (finding := rule.check(selection)) is not None:
            findings.append(finding)
    findings.sort(key=_rank)
    return tuple(findings), tuple(unchecked)


def _rank(finding: Finding) -> tuple[int, float]:
    return _ORDER[finding.severity], -(finding.gain.ratio if finding.gain else 0.0)
