"""What kind of job a trace shows, and the memory of its devices."""

from __future__ import annotations

from typing import Any

from kinetoscope.analysis.facts import RunTraits
from kinetoscope.analysis.summarize import summarize
from tests.drawing import V100, draw, memory

GIB = 1 << 30


def of(picture: str, *, info: object = None, **names: str) -> RunTraits:
    metadata: dict[str, Any] = {} if info is None else {"distributedInfo": info}
    return summarize(draw(picture, names=names, **metadata)).traits


def test_data_parallel_is_told_by_its_range() -> None:
    assert of("op |aaa|", a="DataParallel.forward").data_parallel
    assert not of("op |aaa|", a="DistributedDataParallel.forward").data_parallel
    assert of("op |aaa|", a="DistributedDataParallel.forward").distributed_data_parallel


def test_back_ends_are_those_seen_and_those_declared() -> None:
    assert of("note |aaa|", a="gloo:all_reduce").communication_backends == ("gloo",)
    assert of("gpu |aaa|", a="ncclKernel_AllReduce_RING").communication_backends == ("nccl",)
    declared = of("op |aaa|", info={"backend": "cpu:gloo,cuda:nccl", "rank": 0})
    assert declared.communication_backends == ("gloo", "nccl")
    groups = of("op |aaa|", info={"pg_config": [{"backend_config": "cuda:nccl"}, "text", None]})
    assert groups.communication_backends == ("nccl",)
    assert of("op |aaa|", info="a text").communication_backends == ()


def test_the_data_loader_is_that_which_took_most_time() -> None:
    traits = of(
        "note |aaaaabb cc|",
        a="enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        b="enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        c="enumerate(DataPipe)#ShufflerIterDataPipe",
    )
    assert traits.dataloader_class == "_MultiProcessingDataLoaderIter"
    assert (traits.dataloader_longest_ns, traits.dataloader_shortest_ns) == (5000, 2000)
    assert of("note |aa|", a="enumerate(DataPipe)#Shuffler").dataloader_class == "DataPipe"
    assert of("op |aa|").dataloader_class is None


def test_pageable_copies_and_eligible_ops() -> None:
    traits = of(
        """
        op     |mmmmpppp|
        call   |a b  c  |
        gpu    | a bb   |
        copy   |     cc |
        """,
        m="aten::mm",
        p="aten::copy_",
    )
    assert traits.pageable_copy_count == 1
    assert traits.eligible_ops == ("aten::mm",)


class TestMemory:
    PICTURE = "call |ab |\ngpu0 | aa|\ngpu1 | bb|"
    CARDS = ({**V100, "id": 0}, {**V100, "id": 1})

    def peaks(self, *events: dict[str, object]) -> list[int | None]:
        trace = draw(self.PICTURE, events=events, deviceProperties=self.CARDS)
        return [one.peak_allocated_bytes for one in summarize(trace).devices]

    def test_each_device_has_its_own_peak(self) -> None:
        peaks = self.peaks(
            memory(1, GIB, 3 * GIB, device=0),
            memory(2, -GIB, 2 * GIB, device=0),
            memory(2, GIB, 5 * GIB, device=1),
        )
        assert peaks == [3 * GIB, 5 * GIB]

    def test_memory_of_the_host_is_no_device_s(self) -> None:
        assert self.peaks(memory(1, GIB, 9 * GIB, device=-1, kind=0)) == [None, None]

    def test_amd_writes_another_type(self) -> None:
        assert self.peaks(memory(1, GIB, GIB, device=1, kind=6)) == [None, GIB]

    def test_the_only_device_that_worked_is_the_only_one_that_allocated(self) -> None:
        trace = draw(
            "call |a |\ngpu1 | a|", events=[memory(1, 8, GIB)], deviceProperties=self.CARDS
        )
        peaks = [one.peak_allocated_bytes for one in summarize(trace).devices]
        assert peaks == [None, GIB]

    def test_without_totals_there_is_no_peak_but_a_reason(self) -> None:
        trace = draw(self.PICTURE, events=[memory(1, GIB, None)], deviceProperties=self.CARDS)
        facts = summarize(trace)
        assert [one.peak_allocated_bytes for one in facts.devices] == [None, None]
        assert "totals" in facts.unavailable["memory"]
