"""Two snapshots by site: what is new, gone or grown; the differences sum to that of the peaks."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.memory.snapshots.allocator import held_bytes, peak_state
from kinetoscope.analysis.memory.snapshots.changes import site_changes
from kinetoscope.trace.memory_model import Snapshot
from tests.trace.pickles.drawn_snapshot import MIB, block, event, reread, segment, snapshot


def held(*blocks: tuple[int, str]) -> Snapshot:
    """Allocations of so many MiB by such frames, held to the end."""
    drawn = (block(mib * MIB, "active_allocated", *where.split(" < ")) for mib, where in blocks)
    return reread(snapshot(segments=(segment(1 << 40, *drawn),)))


def test_sites_are_new_gone_grown_and_the_same() -> None:
    before = held(
        (10, "model.py:30 forward < train.py:9 main"),
        (4, "data.py:7 load"),
        (3, "model.py:80 head"),
        (1, ""),
    )
    after = held(
        # the file has grown by five lines above
        (16, "src/model.py:35 forward < train.py:9 main"),
        (3, "model.py:80 head"),
        (5, "ema.py:12 update"),
        (2, ""),
    )
    rows = [
        (one.change, one.before // MIB, one.after // MIB, one.frames[:1])
        for one in site_changes(before, after)
    ]
    assert rows == [
        ("grown", 10, 16, ("src/model.py(35): forward",)),
        ("new", 0, 5, ("ema.py(12): update",)),
        ("gone", 4, 0, ("data.py(7): load",)),
        ("grown", 1, 2, ()),
        ("same", 3, 3, ("model.py(80): head",)),
    ]


def test_of_two_near_lines_the_nearest_is_taken_and_far_ones_are_others() -> None:
    before = held((1, "m.py:10 f"), (2, "m.py:14 f"), (4, "m.py:200 f"))
    after = held((1, "m.py:11 f"), (2, "m.py:15 f"), (4, "m.py:100 f"))
    found = {
        (one.change, one.before // MIB, one.after // MIB) for one in site_changes(before, after)
    }
    assert found == {("same", 1, 1), ("same", 2, 2), ("new", 0, 4), ("gone", 4, 0)}


def test_the_peak_lies_in_the_history_and_brings_its_stacks() -> None:
    """1 MiB |▁▁▁▁▁▁▁▁▁▁▁   4 MiB on top of it, freed before the snapshot was taken"""
    drawn = reread(
        snapshot(
            event("alloc", 1 << 30, 4 * MIB, 1, "work.py:5 f"),
            event("free_requested", 1 << 30, 4 * MIB, 2, "other.py:1 g"),
            event("free_completed", 1 << 30, 4 * MIB, 2, "other.py:1 g"),
            segments=(segment(1 << 40, block(MIB, "active_allocated", "keep.py:3 h")),),
        )
    )
    assert held_bytes(drawn, 0).tolist() == [MIB, 5 * MIB, 5 * MIB, MIB]
    (gone, kept) = site_changes(drawn, reread(snapshot()))
    assert (gone.frames, gone.before) == (("work.py(5): f",), 4 * MIB)
    assert (kept.frames, kept.before) == (("keep.py(3): h",), MIB)


sites_drawn = st.lists(
    st.tuples(
        st.integers(1, 50),
        st.builds("{}.py:{} {}".format, st.sampled_from("ab"), st.integers(1, 90), st.just("f")),
    ),
    max_size=12,
)


@given(sites_drawn, sites_drawn)
def test_differences_of_sites_sum_to_the_difference_of_the_peaks(
    first: list[Any], second: list[Any]
) -> None:
    before, after = held(*first), held(*second)
    changes = site_changes(before, after)
    peaks = [sum(one.size for one in peak_state(side, 0).held) for side in (before, after)]
    assert sum(one.difference for one in changes) == peaks[1] - peaks[0]
    assert sum(one.count_before for one in changes) == len(first)
    assert sum(one.count_after for one in changes) == len(second)
