"""Browser tests need Chromium; without it they are skipped, and say so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import ROOT

from .browser import chromium, chromium_path
from .servers import Server, standalone, tensorboard

SAMPLES = ROOT / "samples" / "traces"

expect.set_options(timeout=60_000)  # a slow machine, not a slow page


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not (ROOT / "tb_plugin" / "static" / "index.js").is_file():
        reason = "the page is not built: run `make page`"
    elif chromium_path() is None:
        reason = "no Chromium on PATH: install it, or set KINETOSCOPE_CHROMIUM"
    else:
        return
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def copy_samples(logdir: Path) -> None:
    """Two of the recorded runs, one with two ranks: reading all of them would take longer."""
    for run in ("train_cpu", "train_ddp_cpu"):
        shutil.copytree(SAMPLES / run, logdir / run)


@pytest.fixture(scope="package")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A logdir with traces that the repository ships."""
    logdir = tmp_path_factory.mktemp("samples") / "log"
    copy_samples(logdir)
    return logdir


@pytest.fixture(scope="package")
def board(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One TensorBoard for all tests that only look."""
    with tensorboard(samples, tmp_path_factory.mktemp("board")) as server:
        server.wait_ready(spans=3)
        yield server


@pytest.fixture(scope="package")
def served(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One standalone server for all tests that only look."""
    with standalone(samples, tmp_path_factory.mktemp("served")) as server:
        server.wait_ready(spans=3)
        yield server


@pytest.fixture(scope="package")
def report_file(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a training on the CPU, with memory, stacks and modules."""
    folder = tmp_path_factory.mktemp("report")
    path = folder / "report.html"
    command = [sys.executable, "-m", "kinetoscope.cli", "report", str(samples / "train_cpu")]
    env = {**os.environ, "KINETOSCOPE_CACHE_DIR": str(folder / "cache")}
    subprocess.run([*command, "-o", str(path)], env=env, check=True, timeout=300)
    return path
