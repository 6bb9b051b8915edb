"""Arrows of one slice or of a range of time, and the linked slices in the details panel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from ...analysis.timeline.model import FlowKind, SliceKind
from ...analysis.timeline.relatives import (
    Bundle,
    arrows_around,
    backward_of,
    behind,
    bundles_in,
    forward_of,
    launch_of,
    launched_by,
    op_around,
    parent_of,
)
from ...analysis.timeline.timeline import Opened
from ...base.errors import QueryError
from ...base.units import count as count_text
from ...base.units import duration
from ..view import Subject
from .common import check_range, check_slice, numbers, opened_of, ref, tracks
from .contract import Arrow, FlowAnswer, SliceLink
from .queries import BundlesQuery, FlowsQuery

MOST_ARROWS, MOST_BUNDLES = 200, 500


def flows(subject: Subject, query: FlowsQuery) -> FlowAnswer:
    """Arrows that begin or end at a slice, and those up to ``hops`` further.

    Raises:
        NotFoundError: there is no such slice.
    """
    opened = opened_of(subject, query.layout)
    one = check_slice(opened, query.slice)
    found = arrows_around(opened, one, query.hops)
    return FlowAnswer(_arrows(opened, found[:MOST_ARROWS]), len(found))


def bundles(subject: Subject, query: BundlesQuery) -> FlowAnswer:
    """Arrows with an end in a range of time; those that begin and end close together are one.

    Raises:
        QueryError: the range is empty, or a kind or a track does not exist.
    """
    check_range(query.start_ns, query.end_ns)
    opened = opened_of(subject, query.layout)
    chosen = tracks(query.tracks, opened)
    kinds = numbers(query.kinds, "kinds", len(FlowKind)) if query.kinds else list(FlowKind)
    if kinds and kinds[-1] >= len(FlowKind):
        raise QueryError(f"there is no kind of arrow {kinds[-1]}")
    found, count = bundles_in(
        opened, (query.start_ns, query.end_ns), query.columns, kinds, chosen, MOST_BUNDLES
    )
    return FlowAnswer(_arrows(opened, found), count)


def _arrows(opened: Opened, found: Iterable[Bundle]) -> tuple[Arrow, ...]:
    return tuple(
        Arrow(one.kind, ref(opened, one.source), ref(opened, one.target), one.count)
        for one in found
    )


_KERNELS = (SliceKind.COMPUTE, SliceKind.COMMUNICATION)
Relation = Literal["launched by", "launches", "op", "kernels", "forward", "backward", "parent"]


def links_of(opened: Opened, one: int) -> tuple[SliceLink, ...]:
    """The linked slices there are: launch and kernels, ops, forward and backward, parent."""
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
            yield _link(opened, "forward", _one_of("forward op", len(found)), one, found.tolist())


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
            yield _link(opened, "forward", _one_of("forward op", len(found)), one, found.tolist())
        if len(found := backward_of(flows, slices, one)):
            label = _one_of("backward op", len(found))
            yield _link(opened, "backward", label, one, found.tolist())
    parent = parent_of(opened, one)
    if parent is not None:
        yield _link(opened, "parent", "parent", one, [parent])


def _one_of(what: str, number: int) -> str:
    return what if number == 1 else f"1 of {count_text(number)} {what}s"


def _link(
    opened: Opened, relation: Relation, label: str, one: int, others: Sequence[int]
) -> SliceLink:
    """A link to the first of several slices, which are in order of their start."""
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
