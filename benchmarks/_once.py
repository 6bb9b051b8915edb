"""Reads one trace in this process, as a reading process does, and tells what that took.

    python -m benchmarks._once TRACE

Prints a JSON object: CPU seconds of reading, summarizing and writing columns, and by how many bytes
the peak of resident memory rose. A trace of one event is read before, and Arrow is imported, which
traces of a few megabytes do without, so that what is imported at the first use does not count.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from benchmarks._measure import high_water
from kinetoscope.analysis.summarize import summarize
from kinetoscope.store.cache.disk import write_trace
from kinetoscope.trace.read import read

ONE_EVENT = '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "ts": 1, "dur": 1}]}'


def once(path: str) -> dict[str, float]:
    """CPU seconds and risen memory of one trace."""
    before, began = high_water(), time.process_time()
    trace = read(path)
    summarize(trace)
    with tempfile.TemporaryDirectory() as folder:
        write_trace(trace, Path(folder))
    return {"cpu": time.process_time() - began, "risen": high_water() - before}


def main(path: str) -> None:
    """Prints the figures of one trace."""
    pa.array([1])
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "one.json"
        first.write_text(ONE_EVENT)
        once(str(first))
    print(json.dumps(once(path)))


if __name__ == "__main__":
    main(sys.argv[1])
