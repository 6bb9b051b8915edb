"""The server's page in a frame of another origin: by the token, and not without."""

from __future__ import annotations

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from kinetoscope.session.session import choose
from kinetoscope.web import embed


class _Quiet(SimpleHTTPRequestHandler):
    """A notebook's server, which says nothing."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_notebook_frames_the_page_by_its_token_alone(
    browser: Browser, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "_notebook", lambda: None)  # the browser is on this machine
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    frame = embed.frame_of(choose(str(samples / "train_cpu")), 700)
    (tmp_path / "a.html").write_text(f"<!doctype html>{frame}")
    (tmp_path / "b.html").write_text(re.sub(r"frame=[\w-]+", "frame=guessed", frame))
    serve = partial(_Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as notebook:
        threading.Thread(target=notebook.serve_forever, daemon=True).start()
        page = browser.new_page()
        try:
            page.goto(f"http://localhost:{notebook.server_port}/a.html")
            inside = page.frame_locator("iframe")
            expect(inside.locator("h1")).to_contain_text("DataLoader", timeout=60_000)
            inside.get_by_role("link", name="Operator").first.click()
            expect(inside.locator("h1")).to_contain_text("aten::", timeout=60_000)
            refused: list[str] = []
            page.on("console", lambda message: refused.append(message.text))
            page.goto(f"http://localhost:{notebook.server_port}/b.html")
            for _ in range(50):
                if any("frame-ancestors" in one for one in refused):
                    break
                page.wait_for_timeout(200)
            assert any("frame-ancestors" in one for one in refused)
        finally:
            page.close()
            notebook.shutdown()
