"""What is a group for? By what it exchanges, and by the place of its ranks among all.

8 ranks, two of them next to each other hold one layer, and every 2nd rank its replica:

    tensor   0 1 | 2 3 | 4 5 | 6 7          data   0 2 4 6 | 1 3 5 7
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from msgspec import structs

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.model import TrainingPass
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.analysis.distributed.roles import place_of, stride_of
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces

from .drawn import Drawn, call, rank
from .sets import compared, digests

WORLD = 8
NOT_RECORDED = "what its collectives are for is not recorded"
PAIRS = [tuple(range(at, at + 2)) for at in range(0, WORLD, 2)]
EVERY_SECOND = [tuple(range(at, WORLD, 2)) for at in range(2)]


def run_of(
    *calls: tuple[str, Sequence[tuple[int, ...]], TrainingPass],
    world: int = WORLD,
    elements: int = 1 << 18,
    wrappers: tuple[str, ...] = (),
) -> Comparison:
    """Each rank makes one call of each kind, in its own group of the list, in a pass."""

    def of_rank(number: int) -> list[Drawn]:
        return [
            call(kind, at * 100, at * 100 + 50, group, elements=elements, phase=phase)
            for at, (kind, groups, phase) in enumerate(calls)
            for group in groups
            if number in group
        ]

    ranks = [
        rank(number, of_rank(number), world=world, wrappers=wrappers) for number in range(world)
    ]
    return compare(ranks, [str(number) for number in range(world)])


def roles(run: Comparison) -> dict[tuple[int, ...], tuple[str, str]]:
    return {
        group.ranks: (role.role, role.why)
        for group, role in zip(run.groups, run.roles, strict=True)
    }


EVERYONE = [tuple(range(WORLD))]
UNKNOWN, FORWARD, BACKWARD, ELSEWHERE = TrainingPass


def role_of(
    *calls: tuple[str, TrainingPass], elements: int = 1 << 18, wrappers: tuple[str, ...] = ()
) -> tuple[str, str]:
    """The role of the group of all ranks that makes these calls in a step, and why."""
    run = run_of(
        *((kind, EVERYONE, phase) for kind, phase in calls), elements=elements, wrappers=wrappers
    )
    role, why = roles(run)[EVERYONE[0]]
    return role, why.removeprefix("all 8 ranks: ")


def test_neighbours_that_reduce_beside_groups_a_stride_apart_are_tensor_parallel() -> None:
    found = roles(run_of(("all_reduce", PAIRS, UNKNOWN), ("all_reduce", EVERY_SECOND, UNKNOWN)))
    assert [found[pair][0] for pair in PAIRS] == ["tensor"] * 4
    assert found[PAIRS[0]][1] == "2 neighbours: they reduce, beside groups of every 2nd rank"
    assert [found[group][0] for group in EVERY_SECOND] == ["data"] * 2
    assert found[EVERY_SECOND[1]][1] == "every 2nd rank: they reduce, beside groups of neighbours"


def test_what_is_reduced_in_a_pass_goes_before_the_place_of_ranks() -> None:
    """Replicas may be neighbours, and the ranks of one layer a stride apart."""
    twice = ("all_reduce", EVERY_SECOND, FORWARD)
    found = roles(run_of(("all_reduce", PAIRS, BACKWARD), twice, twice))
    assert {found[pair][0] for pair in PAIRS} == {"data"}
    assert {found[group][0] for group in EVERY_SECOND} == {"tensor"}


def test_a_place_alone_tells_nothing_without_the_other_groups() -> None:
    found = roles(run_of(("all_reduce", EVERY_SECOND, UNKNOWN)))
    assert {role for role, _ in found.values()} == {""}
    found = roles(run_of(("all_reduce", PAIRS, UNKNOWN)))
    assert {role for role, _ in found.values()} == {""}


def test_neighbours_that_gather_beside_groups_that_reduce_are_shards() -> None:
    """Hybrid sharding: parameters are gathered within a node, gradients reduced across nodes."""
    found = roles(
        run_of(
            ("all_gather", PAIRS, FORWARD),
            ("reduce_scatter", PAIRS, BACKWARD),
            ("all_reduce", EVERY_SECOND, BACKWARD),
        )
    )
    assert {found[pair] for pair in PAIRS} == {
        ("sharded", "2 neighbours: parameters are gathered and gradients scattered")
    }
    assert {found[group][0] for group in EVERY_SECOND} == {"data"}


@pytest.mark.parametrize(
    ("phase", "wrappers", "role"),
    [
        (BACKWARD, (), "data"),
        (UNKNOWN, ("data",), "data"),  # the recording does not tell the caller of a gloo range
        (UNKNOWN, (), ""),
        (UNKNOWN, ("sharded",), ""),
        (ELSEWHERE, (), ""),
        (ELSEWHERE, ("data",), ""),  # behind the optimizer: a metric
    ],
)
def test_reductions_are_of_data_where_gradients_are(
    phase: TrainingPass, wrappers: tuple[str, ...], role: str
) -> None:
    why = "gradients are reduced over its ranks" if role else NOT_RECORDED
    assert role_of(("all_reduce", phase), wrappers=wrappers) == (role, why)


@pytest.mark.parametrize(("elements", "role"), [(15, ""), (16, "data")])
def test_a_number_that_is_reduced_before_the_optimizer_is_no_gradient(
    elements: int, role: str
) -> None:
    """A loss or a norm: less than 64 bytes."""
    assert role_of(("all_reduce", BACKWARD), elements=elements)[0] == role


def test_reductions_in_the_forward_pass_are_of_activations() -> None:
    """Two in a step; one may be of a batch norm."""
    one, also = ("all_reduce", FORWARD), ("all_reduce", BACKWARD)
    assert role_of(one, one, also, also) == (
        "tensor",
        "activations are reduced in the forward pass",
    )
    assert role_of(one, also)[0] == "data"
    assert role_of(one)[0] == ""


@pytest.mark.parametrize(
    ("calls", "wrappers", "role", "why"),
    [
        (
            (("all_gather", UNKNOWN), ("reduce_scatter", UNKNOWN)),
            ("sharded",),
            "sharded",
            "parameters are gathered and gradients scattered",
        ),
        (
            (("reduce_scatter", BACKWARD),),
            (),
            "sharded",
            "gradients are scattered",
        ),
        (
            (("all_gather", FORWARD), ("all_reduce", BACKWARD)),
            ("sharded",),
            "sharded",
            "parameters are gathered and gradients reduced, in ranges of FSDP",
        ),
        (
            (("all_gather", FORWARD),),
            ("sharded",),
            "sharded",
            "parameters are gathered, in ranges of FSDP",
        ),
        # Batch norms of all ranks gather in the forward pass.
        (
            (("all_gather", FORWARD), ("all_reduce", BACKWARD)),
            ("data",),
            "data",
            "gradients are reduced over its ranks",
        ),
        (
            (("all_gather", FORWARD), ("reduce_scatter", FORWARD), ("reduce_scatter", FORWARD)),
            (),
            "tensor",
            "activations are gathered and scattered in the forward pass",
        ),
        ((("all_gather", UNKNOWN), ("reduce_scatter", UNKNOWN)), (), "", NOT_RECORDED),
        ((("all_gather", ELSEWHERE),), (), "", NOT_RECORDED),
    ],
)
def test_a_reason_is_made_of_calls_that_are_there(
    calls: tuple[tuple[str, TrainingPass], ...], wrappers: tuple[str, ...], role: str, why: str
) -> None:
    assert role_of(*calls, wrappers=wrappers) == (role, why)


def test_experts_exchange_wherever_their_ranks_lie() -> None:
    found = roles(run_of(("all_to_all", PAIRS, UNKNOWN), ("all_reduce", EVERY_SECOND, UNKNOWN)))
    assert {found[pair][0] for pair in PAIRS} == {"expert"}
    found = roles(run_of(("all_to_all", EVERY_SECOND, UNKNOWN), ("all_reduce", PAIRS, UNKNOWN)))
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
    both = role_of(("all_to_all", FORWARD), ("all_reduce", BACKWARD))
    alone = role_of(("all_to_all", FORWARD))
    assert both[0] == alone[0] == "expert"
    assert both[1] == f"{alone[1]}; its all-reduces are of data, over the same ranks"
    assert role_of(("all_to_all", FORWARD), ("all_reduce", ELSEWHERE)) == alone


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
    gradients = call("all_reduce", 100, 150, everyone, phase=BACKWARD)
    calls = [call("all_to_all", 0, 50, everyone), gradients]
    ranks = [rank(number, calls, world=4) for number in range(4)]
    ranks = [structs.replace(one, strings=(*one.strings, name)) for one in ranks]
    (found,) = compare(ranks, list("0123")).roles
    assert (found.role, found.others) == (role, {"all_reduce": "data"})


GRADIENTS = "gradients are reduced over its ranks"
ROWS = (
    "its ranks exchange rows of embeddings, all-to-all; its all-reduces are of data, over the same"
    " ranks"
)


@requires_traces
@pytest.mark.parametrize(
    ("folder", "role", "why"),
    [
        ("fresh_torch1.11.0/ddp2", "data", f"all 2 ranks: {GRADIENTS}"),
        ("fresh_torch2.13/ddp2_full", "data", f"all 2 ranks: {GRADIENTS}"),
        ("fresh_torch2.13/ddp4_straggler_rank2", "data", f"all 4 ranks: {GRADIENTS}"),
        (
            "fresh_torch2.13/fsdp2_gpt",
            "sharded",
            "all 2 ranks: parameters are gathered and gradients reduced, in ranges of FSDP",
        ),
        # Each collective once, behind the optimizer.
        ("fresh_torch2.13/coll4", "", f"all 4 ranks: {NOT_RECORDED}"),
        ("derived_oddities/ranks/clock_skew", "", f"all 4 ranks: {NOT_RECORDED}"),
        ("derived_oddities/ranks/missing_rank2", "", f"all 4 ranks: {NOT_RECORDED}"),
        ("dlrm_8rank_v100", "embedding", f"all 8 ranks: {ROWS}"),
        ("hta/trace_filter", "embedding", f"all 128 ranks: {ROWS}"),
        ("hta/trace_diff/control", "embedding", f"all 8 ranks: {ROWS}"),
        ("hta/cpu_only", "", f"all 300 ranks: {NOT_RECORDED}"),
    ],
)
def test_the_roles_of_real_jobs(folder: str, role: str, why: str) -> None:
    assert roles(compared(folder)) == {compared(folder).groups[0].ranks: (role, why)}


@requires_traces
def test_calls_of_real_jobs_are_in_the_passes_that_made_them() -> None:
    """FSDP gathers in both passes; buffers are sent before the forward pass."""
    for folder, told in (
        ("fresh_torch2.13/fsdp2_gpt",
         {("all_gather", 1): 6, ("all_gather", 2): 4, ("all_reduce", 2): 6}),
        ("fresh_torch2.13/ddp2_full", {("broadcast", 1): 4, ("all_reduce", 2): 2}),
    ):  # fmt: skip
        one = digests(folder)[0]
        kinds = zip(one.calls.kind.tolist(), one.calls.phase.tolist(), strict=True)
        assert Counter((one.text(kind), phase) for kind, phase in kinds) == told
    assert set(digests("fresh_torch2.13/coll4")[0].calls.phase.tolist()) == {ELSEWHERE}
    assert set(digests("fresh_torch1.11.0/ddp2")[0].calls.phase.tolist()) == {UNKNOWN}


@requires_traces
@pytest.mark.parametrize(
    ("path", "roles"),
    [
        ("tracelens/b200/eager_trace.json.gz", {"tensor"}),  # an inference engine
        ("tracelens/mi300/resnet_act_checkpoint.json.gz", {"data"}),
        ("torch2.15_cuspy/node0_4242.1795335000000000000.pt.trace.json.gz", {"data"}),
        ("derived_oddities/ranks/ondemand_string_ranks.json", {""}),
        ("derived_oddities/backends/hpu_collective_handwritten.json", {""}),
    ],
)
def test_the_roles_in_one_recording_of_a_job(path: str, roles: set[str]) -> None:
    run = compare([digest_of(read(TRACES / path))], ["0"])
    assert {one.role for one in run.roles if "no collectives" not in one.why} == roles
