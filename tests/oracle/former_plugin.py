"""Runs the former plugin, torch-tb-profiler, as a black box and hands back what it shows.

`KINETOSCOPE_FORMER_PYTHON` names a Python that has it installed, for example

    python -m venv former && former/bin/pip install torch-tb-profiler==0.4.3
    KINETOSCOPE_FORMER_PYTHON=former/bin/python python -m pytest tests/oracle
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get("KINETOSCOPE_FORMER_PYTHON", "")

requires_former = pytest.mark.skipif(
    not PYTHON, reason="set KINETOSCOPE_FORMER_PYTHON to a Python with torch-tb-profiler"
)

_SCRIPT = """
import json, logging, sys, tempfile
logging.disable(logging.CRITICAL)
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
data = RunProfileData.parse("worker", None, sys.argv[1], tempfile.mkdtemp())
profile = RunGenerator("worker", None, data).generate_run_profile()
print(json.dumps({"overview": profile.overview, "devices": profile.gpu_summary}))
"""

_SCRIPT_OF_RANKS = """
import json, logging, pathlib, sys, tempfile
logging.disable(logging.CRITICAL)
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.loader import RunLoader
from torch_tb_profiler.profiler.run_generator import RunGenerator
ranks = []
for number, file in enumerate(sorted(pathlib.Path(sys.argv[1]).glob("*.json*"))):
    data = RunProfileData.parse(f"worker{number}", None, str(file), tempfile.mkdtemp())
    RunGenerator(f"worker{number}", None, data).generate_run_profile()
    ranks.append(DistributedRunProfileData(data))
found = RunLoader("run", sys.argv[1], None)._process_distributed_profiles(ranks, None)
print(json.dumps({"devices": found.gpu_info, "overlap": found.steps_to_overlap,
                  "wait": found.steps_to_wait, "operations": found.comm_ops}))
"""

_SCRIPT_OF_PAIR = """
import json, logging, sys, tempfile
logging.disable(logging.CRITICAL)
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
pair = []
for file in sys.argv[1:]:
    data = RunProfileData.parse("worker", None, file, tempfile.mkdtemp())
    pair.append(RunGenerator("worker", None, data).generate_run_profile())
print(json.dumps(pair[0].compare_run(pair[1]).get_diff_tree_summary()))
"""

# Its names → the fields of Breakdown.
CATEGORIES = {
    "Kernel": "kernel_ns",
    "Memcpy": "memcpy_ns",
    "Memset": "memset_ns",
    "Communication": "communication_ns",
    "Runtime": "runtime_ns",
    "DataLoader": "dataloader_ns",
    "CPU Exec": "cpu_exec_ns",
    "Other": "other_ns",
}


@dataclass(frozen=True)
class Former:
    """Its Overview: microseconds by category, per step and on average; percentages as shown."""

    steps: list[tuple[str, dict[str, float]]]
    mean: dict[str, tuple[float, float]]  # category → (µs, %)
    devices: list[tuple[str, str]]  # title, value
    recommendations: str


def former_overview(path: Path) -> Former:
    """What it shows of a trace."""
    done = subprocess.run(
        [PYTHON, "-c", _SCRIPT, str(path)], capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    overview = told["overview"]
    names = [c["name"] for c in overview["steps"]["columns"] if "role" not in c][1:]
    whole = overview["performance"][0]
    return Former(
        steps=[_row(names, row) for row in overview["steps"]["rows"]],
        mean={one["name"]: (one["value"], one["extra"]) for one in [whole, *whole["children"]]},
        devices=[(one["title"], one["value"]) for one in told["devices"] or []],
        recommendations=overview["recommendations"],
    )


def former_distributed(folder: Path) -> dict[str, Any]:
    """The data of the four pictures of its Distributed view, by picture."""
    done = subprocess.run(
        [PYTHON, "-c", _SCRIPT_OF_RANKS, str(folder)], capture_output=True, text=True, check=True
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {picture: (found or {}).get("data") for picture, found in told.items()}


def former_diff(base: Path, other: Path) -> dict[str, Any]:
    """What its route `/diff` answers: the whole tree."""
    command = [PYTHON, "-c", _SCRIPT_OF_PAIR, str(base), str(other)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    tree: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return tree


def _row(names: list[str], row: list[Any]) -> tuple[str, dict[str, float]]:
    """Name, and microseconds by category; every second cell is a tooltip."""
    return row[0], dict(zip(names, row[1::2], strict=True))
