"""A training on the CPU, recorded with and without Python stacks: the parts are the same."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kinetoscope.analysis.facts import HostPartition
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.conftest import ROOT

pytest.importorskip("torch", reason="records a training with torch")

SCRIPT = """
import sys, time
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, index):
        time.sleep(0.05)
        return torch.rand(256), index % 16


def train(out, stacks):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)], nn.Linear(256, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.repeat(32, 1)), y.repeat(32))
        loss.backward()
        return loss

    loader = DataLoader(Slow(), batch_size=8, num_workers=1, prefetch_factor=1)
    activities = [ProfilerActivity.CPU]
    plan = schedule(wait=1, warmup=1, active=6)
    with profile(activities=activities, schedule=plan, with_stack=stacks) as prof:
        for at, (x, y) in enumerate(loader):
            if at == 8:
                break
            optimizer.step(closure)
            prof.step()
    prof.export_chrome_trace(out)


if __name__ == "__main__":
    train(sys.argv[1], True)
    train(sys.argv[2], False)
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, int]]]:
    """The parts of each step in µs, by whether stacks were recorded."""
    from tests.analysis.invariants import microseconds

    folder = tmp_path_factory.mktemp("stacks")
    script = folder / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    files = {one: folder / f"{one}.pt.trace.json" for one in ("stacks", "none")}
    subprocess.run([sys.executable, script, *files.values()], check=True, timeout=240)
    found = {}
    for one, path in files.items():
        facts = summarize(read(path))
        assert (facts.counts["python"] > 0) == (one == "stacks")
        found[one] = [microseconds(step.host) for step in facts.steps if step.host]
    return found


def middle(steps: list[dict[str, int]], *parts: str) -> int:
    """The median over the steps."""
    values = sorted(sum(step.get(part, 0) for part in parts) for step in steps)
    return values[len(values) // 2]


@pytest.mark.parametrize(
    "parts",
    [("dataloader",), ("forward",), ("backward",), ("optimizer",), ("python", "uninstrumented")],
)
def test_stacks_change_no_part(
    recorded: dict[str, list[dict[str, int]]], parts: tuple[str, ...]
) -> None:
    without, stacked = (middle(recorded[one], *parts) for one in ("none", "stacks"))
    # A busy machine moves much; a part that stacks hide moves all of the wait.
    assert abs(stacked - without) < 0.25 * middle(recorded["none"], *recorded["none"][0])


def test_a_worker_is_waited_for_and_a_closure_is_forward_and_backward(
    recorded: dict[str, list[dict[str, int]]],
) -> None:
    for steps in recorded.values():
        assert middle(steps, "dataloader") > middle(steps, "python", "uninstrumented")
        assert 2 * middle(steps, "optimizer") < middle(steps, "forward", "backward")


WITH_STACKS = sorted((ROOT / "samples/traces").glob("train*/*.json.gz"))


@pytest.mark.parametrize("path", WITH_STACKS, ids=[path.parent.name for path in WITH_STACKS])
def test_the_same_events_without_stacks_have_the_same_parts(path: Path, tmp_path: Path) -> None:
    """Frames name what is *no known operator* without them; of all else they move nothing."""
    document = json.loads(gzip.decompress(path.read_bytes()))
    events = document["traceEvents"]
    kept = [one for one in events if one.get("cat") != "python_function"]
    assert len(kept) < len(events)
    copy = tmp_path / "plain.pt.trace.json"
    copy.write_text(json.dumps({**document, "traceEvents": kept}), encoding="utf-8")
    stacked, plain = (
        [one.host for one in summarize(read(file)).steps if one.host] for file in (path, copy)
    )
    assert len(stacked) == len(plain) >= 3
    for mine, bare in zip(stacked, plain, strict=True):
        for part in HostPartition.__struct_fields__:
            with_frames, without = getattr(mine, part), getattr(bare, part)
            if part in ("forward_ns", "backward_ns", "python_ns"):
                assert with_frames >= without, part  # calls of modules, `backward()`, frames
            elif part == "uninstrumented_ns":
                assert with_frames <= without
            else:
                assert with_frames == without, part
        assert bare.python_ns == 0 < mine.python_ns
