"""The page of the standalone server: hostile names, frames, proxies, accessibility."""

from __future__ import annotations

import base64
import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from playwright.sync_api import Browser, Page, expect

from .accessibility import complaints
from .browser import Watch, watched
from .servers import Server, standalone

EVIL = "<img src=x onerror=\"document.title='owned'\">`${1}`\"'&amp;"


def opened(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("h1")).to_be_visible()


def silent(watch: Watch) -> None:
    assert (watch.console, watch.foreign, watch.failed) == ([], [], [])


def hostile_trace() -> str:
    """One step with names that are markup; the device's name too."""
    at = {"ph": "X", "pid": 7, "tid": 7, "ts": 0, "dur": 100}
    kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 20, "dur": 50, "name": EVIL}
    return json.dumps({
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": EVIL, "totalGlobalMem": 1 << 34}],
        "host_name": EVIL,
        "traceEvents": [
            {**at, "cat": "user_annotation", "name": "ProfilerStep#1"},
            {**at, "cat": "cpu_op", "name": EVIL, "dur": 80},
            {**kernel, "args": {"device": 0, "stream": 7, "correlation": 1}},
        ],
    })  # fmt: skip


def test_names_from_a_trace_are_text(browser: Browser, tmp_path: Path) -> None:
    run = tmp_path / "log" / "<b>run</b>"
    run.mkdir(parents=True)
    (run / "<i>worker.pt.trace.json").write_text(hostile_trace())
    with standalone(tmp_path / "log", tmp_path) as server:
        server.wait_ready()
        with watched(browser) as (page, watch):
            for view in ("overview", "health"):
                opened(page, f"{server.page}#view={view}")
                expect(page.get_by_text("<b>run</b>").first).to_be_visible()
                page.wait_for_timeout(300)
                assert page.title() != "owned"
                assert page.locator("img[src=x], b > b, i > i").count() == 0
            silent(watch)


def test_a_refused_file_is_named_for_what_it_is(browser: Browser, tmp_path: Path) -> None:
    run = tmp_path / "log" / "run"
    run.mkdir(parents=True)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"
    (run / "worker0.pt.trace.json.gz").write_text(pointer)
    with standalone(tmp_path / "log", tmp_path) as server, watched(browser) as (page, _):
        page.goto(server.page)
        expect(page.get_by_text("Git LFS").first).to_be_visible()


def test_inside_a_sandboxed_frame(browser: Browser, served: Server) -> None:
    """As an editor embeds it: no popups and no downloads inside."""
    with watched(browser) as (page, watch):
        page.goto(served.page)
        page.evaluate(
            """url => {
                const frame = document.createElement("iframe");
                frame.sandbox = "allow-scripts allow-forms allow-same-origin allow-pointer-lock";
                Object.assign(frame, { src: url, width: 1300, height: 800 });
                document.body.replaceChildren(frame);
            }""",
            served.page,
        )
        expect(page.frame_locator("iframe").locator("h1")).to_be_visible()
        assert watch.foreign == []


def test_another_site_cannot_frame_it(browser: Browser, served: Server, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(f'<iframe src="{served.page}"></iframe>')
    with static_site(tmp_path) as address, watched(browser) as (page, _):
        page.goto(address)
        body = page.frame_locator("iframe").locator("body")
        expect(body).to_contain_text("refused to connect")


@contextmanager
def running(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server of the standard library, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def static_site(folder: Path) -> Iterator[str]:
    class Files(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with running(Files) as address:
        yield f"{address}/"


@contextmanager
def stripping_proxy(target: str, prefix: str) -> Iterator[str]:
    """A proxy that serves the target below a prefix the target knows nothing of."""

    class Forward(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(prefix + "/"):
                self.send_error(404)
                return
            try:
                inner = target + self.path[len(prefix) + 1 :]
                answer = urllib.request.urlopen(inner, timeout=60)  # noqa: S310 (our own server)
            except HTTPError as error:
                answer = error
            with answer:
                body = answer.read()
                self.send_response(answer.status or 500)
                for key in ("Content-Type", "Content-Security-Policy", "ETag"):
                    if answer.headers.get(key):
                        self.send_header(key, str(answer.headers[key]))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with running(Forward) as address:
        yield f"{address}{prefix}/"


def test_behind_a_proxy_that_strips_its_prefix(browser: Browser, served: Server) -> None:
    with (
        stripping_proxy(served.page, "/hub/user/me/proxy/6007") as address,
        watched(browser) as (page, watch),
    ):
        opened(page, address)
        silent(watch)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("view", ["overview", "health"])
def test_no_accessibility_violations(
    browser: Browser, served: Server, view: str, dark: bool
) -> None:
    with watched(browser, dark=dark) as (page, _):
        opened(page, f"{served.page}#run=train_cpu&view={view}")
        page.wait_for_timeout(800)
        assert complaints(page) == []


def test_steps_are_chosen_by_link_and_by_key(browser: Browser, served: Server) -> None:
    """Choosing one step changes the figures; Escape or the menu brings all back."""
    with watched(browser) as (page, watch):
        opened(page, f"{served.page}#run=train_cpu&steps=3")
        expect(page.get_by_text("1 of 6").first).to_be_visible()
        page.keyboard.press("]")
        page.wait_for_timeout(300)
        assert "steps=4" in page.url
        page.keyboard.press("g")
        page.keyboard.press("h")
        expect(page.get_by_text("Limits of this recording").first).to_be_visible()
        assert "steps=4" in page.url
        silent(watch)


def test_names_of_the_recording_are_found_and_views_open_by_title(
    browser: Browser, served: Server
) -> None:
    """From Ctrl K to the row of an operator; ``view=trace`` opens the timeline."""
    with watched(browser) as (page, watch):
        opened(page, f"{served.page}#run=train_cpu")
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill("aten::addmm")
        found = page.get_by_role("option").filter(has_text="aten::addmm")
        expect(found).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.locator(".op-details")).to_be_visible()
        assert "view=operators" in page.url
        page.goto(f"{served.page}#run=train_cpu&view=trace")
        expect(page.get_by_role("toolbar", name="Timeline")).to_be_visible()
        silent(watch)


COLOUR = "cell => getComputedStyle(cell).backgroundColor"


def test_a_cell_of_the_heat_map_keeps_its_colour_below_the_pointer(
    browser: Browser, served: Server
) -> None:
    """Also in a row of the table that rows of a plain table are marked in."""
    with watched(browser) as (page, watch):
        opened(page, f"{served.page}#run=train_ddp_cpu&view=distributed")
        cells = page.locator(".heat td[class*=ramp-]")
        expect(cells.first).to_be_visible()
        before = [cell.evaluate(COLOUR) for cell in cells.all()]
        assert len(set(before)) > 1
        for place in (0, len(before) - 1):
            cells.nth(place).hover()
            assert [cell.evaluate(COLOUR) for cell in cells.all()] == before
        silent(watch)


# The size of a picture, and how many of its colours are in a hundredth of it at least.
PICTURE = """async (base64) => {
  const image = new Image();
  image.src = `data:image/png;base64,${base64}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const large = [...counts.values()].filter((count) => count > pixels.length / 100);
  return [image.width, image.height, large.length, counts.size];
}"""


@pytest.mark.parametrize(
    ("view", "label", "least"),
    [
        ("overview", "Copy or save the step", 4),  # a chart: the background and three parts
        ("health", "Copy or save what this recording answers", 1),  # a table: words on one ground
        ("timeline&timeline.tab=flame", "Copy or save the boxes", 2),  # a canvas
    ],
)
def test_a_chart_and_a_table_are_saved_as_pictures_of_themselves(
    browser: Browser, served: Server, tmp_path: Path, view: str, label: str, least: int
) -> None:
    with watched(browser) as (page, watch):
        opened(page, f"{served.page}#run=train_cpu&view={view}")
        button = page.get_by_role("button", name=label)
        button.click()
        part = button.locator("xpath=ancestor::*[self::section or @role='region'][1]")
        box = part.bounding_box()
        assert box is not None
        with page.expect_download() as taken:
            page.get_by_role("menuitem", name="Save as PNG").click()
        taken.value.save_as(tmp_path / "part.png")
        picture = base64.b64encode((tmp_path / "part.png").read_bytes()).decode()
        width, height, large, colours = page.evaluate(PICTURE, picture)
        assert (width, height) == (
            pytest.approx(2 * box["width"], abs=2),
            pytest.approx(2 * box["height"], abs=2),
        )
        assert large >= least
        assert colours > 20  # letters have soft edges
        silent(watch)
