"""Open slices at an instant, against looking at every slice: ``timeline.crossing``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from kinetoscope.analysis.timeline.model import Slices
from kinetoscope.analysis.timeline.timeline import CHUNK, crossing, latest_ends

THREADS = ((0, 100), (100, 2 * CHUNK + 50), (2 * CHUNK + 50, 4 * CHUNK))


@pytest.fixture(name="slices", scope="module")
def drawn() -> Slices:
    """Three threads of short slices inside a few long ones."""
    count = THREADS[-1][1]
    ts = np.concatenate([10 * np.arange(high - low) for low, high in THREADS])
    dur = np.full(count, 5)
    dur[::3000] = 25_000
    dur[150] = 10 * count
    own = np.arange(count) % 7
    return cast("Slices", SimpleNamespace(ts=ts, dur=dur, self_ns=own))


def test_the_latest_end_of_each_chunk(slices: Slices) -> None:
    ends = latest_ends(slices, len(slices.ts))
    every = slices.ts + slices.dur
    assert ends.tolist() == [every[at : at + CHUNK].max() for at in range(0, len(every), CHUNK)]


@pytest.mark.parametrize("thread", THREADS)
@pytest.mark.parametrize("instant", [0, 3, 1000, 1003, 24_999, 30_001, 49_000, 10**6])
def test_what_is_open_has_begun_and_not_ended(
    slices: Slices, thread: tuple[int, int], instant: int
) -> None:
    found = crossing(slices, latest_ends(slices, len(slices.ts)), thread, instant)
    rows = np.arange(*thread)
    begun = rows[slices.ts[rows] < instant]
    assert found.rows.tolist() == begun[(slices.ts + slices.dur)[begun] > instant].tolist()
    assert found.last == thread[0] + len(begun)
