"""The page in cells of a real JupyterLab: over jupyter-server-proxy, directly, and as a report.

``KINETOSCOPE_JUPYTER`` names a Python that has kinetoscope, jupyterlab and jupyter-server-proxy;
``make .venv/.jupyter`` makes one, which is found without it. Without both the test is skipped.
``KINETOSCOPE_PICTURE`` names a file for the picture of the docs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, FrameLocator, Page, expect

from tests.conftest import ROOT

from .servers import free_port

OWN = ROOT / ".venv" / "jupyter" / "bin" / "python"
PYTHON = os.environ.get("KINETOSCOPE_JUPYTER") or str(OWN)

pytestmark = pytest.mark.skipif(
    not Path(PYTHON).is_file(),
    reason="no JupyterLab: run `make .venv/.jupyter`, or set KINETOSCOPE_JUPYTER to its Python",
)

CELLS = (
    "import kinetoscope\ntrace = kinetoscope.open('log')\ntrace",
    "trace.show(height=640)",
    # As where jupyter-server-proxy is not installed.
    "import sys\nsys.modules['jupyter_server_proxy'] = None\ntrace.show(height=480, mode='server')",
    "trace.show(height=480)",
)


@pytest.fixture(name="lab")
def jupyter_lab(tmp_path: Path) -> Iterator[str]:
    """Address of a notebook beside a recording; nothing of the user's own settings is read."""
    work = tmp_path / "work"
    shutil.copytree(ROOT / "samples" / "traces" / "train_cpu", work / "log")
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "id": f"c{at}", "metadata": {}, "outputs": [],
         "execution_count": None, "source": text}
        for at, text in enumerate(CELLS)
    ]  # fmt: skip
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (work / "profile.ipynb").write_text(json.dumps(notebook))
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(tmp_path / name.lower()) for name in folders}
    settings = tmp_path / "jupyter_config_dir" / "labconfig" / "page_config.json"
    settings.parent.mkdir(parents=True)
    silent = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    settings.write_text(json.dumps(silent))
    env = {**os.environ, **own, "KINETOSCOPE_CACHE_DIR": str(tmp_path / "cache")}
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):  # so that a browser here is not sure
        env.pop(name, None)
    port = free_port()
    command = [
        PYTHON, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
        f"--ServerApp.root_dir={work}", "--IdentityProvider.token=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=env, cwd=work)
        try:
            yield f"http://127.0.0.1:{port}/lab/tree/profile.ipynb"
        finally:
            server.terminate()
            server.wait(60)


def test_a_cell_shows_the_page_over_the_proxy_directly_and_without_a_server(
    browser: Browser, lab: str
) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(120_000)
    try:
        run_all_cells(page, lab)
        trace = page.get_by_text("DataLoader").first
        expect(trace).to_be_visible(timeout=120_000)
        proxied = shown(page, "iframe[src*='/proxy/']")
        walk(proxied)
        direct = shown(page, "iframe[src^='http://127.0.0.1'][src*='frame=']:not([src*='/proxy/'])")
        walk(direct)
        report = shown(page, "iframe[srcdoc]")
        walk(report)
        expect(report.get_by_text("A report of worker0").first).to_be_visible()
        if picture := os.environ.get("KINETOSCOPE_PICTURE"):
            page.locator(".jp-Notebook .jp-CodeCell").nth(1).evaluate("e => e.scrollIntoView()")
            page.wait_for_timeout(1_000)
            page.locator(".jp-NotebookPanel").screenshot(path=picture)
    finally:
        page.close()


def run_all_cells(page: Page, address: str) -> None:
    """Open the notebook as soon as the server listens, and run it."""
    for _ in range(240):
        try:
            page.goto(address)
            break
        except Error:
            page.wait_for_timeout(500)
    expect(page.locator(".jp-Notebook .jp-CodeCell").first).to_be_visible()
    expect(page.get_by_role("button", name=re.compile(r"\| Idle$"))).to_be_visible()
    page.locator(".lm-MenuBar-item", has_text="Run").first.click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def shown(page: Page, selector: str) -> FrameLocator:
    """The frame of a cell, brought into view: JupyterLab draws the cells that are seen."""
    frame = page.locator(selector)
    for _ in range(240):
        if frame.count():
            break
        page.locator(".jp-Notebook .jp-CodeCell").last.scroll_into_view_if_needed()
        page.wait_for_timeout(500)
    frame.scroll_into_view_if_needed()
    return page.frame_locator(selector)


def walk(frame: FrameLocator) -> None:
    """The page is there, and its links lead on."""
    expect(frame.locator("h1")).to_contain_text("DataLoader", timeout=120_000)
    frame.get_by_role("link", name="Operator").first.click()
    expect(frame.locator("h1")).to_contain_text("aten::", timeout=120_000)
