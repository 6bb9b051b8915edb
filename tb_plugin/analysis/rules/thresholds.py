"""Every threshold of the rules, in one place. Ratios are of the chosen steps' time unless said."""

from __future__ import annotations

from ..findings import Severity

# A finding's severity: the first limit that its gain ceiling reaches.
SEVERITY: tuple[tuple[float, Severity], ...] = ((0.15, "high"), (0.05, "medium"), (0.01, "low"))

DATALOADER_RATIO = 0.05
COMMUNICATION_RATIO = 0.10
UTILIZATION_RATIO = 0.50  # kernels, of the time of the steps and the gaps between them
MEMORY_RATIO = 0.90  # highest allocated total, of the card's memory
NCCL_CAPABILITY = (3, 5)
TENSOR_CORE_CAPABILITY = 7
