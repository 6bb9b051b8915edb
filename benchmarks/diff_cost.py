"""What does the Diff view of two large traces cost, against reading them?

    python -m benchmarks.diff_cost [--kind 2021] [--size 1GB]

Two traces of one kind are read, and their columns of operators made, each in a process of its own
with the environment of the server's reading processes; then a process opens both and builds every
part of the view, once to make it warm and once to be measured. Prints a line for docs/diff.md. CPU
seconds, so that other work on the machine counts little.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from benchmarks import _corpus
from benchmarks._measure import high_water, touch_memory

READ = """
import sys, time
from pathlib import Path
from benchmarks._measure import touch_memory
from kinetoscope.analysis.operators.artifact import make_operators
from kinetoscope.analysis.summarize import summarize
from kinetoscope.store.cache.disk import write_trace
from kinetoscope.trace.read import read
import json, msgspec
folder = Path(sys.argv[2])
(folder / "columns").mkdir(parents=True)
(folder / "operators").mkdir()
began = time.process_time()
trace = read(sys.argv[1])
facts = summarize(trace)
write_trace(trace, folder / "columns")
(folder / "facts.json").write_bytes(msgspec.json.encode(facts))
ingest = time.process_time() - began
touch_memory()  # what was touched before the reading is given back by now
began = time.process_time()
make_operators(trace, folder / "operators", lambda share: None)
print(json.dumps({"ingest": ingest, "operators": time.process_time() - began}))
"""


def reading(trace: Path, folder: Path) -> dict[str, float]:
    """CPU seconds of reading a trace into a folder, and of its columns of operators."""
    from kinetoscope.store.ingest import child

    touch_memory()
    done = subprocess.run(
        [sys.executable, "-c", READ, str(trace), str(folder)],
        check=True,
        capture_output=True,
        env={**os.environ, **child.environment()},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def view(folders: list[Path]) -> dict[str, float]:
    """CPU seconds of the parts of the view, warm, and the memory of the process."""
    import msgspec

    from kinetoscope.analysis.diff.flame import pair_flame
    from kinetoscope.analysis.diff.pieces import MainThread, pieces_at
    from kinetoscope.analysis.facts import Facts
    from kinetoscope.analysis.operators.artifact import open_operators
    from kinetoscope.views.diff.contract import DiffQuery, DiffTableQuery
    from kinetoscope.views.diff.rows import Pair, Recorded
    from kinetoscope.views.view import TracePlace

    facts = [msgspec.json.decode((one / "facts.json").read_bytes(), type=Facts) for one in folders]
    columns = [open_operators(one / "operators") for one in folders]

    def pair() -> Pair:
        base, other = (
            Recorded(fact, lambda _, column=column: column, TracePlace(str(at), "w", "1"))  # type: ignore[misc]
            for at, (fact, column) in enumerate(zip(facts, columns, strict=True))
        )
        return Pair(base, other)

    def tables(one: Pair) -> None:
        missing = one.answer(DiffQuery()).missing
        for group in ("operators", "kernels"):
            if group not in missing:
                one.table(DiffTableQuery(group=group))

    parts: dict[str, Callable[[Pair], object]] = {
        "first screen": lambda one: one.answer(DiffQuery()),
        "tables": tables,
        "pieces": lambda one: pieces_at(MainThread(one.base.side), MainThread(one.other.side), ()),
        "flame graph": lambda one: pair_flame(one.base.side, one.other.side, "host", 0.0005),
    }
    found: dict[str, float] = {}
    for _ in range(2):
        one = pair()
        for name, build in parts.items():
            began = time.process_time()
            build(one)
            found[name] = time.process_time() - began
    return {**found, "memory": high_water()}


@click.command(help=__doc__)
@click.option("--kind", default="2021", show_default=True, type=click.Choice(list(_corpus.KINDS)))
@click.option("--size", default="1GB", show_default=True)
@click.option("--look", hidden=True, multiple=True, type=click.Path(path_type=Path))
def main(kind: str, size: str, look: tuple[Path, ...]) -> None:
    """Print one line of figures."""
    if look:
        print(json.dumps(view(list(look))))
        return
    made = _corpus.made(kind, size)
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary) / name for name in ("base", "other")]
        costs = [reading(made.path, folder) for folder in folders]
        looks = [part for folder in folders for part in ("--look", str(folder))]
        command = [sys.executable, "-m", "benchmarks.diff_cost", *looks]
        built = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    ingest = sum(one["ingest"] for one in costs)
    operators = sum(one["operators"] for one in costs)
    memory = built.pop("memory")
    cells = [f"{name} {seconds:.2f} s" for name, seconds in built.items()]
    print(
        f"{kind} {size}: columns of operators {operators / ingest:.1%} of reading"
        f" ({operators:.2f} of {ingest:.2f} s); {', '.join(cells)}; {memory / 1e9:.2f} GB"
    )


if __name__ == "__main__":
    main()
