"""The extension in a real VS Code: code-server, its workbench driven by a browser.

``KINETOSCOPE_CODE_SERVER`` names the folder in which npm installed code-server; ``npm install`` in
``vscode/`` brings what packs the extension. Without them the test is skipped.
``KINETOSCOPE_PICTURE`` names a file for the picture of the docs.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Frame, Page, expect

from tests.conftest import ROOT

VSCODE = ROOT / "vscode"
CODE_SERVER = os.environ.get("KINETOSCOPE_CODE_SERVER", "")
ENTRY = Path(CODE_SERVER) / "node_modules" / "code-server" / "out" / "node" / "entry.js"

pytestmark = [
    pytest.mark.skipif(
        not CODE_SERVER or not ENTRY.is_file(),
        reason="no code-server: KINETOSCOPE_CODE_SERVER names the folder where npm installed it",
    ),
    pytest.mark.skipif(
        not (VSCODE / "node_modules").is_dir(), reason="no vsce: run `npm install` in vscode/"
    ),
]


@pytest.fixture(name="workspace")
def folder_of_the_editor(tmp_path: Path) -> Path:
    """A recording of another machine, whose sources are here at another place."""
    workspace = tmp_path / "workspace"
    (workspace / "mapped").mkdir(parents=True)
    for folder in ("mapped", "other"):  # two that fit alike: only the map tells which
        (workspace / folder).mkdir(exist_ok=True)
        shutil.copy(ROOT / "samples" / "train_cpu.py", workspace / folder / "train_cpu.py")
    (workspace / "log").mkdir()
    trace = next((ROOT / "samples" / "traces" / "train_cpu").glob("*.pt.trace.json.gz"))
    text = gzip.decompress(trace.read_bytes()).replace(
        b'"train_cpu.py(', b'"/recorded/train_cpu.py('
    )
    (workspace / "log" / trace.name).write_bytes(gzip.compress(text))
    return workspace


@pytest.fixture(name="editor")
def code_server(workspace: Path, tmp_path: Path) -> Iterator[str]:
    """Its address, with the extension installed and nothing else."""
    packed = tmp_path / "kinetoscope.vsix"
    pack = ["npm", "run", "package", "--", "-o", str(packed)]
    subprocess.run(pack, cwd=VSCODE, check=True, capture_output=True)
    settings = tmp_path / "user" / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    chosen = {
        "kinetoscope.python": sys.executable,
        "kinetoscope.sourceMap": {"/recorded": str(workspace / "mapped")},
        "workbench.colorTheme": "Default Dark Modern",
        "workbench.startupEditor": "none",
    }
    settings.write_text(json.dumps(chosen))
    folders = ["--user-data-dir", tmp_path / "user", "--extensions-dir", tmp_path / "extensions"]
    command = ["node", str(ENTRY), *map(str, folders)]
    subprocess.run([*command, "--install-extension", packed], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = ["--auth", "none", "--disable-workspace-trust", "--disable-telemetry"]
    with (tmp_path / "log").open("wb") as log:
        environment = {**os.environ, "KINETOSCOPE_CACHE_DIR": str(tmp_path / "cache")}
        server = subprocess.Popen(
            [*command, *quiet, "--bind-addr", f"127.0.0.1:{port}", str(workspace)],
            stdout=log, stderr=log, env=environment,
        )  # fmt: skip
        try:
            yield f"http://127.0.0.1:{port}/?folder={workspace}"
        finally:
            server.terminate()
            server.wait(30)


def test_a_profile_opens_and_a_frame_of_it_opens_the_mapped_line(
    browser: Browser, editor: str
) -> None:
    page = browser.new_page(viewport={"width": 1500, "height": 900})
    try:
        started(page, editor)
        open_from_explorer(page, "log")
        shown = page_in(page)
        expect(shown.locator("h1")).to_contain_text("DataLoader", timeout=40_000)
        theme = shown.locator("html[data-theme]")
        expect(theme).to_have_attribute("data-theme", "dark")

        # Two files of that name are in the workspace and none at the recorded path.
        shown.get_by_role("link", name="Operator").first.click()
        shown.locator(".dt-cells[data-row]").first.click()
        shown.locator(".op-details summary").first.click()
        link = shown.get_by_role("button", name="train_cpu.py").first
        line = (link.get_attribute("title") or "").rpartition(":")[2]
        link.click()
        expect(page.locator(".statusbar")).to_contain_text(f"Ln {line}, Col 1")
        crumbs = page.locator(".monaco-breadcrumbs").last
        expect(crumbs).to_contain_text("mapped")

        page.keyboard.press("F1")
        page.keyboard.type("Toggle between Light/Dark Themes")
        page.get_by_role("option", name="Toggle between Light/Dark Themes").first.click()
        expect(theme).to_have_attribute("data-theme", "light")
    finally:
        if picture := os.environ.get("KINETOSCOPE_PICTURE"):
            page.screenshot(path=picture)
        page.close()


def started(page: Page, address: str) -> None:
    """Open the workbench as soon as code-server listens."""
    for _ in range(120):
        try:
            page.goto(address)
            break
        except Error:
            page.wait_for_timeout(500)
    page.wait_for_selector(".monaco-workbench")


def open_from_explorer(page: Page, folder: str) -> None:
    """Choose *Open profile* in the menu of a folder, as soon as the extension has put it there."""
    command = page.get_by_text("Open profile").first
    for _ in range(30):
        page.get_by_role("treeitem", name=folder, exact=True).first.click(button="right")
        page.wait_for_timeout(1_000)
        if command.is_visible():
            command.click()
            return
        page.keyboard.press("Escape")
    raise AssertionError("the menu of the explorer has no Open profile")


def page_in(page: Page) -> Frame:
    """The frame with our page, inside the webview of the editor."""
    for _ in range(240):
        for frame in page.frames:
            if "/proxy/" in frame.url and frame.query_selector("h1"):
                return frame
        page.wait_for_timeout(250)
    raise AssertionError([frame.url for frame in page.frames])
