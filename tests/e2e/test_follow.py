"""A trace that appears, grows, is replaced and is deleted while TensorBoard runs is followed."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .servers import Server, get_json, tensorboard

PATIENCE_SECONDS = 120.0


def trace_text(steps: int, step_us: int = 1000) -> str:
    """A host trace:  |ProfilerStep#0 |ProfilerStep#1 | …  with one op each, half a step long."""
    events: list[dict[str, Any]] = []
    for n in range(steps):
        at = {"ph": "X", "pid": 7, "tid": 7, "ts": n * step_us}
        events.append({**at, "cat": "user_annotation", "name": f"ProfilerStep#{n}", "dur": step_us})
        events.append({**at, "cat": "cpu_op", "name": "aten::mm", "dur": step_us // 2})
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


def publish(path: Path, data: bytes) -> None:
    """As a careful writer does it: under another name, then renamed."""
    hidden = path.with_name(f".{path.name}.tmp")
    hidden.write_bytes(data)
    os.replace(hidden, path)


def until(what: str, found: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        value = found()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.5)


def spans(server: Server) -> dict[str, str]:
    """File → state of every span of the run."""
    runs = server.catalog()["runs"]
    return {s["file"]: s["state"] for r in runs for w in r["workers"] for s in w["spans"]}


def steps_of(server: Server, worker: str) -> int:
    query = f"run=run&worker={worker}&span=default"
    return len(get_json(f"{server.api}trace?{query}").get("steps", ()))


def test_files_are_followed_while_tensorboard_runs(tmp_path: Path) -> None:
    logdir = tmp_path / "log"
    run = logdir / "run"
    run.mkdir(parents=True)
    with tensorboard(logdir, tmp_path) as server:
        assert spans(server) == {}

        first = run / "first.pt.trace.json.gz"
        publish(first, gzip.compress(trace_text(3).encode()))
        until(
            "the first file appears",
            lambda: spans(server).get("run/first.pt.trace.json.gz") == "ready",
        )
        assert steps_of(server, "first") == 3

        # A second file of a known run, written slowly and in place.
        second = run / "second.pt.trace.json"
        text = trace_text(5).encode()
        with second.open("wb") as out:
            out.write(text[: len(text) // 2])
            out.flush()
            until(
                "the half file is seen",
                lambda: "run/second.pt.trace.json" in json.dumps(server.catalog()),
            )
            states = {f["path"]: f["state"] for f in server.catalog()["files"]}
            assert states["run/second.pt.trace.json"] == "waiting"
            out.write(text[len(text) // 2 :])
        until(
            "the whole file is read",
            lambda: spans(server).get("run/second.pt.trace.json") == "ready",
        )
        assert steps_of(server, "second") == 5

        publish(first, gzip.compress(trace_text(8).encode()))
        until("the replaced file is read again", lambda: steps_of(server, "first") == 8)

        first.unlink()
        until("the deleted file is gone", lambda: "run/first.pt.trace.json.gz" not in spans(server))
        assert spans(server) == {"run/second.pt.trace.json": "ready"}


def test_a_truncated_gzip_shows_what_it_holds_and_says_what_is_missing(tmp_path: Path) -> None:
    logdir = tmp_path / "log"
    run = logdir / "run"
    run.mkdir(parents=True)
    whole = gzip.compress(trace_text(400).encode(), mtime=0)
    cut = run / "cut.pt.trace.json.gz"
    cut.write_bytes(whole[: len(whole) * 2 // 3])
    an_hour_ago = time.time() - 3600
    os.utime(cut, (an_hour_ago, an_hour_ago))
    with tensorboard(logdir, tmp_path) as server:
        server.wait_ready()
        kept = steps_of(server, "cut")
        assert 0 < kept < 400
        health = get_json(f"{server.api}view/health?run=run&worker=cut&span=default")
        note = next(n for n in health["notes"] if n["kind"] == "truncated")
        assert note["severity"] == "error"
        (file,) = server.catalog()["files"]
        assert file["state"] == "ready"
        assert "truncated" in file["verdict"]
