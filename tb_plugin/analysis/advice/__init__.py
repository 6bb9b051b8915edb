"""Advice: the registry of all rules. A new rule is added here, and nowhere else."""

from __future__ import annotations

from . import distributed, host_code, kernels, memory, operators, utilization, waiting
from .rule import Rule

RULES: tuple[Rule, ...] = (
    *waiting.RULES,
    *distributed.RULES,
    utilization.RULE,
    *operators.RULES,
    *kernels.RULES,
    *host_code.RULES,
    *memory.RULES,
)
