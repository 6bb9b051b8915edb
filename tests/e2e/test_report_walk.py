"""Every view of a report says the same in Chromium, Firefox and WebKit, and nothing is wrong in it.

``KINETOSCOPE_REPORTS`` names a folder of reports, which are walked beside that of the sample. Their
sizes and times until the first picture are printed: ``pytest -s``.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from kinetoscope.views import STEMS
from tests.conftest import ROOT

from . import test_firefox, test_webkit
from .accessibility import complaints
from .browser import watched
from .test_webkit import WebKit, webkit  # noqa: F401  # a fixture

HERE = Path(__file__).parent
FIGURES = (HERE / "figures.js").read_text().partition("*/")[2].strip().rstrip(";")
LAYOUT = (HERE / "layout.js").read_text()
FOLDER = os.environ.get("KINETOSCOPE_REPORTS")
OTHERS = sorted(Path(FOLDER).glob("*.html")) if FOLDER else []
WIDTHS = (1440, 1000, 700)

Said = Mapping[str, Sequence[str]]
"""View → its headings and rows."""


@pytest.fixture(
    scope="module", params=[None, *OTHERS], ids=lambda one: one.stem if one else "sample"
)
def report(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param or request.getfixturevalue("report_file")
    return path


@pytest.fixture(scope="module")
def said(report: Path, browser: Browser) -> Said:
    """What Chromium shows, without a network."""
    found = {}
    with watched(browser) as (page, watch):
        page.context.set_offline(True)
        for stem in STEMS:
            page.goto("about:blank")
            began = time.monotonic()
            page.goto(f"{report.as_uri()}#view={stem}")
            page.locator("main h1, main h2").first.wait_for()
            first = time.monotonic() - began
            if stem == STEMS[0]:
                print(f"\n{report.stem}: {report.stat().st_size:,} bytes, {first:.2f} s")  # noqa: T201
            before = None
            for _ in range(240):
                page.wait_for_timeout(500)
                now = page.evaluate(FIGURES)
                if now is not None and now == before:
                    break
                before = now
            found[stem] = before or ()
        assert (watch.console, watch.foreign, watch.failed) == ([], [], [])
    return found


def test_each_view_is_there(said: Said) -> None:
    for stem, lines in said.items():
        assert lines, stem
        assert stem == "memory" or "missing" not in lines, stem  # its map of addresses


@pytest.mark.skipif(test_firefox.pytestmark.args[0], reason="needs Firefox, see test_firefox.py")
def test_firefox_says_the_same(report: Path, said: Said) -> None:
    command = [test_firefox.NODE, HERE / "firefox_walk.mjs", test_firefox.FIREFOX]
    addresses = [f"{report.as_uri()}#view={stem}" for stem in said]
    run = subprocess.run(
        [*map(str, command), str(HERE / "figures.js"), *addresses],
        cwd=ROOT, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout.splitlines()[-1])
    assert seen["complaints"] == []
    assert dict(zip(said, seen["figures"], strict=True)) == dict(said)


@pytest.mark.skipif(test_webkit.pytestmark.args[0], reason="needs WebKit, see test_webkit.py")
def test_webkit_says_the_same(report: Path, said: Said, webkit: WebKit) -> None:  # noqa: F811
    for stem, wanted in said.items():
        webkit.post("/url", url="about:blank")
        webkit.open(f"{report.as_uri()}#view={stem}")
        before = None
        for _ in range(240):
            time.sleep(0.5)  # it must say the same twice
            now = webkit.run(f"return ({FIGURES})()")
            if now is not None and now == before:
                break
            before = now
        assert before == wanted, stem
        assert webkit.run("return wrong") == [], stem


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overlaps_and_nobody_is_left_out(
    report: Path, browser: Browser, said: Said, width: int, dark: bool
) -> None:
    with watched(browser, width=width, dark=dark) as (page, _):
        for stem in said:
            page.goto("about:blank")
            page.goto(f"{report.as_uri()}#view={stem}")
            page.locator("main h1, main h2").first.wait_for()
            page.wait_for_function(f"() => ({FIGURES})() !== null")
            page.wait_for_timeout(300)
            assert page.evaluate(LAYOUT) == [], stem
            if width == WIDTHS[0]:
                assert complaints(page) == [], stem
