"""What a rank's own recording says of its collectives: groups, sizes, sequence, peers, extent."""

from __future__ import annotations

from typing import Any

import pytest

from kinetoscope.analysis.distributed.model import Junction, WorkPart
from kinetoscope.analysis.distributed.rank.calls import Call, find_calls, kind_of, shape_of
from kinetoscope.analysis.distributed.rank.digest import digest_of
from tests.trace.drawn import Event, annotation, drawn, kernel, x

US = 1000
NAMED: dict[str, Any] = {
    "Collective name": "allreduce",
    "dtype": "BFloat16",
    "In msg nelems": 1024,
    "Out msg nelems": 1024,
    "Group size": 4,
    "Process Group Name": "3",
    "Process Group Description": "mesh_tp",
    "Process Group Ranks": "[0, 2, 4, 6]",
    "Seq": 17,
    "Comms Id": "77",
}


def nccl(ts: float, dur: float, **args: Any) -> list[Event]:
    """A collective: its call, its launch and its kernel, which lasts from ``ts`` on."""
    return [
        x("record_param_comms", ts - 20, 12, **args),
        x("cudaLaunchKernel", ts - 15, 5, cat="cuda_runtime", correlation=round(ts)),
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)", ts, dur, correlation=round(ts)),
    ]


def only(*events: Event, **metadata: Any) -> tuple[Call, tuple[int, ...]]:
    found = find_calls(drawn(*events, **metadata))
    assert len(found.calls) == 1
    return found.calls[0], found.groups[found.calls[0].group].ranks


def test_the_args_of_a_call_are_its_identity() -> None:
    one, ranks = only(*nccl(100, 50, **NAMED))
    assert (one.kind, one.in_bytes, one.sequence, one.comms_id) == ("all_reduce", 2048, 17, "77")
    assert ranks == (0, 2, 4, 6)
    assert one.release - one.arrival == 50 * US


def test_a_list_of_ranks_that_was_cut_is_completed_by_the_declared_group() -> None:
    cut = {**NAMED, "Process Group Ranks": "[0, 2, 4, ...]"}
    groups = [{"pg_name": "3", "pg_desc": "mesh_tp", "pg_size": 4, "ranks": [0, 2, 4, 6]}]
    _, ranks = only(*nccl(100, 50, **cut), distributedInfo={"rank": 0, "pg_config": groups})
    assert ranks == (0, 2, 4, 6)


def test_a_group_that_nobody_lists_is_unknown_and_not_guessed() -> None:
    cut = {**NAMED, "Process Group Ranks": "[0, 2, 4, ...]"}
    _, ranks = only(*nccl(100, 50, **cut), distributedInfo={"rank": 0, "world_size": 8})
    assert ranks == ()


def test_before_torch_2_3_sizes_come_from_shapes() -> None:
    events = nccl(100, 50)
    inner = annotation("nccl:all_reduce", 82, 8, **{"Input Dims": [[512]], "Input type": ["float"]})
    one, ranks = only(*events, inner, distributedInfo={"rank": 1, "world_size": 2})
    assert (one.kind, one.in_bytes) == ("all_reduce", 2048)
    assert ranks == (0, 1)


def test_the_parts_of_an_exchange_are_bytes() -> None:
    """Rows of 4 elements of 2 bytes."""
    split = {**NAMED, "Collective name": "all_to_allv", "In msg nelems": 40,
             "In split size": "[1, 2, 3, 4]"}  # fmt: skip
    one, _ = only(*nccl(100, 50, **split))
    assert one.kind == "all_to_all"
    assert one.splits == (8, 16, 24, 32)


def test_a_send_names_its_peer() -> None:
    one, _ = only(*nccl(100, 50, **{**NAMED, "Collective name": "send", "Dst Rank": 6}))
    assert (one.kind, one.peer) == ("send", 6)


def test_what_communicates_without_a_call_is_a_collective_by_its_kernel() -> None:
    name = "void deep_ep::internode::dispatch<false, 4>(int*)"
    one, _ = only(
        x("cudaLaunchKernel", 0, 5, cat="cuda_runtime", correlation=1),
        kernel(name, 10, 30, correlation=1),
    )
    assert (one.kind, one.name) == ("expert_exchange", name)


def test_a_range_of_gloo_is_issued_by_its_op_on_the_caller() -> None:
    dims: dict[str, Any] = {"Input Dims": [[64]], "Input type": ["float"]}
    one, _ = only(
        x(
            "c10d::allreduce_",
            0,
            5,
            **{"Input Dims": [[[64]], [], []], "Input type": ["TensorList", "", ""]},
        ),
        annotation("gloo:all_reduce", 12, 40, tid=2, **dims),
        distributedInfo={"backend": "gloo", "rank": 0, "world_size": 2},
    )
    assert (one.issue, one.arrival, one.release) == (0, 12 * US, 52 * US)
    assert one.in_bytes == 256


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("allreduce_coalesced", "all_reduce"), ("_reduce_scatter_base", "reduce_scatter"),
        ("allgather_into_tensor_coalesced", "all_gather"), ("all_to_allv", "all_to_all"),
        ("_broadcast_oop", "broadcast"), ("batch_isend_irecv", "send_recv"), ("recv", "recv"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "send_recv"), ("gather", "gather"),
        ("cross_device_reduce_1stage", "all_reduce"), ("magic", "other"),
    ],
)  # fmt: skip
def test_the_operation_of_a_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize("dims", ["", "[", "null", "[[]]", '{"a": 1}', '[["x"]]', "[[1e999]]"])
def test_shapes_of_another_form_are_no_size(dims: str) -> None:
    assert shape_of(dims, '["float"]') is None


def test_the_graph_tells_kernels_from_the_host_before_a_collective() -> None:
    """
    host    launch ▮ 5    launch ▮ 12 (collective)
    compute    ███████████ 10 … 60
    comm                   ███ 62 … 90
    """
    one = digest_of(
        drawn(
            x("ProfilerStep#1", 0, 100, cat="user_annotation"),
            x("aten::mm", 4, 8),
            x("cudaLaunchKernel", 5, 2, cat="cuda_runtime", correlation=1),
            kernel("gemm", 10, 50, correlation=1),
            x("record_param_comms", 11, 8, **NAMED),
            x("cudaLaunchKernel", 12, 3, cat="cuda_runtime", correlation=2),
            kernel("ncclDevKernel_AllReduce", 62, 28, tid=9, correlation=2),
        )
    )

    ready = one.junctions.kind.tolist().index(Junction.READY)
    into = one.edges.target == ready
    assert one.edges.parts[into][:, WorkPart.KERNELS].max() == 50 * US
    assert one.text(int(one.edges.op[into][0])) == "gemm"
    arrival = one.junctions.kind.tolist().index(Junction.ARRIVAL)
    assert one.junctions.time_ns[arrival] - one.junctions.time_ns[ready] == 2 * US


@pytest.mark.parametrize("world", [-1, 1 << 60])
def test_an_absurd_number_of_ranks_is_unknown(world: int) -> None:
    info = {"rank": -5, "world_size": world}
    one = digest_of(drawn(*nccl(100, 50), distributedInfo=info))
    assert (one.rank, one.world_size) == (-1, 0)
    assert one.groups[0].ranks == ()
