"""Ops that PyTorch runs on this machine, each a case of its own."""

# mypy: disable-error-code="no-untyped-call, misc, arg-type"
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  # the name everybody uses


def _t(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*sizes).to(dtype)


def _attention(**options: Any) -> Callable[[], Any]:
    return lambda: F.scaled_dot_product_attention(
        _t(2, 4, 17, 8), _t(2, 4, 17, 8), _t(2, 4, 17, 8), **options
    )


def _with_backward(run: Callable[[torch.Tensor], torch.Tensor], *sizes: int) -> Callable[[], Any]:
    def case() -> None:
        x = _t(*sizes).requires_grad_()
        run(x).sum().backward()

    return case


def _conv(rank: int, *, transposed: bool = False, **options: Any) -> Callable[[], Any]:
    name = f"conv{'_transpose' if transposed else ''}{rank}d"
    groups = options.get("groups", 1)

    def case() -> None:
        x = _t(2, 6, *(9, 8, 7)[:rank]).requires_grad_()
        sizes = (6, 4) if transposed else (4, 6 // groups)
        weight = _t(*sizes, *(3, 3, 3)[:rank]).requires_grad_()
        getattr(F, name)(x, weight, **options).sum().backward()

    return case


PRODUCTS: Mapping[str, Callable[[], Any]] = {
    **{
        f"mm {m}x{k}x{n} {dtype}": lambda m=m, k=k, n=n, dtype=dtype: torch.mm(
            _t(m, k, dtype=dtype), _t(k, n, dtype=dtype)
        )
        for m, k, n in ((3, 5, 7), (64, 1, 2), (1, 33, 1), (4, 0, 3))
        for dtype in (torch.float32, torch.float64, torch.bfloat16)
    },
    "mm of a transposed": lambda: torch.mm(_t(5, 3).t(), _t(5, 4)),
    "mm of an expanded": lambda: torch.mm(_t(1, 3).expand(5, 3), _t(3, 4)),
    "addmm": lambda: torch.addmm(_t(7), _t(3, 5), _t(5, 7)),
    "addmm without beta": lambda: torch.addmm(_t(3, 7), _t(3, 5), _t(5, 7), beta=0),
    "bmm": lambda: torch.bmm(_t(2, 3, 5), _t(2, 5, 7)),
    "bmm bfloat16": lambda: torch.bmm(
        _t(4, 3, 5, dtype=torch.bfloat16), _t(4, 5, 2, dtype=torch.bfloat16)
    ),
    "baddbmm": lambda: torch.baddbmm(_t(2, 3, 7), _t(2, 3, 5), _t(2, 5, 7)),
    "matmul of batches": lambda: torch.matmul(_t(2, 4, 3, 5), _t(2, 4, 5, 6)),
    "matmul with a matrix": lambda: torch.matmul(_t(2, 4, 3, 5), _t(5, 6)),
    "einsum": lambda: torch.einsum("bij,bjk->bik", _t(3, 4, 5), _t(3, 5, 6)),
    "linear": lambda: F.linear(_t(3, 5), _t(7, 5), _t(7)),
    "linear of three dimensions": lambda: F.linear(_t(2, 3, 5), _t(7, 5)),
    "linear backward": _with_backward(lambda x: F.linear(x, _t(7, 5)), 3, 5),
    "mlp backward": _with_backward(
        lambda x: F.linear(F.relu(F.linear(x, _t(9, 5))), _t(2, 9)), 3, 5
    ),
    "outer": lambda: torch.mm(_t(9, 1), _t(1, 8)),
    **{
        f"conv{rank} {options}": _conv(rank, **options)
        for rank in (1, 2, 3)
        for options in (
            {},
            {"stride": 2},
            {"padding": 1},
            {"dilation": 2},
            {"stride": 2, "padding": 2},
        )
    },
    **{
        f"conv_transpose{rank} {options}": _conv(rank, transposed=True, **options)
        for rank in (1, 2)
        for options in ({}, {"stride": 2}, {"stride": 2, "output_padding": 1}, {"padding": 1})
    },
    **{
        f"attention {size}": lambda size=size: torch.bmm(_t(2, size, 8), _t(2, 8, size))
        for size in (4, 16, 31, 50)
    },
    "addmm with alpha": lambda: torch.addmm(_t(3, 7), _t(3, 5), _t(5, 7), alpha=2),
    "chain": lambda: torch.linalg.multi_dot([_t(3, 4), _t(4, 5), _t(5, 2)]),
    "tensordot": lambda: torch.tensordot(_t(2, 3, 4), _t(4, 3, 5), dims=1),
    "conv grouped": lambda: F.conv2d(_t(2, 6, 9, 9), _t(4, 3, 3, 3), groups=2),
    "conv depthwise": lambda: F.conv2d(_t(2, 6, 9, 9), _t(6, 1, 3, 3), groups=6),
    "conv without gradient of its input": lambda: (
        F.conv2d(_t(2, 6, 9, 9), _t(4, 6, 3, 3).requires_grad_()).sum().backward()
    ),
    "rnn": lambda: torch.nn.RNN(5, 6)(_t(3, 2, 5)),
    "lstm": lambda: torch.nn.LSTMCell(5, 6)(_t(2, 5)),
    "gru": lambda: torch.nn.GRUCell(5, 6)(_t(2, 5)),
    "attention by products": lambda: torch.softmax(_t(2, 5, 8) @ _t(2, 8, 5), -1) @ _t(2, 5, 8),
    "multihead": lambda: torch.nn.MultiheadAttention(8, 2)(_t(5, 2, 8), _t(5, 2, 8), _t(5, 2, 8)),
}
"""Cases whose FLOPs ``torch.utils.flop_counter`` counts, too."""

_INDEX = torch.tensor([3, 1, 2])

TRANSFERS: Mapping[str, Callable[[], Any]] = {
    "add": lambda: _t(3, 4) + _t(3, 4),
    "add of a row": lambda: _t(3, 4) + _t(4),
    "add of a number": lambda: _t(3, 4) + 1,
    "add of types": lambda: _t(3, 4) + _t(3, 4, dtype=torch.bfloat16),
    "add_": lambda: _t(3, 4).add_(_t(3, 4)),
    "add of an expanded": lambda: _t(1, 4).expand(3, 4) + _t(3, 4),
    "mul": lambda: _t(5, 4, dtype=torch.float64) * _t(5, 4, dtype=torch.float64),
    "div of integers": lambda: torch.arange(6) / torch.arange(1, 7),
    "compare": lambda: _t(3, 4) > _t(3, 4),
    "compare with a number": lambda: _t(3, 4) > 0,
    "where": lambda: torch.where(_t(3, 4) > 0, _t(3, 4), _t(3, 4)),
    "masked_fill": lambda: _t(3, 4).masked_fill(_t(3, 4) > 0, 1.0),
    "exp": lambda: torch.exp(_t(7)),
    "exp into": lambda: torch.exp(_t(7), out=torch.empty(7)),
    "exp of integers": lambda: torch.exp(torch.arange(7)),
    "clamp": lambda: _t(9).clamp(0, 1),
    "clamp_min": lambda: _t(9).clamp_min(0),
    "gelu": lambda: F.gelu(_t(3, 4)),
    "silu": lambda: F.silu(_t(3, 4, dtype=torch.bfloat16)),
    "relu_": lambda: F.relu_(_t(3, 4)),
    "addcmul": lambda: torch.addcmul(_t(3), _t(3), _t(3)),
    "addcdiv_": lambda: _t(3).addcdiv_(_t(3), _t(3)),
    "lerp": lambda: torch.lerp(_t(3), _t(3), 0.5),
    "zero_": lambda: _t(3, 4).zero_(),
    "fill_": lambda: _t(3, 4).fill_(2.0),
    "normal_": lambda: torch.empty(11).normal_(),
    "copy_": lambda: torch.empty(3, 4, dtype=torch.float64).copy_(_t(3, 4)),
    "copy_ of a row": lambda: torch.empty(3, 4).copy_(_t(4)),
    "clone": lambda: _t(3, 4).clone(),
    "contiguous": lambda: _t(3, 4).t().contiguous(),
    "contiguous of an expanded": lambda: _t(1, 4).expand(6, 4).contiguous(),
    "to": lambda: _t(3, 4).to(torch.bfloat16),
    "cat": lambda: torch.cat([_t(3, 4), _t(2, 4)]),
    "pad": lambda: F.pad(_t(3, 4), (1, 2, 0, 3)),
    "sum": lambda: _t(3, 4).sum(),
    "sum of a dimension": lambda: _t(3, 4).sum(0),
    "sum of integers": lambda: torch.arange(6, dtype=torch.int32).sum(),
    "sum as float64": lambda: _t(3, 4).sum(1, dtype=torch.float64),
    "mean": lambda: _t(3, 4).mean(-1),
    "amax": lambda: _t(3, 4, 5).amax((0, 2)),
    "argmax": lambda: _t(3, 4).argmax(1),
    "max of a dimension": lambda: _t(3, 4).max(1),
    "max of two": lambda: torch.max(_t(3, 4), _t(3, 4)),
    "any": lambda: (_t(3, 4) > 0).any(),  # noqa: PLW0108  # each time a new one
    "var_mean": lambda: torch.var_mean(_t(3, 4), [1]),
    "norm": lambda: torch.linalg.vector_norm(_t(3, 4)),
    "cumsum": lambda: _t(3, 4).cumsum(1),
    "sort": lambda: _t(3, 4).sort(),
    "topk": lambda: _t(3, 9).topk(2),
    "softmax": lambda: torch.softmax(_t(3, 4), -1),
    "softmax backward": _with_backward(lambda x: torch.softmax(x, -1), 3, 4),
    "log_softmax backward": _with_backward(lambda x: torch.log_softmax(x, -1), 3, 4),
    "gelu backward": _with_backward(F.gelu, 3, 4),
    "relu backward": _with_backward(torch.relu, 3, 4),
    "layer_norm": lambda: F.layer_norm(_t(3, 4), (4,), _t(4), _t(4)),
    "layer_norm backward": _with_backward(lambda x: F.layer_norm(x, (4,), _t(4), _t(4)), 3, 4),
    "group_norm": lambda: F.group_norm(_t(2, 6, 5), 3, _t(6), _t(6)),
    "batch_norm": lambda: F.batch_norm(
        _t(4, 6, 5), torch.zeros(6), torch.ones(6), _t(6), _t(6), training=True
    ),
    "batch_norm of evaluation": lambda: F.batch_norm(_t(4, 6, 5), torch.zeros(6), torch.ones(6)),
    "embedding": lambda: F.embedding(_INDEX, _t(9, 4)),
    "index_select": lambda: _t(3, 9).index_select(1, _INDEX),
    "gather": lambda: _t(3, 4).gather(1, torch.tensor([[0, 1], [1, 2], [3, 0]])),
    "scatter_": lambda: _t(3, 4).scatter_(1, torch.tensor([[0], [1], [2]]), _t(3, 1)),
    "nll_loss": lambda: F.nll_loss(_t(3, 4), torch.tensor([0, 1, 2])),
    "mse_loss": lambda: F.mse_loss(_t(3, 4), _t(3, 4)),
    "max_pool": lambda: F.max_pool2d(_t(1, 2, 8, 8).requires_grad_(), 2),
    "adaptive pool": lambda: F.adaptive_avg_pool2d(_t(1, 2, 8, 8), (2, 4)),
    "foreach add": lambda: torch._foreach_add_([_t(3), _t(4)], [_t(3), _t(4)]),
    "foreach mul": lambda: torch._foreach_mul([_t(3), _t(4)], 2.0),
    "attention": _attention(),
    "causal attention": _attention(is_causal=True),
    "attention with a mask": _attention(attn_mask=torch.zeros(17, 17)),
}
"""Cases that move data."""
