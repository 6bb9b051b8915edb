"""Which steps are unusually long or short?"""

from __future__ import annotations

import statistics

from .facts import Facts

_MAD_TO_SIGMA = 1.4826
SIGMAS = 3.5
LEAST_RATIO = 0.05  # of the median: below this a difference is not worth a mark


def outliers(facts: Facts) -> tuple[bool, ...]:
    """Per step: |length − median| > 3.5 σ and > 5 % of the median.

    σ is told by the median absolute deviation; the median is that of the steps not left out by
    default.
    """
    lengths = [step.dur_ns for step in facts.steps]
    usual = [
        length for length, step in zip(lengths, facts.steps, strict=True) if step.excluded is None
    ]
    if len(usual) < 3:
        return (False,) * len(lengths)
    middle = statistics.median(usual)
    sigma = _MAD_TO_SIGMA * statistics.median(abs(length - middle) for length in usual)
    limit = max(SIGMAS * sigma, LEAST_RATIO * middle)
    return tuple(abs(length - middle) > limit for length in lengths)
