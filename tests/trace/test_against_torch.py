"""What torch itself says about a recording, where torch is installed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinetoscope.trace.build.nest import nest
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import without_address
from kinetoscope.trace.read import read

torch = pytest.importorskip("torch", reason="needs torch to record with")
pytestmark = pytest.mark.filterwarnings("ignore")  # torch warns of its own future


def record(tmp_path: Path, **options: bool) -> tuple[Any, Trace]:
    """Three training steps, as torch's events and as our trace of the exported file."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], **options
    ) as recorded:
        for _ in range(3):
            with torch.profiler.record_function("## step ##"):
                optimizer.zero_grad()
                model(torch.randn(32, 16)).sum().backward()
                optimizer.step()
    path = tmp_path / "torch.json"
    recorded.export_chrome_trace(str(path))
    return recorded, read(path)


def name_of(trace: Trace, row: int) -> str:
    return trace.text(int(trace.host.name[row])) if row >= 0 else ""


@pytest.mark.parametrize("with_stack", [False, True])
def test_parents_are_those_of_torch(tmp_path: Path, with_stack: bool) -> None:
    """By name and number; torch drops an op directly inside one of the same name.

    torch knows no tolerance, so here none is given.
    """
    recorded, trace = record(tmp_path, with_stack=with_stack)
    host = trace.host
    first = np.ones(len(host), bool)
    first[1:] = host.thread[1:] != host.thread[:-1]
    parents = nest(host.ts, host.dur, first, np.zeros(len(host), np.int8), 0).parent
    theirs = Counter(
        (
            without_address(event.name),
            without_address(event.cpu_parent.name) if event.cpu_parent else "",
        )
        for event in recorded.events()
    )
    ours = Counter(
        (name_of(trace, row), name_of(trace, int(parent))) for row, parent in enumerate(parents)
    )
    assert theirs - ours == Counter()
    assert all(name == parent for name, parent in ours - theirs)


def test_counts_and_times_are_those_of_key_averages(tmp_path: Path) -> None:
    """Without stacks nothing overlaps, and exclusive time is torch's self time."""
    recorded, trace = record(tmp_path)
    host = trace.host
    count: Counter[str] = Counter()
    total: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for row in range(len(host)):
        name = name_of(trace, row)
        own[name] += int(host.self_ns[row])
        if name_of(trace, int(host.parent[row])) != name:
            count[name] += 1
            total[name] += int(host.dur[row])
    averages = recorded.key_averages()
    assert {item.key for item in averages} == set(count)
    for item in averages:
        assert item.count == count[item.key], item.key
        assert round(item.cpu_time_total * 1000) == total[item.key], item.key
        assert round(item.self_cpu_time_total * 1000) == own[item.key], item.key


def test_both_exporters_of_torch_give_one_trace(tmp_path: Path) -> None:
    with torch.autograd.profiler.profile(
        use_kineto=True, record_shapes=True, profile_memory=True, with_stack=True
    ) as recorded:
        torch.nn.Linear(8, 8)(torch.randn(4, 8)).sum().backward()
    kineto, python = tmp_path / "kineto.json", tmp_path / "python.json"
    recorded.export_chrome_trace(str(kineto))
    try:
        recorded.export_chrome_trace(str(python), use_python_export=True)
    except TypeError:
        pytest.skip("this torch has one exporter")
    first, second = read(kineto), read(python)

    def rows(trace: Trace) -> list[tuple[str, int, int, str]]:
        host = trace.host
        return sorted(
            (name_of(trace, row), int(trace.base_ns + host.ts[row]), int(host.dur[row]),
             name_of(trace, int(host.parent[row])))
            for row in range(len(host))
        )  # fmt: skip

    assert rows(first) == rows(second)
    assert first.memory.bytes.tolist() == second.memory.bytes.tolist()
    assert first.memory.address.tolist() == second.memory.address.tolist()
    assert len(first.flows) == len(second.flows) > 0
