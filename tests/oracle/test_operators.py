"""The operator table against key_averages() of the same profile, recorded here and now."""

from __future__ import annotations

import csv
import itertools
import re
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from kinetoscope.analysis.operators.calls import find_calls
from kinetoscope.cli.show import show
from kinetoscope.trace.raw import without_address
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces

torch = pytest.importorskip("torch")

ROUNDING_US = 0.001  # the file has whole nanoseconds


@dataclass(frozen=True)
class Recorded:
    """The saved file, and per group what torch says: calls, self µs, total µs."""

    path: Path
    by_name: dict[str, tuple[int, float, float]]
    by_shape: dict[tuple[str, str], tuple[int, float, float]]


def convolutions() -> Callable[[], None]:
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 4),
    )
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        with torch.profiler.record_function("forward"):
            loss = model(torch.randn(4, 3, 16, 16)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def transformer() -> Callable[[], None]:
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2)
    return lambda: model(torch.randn(2, 8, 32)).sum().backward()


def inference_on_threads() -> Callable[[], None]:
    model = torch.nn.Linear(16, 16).eval()

    def one() -> None:
        with torch.no_grad():
            model(torch.randn(4, 16))

    def step() -> None:
        threads = [threading.Thread(target=one) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one()

    return step


def sums(averages: Any, key: Callable[[Any], Any]) -> dict[Any, tuple[int, float, float]]:
    return {key(one): (one.count, one.self_cpu_time_total, one.cpu_time_total) for one in averages}


@pytest.fixture(
    name="recorded",
    scope="module",
    params=[
        (convolutions, {"record_shapes": True}),
        (convolutions, {"record_shapes": True, "with_stack": True}),
        (transformer, {"record_shapes": True, "with_stack": True}),
        (inference_on_threads, {"record_shapes": True}),
    ],
    ids=["convolutions", "convolutions, stacks", "transformer, stacks", "threads"],
)
def record(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    make, options = request.param
    step = make()
    step()
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, **options) as profiler:
        for _ in range(3):
            step()
    path = tmp_path_factory.mktemp("live") / "worker0.pt.trace.json"
    profiler.export_chrome_trace(str(path))
    return Recorded(
        path,
        sums(profiler.key_averages(), lambda one: without_address(one.key)),
        sums(
            profiler.key_averages(group_by_input_shape=True),
            lambda one: (without_address(one.key), str(one.input_shapes).replace(" ", "")),
        ),
    )


def ours(path: Path) -> tuple[dict[Any, list[int]], dict[Any, list[int]]]:
    """Calls, self ns and total ns by name, and by name and shapes."""
    trace = read(path)
    calls = find_calls(trace, np.zeros(len(trace.device), np.int8)).calls
    by_name: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
    by_shape: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in range(len(calls)):
        name = trace.strings[calls.name[row]]
        shapes = trace.strings[calls.shapes[row]] if calls.shapes[row] >= 0 else "[]"
        for group in (by_name[name], by_shape[name, shapes]):
            group[0] += 1
            group[1] += int(calls.self_ns[row])
            group[2] += int(calls.total_ns[row])
    return by_name, by_shape


def same(found: dict[Any, list[int]], told: dict[Any, tuple[int, float, float]]) -> None:
    assert {key: row[0] for key, row in found.items()} == {key: row[0] for key, row in told.items()}
    for key, (count, self_us, total_us) in told.items():
        margin = ROUNDING_US * (2 * count + 1)
        assert found[key][1] / 1000 == pytest.approx(self_us, abs=margin), key
        assert found[key][2] / 1000 == pytest.approx(total_us, abs=margin), key


def test_every_row_by_name(recorded: Recorded) -> None:
    same(ours(recorded.path)[0], recorded.by_name)


def test_every_row_by_name_and_shape(recorded: Recorded) -> None:
    same(ours(recorded.path)[1], recorded.by_shape)


def test_the_command_line_prints_the_same_rows(recorded: Recorded) -> None:
    arguments = ["operators", str(recorded.path), "--steps", "everything"]
    arguments += ["--sort-by", "self_cpu_time_total"]
    done = CliRunner().invoke(
        show, [*arguments, "--limit", "10", "--format", "csv", "--table", "1"]
    )
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(done.stdout.splitlines()))
    told = sorted(recorded.by_name.values(), key=lambda row: -row[1])[:10]
    assert [int(row["calls"]) for row in rows] == [row[0] for row in told]
    for row, (count, self_us, total_us) in zip(rows, told, strict=True):
        margin = ROUNDING_US * (2 * count + 1)
        assert int(row["self_ns"]) / 1000 == pytest.approx(self_us, abs=margin)
        assert int(row["total_ns"]) / 1000 == pytest.approx(total_us, abs=margin)
    whole = sum(row[1] for row in recorded.by_name.values())
    # The whole has the frames of Python too, which torch's table leaves out.
    share = told[0][1] / whole
    assert 0.8 * share < float(rows[0]["self_ratio"]) <= share * (1 + 1e-6)


def test_the_command_line_groups_by_shape(recorded: Recorded) -> None:
    arguments = ["operators", str(recorded.path), "--steps", "everything"]
    arguments += ["--group-by-input-shape", "--limit", "1000"]
    done = CliRunner().invoke(show, [*arguments, "--format", "csv", "--table", "1"])
    rows = list(csv.DictReader(done.stdout.splitlines()))
    found = {(row["name"], row["detail"] or "[]"): int(row["calls"]) for row in rows}
    assert found == {key: row[0] for key, row in recorded.by_shape.items()}


def test_steps_are_one_row_as_torch_prints_them(tmp_path: Path) -> None:
    path, told = tmp_path / "worker0.pt.trace.json", {}
    step = convolutions()

    def save(profiler: Any) -> None:
        profiler.export_chrome_trace(str(path))
        told.update(sums(profiler.key_averages(), lambda one: one.key))

    schedule = torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(
        activities=activities, schedule=schedule, on_trace_ready=save
    ) as profiler:
        for _ in range(4):
            step()
            profiler.step()
    assert told["ProfilerStep*"][0] == 3
    arguments = ["operators", str(path), "--limit", "1000", "--format", "csv", "--table", "1"]
    done = CliRunner().invoke(show, [*arguments, "--steps", "all"])
    rows = {row["name"]: row for row in csv.DictReader(done.stdout.splitlines())}
    count, self_us, total_us = told["ProfilerStep*"]
    assert int(rows["ProfilerStep*"]["calls"]) == count
    assert int(rows["ProfilerStep*"]["self_ns"]) / 1000 == pytest.approx(self_us, abs=0.01)
    assert int(rows["ProfilerStep*"]["total_ns"]) / 1000 == pytest.approx(total_us, abs=0.01)
    assert not [name for name in rows if name.startswith("ProfilerStep#")]


@requires_traces
def test_an_exported_table_is_found_again() -> None:
    """key_averages().table() as another machine once printed it, by name and shape."""
    folder = TRACES / "fresh_torch2.13" / "exports"
    lines = (folder / "key_averages.txt").read_text(encoding="utf-8").splitlines()
    trace = read(folder / "trace.json.gz")
    found: dict[tuple[str, int, str], int] = defaultdict(int)
    calls = find_calls(trace, np.zeros(len(trace.device), np.int8)).calls
    sums: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for row in range(len(calls)):
        one = sums[int(calls.name[row]), int(calls.shapes[row])]
        one[0] += 1
        one[1] += int(calls.self_ns[row])
    for (name, _), (count, self_ns) in sums.items():
        found[trace.strings[name], count, _shown(self_ns)] += 1
    header = next(line for line in lines if "# of Calls" in line)
    columns = [match.end() for match in re.finditer(r"\S+(?: \S+)*", header)]
    told = 0
    for line in lines[lines.index(header) + 2 :]:
        if line.startswith("---"):
            break
        cells = [line[a:b].strip() for a, b in itertools.pairwise([0, *columns])]
        if cells[0].endswith("...") or cells[0] == "[memory]":
            continue  # cut, or no call
        told += 1
        assert found[cells[0], int(cells[8]), cells[2]], cells
    assert told > 20


def _shown(ns: int) -> str:
    """A time as torch prints it."""
    us = ns / 1000
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"
