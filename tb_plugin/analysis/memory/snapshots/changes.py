"""Which code holds more memory than before? Two memory snapshots by the code that allocated.

Each at its own peak. A site is the innermost three frames of the user's own code; the difference of
the two peaks is the sum of the differences of all sites, exactly.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from ....base.regex import regex
from ....trace.memory_model import Snapshot
from .allocator import SiteBytes, peak_state, sites

NEAR_LINES = 20
"""Lines that a frame may have moved between two versions of a file."""

Change = Literal["new", "gone", "grown", "shrunk", "same"]
_FRAME = regex(r"(?P<file>.*)\((?P<line>\d+)\): (?P<name>.*)", re.DOTALL)


class SiteChange(Struct, frozen=True):
    """One site on both sides; sizes in bytes, 0 where it holds nothing.

    ``frames`` are those of the second snapshot, or of the first where the site is gone; none for
    allocations without a stack. ``frames_before`` are those of the first; their lines may differ.
    """

    frames: tuple[str, ...]
    frames_before: tuple[str, ...]
    before: int
    after: int
    count_before: int
    count_after: int

    @property
    def difference(self) -> int:
        """Bytes more than before."""
        return self.after - self.before

    @property
    def change(self) -> Change:
        """Change of the site."""
        if not self.count_before:
            return "new"
        if not self.count_after:
            return "gone"
        if self.difference == 0:
            return "same"
        return "grown" if self.difference > 0 else "shrunk"


def site_changes(before: Snapshot, after: Snapshot, device: int = 0) -> tuple[SiteChange, ...]:
    """All sites of both peaks, the largest difference first; their differences sum to the peaks'.

    Sites match by file names and functions of their frames, one to one, the nearest line first and
    at most twenty lines apart.
    """
    return changes_between(
        sites(peak_state(before, device).held, before.stacks),
        sites(peak_state(after, device).held, after.stacks),
    )


def changes_between(
    first: Sequence[SiteBytes], second: Sequence[SiteBytes]
) -> tuple[SiteChange, ...]:
    """All sites of both sides, the largest difference first."""
    pairs = _pairs(first, second)
    partner = {new: old for old, new in pairs}
    gone = set(range(len(first))) - {old for old, _ in pairs}
    changes = [
        _change(first[partner[at]] if at in partner else None, site)
        for at, site in enumerate(second)
    ]
    changes += [_change(first[at], None) for at in sorted(gone)]
    return tuple(sorted(changes, key=lambda one: -abs(one.difference)))


def _change(old: SiteBytes | None, new: SiteBytes | None) -> SiteChange:
    shown = new or old
    return SiteChange(
        frames=shown.frames if shown else (),
        frames_before=old.frames if old else (),
        before=old.size if old else 0,
        after=new.size if new else 0,
        count_before=old.count if old else 0,
        count_after=new.count if new else 0,
    )


_Names = tuple[tuple[str, str], ...]
_Lines = tuple[int, ...]


def _pairs(first: Iterable[SiteBytes], second: Iterable[SiteBytes]) -> list[tuple[int, int]]:
    """Numbers of the sites that are the same code."""
    olds, news = _by_names(first), _by_names(second)
    pairs = []
    for names in olds.keys() & news.keys():
        near = sorted(_near(olds[names], news[names]))
        paired_old, paired_new = set(), set()
        for _, old, new in near:
            if old not in paired_old and new not in paired_new:
                paired_old.add(old)
                paired_new.add(new)
                pairs.append((old, new))
    return pairs


def _by_names(sites: Iterable[SiteBytes]) -> dict[_Names, list[tuple[_Lines, int]]]:
    """Lines and numbers of the sites, by the files and functions of their frames."""
    found: dict[_Names, list[tuple[_Lines, int]]] = defaultdict(list)
    for at, site in enumerate(sites):
        names, lines = _place(site.frames)
        found[names].append((lines, at))
    return found


def _near(
    olds: list[tuple[_Lines, int]], news: list[tuple[_Lines, int]]
) -> Iterator[tuple[int, int, int]]:
    """Sites whose lines are near each other: how many lines apart, and both numbers."""
    news = sorted(news)
    for old_lines, old in olds:
        first = old_lines[0]
        start = bisect_left(news, first - NEAR_LINES, key=lambda one: one[0][0])
        for new_lines, new in news[start:]:
            if new_lines[0] > first + NEAR_LINES:
                break
            apart = [abs(a - b) for a, b in zip(old_lines, new_lines, strict=True)]
            if max(apart, default=0) <= NEAR_LINES:
                yield sum(apart), old, new


def _place(frames: tuple[str, ...]) -> tuple[tuple[tuple[str, str], ...], tuple[int, ...]]:
    """File names and functions, and the lines, of a site's frames."""
    names, lines = [], []
    for frame in frames:
        match = _FRAME.fullmatch(frame)
        file, line, name = match.group("file", "line", "name") if match else (frame, "0", "")
        names.append((re.split(r"[\\/]", file)[-1], name))
        lines.append(int(line))
    return tuple(names), tuple(lines) or (0,)
