"""A training drawn with noise: the same code on any number of steps, with a change planted.

step   │ loader │ aten::linear … aten::relu … aten::mm │ optimizer │
gpu             │  gemm          relu        gemm2      │
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinetoscope.analysis.diff.sides import Side
from kinetoscope.analysis.modules.artifact import modules_of
from kinetoscope.analysis.operators.artifact import operators_of
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.trace.drawn import Event, annotation, drawn, kernel, launch, x

OPS: Mapping[str, tuple[float, str]] = {
    "aten::linear": (300.0, "gemm"),
    "aten::relu": (80.0, "relu"),
    "aten::mm": (500.0, "gemm2"),
    "aten::softmax": (120.0, "softmax"),
    "aten::sum": (60.0, "reduce"),
    "aten::copy_": (40.0, "copy"),
}
"""Operator → µs of its kernel, and the kernel's name."""
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
DEVICE = {"id": 0, "name": "Test GPU", "totalGlobalMem": 1 << 34, "numSms": 80}


@dataclass(frozen=True)
class Plant:
    """What is different from the usual training."""

    slower: Mapping[str, float] = field(default_factory=dict)  # operator → factor of its kernel
    times: Mapping[str, int] = field(default_factory=dict)  # operator → calls per step
    names: Mapping[str, str] = field(default_factory=dict)  # operator → another name
    loader_us: float = 100.0
    clock: float = 1.0  # all kernels
    device: str = "Test GPU"


def events(
    seed: int, steps: int, plant: Plant = Plant(), sigma: float = 0.01, phi: float = 0.3
) -> Iterable[Event]:
    """The events of some steps; ``sigma`` is the noise of a step, ``phi`` how much of it lasts."""
    generator = np.random.default_rng(seed)
    now, mood, number = 0.0, generator.normal(), 0
    for step in range(steps):
        mood = phi * mood + np.sqrt(1 - phi**2) * generator.normal()
        noise = float(np.exp(sigma * mood))
        begin, now = now, now + 10
        yield annotation(LOADER, now, plant.loader_us * noise)
        now += plant.loader_us * noise + 5
        for name, (usual, kernel_name) in OPS.items():
            for _ in range(plant.times.get(name, 1)):
                number += 1
                length = usual * plant.slower.get(name, 1.0) * plant.clock * noise
                length *= float(np.exp(sigma / 2 * generator.normal()))
                yield x(plant.names.get(name, name), now, length + 6, external_id=number)
                yield launch(now + 1, 2, number)
                yield kernel(
                    kernel_name, now + 4, length, correlation=number, grid=[80, 1, 1],
                    block=[128, 1, 1],
                )  # fmt: skip
                now += length + 8
        now += 5
        yield annotation(f"ProfilerStep#{step}", begin, now - begin)
        now += 2


def metadata(plant: Plant = Plant()) -> dict[str, Any]:
    return {"deviceProperties": [{**DEVICE, "name": plant.device}]}


def training(seed: int, steps: int, plant: Plant = Plant(), **noise: float) -> Side:
    """The side of a comparison that these steps are."""
    return side_of(drawn(events(seed, steps, plant, **noise), **metadata(plant)))


def side_of(trace: Trace, steps: str = "") -> Side:
    facts = summarize(trace)
    modules = modules_of(trace) if facts.recording.modules else None
    return Side(select(facts, steps), operators_of(trace), modules)


def write_training(
    path: Path, seed: int, steps: int, plant: Plant = Plant(), **noise: float
) -> Path:
    """The same as a file."""
    document = {
        "schemaVersion": 1,
        **metadata(plant),
        "traceEvents": list(events(seed, steps, plant, **noise)),
    }
    text = json.dumps(document).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path
