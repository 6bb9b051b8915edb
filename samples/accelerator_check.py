"""Hold kinetoscope's figures against what PyTorch itself measures on this machine's accelerator.

    python samples/accelerator_check.py --out accelerator_check

It records a training, inference with graphs, a compiled network, a snapshot of the memory and
collectives, and compares with live ``key_averages()``, ``memory_stats()``, events of the device,
``torch.utils.flop_counter`` and measured peaks. Parts that need what this machine does not have are
skipped, by name. ``report.md`` has every figure: attach it to an issue if a line says *differs*.
"""

import json
import math
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

import kinetoscope

STEPS = 3
MOST_BYTES = 2_000_000
LARGEST = 10  # ops that are compared


class Check(NamedTuple):
    """One figure, ours and theirs; ``within`` is the part by which they may differ."""

    what: str
    ours: float
    theirs: float
    within: float

    @property
    def is_equal(self) -> bool:
        return abs(self.ours - self.theirs) <= self.within * max(abs(self.theirs), 1e-12)


class SkippedError(Exception):
    """This machine lacks what a part needs; the message names it."""


def accelerator() -> torch.device | None:
    """The accelerator that torch knows here; None for a CPU alone."""
    if not torch.accelerator.is_available():
        return None
    return torch.accelerator.current_accelerator()


DEVICE = accelerator()


def device() -> torch.device:
    return DEVICE or torch.device("cpu")


def needed() -> torch.device:
    """The accelerator. Raises SkippedError."""
    if DEVICE is None:
        raise SkippedError("no accelerator")
    return DEVICE


def needs_cuda() -> None:
    if needed().type != "cuda":
        raise SkippedError(f"{needed().type} has no such interface")


def synchronize() -> None:
    if DEVICE is not None:
        torch.accelerator.synchronize()


WIDTH = 64 if DEVICE is None else 1024


class Net(nn.Module):
    """Two products and attention."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.attend = nn.MultiheadAttention(width, 8, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.attend(x, x, x, need_weights=False)[0]
        z: Tensor = self.last(torch.relu(self.first(x + y)))
        return z


def batch() -> Tensor:
    return torch.randn(8, 128, WIDTH, device=device())


def training() -> Callable[[], None]:
    net = Net().to(device())
    optimizer = torch.optim.AdamW(net.parameters())
    x = batch()

    def step() -> None:
        optimizer.zero_grad()
        mse_loss(net(x), x).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def recorded(path: Path, step: Callable[[], object], steps: int = STEPS) -> Any:  # noqa: ANN401
    """The profile of some steps, written to a file."""
    step()
    synchronize()
    kinds = [ProfilerActivity.CPU]
    if DEVICE is not None:
        name = "CUDA" if DEVICE.type == "cuda" else DEVICE.type.upper()
        kinds.append(getattr(ProfilerActivity, name))
    with profile(activities=kinds, record_shapes=True, profile_memory=True) as prof:
        for number in range(steps):
            with torch.profiler.record_function(f"ProfilerStep#{number}"):
                step()
                synchronize()
    prof.export_chrome_trace(str(path))
    return prof


# --- parts ----------------------------------------------------------------------------------------


def train(folder: Path) -> Iterator[Check]:
    """A training: calls and own time of ops against ``key_averages()``, FLOPs against torch."""
    step = training()
    path = folder / "training.pt.trace.json"
    averages = recorded(path, step).key_averages()
    trace = kinetoscope.open(path)
    ours = trace.table("operators", steps="all", limit=5000).set_index("name")
    calls = next(name for name in ("calls", "count") if name in ours)
    ops = sorted(averages, key=lambda one: -one.self_cpu_time_total)
    for one in [found for found in ops if found.key in ours.index][:LARGEST]:
        row = ours.loc[one.key]
        yield Check(f"{one.key}: calls", float(row[calls]), one.count, 0)
        spent = one.cpu_time_total * 1e3
        yield Check(f"{one.key}: host time, ns", float(row["total_ns"]), spent, 0.02)
        if DEVICE is not None and one.device_time_total:
            own = one.self_device_time_total * 1e3
            yield Check(f"{one.key}: device time, ns", float(row["device_self_ns"]), own, 0.02)
    with FlopCounterMode(display=False) as counter:
        step()
    speed = trace.table("speed_of_light", steps="all", limit=5000)
    flops = speed["flops"]
    if DEVICE is None:  # the counter has no formula of attention on the CPU
        flops = flops[~speed["name"].str.contains("attention")]
    theirs = counter.get_total_flops()
    yield Check("FLOPs of a step", float(flops.sum()) / STEPS, theirs, 0.01)


def events(folder: Path) -> Iterator[Check]:
    """The time of the steps on the device against events of the device."""
    needed()
    step = training()
    step()
    synchronize()
    lengths = []
    for _ in range(20):
        start, end = (torch.Event(device=needed(), enable_timing=True) for _ in range(2))
        start.record()
        step()
        end.record()
        synchronize()
        lengths.append(start.elapsed_time(end) * 1e6)
    path = folder / "events.pt.trace.json"
    recorded(path, step)
    rows = kinetoscope.open(path).steps
    # Recording costs time on the host; a step that waits for it is longer.
    yield Check("step, ns", float(rows["dur_ns"].median()), statistics.median(lengths), 0.5)


def memory(folder: Path) -> Iterator[Check]:
    """The highest allocation against ``torch.accelerator.max_memory_allocated()``."""
    needs_cuda()
    torch.cuda.reset_peak_memory_stats()
    path = folder / "memory.pt.trace.json"
    recorded(path, training())
    most = torch.cuda.memory_stats()["allocated_bytes.all.peak"]
    ours = next(one for one in kinetoscope.open(path).facts.devices if one.used)
    yield Check("peak of the memory, bytes", float(ours.peak_allocated_bytes or 0), most, 0.01)


def snapshot(folder: Path) -> Iterator[Check]:
    """A snapshot of the allocator: what it says is in use, and ``memory_allocated()``."""
    needs_cuda()
    torch.cuda.memory._record_memory_history()
    step = training()
    step()
    synchronize()
    path = folder / "snapshot.pickle"
    theirs = torch.cuda.memory_allocated()
    torch.cuda.memory._dump_snapshot(str(path))  # type: ignore[no-untyped-call]
    torch.cuda.memory._record_memory_history(enabled=None)
    yield Check("in use, bytes", in_use(path), theirs, 0.01)


def in_use(path: Path) -> float:
    """Allocated bytes of the first device in a snapshot, as ``kinetoscope snapshot`` tells."""
    command = [sys.executable, "-m", "kinetoscope", "snapshot", str(path), "--format", "json"]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(found.stdout)["tables"][0]["rows"][0]["allocated_bytes"])


def graphs(folder: Path) -> Iterator[Check]:
    """Inference in a graph: each replay has the kernels of the network run at once."""
    needs_cuda()
    net, x = Net().to(device()).eval(), batch()
    with torch.inference_mode():
        net(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            net(x)
        eager, replayed = (folder / f"{name}.pt.trace.json" for name in ("eager", "graph"))
        recorded(eager, lambda: net(x))
        recorded(replayed, graph.replay)
    count = [len(kinetoscope.open(path).kernels) for path in (replayed, eager)]
    yield Check("kernels", count[0], count[1], 0.1)


def compiled(folder: Path) -> Iterator[Check]:
    """A compiled network: its steps are all there."""
    net, x = Net().to(device()).eval(), batch()
    try:
        fast = torch.compile(net)
        with torch.inference_mode():
            fast(x)
    except Exception as error:  # noqa: BLE001  # whatever a compiler says
        raise SkippedError(f"torch.compile: {type(error).__name__}") from None
    path = folder / "compiled.pt.trace.json"
    with torch.inference_mode():
        recorded(path, lambda: fast(x))
    yield Check("steps", len(kinetoscope.open(path).steps), STEPS, 0)


def collectives(folder: Path) -> Iterator[Check]:
    """One process: calls of all_reduce."""
    import torch.distributed as dist

    backend = "nccl" if device().type == "cuda" else "gloo"
    if not dist.is_available():
        raise SkippedError("torch.distributed is not built in")
    place = (folder / "store").resolve()
    place.unlink(missing_ok=True)
    dist.init_process_group(backend, init_method=place.as_uri(), rank=0, world_size=1)
    try:
        x = torch.ones(1 << 16, device=device())
        path = folder / "collectives.pt.trace.json"
        recorded(path, lambda: dist.all_reduce(x))
    finally:
        dist.destroy_process_group()
    ours = kinetoscope.open(path).ops["name"].str.contains("all_?reduce", case=False)
    yield Check("all_reduce was recorded in each step (1: yes)", float(ours.sum() >= STEPS), 1, 0)


def cuspy(folder: Path) -> Iterator[Check]:
    """torch 2.15's second engine: as many kernels as the first one."""
    needs_cuda()
    config = getattr(torch.profiler, "CuspyConfig", None)
    if config is None:
        raise SkippedError("torch below 2.15")
    step = training()
    step()
    found = []
    for name, more in (("kineto", {}), ("cuspy", {"cuspy_config": config()})):
        path = folder / f"{name}.pt.trace.json"
        with profile(record_shapes=True, **more) as prof:
            step()
            synchronize()
        prof.export_chrome_trace(str(path))
        found.append(len(kinetoscope.open(path).kernels))
    yield Check("kernels", found[1], found[0], 0)


def peaks(folder: Path) -> Iterator[Check]:
    """Measured peaks of a product and of a copy: neither is above the data sheet."""
    where = needed()
    size = 8192
    a, b = (torch.randn(size, size, device=where, dtype=torch.bfloat16) for _ in range(2))
    product = 2 * size**3 / _fastest(lambda: a @ b) / 1e12
    x = torch.empty(1 << 30, device=where, dtype=torch.uint8)
    y = torch.empty_like(x)
    copy = 2 * len(x) / _fastest(lambda: y.copy_(x)) / 1e9
    print(f"  product {product:.0f} TFLOP/s, copy {copy:.0f} GB/s")
    path = folder / "peaks.pt.trace.json"
    recorded(path, lambda: a @ b)
    speed = kinetoscope.open(path).table("speed_of_light", steps="all")
    row = speed[speed["name"] == "aten::mm"].iloc[0]
    if math.isnan(row["light_ratio"]):
        measured = f"measured {product:.0f} TFLOP/s, {copy:.0f} GB/s"
        raise SkippedError(f"no data sheet of this device; {measured}")
    yield Check("share of light of a product is at most 1", float(row["light_ratio"] <= 1), 1, 0)
    share = product / float(row["peak_tflop_s"])
    yield Check("share of light of a product", float(row["light_ratio"]), share, 0.1)


def _fastest(run: Callable[[], object]) -> float:
    """Seconds of the fastest of ten runs."""
    best = float("inf")
    for _ in range(10):
        synchronize()
        begin = time.perf_counter()
        run()
        synchronize()
        best = min(best, time.perf_counter() - begin)
    return best


PARTS = (train, events, memory, snapshot, graphs, compiled, collectives, cuspy, peaks)


# --- the report -----------------------------------------------------------------------------------


def number(value: float) -> str:
    """Counts and nanoseconds in whole digits, others in six."""
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1e6 else f"{value:,.6g}"


def lines_of(part: Callable[[Path], Iterator[Check]], folder: Path) -> tuple[list[str], int]:
    """The lines of a part in the report, and how many figures differ."""
    lines, wrong = [f"## {part.__name__}", "", (part.__doc__ or "").strip(), ""], 0
    try:
        checks = list(part(folder))
    except SkippedError as error:
        return [*lines, f"Skipped: {error}.", ""], 0
    lines += ["| figure | kinetoscope | PyTorch | |", "|---|---|---|---|"]
    for one in checks:
        wrong += not one.is_equal
        verdict = "equal" if one.is_equal else "**differs**"
        lines.append(f"| {one.what} | {number(one.ours)} | {number(one.theirs)} | {verdict} |")
    return [*lines, ""], wrong


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("accelerator_check"))
def main(out: Path) -> None:
    """Record, compare, and write ``report.md``."""
    out.mkdir(parents=True, exist_ok=True)
    name = torch.get_device_module().get_device_name() if DEVICE is not None else "CPU alone"
    head = {
        "device": name,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "kinetoscope": kinetoscope.__version__,
    }
    lines: list[str] = []
    wrong, skipped = 0, []
    for part in PARTS:
        print(part.__name__)
        more, differ = lines_of(part, out)
        lines += more
        wrong += differ
        skipped += [part.__name__] if more[-2].startswith("Skipped: ") else []
    large = [path.name for path in out.glob("*.json*") if path.stat().st_size > MOST_BYTES]
    if large:
        lines += [f"Larger than 2 MB: {', '.join(sorted(large))}.", ""]
    result = f"{wrong} figures differ." if wrong else "No figure differs."
    result += f" Skipped: {', '.join(skipped)}." if skipped else ""
    top = ["# Accelerator check", "", f"`{json.dumps(head)}`", "", result, ""]
    (out / "report.md").write_text("\n".join([*top, *lines]).rstrip("\n") + "\n")
    print(f"{result} {out / 'report.md'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
