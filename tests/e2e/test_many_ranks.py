"""Distributed over many ranks, from an empty cache: an answer that takes long still arrives."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from benchmarks.many_ranks import draw
from playwright.sync_api import Browser, Response, expect

from .browser import watched
from .servers import get_json, standalone

RANKS = 32
SLOW = """
import time
from kinetoscope.cli.entry import main
from kinetoscope.views import compared

compare = compared._comparisons._make

def slowly(digests, labels, ranks, on_stage):
    def stage(done, total):
        on_stage(done, total)
        time.sleep(0.7)
    return compare(digests, labels, ranks, stage)

compared._comparisons._make = slowly
main()
"""
"""A server that compares for six seconds: much longer than the page waits before it asks again."""


def test_a_comparison_that_takes_long_arrives(browser: Browser, tmp_path: Path) -> None:
    logdir = tmp_path / "log"
    draw(logdir / "run", RANKS, steps=2)
    ingest = [sys.executable, "-m", "kinetoscope.cli", "ingest", str(logdir), "--cache", "beside"]
    subprocess.run(ingest, check=True, capture_output=True)
    answers: list[Response] = []
    aborted: list[str] = []
    with standalone(logdir, tmp_path, program=("-c", SLOW)) as server:
        server.wait_ready(RANKS)
        with watched(browser) as (page, _):
            page.on("requestfailed", lambda one: aborted.append(one.url))
            page.on(
                "response",
                lambda one: answers.append(one) if "/view/distributed?" in one.url else None,
            )
            page.goto(f"{server.page}#view=distributed")
            expect(page.get_by_role("heading", name="Comparing ranks")).to_be_visible()
            expect(page.get_by_text(re.compile(r"^[1-8] of 9$"))).to_be_visible()
            assert get_json(server.api + "info")["host"] == "standalone"
            expect(page.get_by_role("heading", level=1)).to_contain_text(
                re.compile("No rank|[Cc]annot tell"), timeout=60_000
            )
            told = [one.json()["reading"]["parts_done"] for one in answers if one.status == 202]
            assert len(set(told)) > 1
            assert told == sorted(told)
            assert [one.status for one in answers].count(200) == 1
            assert aborted == []
