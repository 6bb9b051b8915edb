"""What a compute kernel is for, by its name: rules as data, the first match wins."""

from __future__ import annotations

import re

RULES: tuple[tuple[str, str], ...] = (
    ("attention", r"flash|fmha|attention|attn|sdpa|paged_|\bmla\b"),
    ("moe", r"(^|[_:])moe|expert|grouped_topk"),
    ("convolution", r"conv|wgrad|dgrad|winograd|miopen|scudnn|im2col|col2im"),
    ("gemm", r"gemm|gemv|cutlass|cublas|Cijk_|xmma|nvjet|matmul|_mm_|splitKreduce|[hs]884"),
    ("optimizer", r"multi_tensor_apply|adam|sgd_|lamb|foreach|zero_grad"),
    ("norm", r"norm|bn_fw|bn_bw|welford"),
    ("softmax", r"softmax|nll_loss|cross_entropy"),
    ("quantization", r"quant|fp8_cast|scaled_fp8"),
    ("embedding", r"embedding|index|gather|scatter|batched_segment|tbe"),
    ("sort", r"sort|topk|scan|sampling|multinomial|unique"),
    ("random", r"distribution|random|philox|dropout|curand"),
    ("copy", r"copy|CatArray|transpose|nchwToNhwc|nhwcToNchw|permute|cast_"),
    ("reduction", r"reduce|_red_"),
    ("pooling", r"pool|upsample|interpolate"),
    ("elementwise", r"elementwise|vectorized|pointwise|fill|_poi_|activation|gelu|silu|relu"),
    ("triton", r"triton"),
)
UNCLASSIFIED = "unclassified"

_COMPILED = tuple((family, re.compile(pattern, re.IGNORECASE)) for family, pattern in RULES)


def family_of(kernel: str) -> str:
    """The family of a kernel, or "unclassified" where no rule knows its name."""
    for family, pattern in _COMPILED:
        if pattern.search(kernel):
            return family
    return UNCLASSIFIED
