"""Drawn calls of all models of ops, and each of them with one argument changed at a time.

Sizes are all different, so that no product of some equals that of others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from kinetoscope.analysis.speed_of_light.arguments import (
    WIDTHS,
    Argument,
    CallArguments,
    RefusedError,
    TensorArgument,
)
from kinetoscope.analysis.speed_of_light.models import work_of

DTYPES = ("float32", "float16", "float64", "int64", "bool", "float8", "")
VALUES = ("", "0", "1", "2", "-1", "5", "True", "False", "[1]", "[]", "[2, 1]", "[0, 1, 1]", "mean")


class Drawn(NamedTuple):
    """A call: tensors as "3x5 float16", lists of them in brackets, other arguments as values."""

    arguments: str
    has_values: bool = True

    def call(self) -> CallArguments:
        """Its arguments, in the order of the op."""
        words = [word.strip() for word in self.arguments.split(";")]
        found = [_argument(word) for word in words]
        values = ["" if one is not None else word for word, one in zip(words, found, strict=True)]
        return CallArguments(tuple(found), tuple(values), self.has_values)


def _argument(word: str) -> Argument:
    if word.startswith("{"):
        return tuple(filter(None, (_tensor(one) for one in word.strip("{}").split(","))))
    return _tensor(word)


def _tensor(word: str) -> TensorArgument | None:
    sizes, _, dtype = word.strip().rpartition(" ")
    if dtype not in WIDTHS:
        return None
    return TensorArgument(tuple(int(one) for one in sizes.split("x") if one), (), dtype)


_Q, _K, _V = "2x3x17x8 float16", "2x3x19x8 float16", "2x3x19x7 float16"
_ROWS = "2x17x3x8 float16; 2x19x3x8 float16; 2x19x3x7 float16"
_CONV = "2x6x9x11 float32; 4x3x3x5 float32; 4 float32"
_BACK = "2x3x17x7 float16"
CALLS: dict[str, tuple[str, ...]] = {
    "mm": ("3x5 float32; 5x7 float32",),
    "bmm": ("2x3x5 float16; 2x5x7 float16",),
    "addmm": ("7 float32; 3x5 float32; 5x7 float32; 1; 1",),
    "baddbmm": ("2x3x7 float32; 2x3x5 float32; 2x5x7 float32; 0; 1",),
    "mv": ("3x5 float32; 5 float32",),
    "dot": ("5 float64; 5 float64",),
    "addmv": ("3 float32; 3x5 float32; 5 float32; 2; 1",),
    "linear": ("2x3x5 float16; 7x5 float16; 7 float16",),
    "_scaled_mm": ("3x16 float8; 16x5 float8; 3x1 float32; 1x5 float32; 5 float16; ; 15; False",),
    "_int_mm": ("3x5 int8; 5x7 int8",),
    "convolution": (
        f"{_CONV}; [2, 1]; [1, 0]; [1, 2]; False; [0, 0]; 2",
        "2x6x9x11 float32; 6x4x3x5 float32; 4 float32; [2, 1]; [1, 0]; [1, 2]; True; [1, 0]; 1",
        "2x6x9x11 float32; 6x4x3x5 float32; ; [2, 1]; [1, 0]; [1, 1]; True; [1, 0]; 3",
        "2x6x9 float32; 4x6x3 float32; ; [2]; [1]; [1]; False; [0]; 1",
    ),
    "cudnn_convolution": ("2x6x9x11 float16; 4x6x3x5 float16; [1, 0]; [2, 1]; [1, 1]; 1; True",),
    "cudnn_convolution_relu": (f"{_CONV}; [2, 1]; [1, 0]; [1, 2]; 2",),
    "miopen_convolution": (f"{_CONV}; [1, 0]; [2, 1]; [1, 2]; 2; True; False",),
    "cudnn_convolution_transpose": (
        "2x6x9x11 float32; 6x4x3x5 float32; [1, 0]; [1, 0]; [2, 1]; [1, 1]; 1; True",
        "2x6x9x11 float32; 6x4x3x5 float32; [1, 0]; [1, 0]; [2, 1]; [1, 1]; 2; True",
    ),
    "convolution_backward": (
        (
            "2x4x5x7 float32; 2x6x9x11 float32; 4x3x3x5 float32; [4]; [2, 1]; [1, 0]; [1, 2];"
            " False; [0, 0]; 2; [True, True, True]"
        ),
        (
            "2x4x5x7 float16; 2x6x9x11 float16; 6x4x3x5 float16; [4]; [2, 1]; [1, 0]; [1, 2]; True;"
            " [0, 0]; 1; [False, True, False]"
        ),
    ),
    "cudnn_convolution_backward_input": ("2x6x9x11 float32; 2x4x5x7 float32; 4x3x3x5 float32",),
    "cudnn_convolution_backward_weight": ("2x6x9x11 float32; 2x4x5x7 float32; 4x3x3x5 float32",),
    "_scaled_dot_product_flash_attention": (
        f"{_Q}; {_K}; {_V}; 0.0; True; False; ",
        f"{_K}; {_Q}; 2x3x17x7 float16; 0.0; True; False; ",
        (
            "2x3x17x8 float8; 2x3x19x8 float8; 2x3x19x7 float8; 2x3 float32; 2x3 float32; 2x3"
            " float32; 0.0; True; False; "
        ),
    ),
    "_scaled_dot_product_efficient_attention": (
        f"{_Q}; {_K}; {_V}; 17x19 float16; True; 0.0; True; ",
    ),
    "_scaled_dot_product_cudnn_attention": (
        f"{_Q}; {_K}; {_V}; 17x19 float16; True; 0.0; True; False; ",
    ),
    "_scaled_dot_product_fused_attention_overrideable": (
        f"{_Q}; {_K}; {_V}; 17x19 float16; 0.0; True; False; ",
    ),
    "_scaled_dot_product_flash_attention_for_cpu": (
        f"{_Q}; {_K}; {_V}; 0.0; True; 17x19 float16; ",
    ),
    "_flash_attention_forward": (f"{_ROWS}; ; ; 17; 19; 0.0; True; False",),
    "_efficient_attention_forward": tuple(
        f"{_ROWS}; 17x19 float16; ; ; 17; 19; 0.0; {code}; True" for code in "012"
    ),
    "_scaled_dot_product_flash_attention_backward": (
        f"{_BACK}; {_Q}; {_K}; {_V}; {_BACK}; 2x3x17 float32; ; ; 17; 19; 0.0; True; ; ",
    ),
    "_scaled_dot_product_efficient_attention_backward": (
        f"{_BACK}; {_Q}; {_K}; {_V}; 17x19 float16; {_BACK}; 2x3x17 float32; ; ; 0.0; [True]; True",
    ),
    "_scaled_dot_product_cudnn_attention_backward": (
        (
            f"{_BACK}; {_Q}; {_K}; {_V}; {_BACK}; 2x3x17 float32; ; ; 17x19 float16; ; ; 17; 19;"
            " 0.0; True"
        ),
    ),
    "_scaled_dot_product_flash_attention_for_cpu_backward": (
        f"{_BACK}; {_Q}; {_K}; {_V}; {_BACK}; 2x3x17 float32; 0.0; True; 17x19 float16",
    ),
    "_flash_attention_backward": (
        f"2x17x3x7 float16; {_ROWS}; 2x17x3x7 float16; 2x3x17 float32; ; ; 17; 19; 0.0; True; ; ",
    ),
    "_efficient_attention_backward": tuple(
        f"2x17x3x7 float16; {_ROWS}; 17x19 float16; 2x17x3x7 float16; ; ; 17; 19; 2x3x17 float32;"
        f" 0.0; ; ; {code}; True"
        for code in "012"
    ),
    "relu": ("3x5 float32",),
    "exp": ("3x5 int64", "3x5 float16; 3x5 float32"),
    "add": ("3x5 float32; 5 float16; 1", "3x1 int64; 1x5 bool; 1", "3x5 float32; float64; 1"),
    "div": ("3x5 int64; 5 int64", "2x3x5 float16; 3x1 float32"),
    "eq": ("3x5 float32; 5 float16",),
    "isnan": ("3x5 float32",),
    "masked_fill": ("3x5 float16; 3x5 bool; 0.5",),
    "where": ("3x5 bool; 5 float16; 3x1 float32",),
    "addcmul": ("3x5 float32; 3x5 float32; 5 float32; 1",),
    "relu_": ("3x5 float32",),
    "mul_": ("3x5 float32; 5 float16",),
    "masked_fill_": ("3x5 float16; 3x5 bool; 0.5",),
    "addcmul_": ("3x5 float32; 3x5 float32; 5 float32; 1",),
    "zero_": ("3x5 float32",),
    "copy_": ("3x5 float32; 5 float64; False",),
    "_to_copy": tuple(
        f"3x5 float32; {code}; ; ; ; ; " for code in (*range(12), 15, *range(23, 28))
    ),
    "clone": ("3x5 float32; ",),
    "cat": ("{3x5 float32, 2x5 float16}; 0", "{3x5 float32, 2x5 float16}; 5x5 float16"),
    "constant_pad_nd": ("3x5x7 float32; [1, 2, 3, -1]; 0",),
    "native_dropout": ("3x5 float32; 0.5; True",),
    "mse_loss": ("3x5 float32; 5 float64; 0", "3x5 float32; 5 float64; 1"),
    "mse_loss_backward": ("float32; 3x5 float64; 5 float32; 1",),
    "nll_loss_forward": ("3x5 float32; 3 int64; 5 float32; 0; -100",),
    "nll_loss_backward": ("float32; 3x5 float32; 3 int64; 5 float32; 1; -100; float32",),
    "sum": ("3x5x7 int64; [1]; False; ", "3x5x7 float16; [0, -1]; False; 6", "3x5x7 bool; "),
    "mean": ("3x5x7 float32; [1]; False; ",),
    "var": ("3x5x7 float32; [1]; 1; False",),
    "var_mean": ("3x5x7 float32; [1]; 1; False",),
    "max": ("3x5x7 float32; 1; False", "3x5 float32; 5 float16", "3x5x7 float32"),
    "argmax": ("3x5x7 float32; 1; False",),
    "any": ("3x5x7 bool; 1; False",),
    "linalg_vector_norm": ("3x5x7 float16; 2; [1]; False; 6", "3x5x7 float16; 2; []; False; "),
    "cumsum": ("3x5 int64; 1; ", "3x5 float16; 0; "),
    "sort": ("3x5 float16; 1; False",),
    "topk": ("3x5x7 float32; 2; 1; True; True",),
    "_softmax": ("3x5 float16; 1; True", "3x5 float16; 1; False"),
    "_softmax_backward_data": ("3x5 float32; 3x5 float32; 1; 5",),
    "native_layer_norm": ("4x3x10 float32; [3, 10]; 3x10 float32; 3x10 float32; 1e-05",),
    "_fused_rms_norm": ("4x3x10 float16; [10]; 10 float32; 1e-05",),
    "native_layer_norm_backward": (
        (
            "4x3x10 float32; 4x3x10 float16; [10]; 4x3 float32; 4x3 float32; 10 float32; 10"
            " float32; [True, False, True]"
        ),
    ),
    "_fused_rms_norm_backward": (
        "4x3x10 float32; 4x3x10 float16; [10]; 4x3 float32; 10 float32; [True, True]",
    ),
    "native_group_norm": ("4x6x10 float16; 6 float16; 6 float16; 4; 6; 10; 3; 1e-05",),
    "native_group_norm_backward": (
        (
            "4x6x10 float16; 4x6x10 float32; 4x3 float32; 4x3 float32; 6 float16; 4; 6; 10; 3;"
            " [True, False, True]"
        ),
    ),
    "native_batch_norm": (
        "4x3x10 float32; 3 float32; 3 float32; 3 float64; 3 float32; True; 0.1; 1e-05",
        "4x3x10 float32; 3 float32; 3 float32; 3 float64; 3 float32; False; 0.1; 1e-05",
    ),
    "native_batch_norm_backward": (
        (
            "4x3x10 float32; 4x3x10 float16; 3 float32; 3 float32; 3 float32; 3 float64; 3 float32;"
            " True; 1e-05; [True, True, True]"
        ),
    ),
    "cudnn_batch_norm_backward": (
        (
            "4x3x10 float32; 4x3x10 float16; 3 float32; 3 float32; 3 float32; 3 float64; 3 float32;"
            " 1e-05; 9 bool"
        ),
    ),
    "embedding": ("50x7 float16; 2x3 int64; -1; False; False",),
    "index_select": ("5x3x7 float32; 1; 2 int64",),
    "gather": ("5x7 float32; 1; 5x2 int64; False",),
    "scatter_": ("5x7 float32; 1; 5x2 int64; 5x2 float16", "5x7 float32; 1; 5x2 int64; 0.5"),
    "scatter_add_": ("5x7 float32; 1; 5x2 int64; 5x2 float32",),
    "embedding_dense_backward": ("2x3x7 float16; 2x3 int64; 50; -1; False",),
    "_foreach_add": ("{3x5 float32, 2 float16}; {3x5 float32, 2 float32}; 1",),
    "_foreach_add_": ("{3x5 float32, 2 float16}; {3x5 float32, 2 float32}; 1",),
    "_foreach_copy_": ("{3x5 float32, 2 float16}; {3x5 float64, 2 float32}; False",),
    "_foreach_zero_": ("{3x5 float32, 2 float16}",),
    "_foreach_norm": ("{3x5 float32, 2 float16}; 2",),
    "_fused_adamw_": (
        (
            "{3x5 float32, 2 float32}; {3x5 float16, 2 float16}; {3x5 float32, 2 float32};"
            " {3x5 float64, 2 float64}; {}; {float32, float32}; 0.1"
        ),
    ),
    "max_pool2d_with_indices": (
        "2x3x9x11 float32; [3, 5]; [2, 1]; [1, 2]; [1, 1]; False",
        "2x3x9x11 float32; [3]; []; [0]; [2]; True",
    ),
    "max_pool2d_with_indices_backward": (
        "2x3x4x5 float32; 2x3x9x11 float16; [3]; []; [0]; [1]; False; 2x3x4x5 int64",
    ),
    "_adaptive_avg_pool2d": ("2x3x9x11 float32; [4, 5]",),
    "_adaptive_avg_pool2d_backward": ("2x3x4x5 float32; 2x3x9x11 float16",),
    "_C::rms_norm": ("3x5 float16; 3x5 float32; 5 float32; 1e-05",),
    "_C::fused_add_rms_norm": ("3x5 float16; 3x5 float32; 5 float64; 1e-05",),
    "aiter::rmsnorm2d_fwd_with_add_ck": (
        "3x5 float16; 3x5 float32; 3x5 float16; 3x5 float64; 5 float16; 1e-05",
    ),
    "_C::rotary_embedding": ("3 int64; 3x8 float16; 3x4 float16; 4; 99x4 float16; True",),
    "_C_cache_ops::reshape_and_cache_flash": ("3x2x4 float16; 3x2x5 float16; 9x9 float16",),
    "triton_poi_fused_add_0": ("3x5 float16; 5 float32; 3x5 float64; 15",),
    "triton_tem_fused_mm_0": ("3x5 float16; 5 float32; 3x5 float64; 15",),
}
"""Name of an op, "aten::" left out → calls of it."""


def figure_of(name: str, call: CallArguments) -> list[object]:
    """What the model says of a call; the reason, where it refuses."""
    try:
        return [*work_of(name, call)]
    except RefusedError as error:
        return [str(error)]


def drawn_calls() -> Iterator[tuple[str, CallArguments]]:
    """All calls, by the name of their op and the number among its calls."""
    for short, calls in CALLS.items():
        name = short if "::" in short or short.startswith("triton_") else f"aten::{short}"
        for text in calls:
            yield name, Drawn(text).call()


def changes(call: CallArguments) -> Iterator[CallArguments]:
    """The call with one argument left out, or another size, stride, type or value."""
    for at, one in enumerate(call.arguments):
        for other in _others(one):
            yield replace(call, arguments=_with(call.arguments, at, other))
        if one is None:
            for value in VALUES:
                yield replace(call, values=_with(call.values, at, value))
        yield replace(call, arguments=call.arguments[:at], values=call.values[:at])
    yield replace(call, values=(), has_values=False)
    yield replace(call, arguments=(*call.arguments, None), values=(*call.values, "True"))


def _others(one: Argument) -> Iterator[Argument]:
    if one is None:
        return
    yield None
    if isinstance(one, tuple):
        yield ()
        yield one[:1]
        for at, inner in enumerate(one):
            for other in _others(inner):
                yield _with(one, at, other) if isinstance(other, TensorArgument) else one
        return
    for dtype in DTYPES:
        yield TensorArgument(one.sizes, (), dtype)
    strides = [1] * len(one.sizes)
    for at in range(len(one.sizes)):
        yield TensorArgument(one.sizes, _with(tuple(strides), at, 0), one.dtype)
        for size in (0, 1, one.sizes[at] + 1):
            yield TensorArgument(_with(one.sizes, at, size), (), one.dtype)
    yield TensorArgument((*one.sizes, 2), (), one.dtype)
    yield TensorArgument(one.sizes[1:], (), one.dtype)


def _with(parts: Sequence[Any], at: int, other: object) -> tuple[Any, ...]:
    return (*parts[:at], other, *parts[at + 1 :])
