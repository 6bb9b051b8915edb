"""A report from `file:`, without a network: each view is the server's, and nothing is asked."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from kinetoscope.notebook import Shown
from kinetoscope.views import STEMS

from .browser import watched
from .servers import Server

MISSING = "Not in this report"


def settled(page: Page) -> str:
    """The text of the view, when it has stopped to change."""
    main = page.get_by_role("main")
    expect(main.locator("h1, h2").first).to_be_visible()
    before = ""
    for _ in range(60):
        page.wait_for_timeout(500)
        now = main.inner_text()
        if now == before and "Reading the trace" not in now:
            return now
        before = now
    raise AssertionError(f"it changes all the time: {before[:500]}")


def without_links(text: str) -> list[str]:
    """The lines; downloads and the place of the file are the server's alone."""
    lines = [line for line in text.split("\n") if line.strip() not in {"", "Folded stacks"}]
    return [line for line in lines if ".pt.trace.json" not in line]


def test_every_view_says_what_the_server_says(
    browser: Browser, report_file: Path, served: Server
) -> None:
    with watched(browser) as (page, watch):
        for stem in STEMS:
            if stem in {
                "memory",
                "diff",
                "health",
            }:  # a map, other runs and files: the server has more
                continue
            page.goto("about:blank")
            page.goto(f"{report_file.as_uri()}#view={stem}")
            told = settled(page)
            assert MISSING not in told, stem
            wanted = without_links(told)
            page.goto("about:blank")
            page.goto(f"{served.page}#run=train_cpu&view={stem}")
            now: list[str] = []
            for _ in range(100):
                page.wait_for_timeout(300)
                now = without_links(page.get_by_role("main").inner_text())
                if now == wanted:
                    break
            assert now == wanted, stem
        assert (watch.console, watch.foreign, watch.failed) == ([], [], [])


def test_a_slice_a_row_and_an_order_need_no_server(browser: Browser, report_file: Path) -> None:
    with watched(browser) as (page, watch):
        page.goto(f"{report_file.as_uri()}#view=operators")
        head = page.get_by_role("columnheader", name="Calls").first
        head.get_by_role("button").first.click()
        rows = page.get_by_role("main").get_by_role("row")
        expect(rows.nth(1)).to_be_visible()
        page.goto("about:blank")
        page.goto(f"{report_file.as_uri()}#view=timeline")
        canvas = page.locator("canvas").last
        expect(canvas).to_be_visible()
        page.wait_for_timeout(500)
        box = canvas.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 60, box["y"] + 57)
        expect(page.get_by_text("enumerate(DataLoader)").first).to_be_visible()
        assert MISSING not in page.locator("body").inner_text()
        assert (watch.console, watch.foreign, watch.failed) == ([], [], [])


def test_what_it_does_not_hold_is_said_where_it_would_stand(
    browser: Browser, report_file: Path
) -> None:
    with watched(browser) as (page, watch):
        page.goto(f"{report_file.as_uri()}#view=overview&steps=1-2")
        expect(page.get_by_text(MISSING).first).to_be_visible()
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)
        expect(page.get_by_text("A report of worker0").first).to_be_visible()
        assert (watch.console, watch.foreign, watch.failed) == ([], [], [])


def test_below_a_cell_of_a_notebook(browser: Browser, report_file: Path, tmp_path: Path) -> None:
    """In a frame without an origin, whose document has no address of its own."""
    cell = Shown.of_report(report_file.read_bytes(), 700)._repr_html_()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f'<!doctype html><meta charset="utf-8"><h2>cell</h2>{cell}')
    with watched(browser) as (page, watch):
        page.goto(notebook.as_uri())
        frame = page.frame_locator("iframe")
        expect(frame.locator("h1")).to_contain_text("DataLoader")
        frame.get_by_role("link", name="Operator").first.click()
        expect(frame.locator("h1")).to_contain_text("aten::")
        assert (watch.console, watch.foreign, watch.failed) == ([], [], [])
