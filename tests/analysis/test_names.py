"""What host events are, by their names."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.event_names import Role, distinct, of_names, role_of, roles_of


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("ProfilerStep#12", Role.STEP),
        ("ProfilerStep", Role.NONE),
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", Role.DATALOADER),
        ("enumerate(DataPipe)#ShufflerIterDataPipe", Role.DATALOADER),
        ("my DataLoader code", Role.NONE),
        ("nccl:all_reduce", Role.COMMUNICATION),
        ("gloo:broadcast", Role.COMMUNICATION),
        ("c10d::allreduce_", Role.COMMUNICATION),
        ("_c10d_functional::wait_tensor", Role.COMMUNICATION),
        ("record_param_comms", Role.COMMUNICATION),
        ("aten::all", Role.NONE),
        ("Optimizer.step#AdamW.step", Role.OPTIMIZER),
        ("Optimizer.zero_grad#SGD.zero_grad", Role.OPTIMIZER),
        ("autograd::engine::evaluate_function: AddmmBackward0", Role.BACKWARD),
        ("AddmmBackward0", Role.BACKWARD),
        ("aten::convolution_backward", Role.NONE),
        ("_compile.compile_inner (dynamo_timed)", Role.COMPILE),
        ("cuModuleLoadDataEx", Role.COMPILE),
        ("Torch-Compiled Region: 0/0", Role.NONE),
        ("cudaDeviceSynchronize", Role.BLOCKING),
        ("cudaStreamSynchronize", Role.BLOCKING),
        ("hipMemcpyWithStream", Role.BLOCKING),
        ("cudaMemcpy", Role.BLOCKING),
        ("cudaMemcpyAsync", Role.NONE),
        ("cudaMalloc", Role.BLOCKING),
        ("cudaStreamWaitEvent", Role.NONE),
        ("cudaLaunchKernel", Role.NONE),
        ("urQueueFinish", Role.BLOCKING),
        ("", Role.NONE),
    ],
)
def test_roles(name: str, role: Role) -> None:
    assert role_of(name) == role


def test_columns_of_codes() -> None:
    strings = ("", "nccl:all_reduce", "aten::mm", "unused")
    codes = np.array([2, 1, 1, 2], np.int32)
    assert roles_of(strings, codes).tolist() == [0, 3, 3, 0]
    assert distinct(codes, len(strings)) == [1, 2]
    assert roles_of(strings, np.zeros(0, np.int32)).tolist() == []


def test_each_name_is_asked_about_once() -> None:
    asked: list[str] = []

    def length(name: str) -> int:
        asked.append(name)
        return len(name)

    strings = ("never", "aten::mm", "c10d")
    assert of_names(strings, np.array([2, 1, 2, 2], np.int32), length, np.int8).tolist() == [
        4,
        8,
        4,
        4,
    ]
    assert asked == ["aten::mm", "c10d"]
