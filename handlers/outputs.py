"""Outputs beside a trace: a table, folded stacks, scalars, a memory snapshot.

| output | file | made by |
|---|---|---|
| `key_averages` | `<worker>.<time_ns>.key_averages.txt` | torch, while the training waits |
| `memory_snapshot` | `<worker>.<time_ns>.snapshot.pickle` | torch, while the training waits |
| `stacks` | `<worker>.<time_ns>.stacks.txt` | a process of its own, after publishing |
| `scalars` | an event file in `profile/` | a process of its own, after publishing |

The process reads the trace as the viewer does, so nothing of the viewer is imported into the job.
It needs the viewer's libraries: `kinetoscope[viewer]` for stacks, `kinetoscope[tensorboard]` for
scalars.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

from .naming import hidden_name
from .process import process_mark

Output = Literal["key_averages", "memory_snapshot", "stacks", "scalars"]
OUTPUTS: tuple[Output, ...] = get_args(Output)
COMPILE_SUFFIX = ".compile.json.gz"
_SUFFIXES: Mapping[Output | Literal["compile"], str] = {
    "key_averages": ".key_averages.txt",
    "memory_snapshot": ".snapshot.pickle",
    "stacks": ".stacks.txt",
    "compile": COMPILE_SUFFIX,
}
_TABLE_ROWS = 200
_MOST_SECONDS = 900


class OutputError(RuntimeError):
    """Something beside a trace could not be written; the trace is in its place."""


def paths_beside(trace: Path) -> dict[Output | Literal["compile"], Path]:
    """Where the outputs of a trace are, and what torch.compile did."""
    stem = trace.name.removesuffix(".gz").removesuffix(".pt.trace.json")
    return {output: trace.with_name(stem + suffix) for output, suffix in _SUFFIXES.items()}


def write_of_torch(prof: Any, trace: Path, wanted: Collection[str]) -> None:  # noqa: ANN401
    """Write what only this process knows.

    Raises:
        OutputError: there is nothing to write, with the reason.
        OSError: it cannot be written.
    """
    places = paths_beside(trace)
    if "key_averages" in wanted:
        table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=_TABLE_ROWS)
        with appearing(places["key_averages"]) as hidden:
            hidden.write_text(f"{table}\n", encoding="utf-8")
    if "memory_snapshot" in wanted:
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
            raise OutputError("no memory snapshot: this process uses no CUDA device")
        with appearing(places["memory_snapshot"]) as hidden:
            torch.cuda.memory._dump_snapshot(str(hidden))


def write_in_a_process(
    trace: Path, wanted: Collection[str], step: int | None, hparams: Mapping[str, object]
) -> None:
    """Write what follows from the trace; returns when it is written.

    Raises:
        OutputError: the process failed; with the last line of what it said.
        OSError: it cannot be started.
        subprocess.TimeoutExpired: it took more than a quarter of an hour.
    """
    # Not `-m`, which imports from the current directory before all others.
    boot = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        "from kinetoscope.export import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", boot, str(trace)]
    if "stacks" in wanted:
        command += ["--stacks", str(paths_beside(trace)["stacks"])]
    if "scalars" in wanted:
        command += ["--scalars", str(trace.parent / "profile"), "--hparams", json.dumps(hparams)]
        command += [] if step is None else ["--step", str(step)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
        timeout=_MOST_SECONDS,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        reason = said[-1]
        if reason.startswith(ModuleNotFoundError.__name__):
            extra = "tensorboard" if "scalars" in wanted else "viewer"
            reason += f" (pip install 'kinetoscope[{extra}]')"
        raise OutputError(f"{' and '.join(sorted(wanted))} beside {trace.name}: {reason}")


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A hidden path to write to; the file is renamed in one step at the end."""
    hidden = path.with_name(hidden_name(path.name, process_mark()))
    try:
        yield hidden
        hidden.replace(path)
    finally:
        hidden.unlink(missing_ok=True)
