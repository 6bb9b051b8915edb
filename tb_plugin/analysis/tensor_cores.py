"""Which kernels use tensor cores (NVIDIA) or matrix cores (AMD), and which ops could?

The rules are data.
A kernel's name is the only witness a trace has, so there are three answers: it does, it does not,
the name does not tell. What moves data (collectives, copies, sets) is not asked. The first names of
each list are those the former plugin knew, from NVIDIA's PyProf and PyTorch's autocast lists; the
rest are of libraries that came later.
"""

from __future__ import annotations

import re
from enum import IntEnum


class MatrixUse(IntEnum):
    """Whether a kernel runs on tensor or matrix cores, as far as its name tells."""

    NO = 0
    YES = 1
    UNKNOWN = 2
    NONE = 3  # no candidate: it moves data


# These say no even where a name of USES occurs: "sm80_xmma_gemm_f32f32_…_ffma_…".
PLAIN_FIRST = (
    r"_ffma_|_simt_|_dffma_"
    # What attention does before and after its products.
    r"|flash_bwd_(dot_do|convert|clear)|FlashAttnBwd(Pre|Post)process|(splitkv|Fwd)_?[cC]ombine"
    r"|reshape_and_cache"
)

USES = (
    # Volta to Ampere: cuBLAS, cuDNN, CUTLASS.
    r"[hsc]884|[hsc]1688|hmma|i8816|16816",
    r"dgrad_1x1_stride_2x2|first_layer_wgrad_kernel|conv1x1|conv2d_c1_k1|direct_group",
    r"xmma_(sparse_)?(gemm|conv)|xmma_((warp_specialized|fprop|dgrad|wgrad)_)*implicit_gemm",
    # Hopper, Blackwell: cuBLASLt, CUTLASS 3, DeepGEMM, TensorRT-LLM.
    r"nvjet_|tensorop|tcgen05|wgmma|[gG]mma|MainloopSm(90|100|120)|mma_sync|deep_gemm",
    r"marlin|machete|fp8_(block)?gemm|scaled_mm|^bmm_(Mx)?(Bfloat16|Fp16|E4m3|E2m1)",
    # Attention.
    r"flash_(fwd|bwd|attn)|flash::|FlashAttn|sdpa_(sm\d+|flash)|fmha_v2|_fmha_|fmhaSm\d+",
    r"fmha_cutlass[FB]_(f16|bf16)|^_?attn_(fwd|bwd)|cutlass::fmha|Sm\d+Fmha|Fmha(Fwd|Bwd)",
    # AMD: Tensile writes the shape of the matrix instruction, MIOpen and Composable Kernel say XDL.
    r"_MI\d+x\d+|mfma|wmma|[xX]dl|ck_tile|igemm_\w+_gtcx",
)

PLAIN = (
    r"at::|c10::|elementwise|vectorized|reduce|softmax|[nN]orm|[pP]ool",
    r"index|scatter|gather|embedding|permute|quantize|_cache|Criterion",
    r"multi_tensor|copy|fill|cast|transpose|sort|scan|topk|random|dropout|cub::|thrust::",
    r"^triton_(poi|red|per|for)_|fbgemm_gpu::",
    r"[sdcz]gemm|gemv|gemmk1|gemmSN|[sd]cudnn|cudnn::|winograd|fft|convolve|_engine",
    r"nchwToNhwc|nhwcToNchw|cask_cudnn\w*::compute\w*Offsets|epilogue::impl|^SubTensorOp",
    r"splitKreduce|bn_(fw|bw)|[iI]m2d?2?[cC]ol|col2im|depthwise|(scal|axpy|dot)_kernel",
)

_ATEN = """
_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
convolution cudnn_convolution cudnn_convolution_transpose prelu addmm addmm_ addmv addr addbmm
baddbmm bmm chain_matmul linalg_multi_dot linear matmul mm mv _thnn_fused_lstm_cell
_thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
cudnn_convolution_backward cudnn_convolution_backward_input cudnn_convolution_backward_weight
cudnn_convolution_transpose_backward cudnn_convolution_transpose_backward_input
cudnn_convolution_transpose_backward_weight

convolution_backward cudnn_convolution_relu cudnn_convolution_add_relu miopen_convolution
miopen_convolution_transpose miopen_depthwise_convolution _addmm_activation addbmm_ baddbmm_ _int_mm
_scaled_mm _grouped_mm _scaled_grouped_mm _cudnn_rnn _cudnn_rnn_backward miopen_rnn
_flash_attention_forward _flash_attention_backward _efficient_attention_forward
_efficient_attention_backward _cudnn_attention_forward
"""
_AUTOGRAD = """
CudnnConvolutionBackward BmmBackward0 CudnnConvolutionTransposeBackward MmBackward AddmvBackward
MvBackward AddmmBackward AddbmmBackward
"""
ELIGIBLE_OPS = frozenset({*(f"aten::{name}" for name in _ATEN.split()), *_AUTOGRAD.split()})

# How much faster dense 16-bit arithmetic is on tensor cores than 32-bit without, by compute
# capability: NVIDIA's peak figures, rounded down. For a ceiling only.
PEAK_RATIO: dict[tuple[int, int], int] = {
    (7, 0): 8,
    (7, 5): 8,
    (8, 0): 16,
    (8, 6): 4,
    (8, 9): 4,
    (9, 0): 14,
}
DEFAULT_PEAK_RATIO = 8

_PLAIN_FIRST = re.compile(PLAIN_FIRST)
_USES = re.compile("|".join(USES))
_PLAIN = re.compile("|".join(PLAIN))


def matrix_use(kernel: str) -> MatrixUse:
    """What the name of a kernel says about tensor or matrix cores."""
    if _PLAIN_FIRST.search(kernel):
        return MatrixUse.NO
    if _USES.search(kernel):
        return MatrixUse.YES
    return MatrixUse.NO if _PLAIN.search(kernel) else MatrixUse.UNKNOWN
