"""What a slice is linked with, in the words of the details panel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ..analysis.timeline.links import (
    backward_of,
    forward_of,
    launch_of,
    launched_by,
    op_around,
)
from ..analysis.timeline.model import SliceKind
from ..analysis.timeline.moves import behind, parent_of
from ..analysis.timeline.opened import Opened
from ..base.units import count as count_text
from ..base.units import duration
from .timeline_answers import SliceLink
from .timeline_refs import ref

_KERNELS = (SliceKind.COMPUTE, SliceKind.COMMUNICATION)
Relation = Literal["launched by", "launches", "op", "kernels", "forward", "backward", "parent"]


def links_of(opened: Opened, one: int) -> tuple[SliceLink, ...]:
    """Launch and kernels, ops, forward and backward, parent: those that there are."""
    if one >= opened.timeline.tables.device:
        return tuple(_of_device(opened, one))
    return tuple(_of_host(opened, one))


def _of_device(opened: Opened, one: int) -> Iterator[SliceLink]:
    flows, slices = opened.timeline.flows, opened.timeline.slices
    call = launch_of(flows, one)
    if call is None:
        return
    op = op_around(slices, call)
    if call != op:
        yield _link(opened, "launched by", "runtime call", one, [call])
    if op is not None:
        yield _link(opened, "op", "op that launched it", one, [op])
        if len(found := forward_of(flows, slices, op)):
            yield _link(opened, "forward", "forward op", one, found.tolist())


def _of_host(opened: Opened, one: int) -> Iterator[SliceLink]:
    flows, slices = opened.timeline.flows, opened.timeline.slices
    kind = slices.kind[one]
    work = launched_by(flows, slices, one, behind(opened, one)).tolist()
    if work:
        relation: Relation = "launches" if kind == SliceKind.RUNTIME else "kernels"
        yield _link(opened, relation, _work_label(opened, work), one, work)
    op = op_around(slices, one)
    if op is not None and op != one and kind == SliceKind.RUNTIME:
        yield _link(opened, "op", "op around it", one, [op])
    if kind in (SliceKind.OP, SliceKind.RUNTIME, SliceKind.ANNOTATION):
        if len(found := forward_of(flows, slices, one)):
            yield _link(opened, "forward", "forward op", one, found.tolist())
        if len(found := backward_of(flows, slices, one)):
            yield _link(opened, "backward", "backward op", one, found.tolist())
    parent = parent_of(opened, one)
    if parent is not None:
        yield _link(opened, "parent", "parent", one, [parent])


def _link(
    opened: Opened, relation: Relation, label: str, one: int, others: Sequence[int]
) -> SliceLink:
    """To the first of the others, which are in order of their start."""
    delay = None if relation in ("parent", "op", "kernels") else _between(opened, one, others[0])
    return SliceLink(relation, label, ref(opened, others[0]), delay, len(others))


def _between(opened: Opened, one: int, other: int) -> int:
    """From the end of the earlier to the start of the later one; below 0 where they overlap."""
    slices = opened.timeline.slices
    first, second = sorted((one, other), key=lambda at: (int(slices.ts[at]), at))
    return int(slices.ts[second] - slices.ts[first] - slices.dur[first])


def _work_label(opened: Opened, work: Sequence[int]) -> str:
    slices = opened.timeline.slices
    kernels = all(slices.kind[one] in _KERNELS for one in work)
    total = duration(int(slices.dur[work].sum()))
    if len(work) == 1:
        return f"{'kernel' if kernels else 'device activity'}, {total}"
    what = "kernels" if kernels else "device activities"
    return f"1 of {count_text(len(work))} {what}, {total} in all"
