"""A timeline without its slices: tracks, groups, counters, numbers of things.

``outline_of`` takes it from a timeline that was made; ``outline`` finds the same in the columns of
a trace, for a process that ends with this answer: a third of the time, and nothing is stored.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ...base.arrays import I64, count_codes
from ...trace.model import Trace
from .build import slices
from .build.artifact import layout_warnings, marked_steps, time_warnings
from .build.counters import series_of
from .build.lane_layout import arrange
from .model import Counter, FlowKind, Group, SliceFlows, SliceKind, TimelineStep, Track
from .timeline import Opened
from .tracks import groups_of


class Outline(Struct, frozen=True, eq=False):
    """What can be said of a timeline before a slice is drawn; as in ``Timeline`` and ``Layout``."""

    base_ns: int
    end_ns: int
    events: int
    slices: int
    names: int
    hidden: int  # slices that the layout leaves out
    groups: tuple[Group, ...]
    tracks: tuple[Track, ...]
    counters: tuple[Counter, ...]  # those of ``outline`` without levels
    kinds: I64  # slices of each kind
    flows: I64  # arrows of each kind
    steps: tuple[TimelineStep, ...]
    warnings: tuple[str, ...]


def outline_of(opened: Opened) -> Outline:
    """The outline of a timeline in a layout."""
    made = opened.timeline
    return Outline(
        base_ns=made.base_ns,
        end_ns=made.end_ns,
        events=made.events,
        slices=len(made.slices),
        names=len(made.names),
        hidden=len(made.slices) - len(opened.layout.order),
        groups=made.groups,
        tracks=opened.layout.tracks,
        counters=made.counters,
        kinds=count_codes(made.slices.kind)[: len(SliceKind)],
        flows=_arrows(made.flows),
        steps=made.steps,
        warnings=made.warnings,
    )


def outline(trace: Trace, variant: str) -> Outline:
    """The outline of a trace in one of ``VARIANTS``."""
    groups = groups_of(trace)
    ts, dur = slices.column(trace, "ts"), slices.column(trace, "dur")
    made = arrange(trace, groups, ts, dur, variant, lambda _: None)
    return Outline(
        base_ns=trace.base_ns,
        end_ns=trace.end_ns,
        events=trace.health.events,
        slices=len(ts),
        names=len(slices.names_of(trace)[0]),
        hidden=made.hidden,
        groups=groups.groups,
        tracks=made.tracks,
        counters=tuple(series_of(trace, groups)),
        kinds=count_codes(slices.kinds_of(trace))[: len(SliceKind)],
        flows=_arrows(slices.flows_of(trace, slices.tables_of(trace))),
        steps=marked_steps(trace),
        warnings=(*time_warnings(dur), *layout_warnings(made, trace)),
    )


def _arrows(flows: SliceFlows) -> I64:
    return np.bincount(flows.kind, minlength=len(FlowKind))
