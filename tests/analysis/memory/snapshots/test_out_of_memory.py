"""A failed allocation is explained by the state before it: planted causes are named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.memory.snapshots.allocator import AllocatorState, state_at
from kinetoscope.analysis.memory.snapshots.out_of_memory import (
    Cause,
    OutOfMemory,
    explain,
    sentence,
)
from tests.trace.pickles.drawn_snapshot import MIB, block, event, reread, segment, snapshot

GIB = 1 << 30
LAYER = ("/home/me/model.py:31 forward", "/usr/lib/python3.11/site-packages/torch/nn/m.py:9 _call")
OPTIMIZER = ("/usr/lib/python3.11/site-packages/torch/optim/adam.py:3 step",)


def oom(requested: int, device_free: int, time_us: int = 99) -> dict[str, Any]:
    one = event("oom", 0, requested, time_us, *LAYER)
    one.pop("addr")
    return {**one, "device_free": device_free}


def explained(*segments: dict[str, Any], request: int, free: int, **more: Any) -> OutOfMemory:
    found = explain(reread(snapshot(oom(request, free), segments=segments)), **more)
    assert found is not None
    return found


def test_holes_that_would_suffice_together_are_fragmentation() -> None:
    # |### 100 ###|   200   |### 100 ###|   200   |   and 300 MiB are asked for
    def held() -> dict[str, Any]:
        return block(100 * MIB, "active_allocated", *LAYER)

    def hole() -> dict[str, Any]:
        return block(200 * MIB, "inactive")

    found = explained(
        segment(1 << 40, held(), hole(), held(), hole()), request=300 * MIB, free=50 * MIB
    )
    assert found.cause is Cause.FRAGMENTATION
    assert (found.usable, found.pieces, found.largest) == (400 * MIB, 2, 200 * MIB)
    assert (found.reserved, found.allocated, found.short) == (600 * MIB, 200 * MIB, 0)
    assert found.sites[0].frames == ("/home/me/model.py(31): forward",)
    assert (found.sites[0].size, found.sites[0].count) == (200 * MIB, 2)
    said = sentence(found).replace("\u00a0", " ")
    assert "300 MiB was asked for; 50.0 MiB was free on the device" in said
    assert "2 pieces are too small, 200 MiB the largest" in said
    assert said.endswith("Expandable segments would have served.")


def test_a_full_device_is_capacity_and_says_how_much_is_missing() -> None:
    found = explained(
        segment(1 << 40, block(10 * GIB, "active_allocated", *LAYER)),
        segment(1 << 41, block(6 * GIB, "active_allocated", *OPTIMIZER), block(GIB, "inactive")),
        request=4 * GIB,
        free=GIB,
    )
    assert found.cause is Cause.CAPACITY
    assert found.short == 2 * GIB
    assert [site.size for site in found.sites] == [10 * GIB, 6 * GIB]
    # torch's own frames stand where no other are
    assert found.sites[1].frames[0].endswith("torch/optim/adam.py(3): step")
    said = sentence(found).replace("\u00a0", " ")
    assert "2.00 GiB short: it is full" in said
    assert "Expandable" not in said


def test_memory_that_is_nobodys_here_belongs_to_another_process() -> None:
    mine = segment(1 << 40, block(2 * GIB))
    found = explained(mine, request=4 * GIB, free=GIB, total=80 * GIB)
    assert found.cause is Cause.OTHERS
    assert "Another process" in sentence(found)
    assert explained(mine, request=4 * GIB, free=GIB).cause is Cause.CAPACITY


def test_what_the_request_may_not_use_is_named_apart() -> None:
    found = explained(
        segment(1 << 40, block(GIB, "inactive"), segment_pool_id=(0, 1)),
        segment(1 << 41, block(2 * MIB, "inactive"), segment_type="small"),
        segment(1 << 42, block(30 * MIB, "inactive"), stream=7),
        segment(1 << 43, block(50 * MIB, "inactive")),
        request=500 * MIB,
        free=0,
    )
    assert (found.private, found.elsewhere, found.usable) == (GIB, 32 * MIB, 50 * MIB)
    assert found.cause is Cause.CAPACITY
    assert "1.00 GiB is free in private pools" in sentence(found).replace("\u00a0", " ")


def test_with_expandable_segments_they_are_no_advice() -> None:
    found = explained(
        segment(1 << 40, block(MIB), block(200 * MIB, "inactive"), block(MIB), is_expandable=True),
        segment(1 << 41, block(200 * MIB, "inactive"), is_expandable=True),
        request=300 * MIB,
        free=0,
    )
    assert found.cause is Cause.FRAGMENTATION
    assert "Expandable" not in sentence(found)


def test_what_happened_after_the_failure_is_undone() -> None:
    """The snapshot was taken later: the model is freed, its segment too, and a small one came."""
    drawn = reread(
        snapshot(
            event("alloc", 1 << 40, 6 * GIB, 1, *LAYER),
            oom(4 * GIB, GIB, 2),
            event("free_requested", 1 << 40, 6 * GIB, 3),
            event("free_completed", 1 << 40, 6 * GIB, 3),
            event("segment_free", 1 << 40, 8 * GIB, 4),
            event("segment_alloc", 1 << 30, 20 * MIB, 5),
            event("alloc", 1 << 30, 9 * MIB, 6),
            segments=(segment(1 << 30, block(9 * MIB), block(11 * MIB, "inactive")),),
        )
    )
    found = explain(drawn)
    assert found is not None
    assert (found.reserved, found.allocated) == (8 * GIB, 6 * GIB)
    assert (found.usable, found.largest, found.short) == (2 * GIB, 2 * GIB, GIB)


def test_no_failure_no_explanation() -> None:
    assert explain(reread(snapshot(event("alloc", 1, 512, 1)))) is None


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[int, int]]]:
    """Events of one segment of 64 slots of 512 bytes, and what was held before each of them."""
    held: dict[int, int] = {}
    events, before = [], []
    for time in range(draw(st.integers(1, 30))):
        before.append(dict(held))
        free = [slot for slot in range(64) if slot not in held]
        if held and (not free or draw(st.booleans())):
            slot = draw(st.sampled_from(sorted(held)))
            events.append(event("free_completed", slot * 512, held.pop(slot), time))
        else:
            slot = draw(st.sampled_from(free))
            held[slot] = draw(st.integers(1, 512))
            events.append(event("alloc", slot * 512, held[slot], time))
    before.append(dict(held))
    return events, before


@given(histories())
def test_undoing_gives_the_state_before_each_event(
    drawn: tuple[list[dict[str, Any]], list[dict[int, int]]],
) -> None:
    events, before = drawn
    last = before[-1]
    blocks = [block(512, "active_allocated" if slot in last else "inactive") for slot in range(64)]
    read = reread(snapshot(*events, segments=(segment(0, *blocks),)))
    for row, wanted in enumerate(before):
        state = state_at(read, 0, row)
        assert [one.address // 512 for one in state.held] == sorted(wanted)
        free = sum(bytes_ for _, bytes_ in state.free_pieces())
        assert free + sum(one.size for one in state.held) == 64 * 512


def test_free_pieces_of_nothing() -> None:
    assert AllocatorState((), ()).free_pieces() == []


@pytest.mark.parametrize("free", [-1, 0])
def test_an_unknown_free_figure_is_left_out(free: int) -> None:
    found = explained(segment(1 << 40, block(GIB)), request=GIB, free=free)
    assert ("free on the device" in sentence(found)) == (free >= 0)
