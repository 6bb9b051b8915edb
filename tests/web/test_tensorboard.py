"""A real TensorBoard lists the tab and serves it, whatever its logdir is."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from kinetoscope.web.tab import plugin_name
from tests.e2e.servers import Server, get_json, tensorboard
from tests.views.make_frames import decoded
from tests.waiting import wait_for
from tests.web.trace_files import write_trace

NAME = plugin_name()


def listing(server: Server) -> dict[str, Any]:
    """What TensorBoard tells its page of our plugin."""
    root = server.api.split("data/plugin/")[0]
    found: dict[str, Any] = get_json(f"{root}data/plugins_listing")[NAME]
    return found


def complaints(server: Server) -> list[str]:
    """Lines of TensorBoard's log that speak of a fault of a plugin."""
    words = ("In 3.0", "Traceback", "Unable to load", "failed", "Error")
    lines = server.log.read_text().splitlines()
    return [line for line in lines if any(word in line for word in words)]


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """One run with one trace."""
    write_trace(tmp_path / "log" / "run" / "host_1.1700000000000.pt.trace.json.gz")
    return tmp_path / "log"


@pytest.fixture(params=["true", "false"], ids=["fast", "slow"])
def board(request: pytest.FixtureRequest, logdir: Path, tmp_path: Path) -> Iterator[Server]:
    """TensorBoard over it, with and without its data server."""
    arguments = ("--load_fast", request.param)
    with tensorboard(logdir, tmp_path, *arguments, plugin=NAME) as server:
        yield server


def test_the_tab_is_there_and_the_overview_answers(board: Server) -> None:
    assert listing(board)["enabled"] is True
    assert listing(board)["tab_name"] == "PyTorch Profiler"
    assert listing(board)["loading_mechanism"] == {
        "type": "IFRAME",
        "module_path": f"/data/plugin/{NAME}/index.js",
    }
    catalog = board.wait_ready()
    assert [run["name"] for run in catalog["runs"]] == ["run"]
    overview = get_json(f"{board.api}view/overview")
    assert [step["dur_ns"] for step in overview["steps"]] == [100_000, 150_000, 100_000]
    assert get_json(f"{board.api}nothing")["error"]["kind"] == "not_found"
    assert complaints(board) == []


def test_parts_of_a_view_are_addresses_of_their_own(board: Server) -> None:
    board.wait_ready()
    view = f"{board.api}view/timeline"
    wait_for(lambda: "tracks" in get_json(view))
    manifest = get_json(view)
    with urlopen(f"{view}/tiles?level=9&tiles=0&blocks=0.0") as answer:  # noqa: S310  # ours
        assert answer.headers["Content-Type"] == "application/octet-stream"
        (entry,) = decoded(answer.read())["entries"]
    assert (entry["track"], entry["level"]) == (0, 9)
    window = f"start_ns=0&end_ns={manifest['end_ns']}"
    assert get_json(f"{view}/area?{window}")["slices"] == manifest["slices"]
    wait_for(lambda: urlopen(f"{view}/export?{window}").status == 200)  # noqa: S310  # ours
    with urlopen(f"{view}/export?{window}") as answer:  # noqa: S310  # ours
        assert "attachment" in answer.headers["Content-Disposition"]
        document = json.loads(gzip.decompress(answer.read()))
    assert len([one for one in document["traceEvents"] if one["ph"] == "X"]) == manifest["slices"]
    assert get_json(f"{view}/tiles?level=9&tiles=x&blocks=0.0")["error"]["kind"] == "bad_query"
    assert complaints(board) == []


def test_below_a_prefix(logdir: Path, tmp_path: Path) -> None:
    with tensorboard(logdir, tmp_path, plugin=NAME, prefix="/user/bob/tb") as server:
        assert listing(server)["enabled"] is True
        server.wait_ready()
        assert complaints(server) == []


def test_a_specification_of_logdirs_names_the_runs(logdir: Path, tmp_path: Path) -> None:
    write_trace(tmp_path / "more" / "run" / "host_1.pt.trace.json")
    spec = f"--logdir_spec=a:{logdir},b:{tmp_path / 'more'}"
    with tensorboard("", tmp_path, spec, plugin=NAME) as server:
        assert listing(server)["enabled"] is True
        runs = [run["name"] for run in server.wait_ready(2)["runs"]]
        assert runs == ["a/run", "b/run"]


def test_an_empty_logdir_starts_and_is_inactive(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with tensorboard(tmp_path / "log", tmp_path, plugin=NAME) as server:
        assert listing(server)["enabled"] is False
        assert server.catalog()["runs"] == []
        assert get_json(f"{server.api}view/overview")["error"]["kind"] == "not_found"
        assert complaints(server) == []


@pytest.mark.parametrize("kind", ["missing", "a file", "forbidden"])
def test_an_unreadable_logdir_starts_and_says_why(tmp_path: Path, kind: str) -> None:
    logdir = tmp_path / "log"
    if kind == "a file":
        logdir.write_text("x")
    if kind == "forbidden":
        logdir.mkdir(mode=0)
        if os.access(logdir, os.R_OK):
            pytest.skip("this user may read everything")
    with tensorboard(logdir, tmp_path, plugin=NAME) as server:
        assert listing(server)["enabled"] is False
        (problem,) = server.catalog()["problems"]
        assert problem["message"].startswith(str(logdir))
        assert problem["hint"]
        # The tab can be opened although it is inactive: it says how to record.
        assert "tensorboard_trace_handler" in get_json(f"{server.api}info")["recipe"]


OLD_PLUGIN = """
from tensorboard.plugins.base_plugin import TBPlugin

class OldPlugin(TBPlugin):
    plugin_name = "pytorch_profiler"

    def __init__(self, context):
        pass

    def get_plugin_apps(self):
        return {}

    def is_active(self):
        return False
"""


def test_beside_the_old_plugin_both_tabs_are_there(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorBoard ends at once when two plugins have one name."""
    site = tmp_path / "site"
    (site / "torch_tb_profiler-0.4.3.dist-info").mkdir(parents=True)
    (site / "old_plugin.py").write_text(OLD_PLUGIN)
    metadata = site / "torch_tb_profiler-0.4.3.dist-info"
    metadata.joinpath("METADATA").write_text("Name: torch-tb-profiler\nVersion: 0.4.3\n")
    metadata.joinpath("entry_points.txt").write_text(
        "[tensorboard_plugins]\ntorch_profiler = old_plugin:OldPlugin\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    with tensorboard(logdir, tmp_path, plugin="kinetoscope") as server:
        plugins = get_json(f"{server.api.split('data/plugin/')[0]}data/plugins_listing")
        assert plugins["kinetoscope"]["tab_name"] == "PyTorch Profiler (kinetoscope)"
        assert "pytorch_profiler" in plugins
        server.wait_ready()
