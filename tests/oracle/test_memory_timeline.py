"""Categories held against torch's own: `export_memory_timeline` of the same recording.

torch knows tensors by identity and has a category for most; its raw export lists every allocation
with its time, so each is found again among the events of the trace.

    python -m tests.oracle.test_memory_timeline     prints who agrees on what
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.model import Category
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces

FOLDER = TRACES / "fresh_torch2.13" / "exports"
CREATE, DESTROY = 2, 4
# Its categories in the order of their numbers; 7 is a block of which it knows no tensor.
THEIRS = (
    "parameter", "optimizer", "input", "temporary", "activation", "gradient", "autograd", "none",
)  # fmt: skip


@dataclass(frozen=True)
class Agreement:
    """Bytes at the peak by (its category, ours)."""

    bytes: Counter[tuple[str, str]]

    @property
    def ratio(self) -> float:
        """Of the bytes that it has a category for, those on which both agree."""
        known = {pair: held for pair, held in self.bytes.items() if pair[0] != "none"}
        same = sum(held for (theirs, ours), held in known.items() if theirs == ours)
        return same / sum(known.values())

    def ratio_of(self, theirs: str) -> float:
        """The same of one of its categories."""
        held = sum(size for pair, size in self.bytes.items() if pair[0] == theirs)
        return self.bytes[theirs, theirs] / held


def agreement(folder: Path) -> Agreement:
    """Both on the blocks that are alive at the peak."""
    columns = memory_of(read(folder / "trace.json.gz"))
    with gzip.open(folder / "memory_timeline.raw.json.gz") as file:
        told = json.load(file)
    base = read(folder / "trace.json.gz").base_ns
    (device,) = columns.devices
    peak = int(columns.events.allocated[device.events].argmax())
    blocks = columns.blocks
    names = {category: category.name.lower() for category in Category}
    # A tensor may change its category; the one it has when it is released is its own.
    created = [(at, size, category) for at, action, size, category in told if action == CREATE]
    allocations = np.flatnonzero(columns.events.bytes > 0)
    assert len(created) == len(allocations)
    found: Counter[tuple[str, str]] = Counter()
    for (at, size, category), event in zip(created, allocations.tolist(), strict=True):
        assert (at - base, size) == (columns.events.ts[event], columns.events.bytes[event])
        block = int(columns.events.block[event])
        release = int(blocks.release[block])
        if event <= peak and not 0 <= release <= peak:
            found[THEIRS[category], names[Category(int(blocks.category[block]))]] += size
    return Agreement(found)


@requires_traces
def test_categories_agree_with_those_of_torch() -> None:
    found = agreement(FOLDER)
    assert found.ratio >= 0.9
    for theirs in {pair[0] for pair in found.bytes} - {"none"}:
        assert found.ratio_of(theirs) >= 0.9, theirs
    # Where torch knows no tensor, memory was taken and given back inside one op.
    assert {ours for theirs, ours in found.bytes if theirs == "none"} <= {"temporary", "unknown"}


if __name__ == "__main__":
    told = agreement(FOLDER)
    for (theirs, ours), held in told.bytes.most_common():
        sys.stdout.write(f"{held:12,}  torch: {theirs:12} here: {ours}\n")
    sys.stdout.write(f"agree on {told.ratio:.1%} of the bytes torch has a category for\n")
