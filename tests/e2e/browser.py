"""A browser with no network but the server under test, that remembers every complaint."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlparse

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Route,
    sync_playwright,
)

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

TENSORBOARD_BUNDLE = "/index.js?_file_hash="


def chromium_path() -> str | None:
    """Chromium of this machine: the environment's choice, else the first on PATH."""
    chosen = os.environ.get("KINETOSCOPE_CHROMIUM")
    if chosen:
        return chosen
    return next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


@dataclass
class Watch:
    """What a page did that it must not do."""

    console: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def on(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("weberror", lambda error: self.console.append(f"uncaught: {error.error}"))
        context.on("requestfailed", self._failed)
        context.on(
            "response",
            lambda r: self.failed.append(f"{r.status} {r.url}") if r.status >= 400 else None,
        )
        context.route("**/*", self._route)

    def _console(self, message: ConsoleMessage) -> None:
        where = str(message.location.get("url", ""))
        if message.type == "warning" and TENSORBOARD_BUNDLE in where:
            return  # TensorBoard's own page warns about its own libraries
        if message.type in {"error", "warning"}:
            self.console.append(f"{message.type}: {message.text} @ {where}")

    def _failed(self, request: Request) -> None:
        if request.failure and "ERR_ABORTED" not in request.failure:
            self.failed.append(f"{request.failure} {request.url}")

    def _route(self, route: Route) -> None:
        url = urlparse(route.request.url)
        if url.scheme in {"http", "https", "ws", "wss"} and url.hostname not in {
            "127.0.0.1",
            "localhost",
        }:
            self.foreign.append(route.request.url)
            route.abort()
        else:
            route.continue_()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Headless Chromium; the caller checked ``chromium_path()``."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watched(
    browser: Browser, width: int = 1440, height: int = 900, dark: bool = False
) -> Iterator[tuple[Page, Watch]]:
    """A fresh page and its watch."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    watch = Watch()
    watch.on(context)
    try:
        yield context.new_page(), watch
    finally:
        context.close()
