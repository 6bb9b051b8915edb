"""The half of kinetoscope that runs inside a training job.

Importing it costs nothing: no torch, no TensorBoard, no pandas. It keeps the promise that a
profiler owes to the job it watches: whatever goes wrong when a trace is saved, training goes on.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .loops.adapters import lightning_callback, profiled, trainer_callback
    from .loops.recommended import RecommendedConfig, recommended_config
    from .loops.recorder import Recorder
    from .module_ranges import ModuleRanges
    from .trace_handler import ExportError, TraceHandler, tensorboard_trace_handler
    from .writer import LocalWriter, Publication, Writer

__all__ = [
    "ExportError",
    "LocalWriter",
    "ModuleRanges",
    "Publication",
    "RecommendedConfig",
    "Recorder",
    "TraceHandler",
    "Writer",
    "lightning_callback",
    "profiled",
    "recommended_config",
    "tensorboard_trace_handler",
    "trainer_callback",
]

_MODULES = {
    ".loops.adapters": ("lightning_callback", "profiled", "trainer_callback"),
    ".loops.recommended": ("RecommendedConfig", "recommended_config"),
    ".loops.recorder": ("Recorder",),
    ".module_ranges": ("ModuleRanges",),
    ".trace_handler": ("ExportError", "TraceHandler", "tensorboard_trace_handler"),
    ".writer": ("LocalWriter", "Publication", "Writer"),
}


def __getattr__(name: str) -> object:
    """Import names at their first use: the viewer only needs the parser of addresses."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(module, __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
