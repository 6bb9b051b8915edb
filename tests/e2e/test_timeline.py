"""The Trace view: opened, searched, selected, linked, by pointer and by key, on real servers."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect

from tests.conftest import ROOT, TRACES, requires_traces

from .browser import Watch, watched
from .servers import Server, get_json, standalone
from .test_firefox import pytestmark as needs_firefox
from .test_firefox import seen_at

CPU = "run=train_cpu&view=timeline"
V100 = TRACES / "kineto_tb_samples" / "resnet50_num_workers_0"


def silent(watch: Watch) -> None:
    assert (watch.console, watch.foreign, watch.failed) == ([], [], [])


def drawn(page: Page | FrameLocator) -> Locator:
    """The canvas, once it has drawn tiles and nothing is on its way."""
    canvas = page.locator(".tl-canvas")
    expect(canvas).to_have_attribute("data-stats", re.compile(r'"tiles":[1-9]'))
    expect(page.locator(".tl-pending.on")).to_have_count(0)
    return canvas


@contextmanager
def trace(
    browser: Browser, server: Server, fragment: str, **window: Any
) -> Iterator[tuple[Page, Watch]]:
    with watched(browser, **window) as (page, watch):
        page.goto(f"{server.page}#{fragment}")
        drawn(page)
        yield page, watch


def values(page: Page) -> dict[str, str]:
    """What the address says."""
    return {key: one for key, (one, *_) in parse_qs(page.url.partition("#")[2]).items()}


def settled(page: Page, key: str, is_so: Callable[[str], bool] = bool) -> str:
    """The value of an address key once it is as wanted."""
    page.wait_for_function("() => true")
    for _ in range(100):
        value = values(page).get(key, "")
        if is_so(value):
            return value
        page.wait_for_timeout(100)
    raise AssertionError(f"{key} is {values(page).get(key)!r}")


def part(server: Server, name: str, page: Page, **query: Any) -> Any:
    """A part of the view, asked for the trace that the page shows."""
    shown = values(page)
    key = {one: shown[one] for one in ("run", "worker", "span")}
    return get_json(f"{server.api}view/timeline/{name}?{urlencode({**key, **query})}")


def search(page: Page, text: str) -> str:
    """Types into the search; how many hits it says."""
    page.keyboard.press("/")
    page.keyboard.press("Control+a")
    page.keyboard.type(text)
    count = page.locator(".tl-bar [role=status]").first
    expect(count).to_have_text(re.compile(r"^\d.*\shits?$"))
    page.wait_for_timeout(400)  # of this text, no longer of the one before it
    return count.inner_text().replace("\u00a0", " ")


def details(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Details")


def test_opens_inside_tensorboard_offline_and_in_silence(browser: Browser, board: Server) -> None:
    with watched(browser) as (page, watch):
        state = "&p.pytorch_profiler.".join(["", *CPU.split("&")])
        page.goto(f"{board.page}{state}")
        frame = page.frame_locator("iframe[src*='plugin_entry']")
        drawn(frame)
        expect(frame.get_by_role("heading", level=1)).to_contain_text("Trace of worker0")
        expect(frame.get_by_role("list", name="Tracks")).to_contain_text("Main thread · ops")
        page.wait_for_timeout(500)
        assert "p.pytorch_profiler.timeline.at=" in page.url
        silent(watch)


@needs_firefox
def test_opens_in_firefox(served: Server) -> None:
    seen = seen_at(f"{served.page}#{CPU}")
    assert seen["headings"]
    assert (seen["console"], seen["foreign"], seen["failed"]) == ([], [], [])


def test_a_picture_is_drawn(browser: Browser, served: Server) -> None:
    """Of many colours: neither blank nor one tone."""
    with trace(browser, served, CPU) as (page, watch):
        count = page.evaluate(
            """() => {
                const canvas = document.querySelector('.tl-canvas canvas');
                const { data } = canvas.getContext('2d')
                    .getImageData(0, 0, canvas.width, canvas.height);
                const seen = new Set();
                for (let i = 0; i < data.length; i += 4) {
                    seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
                }
                return seen.size;
            }"""
        )
        assert count > 20
        silent(watch)


def test_search_counts_and_walks_through_all_hits(browser: Browser, served: Server) -> None:
    with trace(browser, served, CPU) as (page, watch):
        words = search(page, "aten::convolution")
        answer = part(served, "search", page, text="aten::convolution")
        assert words == f"{answer['slices']} hits"
        page.keyboard.press("Enter")
        expect(page.locator(".tl-bar [role=status]").first).to_have_text(re.compile(r"^1\sof\s"))
        first = settled(page, "timeline.select")
        page.keyboard.press("Enter")
        second = settled(page, "timeline.select", lambda one: one not in ("", first))
        page.keyboard.press("Shift+Enter")
        assert settled(page, "timeline.select", lambda one: one == first) != second
        silent(watch)


def test_a_slice_tells_all_of_itself_and_leads_on(browser: Browser, served: Server) -> None:
    """From a forward op to its backward op and back, by the links of the details."""
    with trace(browser, served, CPU) as (page, watch):
        search(page, "aten::addmm")
        page.keyboard.press("Enter")
        side = details(page)
        expect(side.get_by_role("heading", name="aten::addmm")).to_be_visible()
        expect(side).to_contain_text("Against peers")
        expect(side).to_contain_text("Inputs")
        expect(side.get_by_role("heading", name="Stack")).to_be_visible()
        forward = settled(page, "timeline.select")
        backward = side.locator(".tl-hop", has_text="backward")
        backward.get_by_role("button").click()
        expect(side.get_by_role("heading", name="AddmmBackward0")).to_be_visible()
        side.locator(".tl-hop", has_text="forward").get_by_role("button").click()
        settled(page, "timeline.select", lambda one: one == forward)
        silent(watch)


def test_a_dragged_area_is_summed_up(browser: Browser, served: Server) -> None:
    with trace(browser, served, CPU) as (page, watch):
        box = page.locator(".tl-canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 200, box["y"] + 40)
        page.mouse.down()
        page.mouse.move(box["x"] + 300, box["y"] + 60, steps=4)
        page.mouse.move(box["x"] + 500, box["y"] + 80, steps=4)
        page.mouse.up()
        start, end = map(int, settled(page, "timeline.area").partition("_")[0].split("-"))
        panel = page.get_by_role("region", name="Area")
        expect(panel.get_by_role("heading")).to_contain_text("slices")
        rows = panel.get_by_role("row")
        expect(rows.nth(1)).to_be_visible()
        for tab in ("Flame graph", "Slices", "GPU busy and gaps", "Counters", "Summary"):
            panel.get_by_role("tab", name=tab).click()
            expect(panel.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
            page.wait_for_timeout(300)
        # What the heading says is what the server counts on those tracks.
        heading = panel.get_by_role("heading").inner_text()
        shown = int(re.search(r"([\d,]+)\xa0slices?", heading)[1].replace(",", ""))  # type: ignore[index]
        tracks = range(len(get_json_manifest(served, page)["tracks"]))
        counts = {
            part(served, "area", page, start_ns=start, end_ns=end, tracks=str(one))["slices"]
            for one in tracks
        }
        assert shown in counts
        silent(watch)


def get_json_manifest(server: Server, page: Page) -> Any:
    shown = values(page)
    key = {one: shown[one] for one in ("run", "worker", "span")}
    return get_json(f"{server.api}view/timeline?{urlencode(key)}")


def test_a_copied_link_shows_just_the_same(browser: Browser, served: Server) -> None:
    with trace(browser, served, CPU) as (page, watch):
        search(page, "aten::addmm")
        page.keyboard.press("Enter")
        settled(page, "timeline.select")
        page.keyboard.press("Escape")
        page.locator(".tl-canvas").focus()
        page.keyboard.press("r")
        page.keyboard.press("Shift+M")
        expect(page.get_by_role("tab", name="Notes")).to_be_visible()
        page.get_by_role("button", name="Track Main thread · ops").focus()
        page.keyboard.press("p")
        page.locator(".tl-canvas").focus()
        page.keyboard.press("t")
        page.keyboard.press("4")
        page.wait_for_timeout(800)
        link = page.url
        words = details(page).inner_text()
        pinned = page.get_by_role("list", name="Pinned tracks").get_by_role("listitem")
        assert pinned.count() == 1
        silent(watch)
    with watched(browser) as (page, watch):
        page.goto(link)
        drawn(page)
        expect(details(page)).to_have_text(words, use_inner_text=True)
        pinned = page.get_by_role("list", name="Pinned tracks").get_by_role("listitem")
        expect(pinned).to_contain_text("Main thread · ops")
        page.wait_for_timeout(800)
        assert values(page) == {key: one for key, (one, *_) in parse_qs(link.split("#")[1]).items()}
        expect(page.get_by_role("radio", name=re.compile("^Measure"))).to_be_checked()
        silent(watch)


def test_all_of_it_by_keyboard(browser: Browser, served: Server) -> None:
    with trace(browser, served, CPU) as (page, watch):
        expect(page.get_by_role("application", name=re.compile("^Timeline"))).to_be_visible()
        page.get_by_role("application", name=re.compile("^Timeline")).focus()
        page.keyboard.press(".")
        settled(page, "timeline.select")
        status = page.get_by_role("status").filter(has_text="depth")
        expect(status).to_have_count(1)
        page.keyboard.press("ArrowDown")
        page.wait_for_timeout(500)
        inner = settled(page, "timeline.select")
        page.keyboard.press("ArrowUp")
        settled(page, "timeline.select", lambda one: one != inner)
        page.keyboard.press("PageDown")
        page.wait_for_timeout(800)
        before = settled(page, "timeline.at")
        page.keyboard.down("w")
        page.wait_for_timeout(500)
        page.keyboard.up("w")
        settled(page, "timeline.at", lambda one: one not in ("", before))
        page.keyboard.press("r")
        tab = page.get_by_role("tab", name="Summary")
        expect(tab).to_have_attribute("aria-selected", "true")
        tab.focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Flame graph")).to_be_focused()
        graph = page.get_by_role("application", name=re.compile("^Flame graph"))
        expect(graph).to_be_visible()
        graph.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".flame-words")).to_contain_text("self")
        page.get_by_role("application", name=re.compile("^Timeline")).focus()
        page.keyboard.press("Escape")
        assert "timeline.area" not in values(page)
        page.keyboard.press("Escape")
        assert "timeline.select" not in values(page)
        page.keyboard.press("0")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Next slice of the lane")
        silent(watch)


@pytest.mark.parametrize("dark", [False, True])
def test_no_accessibility_violations(browser: Browser, served: Server, dark: bool) -> None:
    axe = (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text()
    with trace(browser, served, CPU, dark=dark) as (page, _):
        search(page, "aten::addmm")
        page.keyboard.press("Enter")
        settled(page, "timeline.select")
        page.locator(".tl-canvas").focus()
        page.keyboard.press("r")
        page.wait_for_timeout(1200)
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        summary = [
            f"{v['id']}: {n['target']} {n['failureSummary'][:200]}"
            for v in found["violations"]
            for n in v["nodes"][:3]
        ]
        assert summary == []


def test_narrow_the_details_are_a_tab(browser: Browser, served: Server) -> None:
    with trace(browser, served, CPU, width=1000, height=700) as (page, watch):
        expect(details(page)).to_have_count(0)
        search(page, "aten::addmm")
        page.keyboard.press("Enter")
        tab = page.get_by_role("tab", name="Details")
        expect(tab).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tabpanel")).to_contain_text("Against peers")
        assert page.evaluate("document.documentElement.scrollWidth") <= 1000
        silent(watch)


def test_the_window_is_taken_away_as_a_trace_and_as_a_picture(
    browser: Browser, served: Server, tmp_path: Path
) -> None:
    with trace(browser, served, f"{CPU}&steps=2") as (page, watch):
        menu = page.get_by_role("button", name="Download and share")
        menu.click()
        with page.expect_download() as taken:
            page.get_by_role("menuitem", name=re.compile("smaller trace")).click()
        assert taken.value.suggested_filename.endswith(".pt.trace.json.gz")
        taken.value.save_as(tmp_path / "window.json.gz")
        window = json.loads(gzip.decompress((tmp_path / "window.json.gz").read_bytes()))
        whole = get_json_manifest(served, page)["slices"]
        spans = [event for event in window["traceEvents"] if event.get("ph") == "X"]
        assert 0 < len(spans) < whole
        menu.click()
        with page.expect_download() as taken:
            page.get_by_role("menuitem", name=re.compile("Save as picture")).click()
        taken.value.save_as(tmp_path / "view.png")
        assert (tmp_path / "view.png").read_bytes().startswith(b"\x89PNG")
        silent(watch)


def test_perfetto_is_opened_only_on_a_press_and_may_fail(browser: Browser, served: Server) -> None:
    """With no network its page does not come, which is said; nothing of ours breaks."""
    with trace(browser, served, CPU) as (page, watch):
        assert watch.foreign == []
        page.evaluate("window.open = () => null")
        page.get_by_role("button", name="Download and share").click()
        page.get_by_role("menuitem", name=re.compile("Open in Perfetto")).click()
        expect(page.get_by_text("The browser blocked the window")).to_be_visible()
        silent(watch)


def test_two_ranks_on_one_axis(browser: Browser, served: Server) -> None:
    fragment = "run=train_ddp_cpu&view=timeline"
    with trace(browser, served, fragment) as (page, watch):
        tracks = page.get_by_role("button", name=re.compile("^Tracks"))
        one = int(tracks.inner_text().split()[-1])
        page.get_by_role("button", name=re.compile("^Workers .* in this timeline$")).click()
        page.get_by_role("checkbox").first.check()
        page.keyboard.press("Escape")
        expect(page.get_by_text("Aligned by wall clock.").first).to_be_visible()
        drawn(page)
        assert int(tracks.inner_text().split()[-1]) == 2 * one
        assert values(page)["timeline.workers"]
        silent(watch)


def test_without_a_device_it_says_what_is_missing(browser: Browser, served: Server) -> None:
    with trace(browser, served, f"{CPU}&timeline.tab=gpu") as (page, watch):
        side = details(page)
        expect(side).to_contain_text("No device activity was recorded")
        headings = page.get_by_role("list", name="Tracks").get_by_role("button", expanded=True)
        assert not [one for one in headings.all_inner_texts() if one.startswith("GPU")]
        expect(page.get_by_role("tabpanel")).to_contain_text("No device activity")
        silent(watch)


@requires_traces
def test_eight_ranks_on_one_axis(browser: Browser, tmp_path: Path) -> None:
    """All of them through the menu, each with its process and its GPU, hits counted over all."""
    shutil.copytree(TRACES / "dlrm_8rank_v100", tmp_path / "log" / "dlrm")
    with standalone(tmp_path / "log", tmp_path) as server:
        server.wait_ready(spans=8)
        with trace(browser, server, "view=timeline") as (page, watch):
            menu = page.get_by_role("button", name=re.compile("^Workers .* in this timeline$"))
            one = int(search(page, "nccl").split()[0])
            page.locator(".tl-canvas").focus()
            menu.click()
            for box in page.get_by_role("checkbox").all():
                box.check()
            page.keyboard.press("Escape")
            expect(menu).to_contain_text("8 of 8")
            expect(page.get_by_text(re.compile("is prepared|is asked for"))).to_have_count(0)
            drawn(page)
            assert len(values(page)["timeline.workers"].split(",")) == 7
            assert int(search(page, "nccl").split()[0].replace(",", "")) >= 7 * one
            silent(watch)


EVIL = "<img src=x onerror=\"document.title='owned'\">`${1}`\"'&amp;\u202e\u0007"


def test_hostile_names_are_text_and_break_nothing(browser: Browser, tmp_path: Path) -> None:
    run = tmp_path / "log" / "run"
    run.mkdir(parents=True)
    at = {"ph": "X", "pid": EVIL, "tid": EVIL, "ts": 0, "dur": 100}
    events = [
        {**at, "cat": "user_annotation", "name": "ProfilerStep#1"},
        {**at, "cat": "cpu_op", "name": EVIL * 2000, "dur": 80, "args": {EVIL: EVIL * 2000}},
        {**at, "cat": "cpu_op", "name": "", "ts": 85, "dur": 5},
    ]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events})
    (run / "worker.pt.trace.json").write_text(text)
    with standalone(tmp_path / "log", tmp_path) as server:
        server.wait_ready()
        with trace(browser, server, "view=timeline") as (page, watch):
            search(page, "img")
            page.keyboard.press("Enter")
            expect(details(page)).to_contain_text("onerror")
            page.wait_for_timeout(500)
            assert page.title() != "owned"
            assert page.locator("img").count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= 1440
            assert "\u202e" not in page.locator("body").inner_text()
            silent(watch)


@pytest.fixture(scope="module")
def v100(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The ResNet-50 of the tutorial, recorded on a V100."""
    logdir = tmp_path_factory.mktemp("v100") / "log"
    shutil.copytree(V100, logdir / "resnet50")
    with standalone(logdir, tmp_path_factory.mktemp("v100server")) as server:
        server.wait_ready()
        yield server


@requires_traces
def test_the_tutorial_walk(browser: Browser, v100: Server) -> None:
    """Loader slices, the idle GPU below them, backward to forward, launch to kernel and back."""
    with trace(browser, v100, "view=timeline") as (page, watch):
        side = details(page)
        # The step waits for its batch …
        assert search(page, "enumerate(DataLoader)") == "6 hits"
        page.keyboard.press("Enter")
        expect(side).to_contain_text("_SingleProcessDataLoaderIter")
        # … and the GPU idles below it.
        page.keyboard.press("Escape")
        page.locator(".tl-canvas").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("r")
        page.get_by_role("tab", name="GPU busy and gaps").click()
        device = page.get_by_role("tabpanel").get_by_role("row").nth(1)
        expect(device).to_contain_text("Tesla V100")
        busy = device.get_by_role("cell").nth(2).inner_text()
        assert float(busy.split()[0].replace("<", "") or 0) < 5
        # A backward op leads to its forward op.
        search(page, "CudnnConvolutionBackward")
        page.keyboard.press("Enter")
        expect(side.get_by_role("heading", name="CudnnConvolutionBackward")).to_be_visible()
        side.locator(".tl-hop", has_text="forward op").get_by_role("button").click()
        expect(side.get_by_role("heading", name="aten::cudnn_convolution")).to_be_visible()
        # A launch leads to its kernel, and back.
        search(page, "cudaLaunchKernel")
        page.keyboard.press("Enter")
        expect(side.get_by_role("heading", name="cudaLaunchKernel")).to_be_visible()
        launch = settled(page, "timeline.select")
        page.keyboard.press("Escape")
        page.locator(".tl-canvas").focus()
        page.keyboard.press("]")
        settled(page, "timeline.select", lambda one: one not in ("", launch))
        expect(side).to_contain_text("Stream 7")
        page.keyboard.press("[")
        settled(page, "timeline.select", lambda one: one == launch)
        silent(watch)


@requires_traces
def test_the_overview_leads_to_the_loader(browser: Browser, v100: Server) -> None:
    with watched(browser) as (page, watch):
        page.goto(f"{v100.page}#view=overview")
        page.get_by_text("More", exact=True).first.click()
        link = page.get_by_role("link", name="The loader in the trace", exact=True)
        link.click()
        drawn(page)
        expect(details(page)).to_contain_text("_SingleProcessDataLoaderIter")
        assert values(page)["timeline.find"] == "enumerate(Data"
        silent(watch)
