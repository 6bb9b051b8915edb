"""A small transformer that learns to predict the next token, with and without torch.compile.

    python samples/transformer.py --logdir log/transformer
    python samples/transformer.py --compile --logdir log/transformer_compiled

In Module the layers are one row, since they are equal; in Operator the attention is
`aten::scaled_dot_product_attention`. Compiled, the step is a few `CompiledFunction` ranges, and
Trace shows where Dynamo's guards are checked.
"""

from pathlib import Path

import click
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.profiler import profile, schedule

from kinetoscope.handlers import tensorboard_trace_handler

TOKENS, WIDTH, LENGTH, BATCH = 500, 64, 32, 8


class LanguageModel(nn.Module):
    """Embedding, three encoder layers that look back only, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, TOKENS)
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH)
        self.register_buffer("mask", mask)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = self.encoder(self.embedding(tokens), mask=self.mask, is_causal=True)
        logits: Tensor = self.head(hidden)
        return logits


def train(logdir: Path, worker_name: str | None, steps: int = 7, *, compiled: bool = False) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = LanguageModel().to(device)
    handler = tensorboard_trace_handler(logdir, worker_name, modules=None if compiled else model)
    optimizer = torch.optim.AdamW(model.parameters())
    # "aot_eager" traces and divides the graph, but needs no C++ compiler, as "inductor" does.
    backend = "inductor" if device == "cuda" else "aot_eager"
    step = torch.compile(model, backend=backend) if compiled else model
    with profile(
        schedule=schedule(wait=3, warmup=2, active=2, repeat=1),
        on_trace_ready=handler,
        record_shapes=True,
        with_flops=True,
    ) as prof:
        for _ in range(steps):
            tokens = torch.randint(TOKENS, (BATCH, LENGTH + 1), device=device)
            logits = step(tokens[:, :-1])
            loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            prof.step()
    handler.flush()


@click.command()
@click.option("--logdir", default="log/transformer", show_default=True, type=Path)
@click.option("--compile", "compiled", is_flag=True, help="With torch.compile.")
@click.option("--worker-name", help="By default the host and the process number.")
def main(logdir: Path, compiled: bool, worker_name: str | None) -> None:
    train(logdir, worker_name, compiled=compiled)
    print(f"The trace is in {logdir}. To look at it: tensorboard --logdir {logdir.parent}")


if __name__ == "__main__":
    main()
