"""How many floating point operations does a call do? Models by op and input shapes.

Sources: a multiply and an add are two operations, so a matrix product [m,k]×[k,n] does 2·m·n·k; a
convolution 2·batch·out_positions·out_channels·kernel·in_channels/groups; its backward pass once
that for each gradient it computes; attention two matrix products forward, five backward.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...trace.columns import cells, take, where
from ...trace.model import Trace

I32 = NDArray[np.int32]
F64 = NDArray[np.float64]
Dims = Sequence[Any]  # of each input: a list of sizes, [] for what is no tensor
Inputs = Sequence[str]  # concrete values where recorded, "" for tensors
Model = Callable[[Dims, Inputs], float]
UNKNOWN = math.nan


def _sizes(dims: Dims, at: int, rank: int) -> list[int]:
    """The sizes of an input of this rank (0: any). Raises ValueError when it is something else."""
    sizes = dims[at]
    if not isinstance(sizes, list) or not all(isinstance(size, int) for size in sizes):
        raise ValueError("no tensor")
    if (rank and len(sizes) != rank) or not sizes:
        raise ValueError("another rank")
    return sizes


def _mm(dims: Dims, first: int) -> float:
    m, k = _sizes(dims, first, 2)
    k2, n = _sizes(dims, first + 1, 2)
    if k != k2:
        raise ValueError("shapes do not fit")
    return 2.0 * m * n * k


def _bmm(dims: Dims, first: int) -> float:
    b, m, k = _sizes(dims, first, 3)
    b2, k2, n = _sizes(dims, first + 1, 3)
    if (b, k) != (b2, k2):
        raise ValueError("shapes do not fit")
    return 2.0 * b * m * n * k


def _linear(dims: Dims, _: Inputs) -> float:
    rows, weight = _sizes(dims, 0, 0), _sizes(dims, 1, 2)
    if rows[-1] != weight[1]:
        raise ValueError("shapes do not fit")
    return 2.0 * math.prod(rows[:-1]) * weight[0] * weight[1]


def _numbers(inputs: Inputs, at: int) -> list[int]:
    value = json.loads(inputs[at])
    return [int(one) for one in (value if isinstance(value, list) else [value])]


def _conv(dims: Dims, inputs: Inputs) -> float:
    """``aten::convolution(input, weight, bias, stride, padding, dilation, transposed, …)``."""
    image, weight = _sizes(dims, 0, 0), _sizes(dims, 1, 0)
    space = image[2:]
    rank = len(space)
    if len(weight) != len(image) or not rank:
        raise ValueError("another rank")
    if inputs[6].lower() == "true":
        positions = math.prod(space)
        return 2.0 * image[0] * positions * math.prod(weight)
    stride, padding, dilation = (_wide(_numbers(inputs, at), rank) for at in (3, 4, 5))
    out = [
        (size + 2 * pad - spread * (kernel - 1) - 1) // step + 1
        for size, pad, spread, kernel, step in zip(
            space, padding, dilation, weight[2:], stride, strict=True
        )
    ]
    return 2.0 * image[0] * math.prod(out) * math.prod(weight)


def _wide(values: list[int], rank: int) -> list[int]:
    return values * rank if len(values) == 1 else values


def _conv_backward(dims: Dims, inputs: Inputs) -> float:
    """``(grad_output, input, weight, …, output_mask)``: each wanted gradient costs a forward."""
    out, weight = _sizes(dims, 0, 0), _sizes(dims, 2, 0)
    transposed = inputs[7].lower() == "true"
    image = _sizes(dims, 1, 0)
    positions = math.prod((image if transposed else out)[2:])
    mask = json.loads(inputs[10].lower()) if len(inputs) > 10 and inputs[10] else [True, True]
    return 2.0 * out[0] * positions * math.prod(weight) * sum(map(bool, mask[:2]))


def _attention(dims: Dims, scale: float) -> float:
    b, h, q, d = _sizes(dims, 0, 4)
    k, v = _sizes(dims, 1, 4), _sizes(dims, 2, 4)
    return scale * 2.0 * b * h * q * k[2] * (d + v[3])


MODELS: Mapping[str, Model] = {
    "aten::mm": lambda d, _: _mm(d, 0),
    "aten::addmm": lambda d, _: _mm(d, 1),
    "aten::_addmm_activation": lambda d, _: _mm(d, 1),
    "aten::_scaled_mm": lambda d, _: _mm(d, 0),
    "aten::_int_mm": lambda d, _: _mm(d, 0),
    "aten::bmm": lambda d, _: _bmm(d, 0),
    "aten::baddbmm": lambda d, _: _bmm(d, 1),
    "aten::linear": _linear,
    "aten::convolution": _conv,
    "aten::convolution_backward": _conv_backward,
    "aten::_flash_attention_forward": lambda d, _: _attention(d, 1.0),
    "aten::_scaled_dot_product_flash_attention": lambda d, _: _attention(d, 1.0),
    "aten::_scaled_dot_product_efficient_attention": lambda d, _: _attention(d, 1.0),
    "aten::_scaled_dot_product_cudnn_attention": lambda d, _: _attention(d, 1.0),
    "aten::_scaled_dot_product_flash_attention_for_cpu": lambda d, _: _attention(d, 1.0),
}


def flops_of(trace: Trace, rows: I32, shapes: I32) -> F64:
    """The operations of each of these host rows, by its own model; NaN where there is none.

    A call inside another one with a model counts too: whoever sums takes the innermost ones.
    """
    result = np.full(len(rows), UNKNOWN)
    modelled = np.array([name in MODELS for name in trace.strings], np.bool_)
    asked = where(take(modelled, take(trace.host.name, rows)) & (shapes >= 0))
    calls = take(rows, asked)
    values = cells(trace.host.args.get("concrete_inputs"), calls, -1)
    answers: dict[tuple[int, int, int], float] = {}
    keys = zip(
        take(trace.host.name, calls).tolist(), shapes[asked].tolist(), values.tolist(), strict=True
    )
    for at, key in zip(asked.tolist(), keys, strict=True):
        if key not in answers:
            answers[key] = _answer(trace, *key)
        result[at] = answers[key]
    return result


def _answer(trace: Trace, name: int, shapes: int, values: int) -> float:
    try:
        dims = json.loads(trace.strings[shapes])
        inputs = json.loads(trace.strings[values]) if values >= 0 else []
        return MODELS[trace.strings[name]](dims, inputs)
    except (ValueError, IndexError, TypeError, AttributeError):
        return UNKNOWN
