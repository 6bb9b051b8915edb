"""The digest of a rank: small, the same again after storing, refused when damaged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kinetoscope.analysis.distributed.rank.digest import decode, digest_of, encode
from kinetoscope.base.columnar import DamagedError
from kinetoscope.trace.read import read
from tests.conftest import requires_traces
from tests.trace.drawn import annotation, drawn, python

from .drawn import US, call, rank
from .sets import digests

FOLDERS = ("dlrm_8rank_v100", "fresh_torch2.13/fsdp2_gpt", "hta/trace_filter")


@requires_traces
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_stored_digest_is_the_same_again(folder: str) -> None:
    for one in digests(folder):
        stored = encode(one)
        again = decode(*stored)
        assert encode(again) == stored
        assert again.rank == one.rank
        assert (again.calls.arrival_ns == one.calls.arrival_ns).all()
        assert (again.edges.parts == one.edges.parts).all()


@requires_traces
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_digest_takes_at_most_five_kilobytes_a_step(folder: str) -> None:
    for one in digests(folder):
        assert sum(map(len, encode(one))) <= 5120 * len(one.steps)


def test_the_ranks_of_a_group_are_stored_as_a_column_and_shared_when_read() -> None:
    """A thousand ranks that each list a thousand: neither bytes nor memory grow with the square."""
    pairs = [rank(r, [call("all_reduce", 0, 10, tuple(range(1024)))], world=1024) for r in (0, 1)]
    small = rank(0, [call("all_reduce", 0, 10, (0, 1))], world=2)
    stored = [encode(one) for one in pairs]
    assert len(stored[0][0]) <= len(encode(small)[0]) + 100
    first, second = (decode(*one) for one in stored)
    assert first.groups[0].ranks == tuple(range(1024))
    assert first.groups[0].ranks is second.groups[0].ranks


@requires_traces
def test_the_parts_of_an_edge_sum_to_its_weight() -> None:
    for folder in FOLDERS:
        for one in digests(folder):
            assert (one.edges.parts.sum(axis=1) == one.edges.weight_ns).all()
            assert (one.edges.weight_ns >= 0).all()


@requires_traces
@pytest.mark.parametrize("folder", [*FOLDERS, "fresh_torch2.13/ddp4_straggler_rank2"])
def test_the_parts_of_a_step_sum_to_its_length(folder: str) -> None:
    """On a device and on the host; what communication hides counts once."""
    for one in digests(folder):
        steps = one.steps
        parts = steps.compute_ns + steps.exposed_communication_ns + steps.exposed_copy_ns
        parts = parts + steps.memset_ns + steps.idle_ns + steps.start_up_ns
        assert (parts == steps.end_ns - steps.start_ns).all()
        assert (steps.overlap_ns <= steps.communication_ns).all()


@requires_traces
def test_the_recorded_time_of_a_junction_is_reached_by_an_edge() -> None:
    """The longest way to each junction is as long as it was: nothing is lost in between."""
    for one in digests("dlrm_8rank_v100"):
        time, edges = one.junctions.time_ns, one.edges
        reach = time[edges.source] + edges.weight_ns
        latest = dict.fromkeys(edges.target.tolist(), -1)
        for target, value in zip(edges.target.tolist(), reach.tolist(), strict=True):
            latest[target] = max(latest[target], value)
        assert all(time[target] == value for target, value in latest.items())


def test_what_is_idle_before_the_first_and_after_the_last_work_of_a_step(tmp_path: Path) -> None:
    """Steps of 1000 µs; the second has no work, and in the first a DataLoader holds it up.

    0        100     300   400     600     650   750        1000                2000
    ├ step 1 ──────────────────────────────────────────────────┼ step 2 ─────────┤
             DataLoader    gemm            recv
    ░░░░░░░░░        ░░░░░░                      ░░░░░░░░░░░░░░ ░░░░░░░░░░░░░░░░░░
    """
    events = [
        drawn_event("user_annotation", "ProfilerStep#1", 0, 1000),
        drawn_event("user_annotation", "ProfilerStep#2", 1000, 1000),
        drawn_event("cpu_op", "enumerate(DataLoader)#_Iter.__next__", 100, 200),
        *launched(320, "gemm", 400, 200, 1),
        *launched(330, "ncclDevKernel_SendRecv(ncclDevKernelArgs)", 650, 100, 2),
    ]
    device = {"id": 0, "name": "NVIDIA H100", "numSms": 132}
    file = tmp_path / "one.json"
    file.write_text(
        json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events})
    )
    steps = digest_of(read(file)).steps
    assert (steps.idle_around_ns // US).tolist() == [100 + 100 + 250, 1000]
    assert (steps.idle_ns // US).tolist() == [700, 1000]


def drawn_event(
    category: str, name: str, ts: int, dur: int, args: Mapping[str, int] | None = None,
    place: tuple[int, int] = (99, 1),
) -> dict[str, object]:  # fmt: skip
    pid, tid = place
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args or {}}  # fmt: skip


def launched(call_ts: int, name: str, ts: int, dur: int, number: int) -> list[dict[str, object]]:
    where = {"device": 0, "stream": 7, "correlation": number}
    return [
        drawn_event("cuda_runtime", "cudaLaunchKernel", call_ts, 5, {"correlation": number}),
        drawn_event("kernel", name, ts, dur, where, (0, 7)),
    ]


def test_what_the_users_code_calls_is_among_the_names_and_what_that_calls_is_not() -> None:
    """A rank that sleeps in a function that all ranks run is named with the sleep."""
    trace = drawn(
        python("train.py(3): main", 0, 1000),
        annotation("ProfilerStep#0", 10, 900),
        python("<built-in function sleep>", 20, 300),
        python("torch/serialization.py(9): save", 400, 200),
        python("torch/serialization.py(5): write", 420, 100),
        python("train.py(7): inner", 700, 100),
        python("<built-in function len>", 710, 50),
    )
    one = digest_of(trace)
    table = zip(one.ranges.name.tolist(), one.ranges.total_ns.tolist(), strict=True)
    names = {one.text(name): ns for name, ns in table}
    assert names == {
        "<built-in function sleep>": 300_000,
        "torch/serialization.py(9): save": 200_000,
        "train.py(7): inner": 100_000,
        "<built-in function len>": 50_000,
    }


@pytest.mark.parametrize("damage", [b"", b"no digest", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_what_is_no_digest_is_refused(damage: bytes) -> None:
    with pytest.raises(DamagedError, match="digest"):
        decode(damage, damage)
