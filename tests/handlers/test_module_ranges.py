"""Ranges around modules: a recording names them without stacks, and no training notices."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

from kinetoscope.analysis.modules.artifact import modules_of
from kinetoscope.analysis.modules.figures import figures_of
from kinetoscope.handlers import ModuleRanges, TraceHandler, tensorboard_trace_handler
from kinetoscope.trace.read import read as read_trace
from tests.analysis.modules.test_sources import paths
from tests.handlers.recording import read


class Block(nn.Module):
    """Two layers, called again in the backward pass if asked for."""

    def __init__(self, *, again: bool = False) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.act = nn.ReLU()
        self.again = again

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.again:
            return checkpoint(self.inner, x, use_reentrant=False)  # type: ignore[no-any-return]
        return self.inner(x)

    def inner(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.fc(x))  # type: ignore[no-any-return]


class Net(nn.Module):
    """A model of known structure."""

    def __init__(self, *, again: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Block(again=again), Block(again=again)])
        self.head = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)  # type: ignore[no-any-return]


def recorded(
    folder: Path, model: nn.Module, handler: TraceHandler, *, backward: bool = True, **options: Any
) -> Path:
    """The file of two steps of a model."""
    with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler, **options):
        for _ in range(2):
            loss = model(torch.ones(4, 8)).sum()
            if backward:
                loss.backward()
    assert handler.flush(60)
    (path,) = folder.glob("*.pt.trace.json*")
    return path


TREE = [
    "Net", "Net/layers.0", "Net/layers.0/fc", "Net/layers.0/act", "Net/layers.1", "Net/layers.1/fc",
    "Net/layers.1/act", "Net/head",
]  # fmt: skip


def test_a_model_of_known_structure_gives_the_known_tree(tmp_path: Path) -> None:
    model = Net()
    handler = tensorboard_trace_handler(tmp_path, modules=model)
    path = recorded(tmp_path, model, handler)
    columns = modules_of(read_trace(path))
    assert columns.source == "ranges"
    assert paths(columns) == TREE
    assert figures_of(columns, None).calls.tolist() == [2] * len(TREE)
    assert figures_of(columns, None).again.tolist() == [0] * len(TREE)
    told = read(path)["kinetoscope"]["modules"]
    assert told == {
        "": "Net", "layers": "ModuleList", "layers.0": "Block", "layers.0.fc": "Linear",
        "layers.0.act": "ReLU", "layers.1": "Block", "layers.1.fc": "Linear",
        "layers.1.act": "ReLU", "head": "Linear",
    }  # fmt: skip


def test_stacks_and_ranges_name_the_same_modules(tmp_path: Path) -> None:
    model = Net()
    handler = tensorboard_trace_handler(tmp_path, modules=model)
    columns = modules_of(read_trace(recorded(tmp_path, model, handler, with_stack=True)))
    names = [columns.strings[code] for code in columns.tree.qualified if code >= 0]
    assert sorted(names) == sorted(
        ["", "layers.0", "layers.0.fc", "layers.0.act", "layers.1", "layers.1.fc", "layers.1.act",
         "head"]
    )  # fmt: skip


def test_what_is_recomputed_is_known_without_stacks(tmp_path: Path) -> None:
    model = Net(again=True)
    handler = tensorboard_trace_handler(tmp_path, modules=model)
    columns = modules_of(read_trace(recorded(tmp_path, model, handler)))
    assert paths(columns) == TREE
    again = dict(zip(TREE, figures_of(columns, None).again.tolist(), strict=True))
    assert {name for name, count in again.items() if count} >= {
        "Net/layers.0/fc",
        "Net/layers.1/fc",
    }
    assert again["Net"] == again["Net/head"] == 0


class Sleeper(nn.Module):
    """Takes as long as it is told."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(self.seconds)
        return x + 1


def stopwatch(model: nn.Module) -> dict[str, list[int]]:
    """Module → when its forward began and when it ended, ns, for each hook that tells."""
    seen: dict[str, list[int]] = {}
    for name, module in model.named_modules():
        times = seen.setdefault(name, [])
        module.register_forward_pre_hook(lambda _, __, times=times: times.append(now()))
        module.register_forward_hook(lambda _, __, ___, times=times: times.append(now()))
    return seen


def test_times_are_those_of_a_stopwatch(tmp_path: Path) -> None:
    """A range lies between two stopwatches: hooks run in the order in which they were made."""
    model = nn.Sequential(Sleeper(0.02), nn.Sequential(Sleeper(0.03), Sleeper(0.01)))
    before = stopwatch(model)
    handler = tensorboard_trace_handler(tmp_path, modules=model)
    after = stopwatch(model)
    columns = modules_of(read_trace(recorded(tmp_path, model, handler, backward=False)))
    figures = figures_of(columns, None)
    names = [columns.strings[code] for code in columns.tree.qualified]
    found = dict(zip(names, figures.host_total_ns.tolist(), strict=True))
    assert found.keys() == before.keys() == after.keys()
    clock_ns = 200_000  # torch's clock and ours
    for name, ns in found.items():
        least = most = 0
        calls = zip(*(iter(before[name]),) * 2, *(iter(after[name]),) * 2, strict=True)
        for outer_began, inner_ended, inner_began, outer_ended in calls:
            least += inner_ended - inner_began
            most += outer_ended - outer_began
        assert least - clock_ns <= ns <= most + clock_ns, name
    own = dict(zip(names, figures.host_self_ns.tolist(), strict=True))
    assert own["1"] == found["1"] - found["1.0"] - found["1.1"]
    assert own["1.0"] == found["1.0"]


def now() -> int:
    return time.perf_counter_ns()


def ranges_of(model: Any, *inputs: torch.Tensor) -> list[str]:
    """The ranges of modules that a call of a model leaves in a recording."""
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        model(*inputs)
    return [event.name for event in prof.events() if event.name.startswith("[module]")]


X = torch.ones(4, 8)


def test_removed_hooks_leave_nothing() -> None:
    model = Net()
    with ModuleRanges(model):
        assert ranges_of(model, X)[:2] == ["[module]Net", "[module]Block: layers.0"]
    assert ranges_of(model, X) == []
    assert all(not one._forward_hooks and not one._forward_pre_hooks for one in model.modules())


def test_several_models_have_names_of_their_own() -> None:
    one, two = nn.Linear(8, 8), nn.Sequential(nn.Linear(8, 8))
    with ModuleRanges({"generator": one, "critic": two}) as ranges:
        assert ranges.names == {"generator": "Linear", "critic": "Sequential", "critic.0": "Linear"}
        assert ranges_of(two, X) == ["[module]Sequential: critic", "[module]Linear: critic.0"]


def test_a_forward_that_raises_closes_its_range() -> None:
    class Raises(nn.Module):
        def forward(self, _: torch.Tensor) -> torch.Tensor:
            raise KeyError("of the training")

    model, other = nn.Sequential(Raises()), nn.ReLU()
    with ModuleRanges({"a": model, "b": other}), profile(activities=[ProfilerActivity.CPU]) as prof:
        with pytest.raises(KeyError, match="of the training"):
            model(X)
        other(X)
    names = [event for event in prof.events() if event.name.startswith("[module]")]
    assert [event.name for event in names] == [
        "[module]Sequential: a", "[module]Raises: a.0", "[module]ReLU: b",
    ]  # fmt: skip
    assert names[2].time_range.start >= names[0].time_range.end


def test_copies_and_saved_models_have_no_ranges_and_need_nothing_of_ours(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 8))
    with ModuleRanges(model):
        assert ranges_of(copy.deepcopy(model), X) == []
        torch.save(model, path := tmp_path / "model.pt")
    code = f"""
        import sys
        sys.modules["kinetoscope"] = None  # not installed
        import torch
        model = torch.load({str(path)!r}, weights_only=False)
        assert model(torch.ones(4, 8)).shape == (4, 8)
        """
    subprocess.run([sys.executable, "-c", "\n".join(map(str.strip, code.splitlines()))], check=True)


def test_compiled_models_are_left_alone() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    with ModuleRanges(model):
        # Compiled after the hooks were there: nothing of them is in the graph.
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        assert ranges_of(compiled, X) == []
    torch.compiler.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    with ModuleRanges(compiled) as ranges:
        assert ranges.names == {"": "Sequential"}
        assert ranges_of(compiled, X) == ["[module]Sequential"]
    torch.compiler.reset()
    inner = nn.Sequential(nn.ReLU())
    inner.compile(backend="eager", fullgraph=True)
    with ModuleRanges(nn.Sequential(nn.ReLU(), inner)) as ranges:
        assert ranges.names == {"": "Sequential", "0": "ReLU"}


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_scripted_and_traced_models_are_left_alone() -> None:
    scripted = torch.jit.script(nn.Sequential(nn.ReLU()))
    model = nn.Sequential(nn.ReLU(), scripted)
    with ModuleRanges(model) as ranges:
        assert ranges.names == {"": "Sequential", "0": "ReLU"}
        assert ranges_of(model, X) == ["[module]Sequential", "[module]ReLU: 0"]
    with (
        ModuleRanges(plain := nn.Sequential(nn.ReLU())),
        profile(activities=[ProfilerActivity.CPU]),
    ):
        traced: Any = torch.jit.trace(plain, X)  # type: ignore[no-untyped-call]
    assert "record_function" not in str(traced.inlined_graph)


def test_a_failing_hook_says_so_once_and_the_training_goes_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Net()
    ranges = ModuleRanges(model)

    def fails(name: str) -> None:
        raise RuntimeError(f"no range for {name}")

    monkeypatch.setattr(ranges._state, "enter", fails)
    with caplog.at_level(logging.ERROR):
        assert ranges_of(model, X) == []
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "[module]Net" in caplog.text


@pytest.mark.parametrize("odd", [3, "model", {"a": 3}, [nn.ReLU()]])
def test_what_is_no_model_is_refused_or_logged(
    odd: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TypeError, match=r"an nn\.Module"):
        ModuleRanges(odd)
    handler = tensorboard_trace_handler(tmp_path, modules=odd)
    assert handler.module_ranges is None
    assert "records no modules" in caplog.text
    with pytest.raises(TypeError):
        tensorboard_trace_handler(tmp_path, modules=odd, on_error="raise")


def test_ranges_are_annotations_and_no_ops(tmp_path: Path) -> None:
    model = Net()
    handler = tensorboard_trace_handler(tmp_path, modules=model)
    events = read(recorded(tmp_path, model, handler))["traceEvents"]
    kinds = {event["cat"] for event in events if str(event.get("name")).startswith("[module]")}
    assert kinds == {"user_annotation"}
