"""Advice: the registry of all rules. A new rule is added here, and nowhere else."""

from __future__ import annotations

from . import (
    device_use,
    distributed,
    host_work,
    input_bound,
    kernels,
    memory,
    operators,
    python_code,
    utilization,
    waiting,
)
from .rule import Rule

RULES: tuple[Rule, ...] = (
    input_bound.RULE,
    *distributed.RULES,
    utilization.RULE,
    *waiting.RULES,
    device_use.TENSOR_CORES,
    *operators.RULES,
    *kernels.RULES,
    *python_code.RULES,
    *host_work.RULES,
    *memory.RULES,
)
