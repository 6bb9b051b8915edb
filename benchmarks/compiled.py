"""What the record of torch.compile costs: steps with and without it, each compilation, its bytes.

    python -m benchmarks.compiled [--pairs 60] [--steps 100] [--functions 40]

Steps of one compiled function are recorded in pairs in one process, ``compile=True`` and
``compile=False`` in turn, so that both see the same machine. The cost of a compilation is the time
in our callback, against torch's own length of it, for the back end that compiles fastest.
"""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


@click.command()
@click.option("--pairs", default=60, show_default=True)
@click.option("--steps", default=100, show_default=True)
@click.option("--functions", default=40, show_default=True)
def main(pairs: int, steps: int, functions: int) -> None:
    """Print the ratios."""
    import torch

    from kinetoscope.handlers.compiler import record

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    spent: list[float] = []
    record._at_end = _timed(record._at_end, spent)
    with tempfile.TemporaryDirectory() as folder:
        run = torch.compile(lambda x: (x.sin() * 2 + x).cos().sum(), backend="eager")
        x = torch.randn(64, 64)
        run(x)
        ratios = []
        for number in range(pairs):
            order = (True, False) if number % 2 else (False, True)
            took = {kind: _recorded(Path(folder), run, x, steps, keeps=kind) for kind in order}
            ratios.append(took[True] / took[False])
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(
            f"a step with the record: {middle:.3f} × one without "
            f"(quartiles {low:.3f} and {high:.3f}, {pairs} pairs of {steps} steps)"
        )
        begun = len(spent)
        before = time.perf_counter()
        for number in range(functions):
            torch.compile(_function(number), backend="eager")(x)
        compiled = time.perf_counter() - before
        print(
            f"a compilation: {sum(spent[begun:]) / compiled:.5f} of its length "
            f"({1e6 * statistics.mean(spent[begun:]):.0f} µs, {len(spent) - begun} compilations)"
        )
        _recorded(Path(folder), run, x, 1, keeps=True)
        newest = max(Path(folder).glob("*.compile.json.gz"), key=lambda one: one.stat().st_mtime_ns)
        count = len(spent)
        print(f"the file: {newest.stat().st_size / count:.0f} bytes each of {count} compilations")


def _timed(action: Callable[..., None], spent: list[float]) -> Callable[..., None]:
    def timed(*arguments: Any) -> None:  # noqa: ANN401
        before = time.perf_counter()
        action(*arguments)
        spent.append(time.perf_counter() - before)

    return timed


def _function(number: int) -> Callable[[Any], Any]:
    """A function with a code object of its own."""
    space: dict[str, Any] = {}
    exec(f"def f{number}(x):\n    return (x + {number}).sin().sum()", space)  # noqa: S102
    found: Callable[[Any], Any] = space[f"f{number}"]
    return found


def _recorded(folder: Path, run: Any, x: Any, steps: int, *, keeps: bool) -> float:  # noqa: ANN401
    """Median of the seconds of a step while the profiler records."""
    from torch.profiler import ProfilerActivity, profile

    from kinetoscope.handlers import tensorboard_trace_handler

    handler = tensorboard_trace_handler(folder, compile=keeps, background=False)
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler):
        times = []
        for _ in range(steps):
            before = time.perf_counter()
            run(x)
            times.append(time.perf_counter() - before)
    return statistics.median(times)


if __name__ == "__main__":
    main()
