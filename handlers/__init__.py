"""The half of kinetoscope that runs inside a training job.

Importing it costs nothing: no torch, no TensorBoard, no pandas. It keeps the promise that a
profiler owes to the job it watches: whatever goes wrong when a trace is saved, training goes on.
"""

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
