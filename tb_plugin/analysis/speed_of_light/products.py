"""The work of products, convolutions and attention: models by the places of their arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from ...trace.link.iterations import Requests
from .arguments import (
    WIDTHS,
    CallArguments,
    Model,
    OddArgumentError,
    OpWork,
    RefusedError,
    TensorArgument,
    bytes_of,
)

UPPER_LEFT, LOWER_RIGHT = 1, 2


# --- products -------------------------------------------------------------------------------------


def product(first: int, rank: int) -> Model:
    """A product of matrices, or of batches of them, from the argument ``first`` on.

    Arguments before it are added, unless ``beta`` (the first one behind the matrices) is 0.
    """

    def model(call: CallArguments) -> OpWork:
        a, b = call.tensor(first, rank), call.tensor(first + 1, rank)
        *batch, m, k = a.sizes
        *other, k2, n = b.sizes
        if k != k2 or batch != other:
            raise RefusedError("shapes")
        size = math.prod(batch)
        found = _multiplied(call, first, size * m * n, size * m * n * k)
        # In a batch of products both are activations: scores of attention.
        return found._replace(weights=b.bytes) if rank == 2 else found

    return model


def vector_product(first: int) -> Model:
    """A matrix or vector by a vector."""

    def model(call: CallArguments) -> OpWork:
        a, b = call.tensor(first), call.tensor(first + 1, 1)
        if a.sizes[-1:] != b.sizes:
            raise RefusedError("shapes")
        return _multiplied(call, first, math.prod(a.sizes[:-1]), a.count)

    return model


def _multiplied(call: CallArguments, first: int, out: int, pairs: int) -> OpWork:
    a, b = call.tensor(first), call.tensor(first + 1)
    added = call.maybe(0) if first else None
    if added is not None and call.has_values and call.value(first + 2) == 0:
        added = None
    flops = 2 * pairs
    read = (a.bytes + b.bytes if pairs else 0) + (0 if added is None else added.bytes)
    return OpWork(flops, flops, read, out * a.width, a.dtype)


def linear(call: CallArguments) -> OpWork:
    """``linear(input, weight, bias)``."""
    rows, weight = call.tensor(0), call.tensor(1, 2)
    if rows.sizes[-1] != weight.sizes[1]:
        raise RefusedError("shapes")
    out = math.prod(rows.sizes[:-1]) * weight.sizes[0]
    flops = 2 * out * weight.sizes[1]
    read = rows.bytes + weight.bytes + bytes_of(call.maybe(2))
    return OpWork(flops, flops, read, out * rows.width, rows.dtype, weight.bytes)


def scaled(call: CallArguments) -> OpWork:
    """``_scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype)``, and ``_int_mm``."""
    a, b = call.tensor(0, 2), call.tensor(1, 2)
    if a.sizes[1] != b.sizes[0]:
        raise RefusedError("shapes")
    out = a.sizes[0] * b.sizes[1]
    flops = 2 * out * a.sizes[1] * (2 if a.dtype == "float4" else 1)
    wanted = call.dtype(6) if len(call.arguments) > 6 else None
    dtype = wanted or ("int32" if a.dtype == "int8" else a.dtype)
    rest = sum(one.bytes for one in call.tensors(2))
    read = a.bytes + b.bytes + rest
    return OpWork(flops, flops, read, out * WIDTHS[dtype], a.dtype, b.bytes)


# --- convolutions ---------------------------------------------------------------------------------


class ConvolutionModel(Struct, frozen=True):
    """Where the arguments of a convolution are."""

    stride: int
    padding: int
    dilation: int
    transposed: int | None = None
    bias: int | None = 2
    always_transposed: bool = False

    def __call__(self, call: CallArguments) -> OpWork:
        image, weight = call.tensor(0), call.tensor(1)
        space = image.sizes[2:]
        rank = len(space)
        if len(weight.sizes) != len(image.sizes) or not rank:
            raise RefusedError("shapes")
        bias = None if self.bias is None else call.maybe(self.bias)
        out = self._space(call, space, weight.sizes[2:])
        is_transposed = self._is_transposed(call)
        positions = math.prod(space if is_transposed else out)
        channels = weight.sizes[0]
        if is_transposed:
            channels = weight.sizes[1] * _groups(image.sizes[1], weight.sizes[0], call, self)
        flops = 2 * image.sizes[0] * positions * weight.count
        written = image.sizes[0] * channels * math.prod(out) * image.width
        read = image.bytes + weight.bytes + (0 if bias is None else bias.bytes)
        return OpWork(flops, flops, read, written, image.dtype)

    def _is_transposed(self, call: CallArguments) -> bool:
        if self.transposed is None:
            return self.always_transposed
        return call.value(self.transposed) is True

    def _space(
        self, call: CallArguments, space: tuple[int, ...], kernel: tuple[int, ...]
    ) -> list[int]:
        rank = len(space)
        if not call.has_values:
            raise RefusedError("output")
        stride = call.numbers(self.stride, "stride", rank, least=1)
        padding = call.numbers(self.padding, "padding", rank, least=0)
        dilation = call.numbers(self.dilation, "dilation", rank, least=1)
        columns = list(zip(space, padding, dilation, kernel, stride, strict=True))
        if self._is_transposed(call):
            more = call.numbers(self._more_at, "padding", rank, least=0)
            return [
                (size - 1) * step - 2 * pad + spread * (width - 1) + extra + 1
                for (size, pad, spread, width, step), extra in zip(columns, more, strict=True)
            ]
        out = [
            (size + 2 * pad - spread * (width - 1) - 1) // step + 1
            for size, pad, spread, width, step in columns
        ]
        if min(out) < 0:
            raise OddArgumentError("a kernel larger than its image")
        return out

    @property
    def _more_at(self) -> int:
        return self.padding + 1 if self.transposed is None else self.transposed + 1


def _groups(channels: int, of_weight: int, call: CallArguments, at: ConvolutionModel) -> int:
    found = call.value(at.dilation + 1) if at.transposed is None else call.value(at.transposed + 2)
    return found if isinstance(found, int) and channels == of_weight else 1


def convolution_backward(call: CallArguments) -> OpWork:
    """``(grad_output, input, weight, bias_sizes, …, output_mask)``: a forward per gradient."""
    grad, image, weight = call.tensor(0), call.tensor(1), call.tensor(2)
    if not call.has_values:
        raise RefusedError("values")
    positions = math.prod((image if call.value(7) is True else grad).sizes[2:])
    mask = call.value(10) if len(call.arguments) > 10 else None
    mask = mask if isinstance(mask, list) and len(mask) == 3 else [True, True, False]
    flops = 2 * grad.sizes[0] * positions * weight.count * sum(map(bool, mask[:2]))
    read = grad.bytes + (weight.bytes if mask[0] else 0) + (image.bytes if mask[1] else 0)
    bias = grad.sizes[1] * grad.width
    written = mask[0] * image.count * image.width + mask[1] * weight.count * weight.width
    return OpWork(flops, flops, read, int(written + mask[2] * bias), grad.dtype)


OLD_CONVOLUTION_BACKWARD = "aten::cudnn_convolution_backward"


def old_convolution_backward(*, of_weight: bool) -> Model:
    """One gradient, by the arguments ``(input, grad_output, weight, …)`` of the op around it.

    Before torch 1.11 an op computed each, with plain sizes in place of one tensor.
    """

    def model(call: CallArguments) -> OpWork:
        image, grad, weight = call.tensor(0), call.tensor(1), call.tensor(2)
        flops = 2 * grad.count * weight.count // max(grad.sizes[1], 1)
        other, written = (image, weight) if of_weight else (weight, image)
        moved = grad.bytes + other.bytes, written.count * written.width
        return OpWork(flops, flops, *moved, grad.dtype)

    return model


# --- attention ------------------------------------------------------------------------------------


def paged_attention(call: CallArguments, lengths: Sequence[Requests]) -> OpWork:
    """``unified_attention_with_output(query, key, value, …)`` over a pool of pages.

    Heads and widths are of the arguments, lengths of the batch: Σ keys, Σ query · key. In prefill a
    query sees the keys before it alone. A sliding window is not told.
    """
    q, k, v = (call.tensor(at, 3) for at in range(3))
    return _over_pages(q, k, v, k.sizes[1], lengths)


def ragged_attention(call: CallArguments, lengths: Sequence[Requests]) -> OpWork:
    """``paged_attention_ragged(out, workspace, query, key_cache, value_cache, …)`` of decode.

    The cache is the pool: (pages, tokens, heads, width), or heads before tokens, by the layout.
    """
    q, (k, v) = call.tensor(2, 3), (call.tensor(at, 4) for at in (3, 4))
    layout = call.value(13)
    if layout not in ("NHD", "HND"):
        raise RefusedError("values")
    return _over_pages(q, k, v, k.sizes[2 if layout == "NHD" else 1], lengths[1:])


def _over_pages(
    q: TensorArgument,
    k: TensorArgument,
    v: TensorArgument,
    kv_heads: int,
    lengths: Sequence[Requests],
) -> OpWork:
    known = [one for one in lengths if one.requests or one.tokens]
    if not known or any(None in (one.keys, one.pairs) for one in known):
        raise RefusedError("lengths")
    pairs = sum(one.pairs or 0 for one in known)
    hidden = sum(max((one.squares or 0) - (one.tokens or 0), 0) // 2 for one in known)
    heads, depth, value = q.sizes[1], q.sizes[2], v.sizes[-1]
    each = 2 * heads * (depth + value)
    # The pool may be of 8 bits where keys come in 16: of two widths the one that promises less.
    width = min(one.width for one in (q, k, v))
    kept = sum(one.keys or 0 for one in known) * kv_heads * (depth + value) * width
    out = q.sizes[0] * heads * value * q.width
    return OpWork(each * pairs, each * (pairs - hidden), q.bytes + kept, out, q.dtype, kept)


class AttentionModel(Struct, frozen=True):
    """Where the arguments of attention are; heads are the dimension ``heads`` of query."""

    causal: int | None = None
    heads: int = 1
    mask: int | None = None
    lengths: tuple[int, int] | None = None
    query: int = 0
    result: int | None = None  # of backward: the output of forward, followed by logsumexp
    is_code: bool = False  # 0 none, 1 upper left, 2 lower right
    side: int = UPPER_LEFT
    # Least number of arguments, and the flag, of an overload of the same name that takes scales.
    scaled: tuple[int, int] | None = None

    def __call__(self, call: CallArguments) -> OpWork:
        q, k, v = (call.tensor(self.query + at, 4) for at in range(3))
        if self.lengths and any(call.maybe(at) is not None for at in self.lengths):
            raise RefusedError("lengths")
        if self.heads == 1:
            batch, heads, rows, depth = q.sizes
            columns = k.sizes[2]
        else:
            batch, rows, heads, depth = q.sizes
            columns = k.sizes[1]
        value = v.sizes[3]
        whole = batch * heads * rows * columns
        pairs = batch * heads * self._pairs(call, rows, columns)
        mask = None if self.mask is None else call.maybe(self.mask)
        # Attention of 8-bit floats has an output of bfloat16.
        out = batch * heads * rows * value * (2 if q.dtype == "float8" else q.width)
        stats = 4 * batch * heads * rows
        read = q.bytes + k.bytes + v.bytes + (0 if mask is None else mask.bytes)
        if self.query == 0:
            each = 2 * (depth + value)
            kept = k.bytes + v.bytes
            return OpWork(each * whole, each * pairs, read, out + stats, q.dtype, kept)
        each = 2 * (3 * depth + 2 * value)
        written = q.count * q.width + k.count * k.width + v.count * v.width
        read += bytes_of(call.tensor(0)) + out + stats
        return OpWork(each * whole, each * pairs, read, written, q.dtype)

    def _pairs(self, call: CallArguments, rows: int, columns: int) -> int:
        given = None
        causal = self.causal
        if self.scaled is not None and len(call.arguments) >= self.scaled[0]:
            causal = self.scaled[1]
        if causal is not None and call.has_values:
            given = call.value(causal)
        side = self.side if given is True else 0
        if self.is_code and isinstance(given, int):
            side = int(given)
        if not side:
            return rows * columns
        # Row i sees i + 1 columns, and those that lie before the first row.
        before = columns - rows if side == LOWER_RIGHT else 0
        first = max(before + 1, 0)
        last = min(before + rows, columns)
        if last <= 0:
            return 0
        count = last - first + 1
        seen = count * (first + last) // 2
        return seen + columns * max(before + rows - columns, 0)
