"""The page in the stock Firefox, driven over WebDriver BiDi, alone and inside TensorBoard."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

from .servers import Server

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(
    FIREFOX is None or NODE is None or not (ROOT / "node_modules" / "puppeteer-core").is_dir(),
    reason="needs firefox-esr and node on PATH, and node_modules",
)


def seen_at(address: str) -> Any:
    script = Path(__file__).with_name("firefox.mjs")
    run = subprocess.run(
        [str(NODE), str(script), str(FIREFOX), address],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("view", ["overview", "health"])
def test_standalone(served: Server, view: str) -> None:
    seen = seen_at(f"{served.page}#run=train_cpu&view={view}")
    assert seen["headings"]
    assert (seen["console"], seen["foreign"], seen["failed"]) == ([], [], [])


def test_inside_tensorboard(board: Server) -> None:
    seen = seen_at(f"{board.page}&p.pytorch_profiler.run=train_cpu")
    assert seen["headings"]
    assert (seen["console"], seen["foreign"], seen["failed"]) == ([], [], [])


def test_a_report_from_a_file(report_file: Path) -> None:
    seen = seen_at(f"{report_file.as_uri()}#view=overview")
    assert "DataLoader" in seen["headings"][0]
    assert (seen["console"], seen["foreign"], seen["failed"]) == ([], [], [])
