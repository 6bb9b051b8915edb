"""Real servers for browser tests: TensorBoard, our standalone server, a stripping proxy."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def get_json(url: str, timeout: float = 30.0) -> Any:
    """The body of a GET, whatever its status."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:  # noqa: S310 (our own server)
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


@dataclass(frozen=True)
class Server:
    """A started server: where its page is and where its routes are."""

    page: str  # ends with "/"
    api: str  # ends with "/api/"
    log: Path
    pid: int

    def catalog(self) -> Any:
        return get_json(self.api + "catalog")

    def wait_ready(self, spans: int = 1, seconds: float = 90.0) -> Any:
        """The catalog once ``spans`` spans are ready; fails with the last catalog otherwise."""
        deadline = time.monotonic() + seconds
        while True:
            catalog = self.catalog()
            states = [s["state"] for r in catalog["runs"] for w in r["workers"] for s in w["spans"]]
            if states.count("ready") >= spans:
                return catalog
            if "failed" in states or time.monotonic() > deadline:
                raise AssertionError(f"not ready: {json.dumps(catalog)[:2000]}")
            time.sleep(0.2)


@contextmanager
def _started(
    command: list[str], page: str, api: str, log: Path, env: dict[str, str]
) -> Iterator[Server]:
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**os.environ, **env},
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                get_json(api + "info", timeout=5)
                break
            except (OSError, ValueError):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(
                        f"server did not start:\n{log.read_text()[-4000:]}"
                    ) from None
                time.sleep(0.2)
        yield Server(page=page, api=api, log=log, pid=process.pid)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


@contextmanager
def tensorboard(
    logdir: Path | str,
    tmp: Path,
    *arguments: str,
    plugin: str = "pytorch_profiler",
    prefix: str = "",
) -> Iterator[Server]:
    """A TensorBoard on ``logdir``, with its own empty trace cache under ``tmp``."""
    port = free_port()
    root = f"http://127.0.0.1:{port}{prefix}/"
    command = [sys.executable, "-m", "tensorboard.main", "--port", str(port), "--host", "127.0.0.1"]
    if not any(a.startswith("--logdir_spec") for a in arguments):
        command += ["--logdir", str(logdir)]
    if prefix:
        command += ["--path_prefix", prefix]
    env = {"KINETOSCOPE_CACHE_DIR": str(tmp / "cache")}
    api = f"{root}data/plugin/{plugin}/api/"
    with _started(
        [*command, *arguments], f"{root}#{plugin}", api, tmp / "tensorboard.log", env
    ) as server:
        yield server


@contextmanager
def standalone(
    logdir: Path | str,
    tmp: Path,
    *arguments: str,
    program: Sequence[str] = ("-m", "kinetoscope.cli"),
) -> Iterator[Server]:
    """Our own server on ``logdir``, with its own empty trace cache under ``tmp``."""
    port = free_port()
    root = f"http://127.0.0.1:{port}/"
    command = [
        sys.executable,
        *program,
        "serve",
        str(logdir),
        "--port",
        str(port),
        *arguments,
    ]
    env = {"KINETOSCOPE_CACHE_DIR": str(tmp / "cache")}
    with _started(command, root, root + "api/", tmp / "serve.log", env) as server:
        yield server
