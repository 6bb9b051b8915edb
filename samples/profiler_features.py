"""What else torch.profiler can do, each in a few lines; all of it ends in one logdir.

    python samples/profiler_features.py --logdir log/features

| function | shows |
|---|---|
| `ranges` | `record_function`: ranges of your own, in Trace and in Operator's search |
| `cycles` | `schedule` with `skip_first` and `repeat`: two cycles are two spans of a worker |
| `activities` | all that this torch can record here: CPU, and CUDA, XPU, MTIA or HPU if there |
| `by_hand` | `start()` and `stop()`, `add_metadata`, a trace under a name of your own |
| `tables` | `key_averages().table()` and `events()`, before the handler saves the trace |
| `stacks` | `export_stacks`: call paths as text, a flame graph in Operator |
| `memory` | `profile_memory`: an activation that outlives its step, in Memory |
| `memory_timeline` | `export_memory_timeline`: torch's own categories over time, in Memory |
| `scalars` | SummaryWriter beside the trace: TensorBoard shows loss, graph and profile |
| `itt` | `torch.profiler.itt`: ranges for VTune; they are not part of a trace |
"""

from pathlib import Path

import click
import torch
from torch import nn
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import profile, record_function, schedule, supported_activities

from kinetoscope.handlers import tensorboard_trace_handler


def model_and_batch() -> tuple[nn.Module, torch.Tensor]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 8)).to(device)
    return model, torch.rand(32, 128, device=device)


def ranges(logdir: Path) -> None:
    model, batch = model_and_batch()
    handler = tensorboard_trace_handler(logdir / "ranges", "worker0")
    with profile(on_trace_ready=handler):
        for _ in range(3):
            with record_function("forward"):
                loss = model(batch).sum()
            with record_function("backward"):
                loss.backward()
    handler.flush()


def cycles(logdir: Path) -> None:
    model, batch = model_and_batch()
    handler = tensorboard_trace_handler(logdir / "cycles", "worker0")
    plan = schedule(skip_first=2, wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=handler, acc_events=True) as prof:
        for _ in range(12):
            model(batch).sum().backward()
            prof.step()
    handler.flush()


def activities(logdir: Path) -> None:
    model, batch = model_and_batch()
    found = supported_activities()  # type: ignore[no-untyped-call]
    print("recorded here:", ", ".join(sorted(one.name for one in found)))
    handler = tensorboard_trace_handler(logdir / "activities", "worker0")
    with profile(activities=found, on_trace_ready=handler):
        model(batch).sum().backward()
    handler.flush()


def by_hand(logdir: Path) -> None:
    model, batch = model_and_batch()
    prof = profile(record_shapes=True)
    prof.start()
    prof.add_metadata("purpose", "a name of my own")
    prof.add_metadata_json("learning rates", "[0.1, 0.01]")
    model(batch)
    prof.stop()
    (logdir / "by_hand").mkdir(parents=True, exist_ok=True)
    prof.export_chrome_trace(str(logdir / "by_hand" / "monday.json"))


def tables(logdir: Path) -> None:
    model, batch = model_and_batch()
    handler = tensorboard_trace_handler(logdir / "tables", "worker0")
    with profile(record_shapes=True, with_flops=True) as prof:
        model(batch).sum().backward()
    print(prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=5))
    print(len(prof.events() or ()), "events")
    handler(prof)
    handler.flush()


def stacks(logdir: Path) -> None:
    model, batch = model_and_batch()
    # Without `verbose` torch keeps no stacks of the operators, and the file stays empty.
    verbose = _ExperimentalConfig(verbose=True)
    with profile(with_stack=True, experimental_config=verbose) as prof:
        model(batch).sum().backward()
    (logdir / "stacks").mkdir(parents=True, exist_ok=True)
    prof.export_stacks(str(logdir / "stacks" / "worker0.stacks"), "self_cpu_time_total")


def memory(logdir: Path) -> None:
    model, batch = model_and_batch()
    kept = []  # the leak
    handler = tensorboard_trace_handler(logdir / "memory", "worker0")
    with profile(
        schedule=schedule(wait=0, warmup=1, active=4, repeat=1),
        on_trace_ready=handler,
        profile_memory=True,
        record_shapes=True,
    ) as prof:
        for _ in range(5):
            output = model(batch)
            output.sum().backward()
            kept.append(output)  # and with it the graph that made it
            prof.step()
    handler.flush()


def memory_timeline(logdir: Path) -> None:
    model, batch = model_and_batch()
    with profile(profile_memory=True, record_shapes=True, with_stack=True) as prof:
        model(batch).sum().backward()
    place = logdir / "memory_timeline"
    place.mkdir(parents=True, exist_ok=True)
    prof.export_memory_timeline(str(place / "worker0.raw.json.gz"), device=batch.device.type)


def scalars(logdir: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    model, batch = model_and_batch()
    run = logdir / "scalars"
    handler = tensorboard_trace_handler(run, "worker0")
    with (
        SummaryWriter(str(run)) as writer,
        profile(
            schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
            on_trace_ready=handler,
        ) as prof,
    ):
        for step in range(3):
            loss = model(batch).square().mean()
            loss.backward()
            writer.add_scalar("loss", loss.item(), step)
            prof.step()
        writer.add_graph(model, batch)
    handler.flush()


def itt(logdir: Path) -> None:
    from torch.profiler import itt as vtune

    model, batch = model_and_batch()
    handler = tensorboard_trace_handler(logdir / "itt", "worker0")
    with profile(on_trace_ready=handler):
        if vtune.is_available():  # type: ignore[no-untyped-call]
            vtune.range_push("forward")  # type: ignore[no-untyped-call]
        model(batch)
        if vtune.is_available():  # type: ignore[no-untyped-call]
            vtune.range_pop()  # type: ignore[no-untyped-call]
    handler.flush()


FEATURES = (
    ranges, cycles, activities, by_hand, tables, stacks, memory, memory_timeline, scalars, itt
)  # fmt: skip


@click.command()
@click.option("--logdir", default="log/features", show_default=True, type=Path)
def main(logdir: Path) -> None:
    for show in FEATURES:
        show(logdir)
    print(f"The traces are below {logdir}. To look at them: tensorboard --logdir {logdir}")


if __name__ == "__main__":
    main()
