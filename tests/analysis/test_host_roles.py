"""What host events are, by their names."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.host_activity import HostRole, role_of, roles_of
from kinetoscope.base.arrays import of_names


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("ProfilerStep#12", HostRole.STEP),
        ("ProfilerStep", HostRole.NONE),
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", HostRole.DATALOADER),
        ("enumerate(DataPipe)#ShufflerIterDataPipe", HostRole.DATALOADER),
        ("my DataLoader code", HostRole.NONE),
        ("nccl:all_reduce", HostRole.COMMUNICATION),
        ("gloo:broadcast", HostRole.COMMUNICATION),
        ("c10d::allreduce_", HostRole.COMMUNICATION),
        ("_c10d_functional::wait_tensor", HostRole.COMMUNICATION),
        ("record_param_comms", HostRole.COMMUNICATION),
        ("aten::all", HostRole.NONE),
        ("Optimizer.step#AdamW.step", HostRole.OPTIMIZER),
        ("Optimizer.zero_grad#SGD.zero_grad", HostRole.OPTIMIZER),
        ("autograd::engine::evaluate_function: AddmmBackward0", HostRole.BACKWARD),
        ("AddmmBackward0", HostRole.BACKWARD),
        ("aten::convolution_backward", HostRole.NONE),
        ("_compile.compile_inner (dynamo_timed)", HostRole.COMPILE),
        ("cuModuleLoadDataEx", HostRole.COMPILE),
        ("Torch-Compiled Region: 0/0", HostRole.NONE),
        ("cudaDeviceSynchronize", HostRole.BLOCKING),
        ("cudaStreamSynchronize", HostRole.BLOCKING),
        ("hipMemcpyWithStream", HostRole.BLOCKING),
        ("cudaMemcpy", HostRole.BLOCKING),
        ("cudaMemcpyAsync", HostRole.NONE),
        ("cudaMalloc", HostRole.BLOCKING),
        ("cudaStreamWaitEvent", HostRole.NONE),
        ("cudaLaunchKernel", HostRole.NONE),
        ("urQueueFinish", HostRole.BLOCKING),
        ("", HostRole.NONE),
    ],
)
def test_roles(name: str, role: HostRole) -> None:
    assert role_of(name) == role


def test_columns_of_codes() -> None:
    strings = ("", "nccl:all_reduce", "aten::mm", "unused")
    codes = np.array([2, 1, 1, 2], np.int32)
    assert roles_of(strings, codes).tolist() == [0, 3, 3, 0]
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
