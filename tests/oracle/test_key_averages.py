"""Held against torch's own sums over a profile that is recorded here and now."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read

torch = pytest.importorskip("torch")

STEPS = 3
ROUNDING_NS = 1_000  # torch sums in µs; a range may round by one ns at either end


@pytest.fixture(name="recorded", scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> tuple[Facts, dict[str, Any]]:
    """The facts of a small training on the host, and key_averages() of the same profile."""
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.utils.data.TensorDataset(torch.randn(64, 32), torch.randint(0, 4, (64,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    path = tmp_path_factory.mktemp("live") / "worker0.pt.trace.json"

    def save(profiler: Any) -> None:
        profiler.export_chrome_trace(str(path))

    schedule = torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], schedule=schedule, on_trace_ready=save
    ) as profiler:
        for inputs, target in itertools.islice(loader, STEPS + 1):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), target).backward()
            optimizer.step()
            profiler.step()
        averages = {one.key: one for one in profiler.key_averages()}
    return summarize(read(Path(path))), averages


def total_ns(averages: dict[str, Any], prefix: str) -> float:
    times = (one.cpu_time_total for key, one in averages.items() if key.startswith(prefix))
    return 1000 * float(sum(times))


def test_every_step_is_there(recorded: tuple[Facts, dict[str, Any]]) -> None:
    facts, averages = recorded
    assert len(facts.steps) == STEPS
    lengths = sum(step.end_ns - step.start_ns for step in facts.steps)
    assert lengths == pytest.approx(total_ns(averages, "ProfilerStep"), abs=STEPS * ROUNDING_NS)


def test_the_data_loader_takes_what_torch_says(
    recorded: tuple[Facts, dict[str, Any]],
) -> None:
    facts, averages = recorded
    ours = sum(step.host.dataloader_ns for step in facts.steps if step.host)
    # The last batch is fetched in the step after the last one: torch counts it, no step holds it.
    told = total_ns(averages, "enumerate(DataLoader)")
    assert 0 < ours <= told + STEPS * ROUNDING_NS
    assert facts.traits.dataloader_class == "_SingleProcessDataLoaderIter"


def test_the_optimizer_takes_what_torch_says(recorded: tuple[Facts, dict[str, Any]]) -> None:
    facts, averages = recorded
    ours = sum(step.host.optimizer_ns for step in facts.steps if step.host)
    told = total_ns(averages, "Optimizer.")
    assert ours == pytest.approx(told, abs=4 * STEPS * ROUNDING_NS)


def test_every_op_is_counted(recorded: tuple[Facts, dict[str, Any]]) -> None:
    facts, averages = recorded
    told = sum(one.count for key, one in averages.items() if not one.is_user_annotation)
    assert facts.counts["op"] == told
