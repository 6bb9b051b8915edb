"""Repeat a trace in time until it has a given size.

    python -m benchmarks._scale SOURCE TARGET MEGABYTES

Each copy is shifted past the one before it, and every identifier (correlation, External id, flow
id, Python id, sequence number, step number) moves along, so that a copy is as consistent as the
source.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parent.parent / "samples" / "traces"
ID_ARGS = (
    "correlation",
    "External id",
    "external id",
    "Ev Idx",
    "Python id",
    "Python parent id",
    "Sequence number",
)
STEP = "ProfilerStep#"
ONCE = {"M"}  # phases that are written with the first copy only


def load(source: Path) -> dict[str, Any]:
    """The whole source, decoded; meant for sources of tens of megabytes."""
    data = source.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    root: Any = json.loads(text)
    return {"traceEvents": root} if isinstance(root, list) else root


def _ns(value: float | str) -> int:
    return round(float(value) * 1000)


def _shifted(event: dict[str, Any], copy: int, period_ns: int, stride: int) -> str:
    moved = dict(event)
    ts_ns = _ns(event["ts"]) + copy * period_ns
    moved["ts"] = 0  # replaced below by exact decimal text
    args = event.get("args")
    if isinstance(args, dict):
        moved["args"] = {
            k: v + copy * stride if k in ID_ARGS and isinstance(v, int) and 0 < v < stride else v
            for k, v in args.items()
        }
    if isinstance(event.get("id"), int):
        moved["id"] = event["id"] + copy * stride
    name = event.get("name", "")
    if isinstance(name, str) and name.startswith(STEP) and name[len(STEP) :].isdigit():
        moved["name"] = f"{STEP}{int(name[len(STEP) :]) + copy * 1000}"
    text = json.dumps(moved)
    return text.replace('"ts": 0', f'"ts": {ts_ns // 1000}.{ts_ns % 1000:03d}', 1)


def _events(root: dict[str, Any], target_bytes: int) -> Iterator[str]:
    events = [e for e in root["traceEvents"] if isinstance(e, dict)]
    timed = [e for e in events if "ts" in e and e.get("ph") not in ONCE and e.get("cat") != "Trace"]
    for event in events:
        if event.get("ph") in ONCE or event.get("cat") == "Trace":
            yield json.dumps(event)
    low = min(_ns(e["ts"]) for e in timed)
    high = max(_ns(e["ts"]) + _ns(e.get("dur", 0)) for e in timed)
    stride = 1 + max(
        (
            v
            for e in timed
            for k in ID_ARGS
            for v in [(e.get("args") or {}).get(k)]
            if isinstance(v, int) and v < 2**40
        ),
        default=1,
    )
    written, copy = 0, 0
    while written < target_bytes:
        for event in timed:
            text = _shifted(event, copy, high - low + 1_000_000, stride)
            written += len(text) + 2
            yield text
        copy += 1


def scale(source: Path, target: Path, target_bytes: int) -> None:
    """Write ``target``, gzip when its name says so, with ``target_bytes`` of event text or more."""
    root = load(source)
    head = json.dumps({k: v for k, v in root.items() if k != "traceEvents"})
    with gzip.open(target, "wt", 6) if target.suffix == ".gz" else target.open("w") as out:
        out.write(head[:-1] + (", " if len(head) > 2 else "") + '"traceEvents": [\n')
        for index, text in enumerate(_events(root, target_bytes)):
            out.write(("" if index == 0 else ",\n") + text)
        out.write("\n]}\n")


def sample_of(folder: Path, megabytes: float) -> Path:
    """The CPU sample that the repository ships, repeated to a size, as gzip in ``folder``."""
    (source,) = sorted(SAMPLES.glob("train_cpu/*.pt.trace.json.gz"))
    target = folder / "sample.pt.trace.json.gz"
    scale(source, target, int(megabytes * 1e6))
    return target


if __name__ == "__main__":
    scale(Path(sys.argv[1]), Path(sys.argv[2]), int(float(sys.argv[3]) * 1e6))
