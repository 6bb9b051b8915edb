"""The page's requests for the timeline, as many as there is room for.

All of the recording is there by levels, the coarse ones first. In some ranges, by default the
typical step and the longest one, finer levels are there, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from ...base.arrays import median
from ...base.units import duration, listing
from ...views.timeline.common import MOST_BLOCKS, MOST_TILES
from ...views.timeline.tiles import ALIGNMENT, COUNTER_ENTRY, COUNTERS, HEADER, TILE_ENTRY, TILES
from .questions import Answers, packed_size

Range = tuple[int, int]
"""From and to a time in ns."""

_MOST_FRAMES = 40_000  # tiles of one level
_SLICES = 1000  # whose details are there, those that are drawn first as one zooms in
_FINEST_LEVEL = 8  # a bucket of 256 ns: what is shorter is no op
_NAME_PAGE = 8192  # `names/name_table.ts`
_WHOLE_SHARE = 0.5  # of the room: levels of the whole recording


class StoredTimeline(Struct, frozen=True):
    """The finest stored level, everywhere and in the ranges; ``missing`` names the other levels."""

    everywhere: int = 0
    in_ranges: int = 0
    ranges: Sequence[Range] = ()
    missing: str = ""

    @property
    def levels(self) -> str:
        """As ``levelsOf`` of the page reads it."""
        if not self.ranges:
            return str(self.everywhere)
        return f"{self.everywhere} {self.in_ranges} " + ",".join(f"{a}-{b}" for a, b in self.ranges)


class _Level(Struct, frozen=True):
    """The frames of a level by their questions; whether every slice is drawn by itself."""

    frames: Mapping[str, bytes]
    is_whole: bool


def ask_timeline(answers: Answers, room: int, ranges: Sequence[Range]) -> StoredTimeline:
    """The timeline in full detail in ``ranges``, elsewhere as fine as there is room for.

    Without ranges: the typical step, which is the one of median length, and the longest.
    """
    manifest = answers.json("view/timeline", layout="user")
    if manifest is None:
        return StoredTimeline()
    layout = manifest["layout"]
    answers.bytes_of("view/timeline/minimap", columns=1024, layout=layout)
    room -= _ask_names(answers, manifest["name_count"])
    coarsest = 0
    while (
        coarsest < manifest["max_level"]
        and manifest["tile_buckets"] << coarsest <= manifest["end_ns"]
    ):
        coarsest += 1
    whole = [(0, manifest["end_ns"])]
    everywhere = _Stored(answers, manifest, coarsest + 1, whole, int(room * _WHOLE_SHARE))
    everywhere.go_down(must=3)
    merged = "" if everywhere.is_whole else f"The timeline {everywhere.merged}."
    if not merged or everywhere.finest <= _FINEST_LEVEL:
        return StoredTimeline(everywhere.finest, missing=merged)
    chosen = [one for one in ranges or _usual_ranges(manifest) if one[0] < one[1]]
    inside = _Stored(answers, manifest, everywhere.finest, chosen, room - everywhere.taken)
    if chosen:
        inside.go_down(must=0)
    if inside.finest == everywhere.finest:
        return StoredTimeline(everywhere.finest, missing=merged)
    where = listing([f"{duration(start)} to {duration(end)}" for start, end in chosen])
    shown = "shows each slice" if inside.is_whole else inside.merged
    missing = f"{merged} From {where} it {shown}."
    return StoredTimeline(everywhere.finest, inside.finest, chosen, missing)


def _usual_ranges(manifest: Mapping[str, Any]) -> Sequence[Range]:
    """The step of median length, and the longest: neighbours as one range."""
    steps = manifest["steps"]
    if not steps:
        return []
    lengths = np.array([step["length_ns"] for step in steps])
    typical = int(np.argmin(np.abs(lengths - median(lengths))))
    chosen = sorted({typical, int(np.argmax(lengths))})
    ranges: list[Range] = []
    for at in chosen:
        start, end = steps[at]["ts"], max(steps[at]["end"], steps[at]["ts"] + 1)
        if ranges and start <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges


class _Stored:
    """Levels of some ranges, from coarse to fine, while they fit."""

    def __init__(
        self,
        answers: Answers,
        manifest: Mapping[str, Any],
        above: int,
        ranges: Sequence[Range],
        room: int,
    ) -> None:
        self._answers, self._manifest = answers, manifest
        self._ranges, self._room = ranges, room
        self._detailed: set[int] = set()
        self.finest, self.is_whole, self.taken = above, False, 0

    @property
    def merged(self) -> str:
        """Verb and object for short slices: "merges slices shorter than 1 µs"."""
        return f"merges slices shorter than {duration(1 << self.finest)}"

    def go_down(self, must: int) -> None:
        """Store one level after the other, ``must`` of them whatever they take."""
        start = self.finest
        for at in range(start - 1, min(start - 1, _FINEST_LEVEL) - 1, -1):
            found = _level(self._answers, self._manifest, at, self._ranges)
            if found is None:
                return
            size = packed_size(found.frames.values())
            if self.taken + size > self._room and at < start - must:
                return
            self.taken += size
            self._store(found, at)
            self.finest, self.is_whole = at, found.is_whole
            if found.is_whole:
                return

    def _store(self, found: _Level, at: int) -> None:
        layout = self._manifest["layout"]
        for question, frame in found.frames.items():
            self._answers.put(f"view/timeline/level {at}", question, frame)
        questions: list[tuple[str, Mapping[str, object]]] = []
        for slice_ in _drawn(found.frames):
            if slice_ not in self._detailed and len(self._detailed) < _SLICES:
                self._detailed.add(slice_)
                asked = {"slice": slice_, "layout": layout}
                questions.append(("view/timeline/slice", asked))
                questions.append(("view/timeline/flows", {**asked, "hops": 1}))
        self._answers.ask_at_once(questions)


def _ask_names(answers: Answers, names: int) -> int:
    """All names of slices, in the pages that the page asks for; the bytes they take."""
    taken = 0
    for first in range(0, names, _NAME_PAGE):
        page = {"first": first, "count": min(_NAME_PAGE, names - first)}
        taken += packed_size([answers.bytes_of("view/timeline/names", **page) or b""])
    return taken


def _drawn(frames: Mapping[str, bytes]) -> Iterator[int]:
    """The slices that frames of tiles draw by themselves."""
    for question, frame in frames.items():
        if not question.startswith("view/timeline/tiles"):
            continue
        entry = np.frombuffer(frame, TILE_ENTRY, 1, HEADER.itemsize)[0]
        count, lanes = int(entry["rects"]), int(entry["lanes"])
        begin = int(entry["rects_at"]) + _padded(4 * (lanes + 1)) + 2 * _padded(4 * count)
        yield from np.frombuffer(frame, "<u4", count, begin).tolist()


def _padded(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT


def _level(
    answers: Answers, manifest: Mapping[str, Any], level: int, ranges: Sequence[Range]
) -> _Level | None:
    """One level of some ranges; None where it has too many tiles."""
    wide = manifest["tile_buckets"] << level
    numbers = sorted(
        {tile for start, end in ranges for tile in range(start // wide, end // wide + 1)}
        if sum((end - start) // wide for start, end in ranges) < _MOST_FRAMES
        else ()
    )
    blocks = [
        f"{number}.{lane}"
        for number, track in enumerate(manifest["tracks"])
        for lane in range(0, track["lanes"], manifest["lane_block"])
    ]
    series = [str(number) for number in range(len(manifest["counters"]))]
    if not numbers or len(numbers) * (len(blocks) + len(series)) > _MOST_FRAMES:
        return None
    frames: dict[str, bytes] = {}
    is_whole = True
    for some in _chunks([str(number) for number in numbers], MOST_TILES):
        tiles = ",".join(some)
        for names in _chunks(blocks, MOST_BLOCKS):
            asked = {"level": level, "layout": manifest["layout"]}
            body = answers.frame(
                "view/timeline/tiles", tiles=tiles, blocks=",".join(names), **asked
            )
            for entry, frame in split_frame(body or b""):
                is_whole &= not entry["buckets"]
                place = f"{entry['track']}.{entry['lane']}"
                one = {**asked, "tiles": int(entry["tile"]), "blocks": place}
                frames[answers.question("view/timeline/tiles", one)] = frame
        for names in _chunks(series, MOST_BLOCKS):
            body = answers.frame(
                "view/timeline/counters", level=level, tiles=tiles, series=",".join(names)
            )
            for entry, frame in split_frame(body or b""):
                one = {"level": level, "tiles": int(entry["tile"]), "series": entry["series"]}
                frames[answers.question("view/timeline/counters", one)] = frame
    return _Level(frames, is_whole)


def split_frame(frame: bytes) -> Iterator[tuple[np.void, bytes]]:
    """A frame of tiles or counters as frames of one entry each: the entry, and its frame."""
    if not frame:
        return
    head = np.frombuffer(frame, HEADER, 1)[0]
    kinds = {
        TILES: (TILE_ENTRY, ("rects_at", "buckets_at")),
        COUNTERS: (COUNTER_ENTRY, ("points_at",)),
    }
    form, offsets = kinds[int(head["kind"])]
    entries = np.frombuffer(frame, form, int(head["entries"]), HEADER.itemsize)
    begins = [int(entry[offsets[0]]) for entry in entries]
    ends = [*begins[1:], len(frame)]
    own = HEADER.itemsize + form.itemsize
    for entry, begin, end in zip(entries, begins, ends, strict=True):
        header, moved = head.copy(), entry.copy()
        header["entries"], header["took_us"] = 1, 0
        for name in offsets:
            moved[name] = int(entry[name]) - begin + own if entry[name] else 0
        yield entry, header.tobytes() + moved.tobytes() + frame[begin:end]


def _chunks(items: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    for at in range(0, len(items), most):
        yield items[at : at + most]
