"""Layers of a curve by owner: which modules are one layer, and what is divided (memory/curve)."""

from __future__ import annotations

from kinetoscope.analysis.memory.curve import OwnerLayer, owner_layers

# 0 holds 1 and 2; 2 holds 3, 4 and 5; 6 stands alone.
ABOVE = {1: 0, 2: 0, 3: 2, 4: 2, 5: 2}
HELD = {0: 7, 1: 20, 3: 30, 4: 5, 5: 4, 6: 1}


def layers(most: int) -> list[tuple[int, tuple[int, ...], bool]]:
    return [
        (one.owner, tuple(sorted(one.members)), one.is_whole)
        for one in owner_layers(ABOVE, HELD, most)
    ]


def test_the_largest_is_divided_while_there_is_room() -> None:
    whole = (0, (0, 1, 2, 3, 4, 5), True)
    assert layers(2) == [whole, (6, (6,), True)]
    assert layers(3) == [whole, (6, (6,), True)]  # 0 would be three: 1, 2, and it alone
    assert layers(4) == [
        (2, (2, 3, 4, 5), True),
        (1, (1,), True),
        (0, (0,), False),
        (6, (6,), True),
    ]
    assert [one[0] for one in layers(6)] == [3, 1, 0, 4, 5, 6]
    assert sum(HELD[at] for _, members, _ in layers(6) for at in members if at in HELD) == 67


def test_without_an_order_each_is_a_layer_and_the_smallest_are_left_out() -> None:
    assert owner_layers({}, {4: 10, 5: 30, 6: 20}, 2) == (
        OwnerLayer(5, (5,), is_whole=True),
        OwnerLayer(6, (6,), is_whole=True),
    )
