"""The lines that a user pastes into a training loop."""

from __future__ import annotations

RECIPE = """\
from kinetoscope.handlers import tensorboard_trace_handler

with torch.profiler.profile(
    # repeat=1: recorded once. Without it the profiler records again and again, a file each time.
    schedule=torch.profiler.schedule(wait=1, warmup=3, active=5, repeat=1),
    on_trace_ready=tensorboard_trace_handler("./log"),
) as prof:
    for batch in loader:
        train(batch)
        prof.step()
"""
