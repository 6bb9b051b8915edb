"""Profiles for the tests of the handler: real ones, tiny, and a stand-in whose export is a line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from kinetoscope.handlers import TraceHandler

SMALL_TRACE = b' {"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "aten::mm"}]}\n'


class StandIn:
    """A profiler whose export writes `content`, or does what `instead` does with the path."""

    def __init__(
        self, content: bytes = SMALL_TRACE, instead: Callable[[Path], object] | None = None
    ) -> None:
        self.content = content
        self.instead = instead
        self.step_num = 7

    def export_chrome_trace(self, path: str) -> None:
        if self.instead is None:
            Path(path).write_bytes(self.content)
        else:
            self.instead(Path(path))


def train(steps: int, **profiler_options: Any) -> int:
    """A training under the profiler, until all is written. Returns the steps it finished."""
    finished = 0
    weight = torch.ones(8, 8, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU], **profiler_options) as prof:
        for _ in range(steps):
            (weight @ weight).sum().backward()  # type: ignore[no-untyped-call]
            prof.step()
            finished += 1
    handler = profiler_options.get("on_trace_ready")
    if isinstance(handler, TraceHandler):
        assert handler.flush(60)
    return finished


def save(handler: TraceHandler, prof: StandIn | None = None) -> Path | None:
    """The trace that the handler makes of a profile, once it is in its place; None if lost."""
    promised = handler(prof or StandIn())
    assert handler.flush(60)
    saved = handler.saved_paths
    return saved[-1] if promised and saved else None


def run_python(*arguments: object, **environment: str) -> str:
    """What an interpreter of its own prints, as a training job is; it must succeed."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read(path: Path) -> dict[str, Any]:
    """The JSON of a trace file."""
    data = path.read_bytes()
    content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    assert isinstance(content, dict)
    return content


def event_names(path: Path) -> list[str]:
    """The names of all events of a trace file, in file order."""
    return [event["name"] for event in read(path)["traceEvents"] if "name" in event]


def files_in(directory: Path) -> list[str]:
    """All files of a directory, hidden ones too, in the order of their names."""
    # What torch.compile did is written as soon as any test of this process compiled something.
    names = (path.name for path in directory.iterdir())
    return sorted(name for name in names if not name.endswith(".compile.json.gz"))
