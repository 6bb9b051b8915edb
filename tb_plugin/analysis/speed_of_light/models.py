"""The work of one op call: FLOPs, and the bytes it must read and write. One table for all views.

* FLOPs follow ``torch.utils.flop_counter``: a multiply-add is two, and only products, convolutions
  and attention count. *Least* FLOPs leave out the pairs that a causal mask hides.
* Bytes are distinct addresses, each once, none from a cache.

``MODELS`` names the ops; families share a formula. ``work_of`` answers for one call.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from ...base.errors import QueryError
from ...base.machine import user_folder
from ...base.regex import regex
from .arguments import CallArguments, Model, OpWork, RefusedError
from .products import (
    LOWER_RIGHT,
    AttentionModel,
    ConvolutionModel,
    convolution_backward,
    linear,
    old_convolution_backward,
    product,
    scaled,
    vector_product,
)
from .transfers import (
    ElementwiseModel,
    ReductionModel,
    batch_norm,
    batch_norm_backward,
    cached,
    converted,
    copied,
    dropout,
    embedding_backward,
    foreach,
    foreach_in_place,
    foreach_norm,
    foreach_written,
    fused_step,
    gathered,
    group_norm,
    group_norm_backward,
    joined,
    largest,
    layer_norm,
    layer_norm_backward,
    likelihood,
    likelihood_backward,
    loss,
    loss_backward,
    mean_pooled,
    mean_pooled_backward,
    named_out,
    ordered,
    padded,
    pooled,
    pooled_backward,
    rotated,
    scanned,
    scatter_added,
    scattered,
    softmax,
    softmax_backward,
    taken,
    triton_work,
)

# --- a user's own ops -----------------------------------------------------------------------------

OWN_FILE = "op_models.json"
_MOST_BYTES = 1 << 20
_SIZE = regex(r"^\d{1,2}\.\d{1,2}$")


class OwnModel(Struct, frozen=True, forbid_unknown_fields=True):
    """One row of a user's file: which arguments an op reads and writes, by their places."""

    op: str  # a pattern of its name
    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    # Factors: numbers, and sizes as "argument.dimension". () = it computes no products.
    flops: tuple[float | str, ...] = ()

    def __call__(self, call: CallArguments) -> OpWork:
        read = [one for at in self.read for one in call.tensors(at, at + 1)]
        written = [one for at in self.written for one in call.tensors(at, at + 1)]
        if not read and not written:
            raise RefusedError("shapes")
        flops = round(math.prod(self._factor(call, one) for one in self.flops)) if self.flops else 0
        dtype = next((one.dtype for one in read), "") if flops else ""
        moved = sum(one.bytes for one in written)
        return OpWork(flops, flops, sum(one.bytes for one in read), moved, dtype)

    def _factor(self, call: CallArguments, factor: float | str) -> float:
        if not isinstance(factor, str):
            return factor
        argument, dimension = map(int, factor.split("."))
        return call.tensor(argument).sizes[dimension]


def read_models(path: Path) -> tuple[OwnModel, ...]:
    """The rows of a user's file.

    Raises:
        QueryError: it cannot be read, holds something else, or has a wrong pattern.
    """
    hint = (
        'A list of {"op": a pattern of its name, "read": [1], "written": [0],'
        ' "flops": [2, "1.0", "1.1", "2.1"]}.'
    )
    try:
        with path.open("rb") as stream:
            rows = msgspec.json.decode(stream.read(_MOST_BYTES), type=tuple[OwnModel, ...])
        for row in rows:
            re.compile(row.op)
            for factor in row.flops:
                if isinstance(factor, str) and not _SIZE.match(factor):
                    raise ValueError(f"{factor!r} is no size")
    except OSError as error:
        raise QueryError(f"{path} cannot be read: {error.strerror or error}.", hint=hint) from None
    except (ValueError, re.error) as error:
        raise QueryError(f"{path} holds no models of ops: {error}.", hint=hint) from None
    return rows


@cache
def own_models() -> tuple[OwnModel, ...]:
    """The user's own rows, which come before ours. Raises QueryError."""
    path = Path(user_folder("config")) / OWN_FILE
    return read_models(path) if path.is_file() else ()


@cache
def model_of(name: str) -> Model | None:
    """The model of an op; None where it has none. Raises QueryError."""
    own = next((one for one in own_models() if re.search(one.op, name)), None)
    return own or MODELS.get(name)


# --- the table ------------------------------------------------------------------------------------

_UNARY = (
    "abs neg sign relu ceil floor round trunc nan_to_num tril triu silu gelu"
    " hardtanh hardswish hardsigmoid leaky_relu elu softplus mish threshold logit square"
    " bitwise_not positive frac roll flip bernoulli native_alpha_dropout"
)
_UNARY_FLOAT = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh"
    " tanh sigmoid erf erfc erfinv lgamma digamma log_sigmoid"
)
_BINARY = (
    "add sub rsub mul maximum minimum fmod remainder clamp_min clamp_max bitwise_and"
    " bitwise_or bitwise_xor fmax fmin floor_divide hypot gelu_backward threshold_backward"
    " silu_backward sigmoid_backward tanh_backward hardtanh_backward leaky_relu_backward"
    " hardswish_backward elu_backward hardsigmoid_backward softplus_backward"
    " native_dropout_backward masked_scale glu_jvp"
)
_RANDOM = (
    "zero_ fill_ normal_ uniform_ random_ bernoulli_ exponential_ log_normal_ cauchy_ geometric_"
)
_COMPARISONS = "eq ne lt le gt ge logical_and logical_or logical_xor"
_TESTS = "isnan isinf isfinite logical_not isneginf isposinf signbit"
_ADAM = "_fused_adam_ _fused_adamw_"
_FOREACH = (
    "add sub mul div addcmul addcdiv sqrt exp log neg abs reciprocal lerp maximum minimum pow"
    " clamp_min clamp_max sign"
)


def _table() -> dict[str, Model]:
    families: list[tuple[Model, str]] = [
        (product(0, 2), "mm"),
        (product(0, 3), "bmm"),
        (product(1, 2), "addmm addmm_ _addmm_activation"),
        (product(1, 3), "baddbmm baddbmm_"),
        (vector_product(0), "mv dot vdot"),
        (vector_product(1), "addmv addmv_"),
        (linear, "linear mkldnn_linear _mkldnn_linear"),
        (scaled, "_scaled_mm _int_mm"),
        (
            ConvolutionModel(3, 4, 5, transposed=6),
            "convolution _convolution",
        ),
        (ConvolutionModel(3, 2, 4, bias=None), "cudnn_convolution"),
        (ConvolutionModel(3, 4, 5), "cudnn_convolution_relu"),
        (
            ConvolutionModel(4, 3, 5),
            "miopen_convolution mkldnn_convolution miopen_depthwise_convolution",
        ),
        (
            ConvolutionModel(4, 2, 5, bias=None, always_transposed=True),
            "cudnn_convolution_transpose",
        ),
        (convolution_backward, "convolution_backward"),
        (old_convolution_backward(of_weight=False), "cudnn_convolution_backward_input"),
        (old_convolution_backward(of_weight=True), "cudnn_convolution_backward_weight"),
        (
            AttentionModel(4, side=LOWER_RIGHT, scaled=(10, 7)),
            "_scaled_dot_product_flash_attention",
        ),
        (AttentionModel(6, mask=3), "_scaled_dot_product_efficient_attention"),
        (AttentionModel(6, mask=3), "_scaled_dot_product_cudnn_attention"),
        (AttentionModel(5, mask=3), "_scaled_dot_product_fused_attention_overrideable"),
        (AttentionModel(4, mask=5), "_scaled_dot_product_flash_attention_for_cpu"),
        (
            AttentionModel(8, heads=2, lengths=(3, 4), side=LOWER_RIGHT),
            "_flash_attention_forward",
        ),
        (
            AttentionModel(9, heads=2, mask=3, lengths=(4, 5), is_code=True),
            "_efficient_attention_forward",
        ),
        (
            AttentionModel(11, query=1, result=4, side=LOWER_RIGHT, lengths=(6, 7)),
            "_scaled_dot_product_flash_attention_backward",
        ),
        (
            AttentionModel(11, query=1, result=5, mask=4),
            "_scaled_dot_product_efficient_attention_backward",
        ),
        (
            AttentionModel(14, query=1, result=4, mask=8),
            "_scaled_dot_product_cudnn_attention_backward",
        ),
        (
            AttentionModel(7, query=1, result=4, mask=8),
            "_scaled_dot_product_flash_attention_for_cpu_backward",
        ),
        (
            AttentionModel(11, heads=2, query=1, result=4, side=LOWER_RIGHT, lengths=(6, 7)),
            "_flash_attention_backward",
        ),
        (
            AttentionModel(14, heads=2, query=1, result=5, mask=4, lengths=(6, 7), is_code=True),
            "_efficient_attention_backward",
        ),
        (ElementwiseModel(1), _UNARY),
        (ElementwiseModel(1, "float"), _UNARY_FLOAT),
        (ElementwiseModel(2), _BINARY),
        (ElementwiseModel(2, "float"), "div true_divide atan2"),
        (ElementwiseModel(2), "pow"),
        (ElementwiseModel(2, "bool"), _COMPARISONS),
        (ElementwiseModel(1, "bool"), _TESTS),
        (ElementwiseModel(2, "first"), "masked_fill"),
        (ElementwiseModel(3, "where"), "where _s_where"),
        (ElementwiseModel(3), "addcmul addcdiv clamp lerp"),
        (ElementwiseModel(1, in_place=True), _with_underscore(f"{_UNARY} {_UNARY_FLOAT}")),
        (ElementwiseModel(2, in_place=True), _with_underscore(f"{_BINARY} {_COMPARISONS} div pow")),
        (ElementwiseModel(2, in_place=True), "masked_fill_ copysign_"),
        (ElementwiseModel(3, in_place=True), "addcmul_ addcdiv_ clamp_ lerp_"),
        (ElementwiseModel(1, in_place=True, reads_own=False), _RANDOM),
        (copied, "copy_"),
        (converted, "_to_copy clone"),
        (joined, "cat _cat stack"),
        (padded, "constant_pad_nd"),
        (dropout, "native_dropout _fused_dropout"),
        (loss, "mse_loss l1_loss smooth_l1_loss"),
        (loss_backward, "mse_loss_backward smooth_l1_loss_backward"),
        (likelihood, "nll_loss_forward nll_loss2d_forward"),
        (likelihood_backward, "nll_loss_backward nll_loss2d_backward"),
        (ReductionModel(out="sum", asks_type=3), "sum nansum"),
        (ReductionModel(asks_type=3), "mean"),
        (ReductionModel(out="int64"), "argmax argmin"),
        (ReductionModel(has_index=True), "max min"),
        (ReductionModel(), "amax amin logsumexp std var prod median"),
        (ReductionModel(outputs=2), "var_mean std_mean aminmax"),
        (ReductionModel(out="bool"), "all any"),
        (ReductionModel(dim=2, asks_type=4), "linalg_vector_norm norm"),
        (scanned, "cumsum cumprod"),
        (ordered, "sort"),
        (largest, "topk"),
        (softmax, "_softmax _log_softmax _safe_softmax"),
        (softmax_backward, "_softmax_backward_data _log_softmax_backward_data"),
        (layer_norm(2), "native_layer_norm"),
        (layer_norm(1), "_fused_rms_norm"),
        (layer_norm_backward(2), "native_layer_norm_backward"),
        (layer_norm_backward(1), "_fused_rms_norm_backward"),
        (group_norm, "native_group_norm"),
        (group_norm_backward, "native_group_norm_backward"),
        (batch_norm, "native_batch_norm cudnn_batch_norm miopen_batch_norm"),
        (batch_norm_backward(1, 0), "native_batch_norm_backward"),
        (batch_norm_backward(0, 1), "cudnn_batch_norm_backward miopen_batch_norm_backward"),
        (taken(0, 1), "embedding"),
        (taken(0, 2), "index_select"),
        (gathered, "gather"),
        (scattered, "scatter_"),
        (scatter_added, "scatter_add_"),
        (embedding_backward, "embedding_dense_backward"),
        (foreach, " ".join(f"_foreach_{name}" for name in _FOREACH.split())),
        (foreach_in_place, " ".join(f"_foreach_{name}_" for name in _FOREACH.split())),
        (foreach_written, "_foreach_copy_ _foreach_zero_"),
        (foreach_norm, "_foreach_norm"),
        (fused_step(1), f"{_ADAM} _fused_sgd_ _fused_adagrad_"),
        (pooled, "max_pool2d_with_indices"),
        (pooled_backward, "max_pool2d_with_indices_backward"),
        (mean_pooled, "_adaptive_avg_pool2d"),
        (mean_pooled_backward, "_adaptive_avg_pool2d_backward"),
    ]
    found = {f"aten::{name}": model for model, names in families for name in names.split()}
    return found | {
        "_C::rms_norm": named_out(1),
        "_C::silu_and_mul": named_out(1),
        "_C::fused_add_rms_norm": named_out(2, also_read=2),
        "_C::static_scaled_fp8_quant": named_out(1),
        "_C::rotary_embedding": rotated,
        "aiter::rmsnorm": named_out(1),
        "aiter::rmsnorm2d_fwd_with_add_ck": OwnModel("", read=(1, 2, 4), written=(0, 3)),
        "sgl_kernel::silu_and_mul": named_out(1),
        "_C_cache_ops::reshape_and_cache_flash": cached,
        "sglang::store_cache": cached,
    }


def _with_underscore(names: str) -> str:
    return " ".join(f"{name}_" for name in names.split())


MODELS: Mapping[str, Model] = _table()
"""Op → its model. By name, never "the rest": a convolution read as element-wise is nonsense."""

FLOPS_OPS = frozenset(
    name
    for name, model in MODELS.items()
    if isinstance(model, ConvolutionModel | AttentionModel)
    or getattr(model, "__qualname__", "").startswith(("product", "vector_product", "old_conv"))
    or model in (linear, scaled, convolution_backward)
)
"""The ops that may have FLOPs."""


_MOST = 2**1000  # beyond doubles


def work_of(name: str, call: CallArguments) -> OpWork:
    """The work of one call.

    Raises:
        RefusedError: it has no figure; the message is one of "model", "shapes", "dtype", "values",
            "output", "lengths", "odd".
        OverflowError: its sizes have no product that is a number.
    """
    model = model_of(name)
    if model is None:
        if name.startswith("triton_"):
            return triton_work(call, name)
        raise RefusedError("model")
    try:
        found = model(call)
    except (LookupError, TypeError, ValueError, ZeroDivisionError, AttributeError) as error:
        if isinstance(error, RefusedError):
            raise
        # Arguments of another form than this version of the op has.
        raise RefusedError("shapes") from None
    if max(found[:4]) >= _MOST:
        raise OverflowError("sizes whose product is no number")
    if min(found[:4]) < 0:
        raise RefusedError("shapes")
    return found
