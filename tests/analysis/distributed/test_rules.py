"""Each rule on a run of several ranks fires where its fault is drawn, and is silent beside it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.findings import RunFindings, among_ranks, findings
from kinetoscope.analysis.distributed.model import DeviceInfo

from .drawn import US, Drawn, call, rank

MEGABYTE = 1 << 18  # elements of 4 bytes
STEPS = (1, 2, 3)
LENGTH = 1000


def run_of(
    calls: Sequence[Sequence[Drawn]],
    *,
    steps: Sequence[int] = (0,),
    length: int = LENGTH,
    hosts: str = "",
    idle_around: int = 0,
) -> Comparison:
    """One rank for each list of calls."""
    world = len(calls)
    ranks = [
        rank(number, mine, world=world, host=(hosts or "a" * world)[number], steps=steps,
             length=length, idle_around=idle_around)
        for number, mine in enumerate(calls)
    ]  # fmt: skip
    return compare(ranks, [str(number) for number in range(world)])


def said(run: Comparison) -> tuple[list[str], list[str]]:
    """Ids of the findings, and of the rules that could not be checked."""
    answer: RunFindings = findings(run)
    return [one.id for one in answer.found], [one.id for one in answer.unchecked]


# --- CO3: small messages --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "elements", "fires"),
    [(60, 256, True), (40, 256, False), (60, MEGABYTE, False)],
    ids=["many and small", "few", "large"],
)
def test_many_small_messages(count: int, elements: int, fires: bool) -> None:
    calls = [call("all_reduce", at * 10, at * 10 + 8, elements=elements) for at in range(count)]
    run = run_of([calls, calls])
    found = {one.id: one for one in findings(run).found}
    assert ("CO3" in found) is fires
    if fires:
        assert run.bandwidth.small.count == count
        assert run.bandwidth.small.share == 1.0
        gain = found["CO3"].gain
        assert gain is not None
        assert gain.ns_per_step == count * 8 * US  # nothing computes under them


# --- CO4: slow links ------------------------------------------------------------------------------


def in_pairs(took: Sequence[int], elements: Sequence[int], hosts: str = "aaaa") -> Comparison:
    """Two pairs of ranks; each reduces four times in its pair, for so long and with so much."""
    pairs = ((0, 1), (0, 1), (2, 3), (2, 3))
    return run_of(
        [
            [call("all_reduce", n * 200, n * 200 + took[r // 2], pairs[r],
                  elements=elements[r // 2]) for n in range(4)]
            for r in range(4)
        ],
        hosts=hosts,
    )  # fmt: skip


def test_a_group_far_below_another_at_the_same_size_is_slow() -> None:
    run = in_pairs((10, 40), (MEGABYTE, MEGABYTE))
    (found,) = findings(run).found
    assert found.id == "CO4"
    assert "ranks 2, 3" in found.title
    # Its transfers take four times as long as they would at the other's bandwidth.
    assert found.gain is not None
    assert found.gain.ns_per_step == 4 * 30 * US


def test_a_group_that_is_nearly_as_fast_as_another_is_not_slow() -> None:
    found, unchecked = said(in_pairs((30, 40), (MEGABYTE, MEGABYTE)))
    assert "CO4" not in found + unchecked


@pytest.mark.parametrize(
    ("elements", "hosts"),
    [((MEGABYTE, 16 * MEGABYTE), "aabb"), ((MEGABYTE, MEGABYTE), "aaab")],
    ids=["another size", "one within a node, one across two"],
)
def test_groups_that_are_not_to_be_compared_are_not_slow(
    elements: tuple[int, int], hosts: str
) -> None:
    found, unchecked = said(in_pairs((10, 160), elements, hosts))
    assert "CO4" not in found
    assert "CO4" in unchecked


def test_a_slow_wire_between_two_stages_is_told_by_its_two_ranks() -> None:
    """Of four stages the second sends to the third at a quarter of the usual speed."""
    took = (10, 40, 10)

    def calls(stage: int) -> list[Drawn]:
        found = []
        for n in range(3):
            begin = n * 300
            if stage:
                found.append(call("recv", begin + 60 * stage - 60,
                                  begin + 60 * stage - 60 + took[stage - 1],
                                  peer=stage - 1, elements=MEGABYTE))  # fmt: skip
            if stage < 3:
                found.append(call("send", begin + 60 * stage, begin + 60 * stage + took[stage],
                                  peer=stage + 1, elements=MEGABYTE))  # fmt: skip
        return found

    run = run_of([calls(stage) for stage in range(4)])
    (link,) = run.bandwidth.slow_links
    assert link.ranks == (1, 2)
    assert link.bus_gbps / link.usual_gbps == pytest.approx(0.25)
    assert "Slow links between ranks 1, 2" in [one.title for one in findings(run).found]


def test_one_group_alone_has_nothing_to_be_compared_with() -> None:
    calls = [call("all_reduce", n * 200, n * 200 + 10, elements=MEGABYTE) for n in range(4)]
    found, unchecked = said(run_of([calls, calls]))
    assert found == []
    assert sorted(unchecked) == ["CO4", "CO5"]  # nor have two ranks a median


# --- CO5: a straggler -----------------------------------------------------------------------------


def with_late_rank(late: int) -> Comparison:
    """Of four ranks the third comes so much later to one reduction a step, by its own work."""

    def calls(mine: int) -> list[Drawn]:
        return [
            call("all_reduce", at * LENGTH + 100 + mine, at * LENGTH + 100 + late + 50, step=at)
            for at in range(len(STEPS))
        ]

    return run_of([calls(late if r == 2 else 0) for r in range(4)], steps=STEPS)


def test_a_rank_whose_own_work_is_longer_is_named() -> None:
    run = with_late_rank(300)
    (found,) = (one for one in findings(run).found if one.id == "CO5")
    assert found.title == "Rank 2 makes the others wait"
    assert found.gain is not None
    assert found.gain.ns_per_step == pytest.approx(300 * US, rel=0.01)


def test_every_rank_names_the_late_one_and_only_those_that_wait_gain() -> None:
    run = with_late_rank(300)
    waits, late = among_ranks(run, 0), among_ranks(run, 2)
    assert (
        waits.text == late.text == "Rank 2 makes the others wait for 30.0\u00a0% of the mean step."
    )
    assert waits.leads
    assert late.leads
    assert waits.late is not None
    assert late.late is not None
    assert waits.late.gain is not None
    assert waits.late.gain.ns_per_step == pytest.approx(300 * US, rel=0.01)
    assert waits.waited_ns == 300 * US
    assert late.waited_ns == 0
    assert late.late.gain is None
    assert late.late.severity == waits.late.severity == "high"


@pytest.mark.parametrize(("late", "leads"), [(140, False), (160, True)], ids=["14 %", "16 %"])
def test_a_late_rank_leads_from_15_percent_of_the_step_on(late: int, leads: bool) -> None:
    told = among_ranks(with_late_rank(late), 0)
    assert told.late is not None
    assert told.leads is leads


def test_nobody_is_named_where_none_is_late_or_some_are_not_read() -> None:
    assert among_ranks(with_late_rank(0), 0).text == "No rank is a straggler."
    told = among_ranks(with_late_rank(300), 0, waiting=3)
    assert told.late is None
    assert told.text == (
        "Whether a rank is late is unknown: the recordings of 3\u00a0ranks were not compared."
    )


@pytest.mark.parametrize("late", [0, 5], ids=["alike", "half a percent"])
def test_ranks_that_differ_by_less_than_2_percent_are_not_named(late: int) -> None:
    run = with_late_rank(late)
    assert run.verdict.member == -1
    assert "CO5" not in said(run)[0]


def with_late_ranks(late: Sequence[int], *, per_node: int, nodes: int = 3) -> Comparison:
    """So many nodes; these ranks come 300 µs later to one reduction a step, by their own work."""
    world = per_node * nodes
    ranks = [
        rank(
            r,
            [
                call(
                    "all_reduce", at * LENGTH + 100 + 300 * (r in late), at * LENGTH + 450, step=at
                )
                for at in range(len(STEPS))
            ],
            world=world,
            host=f"gpu-{r // per_node}",
            steps=STEPS,
            length=LENGTH,
        )
        for r in range(world)
    ]
    return compare(ranks, [str(r) for r in range(world)])


@pytest.mark.parametrize(
    ("once", "on_device", "kind"),
    [(470, False, "unknown"), (469, False, "time"), (470, True, "time")],
)
def test_a_rank_is_not_named_where_others_lack_the_cpu_too(
    once: int, on_device: bool, kind: str
) -> None:
    """Rank 6 takes 600 µs where others take 400, and nothing says why; rank 1 once takes longer."""

    def own(number: int, step: int) -> int:
        return 600 if number == 6 else once if number == step == 1 else 400

    def calls(number: int) -> list[Drawn]:
        ready = [(step * LENGTH, own(number, step)) for step in range(6)]
        return [
            call("all_reduce", at + late, at + 700, step=step)
            for step, (at, late) in enumerate(ready)
        ]

    ranks = [
        rank(number, calls(number), world=8, host="a", steps=range(6), length=LENGTH,
             on_device=on_device)
        for number in range(8)
    ]  # fmt: skip
    found = compare(ranks, [str(number) for number in range(8)]).verdict
    assert (found.kind, found.members) == (kind, (6,) if kind == "time" else ())
    if kind == "unknown":
        assert found.sentence.replace("\u00a0", " ") == (
            "Cannot tell which rank is late: rank 6 may be, by 200 µs a step. No work of its own"
            " explains it, and others take longer in some steps, as on a busy CPU. Record 12 steps"
            " on an idle machine."
        )


def test_a_node_whose_ranks_are_all_late_is_named() -> None:
    run = with_late_ranks((4, 5, 6, 7), per_node=4)
    assert run.verdict.member == -1
    assert run.nodes[run.verdict.node].members == (4, 5, 6, 7)
    (found,) = (one for one in findings(run).found if one.id == "CO5")
    assert found.title == "Node gpu-1 makes the others wait"
    assert "Node gpu-1 is 300\u00a0µs a step slower than its peers." in found.text
    assert "Without that, steps would be 300\u00a0µs" in found.text
    assert found.gain is not None
    assert found.gain.ns_per_step == pytest.approx(300 * US, rel=0.01)


@pytest.mark.parametrize(
    ("late", "per_node"),
    [((1, 5, 9), 4), ((4, 5), 4), ((4,), 4), ((1,), 1)],
    ids=["one of each node", "half a node", "one rank", "a rank for each node"],
)
def test_ranks_are_named_and_not_their_node_where_it_is_some_of_them(
    late: tuple[int, ...], per_node: int
) -> None:
    run = with_late_ranks(late, per_node=per_node, nodes=4 if per_node == 1 else 3)
    assert run.verdict.node == -1
    assert run.verdict.kind == "time"
    assert run.verdict.members == late


def test_of_two_nodes_the_slower_is_named() -> None:
    run = with_late_ranks((4, 5, 6, 7), per_node=4, nodes=2)
    assert (run.verdict.kind, run.verdict.members) == ("time", (4, 5, 6, 7))
    assert run.verdict.sentence.startswith("Node gpu-1 is 300\u00a0µs a step slower")


def test_of_two_steps_it_cannot_be_told() -> None:
    calls = [
        [call("all_reduce", at * LENGTH + 100 + 300 * (r == 2), at * LENGTH + 450, step=at)
         for at in range(2)]
        for r in range(4)
    ]  # fmt: skip
    run = run_of(calls, steps=STEPS[:2])
    assert (run.verdict.kind, run.verdict.members) == ("unknown", ())
    assert "Largest costs of a step: rank 2 30" in run.verdict.sentence


def test_a_rank_of_unknown_node_leaves_nodes_out() -> None:
    ranks = [rank(r, [], world=2, host="gpu-0" if r else "") for r in range(2)]
    assert [one.members for one in compare(ranks, ["0", "1"]).nodes] == [(1,)]
    # The name of a file may be anything: it tells no node.
    assert [one.name for one in compare(ranks, ["gpu-9_417", "1"]).nodes] == ["gpu-0"]


@pytest.mark.parametrize(
    ("backend", "vendor", "words", "snippet"),
    [
        ("nccl", "NVIDIA", "`nvidia-smi topo -m`", "NCCL_DEBUG"),
        ("nccl", "AMD", "`rocm-smi --showtopo`", "NCCL_DEBUG"),
        ("gloo", "NVIDIA", "NIC errors and speed.", ""),
        ("hccl", "Ascend", "NIC errors and speed.", ""),
    ],
)
def test_slow_links_are_looked_at_with_what_their_back_end_and_vendor_have(
    backend: str, vendor: str, words: str, snippet: str
) -> None:
    pairs = ((0, 1), (0, 1), (2, 3), (2, 3))
    took = (10, 10, 40, 40)
    device = DeviceInfo(0, "", 0, "", used=True, vendor=vendor)
    ranks = []
    for r in range(4):
        calls = [
            call("all_reduce", n * 200, n * 200 + took[r], pairs[r], elements=MEGABYTE)
            for n in range(4)
        ]
        one = rank(r, calls, world=4)
        groups = tuple(structs.replace(group, backend=backend) for group in one.groups)
        ranks.append(structs.replace(one, devices=(device,), groups=groups, backend=backend))
    (found,) = findings(compare(ranks, list("0123"))).found
    assert found.id == "CO4"
    assert words in found.action
    assert found.snippet.startswith(snippet)
    assert bool(found.snippet) == bool(snippet)
    assert ("nvidia" in found.action) == (backend == "nccl" and vendor == "NVIDIA")


# --- EP1: unequal parts ---------------------------------------------------------------------------


def exchanging(parts: tuple[int, ...]) -> Comparison:
    """Each of the ranks sends these bytes to the others, four times."""
    calls = [
        call("all_to_all", n * 100, n * 100 + 90, elements=800, dtype_bytes=1, splits=parts)
        for n in range(4)
    ]
    return run_of([calls] * 4)


def test_experts_with_unequal_parts() -> None:
    run = exchanging((100, 100, 400, 200))
    found = {one.id: one for one in findings(run).found}
    assert "most often rank 2" in found["EP1"].text
    gain = found["EP1"].gain
    assert gain is not None
    assert gain.ns_per_step == 4 * 90 * US // 2  # half of the time: twice the mean


@pytest.mark.parametrize("parts", [(200, 200, 200, 200), (180, 200, 250, 170)])
def test_nearly_equal_parts_are_no_finding(parts: tuple[int, ...]) -> None:
    run = exchanging(parts)
    assert run.bandwidth.imbalance
    assert "EP1" not in said(run)[0]


def test_an_exchange_without_sizes_of_its_parts_is_not_judged() -> None:
    calls = [call("all_to_all", n * 100, n * 100 + 90, elements=800) for n in range(4)]
    found, unchecked = said(run_of([calls] * 4))
    assert "EP1" not in found
    assert "EP1" in unchecked


# --- PP1: bubbles ---------------------------------------------------------------------------------


def pipeline(messages: int, waits: int, idle_around: int = 0) -> Comparison:
    """Two stages; the second receives so many parts of the batch and waits for each."""
    room = LENGTH // messages
    sends = [call("send", n * room, n * room + 5, peer=1) for n in range(messages)]
    receives = [
        call("recv", max(n * room + 5 - waits, 0), n * room + 5, peer=0) if n else
        call("recv", 0, 5, peer=0)
        for n in range(messages)
    ]  # fmt: skip
    return run_of([sends, receives], idle_around=idle_around)


def test_stages_that_wait_longer_than_they_must() -> None:
    """Four parts on two stages allow a bubble of a fifth; the second waits for 600 of 1000 µs."""
    run = pipeline(4, 200)
    (line,) = run.pipelines
    assert line.theory == pytest.approx(0.2)
    assert (line.bubble_ns // US).tolist() == [20, 605]
    found = {one.id: one for one in findings(run).found}
    assert "4 parts of the batch" in found["PP1"].text
    assert line.receiver_waited == 0.75  # all but the first
    assert (line.slack_ns // US).tolist() == [0, -195, -195, -195]


def test_idle_before_the_first_and_after_the_last_work_is_bubble() -> None:
    """Each stage is idle for 260 µs around its work; a fifth of 1000 µs is what the parts allow."""
    run = pipeline(4, 15, idle_around=260)
    (line,) = run.pipelines
    assert (line.bubble_ns // US).tolist() == [260 + 4 * 5, 260 + 5 + 3 * 15]
    (found,) = (one for one in findings(run).found if one.id == "PP1")
    assert found.text.startswith("The 2 stages stand idle for 29.5\u00a0% of a step (295\u00a0µs)")
    assert "PP1" not in said(pipeline(4, 15))[0]


def test_stages_within_what_the_parts_of_the_batch_allow() -> None:
    found, unchecked = said(pipeline(4, 50))
    assert "PP1" not in found + unchecked


def test_stages_without_matched_messages_are_not_judged() -> None:
    """The sends name no peer: there is no pipeline to be seen, and no bubble is claimed."""
    lost = [[call("send", 0, 5)], [call("recv", 0, 5)]]
    run = run_of(lost)
    assert run.pipelines == ()
    assert "PP1" not in said(run)[0]


def test_the_cost_is_a_share_of_the_step_of_the_recording_that_is_looked_at() -> None:
    run = with_late_rank(300)
    shorter = run.digests[0]
    end_ns = shorter.steps.start_ns + shorter.steps.length_ns * 3 // 4
    steps = structs.replace(shorter.steps, end_ns=end_ns)
    run = structs.replace(run, digests=(structs.replace(shorter, steps=steps), *run.digests[1:]))
    said = among_ranks(run, 0)
    assert said.text == "Rank 2 makes the others wait for 40.0\u00a0% of the mean step."
    assert said.late is not None
    assert said.late.gain is not None
    assert said.late.gain.ratio == pytest.approx(0.4, rel=0.01)
    assert "30.0\u00a0%" in among_ranks(run, 1).text
