"""The Module view in a real browser: the tree, the icicle, the way to the timeline, odd names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from .accessibility import complaints
from .browser import watched
from .servers import Server, standalone
from .test_operators import HOSTILE, event, opened, put, trace_of
from .test_page import silent

BLOCKS = 12


def frame(name: str, ts: float, dur: float) -> dict[str, Any]:
    return event(f"nn.Module: {name}", "python_function", ts, dur, **{"Python module id": 0})


def model() -> Iterator[dict[str, Any]]:
    """Blocks of equal structure, the last of them slow, and modules with names that attack."""
    yield frame("Net_0", 0, 10_000)
    names = [f"Block_{at}" for at in range(BLOCKS)] + [f"{name}_0" for name in HOSTILE]
    for at, name in enumerate(names):
        ts = 10 + 300 * at
        yield frame(name, ts, 200)
        yield frame(f"Linear_{at}", ts + 10, 150)
        yield event("aten::mm", "cpu_op", ts + 20, 100)
        yield event("cudaLaunchKernel", "cuda_runtime", ts + 30, 5, correlation=at + 1)
        dur = 90 if at == BLOCKS - 1 else 10
        yield event("gemm", "kernel", ts + 60, dur, device=0, stream=7, correlation=at + 1)


@pytest.fixture(name="modules", scope="module")
def served_modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("modules")
    with standalone(put(folder, trace_of([*model()])), folder) as server:
        server.wait_ready()
        yield server


def test_blocks_open_and_lead_to_the_timeline(browser: Browser, modules: Server) -> None:
    with watched(browser) as (page, watch):
        opened(page, f"{modules.page}#view=module")
        blocks = page.get_by_role("row", name=f"× {BLOCKS}")
        expect(blocks).to_contain_text("outlier Block_11")
        blocks.focus()
        page.keyboard.press("ArrowRight")
        slow = page.get_by_role("row", name="Block_11", exact=False).nth(1)
        expect(slow).to_be_visible()
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".dt-row", has_text="Block_3")).to_have_count(0)
        page.get_by_label("Filter modules").fill("linear_11")
        expect(blocks).to_be_visible()
        page.get_by_role("link", name="Net_0").first.click()
        expect(page.locator(".tl-canvas")).to_be_visible()
        expect(page.get_by_text("nn.Module: Net_0").first).to_be_visible()
        silent(watch)


def test_the_icicle_is_walked_by_keyboard(browser: Browser, modules: Server) -> None:
    with watched(browser) as (page, watch):
        page.goto(f"{modules.page}#view=modules")
        graph = page.get_by_role("application", name="Flame graph")
        expect(graph).to_be_visible()
        graph.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".module-chosen")).to_contain_text("Call tree in Trace")
        silent(watch)


@pytest.mark.parametrize("dark", [False, True])
def test_axe_has_nothing_to_say(browser: Browser, modules: Server, dark: bool) -> None:
    with watched(browser, dark=dark) as (page, _):
        opened(page, f"{modules.page}#view=modules&modules.hide=none&modules.fold=0")
        page.wait_for_timeout(500)
        assert complaints(page) == []


def test_names_are_text_everywhere(browser: Browser, modules: Server) -> None:
    with watched(browser) as (page, watch):
        opened(page, f"{modules.page}#view=modules&modules.fold=0")
        expect(page.locator("main img")).to_have_count(0)
        assert page.title() != "owned"
        silent(watch)
