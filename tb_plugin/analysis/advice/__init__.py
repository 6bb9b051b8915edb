"""Advice: what should be done about it? A module a family of rules, and all that belongs to them.

Each family has its recognizers, thresholds, sentences, remedies and their conditions side by side.
``rule`` says what a rule is, ``claims`` which patterns there are and what they claim together.
"""

from __future__ import annotations

from . import (  # noqa: F401  # each registers its rules
    autograd,
    compiled,
    distributed,
    host,
    input,  # noqa: A004
    kernels,
    launches,
    memory,
    numerics,
    operators,
    serving,
    waits,
)
from .rule import RULES, Rule, check_all

__all__ = ["RULES", "Rule", "check_all"]
