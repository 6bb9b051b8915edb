"""Fourteen small programs under torch.compile, recorded by the handler; run by test_compilations.

python compile_programs.py LOGDIR [BACKEND] [lines]: prints nothing of its own but `called NAME`.
"""

import itertools
import socket
import sys
from typing import Any

import torch
import torch._dynamo as dynamo
from torch.profiler import ProfilerActivity, profile

from kinetoscope.handlers import tensorboard_trace_handler

BACKEND = sys.argv[2] if len(sys.argv) > 2 else "eager"
FLAG = 1


def dynamic_batch(x: Any) -> Any:
    return x.sin() * 2


def value_guard(x: Any, mode: str) -> Any:
    if mode == "a":
        return x + 1
    return x + 2


def by_print(x: Any) -> Any:
    y = x.sin()
    print("called by_print")  # noqa: T201  # break: print
    return y.cos()


def by_item(x: Any) -> Any:
    y = x.sum()
    n = y.item()  # break: item
    return x * n


def by_call(x: Any) -> Any:
    y = x.sin()
    name = socket.gethostname()  # break: call
    return y * len(name)


def helper(x: Any) -> Any:
    y = x + 1
    print("called helper")  # noqa: T201  # break: helper
    return y * 2


def by_helper(x: Any) -> Any:
    return helper(x.sin()).cos()


def limited(x: Any, n: int) -> Any:
    return x * n if n > 100 else x + n


def warm_up(x: Any) -> Any:
    return x.exp().log()


def part(x: Any) -> Any:
    return x.tanh() * 2


def half_eager(x: Any) -> Any:
    return torch.relu(COMPILED[part](x) + 1).sum()


def healthy(x: Any) -> Any:
    return (x.sin() * x.cos()).sum()


def by_global(x: Any) -> Any:
    return x * FLAG


def by_grad(x: Any) -> Any:
    return x * 3


def trained(x: Any) -> Any:
    y = x.sin()
    return (y * 2).sum()


def chain(x: Any, w: Any) -> Any:
    y = x.sin()  # line: y
    z = y * 2 + 1  # line: z
    z = z @ w  # line: mm
    return z.cos().sum()  # line: end


COMPILED: dict[Any, Any] = {}


def _compiled(function: Any) -> Any:
    COMPILED[function] = torch.compile(function, backend=BACKEND)
    return COMPILED[function]


def main() -> None:
    """Run all of them; those of the warm-up and of the window are told apart by the record."""
    global FLAG  # noqa: PLW0603  # what a guard on a global is about
    torch.set_num_threads(1)
    name = "recompile_limit" if hasattr(dynamo.config, "recompile_limit") else "cache_size_limit"
    setattr(dynamo.config, name, 8)
    handler = tensorboard_trace_handler(
        sys.argv[1], compile="lines" if "lines" in sys.argv else True, background=False
    )
    x = torch.randn(8, 4)
    if "lines" in sys.argv:
        run = _compiled(chain)
        w = torch.randn(4, 4)
        with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler):
            run(torch.randn(8, 4, requires_grad=True), w).backward()
        return
    _compiled(part)
    for function in (healthy, half_eager):
        run = _compiled(function) if function is healthy else function
        for _ in range(2):
            run(x)
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler):
        run = _compiled(dynamic_batch)
        for size in (8, 16, 24):
            run(torch.randn(size, 4))
        run = _compiled(value_guard)
        for mode in "abc":
            run(x, mode)
        for function in (by_print, by_item, by_call, by_helper, warm_up):
            run = _compiled(function)
            for _ in range(2):
                run(x)
        run = _compiled(limited)
        setattr(dynamo.config, name, 3)
        dynamo.config.automatic_dynamic_shapes = False
        for n in itertools.chain(range(2, 7), range(2, 7)):
            run(x, n)
        setattr(dynamo.config, name, 8)
        run = _compiled(by_global)
        run(x)
        FLAG = 2
        run(x)
        run = _compiled(by_grad)
        run(x)
        run(x.clone().requires_grad_())
        run = _compiled(trained)
        run(x.clone().requires_grad_()).backward()
        for _ in range(3):
            COMPILED[healthy](x)
            half_eager(x)


if __name__ == "__main__":
    main()
