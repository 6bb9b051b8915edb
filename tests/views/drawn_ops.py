"""Recordings of ops whose work is known from their arguments, with kernels and without; compiled.

Steps differ, and so do lengths of what is alike; the numbers are drawn from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinetoscope.analysis.speed_of_light.arguments import DTYPES, CallArguments, TensorArgument
from tests.analysis.advice.drawn import H100
from tests.analysis.speed_of_light.drawn import drawn_calls
from tests.drawing import Event
from tests.views.drawn_recordings import COLLECTIVE, Recording

WRITTEN = {dtype: written for written, dtype in reversed([*DTYPES.items()])}
KERNELS = (
    "ampere_sgemm_128x64_tn", "cutlass_80_tensorop_s1688gemm_tf32", "sm90_xmma_gemm_f16f16_tn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
    "triton_poi_fused_add_0", "void at::native::reduce_kernel<512, 1, float>()",
)  # fmt: skip

SCALES = (1, 6, 24)
"""Some calls are faster than a device can be, and some as fast."""


def recorded(call: CallArguments, scale: int = 1) -> Event:
    """The arguments of a call as a recorder writes them, with sizes so many times as large."""
    dims: list[Any] = []
    types: list[str] = []
    strides: list[Any] = []
    for one, value in zip(call.arguments, call.values, strict=True):
        if isinstance(one, TensorArgument):
            dims.append([size * scale for size in one.sizes])
            types.append(WRITTEN[one.dtype])
            strides.append(_dense(dims[-1]))
        elif isinstance(one, tuple):
            dims.append([[size * scale for size in inner.sizes] for inner in one])
            types.append("TensorList")
            strides.append([_dense(inner) for inner in dims[-1]])
        else:
            dims.append([])
            types.append("ScalarList" if value.startswith("[") else "Scalar" if value else "")
            strides.append([])
    values = [*call.values]
    return {"Input Dims": dims, "Input type": types, "Input Strides": strides,
            "Concrete Inputs": values}  # fmt: skip


def _dense(sizes: list[int]) -> list[int]:
    found, step = [0] * len(sizes), 1
    for at in reversed(range(len(sizes))):
        found[at], step = step, step * sizes[at]
    return found


def ops() -> list[Event]:
    """All drawn calls of models in three steps on a device, with one or two kernels each.

    Some have no sizes, some run beside others, and some kernels have no op.
    """
    made = Recording(23)
    rng, at = made.rng, 10.0
    for step in range(3):
        begin = at
        for number, (name, call) in enumerate(drawn_calls()):
            if (number + step) % 7 == 0:
                continue
            told = recorded(call, SCALES[number % 3]) if number % 11 else {}
            if number % 13 == 5:
                told.pop("Concrete Inputs", None)
            if number % 6 == 0:
                made.add("python_function", f"nn.Module: Block_{number // 6 % 4}", at, 8,
                         **{"Python module id": number // 6 % 4})  # fmt: skip
            made.add("cpu_op", name, at + 1, 6, **told)
            length = rng.choice((0.5, 2, 3.25, 6))
            kernel = KERNELS[number % len(KERNELS)]
            stream = 9 if number % 9 == 4 else 7
            made.launch(at + 2, 0.5, kernel, length, (0, stream), grid=[1 + number, 1, 1],
                        block=[128, 1, 1])  # fmt: skip
            if number % 5 == 0:
                made.launch(at + 3, 0.5, "splitKreduce_kernel", length / 2, (0, 7))
            at += 8 + rng.choice((0, 1.5))
        made.launch(at, 1, "Memcpy DtoH (Device -> Pageable)", 4 + step, cat="gpu_memcpy",
                    bytes=1 << 14)  # fmt: skip
        made.launch(at + 3, 1, "ncclDevKernel_AllReduce_Sum_f32", 9 + step, (0, 13), **COLLECTIVE)
        made.on_device("kernel", "of no call", at + 9, 3 + step, (0, 21))
        at += 12 + 5 * step
        made.add("user_annotation", f"ProfilerStep#{step}", begin, at - begin)
    return made.events


def host_ops() -> list[Event]:
    """The same on the host: ops in ops, in modules and in functions, and their backward pass."""
    made = Recording(29)
    rng, at = made.rng, 10.0
    for step in range(4):
        begin = at
        for number, (name, call) in enumerate(drawn_calls()):
            if number % 3 or (number + step) % 8 == 0:
                continue
            length = rng.choice((4, 6, 11))
            made.add("python_function", f"model.py({number}): part", at, length + 3)
            made.sequence += 1
            told: Event = {"Sequence number": made.sequence, **recorded(call)}
            made.add("cpu_op", f"aten::outer_{number % 5}", at + 0.5, length + 2)
            made.add("cpu_op", name, at + 1, length, **told)
            made.add("cpu_op", "aten::empty", at + 1.5, 1)
            at += length + rng.choice((3, 5))
        node = "autograd::engine::evaluate_function: MmBackward0"
        made.add("cpu_op", node, at, 20 + step, 2)
        made.add("cpu_op", "MmBackward0", at + 1, 15, 2, **{
            "Sequence number": made.sequence, "Fwd thread id": 1})  # fmt: skip
        made.add("cpu_op", "aten::mm", at + 2, 7 + step, 2)
        at += 24
        made.add("user_annotation", "Optimizer.step#SGD.step", at, 9)
        made.add("cpu_op", "aten::add_", at + 1, 6)
        at += 11
        made.add("user_annotation", f"ProfilerStep#{step}", begin, at - begin)
    return made.events


def compiled() -> list[Event]:
    """Compiled functions: graph breaks, lookups, compilations anew, generated kernels."""
    made = Recording(31)
    rng, at = made.rng, 10.0
    for step in range(4):
        begin = at
        for region in range(3):
            made.add("python_function", f"net.py({3 + region}): forward", at, 46)
            made.add("cpu_op", f"Torch-Compiled Region: {region}/{step // 2 * (region == 1)}",
                     at + 1, 44)  # fmt: skip
            made.add("cpu_op", "TorchDynamo Cache Lookup", at + 2, 1 + region)
            if step == 0 or (region == 1 and step == 2):
                name = f"_compile: compile_id={region}/{step // 2}"
                made.add("user_annotation", name, at + 5, 9 + 2 * region)
                made.add("cpu_op", "entire_frame_compile (dynamo_timed)", at + 5, 9 + 2 * region)
            made.add("cpu_op", f"## Call CompiledFxGraph f{region}a ##", at + 18, 24)
            for number in range(3 + region):
                made.launch(at + 20 + 3 * number, 1, f"triton_poi_fused_add_mul_{number}",
                            rng.choice((1, 2, 4.5)), grid=[8, 1, 1], block=[64, 1, 1])  # fmt: skip
            if region == 2:
                made.add("python_function", "net.py(9): torch_dynamo_resume_in_forward_at_9",
                         at + 42, 2)  # fmt: skip
            at += 47 + rng.choice((0, 2))
        made.add("cpu_op", "aten::mm", at, 5)
        made.launch(at + 1, 1, "ampere_sgemm_128x64_tn", 6 + step)
        at += 9
        made.add("user_annotation", f"ProfilerStep#{step}", begin, at - begin)
    return made.events


def bare(make: Callable[[], list[Event]]) -> list[Event]:
    """The same without steps and modules: the first row and name are of an op."""
    return [one for one in make() if one["name"][:9] not in ("ProfilerS", "nn.Module")]


OPS: dict[str, tuple[Callable[[], list[Event]], dict[str, Any]]] = {
    "ops": (ops, {"deviceProperties": [H100]}),
    "host ops": (host_ops, {}),
    "compiled": (compiled, {"deviceProperties": [H100]}),
    "bare ops": (lambda: bare(ops), {"deviceProperties": [{**H100, "name": "A100-PCIE-40GB"}]}),
    "bare compiled": (lambda: bare(compiled), {}),
}
"""Name → events, and what else the file holds."""
