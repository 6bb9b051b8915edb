"""What is a group for? By what it exchanges, and by the place of its ranks among all.

8 ranks, two of them next to each other hold one layer, and every 2nd rank its replica:

    tensor   0 1 | 2 3 | 4 5 | 6 7          data   0 2 4 6 | 1 3 5 7
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.roles import place_of, stride_of

from .drawn import Drawn, call, rank

WORLD = 8
PAIRS = [tuple(range(at, at + 2)) for at in range(0, WORLD, 2)]
EVERY_SECOND = [tuple(range(at, WORLD, 2)) for at in range(2)]


def run_of(*calls: tuple[str, Sequence[tuple[int, ...]]], world: int = WORLD) -> Comparison:
    """Each rank makes one call of each kind, in its own group of the list."""

    def of_rank(number: int) -> list[Drawn]:
        return [
            call(kind, at * 100, at * 100 + 50, group, elements=1 << 18)
            for at, (kind, groups) in enumerate(calls)
            for group in groups
            if number in group
        ]

    ranks = [rank(number, of_rank(number), world=world) for number in range(world)]
    return compare(ranks, [str(number) for number in range(world)])


def roles(run: Comparison) -> dict[tuple[int, ...], tuple[str, str]]:
    return {
        group.ranks: (role.role, role.why)
        for group, role in zip(run.groups, run.roles, strict=True)
    }


def test_neighbours_that_reduce_beside_groups_a_stride_apart_are_tensor_parallel() -> None:
    found = roles(run_of(("all_reduce", PAIRS), ("all_reduce", EVERY_SECOND)))
    assert [found[pair][0] for pair in PAIRS] == ["tensor"] * 4
    assert found[PAIRS[0]][1] == "2 neighbours: they reduce, beside groups of every 2nd rank"
    assert [found[group][0] for group in EVERY_SECOND] == ["data"] * 2
    assert found[EVERY_SECOND[1]][1] == "every 2nd rank: gradients are reduced over its ranks"


def test_neighbours_that_gather_beside_groups_that_reduce_are_shards() -> None:
    """Hybrid sharding: parameters are gathered within a node, gradients reduced across nodes."""
    found = roles(
        run_of(("all_gather", PAIRS), ("reduce_scatter", PAIRS), ("all_reduce", EVERY_SECOND))
    )
    assert {found[pair][0] for pair in PAIRS} == {"sharded"}
    assert {found[group][0] for group in EVERY_SECOND} == {"data"}


def test_one_group_of_all_ranks_is_data_parallel() -> None:
    found = roles(run_of(("all_reduce", [tuple(range(WORLD))])))
    assert found == {
        tuple(range(WORLD)): ("data", "all 8 ranks: gradients are reduced over its ranks")
    }


def test_many_small_reductions_alone_make_nothing_tensor_parallel() -> None:
    found = roles(run_of(*(("all_reduce", [(0, 1)]) for _ in range(9)), world=2))
    assert found[(0, 1)][0] == "data"


def test_experts_exchange_wherever_their_ranks_lie() -> None:
    found = roles(run_of(("all_to_all", PAIRS), ("all_reduce", EVERY_SECOND)))
    assert {found[pair][0] for pair in PAIRS} == {"expert"}
    found = roles(run_of(("all_to_all", EVERY_SECOND), ("all_reduce", PAIRS)))
    assert {found[group][0] for group in EVERY_SECOND} == {"expert"}


def test_stages_send_and_receive() -> None:
    """Rank 0 sends to rank 4, twice a step: stages of one pipeline, a stride of 4 apart."""
    group = (0, 4)

    def sending(messages: int) -> tuple[str, str]:
        ends = [
            [call(kind, at * 20, at * 20 + 10, group, peer=peer) for at in range(messages)]
            for kind, peer in (("send", 4), ("recv", 0))
        ]
        ranks = [rank(0, ends[0], world=WORLD), rank(4, ends[1], world=WORLD)]
        return roles(compare(ranks, ["0", "4"]))[group]

    assert sending(2) == ("pipeline", "every 4th rank: its ranks send and receive")
    assert sending(1)[0] == ""


@pytest.mark.parametrize(
    ("ranks", "stride", "place"),
    [
        ((0, 1, 2, 3), 1, "4 neighbours"),
        ((4, 5), 1, "2 neighbours"),
        ((1, 9, 17), 8, "every 8th rank"),
        ((0, 1, 4), None, ""),
        ((3,), None, ""),
        ((), None, ""),
    ],
)
def test_the_place_of_ranks(ranks: tuple[int, ...], stride: int | None, place: str) -> None:
    assert (stride_of(ranks), place_of(ranks, 32)) == (stride, place)


def test_a_group_may_reduce_beside_what_it_exchanges() -> None:
    """Embeddings are exchanged and gradients reduced in one group."""
    everyone = [tuple(range(WORLD))]
    both = roles(run_of(("all_to_all", everyone), ("all_reduce", everyone)))[everyone[0]]
    alone = roles(run_of(("all_to_all", everyone)))[everyone[0]]
    assert both[0] == alone[0] == "expert"
    assert both[1] == f"{alone[1]}; its all-reduces are of data, over the same ranks"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("## EmbeddingBagCollection wait() ##", "embedding"),
        ("fbgemm::split_embedding_codegen_lookup_adagrad_function", "embedding"),
        ("aten::embedding_dense_backward", "expert"),  # of words, beside experts
    ],
)
def test_a_lookup_in_bags_of_embeddings_tells_them_from_experts(name: str, role: str) -> None:
    everyone = tuple(range(4))
    calls = [call("all_to_all", 0, 50, everyone), call("all_reduce", 100, 150, everyone)]
    ranks = [rank(number, calls, world=4) for number in range(4)]
    ranks = [structs.replace(one, strings=(*one.strings, name)) for one in ranks]
    (found,) = compare(ranks, list("0123")).roles
    assert (found.role, found.others) == (role, {"all_reduce": "data"})
