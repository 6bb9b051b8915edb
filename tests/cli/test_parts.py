"""`kinetoscope path`, `whatif`, `window`: answers of the page as commands, and errors as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kinetoscope.base.errors import QueryError
from kinetoscope.cli.ask.parts import instant
from kinetoscope.notebook import open_trace
from tests.cli.runs import run
from tests.conftest import ROOT, TRACES, requires_traces
from tests.drawing import draw_at

PICTURE = """
    step   |11111111112222222222|
    op     | xx yyy     yy zz   |
    call   | k   l      m  n    |
    gpu    |  kk  l      mm  n  |
    """


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, PICTURE)
    return path


def test_the_critical_path_sums_to_the_steps(trace: Path) -> None:
    told = json.loads(run("path", trace, "--format", "json").stdout)
    assert sum(one["ns"] for one in told["shares"]) == told["total_ns"] == 20_000
    one = json.loads(run("path", trace, "--format", "json", "--steps", "2").stdout)
    assert one["total_ns"] == 10_000
    assert open_trace(trace).critical_path(steps="2").total_ns == 10_000
    assert "On the path" in run("path", trace).stdout


def test_a_long_path_is_cut_and_csv_has_all_of_it() -> None:
    shown = run("path", ROOT / "samples/traces/train_cpu", "--limit", "2")
    assert shown.exit_code == 0
    assert "2 of " in shown.stdout
    whole = run("path", ROOT / "samples/traces/train_cpu", "--format", "csv", "--limit", "2")
    assert whole.stdout.count("\n") > shown.stdout.count("\n")


def test_a_window_has_the_host_the_device_or_both(trace: Path) -> None:
    def names(*options: str) -> dict[str, int]:
        shown = run(
            "window", trace, "--from", "11us", "--to", "13500", "--format", "json", *options
        )
        return {one["text"]: one["total_ns"] for one in json.loads(shown.stdout)["rows"]}

    assert names("--what", "device") == {"kernel_m": 500}
    host = names("--what", "host")
    assert (host["aten::y"], host["cudaLaunchKernel"]) == (1_500, 1_000)
    assert "kernel_m" not in host
    assert names() == host | {"kernel_m": 500}


@pytest.mark.parametrize(
    ("text", "ns"),
    [("12.5ms", 12_500_000), ("1s", 10**9), ("7", 7), ("0.001 us", 1), ("3µs", 3000)],
)
def test_instants(text: str, ns: int) -> None:
    assert instant(text) == ns


@pytest.mark.parametrize("text", ["", "ms", "1 day", "1e3", "1..2"])
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(QueryError):
        instant(text)


def test_what_if_needs_several_ranks(trace: Path) -> None:
    assert run("whatif", trace).exit_code == 6


@requires_traces
def test_what_if_replays_a_run() -> None:
    shown = run("whatif", TRACES / "dlrm_8rank_v100", "--kind", "rank", "--target", "7")
    assert "Replayed unchanged, a step takes 16.0 ms" in shown.stdout
    folder = open_trace(TRACES / "dlrm_8rank_v100")
    assert folder.what_if("rank", 7).step_ns == pytest.approx(16.0e6, rel=0.01)
    assert (
        run("whatif", TRACES / "dlrm_8rank_v100", "--kind", "rank", "--target", "99").exit_code == 2
    )


@pytest.mark.parametrize("command", ["explain", "advise", "show overview"])
def test_an_error_is_json_where_json_was_wanted(command: str) -> None:
    shown = run(*command.split(), "nowhere", "--format", "json")
    error = json.loads(shown.stdout)["error"]
    assert (shown.exit_code, error["kind"]) == (4, "not_found")
    assert error["message"] in shown.stderr
    assert run(*command.split(), "nowhere").stdout == ""


def test_advice_keeps_to_its_bytes_or_is_refused(trace: Path) -> None:
    size = len(run("advise", trace, "--format", "json").stdout.encode())
    assert run("advise", trace, "--format", "json", "--max-bytes", max(size, 1024)).exit_code == 0
    small = run("advise", trace, "--format", "json", "--max-bytes", 1024)
    assert small.exit_code == 2 or len(small.stdout.encode()) <= 1024
    assert "max-bytes" in small.stderr or small.exit_code == 0


def test_an_unknown_column_is_answered_with_the_nearest(trace: Path) -> None:
    shown = run("show", "operators", trace, "--columns", "self")
    assert (shown.exit_code, "did you mean self_ns?" in shown.stderr) == (2, True)
