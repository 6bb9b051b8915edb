"""The two programs that read the same files, each run by a Python of its own.

Make the environments once; both want other versions of libraries than we do:

    python -m venv /tmp/peers && /tmp/peers/bin/pip install torch-tb-profiler==0.4.3 pandas
    python -m venv /tmp/peers_hta && /tmp/peers_hta/bin/pip install HolisticTraceAnalysis==0.5.0

and name them: ``python -m benchmarks.ingest --peer-tb /tmp/peers/bin/python --peer-hta …``. What is
run is what each does with one file before it can show anything, by its public entry points:
torch-tb-profiler's loader and generator, with the result handed to the server; HTA's load, without
any of its analyses.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks._measure import Measured, run

NAMES = {"tb": "torch-tb-profiler 0.4.3", "hta": "HolisticTraceAnalysis 0.5.0, its load"}

SCRIPTS = {
    "tb": """
import pickle, sys, tempfile
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator

data = RunProfileData.parse("worker0", None, sys.argv[1], tempfile.mkdtemp())
profile = RunGenerator("worker0", None, data).generate_run_profile()
pickle.dumps((profile, DistributedRunProfileData(data)))
""",
    "hta": """
import sys
from hta.trace_analysis import TraceAnalysis

if __name__ == "__main__":
    TraceAnalysis(trace_files={0: sys.argv[1]})
""",
}


def run_peer(peer: str, python: str, trace: Path) -> Measured:
    """Has ``peer`` read ``trace`` in the environment of ``python``.

    Raises:
        RuntimeError: it failed; with the end of what it wrote.
    """
    measured = run([python, "-W", "ignore", "-c", SCRIPTS[peer], str(trace.resolve())])
    if measured.exit_code:
        raise RuntimeError(f"{NAMES[peer]}: {measured.output[-2000:]}")
    return measured
