"""A timeline as a folder of mapped columns: its files, how they are made and opened.

``timeline.json``            everything that is no column
``names.arrow``              texts of the names of slices
``layout.by_track`` ``index.by_column``  sums for searches, where there are very many slices
``slices.<column>.arrow``    one column of slices each; ``flags`` is beside the layout
``flows`` ``index``          arrows, and slices by name (``index.first``, ``index.slices``)
``counters.samples``, ``counters.levels``  all series, one after the other

``layout.json`` and ``layout.<part>.arrow`` are one layout (a level of it: ``layout.17.records``,
``.rects``, ``.firsts``). The layout ``split`` is beside the rest; any other is in a folder of its
own, which refers to the folder of ``split`` next to it.

``make_timeline`` writes everything and the layout ``split``, ``make_layout`` one other layout. Both
hold a few columns at a time, whatever the size of the trace. ``open_timeline`` maps the columns,
which are read page by page as they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from ....base.arrays import I64, U8
from ....base.columnar import get, get_texts, narrowest, put, put_texts
from ....base.units import plural
from ....trace.model import Trace
from .. import counter_tiles
from ..model import (
    DEFAULT_LAYOUT,
    LAYOUTS,
    Counter,
    CounterLevel,
    Group,
    Layout,
    Level,
    NameIndex,
    SliceFlag,
    SliceFlows,
    Slices,
    Tables,
    Timeline,
    TimelineStep,
    Track,
)
from ..tracks import TrackGroups, groups_of
from . import levels_of_detail, slices
from .counters import series_of
from .lane_layout import Arrangement, arrange
from .names import stored_by_column, stored_by_track, write_tables
from .slices import flows_of, index_names

TIMELINE, LAYOUT = "timeline.json", "layout.json"
SLICE_COLUMNS = ("ts", "dur", "name", "kind", "parent", "self_ns", "step", "raw")


class StoredGroup(msgspec.Struct, frozen=True, array_like=True):
    """As ``model.Group``."""

    key: str
    kind: str
    label: str


class StoredTrack(msgspec.Struct, frozen=True, array_like=True):
    """As ``model.Track``."""

    key: str
    group: int
    kind: str
    label: str
    detail: str
    lane: int
    lanes: int
    slices: int
    busy_ns: int
    first_ns: int
    last_ns: int
    overlaps: int
    hidden: int = 0


class StoredStep(msgspec.Struct, frozen=True, array_like=True):
    """As ``model.TimelineStep``."""

    index: int
    name: str
    ts: int
    end: int


class StoredCounter(msgspec.Struct, frozen=True, array_like=True):
    """A series; its samples and those of its levels are so many of the columns."""

    key: str
    group: int
    kind: str
    label: str
    unit: str
    definition: str
    samples: int
    levels: list[tuple[int, int]]  # level, records


class StoredTimeline(msgspec.Struct, frozen=True):
    """The content of timeline.json."""

    base_ns: int
    start_ns: int
    end_ns: int
    events: int
    tables: tuple[int, int, int, int, int, int]
    groups: list[StoredGroup]
    counters: list[StoredCounter]
    steps: list[StoredStep]
    warnings: list[str]


class StoredLayout(msgspec.Struct, frozen=True):
    """The content of layout.json."""

    name: str
    tracks: list[StoredTrack]
    levels: list[int]
    warnings: list[str]


OnShare = Callable[[float], None]
"""Called with the share done, 0 … 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """What is drawn, whatever the layout; columns by slice id."""

    trace: Trace
    groups: TrackGroups
    ts: I64
    dur: I64
    flags: U8  # all but that of overlaps


def write_layout(drawn: Drawn, name: str, folder: Path, on_share: OnShare) -> list[int]:
    """Stores one of ``LAYOUTS``; says how many lanes each of its tracks has.

    Raises:
        OSError: no room, or no permission.
    """
    made = arrange(
        drawn.trace, drawn.groups, drawn.ts, drawn.dur, name, lambda share: on_share(0.7 * share)
    )
    flags = drawn.flags.copy()
    flags[made.overlapping] |= np.uint8(SliceFlag.OVERLAP)
    put(folder, "layout.flags", {"flags": flags})
    put(folder, "layout.lane", {"lane": made.lane})
    put(folder, "layout.order", {"order": made.order})
    put(folder, "layout.lane_first", {"lane_first": made.lane_first})
    put(folder, "layout.busy", {"busy": narrowest(made.busy.ravel())})
    levels = []
    lanes = (made.order, made.lane_first)
    for level in levels_of_detail.levels_of(*lanes, drawn.ts, drawn.dur, drawn.trace.end_ns):
        _write_level(level, folder)
        levels.append(level.level)
        on_share(0.9)
    stored = StoredLayout(
        name=name,
        tracks=[msgspec.convert(track, StoredTrack, from_attributes=True) for track in made.tracks],
        levels=levels,
        warnings=_warnings(made),
    )
    (folder / LAYOUT).write_bytes(msgspec.json.encode(stored))
    on_share(1.0)
    return [track.lanes for track in made.tracks]


def _write_level(level: Level, folder: Path) -> None:
    stem = f"layout.{level.level}"
    records = ("bucket", "count", "sum_ns", "longest")
    put(folder, f"{stem}.records", {name: getattr(level, name) for name in records})
    put(folder, f"{stem}.rects", {"rect": level.rect})
    firsts = ("bucket_first", "rect_first")
    put(folder, f"{stem}.firsts", {name: getattr(level, name) for name in firsts})


def _warnings(made: Arrangement) -> list[str]:
    found = []
    if count := len(made.overlapping):
        found.append(
            f"{plural(count, 'slice')} overlap others in a way that nesting does not explain:"
            " drawn in lanes of their own."
        )
    if made.hidden:
        is_one = made.hidden == 1
        found.append(
            f"{plural(made.hidden, 'Python frame')} of libraries {'is' if is_one else 'are'} hidden"
            " in this layout."
        )
    if made.is_all_of_others:
        found.append("No Python frame is of code of your own by its path: all are shown.")
    return found


def open_timeline(folder: Path) -> Timeline:
    """The timeline stored in ``folder``, with the one layout that was made there.

    Raises:
        OSError: a file is missing.
        ValueError: a file is damaged.
    """
    stored_layout = msgspec.json.decode((folder / LAYOUT).read_bytes(), type=StoredLayout)
    name = stored_layout.name
    base = folder
    if name != DEFAULT_LAYOUT:
        base = folder.with_name(folder.name.removesuffix(name) + DEFAULT_LAYOUT)
    stored = msgspec.json.decode((base / TIMELINE).read_bytes(), type=StoredTimeline)
    flags = get(folder, "layout.flags")
    names = get_texts(base, "names")
    columns = {one: get(base, f"slices.{one}")[one] for one in SLICE_COLUMNS}
    return Timeline(
        base_ns=stored.base_ns,
        start_ns=stored.start_ns,
        end_ns=stored.end_ns,
        events=stored.events,
        names=names,
        slices=Slices(**columns, **flags),
        tables=Tables(*stored.tables),
        groups=tuple(Group(one.key, one.kind, one.label) for one in stored.groups),
        layouts={name: _layout(folder, stored_layout, len(names))},
        counters=_counters(base, stored.counters),
        flows=SliceFlows(**get(base, "flows")),
        index=NameIndex(
            **get(base, "index.first"),
            **get(base, "index.slices"),
            **get(base, "index.sum_ns"),
            by_column=stored_by_column(base, len(names)),
        ),
        steps=tuple(TimelineStep(one.index, one.name, one.ts, one.end) for one in stored.steps),
        warnings=(*stored.warnings, *stored_layout.warnings),
    )


def _layout(folder: Path, stored: StoredLayout, names: int) -> Layout:
    tracks = tuple(Track(*msgspec.structs.astuple(track)) for track in stored.tracks)
    busy = get(folder, "layout.busy")["busy"]
    return Layout(
        name=stored.name,
        tracks=tracks,
        **get(folder, "layout.lane_first"),
        **get(folder, "layout.order"),
        **get(folder, "layout.lane"),
        levels={number: _level(folder, number) for number in stored.levels},
        busy=busy.reshape(len(tracks), -1) if tracks else busy.reshape(0, 1),
        by_track=stored_by_track(folder, (names, len(tracks))),
    )


def _level(folder: Path, number: int) -> Level:
    stem = f"layout.{number}"
    return Level(
        level=number,
        **get(folder, f"{stem}.records"),
        **get(folder, f"{stem}.rects"),
        **get(folder, f"{stem}.firsts"),
    )


def _counters(folder: Path, stored: list[StoredCounter]) -> tuple[Counter, ...]:
    samples, thin = get(folder, "counters.samples"), get(folder, "counters.levels")
    made = []
    sample = record = 0
    for one in stored:
        levels = {}
        for number, count in one.levels:
            part = slice(record, record + count)
            levels[number] = CounterLevel(number, **{key: c[part] for key, c in thin.items()})
            record += count
        part = slice(sample, sample + one.samples)
        sample += one.samples
        made.append(
            Counter(
                one.key,
                one.group,
                one.kind,
                one.label,
                one.unit,
                one.definition,
                samples["ts"][part],
                samples["value"][part],
                levels,
            )
        )
    return tuple(made)


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


def flags_of(trace: Trace, flows: SliceFlows) -> U8:
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


def _write_counters(trace: Trace, groups: TrackGroups, folder: Path) -> list[StoredCounter]:
    stored = []
    samples: list[tuple[np.ndarray, np.ndarray]] = []
    thin: list[CounterLevel] = []
    for one in series_of(trace, groups):
        levels = counter_tiles.levels_of(one.ts, one.value, trace.end_ns)
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
    groups: TrackGroups,
    counters: list[StoredCounter],
    columns: tuple[I64, I64, SliceFlows],
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
        warnings=_build_warnings(columns[1]),
    )
    (folder / TIMELINE).write_bytes(msgspec.json.encode(stored))


def _build_warnings(dur: I64) -> list[str]:
    """What the picture cannot show as recorded. What was not used at all, Health lists."""
    found = []
    if empty := int(np.count_nonzero(dur == 0)):
        found.append(f"{plural(empty, 'slice')} of no length: drawn as instants.")
    return found
