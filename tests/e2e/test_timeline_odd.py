"""The Trace view on damaged and odd recordings: it shows what there is, or says why it cannot."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import TRACES, requires_traces

from .browser import watched
from .servers import Server, standalone
from .test_timeline import details, drawn, search, silent, trace, values

ODD = TRACES / "derived_oddities"
FILES = sorted(file for file in ODD.rglob("*") if file.is_file())
REASONS = re.compile("not a trace|could not be read|not available|No trace")
KINDS = sorted({file.parent.name for file in FILES})


def run_of(file: Path) -> str:
    return "-".join(file.relative_to(ODD).parts).replace(".", "_")


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Every odd recording, each a run of its own."""
    logdir = tmp_path_factory.mktemp("odd") / "log"
    for file in FILES:
        target = logdir / run_of(file) / file.name.replace(".json", ".pt.trace.json")
        target.parent.mkdir(parents=True)
        shutil.copyfile(file, target)
    with standalone(logdir, tmp_path_factory.mktemp("oddserver")) as server:
        yield server


@requires_traces
@pytest.mark.parametrize("kind", KINDS)
def test_odd_recordings_are_drawn_or_explained(browser: Browser, odd: Server, kind: str) -> None:
    """Tiles on the canvas, or a heading that says what is the matter and a sentence below it."""
    found: dict[str, str] = {}
    for file in FILES:
        if file.parent.name != kind:
            continue
        with watched(browser) as (page, watch):
            page.goto(f"{odd.page}#{urlencode({'run': run_of(file), 'view': 'timeline'})}")
            canvas = page.locator(".tl-canvas[data-stats]")
            reason = page.get_by_role("heading", name=REASONS)
            expect(canvas.or_(reason).first).to_be_visible()
            if canvas.count():
                drawn(page)
                found[file.name] = "drawn"
            else:
                found[file.name] = reason.first.inner_text()
                assert len(page.locator("main").inner_text()) > len(found[file.name]) + 20
            silent(watch)
    assert "drawn" in found.values()


# --- graphs on many streams -----------------------------------------------------------------------


def written_graph(folder: Path, streams: int) -> None:
    """Two replays of a graph, each node of which runs on a stream of its own."""
    folder.mkdir(parents=True)
    events = []
    for replay in range(2):
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1}
        at = replay * 1000
        events.append({**launch, "ts": at, "dur": 5, "args": {"correlation": replay + 1}})
        for node in range(streams):
            told = {"device": 0, "stream": node + 7, "correlation": replay + 1}
            told |= {"graph id": 3, "graph node id": node + 1}
            place = {"ph": "X", "cat": "kernel", "pid": 0, "tid": node + 7, "args": told}
            ts = at + 20 + 10 * node
            events.append({**place, "name": f"kernel_{node}", "ts": ts, "dur": 9})
    text = json.dumps({"schemaVersion": 1, "traceEvents": events})
    (folder / "worker0.pt.trace.json").write_text(text)


def labels(page: Page) -> list[str]:
    """Those of the tracks of devices that are in sight."""
    found = page.locator(".tl-label-text > bdi:first-child").all_inner_texts()
    return [text for text in found if text.startswith(("Graphs", "Stream"))]


def test_streams_of_a_graph_fold_and_are_one_press_away(browser: Browser, tmp_path: Path) -> None:
    written_graph(tmp_path / "log" / "run", 40)
    with standalone(tmp_path / "log", tmp_path) as server:
        server.wait_ready()
        with trace(browser, server, "view=timeline") as (page, watch):
            assert labels(page) == ["Graphs · compute 40\u00a0streams"]
            # What is found there is where it is drawn.
            search(page, "kernel_39")
            page.keyboard.press("Enter")
            expect(details(page)).to_contain_text("Graphs · compute")
            expect(details(page)).to_contain_text("stream 46")
            page.get_by_role("button", name="Graphs: folded").click()
            expect(page.get_by_role("button", name="Graphs: 40\u00a0streams")).to_be_visible()
            drawn(page)
            assert values(page)["timeline.streams"] == "recorded"
            # The last of forty streams, far below, is where the selection is.
            expect(details(page)).to_contain_text("Stream 46 · compute")
            expect(page.get_by_text("Stream 46 · compute").first).to_be_visible()
            page.reload()
            drawn(page)
            expect(page.get_by_role("button", name="Graphs: 40\u00a0streams")).to_be_visible()
            page.keyboard.press("u")
            expect(page.get_by_text("Graphs · compute").first).to_be_visible()
            assert values(page)["timeline.streams"] == "folded"
            silent(watch)
