"""Every threshold of the rules, in one place. Ratios are of the chosen steps' time unless said."""

from __future__ import annotations

from ..findings import Severity

# A finding's severity: the first limit that its gain ceiling reaches.
SEVERITY: tuple[tuple[float, Severity], ...] = ((0.15, "high"), (0.05, "medium"), (0.01, "low"))

DATALOADER_RATIO = 0.05
COMMUNICATION_RATIO = 0.10
UTILIZATION_RATIO = 0.50  # kernels, of the time of the steps and the gaps between them
IDLE_RATIO = 0.10  # idle time without the DataLoader's part and without the capture of graphs
CAUSE_RATIO = 0.50  # of a device's idle time: what makes so much of it is its cause
NAMED_RATIO = 0.10  # of a device's idle time: names that hold less are not said
MANY_LAUNCHES = 20  # per step: short stretches of idle time that make a launch-bound run
HELD_RATIO = 0.90  # of the highest allocated total: what is never given back was taken beforehand
MEMORY_RATIO = 0.90  # highest allocated total, of the card's memory
NCCL_CAPABILITY = (3, 5)
TENSOR_CORE_CAPABILITY = 7
BFLOAT_CAPABILITY = (8, 0)
