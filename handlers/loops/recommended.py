"""Arguments of `torch.profiler.profile` for a question, with their cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

Question = Literal["what bounds my step", "memory", "call stacks", "smallest overhead"]


class RecommendedConfig(dict[str, Any]):
    """Arguments for `torch.profiler.profile(**config, on_trace_ready=…)`.

    `cost` says what they cost the steps that are recorded, `answers` where to look afterwards.
    """

    def __init__(self, arguments: dict[str, Any], *, cost: str, answers: str) -> None:
        super().__init__(arguments)
        self.cost = cost
        self.answers = answers


def recommended_config(question: Question = "what bounds my step") -> RecommendedConfig:
    """The arguments that answer a question at the least cost.

        config = recommended_config("memory")
        with profile(**config, on_trace_ready=tensorboard_trace_handler("./log")) as prof:

    A schedule is among them, so call `prof.step()` after each step. It records one window after
    the first steps, which are slow for reasons of their own, and then leaves the training alone.
    Replace what you know better: `{**config, "with_flops": True}`.

    Raises:
        ValueError: another question; the message has those that there are.
        ImportError: torch is not installed.
    """
    try:
        make = _QUESTIONS[question]
    except KeyError:
        known = ", ".join(f'"{one}"' for one in _QUESTIONS)
        raise ValueError(f"question: one of {known}, not {question!r}") from None
    return make()


def _window(active: int) -> Any:  # noqa: ANN401  # torch's schedule
    from torch.profiler import schedule

    return schedule(skip_first=5, wait=1, warmup=2, active=active, repeat=1)


def _what_bounds() -> RecommendedConfig:
    return RecommendedConfig(
        {"schedule": _window(5), "record_shapes": True},
        cost="Each operator costs some microseconds on the host: a few per cent where operators "
        "are large, up to twice the time where a step is many small ones.",
        answers="Overview: where the step went, and what to do about it; then Operator and Kernel.",
    )


def _memory() -> RecommendedConfig:
    return RecommendedConfig(
        {"schedule": _window(3), "record_shapes": True, "profile_memory": True},
        cost="As for the step, and one more event for each allocation and release.",
        answers="Memory: contents of the peak, and leaks. With modules=model of the handler also "
        "by module.",
    )


def _call_stacks() -> RecommendedConfig:
    return RecommendedConfig(
        {"schedule": _window(2), "record_shapes": True, "with_stack": True},
        cost="Every call of a Python function is an event: host code runs up to several times as "
        "long, files are several times as large. Do not read times of the host from it.",
        answers="Operator: the lines that call an operator; Trace: Python frames above operators.",
    )


def _smallest_overhead() -> RecommendedConfig:
    import torch
    from torch.profiler import ProfilerActivity

    arguments: dict[str, Any] = {"schedule": _window(3)}
    # On a machine without an accelerator there is nothing else to record than the host.
    if torch.cuda.is_available():
        arguments["activities"] = [ProfilerActivity.CUDA]
    try:
        from torch._C._profiler import _ExperimentalConfig

        arguments["experimental_config"] = _ExperimentalConfig(trace_only=True)
    except (ImportError, TypeError):  # torch before 2.12
        pass
    return RecommendedConfig(
        arguments,
        cost="Only device work where there is a device, else operators without shapes. Saving "
        "takes about half the time; prof.events() and prof.key_averages() are not available.",
        answers="Overview and Trace: is the device busy? Not why: no operators, no host.",
    )


_QUESTIONS: dict[str, Callable[[], RecommendedConfig]] = {
    "what bounds my step": _what_bounds,
    "memory": _memory,
    "call stacks": _call_stacks,
    "smallest overhead": _smallest_overhead,
}
