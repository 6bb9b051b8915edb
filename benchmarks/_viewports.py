"""What a page asks for while somebody wanders through a trace: windows of time and rows."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

WIDTH_PX = 1600
ROWS_IN_VIEW = 48  # lanes of 18 px on a screen of 864 px
SMALLEST_NS = 20_000  # a window of 20 µs: single kernels


@dataclass(frozen=True, slots=True)
class Viewport:
    """A window of time over consecutive blocks of lanes."""

    start_ns: int
    end_ns: int
    blocks: tuple[str, ...]  # "track.lane"

    def tiles(self, manifest: Mapping[str, Any]) -> dict[str, str]:
        """The query of the tiles that fill it: buckets between half a pixel and a whole one."""
        ns_per_px = (self.end_ns - self.start_ns) / WIDTH_PX
        level = min(max(0, math.floor(math.log2(ns_per_px))), manifest["max_level"])
        width = manifest["tile_buckets"] << level
        first, last = max(0, self.start_ns) // width, (self.end_ns - 1) // width
        return {
            "level": str(level),
            "tiles": f"{first}-{last}",
            "blocks": ",".join(self.blocks),
        }


def blocks_of(manifest: Mapping[str, Any]) -> list[str]:
    """Every block of lanes, top to bottom."""
    step = manifest["lane_block"]
    return [
        f"{number}.{lane}"
        for number, track in enumerate(manifest["tracks"])
        for lane in range(0, track["lanes"], step)
    ]


def viewports(manifest: Mapping[str, Any], count: int, seed: int = 1) -> Iterator[Viewport]:
    """Windows anywhere, of any width (every zoom is as likely), over any rows."""
    dice = random.Random(seed)  # noqa: S311 (the same windows in each run)
    start, end = manifest["start_ns"], manifest["end_ns"]
    every = blocks_of(manifest)
    in_view = max(1, ROWS_IN_VIEW // manifest["lane_block"])
    smallest = min(SMALLEST_NS, end - start)
    for _ in range(count):
        width = int(math.exp(dice.uniform(math.log(smallest), math.log(end - start))))
        left = dice.randint(start, max(start, end - width))
        top = dice.randint(0, max(0, len(every) - in_view))
        yield Viewport(left, left + width, tuple(every[top : top + in_view]))


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
