"""The Trace view on damaged and odd recordings: it shows what there is, or says why it cannot."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from tests.conftest import TRACES, requires_traces

from .browser import watched
from .servers import Server, standalone
from .test_timeline import LONG_MS, drawn, silent

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
            expect(canvas.or_(reason).first).to_be_visible(timeout=LONG_MS)
            if canvas.count():
                drawn(page)
                found[file.name] = "drawn"
            else:
                found[file.name] = reason.first.inner_text()
                assert len(page.locator("main").inner_text()) > len(found[file.name]) + 20
            silent(watch)
    assert "drawn" in found.values()
