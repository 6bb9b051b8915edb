"""A fresh install, tried: every view, the library, TensorBoard, and a recording where torch is.

    python -I tools/matrix/smoke.py SAMPLES

``tools/matrix/run.py`` runs it in each of its environments, with their Python. It tries what is
installed there, and needs the standard library alone beside it. SAMPLES is the folder of recorded
samples; as a CPU made them, a run of a GPU is there too, which ``doctor`` draws.
Ends with 1 and the traceback of the first thing that failed.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

RUN = "train_cpu"
COMPILED = "compiled"
OTHER_RUN = "resnet_workers0"
RANKS = "train_ddp_cpu"
DRAWN_RUN = "drawn/sample"
PARTS = ("timeline/search?text=conv",)
"""Parts of views with addresses of their own."""
WAIT_SECONDS = 60.0
RECORDED_STEPS = 8


def command_line(*arguments: str) -> str:
    """What the command prints, in this process: to start one takes longer than to answer.

    Raises:
        AssertionError: it ended with another code than 0, or printed nothing.
    """
    import contextlib
    import io

    from kinetoscope.cli import main

    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as end:
            code = end.code
    text = out.getvalue()
    said = f"kinetoscope {' '.join(arguments)}: exit code {code}\n{text[-500:]}{err.getvalue()}"
    assert code in (0, None), said
    assert text.strip(), said
    return text


def run_for(view: str) -> str:
    """A run that fills a view."""
    return {"compile": COMPILED, "kernels": DRAWN_RUN, "distributed": RANKS}.get(view, RUN)


def try_the_command_line(logdir: Path) -> None:
    """``show`` of every view, ``diff``, and ``doctor`` in a process of its own."""
    from kinetoscope.views import all_views

    for view in all_views():
        chosen = ["--run", run_for(view.stem)]
        chosen += ["--base-run", OTHER_RUN] if view.stem == "diff" else []
        for form in ([], ["--format", "json"]):
            command_line("show", view.stem, str(logdir), *chosen, *form)
    command_line("diff", str(logdir / RUN), str(logdir / OTHER_RUN))
    entry = Path(sys.executable).with_name("kinetoscope")
    done = subprocess.run(
        [entry, "doctor", logdir / RUN], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    command_line("ingest", str(logdir / RANKS))


def try_the_library(logdir: Path) -> None:
    """The tables as data frames, and the answers of views."""
    import kinetoscope
    from kinetoscope.views import all_views

    for view in all_views():
        one = kinetoscope.open(logdir, run=run_for(view.stem))
        query = {"base_run": OTHER_RUN} if view.stem == "diff" else {}
        assert one.tables(view.stem, **query), view.stem
    trace = kinetoscope.open(logdir / RUN)
    assert trace.ops["dur_ns"].sum() > 0
    assert not trace.host.groupby("name", observed=True)["dur_ns"].sum().empty
    assert len(trace.steps) > 1
    assert trace.overview().sentence.headline
    assert not trace.memory.empty


@contextmanager
def tensorboard(logdir: Path) -> Iterator[int]:
    """The port of a TensorBoard on ``logdir``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [sys.executable, "-m", "tensorboard.main", "--host", "127.0.0.1"]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--logdir", str(logdir)],
            stdout=said,
            stderr=subprocess.STDOUT,
        )
        try:
            yield port
        except BaseException:
            said.seek(0)
            sys.stderr.write(said.read().decode(errors="replace")[-4000:])
            raise
        finally:
            process.terminate()
            process.wait(WAIT_SECONDS)


def get(port: int, path: str) -> bytes:
    """The body of an answer; waited for where the server has not begun or is still reading.

    Raises:
        AssertionError: the answer is an error, or none came in time.
    """
    until = time.monotonic() + WAIT_SECONDS
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
        except OSError as error:
            status, body = 0, str(error).encode()
        finally:
            connection.close()
        if status == http.client.OK:
            return body
        is_early = status in (0, http.client.ACCEPTED, http.client.SERVICE_UNAVAILABLE)
        assert is_early, f"{path}: {status} {body[:2000]!r}"
        assert time.monotonic() < until, f"{path}: no answer in time, but {status} {body[:2000]!r}"
        time.sleep(0.1)


def try_tensorboard(logdir: Path) -> None:
    """The tab in a real TensorBoard: its page, the catalog, every view of two runs."""
    from kinetoscope.views import all_views
    from kinetoscope.web.tab import plugin_name

    with tensorboard(logdir) as port:
        listing: dict[str, Any] = json.loads(get(port, "/data/plugins_listing"))
        assert listing[plugin_name()]["enabled"], listing
        root = f"/data/plugin/{plugin_name()}"
        assert b"import" in get(port, f"{root}/index.js")
        until = time.monotonic() + WAIT_SECONDS
        while not (runs := json.loads(get(port, f"{root}/api/catalog"))["runs"]):
            assert time.monotonic() < until, "no run is in the catalog"
            time.sleep(0.1)
        assert RUN in {run["name"] for run in runs}
        for view in all_views():
            query = f"run={run_for(view.stem)}"
            query += f"&base_run={OTHER_RUN}" if view.stem == "diff" else ""
            answer = json.loads(get(port, f"{root}/api/view/{view.stem}?{query}"))
            assert "error" not in answer, answer
        for part in PARTS:
            get(port, f"{root}/api/view/{part}&run={RUN}")


def try_agents(logdir: Path) -> None:
    """SQL, and every tool of the server for agents, by the SDK's client over stdio."""
    import asyncio

    assert "[[7]]" in command_line("sql", str(logdir / RUN), "SELECT 7", "--format", "json")
    asyncio.run(_every_tool(logdir))


async def _every_tool(logdir: Path) -> None:
    import mcp

    entry = Path(sys.executable).with_name("kinetoscope")
    served = mcp.StdioServerParameters(
        command=str(entry), args=["mcp", str(logdir)], env=dict(os.environ)
    )
    async with mcp.Client(served) as client:

        async def ask(tool: str, **arguments: str) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments)
            (content,) = result.content
            assert content.type == "text"
            told: dict[str, Any] = json.loads(content.text)
            assert told["state"] in ("ok", "cannot_tell"), told
            return told

        answers = {
            "recordings": await ask("recordings"),
            "explain": await ask("explain", recording=RUN),
            "table": await ask("table", recording=RUN, table="operators", columns="name,calls"),
            "sql": await ask("sql", recording=RUN, query="SELECT count(*) AS n FROM host"),
            "event": await ask("event", recording=RUN, event="slice/3"),
            "compare": await ask("compare", base=RUN, other=OTHER_RUN),
            "ranks": await ask("ranks", recording=RANKS),
            "record_advice": await ask("record_advice", recording=RUN),
        }
        assert {tool.name for tool in (await client.list_tools()).tools} == set(answers)
        assert len((await client.list_prompts()).prompts) == 3
    assert answers["explain"]["explain"]["headline"]
    assert answers["table"]["rows"]
    assert answers["sql"]["rows"][0][0] > 0
    assert answers["ranks"]["headline"].startswith("Rank 1 is ")


def try_recording() -> str:
    """What was recorded and shown; or why nothing was."""
    if find_spec("torch") is None:
        return "no torch here: nothing is recorded"
    import torch

    from kinetoscope.handlers import sample_training

    with tempfile.TemporaryDirectory() as folder:
        (trace,) = sample_training.record(folder, steps=RECORDED_STEPS)
        command_line("show", "overview", str(trace))
    return f"recorded with torch {torch.__version__}"


def main(samples: Path) -> int:
    """Tries everything, and prints how long each thing took."""
    from kinetoscope.session.self_check import write_sample

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["KINETOSCOPE_CACHE_DIR"] = str(folder / "cache")
        logdir = folder / "logdir"
        shutil.copytree(samples, logdir)
        write_sample(logdir / "drawn")
        took = []
        for what, trial in (
            ("show", try_the_command_line),
            ("library", try_the_library),
            ("agents", try_agents),
            ("TensorBoard", try_tensorboard),
        ):
            began = time.monotonic()
            trial(logdir)
            took.append(f"{what} {time.monotonic() - began:.0f} s")
        print(", ".join(took) + "; " + try_recording())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
