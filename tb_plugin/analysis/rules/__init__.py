"""Advice: the registry of all rules. A new rule is added here, and nowhere else."""

from __future__ import annotations

from . import device_use, distributed, input_bound, utilization
from .rule import Rule

RULES: tuple[Rule, ...] = (
    input_bound.RULE,
    distributed.DATA_PARALLEL,
    distributed.BACKEND,
    distributed.COMMUNICATION,
    utilization.RULE,
    device_use.TENSOR_CORES,
    device_use.MEMORY_CAPACITY,
)
