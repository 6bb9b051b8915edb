"""Makes the timeline of a trace as a folder of mapped columns.

``make_timeline`` writes everything and the layout ``split``, ``make_layout`` one other layout. Both
hold a few columns at a time, whatever the trace is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from ...base.units import plural
from ...trace.model import Trace
from . import counter_levels, slices
from .counters import series_of
from .files import put, put_texts
from .flows_build import flows_of
from .groups import Groups, groups_of
from .layout_files import Drawn, OnShare, write_layout
from .model import (
    DEFAULT_LAYOUT,
    I64,
    LAYOUTS,
    U8,
    CounterLevel,
    Flows,
    SliceFlag,
    Tables,
)
from .name_index import index_names
from .name_sums import write_tables
from .stored import (
    TIMELINE,
    StoredCounter,
    StoredGroup,
    StoredStep,
    StoredTimeline,
)


def make(trace: Trace, folder: Path, on_progress: OnShare, variant: str) -> None:
    """The artifact of the Trace view: ``variant`` is one of ``LAYOUTS``.

    Raises:
        OSError: no room, or no permission.
    """
    if variant == DEFAULT_LAYOUT:
        make_timeline(trace, folder, on_progress)
    else:
        make_layout(trace, folder, on_progress, variant)


def make_timeline(trace: Trace, folder: Path, on_progress: OnShare) -> None:
    """Stores all slices, counters and arrows of a trace, and the layout ``split``.

    Raises:
        OSError: no room, or no permission.
    """
    tables = slices.tables_of(trace)
    groups = groups_of(trace)
    flows = flows_of(trace, tables)
    names, name = slices.names_of(trace)
    put_texts(folder, "names", names)
    put(folder, "slices.name", {"name": name})
    ts, dur = slices.column(trace, "ts"), slices.column(trace, "dur")
    put(folder, "slices.ts", {"ts": ts})
    put(folder, "slices.dur", {"dur": dur})
    on_progress(0.05)
    index = index_names(name, ts, dur, len(names))
    put(folder, "index.slices", {"slices": index.slices})
    put(folder, "index.first", {"first": index.first})
    put(folder, "index.sum_ns", {"sum_ns": index.sum_ns})
    del index, name
    on_progress(0.2)
    drawn = Drawn(trace, groups, ts, dur, flags_of(trace, flows))
    lanes = write_layout(drawn, DEFAULT_LAYOUT, folder, lambda share: on_progress(0.2 + share / 2))
    on_progress(0.7)
    write_tables(folder, dur, trace.end_ns, len(names), lanes)
    on_progress(0.8)
    for column, values in _other_columns(trace):
        put(folder, f"slices.{column}", {column: values()})
    put(
        folder,
        "flows",
        {
            "source": flows.source,
            "target": flows.target,
            "kind": flows.kind,
            "by_target": flows.by_target,
        },
    )
    on_progress(0.9)
    counters = _write_counters(trace, groups, folder)
    _write_timeline(trace, tables, groups, counters, (ts, dur, flows), folder)
    on_progress(1.0)


def make_layout(trace: Trace, folder: Path, on_progress: OnShare, variant: str) -> None:
    """Stores one other layout of a trace whose timeline lies in the folder beside.

    Raises:
        OSError: no room, or no permission.
    """
    if variant not in LAYOUTS:
        raise ValueError(f"there is no layout {variant}")
    tables = slices.tables_of(trace)
    ts, dur = slices.column(trace, "ts"), slices.column(trace, "dur")
    flags = flags_of(trace, flows_of(trace, tables))
    on_progress(0.1)
    drawn = Drawn(trace, groups_of(trace), ts, dur, flags)
    write_layout(drawn, variant, folder, lambda share: on_progress(0.1 + 0.9 * share))


def flags_of(trace: Trace, flows: Flows) -> U8:
    """All flags but that of overlaps, which depends on the layout."""
    flags = slices.flags_of(trace)
    flags[flows.source] |= np.uint8(SliceFlag.FLOW)
    flags[flows.target] |= np.uint8(SliceFlag.FLOW)
    return flags


def _other_columns(trace: Trace) -> list[tuple[str, Callable[[], np.ndarray]]]:
    return [
        ("kind", lambda: slices.kinds_of(trace)),
        ("parent", lambda: slices.parents_of(trace)),
        ("self_ns", lambda: slices.self_of(trace)),
        ("step", lambda: slices.steps_of(trace)),
        ("raw", lambda: slices.column(trace, "raw")),
    ]


def _write_counters(trace: Trace, groups: Groups, folder: Path) -> list[StoredCounter]:
    stored = []
    samples: list[tuple[np.ndarray, np.ndarray]] = []
    thin: list[CounterLevel] = []
    for one in series_of(trace, groups):
        levels = counter_levels.levels_of(one.ts, one.value, trace.end_ns)
        samples.append((one.ts, one.value))
        thin += levels.values()
        stored.append(
            StoredCounter(
                one.key,
                one.group,
                one.kind,
                one.label,
                one.unit,
                one.definition,
                len(one.ts),
                [(k, len(level.bucket)) for k, level in levels.items()],
            )
        )
    ts = np.concatenate([np.empty(0, np.int64), *(ts for ts, _ in samples)])
    value = np.concatenate([np.empty(0), *(value for _, value in samples)])
    put(folder, "counters.samples", {"ts": ts, "value": value})
    bucket = np.concatenate([np.empty(0, np.int64), *(level.bucket for level in thin)])
    rest = {
        name: np.concatenate([np.empty(0), *(getattr(level, name) for level in thin)])
        for name in ("low", "high", "last", "mean")
    }
    put(folder, "counters.levels", {"bucket": bucket, **rest})
    return stored


def _write_timeline(
    trace: Trace,
    tables: Tables,
    groups: Groups,
    counters: list[StoredCounter],
    columns: tuple[I64, I64, Flows],
    folder: Path,
) -> None:
    steps = trace.steps
    marked = steps.source != "whole_trace"
    stored = StoredTimeline(
        base_ns=trace.base_ns,
        start_ns=0,
        end_ns=trace.end_ns,
        events=trace.health.events,
        tables=(
            tables.host,
            tables.device,
            tables.device_annotations,
            tables.syncs,
            tables.ranges,
            tables.end,
        ),
        groups=[msgspec.convert(one, StoredGroup, from_attributes=True) for one in groups.groups],
        counters=counters,
        steps=[
            StoredStep(index, trace.text(int(name)), int(ts), int(end))
            for index, (name, ts, end) in enumerate(
                zip(steps.name, steps.ts, steps.end, strict=True)
            )
            if marked
        ],
        warnings=_warnings(columns[1]),
    )
    (folder / TIMELINE).write_bytes(msgspec.json.encode(stored))


def _warnings(dur: I64) -> list[str]:
    """What the picture cannot show as recorded. What was not used at all, Health lists."""
    found = []
    if empty := int(np.count_nonzero(dur == 0)):
        found.append(f"{plural(empty, 'slice')} of no length: drawn as instants.")
    return found
