"""Model FLOPs of a training step against 6·N·T and attention."""

# mypy: disable-error-code="name-defined, misc"
from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kinetoscope.analysis.speed_of_light.attribution import places_of, speed_of_light
from kinetoscope.analysis.speed_of_light.figures import SpeedSelection
from kinetoscope.trace.read import read

torch = pytest.importorskip("torch")

WIDTH, HEADS, LAYERS, BATCH, TOKENS, WORDS = 64, 4, 3, 2, 48, 96


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.project = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.widen = torch.nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.narrow = torch.nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.attend(x).view(BATCH, TOKENS, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(out.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(torch.nn.functional.gelu(self.widen(x)))


@pytest.mark.parametrize("mode", ["plain", "checkpointed", "reentrant"])
def test_a_gpt_step_has_the_flops_of_its_parameters_and_attention(
    mode: str, tmp_path: Path
) -> None:
    from torch.profiler import ProfilerActivity, profile
    from torch.utils.checkpoint import checkpoint

    blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
    embed, head = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Linear(WIDTH, WORDS, bias=False)
    words = torch.randint(0, WORDS, (BATCH, TOKENS))
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        x = embed(words)
        for block in blocks:
            x = block(x) if mode == "plain" else checkpoint(
                block, x, use_reentrant=mode == "reentrant"
            )  # fmt: skip
        head(x).sum().backward()
    path = tmp_path / "worker0.pt.trace.json"
    recorded.export_chrome_trace(str(path))
    trace = read(path)
    columns = replace(speed_of_light(trace), places=places_of(trace))
    use = SpeedSelection(columns, (-1, 0), None).utilization(0)
    parameters = LAYERS * 12 * WIDTH * WIDTH + WIDTH * WORDS
    attention = 3 * LAYERS * 4 * BATCH * TOKENS * TOKENS * WIDTH
    model = 6 * parameters * BATCH * TOKENS + attention
    assert use.model_flops == pytest.approx(model, rel=0.01)
    # The blocks ran twice.
    again = 0 if mode == "plain" else 2 * LAYERS * 12 * WIDTH * WIDTH * BATCH * TOKENS
    assert use.flops >= use.model_flops + 0.6 * again
