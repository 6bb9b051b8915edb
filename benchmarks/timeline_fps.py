"""How smoothly the Trace view moves in a real browser, on the reference trace.

    python -m benchmarks.timeline_fps [--trace FILE] [--slices 1000000] [--keep]

Chromium without a screen and without a graphics card opens the view from a server that has read the
trace before. Keys are held for ten seconds: in, along, back, out. Frames are counted by the page
itself, with tasks that kept its thread busy for more than 50 ms, and held against an empty page in
the same browser. CPU time per frame is that of the page's main thread and does not depend on what
else the machine does. Memory is that of the process that holds the page, private pages alone.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import psutil
from playwright.sync_api import Browser, CDPSession, Page, ViewportSize, sync_playwright

from benchmarks import _corpus, _results
from benchmarks._server import linked, server
from benchmarks._viewports import percentile
from benchmarks.tiles import Reader, reference

FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
SIZE: ViewportSize = {"width": 1600, "height": 972}
MOVES = (("w", 2.0), ("d", 1.5), ("a", 1.5), ("s", 1.0), ("w", 1.0), ("d", 1.0), ("s", 2.0))
SETTLE_SECONDS = 2.0
WINDOW_SECONDS = 4.0
OPEN_SECONDS = 120

WATCH = """
window.watched = { frames: [], tasks: [], recording: false };
new PerformanceObserver((list) => {
  if (window.watched.recording) {
    window.watched.tasks.push(...list.getEntries().map((task) => task.duration));
  }
}).observe({ type: "longtask" });
requestAnimationFrame(function tick(now) {
  if (window.watched.recording) {
    window.watched.frames.push(now);
  }
  requestAnimationFrame(tick);
});
"""

TWO_FRAMES = """
() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
"""


def chromium_path() -> str | None:
    """Chromium of this machine: the environment's choice, else the first on PATH."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chosen = os.environ.get("KINETOSCOPE_CHROMIUM")
    return chosen or next(filter(None, map(shutil.which, names)), None)


@contextmanager
def chromium(executable: str) -> Iterator[Browser]:
    """A browser that ends with the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def opened(browser: Browser, address: str) -> tuple[Page, float]:
    """The page once its canvas has drawn tiles, and the seconds from the address to there."""
    page = browser.new_page(viewport=SIZE)
    page.add_init_script(WATCH)
    # A new window loads pages of the browser's own, for seconds and on every core.
    page.goto("about:blank")
    time.sleep(WINDOW_SECONDS)
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    # The canvas says so itself when it has tiles.
    page.wait_for_selector(".tl-canvas[data-stats]", timeout=OPEN_SECONDS * 1000)
    page.evaluate(TWO_FRAMES)
    return page, time.perf_counter() - began


def moved(page: Page) -> dict[str, float]:
    """Frames and long tasks while keys are held.

    Raises:
        RuntimeError: the picture is the same as before: nothing moved.
    """
    canvas = page.locator("canvas").first
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.4)
    canvas.focus()
    time.sleep(SETTLE_SECONDS)
    before = page.screenshot()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    cpu = main_thread_seconds(session)
    found = watched(page, partial(hold, page))
    cpu = main_thread_seconds(session) - cpu
    if page.screenshot() == before:
        raise RuntimeError("the keys moved nothing")
    return {**found, "frame_cpu_ms": 1000 * cpu / found["frames"]}


def hold(page: Page) -> None:
    """Holds one key after the other."""
    for key, seconds in MOVES:
        page.keyboard.down(key)
        time.sleep(seconds)
        page.keyboard.up(key)


def watched(page: Page, act: Callable[[], None]) -> dict[str, float]:
    """Frames and long tasks of a page during ``act``."""
    page.evaluate("() => { window.watched.recording = true; }")
    act()
    seen = page.evaluate("() => { window.watched.recording = false; return window.watched; }")
    frames: list[float] = seen["frames"]
    tasks: list[float] = seen["tasks"]
    apart = [later - sooner for sooner, later in pairwise(frames)]
    return {
        "frames": len(frames),
        "fps": 1000 / statistics.median(apart),
        "fps_mean": 1000 * len(apart) / (frames[-1] - frames[0]),
        "frame_ms_p95": percentile(apart, 0.95),
        "tasks_over_50ms": sum(task > 50 for task in tasks),
        "tasks_over_100ms": sum(task > 100 for task in tasks),
        "longest_task_ms": max(tasks, default=0.0),
    }


def in_firefox(address: str) -> dict[str, float]:
    """Frames of the stock Firefox under the same keys; empty where it cannot be driven."""
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    node = shutil.which("node")
    script = Path(__file__).with_name("firefox_frames.mjs")
    if not (firefox and node and (_corpus.ROOT / "node_modules" / "puppeteer-core").is_dir()):
        return {}
    done = subprocess.run(
        [node, str(script), firefox, address, json.dumps(MOVES)],
        capture_output=True,
        text=True,
        check=True,
    )
    apart = [later - sooner for sooner, later in pairwise(json.loads(done.stdout))]
    return {
        "firefox_fps": 1000 / statistics.median(apart),
        "firefox_frame_ms_p95": percentile(apart, 0.95),
    }


def main_thread_seconds(session: CDPSession) -> float:
    """CPU seconds of the tasks of the page's main thread so far."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def of_an_empty_page(browser: Browser) -> dict[str, float]:
    """What the same browser makes of a page that draws nothing."""
    page = browser.new_page(viewport=SIZE)
    page.add_init_script(WATCH)
    page.goto("data:text/html,<p>empty")
    found = watched(page, lambda: time.sleep(3))
    page.close()
    return {"empty_fps": found["fps"], "empty_frame_ms_p95": found["frame_ms_p95"]}


def private_bytes(browser: Browser) -> int:
    """Private memory of the largest process that holds a page."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    pages = [int(one["id"]) for one in processes if one["type"] == "renderer"]
    return max(int(psutil.Process(pid).memory_full_info().uss) for pid in pages)


def figures(trace: Path, executable: str) -> dict[str, float]:
    """Everything that is measured in the browser."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        logdir, cache = folder / "log", folder / "cache"
        linked(logdir, "run", trace)
        with server(logdir, cache) as first:
            (span,) = first.spans()
            Reader(first, span)
        with server(logdir, cache) as again, chromium(executable) as browser:
            again.spans()
            address = f"{again.page}#view=timeline"
            page, seconds = opened(browser, address)
            found = {"interactive": seconds, **moved(page), "page_bytes": private_bytes(browser)}
            page.close()
            return found | of_an_empty_page(browser) | in_firefox(address)


@click.command()
@click.option("--trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--slices", default=1_000_000, show_default=True, help="Of the reference trace.")
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(trace: Path | None, slices: int, folder: Path, keep: bool) -> None:
    """Move through the Trace view and count frames."""
    executable = chromium_path()
    try:
        if executable is None:
            raise _corpus.AbsentError("there is no Chromium on PATH (or in KINETOSCOPE_CHROMIUM)")
        found: dict[str, Any] = dict(figures(trace or reference(slices, folder), executable))
    except _corpus.AbsentError as absent:
        click.echo(f"not measured, because {absent}")
        found = {"fps": str(absent)}
    else:
        for name, figure in found.items():
            click.echo(f"  {name:<20}{figure:>16,.4g}")
    if keep:
        _results.keep(f"timeline_fps/{slices}", found)


if __name__ == "__main__":
    main()
