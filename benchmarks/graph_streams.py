"""A recording of replayed graphs on as many streams as one likes, and what it takes to fold them.

    python -m benchmarks.graph_streams RECORDING [STREAMS [MEGABYTES]]
    python -m benchmarks.graph_streams RECORDING STREAMS --to FILE

Recordings with hundreds of streams are rare, so one of few is spread: the k-th node of a replay
runs on stream k modulo STREAMS, at the time at which it did. Repeated in time until its text has so
many megabytes, its timeline is made both ways, and CPU time and tracks of each are printed.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from kinetoscope.analysis.timeline.build.artifact import make, open_timeline
from kinetoscope.analysis.timeline.model import DEFAULT_LAYOUT, FOLDED, RECORDED
from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read

from ._scale import scale

FIRST_STREAM = 1000  # of those that are made up; the recorder's own stay below
_GRAPH = 77
_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
ROUNDS, STREAMS = 3, 300


def spread(document: dict[str, Any], streams: int) -> int:
    """Moves the nodes of all replays to so many streams; how many nodes there are.

    A node gets the ids that CUPTI gives one, so that it is known again in the next replay. Arrows
    move with their ends.
    """
    events = document["traceEvents"]
    launches = {
        event["args"]["correlation"]
        for event in events
        if "GraphLaunch" in event.get("name", "") and "correlation" in event.get("args", {})
    }
    nodes = [
        event
        for event in events
        if event.get("cat") in _WORK and event["args"].get("correlation") in launches
    ]
    nodes.sort(key=lambda event: float(event["ts"]))
    place: Counter[int] = Counter()
    moved: dict[tuple[Any, str], int] = {}
    used: dict[tuple[Any, int], None] = {}
    for event in nodes:
        turn = place[event["args"]["correlation"]]
        place[event["args"]["correlation"]] += 1
        stream = FIRST_STREAM + turn % streams
        moved[event["args"]["correlation"], str(event["ts"])] = stream
        used[event["pid"], stream] = None
        event["tid"] = stream
        event["args"] |= {"stream": stream, "graph id": _GRAPH, "graph node id": turn + 1}
    for event in events:
        if event.get("ph") == "f" and (event.get("id"), str(event["ts"])) in moved:
            event["tid"] = moved[event["id"], str(event["ts"])]
    events += [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": stream, "ts": 0}
        | {"args": {"name": f"stream {stream}"}}
        for pid, stream in used
    ]
    return len(nodes)


def written(source: Path, target: Path, streams: int) -> int:
    """Writes a recording spread over so many streams; how many nodes were moved."""
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as file:
        document = json.load(file)
    nodes = spread(document, streams)
    text = json.dumps(document, indent=1).encode()
    target.write_bytes(gzip.compress(text, 6) if target.suffix == ".gz" else text)
    return nodes


def laid_out(trace: Trace, layout: str) -> tuple[float, int, int]:
    """CPU seconds of making a layout, its tracks, its lanes."""
    with tempfile.TemporaryDirectory() as folder:
        base, place = Path(folder, f"timeline-{DEFAULT_LAYOUT}"), Path(folder, f"timeline-{layout}")
        base.mkdir()
        make(trace, base, lambda _: None, DEFAULT_LAYOUT)
        place.mkdir()
        began = time.process_time()
        make(trace, place, lambda _: None, layout)
        took = time.process_time() - began
        tracks = open_timeline(place).layouts[layout].tracks
    return took, len(tracks), sum(track.lanes for track in tracks)


def compare(path: Path) -> None:
    """Prints what the timeline of a recording takes, folded and stream by stream."""
    trace = read(str(path))
    print(f"{len(trace.device.ts):,} rows of device work of {trace.health.events:,} events")
    spent: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for streams in (FOLDED, RECORDED):
            took, tracks, lanes = laid_out(trace, f"{DEFAULT_LAYOUT}-{streams}")
            spent[streams].append(took)
            if len(spent[streams]) == 1:
                print(f"{streams:9} {tracks:5} tracks, {lanes:5} lanes")
    for streams, times in spent.items():
        print(f"{streams:9} {min(times):6.2f} s of CPU for the layout, the least of {ROUNDS}")


def main() -> None:
    """Spreads and compares, or spreads alone."""
    source, streams = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else STREAMS
    if "--to" in sys.argv:
        print(f"{written(source, Path(sys.argv[-1]), streams):,} nodes moved")
        return
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.json"), Path(folder, "large.pt.trace.json.gz")
        written(source, small, streams)
        if len(sys.argv) > 3:
            scale(small, large, float(sys.argv[3]) * 1e6)
        compare(large if large.exists() else small)


if __name__ == "__main__":
    main()
