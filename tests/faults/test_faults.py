"""Every file operation and every large allocation fails: nothing is half there.

``KINETOSCOPE_FAULTS=all`` tries every place; by default a few of each kind, evenly spread.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

from .driver import MODES

FEW = 2
AREAS = ("recording", "ingest", "show", "cache", "export", "report")


@pytest.fixture(name="shim", scope="module")
def _shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("faults are put below the C library, with a C compiler, on Linux alone")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"the shim cannot be built here: {made.stderr.strip()[-300:]}")
    return library


@pytest.fixture(name="reports", scope="module")
def _reports(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What one process found in all areas: most of the time is what it imports."""
    folder = str(tmp_path_factory.mktemp("faults"))
    most = "0" if os.environ.get("KINETOSCOPE_FAULTS") == "all" else str(FEW)
    driver = [sys.executable, "-X", "faulthandler", "-m", "tests.faults.driver"]
    done = subprocess.run(
        [*driver, str(shim), folder, most, *AREAS],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(shim), "KINETOSCOPE_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == ""
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("area", AREAS)
def test_nothing_is_half_there_and_the_next_run_works(
    reports: Mapping[str, Any], area: str
) -> None:
    found = reports[area]
    assert {mode: one["problems"] for mode, one in found.items()} == {mode: [] for mode in MODES}
    tried = {mode: one["tried"] for mode, one in found.items() if one["places"]}
    assert sum(tried.values()) >= len(tried) >= 5
    sys.stdout.write(f"{area}: {sum(tried.values())} faults, {json.dumps(tried)}\n")
