"""Two starts of one job in a folder: what the pickers say, and what an older address shows."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from .browser import watched
from .conftest import SAMPLES
from .servers import standalone

FIRST_S, SECOND_S = 1_795_291_671, 1_795_291_971  # five minutes apart


def twice(run: Path) -> None:
    """The two ranks of a sample, started twice; the names of the second start sort first."""
    run.mkdir(parents=True)
    for start, saved in ((900, FIRST_S), (100, SECOND_S)):
        for rank in (0, 1):
            (source,) = (SAMPLES / "train_ddp_cpu").glob(f"rank{rank}.*")
            text = gzip.decompress(source.read_bytes()).decode()
            pid = json.loads(text)["kinetoscope"]["pid"]
            text, count = re.subn(rf'("pid": ){pid}\b', rf"\g<1>{start + rank}", text)
            assert count > 100, "its events have the process, too"
            name = f"gpu1_{start + rank}_rank{rank}.{saved}{rank:09d}.pt.trace.json.gz"
            (run / name).write_bytes(gzip.compress(text.encode(), 1))


def worker_button(page: Page) -> str:
    return page.get_by_role("button", name=re.compile(r"^Worker ")).first.inner_text()


def test_the_newest_start_is_shown_and_an_older_one_can_be_chosen(
    browser: Browser, tmp_path: Path
) -> None:
    twice(tmp_path / "log" / "job")
    with standalone(tmp_path / "log", tmp_path) as server:
        server.wait_ready(spans=4)
        with watched(browser) as (page, watch):
            page.goto(f"{server.page}#view=distributed")
            expect(page.locator("h1")).to_be_visible()
            assert "gpu1_100_rank0" in worker_button(page)
            assert re.search(r"start 2 of 2, \d\d:\d\d", worker_button(page))
            main = page.get_by_role("main")
            expect(main).to_contain_text("gpu1_101_rank1")
            expect(main).not_to_contain_text("gpu1_90")

            page.get_by_role("button", name=re.compile(r"^Worker ")).first.click()
            options = page.get_by_role("option").filter(has_text="gpu1_")
            starts = [re.search(r"start \d of 2", o.inner_text()) for o in options.all()]
            assert [found and found[0] for found in starts] == [
                "start 2 of 2", "start 2 of 2", "start 1 of 2", "start 1 of 2",
            ]  # fmt: skip
            options.filter(has_text="gpu1_901_rank1").click()
            expect(main).to_contain_text("gpu1_900_rank0")
            expect(main).not_to_contain_text("gpu1_10")
            assert "start 1 of 2" in worker_button(page)
            older = page.url

            page.goto("about:blank")
            page.goto(older)
            expect(main).to_contain_text("gpu1_900_rank0")
            assert "gpu1_901_rank1" in worker_button(page)
            page.screenshot(path=str(tmp_path / "older.png"))
            assert (watch.console, watch.foreign, watch.failed) == ([], [], [])
