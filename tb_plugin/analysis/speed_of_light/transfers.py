"""The work of ops that move data: element by element, reductions, norms, tables, lists, pools."""

from __future__ import annotations

import math

from msgspec import Struct

from .arguments import (
    WIDTHS,
    CallArguments,
    Model,
    OpWork,
    RefusedError,
    TensorArgument,
    broadcast,
    bytes_of,
    is_floating,
    moves,
    promoted,
)

# --- element by element ---------------------------------------------------------------------------


class ElementwiseModel(Struct, frozen=True):
    """Every element of the out once; the first ``inputs`` arguments are read, others are out=.

    ``out``: the type, "" for that of the inputs, "float" where integers become float32, "where" for
    that of the last two, "first" for that of the first.
    """

    inputs: int
    out: str = ""
    in_place: bool = False
    reads_own: bool = True

    def __call__(self, call: CallArguments) -> OpWork:
        read = [one for one in call.arguments[: self.inputs] if isinstance(one, TensorArgument)]
        if not read:
            raise RefusedError("shapes")
        if self.in_place:
            own = read[0]
            rest = read if self.reads_own else read[1:]
            return moves(bytes_of(*rest) if rest else 0, own.bytes)
        given = [one for one in call.tensors(self.inputs) if one.sizes]
        if given:
            return moves(bytes_of(*read), given[0].bytes)
        count = broadcast([one.sizes for one in read])
        return moves(bytes_of(*read), count * WIDTHS[self._dtype(read)])

    def _dtype(self, read: list[TensorArgument]) -> str:
        if self.out == "first":
            read = read[:1]
        elif self.out == "where":
            read = read[1:] or read
        dtype = promoted(read)
        if self.out == "float":
            return dtype if is_floating(dtype) else "float32"
        return self.out if self.out in WIDTHS else dtype


def copied(call: CallArguments) -> OpWork:
    """``copy_(self, source)`` reads the source and writes ``self``."""
    own, source = call.arguments[:2]
    if not isinstance(own, TensorArgument) or not isinstance(source, TensorArgument):
        raise RefusedError("shapes")
    return moves(source.bytes, own.bytes)


def converted(call: CallArguments) -> OpWork:
    """``_to_copy(self, dtype, …)`` and ``clone(self, …)``."""
    own = call.tensor(0)
    dtype = own.dtype
    if call.has_values and len(call.arguments) >= 7:
        dtype = call.dtype(1) or dtype
    elif len(call.arguments) >= 7:
        raise RefusedError("values")
    return moves(own.bytes, own.count * (WIDTHS[dtype] if dtype else own.width))


def joined(call: CallArguments) -> OpWork:
    """``cat(tensors, dim)`` and ``stack``."""
    parts = call.listed(0)
    if not parts:
        raise RefusedError("shapes")
    out = [one for one in call.tensors(1) if one.sizes]
    width = max(one.width for one in parts)
    written = out[0].bytes if out else sum(one.count for one in parts) * width
    return moves(sum(one.bytes for one in parts), written)


def padded(call: CallArguments) -> OpWork:
    """``constant_pad_nd(self, pad, value)``."""
    own, pads = call.tensor(0), call.value(1)
    if not isinstance(pads, list):
        raise RefusedError("values")
    sizes = list(own.sizes)
    kept = list(own.sizes)
    for at in range(len(pads) // 2):
        low, high = pads[2 * at], pads[2 * at + 1]
        sizes[-1 - at] += low + high
        kept[-1 - at] += min(low, 0) + min(high, 0)
    return moves(math.prod(kept) * own.width, math.prod(sizes) * own.width)


def dropout(call: CallArguments) -> OpWork:
    """``native_dropout(self, p, train)``: the out and a mask of bytes."""
    own = call.tensor(0)
    return moves(own.bytes, own.count * (own.width + 1))


def loss(call: CallArguments) -> OpWork:
    """``mse_loss(self, target, reduction)``: a scalar, unless nothing is reduced."""
    own, target = call.tensor(0), call.tensor(1)
    count = broadcast([own.sizes, target.sizes]) if call.value(2) == 0 else 1
    return moves(own.bytes + target.bytes, count * own.width)


def loss_backward(call: CallArguments) -> OpWork:
    """``mse_loss_backward(grad, self, target, reduction)``."""
    own, target = call.tensor(1), call.tensor(2)
    grad = call.maybe(0)
    read = own.bytes + target.bytes + (0 if grad is None else grad.bytes)
    return moves(read, own.count * own.width)


def likelihood(call: CallArguments) -> OpWork:
    """``nll_loss_forward(self, target, weight, reduction, ignore_index)``: one element a row."""
    own, target = call.tensor(0), call.tensor(1)
    is_whole = call.has_values and call.value(3) == 0
    read = target.bytes + target.count * own.width + bytes_of(call.maybe(2))
    return moves(read, (target.count + 1 if is_whole else 2) * own.width)


def likelihood_backward(call: CallArguments) -> OpWork:
    """``nll_loss_backward(grad, self, target, weight, …)`` writes the whole input's gradient."""
    own, target = call.tensor(1), call.tensor(2)
    grad = call.maybe(0)
    return moves(target.bytes + (grad.bytes if grad else 0), own.count * own.width)


# --- reductions -----------------------------------------------------------------------------------


class ReductionModel(Struct, frozen=True):
    """The input once, and the positions kept; ``dim`` is the place of the dimensions."""

    dim: int | None = 1
    out: str = ""  # a type, "sum" where integers become int64
    outputs: int = 1
    asks_type: int | None = None
    has_index: bool = False

    def __call__(self, call: CallArguments) -> OpWork:
        own = call.tensor(0)
        if self.has_index and call.maybe(1) is not None:  # max(self, other)
            return ElementwiseModel(2)(call)
        is_whole = self.dim is None or len(call.arguments) <= self.dim + 1 - (self.dim == 1)
        dims = None
        if not is_whole and self.dim is not None:
            if not call.has_values:
                raise RefusedError("output")
            dims = call.value(self.dim)
        kept = 1
        if isinstance(dims, int) and not isinstance(dims, bool):
            dims = [dims]
        if isinstance(dims, list) and dims:
            gone = {one % len(own.sizes) for one in dims if isinstance(one, int)}
            kept = math.prod(size for at, size in enumerate(own.sizes) if at not in gone)
        dtype = own.dtype
        if self.out:
            dtype = self.out
        if self.out == "sum":
            dtype = own.dtype if is_floating(own.dtype) else "int64"
        if self.asks_type is not None and len(call.arguments) > self.asks_type:
            dtype = call.dtype(self.asks_type) or dtype
        width = WIDTHS[dtype] if dtype else own.width
        more = 8 if self.has_index and isinstance(dims, list) else 0
        return moves(own.bytes, kept * (self.outputs * width + more))


def scanned(call: CallArguments) -> OpWork:
    """``cumsum(self, dim)``: one pass; integers become int64."""
    own = call.tensor(0)
    width = own.width if is_floating(own.dtype) else 8
    return moves(own.bytes, own.count * width)


def ordered(call: CallArguments) -> OpWork:
    """``sort(self, dim, …)``: values and indices."""
    own = call.tensor(0)
    return moves(own.bytes, own.count * (own.width + 8))


def largest(call: CallArguments) -> OpWork:
    """``topk(self, k, dim, …)``."""
    own, k = call.tensor(0), call.value(1)
    dim = call.value(2) if len(call.arguments) > 2 else -1
    if not isinstance(k, int) or not isinstance(dim, int):
        raise RefusedError("values")
    kept = own.count // max(own.sizes[dim], 1) * k
    return moves(own.bytes, kept * (own.width + 8))


def softmax(call: CallArguments) -> OpWork:
    """``softmax(self, dim, half_to_float)``."""
    own = call.tensor(0)
    width = 4 if call.has_values and call.value(2) is True else own.width
    return moves(own.bytes, own.count * width)


def softmax_backward(call: CallArguments) -> OpWork:
    """``_softmax_backward_data(grad, output, dim, input_dtype)``."""
    grad, out = call.tensor(0), call.tensor(1)
    dtype = call.dtype(3) if call.has_values and len(call.arguments) > 3 else None
    return moves(grad.bytes + out.bytes, grad.count * WIDTHS[dtype or grad.dtype])


# --- norms ----------------------------------------------------------------------------------------


def layer_norm(stats: int) -> Model:
    """``native_layer_norm(x, shape, weight, bias, eps)``; rms: (x, shape, weight, eps)."""

    def model(call: CallArguments) -> OpWork:
        own, weight = call.tensor(0), call.maybe(2)
        # Without plain arguments the weight has the shape, too.
        told = call.value(1) if call.has_values or weight is None else list(weight.sizes)
        if not isinstance(told, list):
            raise RefusedError("values")
        rows = own.count // max(math.prod(told), 1)
        return moves(bytes_of(*call.tensors()), own.count * own.width + rows * 4 * stats)

    return model


def layer_norm_backward(stats: int) -> Model:
    """``(grad, x, shape, mean, rstd, weight, bias, mask)``; rms has no mean and no bias."""

    def model(call: CallArguments) -> OpWork:
        own = call.tensor(1)
        mask = call.value(len(call.arguments) - 1) if call.has_values else None
        mask = mask if isinstance(mask, list) else [True, True, True]
        weight = call.maybe(3 + stats)
        size = 0 if weight is None else weight.bytes
        written = own.count * own.width * bool(mask[0]) + size * sum(map(bool, mask[1:]))
        bias = call.maybe(4 + stats) if stats == 2 else None
        return moves(bytes_of(*call.tensors()) - bytes_of(bias), written)

    return model


def group_norm(call: CallArguments) -> OpWork:
    """``native_group_norm(x, weight, bias, N, C, HxW, group, eps)``."""
    own = call.tensor(0)
    batch, groups = call.value(3), call.value(6)
    if not isinstance(batch, int) or not isinstance(groups, int):
        raise RefusedError("values")
    written = (own.count + 2 * batch * groups) * own.width
    return moves(bytes_of(*call.tensors(0, 3)), written)


def group_norm_backward(call: CallArguments) -> OpWork:
    """``(grad, x, mean, rstd, weight, N, C, HxW, group, mask)``."""
    own = call.tensor(1)
    mask = call.value(9)
    mask = mask if isinstance(mask, list) else [True, True, True]
    weight = call.maybe(4)
    channels = own.sizes[1] * own.width if len(own.sizes) > 1 else 0
    written = own.count * own.width * bool(mask[0]) + channels * sum(map(bool, mask[1:]))
    return moves(bytes_of(*call.tensors(0, 4), weight), written)


def batch_norm(call: CallArguments) -> OpWork:
    """``(x, weight, bias, running_mean, running_var, training, …)``."""
    own = call.tensor(0)
    trains = call.has_values and call.value(5) is True
    running = sum(one.bytes for one in call.tensors(3, 5))
    channels = own.sizes[1] if len(own.sizes) > 1 else 0
    saved = 2 * 4 * channels if trains else 0
    written = own.count * own.width + saved + (running if trains else 0)
    return moves(bytes_of(*call.tensors(0, 5)), written)


def batch_norm_backward(x: int, grad: int) -> Model:
    """``(grad, x, weight, running ×2, saved ×2, …)``, of cuDNN and MIOpen with ``x`` first."""

    def model(call: CallArguments) -> OpWork:
        own = call.tensor(x)
        weight, saved = call.maybe(2), call.tensors(5, 7)
        read = own.bytes + call.tensor(grad).bytes + bytes_of(weight, *saved)
        if not saved:
            read += bytes_of(*call.tensors(3, 5))
        channels = 2 * weight.bytes if weight is not None else 0
        return moves(read, own.count * own.width + channels)

    return model


# --- tables of rows -------------------------------------------------------------------------------


def taken(table: int, index: int) -> Model:
    """Rows of a table by index: at most the table is read, repeated rows are not told."""

    def model(call: CallArguments) -> OpWork:
        own, which = call.tensor(table), call.arguments[index]
        if not isinstance(which, TensorArgument):
            raise RefusedError("shapes")
        row = own.count // max(own.sizes[0], 1)
        if table == 0 and index == 2:  # index_select(self, dim, index)
            dim = call.value(1)
            row = own.count // max(own.sizes[dim if isinstance(dim, int) else 0], 1)
        taken = which.count * row * own.width
        return moves(which.bytes + min(taken, own.bytes), taken)

    return model


def gathered(call: CallArguments) -> OpWork:
    """``gather(self, dim, index)``."""
    own, index = call.tensor(0), call.tensor(2)
    taken = index.count * own.width
    return moves(index.bytes + min(taken, own.bytes), taken)


def scattered(call: CallArguments) -> OpWork:
    """``scatter_(self, dim, index, source)`` writes as many elements as the index has."""
    own, index = call.tensor(0), call.tensor(2)
    touched = min(index.count * own.width, own.bytes)
    source = call.maybe(3)
    read = 0 if source is None or not source.sizes else index.count * source.width
    return moves(index.bytes + read, touched)


def scatter_added(call: CallArguments) -> OpWork:
    """``scatter_add_`` also reads the elements that it changes."""
    found = scattered(call)
    return found._replace(read=found.read + found.written)


def embedding_backward(call: CallArguments) -> OpWork:
    """``embedding_dense_backward(grad, indices, num_weights, …)`` writes the whole weight."""
    grad, index, rows = call.tensor(0), call.tensor(1), call.value(2)
    if not isinstance(rows, int):
        raise RefusedError("values")
    return moves(grad.bytes + index.bytes, rows * grad.sizes[-1] * grad.width)


# --- lists ----------------------------------------------------------------------------------------


def foreach(call: CallArguments) -> OpWork:
    """New lists of the sizes of the first."""
    first = call.listed(0)
    if not first:
        raise RefusedError("shapes")
    return moves(bytes_of(*call.tensors()), sum(one.count * one.width for one in first))


def foreach_in_place(call: CallArguments) -> OpWork:
    """All lists are read, the first is written."""
    first = call.listed(0)
    if not first:
        raise RefusedError("shapes")
    return moves(bytes_of(*call.tensors()), sum(one.bytes for one in first))


def foreach_written(call: CallArguments) -> OpWork:
    """``_foreach_copy_(self, source)`` and ``_foreach_zero_(self)``."""
    first = call.listed(0)
    if not first:
        raise RefusedError("shapes")
    return moves(bytes_of(*call.tensors(1)), sum(one.bytes for one in first))


def foreach_norm(call: CallArguments) -> OpWork:
    """A scalar for each tensor."""
    first = call.listed(0)
    if not first:
        raise RefusedError("shapes")
    return moves(bytes_of(*first), sum(one.width for one in first))


def fused_step(unwritten: int) -> Model:
    """``_fused_adamw_(params, grads, …)``: all lists are read, all but the gradients written."""

    def model(call: CallArguments) -> OpWork:
        lists = [call.listed(at) for at in range(len(call.arguments))]
        sized = [one for one in lists if one and one[0].sizes]
        if len(sized) < 2:
            raise RefusedError("shapes")
        sums = [sum(tensor.bytes for tensor in one) for one in sized]
        return moves(sum(sums), sum(sums) - sums[unwritten])

    return model


# --- pools, and ops of other libraries ------------------------------------------------------------


def pooled(call: CallArguments) -> OpWork:
    """``max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil)``."""
    own = call.tensor(0)
    rank = 2
    kernel = call.numbers(1, "kernel", rank, least=1)
    stride = call.value(2)
    steps = kernel if not stride else call.numbers(2, "stride", rank, least=1)
    padding = call.numbers(3, "padding", rank, least=0)
    spread = call.numbers(4, "dilation", rank, least=1)
    up = call.value(5) is True
    kept = math.prod(own.sizes[:-rank])
    for size, width, step, pad, wide in zip(
        own.sizes[-rank:], kernel, steps, padding, spread, strict=True
    ):
        room = size + 2 * pad - wide * (width - 1) - 1
        kept *= -(-room // step) + 1 if up else room // step + 1
    return moves(own.bytes, kept * (own.width + 8))


def pooled_backward(call: CallArguments) -> OpWork:
    """``max_pool2d_with_indices_backward(grad, self, …, indices)``: where, not what, is read."""
    grad, own = call.tensor(0), call.tensor(1)
    return moves(grad.bytes + grad.count * 8, own.count * own.width)


def mean_pooled(call: CallArguments) -> OpWork:
    """``_adaptive_avg_pool2d(self, output_size)``."""
    own, size = call.tensor(0), call.value(1)
    if not isinstance(size, list):
        raise RefusedError("values")
    return moves(own.bytes, math.prod(own.sizes[:-2]) * math.prod(size) * own.width)


def mean_pooled_backward(call: CallArguments) -> OpWork:
    """``_adaptive_avg_pool2d_backward(grad, self)``: the sizes of self alone are used."""
    grad, own = call.tensor(0), call.tensor(1)
    return moves(grad.bytes, own.count * own.width)


def named_out(outputs: int, also_read: int = 0) -> Model:
    """Custom ops: the first arguments are out, the others are read; ``also_read`` of out, too."""

    def model(call: CallArguments) -> OpWork:
        out, rest = call.tensors(0, outputs), call.tensors(outputs)
        if not out:
            raise RefusedError("shapes")
        written = sum(one.bytes for one in out)
        return moves(bytes_of(*rest) + bytes_of(*out[:also_read]), written)

    return model


def cached(call: CallArguments) -> OpWork:
    """``reshape_and_cache_flash(key, value, …)`` writes both tensors, not the whole cache."""
    moved = call.tensor(0).bytes + call.tensor(1).bytes
    return moves(moved, moved)


def rotated(call: CallArguments) -> OpWork:
    """``rotary_embedding(positions, query, key, head_size, table, …)`` works in place."""
    positions, query, key, table = (call.tensor(at) for at in (0, 1, 2, 4))
    rows = min(positions.count * table.sizes[-1] * table.width, table.bytes)
    moved = query.bytes + key.bytes
    return moves(moved + positions.bytes + rows, moved)


def triton_work(call: CallArguments, name: str) -> OpWork:
    """A generated kernel: all tensors once, those written in place twice.

    Without a template of a product in its name it computes none: names of ``poi``, ``red`` and
    ``per`` kernels only tell where its inputs came from.
    """
    if name.startswith("triton_tem"):
        raise RefusedError("model")
    tensors = [one for one in call.tensors() if one.sizes]
    if not tensors:
        raise RefusedError("shapes")
    # The last one is the output: all are arguments, and read or written once.
    *inputs, out = tensors
    return moves(sum(one.bytes for one in inputs), out.bytes)
