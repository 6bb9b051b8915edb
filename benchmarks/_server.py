"""The standalone server in a process of its own, and what a page asks of it."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

TIMEOUT = 600


@dataclass(frozen=True, slots=True)
class Server:
    """A started server."""

    page: str  # ends with "/"
    pid: int

    def fetch(self, route: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body as it travels (compressed where the server does so), once it is there."""
        url = f"{self.page}api/{route}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})  # noqa: S310
        while True:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310 (ours)
                body: bytes = answer.read()
                if answer.status != 202:
                    return body
            time.sleep(0.02)  # being read

    def get(self, route: str, query: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 (JSON)
        """The JSON of an answer."""
        body = self.fetch(route, query)
        return json.loads(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)

    def spans(self, count: int = 1) -> list[dict[str, str]]:
        """Waits until ``count`` spans are read and cached; each as query parameters.

        Raises:
            RuntimeError: one cannot be read.
        """
        while True:
            found, waiting = [], 0
            for run in self.get("catalog")["runs"]:
                for worker in run["workers"]:
                    for span in worker["spans"]:
                        if span["state"] in ("failed", "refused"):
                            raise RuntimeError(json.dumps(span))
                        waiting += span["state"] != "ready" or span["progress"] is not None
                        names = {"run": run["name"], "worker": worker["name"], "span": span["key"]}
                        found.append({**names, "digest": span["digest"]})
            if len(found) >= count and not waiting:
                return found
            time.sleep(0.1)

    def screen(self, span: Mapping[str, str]) -> float:
        """Seconds for what the page asks before it can draw the Overview."""
        began = time.perf_counter()
        self.fetch("catalog")
        self.fetch("trace", span)
        self.fetch("view/overview", span)
        return time.perf_counter() - began

    def cpu_seconds(self) -> float:
        """CPU seconds of the server's own process so far."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    def resident_bytes(self) -> int:
        """Memory of the server's own process, without those that read."""
        return int(psutil.Process(self.pid).memory_info().rss)

    def mapped_bytes(self) -> int:
        """The part of it that is pages of files, which the system takes back when it needs room."""
        return int(psutil.Process(self.pid).memory_info().shared)


def linked(logdir: Path, run: str, *traces: Path) -> None:
    """Puts traces below a logdir, as links."""
    folder = logdir / run
    folder.mkdir(parents=True, exist_ok=True)
    for trace in traces:
        (folder / trace.name).symlink_to(trace.resolve())


@contextmanager
def server(logdir: Path, cache: Path) -> Iterator[Server]:
    """A server on ``logdir`` that answers; it ends with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "kinetoscope.cli", "serve", str(logdir), "--port", str(port)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "KINETOSCOPE_CACHE_DIR": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        started = Server(f"http://127.0.0.1:{port}/", process.pid)
        while True:
            try:
                started.get("info")
                break
            except urllib.error.URLError:
                if process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield started
    finally:
        process.terminate()
        process.wait(20)
