"""The page in Debian's WebKit, which Safari is: views, popovers, dark, a drag on the timeline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_for

from .servers import Server, free_port, get_json

DRIVER = shutil.which("WebKitWebDriver")
BROWSERS = sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))
DISPLAY = shutil.which("Xvfb")

pytestmark = pytest.mark.skipif(
    DRIVER is None or not BROWSERS or DISPLAY is None,
    reason="needs WebKitWebDriver, MiniBrowser and Xvfb: packages webkit2gtk-driver and xvfb",
)

# How WebDriver writes keys that have no character.
CONTROL, ESCAPE = "\ue009", "\ue00c"
# From here on, what goes wrong is remembered.
LISTEN = """
    window.wrong = [];
    addEventListener("error", (event) => wrong.push(event.message));
    addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
    console.error = (...words) => wrong.push(words.join(" "));
"""
# Whether an element is seen: of some size, in the window, and not under another one.
SEEN = """
    const element = document.querySelector(arguments[0]);
    if (element === null) return false;
    const { x, y, width, height } = element.getBoundingClientRect();
    const inside = x >= 0 && y >= 0 && x + width <= innerWidth && y + height <= innerHeight;
    const hit = document.elementFromPoint(x + width / 2, y + height / 2);
    return inside && width > 0 && height > 0 && element.contains(hit);
"""


class WebKit:
    """A session of WebDriver (https://www.w3.org/TR/webdriver2/), over plain HTTP."""

    def __init__(self, driver: str) -> None:
        options = {"binary": str(BROWSERS[-1]), "args": ["--automation"]}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        self.address = f"{driver}/session"
        session = self.post("", capabilities=wanted)["sessionId"]
        self.address += f"/{session}"
        self.post("/window/rect", x=0, y=0, width=1440, height=940)

    def post(self, command: str, **body: Any) -> Any:
        return self._ask("POST", command, json.dumps(body).encode())

    def close(self) -> None:
        self._ask("DELETE", "", None)

    def _ask(self, method: str, command: str, body: bytes | None) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(  # noqa: S310 (our own driver)
            self.address + command, body, headers, method=method
        )
        with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310
            return json.load(answer)["value"]

    def open(self, address: str) -> None:
        self.post("/url", url=address)
        self.run(LISTEN)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.post("/execute/sync", script=script, args=arguments)

    def until(self, expression: str) -> Any:
        """The first true value of an expression in the page."""
        until = time.monotonic() + 60
        while not (value := self.run(f"return {expression}")):
            assert time.monotonic() < until, f"never true: {expression}"
            time.sleep(0.1)  # what runs in the page must get on meanwhile
        return value

    def sees(self, selector: str) -> bool:
        return bool(self.run(SEEN, selector))

    def click(self, selector: str) -> None:
        self.until(f"document.querySelector({json.dumps(selector)}) !== null")
        found = self.post("/element", using="css selector", value=selector)
        (element,) = found.values()
        self.post(f"/element/{element}/click")

    def press(self, *keys: str) -> None:
        """Keys pressed one after the other, all held until the last."""
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.post("/actions", actions=[{"type": "key", "id": "keys", "actions": down + up}])

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        moves = [
            {"type": "pointerMove", "x": start[0], "y": start[1], "duration": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "x": end[0], "y": end[1], "duration": 200},
            {"type": "pointerUp", "button": 0},
        ]
        self.post("/actions", actions=[{"type": "pointer", "id": "mouse", "actions": moves}])


@pytest.fixture(scope="module")
def webkit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebKit]:
    """A browser on a display of its own."""
    path = tmp_path_factory.mktemp("webkit") / "log"
    told, tells = os.pipe()
    screen = [str(DISPLAY), "-displayfd", str(tells), "-screen", "0", "1440x940x24"]
    with (
        path.open("wb") as log,
        os.fdopen(told) as numbers,
        subprocess.Popen(screen, pass_fds=[tells], stdout=log, stderr=log) as display,
    ):
        os.close(tells)
        try:
            number = numbers.readline().strip()
            assert number, f"Xvfb did not start:\n{path.read_text()}"
            # Without a graphics card the compositor costs seconds a frame.
            settings = {"DISPLAY": f":{number}", "WEBKIT_DISABLE_COMPOSITING_MODE": "1"}
            port = free_port()
            command = [str(DRIVER), f"--port={port}"]
            with subprocess.Popen(
                command, env={**os.environ, **settings}, stdout=log, stderr=log
            ) as driver:
                try:
                    yield from session(f"http://127.0.0.1:{port}")
                finally:
                    driver.terminate()
        finally:
            display.terminate()


def session(driver: str) -> Iterator[WebKit]:
    """A browser of a driver that has just been started."""
    wait_for(lambda: listens(driver))
    browser = WebKit(driver)
    try:
        yield browser
    finally:
        browser.close()


def listens(driver: str) -> bool:
    try:
        return bool(get_json(f"{driver}/status"))
    except OSError:
        return False


def test_every_view_opens(webkit: WebKit, served: Server) -> None:
    webkit.open(f"{served.page}#run=train_cpu&view=overview")
    headline = webkit.until("document.querySelector('h1')?.textContent")
    assert "DataLoader" in headline
    for view in ("operators", "kernels", "timeline", "health", "overview"):
        webkit.click(f"a.tab[href*='view={view}']")
        webkit.until(f"location.hash.includes('view={view}')")
        webkit.until("document.querySelector('[aria-busy=true], .skeleton') === null")
        assert webkit.until("document.querySelector('h1')?.textContent")
        assert webkit.run("return document.querySelector('[role=alert]')?.textContent") is None
    assert webkit.run("return wrong") == []


def test_popovers_lie_on_top_and_close(webkit: WebKit, served: Server) -> None:
    webkit.open(f"{served.page}#run=train_cpu&view=overview")
    webkit.until("document.querySelector('h1')")
    for kind in ("listbox", "dialog"):
        webkit.click(f"header [aria-haspopup={kind}]")
        webkit.until("document.querySelector('.menu:popover-open')")
        assert webkit.sees(".menu")
        webkit.press(ESCAPE)
        webkit.until("document.querySelector('.menu') === null")
    webkit.press(CONTROL, "k")
    webkit.until("document.querySelector('dialog[open] input') === document.activeElement")
    webkit.press("c")
    webkit.until("document.querySelector('dialog .option')")
    assert webkit.sees("dialog")
    # Safari keeps the key for the search field, unless the dialog asks for it.
    webkit.press(ESCAPE)
    webkit.until("document.querySelector('dialog') === null")
    assert webkit.run("return wrong") == []


def test_dark_and_light(webkit: WebKit, served: Server) -> None:
    webkit.open(f"{served.page}#run=train_cpu&view=overview")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = webkit.until(ground)
    webkit.click("[aria-label='Use the dark theme']")
    dark = webkit.until(f"{ground} !== {json.dumps(light)} && {ground}")
    assert brightness(dark) < 80
    assert brightness(light) > 200
    webkit.click("[aria-label='Use the light theme']")
    webkit.until(f"{ground} === {json.dumps(light)}")
    assert webkit.run("return wrong") == []


def brightness(color: str) -> float:
    """Of ``rgb(255, 255, 255)``: the mean of its parts."""
    parts = color.partition("(")[2].rstrip(")").split(",")[:3]
    return sum(map(float, parts)) / 3


def test_a_drag_on_the_timeline_is_summed_up(webkit: WebKit, served: Server) -> None:
    webkit.open(f"{served.page}#run=train_cpu&view=timeline")
    webkit.until("/\"tiles\":[1-9]/.test(document.querySelector('.tl-canvas')?.dataset.stats)")
    box = webkit.run("return document.querySelector('.tl-canvas').getBoundingClientRect().toJSON()")
    assert box["height"] > 500, "the tracks fill the window"
    x, y = round(box["x"]), round(box["y"])
    webkit.drag((x + 200, y + 40), (x + 500, y + 80))
    webkit.until("location.hash.includes('timeline.area=')")
    heading = "document.querySelector('[aria-label=Area] h2')"
    webkit.until(f"/[1-9][0-9]*.slices/.test({heading}?.textContent)")
    webkit.until("document.querySelectorAll('[aria-label=Area] [role=tab]').length > 3")
    assert webkit.run("return wrong") == []


def test_a_report_from_a_file(webkit: WebKit, report_file: Path) -> None:
    webkit.open(f"{report_file.as_uri()}#view=overview")
    assert "DataLoader" in webkit.until("document.querySelector('h1')?.textContent")
    webkit.run("location.hash = 'view=timeline'")
    webkit.until("document.querySelector('canvas') !== null")
    assert webkit.run("return wrong") == []
