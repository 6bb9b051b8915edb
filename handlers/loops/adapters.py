"""Profilers in other people's training loops: Lightning, Hugging Face Trainer, a plain `for`.

Each takes a profiler that is made already: a `torch.profiler.profile` with a schedule and
`on_trace_ready`, or a `Recorder`. The packages are imported when an adapter is made.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

_log = logging.getLogger("kinetoscope.handlers")
_Item = TypeVar("_Item")


class Stepped(Protocol):
    """Common interface of `torch.profiler.profile` and `Recorder`."""

    def start(self) -> object:
        """Begin, before the first step."""

    def step(self) -> object:
        """End a step, and begin the next."""

    def stop(self) -> object:
        """End, after the last step."""


def profiled(items: Iterable[_Item], profiler: Stepped) -> Iterator[_Item]:
    """The items, with a step of the profiler around each.

        for batch in profiled(loader, profile(schedule=…, on_trace_ready=…)):

    The profiler stops after the last item, and when the loop is left early or raises.
    """
    guard = _Guard(profiler)
    guard.call("start")
    try:
        for item in items:
            yield item
            guard.call("step")
    finally:
        guard.call("stop")


def lightning_callback(profiler: Stepped) -> Any:  # noqa: ANN401  # Lightning's class
    """A callback for `lightning.Trainer(callbacks=[…])`: a training batch is a step.

    Raises:
        ImportError: neither `lightning` nor `pytorch_lightning` is installed.
    """
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

    guard = _Guard(profiler)

    class KinetoscopeCallback(Callback):  # type: ignore[misc]
        """Steps the profiler."""

        def on_train_start(self, *_: object) -> None:
            guard.call("start")

        def on_train_batch_end(self, *_: object) -> None:
            guard.call("step")

        def on_train_end(self, *_: object) -> None:
            guard.call("stop")

        def on_exception(self, *_: object) -> None:
            guard.call("stop")

    return KinetoscopeCallback()


def trainer_callback(profiler: Stepped) -> Any:  # noqa: ANN401  # Hugging Face's class
    """A callback for `transformers.Trainer(callbacks=[…])`: an optimizer step is a step.

    With gradient accumulation that is several batches.

    Raises:
        ImportError: `transformers` is not installed.
    """
    from transformers import TrainerCallback

    guard = _Guard(profiler)

    class KinetoscopeCallback(TrainerCallback):  # type: ignore[misc]
        """Steps the profiler."""

        def on_train_begin(self, *_: object, **__: object) -> None:
            guard.call("start")

        def on_step_end(self, *_: object, **__: object) -> None:
            guard.call("step")

        def on_train_end(self, *_: object, **__: object) -> None:
            guard.call("stop")

    return KinetoscopeCallback()


class _Guard:
    """Calls a profiler until it raises, which is logged; stops it only if it runs."""

    def __init__(self, profiler: Stepped) -> None:
        self._profiler = profiler
        self._runs = False

    def call(self, name: str) -> None:
        if self._runs is (name == "start"):
            return
        self._runs = name != "stop"
        method: Callable[[], object] = getattr(self._profiler, name)
        try:
            method()
        except Exception:  # noqa: BLE001  # whatever it is, the training goes on
            self._runs = False
            _log.exception("kinetoscope could not %s the profiler. The training goes on.", name)
