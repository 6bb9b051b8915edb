"""A toy inference engine: iterations of known batches, in the names that real engines write.

    python samples/engine.py --logdir log/engine
    python samples/engine.py --logdir log/engine --form sglang

Six requests arrive. An iteration takes the prompts that wait (prefill), or gives each running
request its next token (decode), or both (mixed). Before each one the scheduler takes three
milliseconds, which the Overview shows as the gap between iterations. What an iteration holds is in
the name of a range, as vLLM, SGLang, ATOM and TensorRT-LLM write it: kinetoscope reads that alone.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from torch import nn
from torch.profiler import profile, record_function

from kinetoscope.handlers import tensorboard_trace_handler

PROMPTS = (512, 256, 384, 128, 64, 640)  # tokens of each request
ARRIVE_AT = (0, 0, 3, 3, 6, 6)  # the iteration from which each one waits
NEW_TOKENS = 8  # of each request
SCHEDULER_SECONDS = 0.003
FORWARD_SECONDS = 0.005


@dataclass(frozen=True)
class Batch:
    """One iteration: new tokens and keys of requests in prefill, and keys of those that decode."""

    prompts: tuple[int, ...]
    keys: tuple[int, ...]  # one for each request that gets its next token


def plan() -> Iterator[Batch]:
    """All iterations, in order. The first token of a request comes with its prefill."""
    waiting = sorted(zip(ARRIVE_AT, PROMPTS, strict=True), key=lambda one: one[0])
    running: list[list[int]] = []  # keys so far, tokens left
    turn = 0
    while waiting or running:
        prompts = tuple(size for at, size in waiting if at <= turn)
        waiting = [one for one in waiting if one[0] > turn]
        yield Batch(prompts, tuple(keys for keys, _ in running))
        running = [[keys + 1, left - 1] for keys, left in running if left > 1]
        running += [[size + 1, NEW_TOKENS - 1] for size in prompts]
        turn += 1


def vllm(batch: Batch) -> str:
    """vLLM's default form."""
    prompts, keys = batch.prompts, batch.keys
    return f"execute_context_{len(prompts)}({sum(prompts)})_generation_{len(keys)}({len(keys)})"


def vllm_detailed(batch: Batch) -> str:
    """vLLM with `detailed_trace_annotation`."""
    prompts, keys = batch.prompts, batch.keys
    squares = sum(size * size for size in prompts)
    first = f"sq{sum(prompts)}sk{sum(prompts)}sqsq{squares}sqsk{squares}"
    second = f"sq{len(keys)}sk{sum(keys)}sqsq{len(keys)}sqsk{sum(keys)}"
    return (
        f"execute_{sum(prompts) + len(keys)}_context_{len(prompts)}({first})"
        f"_generation_{len(keys)}({second})"
    )


def vllm_old(batch: Batch) -> str:
    """vLLM, early: requests alone."""
    return f"execute_new_{len(batch.prompts)}_cached_{len(batch.keys)}"


def sglang(batch: Batch) -> str:
    """SGLang with `roofline_annotations`."""
    prompts, keys = batch.prompts, batch.keys
    size = len(prompts) + len(keys)
    if prompts and keys:
        counts = f"c={len(prompts)} g={len(keys)} c_sq={sum(prompts)} g_sq={len(keys)}"
        return f"step[MIXED bs={size} {counts}]"
    if prompts:
        return f"step[EXTEND bs={size} toks={sum(prompts)}]"
    return f"step[DECODE bs={size} g_sk={sum(keys)}]"


def atom(batch: Batch) -> str:
    """ATOM, which runs batches in graphs of fixed sizes."""
    prompts, keys = batch.prompts, batch.keys
    size, tokens = len(prompts) + len(keys), sum(prompts) + len(keys)
    if prompts and not keys:
        return f"prefill[bs={size} tok={tokens} ctx={list(prompts)}]"
    return f"decode[bs={size}/8 tok={tokens} p={len(prompts)} d={len(keys)} spec=0]"


def tensorrt(batch: Batch) -> str:
    """TensorRT-LLM; a real one writes NVTX ranges."""
    prompts, keys = batch.prompts, batch.keys
    counts = f"{len(prompts)} ctx reqs, {sum(prompts)} ctx tokens, {len(keys)} gen reqs"
    return f"[Executor] _forward_step: {counts}"


FORMS: dict[str, Callable[[Batch], str]] = {
    "vllm": vllm,
    "vllm-detailed": vllm_detailed,
    "vllm-old": vllm_old,
    "sglang": sglang,
    "atom": atom,
    "tensorrt": tensorrt,
}


def work(model: nn.Module, batch: Batch) -> None:
    """Run the model on the batch, for a fixed time whatever the machine."""
    until = time.perf_counter() + FORWARD_SECONDS
    tokens = torch.rand(sum(batch.prompts) + len(batch.keys), 64)
    while time.perf_counter() < until:
        model(tokens)


def serve(logdir: Path, form: str = "vllm", worker_name: str | None = None) -> list[Batch]:
    """Serve all requests within one recording. Returns the iterations."""
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64)).eval()
    batches = list(plan())
    with torch.inference_mode():
        work(model, batches[0])  # first calls are slow: run some work before the recording
        # The file is there when the engine has ended.
        handler = tensorboard_trace_handler(logdir, worker_name, background=False)
        with profile(on_trace_ready=handler):
            for batch in batches:
                with record_function("schedule: batch"):
                    time.sleep(SCHEDULER_SECONDS)
                with record_function(FORMS[form](batch)):
                    work(model, batch)
    return batches


@click.command()
@click.option("--logdir", default="log/engine", show_default=True, type=Path)
@click.option("--form", default="vllm", show_default=True, type=click.Choice(list(FORMS)))
@click.option("--worker-name", help="By default the host and the process number.")
def main(logdir: Path, form: str, worker_name: str | None) -> None:
    batches = serve(logdir, form, worker_name)
    print(f"{len(batches)} iterations. To look at them: tensorboard --logdir {logdir.parent}")


if __name__ == "__main__":
    main()
