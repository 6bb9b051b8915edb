"""The Memory view in a real browser: a range on the curve, both tables, the treemap, its states."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from .accessibility import complaints
from .browser import watched
from .servers import Server, standalone
from .test_page import silent

SAMPLE = "run=train_cpu&view=memory"
EVIL = "<img src=x onerror=\"document.title='owned'\">"
MIB = 1 << 20
COUNT = ".tools > .hint"  # rows of the table, in words


def opened(page: Page, address: str) -> Locator:
    """The curve, once the view is there."""
    page.goto(address)
    curve = page.locator(".mem-curve")
    expect(curve).to_be_visible()
    return curve


def drag(page: Page, curve: Locator, start: float, end: float) -> None:
    """Press at a share of the width, and let go at another."""
    box = curve.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + (start + end) / 2 * box["width"], y)
    page.mouse.move(box["x"] + end * box["width"], y)
    page.mouse.up()


def row_count(page: Page) -> int:
    words = page.locator(COUNT).inner_text()
    return int(re.sub(r"\D", "", words.split("row")[0]))


def overlay(page: Page) -> Any:
    """The pixels above the curve."""
    return page.locator(".mem-curve canvas").nth(1).evaluate("canvas => canvas.toDataURL()")


def test_a_range_filters_both_tables_and_is_left(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, watch):
        curve = opened(page, f"{served.page}#{SAMPLE}")
        expect(page.locator(".dt-row").first).to_be_visible()
        everything, words = row_count(page), page.locator(COUNT).inner_text()
        drag(page, curve, 0.3, 0.5)
        expect(page.get_by_role("heading", name="In the chosen range")).to_be_visible()
        expect(page.locator(COUNT)).not_to_have_text(words)
        assert 0 < row_count(page) < everything
        page.get_by_role("radio", name="By operator").check(force=True)
        expect(page.get_by_role("grid", name="Memory by operator")).to_be_visible()
        assert "memory.range=" in page.url
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", name="In the chosen steps")).to_be_visible()
        drag(page, curve, 0.3, 0.5)
        page.get_by_role("button", name="Zoom to it").click()
        expect(page.get_by_role("button", name="Zoom out", exact=True)).to_be_visible()
        curve.click(button="right")
        expect(page.get_by_role("heading", name="In the chosen steps")).to_be_visible()
        silent(watch)


def test_a_row_marks_its_lifetime_on_the_curve(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, watch):
        opened(page, f"{served.page}#{SAMPLE}")
        expect(page.locator(".dt-row").first).to_be_visible()
        page.mouse.move(1, 1)
        page.wait_for_timeout(200)
        before = overlay(page)
        page.locator(".dt-cells[data-row]").nth(2).hover()
        page.wait_for_timeout(200)
        assert overlay(page) != before
        page.mouse.move(1, 1)
        page.wait_for_timeout(200)
        assert overlay(page) == before
        page.locator(".dt-cells[data-row]").first.focus()
        page.wait_for_timeout(200)
        assert overlay(page) != before
        silent(watch)


def test_the_curve_is_walked_by_keys(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, watch):
        curve = opened(page, f"{served.page}#{SAMPLE}")
        curve.focus()
        page.keyboard.press("Home")
        page.keyboard.press("PageDown")
        page.keyboard.press("Shift+PageDown")
        page.keyboard.press("Shift+PageDown")
        expect(page.get_by_role("button", name="Clear range")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Alive at the cursor")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Clear range")).to_have_count(0)
        silent(watch)


def test_a_box_leads_to_its_op_and_its_blocks(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, watch):
        opened(page, f"{served.page}#{SAMPLE}")
        boxes = page.locator(".treemap-box")
        expect(boxes.first).to_be_visible()
        boxes.first.click()
        expect(page.locator(".mem-chosen")).to_contain_text("Confidence:")
        boxes.first.press("ArrowRight")
        expect(boxes.nth(1)).to_be_focused()
        page.get_by_role("button", name="Its blocks in the table").click()
        assert "memory.category=" in page.url
        silent(watch)


def test_every_box_has_the_area_of_its_bytes(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, _):
        opened(page, f"{served.page}#{SAMPLE}")
        boxes = page.locator(".treemap-box")
        expect(boxes.first).to_be_visible()
        found = boxes.evaluate_all(
            "all => all.map(e => [e.offsetLeft, e.offsetTop, e.offsetWidth, e.offsetHeight])"
        )
        width, height = page.locator(".treemap").evaluate("e => [e.clientWidth, e.clientHeight]")
        covered = sum((w + 1.5) * (h + 1.5) for _, _, w, h in found)
        assert covered == pytest.approx(width * height, rel=0.03)
        assert all(x + w <= width + 1 and y + h <= height + 1 for x, y, w, h in found)


def test_the_address_map_is_zoomed_moved_and_pressed(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, watch):
        opened(page, f"{served.page}#{SAMPLE}")
        picture = page.get_by_role("application", name="Blocks by address and time")
        expect(picture).to_have_attribute("aria-busy", "false")
        picture.scroll_into_view_if_needed()

        def drawn() -> Any:
            page.wait_for_timeout(150)
            expect(picture).to_have_attribute("aria-busy", "false")
            page.wait_for_timeout(150)
            return picture.locator("canvas").evaluate("canvas => canvas.toDataURL()")

        pictures = [drawn()]
        picture.focus()
        for key in ("+", "+", "ArrowRight", "ArrowUp"):
            page.keyboard.press(key)
            pictures.append(drawn())
        assert len(set(pictures)) == 5
        page.keyboard.press("0")
        assert drawn() == pictures[0]
        # Somewhere there is a block to be pressed.
        box = picture.bounding_box()
        assert box is not None
        for y in range(4, 270, 3):
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + y)
            if page.get_by_text("press to see the block").count():
                page.mouse.down()
                page.mouse.up()
                break
        expect(page.get_by_role("region", name="What it holds", exact=True)).to_be_visible()
        silent(watch)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("tab", ["events", "operators"])
def test_axe_has_nothing_to_say(browser: Browser, served: Server, tab: str, dark: bool) -> None:
    with watched(browser, dark=dark) as (page, _):
        opened(page, f"{served.page}#{SAMPLE}&memory.tab={tab}")
        expect(page.locator(".dt-row").first).to_be_visible()
        expect(page.locator(".treemap-box").first).to_be_visible()
        if tab == "events":
            page.locator(".dt-cells[data-row]").first.click()
            expect(page.get_by_role("region", name="What it holds", exact=True)).to_be_visible()
        page.wait_for_timeout(300)
        assert complaints(page) == []


# --- recordings of before torch 1.11, and hostile ones --------------------------------------------


def memory(ts: float, size: int, address: int | None, total: int | None) -> dict[str, Any]:
    args: dict[str, Any] = {"Bytes": size, "Device Type": 1, "Device Id": 0}
    if address is not None:
        args |= {"Addr": address, "Total Allocated": total, "Total Reserved": 8 * MIB}
    place = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "pid": 9, "tid": 9}
    return {**place, "name": "[memory]", "ts": ts, "args": args}


def op(name: str, ts: float, dur: float) -> dict[str, Any]:
    return {
        "ph": "X", "cat": "cpu_op", "name": name, "ts": ts, "dur": dur, "pid": 9, "tid": 9,
        "args": {},
    }  # fmt: skip


def served_trace(tmp_path: Path, events: list[dict[str, Any]]) -> Path:
    run = tmp_path / "log" / "run"
    run.mkdir(parents=True)
    gpu = {"id": 0, "name": "GPU", "totalGlobalMem": 1 << 34}
    text = json.dumps({"schemaVersion": 1, "deviceProperties": [gpu], "traceEvents": events})
    (run / "worker0.pt.trace.json").write_text(text, encoding="utf-8")
    return tmp_path / "log"


def test_what_was_not_recorded_is_said_and_not_zero(browser: Browser, tmp_path: Path) -> None:
    events = [op("aten::mm", 0, 40), memory(10, MIB, None, None), memory(30, -MIB, None, None)]
    with standalone(served_trace(tmp_path, events), tmp_path) as server:
        server.wait_ready()
        with watched(browser) as (page, watch):
            opened(page, f"{server.page}#view=memory")
            expect(page.get_by_role("heading", name="Change of allocated memory")).to_be_visible()
            alive = page.get_by_role("region", name="Alive at the peak")
            expect(alive).to_contain_text("Not available")
            expect(alive).to_contain_text("torch 1.11")
            expect(page.get_by_role("radio", name="Events")).to_be_disabled()
            expect(page.locator(".dt-row").first).to_contain_text("aten::mm")
            silent(watch)


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    for at, name in enumerate((EVIL, "n" * 50_000, "\u202ereversed\u202c\u0000", "__proto__")):
        ts, total = 100 * at, (at + 1) * MIB
        events += [op(name, ts, 90), memory(ts + 10, MIB, 4096 * (at + 1), total)]
    with standalone(served_trace(tmp_path, events), tmp_path) as server:
        server.wait_ready()
        with watched(browser) as (page, watch):
            opened(page, f"{server.page}#view=memory")
            expect(page.locator(".treemap-box").first).to_be_visible()
            for row in range(4):
                page.locator(".dt-cells[data-row]").nth(row).click()
                expect(page.get_by_role("region", name="What it holds", exact=True)).to_be_visible()
                page.keyboard.press("Escape")
            page.locator(".treemap-box").first.click()
            assert page.title() != "owned"
            assert page.locator("img[src=x]").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            silent(watch)
