"""What a screen reader is given: Chromium's accessibility tree, as text."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import watched
from tests.e2e.servers import Server


def heard(page: Page, of: str = "main") -> str:
    """The accessibility tree of a part of the page, with plain blanks."""
    return page.locator(of).aria_snapshot().replace("\u00a0", " ")


def opened(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("h1")).to_be_visible()


def test_the_headline_and_the_parts_of_the_step_are_heard(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, _):
        opened(page, f"{served.page}#run=train_cpu")
        expect(page.locator(".finding").first).to_be_visible()
        text = heard(page)
        headline = page.locator("h1").inner_text()
        assert re.search(rf'heading "{re.escape(headline[:20])}.* \[level=1\]', text)
        figure = re.search(r'figure "([^"]+)"', text)
        assert figure is not None
        # The length of the step, then each part with its time and its share.
        whole, *parts = re.split(r": |; ", figure[1])
        assert re.fullmatch(r"[\d.,]+ m?s", whole)
        assert len(parts) > 3
        assert all(
            re.fullmatch(r"[\w ,:-]+? (< )?[\d.,]+ m?s, (< )?[\d.]+ %", one) for one in parts
        )
        # Not what was chosen, but what it says: the sentence is announced when steps are chosen.
        assert page.locator(".hero").get_attribute("aria-live") == "polite"
        assert 'table "Critical path by name"' in text or "Critical path" in text


def test_a_table_is_heard_with_its_heads_and_rows(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, _):
        opened(page, f"{served.page}#run=train_cpu&view=operators")
        expect(page.locator(".dt-row").first).to_be_visible()
        text = heard(page)
        assert re.search(r"columnheader \"?Name", text)
        assert re.search(r'row "[^"]*aten::', text)


def test_the_selected_slice_is_announced(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, _):
        opened_trace = f"{served.page}#run=train_cpu&view=timeline&timeline.find=aten::addmm"
        page.goto(opened_trace)
        expect(page.get_by_role("toolbar", name="Timeline")).to_be_visible()
        page.locator(".tl-canvas").first.wait_for()
        page.wait_for_timeout(1500)
        page.keyboard.press("n")
        status = page.locator(".tl-side > [role=status]")
        said = re.compile(r"Selected: aten::addmm, Operator, [\d.]+\s(µs|ms), at .+ on Main thread")
        expect(status).to_have_text(said)
