"""FLOPs and bytes against reports of TraceLens, another tool with models of ops.

The figures are those that its repository publishes for recordings of H100 and MI300 (BERT, ViT,
Qwen, ResNet): GFLOPS and "Data Moved (MB)", which is MiB. Where the two differ, the row says why,
and by how much.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kinetoscope.analysis.speed_of_light.arguments import arguments_of
from kinetoscope.analysis.speed_of_light.models import work_of

HALF, FLOAT = "c10::BFloat16", "float"
Sizes = tuple[int, ...]


class Reported(NamedTuple):
    """One row of a report."""

    op: str
    dims: tuple[Sizes, ...]
    gflops: float
    mib: float
    types: tuple[str, ...] = ()  # all bfloat16, where nothing else is said
    values: tuple[str, ...] = ()
    more_bytes: int = 0  # ours − theirs
    more_flops: int = 0
    why: str = ""


ONE_PER_ELEMENT = "elements count as FLOPs there; by `flop_counter` only products do"
ROWS = (
    Reported("aten::mm", ((8944, 1024), (1024, 2816)), 51.581550592, 71.0078125),
    Reported("aten::mm", ((8944, 2816), (2816, 1024)), 51.581550592, 71.0078125),
    Reported("aten::mm", ((8944, 1024), (1024, 1024)), 18.756927488, 36.9375),
    Reported("aten::addmm", ((1024,), (8944, 1024), (1024, 1024)), 18.766086144, 36.939453125,
             more_flops=-8944 * 1024, why="the bias is added there; it is no product"),
    Reported("aten::addmm", ((512,), (141, 512), (512, 512)), 0.0739968, 0.7763671875,
             more_flops=-141 * 512, why="the bias is added there; it is no product"),
    Reported("aten::addmm", ((3072,), (788, 768), (768, 3072)), 3.720671232, 10.27734375,
             more_flops=-788 * 3072, why="the bias is added there; it is no product"),
    Reported("aten::convolution", ((4, 3, 224, 224), (768, 3, 16, 16)), 0.924844032, 3.421875,
             values=("", "", "", "[16, 16]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1")),
    Reported("aten::convolution_backward", ((10, 64, 56, 56), (10, 64, 56, 56), (64, 64, 3, 3)),
             4.62422016, 15.453125,
             values=("", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1",
                     "[True, True, False]"),
             more_bytes=-10 * 64 * 56 * 56 * 2,
             why="the gradient is read for input and weight there; its bytes are the same"),
    Reported("aten::_scaled_dot_product_flash_attention", ((4, 12, 197, 64),) * 3,
             0.476884992, 4.6171875, values=("", "", "", "0.", "False", "False", "0.125"),
             more_bytes=4 * 4 * 12 * 197, why="logsumexp is written, too"),
    Reported("aten::_scaled_dot_product_flash_attention", ((16, 16, 559, 64),) * 3,
             10.239377408, 69.875, values=("", "", "", "0.", "True", "False", "0.125"),
             more_bytes=4 * 16 * 16 * 559, more_flops=4 * 16 * 16 * 64 * 559 // 2,
             why="logsumexp is written, too; a causal mask keeps n·(n + 1) ÷ 2 pairs, not n² ÷ 2"),
    Reported("aten::native_layer_norm", ((1, 141, 512), (), (512,), (512,)), 0.000364032, 0.28125,
             types=(HALF, "ScalarList", HALF, HALF), values=("", "[512]", "", "", "1e-12"),
             more_bytes=8 * (141 - 512), more_flops=-364_032,
             why=f"mean and deviation are of each row, there of each channel; {ONE_PER_ELEMENT}"),
    Reported("aten::copy_", ((16, 16, 559, 64), (16, 16, 559, 64)), 0.009158656, 34.9375,
             more_flops=-9_158_656, why=ONE_PER_ELEMENT),
    Reported("aten::copy_", ((16, 559, 1024), (16, 559, 1024)), 0.009158656, 52.40625,
             types=(FLOAT, HALF), more_flops=-9_158_656, why=ONE_PER_ELEMENT),
    Reported("aten::add", ((16, 559, 1024), (16, 559, 1024)), 0.009158656, 52.40625,
             more_flops=-9_158_656, why=ONE_PER_ELEMENT),
    Reported("aten::mul", ((16, 16, 559, 64), (1, 1, 559, 64)), 0.009158656, 35.0057373046875,
             more_flops=-9_158_656, why=ONE_PER_ELEMENT),
    Reported("aten::mul", ((16, 559, 1024), (16, 559, 1)), 0.009158656, 69.90911865234375,
             types=(FLOAT, FLOAT), more_flops=-9_158_656, why=ONE_PER_ELEMENT),
    Reported("aten::mean", ((16, 559, 1024), (), ()), 0.009158656, 34.937503814697266,
             types=(FLOAT, "ScalarList", "Scalar"), values=("", "[-1]", "True"),
             more_bytes=4 * (16 * 559 - 1), more_flops=-9_158_656,
             why=f"one value is written for each row, there one in all; {ONE_PER_ELEMENT}"),
)  # fmt: skip


def differs(row: Reported) -> tuple[int, int]:
    """FLOPs and bytes, ours − theirs. Causal masks are left out of both."""
    dims = [list(sizes) for sizes in row.dims]
    types = row.types or (HALF,) * len(dims)
    work = work_of(row.op, arguments_of(dims, types, [], row.values))
    moved = work.read + work.written
    return work.least - round(row.gflops * 1e9), moved - round(row.mib * 2**20)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op} {row.dims}")
def test_figures_are_those_of_tracelens_or_differ_as_explained(row: Reported) -> None:
    assert differs(row) == (row.more_flops, row.more_bytes)
    assert bool(row.why) == bool(row.more_flops or row.more_bytes)
