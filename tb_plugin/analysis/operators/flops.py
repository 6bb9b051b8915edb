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
from msgspec import Struct

from ...base.arrays import F64, I32, cells, pairs_of, put, take, where
from ...trace.model import Trace

Dims = Sequence[Any]  # of each input: a list of sizes, [] for what is no tensor
Inputs = Sequence[str]  # concrete values where recorded, "" for tensors
Model = Callable[[Dims, Inputs], float]
UNKNOWN = math.nan
MOST_RANK = 64
"""The limit of torch; the product of a million sizes would take minutes."""
SIZE_END = 2**63


class OddArgumentError(ValueError):
    """A number that no call can have had; the message names it: "a stride of 0"."""


class OddArguments(Struct, frozen=True):
    """The number of calls that have a model but unusable arguments."""

    calls: int
    example: str  # "`aten::convolution` has a stride of 0"


def _sizes(dims: Dims, at: int, rank: int) -> list[int]:
    """The sizes of an input of this rank (0: any). Raises ValueError for anything else."""
    sizes = dims[at]
    if not isinstance(sizes, list) or not all(isinstance(size, int | float) for size in sizes):
        raise ValueError("no tensor")
    if (rank and len(sizes) != rank) or not 0 < len(sizes) <= MOST_RANK:
        raise ValueError("another rank")
    return [_integer(size, "size", least=0) for size in sizes]


def _integer(value: object, what: str, least: int) -> int:
    """A whole number of 64 bits. Raises OddArgumentError."""
    if type(value) is int and least <= value < SIZE_END:
        return value
    shown = str(value) if isinstance(value, float) or value in (0, -1) else "an impossible number"
    raise OddArgumentError(f"a {what} of {shown}")


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


def _numbers(inputs: Inputs, at: int, what: str, rank: int, least: int) -> list[int]:
    """One number for each dimension; a single number applies to all."""
    value = json.loads(inputs[at])
    given = value if isinstance(value, list) else [value]
    if len(given) not in {1, rank}:
        raise ValueError("another rank")
    numbers = [_integer(one, what, least) for one in given]
    return numbers * rank if len(numbers) == 1 else numbers


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
    stride = _numbers(inputs, 3, "stride", rank, least=1)
    padding = _numbers(inputs, 4, "padding", rank, least=0)
    dilation = _numbers(inputs, 5, "dilation", rank, least=1)
    out = [
        (size + 2 * pad - spread * (kernel - 1) - 1) // step + 1
        for size, pad, spread, kernel, step in zip(
            space, padding, dilation, weight[2:], stride, strict=True
        )
    ]
    if min(out) < 0:
        raise OddArgumentError("a kernel larger than its image")
    return 2.0 * image[0] * math.prod(out) * math.prod(weight)


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


def flops_of(trace: Trace, rows: I32, shapes: I32) -> tuple[F64, OddArguments]:
    """The operations of each of these host rows, by its own model; NaN where there is none.

    Arguments that cannot be computed with cost the figure of their own call.

    A call inside another one with a model counts too: a sum must take the innermost ones.
    """
    result = np.full(len(rows), UNKNOWN)
    modelled = np.array([name in MODELS for name in trace.strings], np.bool_)
    shaped = where(shapes >= 0)
    asked = shaped[take(modelled, take(trace.host.name, take(rows, shaped)))]
    calls = take(rows, asked)
    values = cells(trace.host.args.get("concrete_inputs"), calls, -1)
    # Each combination of op, shapes and values is computed once, by the first call that has it.
    name, dims = take(trace.host.name, calls), take(shapes, asked)
    of_shapes = pairs_of(name, dims, len(trace.strings))[2]
    size = max(len(trace.strings), len(calls)) + 1
    of_call = pairs_of(of_shapes, (values + 1).astype(np.int32), size)[2]
    first = np.empty(int(of_call.max(initial=-1)) + 1, np.int64)
    first[of_call[::-1]] = np.arange(len(calls) - 1, -1, -1)
    keys = zip(*(one[first].tolist() for one in (name, dims, values)), strict=True)
    answers = [_answer(trace, *key) for key in keys]
    put(result, asked, take(np.array([found for found, _ in answers]), of_call))
    odd = [at for at, (_, reason) in enumerate(answers) if reason]
    if not odd:
        return result, OddArguments(0, "")
    earliest = min(odd, key=lambda at: int(first[at]))
    example = f"`{trace.strings[name[first[earliest]]]}` has {answers[earliest][1]}"
    return result, OddArguments(int(np.bincount(of_call)[odd].sum()), example)


def _answer(trace: Trace, name: int, shapes: int, values: int) -> tuple[float, str]:
    """The operations of a call, NaN where unknown; and the problem with its arguments."""
    try:
        dims = json.loads(trace.strings[shapes])
        inputs = json.loads(trace.strings[values]) if values >= 0 else []
        found = float(MODELS[trace.strings[name]](dims, inputs))
    except OddArgumentError as error:
        return UNKNOWN, str(error)
    except OverflowError:
        return UNKNOWN, "sizes whose product is no number"
    # A text that is no JSON, nests too deeply, or lacks what the model needs.
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return UNKNOWN, ""
    return (found, "") if math.isfinite(found) else (UNKNOWN, "sizes whose product is no number")
