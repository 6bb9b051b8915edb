"""The columns of the Memory view from an exported memory timeline: a curve by category, no blocks.

torch put the bytes into categories itself, by the identity of tensors. A change of a category is an
event; that it belongs to the category is said by ``Strays``, as no block does.
"""

from __future__ import annotations

import msgspec
import numpy as np

from ...trace.memory_model import MemoryTimeline
from ...trace.model import Trace
from .model import (
    NONE,
    AddressBands,
    AllocatorCalls,
    Category,
    MemoryBlocks,
    MemoryColumns,
    MemoryDevice,
    MemoryEvents,
    OpPaths,
    OpTimes,
    SegmentSpans,
    StepRanges,
    Strays,
)
from .totals import joined, with_totals

NO_BLOCKS = (
    "An exported memory timeline has the bytes of each category, and neither blocks nor ops nor"
    " modules: open the trace for them."
)
NO_STEPS = "An exported memory timeline marks no steps, so growth from step to step is not known."
OURS = (
    Category.PARAMETER, Category.OPTIMIZER, Category.INPUT, Category.TEMPORARY,
    Category.ACTIVATION, Category.GRADIENT, Category.AUTOGRAD, Category.UNKNOWN,
)  # fmt: skip
"""Our category of each of torch's, by its number."""


def memory_of_timeline(trace: Trace, timeline: MemoryTimeline, steps: StepRanges) -> MemoryColumns:
    """The columns of a timeline; ``trace`` is its empty trace."""
    count = len(timeline)
    base = sum(timeline.base)
    nothing = np.empty(0, np.int64)
    codes = np.empty(0, np.int32)
    missing = np.full(count, NONE, np.int32)
    rows = np.arange(count, dtype=np.int32)
    events = MemoryEvents(
        ts=timeline.ts - timeline.first_ns,
        bytes=timeline.bytes,
        allocated=base + np.cumsum(timeline.bytes),
        reserved=np.full(count, NONE),
        path=missing,
        block=missing.copy(),
        op=missing.copy(),
        raw=rows,
    )
    ours = np.array(OURS, np.int8)[timeline.category]
    unknown = np.full(count, Category.UNKNOWN, np.int8)
    order = np.argsort(np.concatenate([rows, rows]), kind="stable")
    told = np.zeros(len(Category), np.int64)
    np.add.at(told, list(OURS), timeline.base)
    strays = Strays(
        np.concatenate([rows, rows])[order],
        np.concatenate([ours, unknown])[order],
        np.concatenate([timeline.bytes, -timeline.bytes])[order],
    )
    device = MemoryDevice(
        key="timeline", label="Exported timeline", kind=NONE, number=NONE, capacity_bytes=None,
        first=0, stop=count, first_block=0, stop_block=0, first_band=0, stop_band=0,
        has_totals=True, has_reserved=False, has_addresses=True, base_bytes=base,
        kept_bytes=base, gradient_bytes=0, kept_states_bytes=0,
    )  # fmt: skip
    found = MemoryColumns(
        strings=tuple(trace.text(code) for code in steps.name.tolist()),
        devices=(device,),
        events=events,
        blocks=joined(MemoryBlocks, []),
        strays=strays,
        bands=joined(AddressBands, []),
        paths=OpPaths(codes, codes),
        ops=OpTimes(nothing, codes, nothing, codes),
        steps=msgspec.structs.replace(steps, name=np.arange(len(steps), dtype=np.int32)),
        allocator=AllocatorCalls(nothing, nothing, codes, codes),
        end_ns=trace.end_ns,
        trains=False,
        missing={
            "modules": NO_BLOCKS,
            "stacks": NO_BLOCKS,
            "blocks": NO_BLOCKS,
            "steps": NO_STEPS,
        },
        segments=SegmentSpans(nothing, nothing, nothing, nothing, nothing, codes),
        pools=(),
        failures=(),
        is_snapshot=False,
        told_base=tuple(told.tolist()),
    )
    return msgspec.structs.replace(found, devices=(with_totals(found, device, 0),))
