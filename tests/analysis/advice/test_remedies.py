"""No remedy without its facts: which sentences need what, over made-up runs.

Each rule lists its remedies with the facts they ask for. The table below says the same a second
time and on its own: words that a finding may hold, and what must be true of the run for them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kinetoscope.analysis.advice import RULES, check_all
from kinetoscope.analysis.advice.rule import Remedy, applies
from kinetoscope.analysis.facts import Facts, Held, HeldName, Idle, IdleTables, Place
from kinetoscope.analysis.steps import Selection, select
from kinetoscope.analysis.summarize import summarize
from tests.analysis.advice.checks import NCCL
from tests.analysis.advice.drawn import FIRES
from tests.drawing import LOADER, V100, draw, memory

Holds = Callable[[Facts], bool]


def _used(facts: Facts) -> list[str]:
    return [device.type for device in facts.devices if device.used]


def _pageable(facts: Facts) -> bool:
    """Whether copies from or to pageable memory were recorded."""
    return (facts.traits.pageable_copy_count or 0) > 0 or any(
        one.memory == "pageable"
        for step in facts.steps
        for device in step.devices
        for one in device.copies
    )


BEFORE_1_11 = ("A", "B", "C")
BEFORE_2_0 = (*BEFORE_1_11, "D")

NEEDED: dict[str, Holds] = {
    "register_comm_hook": lambda f: (
        f.traits.distributed_data_parallel
        and f.traits.gradient_collectives
        and f.traits.backward
        and "nccl" in f.traits.communication_backends
        and set(_used(f)) == {"GPU"}
        and f.traits.gradient_dtype not in ("BFloat16", "Half")
    ),
    "bf16_compress": lambda f: all(
        (d.capability or (0, 0)) >= (8, 0) or d.vendor == "AMD" for d in f.devices if d.used
    ),
    "no_sync()": lambda f: f.traits.distributed_data_parallel and f.traits.backward,
    "ccumulate": lambda f: f.traits.backward and f.traits.gradient_collectives,
    "radients": lambda f: f.traits.backward,
    "training still converges": lambda f: f.traits.backward,
    "GradScaler": lambda f: f.traits.backward,
    "loss_fn": lambda f: f.traits.backward,
    "checkpoint import": lambda f: f.traits.backward,
    "tensor parallelism": lambda f: (
        bool(_used(f)) and not f.traits.backward and f.counts.get("op", 0) > 0
    ),
    "FSDP": lambda f: f.traits.fully_sharded,
    "experts and back": lambda f: "experts" in f.traits.collective_ns,
    "all-to-all, in which": lambda f: "all_to_all" in f.traits.collective_ns,
    "stages of a pipeline": lambda f: "send_recv" in f.traits.collective_ns,
    "`torch.compile` launches": lambda f: (
        not f.traits.compiled and not f.traits.serving and not f.traits.graph_launches
    ),
    "model = torch.compile(model)": lambda f: f.torch_era not in BEFORE_2_0,
    "rom torch 2.0 on": lambda f: f.torch_era in BEFORE_2_0,
    "default_hooks.bf16": lambda f: f.torch_era not in BEFORE_1_11,
    "torchrun": lambda f: f.torch_era not in BEFORE_1_11,
    "torch.autocast(": lambda f: f.torch_era not in BEFORE_1_11,
    "torch.amp.GradScaler": lambda f: f.torch_era not in (*BEFORE_2_0, "E"),
    "has no bfloat16": lambda f: any(
        (d.capability or (0, 0)) < (8, 0) and d.vendor != "AMD" for d in f.devices if d.used
    ),
    "reduce-overhead": lambda f: f.traits.compiled and not f.traits.graph_launches,
    "eager mode": lambda f: bool(f.traits.serving) and not f.traits.graph_launches,
    "Larger batches": lambda f: any(
        device.idle.short_ns * 2 >= device.partition.idle_ns
        for step in f.steps
        for device in step.devices
    ),
    "pin_memory": _pageable,
    "num_workers=4": lambda f: (f.traits.dataloader_class or "").startswith("_Single"),
    "num_workers=8": lambda f: (f.traits.dataloader_class or "").startswith("_Multi"),
    "pinned memory with": _pageable,
    "`with_stack=True` to see": lambda f: not f.counts.get("python", 0),
    "How to keep the GPU": lambda f: "GPU" in _used(f),
    "How to keep the NPU": lambda f: "NPU" in _used(f),
}


def _base() -> Facts:
    """A run in which every rule can fire."""
    trace = draw(
        """
        step   |11111111111111111111|
        note   |DDDDD               |
        op     |     PPPPPPPPP      |
        op     |     mmmm           |
        call   |     a  bn c        |
        gpu0   |        aa          |
        gpu0.9 |            nnnnnn  |
        copy   |                  cc|
        """,
        names={
            "D": LOADER,
            "P": "DistributedDataParallel.forward",
            "m": "aten::mm",
            "a": "volta_sgemm_64x64_nt",
            "n": NCCL,
        },
        deviceProperties=[{**V100, "id": 0}],
        events=[memory(1, 1, 31 << 30)],
    )
    return summarize(trace)


BASE = _base()
OPERATIONS = ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "experts", "send_recv",
              "broadcast", "barrier", "other"]  # fmt: skip


@st.composite
def runs(draw_: st.DrawFn) -> Facts:
    """The base with other facts of the job, other devices, and other causes of idle time."""
    traits = structs.replace(
        BASE.traits,
        distributed_data_parallel=draw_(st.booleans()),
        backward=draw_(st.booleans()),
        fully_sharded=draw_(st.booleans()),
        gradient_collectives=draw_(st.booleans()),
        gradient_dtype=draw_(st.sampled_from(["", "Float", "BFloat16", "Half"])),
        communication_backends=draw_(
            st.sampled_from([(), ("gloo",), ("nccl",), ("gloo", "nccl"), ("hccl",)])
        ),
        collective_ns=draw_(
            st.dictionaries(st.sampled_from(OPERATIONS), st.integers(1, 9), max_size=4)
        ),
        serving=draw_(st.sampled_from(["", "vLLM"])),
        compiled=draw_(st.booleans()),
        graph_launches=draw_(st.sampled_from([0, 0, 2])),
        pageable_copy_count=draw_(st.sampled_from([0, 3])),
        dataloader_class=draw_(
            st.sampled_from(
                [None, "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"]
            )
        ),
    )
    device = structs.replace(
        BASE.devices[0],
        type=draw_(st.sampled_from(["GPU", "NPU", "XPU", "MTIA"])),
        vendor=draw_(st.sampled_from(["NVIDIA", "AMD", ""])),
        capability=draw_(st.sampled_from([None, (7, 0), (9, 0)])),
        least_allocated_bytes=draw_(st.sampled_from([None, 1, 31 << 30])),
    )
    name = HeldName(
        draw_(st.sampled_from(["cudaLaunchKernel", "cudaMemcpyAsync", "cudaFree", "aten::mm"])),
        draw_(st.sampled_from(["blocking", "runtime", "op"])),
        draw_(st.sampled_from(["idle_blocking_ns", "idle_launch_ns"])),
    )
    place = Place(draw_(st.sampled_from(["", "aten::item", "aten::copy_"])), "")
    longest = draw_(st.integers(1, 8_000))
    held = Held(0, draw_(st.integers(1, 9)), 8_000, longest, 0, longest, draw_(
        st.sampled_from(["", "call", "kernel"])), 0)  # fmt: skip
    one = BASE.steps[0].devices[0]
    total = one.partition.idle_ns
    idle = Idle(
        queued_ns=draw_(st.integers(0, total)),
        short_count=draw_(st.sampled_from([1, 200])),
        short_ns=draw_(st.integers(0, total)),
        frame=draw_(st.sampled_from(["", "train.py(1): step"])),
        frame_ns=draw_(st.integers(0, total)),
        held=draw_(st.sampled_from([(), (held,)])),
    )
    part = structs.replace(
        one.partition,
        idle_dataloader_ns=draw_(st.integers(0, total)),
        idle_capture_ns=draw_(st.sampled_from([0, total])),
        idle_unattributed_ns=draw_(st.integers(0, total)),
    )
    step = structs.replace(
        BASE.steps[0], devices=(structs.replace(one, partition=part, idle=idle),)
    )
    return structs.replace(
        BASE,
        traits=traits,
        devices=(device,),
        steps=(step,),
        idle=IdleTables((name,), (place,)),
        counts={
            **BASE.counts,
            "python": draw_(st.sampled_from([0, 7])),
            "op": draw_(st.sampled_from([0, BASE.counts["op"]])),
        },
        torch_era=draw_(st.sampled_from(["B", "C", "D", "E", "F", "G", "H", "unknown"])),
    )


@given(runs())
def test_words_stand_only_where_their_facts_hold(facts: Facts) -> None:
    for found in check_all(select(facts))[0]:
        said = " ".join((found.text, found.snippet, *(link.text for link in found.links)))
        for words, holds in NEEDED.items():
            assert words not in said or holds(facts), (words, found.id, found.text)


@given(runs())
def test_a_finding_gives_the_first_remedy_whose_facts_hold_and_no_other(facts: Facts) -> None:
    chosen = select(facts)
    seen = Selection(facts, chosen.indexes, 0)
    for found in check_all(chosen)[0]:
        rule = next(rule for rule in RULES if rule.id == found.id)
        holding = [one for one in rule.remedies if applies(one, seen)]
        if rule.remedies and holding:
            assert found.text.endswith(holding[0].text)
            assert found.snippet == holding[0].snippet
        elif rule.remedies:
            assert not any(found.text.endswith(one.text) for one in rule.remedies)


REMEDIES = [(rule.id, place, one) for rule in RULES for place, one in enumerate(rule.remedies)]


@pytest.mark.parametrize(("rule", "place", "remedy"), REMEDIES, ids=lambda x: str(x)[:8])
def test_each_remedy_says_which_facts_it_asks_for(rule: str, place: int, remedy: Remedy) -> None:
    last = place == max(at for one, at, _ in REMEDIES if one == rule)
    assert remedy.facts or last, "only the last of a rule may ask for nothing"
    assert all(fact.text for fact in remedy.facts)


def test_rules_without_a_list_give_one_remedy_that_their_condition_carries() -> None:
    assert {rule.id for rule in RULES if not rule.remedies} == {
        *{"CO7", "CO9", "DT2", "SV1", "SV2", "SV3", "SV4", "SV5", "SV6"},
        *(set(FIRES) - {"SY1", "SY2", "LA1", "LA4", "IN4", "CO2"}),
    }
