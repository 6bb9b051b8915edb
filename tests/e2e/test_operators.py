"""The Operator and Kernel views in a real browser: tables, rows, flame graph, source lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from .accessibility import complaints
from .browser import watched
from .servers import Server, standalone
from .test_page import silent, static_site

EVIL = "<img src=x onerror=\"document.title='owned'\">"
HOSTILE = (
    EVIL,
    "\u202ereversed\u202c \u0000\u0007\n\ttabs",
    "n" * 100_000,
    '";alert(1);//',
    "__proto__",
)


def event(name: str, category: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    place = {"pid": 0, "tid": 7} if category == "kernel" else {"pid": 9, "tid": 9}
    return {
        "ph": "X", "cat": category, "name": name, "ts": ts, "dur": dur, **place, "args": args,
    }  # fmt: skip


def trace_of(events: list[dict[str, Any]], **metadata: Any) -> str:
    return json.dumps({
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 1 << 34}],
        **metadata,
        "traceEvents": events,
    })  # fmt: skip


def hostile_trace() -> str:
    events = []
    for at, name in enumerate(HOSTILE):
        ts = 100 * at
        events += [
            event(f"{name}.py(1): f", "python_function", ts, 90),
            event(name, "cpu_op", ts + 5, 80, **{"Input Dims": [[2, 3]], "External id": at + 1}),
            event("cudaLaunchKernel", "cuda_runtime", ts + 10, 5, correlation=at + 1),
            event(name, "kernel", ts + 20, 30, device=0, stream=7, correlation=at + 1),
        ]
    return trace_of(events)


def put(tmp_path: Path, text: str) -> Path:
    run = tmp_path / "log" / "run"
    run.mkdir(parents=True)
    (run / "worker0.pt.trace.json").write_text(text, encoding="utf-8")
    return tmp_path / "log"


def opened(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".dt-row").first).to_be_visible()


def test_a_table_is_sorted_searched_and_opened(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, watch):
        opened(page, f"{served.page}#view=operators")
        page.get_by_role("button", name="Calls").click()
        expect(page.locator("th[aria-sort=descending]")).to_contain_text("Calls")
        calls = page.locator(".dt-cells > td:nth-child(2)").all_inner_texts()
        numbers = [int(text.replace(",", "")) for text in calls[:8]]
        assert numbers == sorted(numbers, reverse=True)
        page.get_by_label("Filter by name").fill("aten::addmm")
        expect(page.locator(".dt-cells").first).to_contain_text("aten::addmm")
        page.locator(".dt-cells[data-row]").first.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Slowest calls")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("region", name="Slowest calls")).to_have_count(0)
        silent(watch)


def test_the_address_brings_the_same_view_back(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, watch):
        address = f"{served.page}#view=operators&operators.group=module&operators.search=aten"
        opened(page, address)
        expect(page.get_by_label("Filter by name")).to_have_value("aten")
        expect(page.get_by_role("radio", name="Module")).to_be_checked()
        silent(watch)


def test_the_flame_graph_is_walked_by_keyboard(browser: Browser, served: Server) -> None:
    with watched(browser) as (page, watch):
        page.goto(f"{served.page}#view=operators&operators.mode=flame")
        graph = page.get_by_role("application", name="Flame graph")
        expect(graph).to_be_visible()
        graph.focus()
        page.keyboard.press("ArrowDown")
        words = page.locator(".flame-words")
        expect(words).to_contain_text("self")
        expect(page.get_by_role("region", name="Callers")).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Show all")).to_be_visible()
        graph.focus()
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Show all")).to_have_count(0)
        page.keyboard.press("/")
        expect(page.get_by_label("Highlight by name")).to_be_focused()
        silent(watch)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("mode", ["table", "flame"])
def test_axe_has_nothing_to_say(browser: Browser, served: Server, mode: str, dark: bool) -> None:
    with watched(browser, dark=dark) as (page, _):
        page.goto(f"{served.page}#view=operators&operators.mode={mode}")
        expect(page.locator(".dt-row, .flame-scroll").first).to_be_visible()
        page.wait_for_timeout(500)
        assert complaints(page) == []


def test_hostile_names_are_text_everywhere(browser: Browser, tmp_path: Path) -> None:
    with standalone(put(tmp_path, hostile_trace()), tmp_path) as server:
        server.wait_ready()
        with watched(browser) as (page, watch):
            for fragment in (
                "operators",
                "operators&operators.kinds=module,python",
                "operators&operators.group=stack",
                "kernels",
                "kernels&kernels.group=properties",
            ):
                opened(page, f"{server.page}#view={fragment}")
                page.wait_for_timeout(500)
                page.locator(".dt-cells[data-row]").first.click()
                expect(page.locator(".dt-detail")).to_be_visible()
                page.wait_for_timeout(200)
                safe(page)
            page.goto(f"{server.page}#view=operators&operators.mode=flame")
            expect(page.get_by_role("application", name="Flame graph")).to_be_visible()
            safe(page)
            silent(watch)


def test_a_name_of_any_length_is_found(browser: Browser, tmp_path: Path) -> None:
    """Names of kernels are longer than a thousand characters; a click on a bar searches for one."""
    with standalone(put(tmp_path, hostile_trace()), tmp_path) as server:
        server.wait_ready()
        with watched(browser) as (page, watch):
            opened(page, f"{server.page}#view=operators")
            page.get_by_role("button", name="nnnnn").first.click()
            expect(page.locator(".dt-cells[data-row]")).to_have_count(1)
            page.locator(".dt-cells[data-row]").click()
            page.get_by_role("link", name="Find all in Trace").click()
            expect(page.get_by_role("combobox", name="Search all names")).to_have_value("n" * 4000)
            # It says "3 hits", and "1 of 3" as soon as the view has gone to the first.
            found = re.compile("3.slices of 2.names")
            expect(page.get_by_role("status", name=found)).to_be_visible()
            opened(page, f"{server.page}#view=kernels")
            page.get_by_label("Filter by kernel name").fill("n" * 90_000)
            expect(page.locator(".dt-cells[data-row]")).to_have_count(1)
            silent(watch)


def test_a_hundred_thousand_rows_are_scrolled_in_windows(browser: Browser, tmp_path: Path) -> None:
    events = [event(f"op_{at:06}", "cpu_op", 10 * at, 5) for at in range(100_000)]
    with standalone(put(tmp_path, trace_of(events)), tmp_path) as server:
        server.wait_ready()
        with watched(browser) as (page, watch):
            opened(page, f"{server.page}#view=operators&operators.sort=name&operators.up=1")
            scroll = page.locator(".dt-scroll")
            for share, name in ((0.5, "op_05"), (1.0, "op_099999"), (0.0, "op_000000")):
                scroll.evaluate("(box, share) => box.scrollTo(0, share * box.scrollHeight)", share)
                expect(page.locator(".dt-cells[data-row]", has_text=name).first).to_be_visible()
                assert page.locator(".dt-row").count() < 120
            silent(watch)


def safe(page: Page) -> None:
    assert page.title() != "owned"
    assert page.locator("img[src=x]").count() == 0
    # A name of 100,000 characters widens nothing.
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# --- VS Code -----------------------------------------------------------------------------------

RECEIVER = """
<!doctype html><script>
  window.taken = [];
  addEventListener("message", (event) => {
    const {filename, line} = event.data ?? {};
    if (SERVER.startsWith(event.origin) && filename && line) taken.push([filename, line]);
  });
</script><iframe width=1400 height=850 src="middle.html"
  sandbox="allow-scripts allow-forms allow-same-origin allow-pointer-lock"></iframe>
"""


def test_a_frame_opens_its_line_in_vs_code(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Webview > TensorBoard > plugin: the receiver takes what comes from the server's origin, an
    absolute name that exists, and a line counted from 0 that is not 0."""
    source = tmp_path / "source" / "sub"
    source.mkdir(parents=True)
    (source / "train.py").write_text("first\nsecond\n", encoding="utf-8")
    absolute = tmp_path / "source" / "absolute.py"
    absolute.write_text("first\n", encoding="utf-8")
    stack = ("sub/train.py(1): <module>", "sub/train.py(2): step", f"{absolute}(41): loss")
    events = [
        event(name, "python_function", 10 * at, 100 - 20 * at) for at, name in enumerate(stack)
    ]
    events.append(event("aten::mm", "cpu_op", 35, 10))
    text = trace_of(events, kinetoscope={"cwd": str(source.parent), "source_roots": []})
    monkeypatch.setenv("VSCODE_TENSORBOARD_LAUNCH", "1")
    site = tmp_path / "site"
    site.mkdir()
    with standalone(put(tmp_path, text), tmp_path) as server, static_site(site) as address:
        server.wait_ready()
        page_url = f"{server.page}#view=operators&operators.kinds=op"
        middle = f'<!doctype html><iframe width=1380 height=840 src="{page_url}"></iframe>'
        (site / "middle.html").write_text(middle, encoding="utf-8")
        receiver = RECEIVER.replace("SERVER", json.dumps(server.page))
        (site / "index.html").write_text(receiver, encoding="utf-8")
        with watched(browser) as (page, _):
            page.goto(address)
            frame = plugin_frame(page, server)
            frame.locator(".dt-cells[data-row]").first.click()
            frame.locator(".op-details summary").first.click()
            for at in range(3):
                frame.locator(".frames button").nth(at).click()
            page.wait_for_function("taken.length === 3")
            train = str(source / "train.py")
            assert page.evaluate("taken") == [[str(absolute), 40], [train, 1], [train, 1]]


def plugin_frame(page: Page, server: Server) -> Frame:
    """The innermost frame, once it shows its table."""
    for _ in range(300):
        for frame in page.frames:
            if frame.url.startswith(server.page) and frame.locator(".dt-row").count():
                return frame
        page.wait_for_timeout(100)
    raise AssertionError([frame.url for frame in page.frames])
