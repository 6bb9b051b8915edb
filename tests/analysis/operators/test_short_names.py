"""Short names tell the rows of a table apart."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.operators.short_names import demangled, short_names
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces

NATIVE = "void at::native::"
VECTOR = f"{NATIVE}vectorized_elementwise_kernel<4, at::native::"
SQRT = (
    f"{VECTOR}sqrt_kernel_cuda(at::TensorIteratorBase&)::{{lambda()#2}}::operator()() const::"
    "{lambda(float)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)"
)
ADD = f"{VECTOR}CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, std::array<char*, 3ul>)"
ADD_HALF = ADD.replace("<float>", "<c10::Half>")
COPY = (
    f"{NATIVE}elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::"
    "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> > >"
    "(at::TensorIteratorBase&, int)::{lambda(int)#1}>(int, float)"
)
TENSILE = "Cijk_Ailk_Bljk_HHS_BH_MT{}x64x32_MI16x16x16x1_SN_1LDSB0_APM1_ABV0_ACED0_AF0EM1_AF1EM1_{}"


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (
            [SQRT, ADD],
            [
                "vectorized_elementwise_kernel<sqrt_kernel_cuda>",
                "vectorized_elementwise_kernel<CUDAFunctor_add>",
            ],
        ),
        (
            [ADD, ADD_HALF, SQRT],
            [
                "vectorized_elementwise_kernel<CUDAFunctor_add<float>>",
                "vectorized_elementwise_kernel<CUDAFunctor_add<Half>>",
                "vectorized_elementwise_kernel<sqrt_kernel_cuda>",
            ],
        ),
        ([COPY], ["elementwise_kernel<MulFunctor>"]),
        (["void f<int, 4>(int*)", "void f<int, 8>(int*)"], ["f<4>", "f<8>"]),
        (["void ours::f<int>(int*)"], ["f"]),
        (["std::enable_if<((8)>(0)), void>::type vllm::norm<c10::Half, 8>(int)"], ["norm"]),
        (["ncclKernel_AllReduce_Sum(ncclComm*, unsigned long)"], ["ncclKernel_AllReduce_Sum"]),
        (
            ["_ZN5aiter3fmhILi128ELb1EfEEvPKfS1_", "_ZN5aiter3fmhILi64ELb1EfEEvPKfS1_"],
            ["fmh<128>", "fmh<64>"],
        ),
        (
            [TENSILE.format(128, "K1"), TENSILE.format(256, "K1")],
            [
                "Cijk_Ailk_Bljk…MT128x64x32_MI16x16x16x1…",
                "Cijk_Ailk_Bljk…MT256x64x32_MI16x16x16x1…",
            ],
        ),
        (
            [TENSILE.format(128, "K1"), TENSILE.format(128, "K2")],
            [
                "Cijk_Ailk_Bljk…MT128x64x32_MI16x16x16x1…K1",
                "Cijk_Ailk_Bljk…MT128x64x32_MI16x16x16x1…K2",
            ],
        ),
    ],
)
def test_what_differs_is_shown(names: list[str], short: list[str]) -> None:
    assert short_names(names) == short


@pytest.mark.parametrize(
    "name",
    [
        "aten::mm",
        "train.py(12): step",
        "<built-in method mm of type object at 0x7f0000000000>",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
        "Memcpy HtoD (Pageable -> Device)",
        "autograd::engine::evaluate_function: torch::autograd::CppNode<F>",
        "step (1)",
        "f<int",
        "_Zno",
        "_ZN5aiter99fE",
        "",
    ],
)
def test_what_is_no_function_of_cpp_stays(name: str) -> None:
    assert short_names([name]) == [name]


def test_equal_shortenings_stay_whole() -> None:
    names = ["void a::f<int>(int*)", "void b::f<int>(int*)"]
    assert short_names(names) == names


@given(st.lists(st.text("f<>(){}:, *_Z1NEIaLi…void", max_size=40), max_size=8))
@settings(max_examples=300, deadline=None)
def test_different_names_never_share_a_short_one(names: list[str]) -> None:
    short = dict(zip(names, short_names(names), strict=True))
    assert len(set(short.values())) == len(short)


MANGLED = [
    "_ZN5aiter10fmha_fwd_dILi128ELb1EfEEvPKfS1_",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
    "_ZN7ck_tile6kentryILi1ENS_13FmhaFwdKernelIfEEJifEEEvT1_",
    "_Z6kernelPf",
    "_ZN12_GLOBAL__N_18softmax_IN3c104HalfELin2EEEvv",
    "_ZN1a1bINS_1cIiEES2_EEvT_",
]


@pytest.mark.parametrize("name", MANGLED)
def test_mangled_names_are_read_as_the_compilers_library_reads_them(name: str) -> None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        pytest.skip("no libstdc++ on this machine")
    read_name = library.__cxa_demangle
    read_name.restype = ctypes.c_void_p
    status = ctypes.c_int()
    found = read_name(name.encode(), None, None, ctypes.byref(status))
    assert status.value == 0
    whole = re.sub(r"(?<=\d)ul\b", "", ctypes.string_at(found).decode()).replace(" >", ">")
    assert whole.removeprefix("void ").startswith(f"{demangled(name)}(")


@requires_traces
@pytest.mark.parametrize(
    "name",
    [
        "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "tracelens/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
        "dlrm_8rank_v100/worker0_step_12.1694128201545.pt.trace.json.gz",
    ],
)
def test_kernels_of_real_traces_are_told_apart_in_sixty_characters(name: str) -> None:
    trace = read(Path(TRACES, name))
    names = sorted({trace.strings[code] for code in trace.device.name.tolist()})
    short = short_names(names)
    assert len(set(short)) == len(names)
    readable = [one for one in short if len(one) <= 60]
    assert len(readable) >= 0.9 * len(short)
