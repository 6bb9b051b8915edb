"""The first thing people try: the same training with 0 and with 4 loading processes.

Both were recorded by `samples/resnet.py`: the first waits for its pictures, and is told so; the
second waits no more and takes less long; Diff says why.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from .browser import watched
from .conftest import SAMPLES
from .servers import standalone

FIRST, SECOND = "resnet_workers0", "resnet_workers4"


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.locator("h1")).to_be_visible()
    return page


def ruler(page: Page) -> str:
    return page.locator("figure.ruler").get_attribute("aria-label") or ""


def step_ms(page: Page) -> float:
    """The mean step, as its drawing says it."""
    found = re.match(r"([\d.,]+)\s*(ms|s): ", ruler(page))
    assert found is not None, ruler(page)
    return float(found[1].replace(",", "")) * (1000 if found[2] == "s" else 1)


@pytest.mark.browser
def test_from_a_slow_training_to_the_reason_why_it_is_faster(
    browser: Browser, tmp_path: Path
) -> None:
    for run in (FIRST, SECOND):
        shutil.copytree(SAMPLES / run, tmp_path / "log" / run)
    with standalone(tmp_path / "log", tmp_path) as server:
        server.wait_ready(spans=2)
        with watched(browser) as (page, watch):
            opened(page, f"{server.page}#run={FIRST}&view=overview")
            main = page.locator("main")
            expect(
                main.get_by_text("Input-bound: load batches in worker processes")
            ).to_be_visible()
            share = re.search(r"DataLoader ([\d.]+)\s*ms", ruler(page))
            assert share is not None
            slow = step_ms(page)
            assert float(share[1]) > 0.2 * slow
            expect(main.get_by_text("num_workers").first).to_be_attached()

            opened(page, f"{server.page}#run={SECOND}&view=overview")
            expect(page.locator("h1")).not_to_contain_text("DataLoader")
            expect(main.get_by_text("Input-bound")).to_have_count(0)
            fast = step_ms(page)
            assert fast < slow

            opened(page, f"{server.page}#run={SECOND}&view=diff&diff.base={FIRST}")
            expect(
                main.get_by_text("the DataLoader no longer blocks the main thread").first
            ).to_be_visible()

            page.set_viewport_size({"width": 700, "height": 900})
            changes = page.get_by_label("Changes", exact=True).locator("table").first
            heads = changes.locator("thead th")
            expect(heads.nth(1)).to_contain_text("Change")  # in sight, before A, B
            changes.locator("tbody tr").first.press("Enter")
            expect(changes.get_by_role("link", name="A in Operator")).to_be_visible()

            # Inside a piece and out again, by the browser's own way back.
            pieces = main.locator(".diff-piece button")
            expect(pieces.first).to_be_visible()
            names = pieces.all_inner_texts()
            pieces.first.click()
            expect(main.get_by_text("Operators inside:")).to_be_visible()
            page.go_back()
            expect(pieces).to_have_text([re.compile(re.escape(one)) for one in names])
            assert (watch.console, watch.foreign, watch.failed) == ([], [], [])
