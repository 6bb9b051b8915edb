"""What the time of a kernel counts as."""

from __future__ import annotations

import pytest

from kinetoscope.trace.link.collectives import COLLECTIVE_OPS, NAME_RULES, class_of_name
from kinetoscope.trace.model import DeviceClass, DeviceKind, Trace
from tests.trace.drawn import annotation, drawn, kernel, launch, x


def classes(trace: Trace) -> dict[str, str]:
    return {
        trace.text(int(code)): DeviceClass(int(klass)).name
        for code, klass in zip(trace.device.name, trace.device.klass, strict=True)
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "COMMUNICATION"),
        ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "COMMUNICATION"),
        ("void rcclKernel(x)", "COMMUNICATION"),
        ("hcom_allReduce__950_0_1", "COMMUNICATION"),
        ("void vllm::cross_device_reduce_1stage<__half, 2>(…)", "COMMUNICATION"),
        ("void deep_ep::internode::dispatch<false, 8, true>(…)", "COMMUNICATION"),
        ("void deep_ep::internode_ll::combine<true, 7168, 9>(…)", "COMMUNICATION"),
        ("void vendor::ep::intranode::dispatch<8, 768>(int4*)", "COMMUNICATION"),
        ("void vendor::ep::intranode::combine<__nv_bfloat16, 8>(…)", "COMMUNICATION"),
        ("void vendor::ep::layout::get_dispatch_layout<256, 32, 8>(long const*)", "COMPUTE"),
        ("void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*)", "COMPUTE"),
        ("void hybrid_ep::permute_kernel<__nv_bfloat16>(…)", "COMPUTE"),
        ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16>", "COMMUNICATION"),
        ("void two_shot_all_reduce_kernel<float>", "COMMUNICATION"),
        ("__amd_rocclr_copyBuffer", "COPY"),
        ("__amd_rocclr_fillBufferAligned", "MEMSET"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>", None),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", None),
        ("ampere_sgemm_128x64_tn", None),
        ("void step_kernel(float*)", None),
        ("triton_poi_fused_add_0", None),
    ],
)
def test_names(name: str, expected: str | None) -> None:
    assert class_of_name(name) == (DeviceClass[expected] if expected else -1)


def test_every_rule_says_why() -> None:
    assert all(rule.why for rule in NAME_RULES)


def test_evidence_counts_before_names() -> None:
    trace = drawn(
        kernel("mystery", 0, 1, **{"Collective name": "allreduce"}),
        kernel("ncclDevKernel_AllGather", 2, 1),
        kernel("Memcpy PtoP for ncclDevKernel", 4, 1, cat="gpu_memcpy"),
        kernel("gemm", 6, 1),
        kernel("exchange", 8, 1, cat="collective_comm"),
        kernel("Memset", 9, 1, cat="gpu_memset"),
    )
    assert classes(trace) == {
        "mystery": "COMMUNICATION",
        "ncclDevKernel_AllGather": "COMMUNICATION",
        "Memcpy PtoP for ncclDevKernel": "COPY",
        "gemm": "COMPUTE",
        "exchange": "COMMUNICATION",
        "Memset": "MEMSET",
    }


def test_unknown_kernels_inside_a_collective_communicate_but_helpers_do_not() -> None:
    """FSDP copies into its buffer inside the same op; the copy is compute."""
    trace = drawn(
        x("c10d::_allgather_base_", 0, 30),
        annotation("nccl:_all_gather_base", 2, 20),
        launch(3, 1, 1),
        launch(5, 1, 2),
        launch(50, 1, 3),
        kernel("vendor_exchange", 10, 5, correlation=1),
        kernel("void at::native::CatArrayBatchedCopy<float>", 20, 5, correlation=2),
        kernel("vendor_exchange_outside", 60, 5, correlation=3),
    )
    assert classes(trace) == {
        "vendor_exchange": "COMMUNICATION",
        "void at::native::CatArrayBatchedCopy<float>": "COMPUTE",
        "vendor_exchange_outside": "COMPUTE",
    }


@pytest.mark.parametrize("category", ["cpu_op", "user_annotation"])
def test_a_collective_that_stays_open_makes_no_communication_of_what_runs_meanwhile(
    category: str,
) -> None:
    """MTIA keeps hccl:all_to_all open around a whole forward."""
    trace = drawn(
        x("hccl:all_to_all", 0, 100, cat=category),
        x("aten::addmm", 10, 20),
        launch(12, 2, 1),
        launch(40, 2, 2),
        x("c10d::alltoall_base_", 50, 20),
        x("record_param_comms", 52, 10),
        launch(54, 2, 3),
        kernel("fc_1", 20, 5, correlation=1),
        kernel("fc_2", 50, 5, correlation=2),
        kernel("exchange", 60, 5, correlation=3),
    )
    assert classes(trace) == {
        "fc_1": "COMPUTE",
        "fc_2": "COMPUTE",
        "exchange": "COMMUNICATION",
    }


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("mtia_ccp_events", DeviceKind.KERNEL),
        ("hpu_op", DeviceKind.KERNEL),
        ("collective_comm", DeviceKind.KERNEL),
        ("vendor_thing", DeviceKind.OTHER),
    ],
)
def test_work_of_known_vendor_categories_is_kernels(category: str, kind: DeviceKind) -> None:
    trace = drawn(kernel("gemm", 0, 5), kernel("fc", 10, 5, cat=category))
    assert trace.device.kind.tolist() == [DeviceKind.KERNEL, kind]


def test_the_op_between_a_collective_and_a_launch_decides() -> None:
    trace = drawn(
        x("c10d::allreduce_", 0, 30),
        x("aten::custom", 2, 20),
        launch(3, 1, 1),
        kernel("mystery", 10, 5, correlation=1),
    )
    assert classes(trace) == {"mystery": "COMPUTE"}


@pytest.mark.parametrize(
    ("name", "is_collective"),
    [
        ("record_param_comms", True),
        ("c10d::allreduce_", True),
        ("_c10d_functional::all_gather_into_tensor", True),
        ("symm_mem::one_shot_all_reduce", True),
        ("vllm::all_reduce", True),
        ("aten::mm", False),
        ("record_param_comms_not", False),
    ],
)
def test_ops_of_collectives(name: str, is_collective: bool) -> None:
    assert (COLLECTIVE_OPS.match(name) is not None) == is_collective
