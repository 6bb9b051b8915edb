"""How well was a device used over the chosen steps? Ratios, or the reason why there is none.

Formulas (docs/overview.md):

* utilization = union of kernels / time
* est. SM efficiency = ∫ min(1, Σ blocks per SM of the running kernels) / time
* est. achieved occupancy = Σ occupancy · dur / Σ dur
* tensor-core time = Σ dur of kernels on tensor cores / Σ dur of compute kernels, both of ops

The windows of the steps and the gaps between them are consecutive cells. Every event is cut at the
borders of the cells it touches (``cut``), so the sum over all cells counts each instant between the
first start and the last end once.

Which kernels use tensor cores (NVIDIA) or matrix cores (AMD), and which ops could, is decided by
rules as data. A kernel's name is the only evidence in a trace, so there are three answers: it does,
it does not, the name does not say. Kernels that move data (collectives, copies, sets) are not
judged. The first names of each list are those of the former plugin, from NVIDIA's PyProf and
PyTorch's autocast lists; the rest are of libraries that came later.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64, equal, of_names, places_of, search, stable_order, take
from ...base.group_sums import group_sums
from ...base.intervals import length_within
from ...base.native import call
from ...base.regex import regex
from ...trace.model import DeviceClass, Trace
from ..device_work import DeviceWork
from ..facts import DeviceFacts, Gauges
from ..recording import no_launch_figure
from ..steps import Selection, Windows

_MANY = 1 << 12  # events for which a call is worth it
TENSOR_CORE_CAPABILITY = 7  # Volta was the first with tensor cores


class Measure(Struct, frozen=True):
    """One figure of the GPU summary. ``ratio`` None: not available, with the ``reason``."""

    key: str
    ratio: float | None
    reason: str = ""


def measures(selection: Selection, row: int) -> tuple[Measure, ...]:
    """Utilization, est. SM efficiency, est. achieved occupancy, tensor-core time of one device."""
    gauges, covered = selection.gauges(row)
    if why := selection.facts.unavailable.get("kernels"):
        keys = ("utilization", "sm_efficiency", "occupancy", "tensor_core")
        return tuple(Measure(key, None, why) for key in keys)
    return (
        _utilization(gauges, covered),
        _sm_efficiency(gauges, covered, selection.facts.devices[row]),
        _mean_occupancy(gauges, selection.facts.devices[row]),
        _tensor_cores(
            gauges,
            selection.facts.devices[row],
            has_replays=selection.facts.traits.graph_launches > 0,
        ),
    )


def _utilization(gauges: Gauges, covered: int) -> Measure:
    if not covered:
        return Measure("utilization", None, "The chosen steps last no time.")
    return Measure("utilization", gauges.busy_ns / covered)


def _sm_efficiency(gauges: Gauges, covered: int, device: DeviceFacts) -> Measure:
    if gauges.sm_ns is None or not covered:
        why = no_launch_figure("blocks per SM", device.vendor, device.capability)
        return Measure("sm_efficiency", None, why)
    return Measure("sm_efficiency", min(gauges.sm_ns / covered, 1.0))


def _mean_occupancy(gauges: Gauges, device: DeviceFacts) -> Measure:
    if gauges.occupancy_weighted is None:
        why = no_launch_figure("achieved occupancy", device.vendor, device.capability)
        return Measure("occupancy", None, why)
    if not gauges.occupancy_ns:
        return Measure(
            "occupancy", None, "No kernel with a known occupancy ran in the chosen steps."
        )
    return Measure("occupancy", gauges.occupancy_weighted / gauges.occupancy_ns / 100)


def _tensor_cores(gauges: Gauges, device: DeviceFacts, *, has_replays: bool) -> Measure:
    key = "tensor_core"
    if device.vendor == "NVIDIA" and device.capability is not None:
        if device.capability[0] < TENSOR_CORE_CAPABILITY:
            number = ".".join(map(str, device.capability))
            return Measure(key, None, f"Compute capability {number} has no tensor cores.")
    elif device.vendor not in ("NVIDIA", "AMD", ""):
        return Measure(key, None, f"Kernel names of {device.vendor} devices do not say.")
    if not gauges.op_kernel_ns:
        return Measure(key, None, "No kernel of the chosen steps is linked to an op.")
    if has_replays and 2 * gauges.op_kernel_ns < gauges.kernel_ns:
        return Measure(key, None, "Most kernels run in replayed graphs, without an op.")
    # Names that do not tell make the figure a lower bound; where they prevail it says nothing.
    if gauges.tensor_core_unknown_ns > max(gauges.tensor_core_ns, gauges.op_kernel_ns / 2):
        return Measure(key, None, "The names of most kernels do not say.")
    return Measure(key, gauges.tensor_core_ns / gauges.op_kernel_ns)


class ClippedEvents(Struct, frozen=True, eq=False):
    """Events cut at the borders of cells; shape (pieces,)."""

    event: I64  # index of the event
    cell: I64
    ns: I64  # length of the piece, > 0

    def sum_ns(self, cells: int) -> I64:
        """Length per cell."""
        return group_sums(self.cell, self.ns, cells).total

    def weighted(self, weight: F64, cells: int) -> F64:
        """Σ weight · length per cell; ``weight`` is per event."""
        weights = self.ns * take(weight, self.event)
        return np.bincount(self.cell, weights, cells).astype(np.float64)

    def sum_of(self, chosen: NDArray[np.bool_], cells: int) -> I64:
        """Length per cell of the pieces of the chosen events."""
        return group_sums(self.cell, self.ns * take(chosen, self.event), cells).total

    def of(self, chosen: NDArray[np.bool_]) -> ClippedEvents:
        """The pieces of the chosen events."""
        keep = take(chosen, self.event)
        if keep.all():
            return self
        return ClippedEvents(self.event[keep], self.cell[keep], self.ns[keep])


def cut(ts: I64, end: I64, edges: I64) -> ClippedEvents:
    """Cut the events [ts, end) at ``edges`` (ascending, repeats allowed); the rest is left out.

    edges  0     10      30
    event     ████████          [5, 20)
    =  cell 0: 5, cell 1: 10
    """
    cells = len(edges) - 1
    if cells < 1 or not len(ts):
        nothing = np.zeros(0, np.int64)
        return ClippedEvents(nothing, nothing, nothing)
    first = np.maximum(search(edges, ts, "right") - 1, 0)
    last = np.minimum(search(edges, end) - 1, cells - 1)
    crossing = last != first
    if not crossing.any():
        event, cell = np.arange(len(ts)), first
    else:
        count = np.maximum(last - first + 1, 0)
        event = np.repeat(np.arange(len(ts)), count)
        before = np.repeat(np.cumsum(count) - count, count)
        cell = np.arange(len(event)) - before + take(first, event)
        ts, end = take(ts, event), take(end, event)
    ns = np.minimum(end, take(edges[1:], cell)) - np.maximum(ts, take(edges, cell))
    keep = ns > 0
    if keep.all():
        return ClippedEvents(event, cell, ns)
    return ClippedEvents(event[keep], cell[keep], ns[keep])


def level(ts: I64, end: I64, height: F64) -> tuple[I64, I64, F64]:
    """The sum of the heights of all open events, as consecutive segments (start, end, height).

    heights  A ██████       0.5
             B    ██████    0.75
             = 0.5, 1.25, 0.75
    """
    at = np.concatenate([ts, end])
    change = np.concatenate([height, -height])
    if not len(at):
        return ts, end, height
    order = stable_order(at - at.min())
    at, total = take(at, order), np.cumsum(take(change, order))
    # What floating sums leave behind when nothing is open is no height.
    opened = np.where(order < len(ts), np.int32(1), np.int32(-1))
    total[np.cumsum(opened, dtype=np.int32) == 0] = 0.0
    segment_start, segment_end = at[:-1], at[1:]
    keep = (segment_end > segment_start) & (total[:-1] > 0)
    return segment_start[keep], segment_end[keep], total[:-1][keep]


def level_within(ts: I64, end: I64, height: F64, edges: I64) -> F64:
    """∫ min(1, sum of the heights of all open events) per cell between edges, as of ``cut``."""
    if len(ts) >= _MANY and len(edges) > 1:
        sums = np.zeros(len(edges) - 1, np.float64)
        columns = map(np.ascontiguousarray, (ts, end, height))
        cells = edges, len(sums), sums
        if call("kinetoscope_level_within", *columns, len(ts), *cells) is not None:
            return sums
    return level_within_in_python(ts, end, height, edges)


def level_within_in_python(ts: I64, end: I64, height: F64, edges: I64) -> F64:
    """The reference of ``level_within``."""
    start, stop, total = level(ts, end, height)
    return cut(start, stop, edges).weighted(np.minimum(total, 1.0), len(edges) - 1)


class MatrixUse(IntEnum):
    """Use of tensor or matrix cores by a kernel, as far as its name shows."""

    NO = 0
    YES = 1
    UNKNOWN = 2
    NONE = 3  # no candidate: it moves data


# Each alternative of these lists begins with a fixed character, not with a choice of characters:
# then a search skips what none of them begins with.

# These say no even where a name of USES occurs: "sm80_xmma_gemm_f32f32_…_ffma_…".
PLAIN_FIRST = (
    r"_ffma_|_simt_|_dffma_"
    # What attention does before and after its products.
    r"|flash_bwd_(dot_do|convert|clear)|FlashAttnBwd(Pre|Post)process"
    r"|splitkv_?[cC]ombine|Fwd_?[cC]ombine"
    r"|reshape_and_cache"
)

USES = (
    # Volta to Ampere: cuBLAS, cuDNN, CUTLASS.
    r"h884|s884|c884|h1688|s1688|c1688|hmma|i8816|16816",
    r"dgrad_1x1_stride_2x2|first_layer_wgrad_kernel|conv1x1|conv2d_c1_k1|direct_group",
    r"xmma_(sparse_)?(gemm|conv)|xmma_((warp_specialized|fprop|dgrad|wgrad)_)*implicit_gemm",
    # Hopper, Blackwell: cuBLASLt, CUTLASS 3, DeepGEMM, TensorRT-LLM.
    r"nvjet_|tensorop|tcgen05|wgmma|gmma|Gmma|MainloopSm(90|100|120)|mma_sync|deep_gemm",
    r"marlin|machete|fp8_(block)?gemm|scaled_mm",
    # Attention.
    r"flash_(fwd|bwd|attn)|flash::|FlashAttn|sdpa_(sm\d+|flash)|fmha_v2|_fmha_|fmhaSm\d+",
    r"fmha_cutlass[FB]_(f16|bf16)|cutlass::fmha|Sm\d+Fmha|Fmha(Fwd|Bwd)",
    # AMD: Tensile writes the shape of the matrix instruction, MIOpen and Composable Kernel say XDL.
    r"_MI\d+x\d+|mfma|wmma|xdl|Xdl|ck_tile|igemm_\w+_gtcx",
)
BEGIN_USES = r"bmm_(Mx)?(Bfloat16|Fp16|E4m3|E2m1)|_?attn_(fwd|bwd)"

PLAIN = (
    r"at::|c10::|elementwise|vectorized|reduce|softmax|norm|Norm|pool|Pool",
    r"index|scatter|gather|embedding|permute|quantize|_cache|Criterion",
    r"multi_tensor|copy|fill|cast|transpose|sort|scan|topk|random|dropout|cub::|thrust::",
    r"fbgemm_gpu::|sgemm|dgemm|cgemm|zgemm|gemv|gemmk1|gemmSN|scudnn|dcudnn|cudnn::|winograd|fft",
    r"convolve|_engine|nchwToNhwc|nhwcToNchw|cask_cudnn\w*::compute\w*Offsets|epilogue::impl",
    r"splitKreduce|bn_(fw|bw)|im2d?2?[cC]ol|Im2d?2?[cC]ol|col2im|depthwise|scal_kernel",
    r"axpy_kernel|dot_kernel",
)
BEGIN_PLAIN = r"triton_(poi|red|per|for)_|SubTensorOp"

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

_PLAIN_FIRST = regex(PLAIN_FIRST)
_USES = regex("|".join(USES))
_PLAIN = regex("|".join(PLAIN))
_BEGIN_USES, _BEGIN_PLAIN = regex(BEGIN_USES), regex(BEGIN_PLAIN)


def matrix_use(kernel: str) -> MatrixUse:
    """Use of tensor or matrix cores, by the name of a kernel."""
    if _PLAIN_FIRST.search(kernel):
        return MatrixUse.NO
    if _BEGIN_USES.match(kernel) or _USES.search(kernel):
        return MatrixUse.YES
    plain = _BEGIN_PLAIN.match(kernel) or _PLAIN.search(kernel)
    return MatrixUse.NO if plain else MatrixUse.UNKNOWN


class StepGauges(Struct, frozen=True):
    """The gauges of one step's window, and of the gap before it."""

    window: Gauges
    gap: Gauges


def gauges(work: DeviceWork, windows: Windows) -> list[StepGauges]:
    """The gauges of one device per step."""
    if not len(windows):
        return []
    trace = work.trace
    rows = work.rows(DeviceClass.COMPUTE, DeviceClass.COMMUNICATION)
    ts = take(trace.device.ts, rows)
    end = ts + take(trace.device.dur, rows)
    edges = windows.edges
    cells = len(edges) - 1
    pieces = cut(ts, end, edges)
    busy = length_within(work.kernels, edges[:-1], edges[1:])
    columns = [
        busy.tolist(),
        pieces.sum_ns(cells).tolist(),
        _sm(trace, rows, ts, end, edges),
        *_occupancy_integral(trace, rows, pieces, cells),
        *_matrix(trace, rows, pieces, cells),
    ]
    of_cell = [Gauges(*values) for values in zip(*columns, strict=True)]
    blank = Gauges(sm_ns=0.0 if of_cell[0].sm_ns is not None else None)
    return [
        StepGauges(of_cell[2 * i], of_cell[2 * i - 1] if i else blank) for i in range(len(windows))
    ]


def sparse_of(trace: Trace, column: str, rows: I64) -> tuple[NDArray[np.bool_], F64]:
    """Values of a sparse column at ascending rows, and a mask of the finite ones."""
    have = np.zeros(len(rows), np.bool_)
    value = np.zeros(len(rows), np.float64)
    sparse = trace.device.args.get(column)
    if sparse is None or not len(sparse.row) or not len(rows):
        return have, value
    if np.array_equal(sparse.row, rows):
        have[:] = True
        value[:] = sparse.value
    else:
        at = places_of(sparse.row, rows)
        have = at >= 0
        value[have] = take(sparse.value, at[have]).astype(np.float64)
    have &= np.isfinite(value)
    value[~have] = 0.0
    return have, value


def _sm(trace: Trace, rows: I64, ts: I64, end: I64, edges: I64) -> list[float | None]:
    """∫ min(1, Σ blocks per SM) per cell; None where no kernel has blocks per SM."""
    cells = len(edges) - 1
    have, blocks = sparse_of(trace, "blocks_per_sm", rows)
    have &= blocks >= 0
    if not have.any():
        return [None] * cells
    if not have.all():
        ts, end, blocks = ts[have], end[have], blocks[have]
    return list(level_within(ts, end, blocks, edges).tolist())


def _occupancy_integral(
    trace: Trace, rows: I64, pieces: ClippedEvents, cells: int
) -> tuple[list[float | None], list[int]]:
    """Σ occupancy% · dur and Σ dur of the kernels that have an occupancy."""
    have, occupancy = sparse_of(trace, "occupancy", rows)
    have &= occupancy >= 0
    if not have.any():
        return [None] * cells, [0] * cells
    carrying = pieces.of(have)
    return (
        list(carrying.weighted(np.minimum(occupancy, 100.0), cells).tolist()),
        carrying.sum_ns(cells).tolist(),
    )


def _matrix(trace: Trace, rows: I64, pieces: ClippedEvents, cells: int) -> list[list[int]]:
    """Tensor-core time; time of kernels of ops, of eligible ops; time with unclear kernel names."""
    use = kernel_use(trace, rows)
    op = take(trace.device.op, rows)
    by_op = (op >= 0) & (use != MatrixUse.NONE)
    eligible = by_op.copy()
    eligible[by_op] = are_eligible(trace, op[by_op])
    chosen = (
        by_op & equal(use, MatrixUse.YES),
        by_op,
        eligible,
        by_op & equal(use, MatrixUse.UNKNOWN),
        eligible & equal(use, MatrixUse.NO),
    )
    return [pieces.sum_of(mask, cells).tolist() for mask in chosen]


def kernel_use(trace: Trace, rows: I64) -> NDArray[np.int8]:
    """MatrixUse of each of the rows, by kernel name; NONE for kernels that move data."""
    use = of_names(trace.strings, take(trace.device.name, rows), matrix_use, np.int8)
    use[take(trace.device.klass, rows) != DeviceClass.COMPUTE] = MatrixUse.NONE
    return use


def are_eligible(trace: Trace, op: I32) -> NDArray[np.bool_]:
    """True for host rows that are ops that could use tensor or matrix cores."""
    return of_names(trace.strings, take(trace.host.name, op), ELIGIBLE_OPS.__contains__, np.bool_)
