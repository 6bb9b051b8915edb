"""The series of the Trace view held against those that the former plugin puts into the trace.

It begins each with two samples that fix its axis, and writes a 0 between segments that touch; a
value holds until the next sample, so only what holds when is compared, to the last digit.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kinetoscope.trace.read import read
from tests.analysis.timeline.made import timeline_of
from tests.conftest import TRACES, requires_traces
from tests.oracle.former_plugin import PYTHON, requires_former

pytestmark = [requires_traces, requires_former]

FILES = ("kineto_tb_samples/*/*.json.gz", "kineto_tb_tests/gpu_metrics_input.json")
_AXIS = 2  # samples that only fix the axis

_SCRIPT = """
import gzip, json, logging, sys, tempfile
logging.disable(logging.CRITICAL)
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
path = sys.argv[1]
data = RunProfileData.parse("worker", None, path, tempfile.mkdtemp())
profile = RunGenerator("worker", None, data).generate_run_profile()
raw = (gzip.open if path.endswith("gz") else open)(path, "rb").read()
told = json.loads(gzip.decompress(profile.append_gpu_metrics(raw)))
print(json.dumps([event for event in told["traceEvents"] if event.get("ph") == "C"]))
"""


def former_series(path: Path, what: str) -> list[tuple[int, float]]:
    """Its samples (ns, value) of "GPU Utilization" or "Est. SM Efficiency", without the axis."""
    command = [PYTHON, "-c", _SCRIPT, str(path)]
    answer = subprocess.run(command, check=True, capture_output=True, timeout=500)
    events = [event for event in json.loads(answer.stdout) if what in event["args"]]
    return [(event["ts"] * 1000, event["args"][what]) for event in events][_AXIS:]


def changes(samples: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """When which value begins to hold: of one instant the last, and no value twice in a row."""
    last = dict(samples)
    found: list[tuple[int, float]] = []
    for at in sorted(last):
        if not found or found[-1][1] != last[at]:
            found.append((at, last[at]))
    return found


@pytest.mark.parametrize("pattern", FILES)
@pytest.mark.parametrize(
    ("what", "kind"),
    [("GPU Utilization", "utilization"), ("Est. SM Efficiency", "sm_efficiency")],
)
def test_the_same_series(pattern: str, what: str, kind: str) -> None:
    for path in TRACES.glob(pattern):
        trace = read(path)
        (ours,) = (one for one in timeline_of(trace).counters if one.kind == kind)
        at = (ours.ts + trace.base_ns).tolist()
        mine = changes(list(zip(at, ours.value.tolist(), strict=True)))
        theirs = changes(former_series(path, what))
        assert [at for at, _ in mine] == [at for at, _ in theirs]
        ours_values, their_values = ([value for _, value in one] for one in (mine, theirs))
        assert np.allclose(ours_values, their_values, rtol=1e-9)
