"""Opens what ``build`` stored: columns are mapped, and read page by page as they are used."""

from __future__ import annotations

from pathlib import Path

import msgspec

from .files import get, get_texts
from .model import (
    DEFAULT_LAYOUT,
    Counter,
    CounterLevel,
    Flows,
    Group,
    Layout,
    Level,
    NameIndex,
    Slices,
    Tables,
    Timeline,
    TimelineStep,
    Track,
)
from .name_sums import stored_by_column, stored_by_track
from .stored import LAYOUT, SLICE_COLUMNS, TIMELINE, StoredCounter, StoredLayout, StoredTimeline


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
        flows=Flows(**get(base, "flows")),
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
