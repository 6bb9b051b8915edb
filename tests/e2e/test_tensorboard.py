"""The page inside a real TensorBoard, with no network but TensorBoard itself."""

from __future__ import annotations

import re
import runpy
import warnings
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, Route, expect

from kinetoscope import __version__
from kinetoscope.web.contract import CONTRACT
from tests.conftest import ROOT
from tests.waiting import wait_for

from .browser import Watch, watched
from .servers import Server, get_json, tensorboard


def plugin(page: Page) -> FrameLocator:
    """Our frame: TensorBoard keeps one per plugin that was opened."""
    return page.frame_locator("iframe[src*='plugin_entry']")


def clean(watch: Watch) -> None:
    assert watch.foreign == [], "requests to other hosts"
    assert watch.console == [], "console errors or warnings"
    assert watch.failed == [], "failed requests"


@pytest.mark.parametrize("view", ["overview", "memory", "health"])
def test_each_view_opens_offline_and_in_silence(browser: Browser, board: Server, view: str) -> None:
    with watched(browser) as (page, watch):
        page.goto(f"{board.page}&p.pytorch_profiler.run=train_cpu&p.pytorch_profiler.view={view}")
        expect(plugin(page).locator("h1")).to_be_visible()
        expect(
            plugin(page).get_by_role("link", name=re.compile(view, re.IGNORECASE)).first
        ).to_have_attribute("aria-current", "page")
        page.wait_for_timeout(500)
        clean(watch)


def test_a_summary_writer_in_the_same_folder_is_shown_beside_us(tmp_path: Path) -> None:
    """Loss and graph in TensorBoard's own tabs, the profile in ours, of one run."""
    pytest.importorskip("torch")
    sample = runpy.run_path(str(ROOT / "samples" / "profiler_features.py"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sample["scalars"](tmp_path / "log")
    with tensorboard(tmp_path / "log", tmp_path) as server:
        (run,) = server.wait_ready(1)["runs"]
        assert run["name"] == "scalars"
        data = server.page.partition("#")[0] + "data/plugin"
        tags = wait_for(lambda: get_json(f"{data}/scalars/tags").get("scalars"))
        assert "loss" in tags
        assert wait_for(lambda: get_json(f"{data}/graphs/info").get("scalars"))["run_graph"]


def test_the_tab_carries_our_title(browser: Browser, board: Server) -> None:
    with watched(browser) as (page, _):
        page.goto(board.page)
        expect(page.get_by_role("tab", name="PyTorch Profiler")).to_be_visible()


def test_a_link_opens_what_it_names_and_survives_a_reload(browser: Browser, board: Server) -> None:
    """Run and worker of a link are shown, another view keeps them, the address says so."""
    with watched(browser) as (page, watch):
        page.goto(
            f"{board.page}&p.pytorch_profiler.run=train_ddp_cpu&p.pytorch_profiler.worker=rank1"
        )
        frame = plugin(page)
        expect(frame.locator("h1")).to_be_visible()
        expect(frame.locator("header").first).to_contain_text("rank1")
        frame.get_by_role("link", name=re.compile("Health", re.IGNORECASE)).first.click()
        expect(frame.get_by_text("Limits of this recording")).to_be_visible()
        assert "worker=rank1" in page.url
        assert "view=health" in page.url
        page.reload()
        expect(plugin(page).get_by_text("Limits of this recording")).to_be_visible()
        expect(plugin(page).locator("header").first).to_contain_text("rank1")
        page.go_back()
        clean(watch)


def test_dark_mode_follows_tensorboard(browser: Browser, board: Server) -> None:
    with watched(browser) as (page, _):
        page.goto(board.page.replace("/#", "/?darkMode=true#"))
        root = plugin(page).locator("html")
        expect(root).to_have_attribute("data-theme", "dark")


def test_an_older_server_is_named_until_it_is_restarted(browser: Browser, board: Server) -> None:
    """TensorBoard that ran on while the package was upgraded serves the new page."""

    def older(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"version": "0.0.1"})

    with watched(browser) as (page, watch):
        page.route("**/api/info", older)
        with page.expect_response("**/api/info") as told:
            page.goto(f"{board.page}&p.pytorch_profiler.run=train_cpu")
        assert told.value.headers["kinetoscope-program"] == f"{__version__} {CONTRACT}"
        title = plugin(page).locator("h1")
        expect(title).to_have_text("The server and this page do not fit together")
        expect(plugin(page).get_by_role("alert")).to_contain_text("older than this page")
        page.unroute("**/api/info", older)
        expect(title).not_to_contain_text("fit together")
        expect(title).to_be_visible()
        clean(watch)


def test_works_under_a_path_prefix(browser: Browser, samples: Path, tmp_path: Path) -> None:
    with tensorboard(samples, tmp_path, prefix="/user/me/tb") as server:
        server.wait_ready(spans=3)
        with watched(browser) as (page, watch):
            page.goto(server.page)
            expect(plugin(page).locator("h1")).to_be_visible()
            # TensorBoard's own fonts are not found under a prefix; that is not ours to mend.
            ours = [f for f in watch.failed if "pytorch_profiler" in f]
            assert ours == []
            assert watch.foreign == []


def test_an_empty_logdir_shows_the_recipe(browser: Browser, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with tensorboard(empty, tmp_path) as server, watched(browser) as (page, watch):
        page.goto(server.page)
        expect(plugin(page).get_by_text("tensorboard_trace_handler").first).to_be_visible()
        clean(watch)


def test_a_narrow_window_has_no_horizontal_bar(browser: Browser, board: Server) -> None:
    for width in (1000, 640):
        with watched(browser, width=width) as (page, _):
            page.goto(f"{board.page}&p.pytorch_profiler.run=train_cpu")
            expect(plugin(page).locator("h1")).to_be_visible()
            page.wait_for_timeout(500)
            inner = page.frame(url=re.compile("plugin_entry"))
            assert inner is not None
            excess = inner.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert excess <= 0, f"{excess} px too wide at {width} px"
