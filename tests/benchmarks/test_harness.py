"""The harness measures what it says, and the report tells what was measured."""

from __future__ import annotations

import math
import mmap
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks import _corpus, _peers, _results, report
from benchmarks._measure import Measured, run
from benchmarks._targets import Target, itself, ratio, targets
from benchmarks.ingest import exponent

from tests.conftest import ROOT

# Holds 64 MB for half a second, in a child that burns CPU time as well.
CHILD = """
import subprocess, sys
subprocess.run([sys.executable, "-c", '''
import time
held = bytearray(b"x") * (64 << 20)
until = time.process_time() + 0.3
while time.process_time() < until: pass
time.sleep(0.2)
'''], check=True)
print('{"done": 1}')
"""


def test_children_count() -> None:
    measured = run([sys.executable, "-c", CHILD])
    assert measured.answer() == {"done": 1}
    assert measured.cpu_seconds >= 0.3
    assert measured.wall_seconds >= 0.5
    assert measured.peak_bytes >= 64 << 20
    assert measured.began <= measured.samples[0][0] <= measured.samples[-1][0] <= time.monotonic()


def test_a_peak_up_to_a_moment() -> None:
    measured = Measured(0, 0, 0, "", 0, samples=[(1.0, 10), (2.0, 30), (3.0, 50), (4.0, 20)])
    assert measured.peak_until(2.5) == 30
    assert measured.peak_bytes == 50
    assert measured.peak_until(0.5) == 0


def test_a_command_that_fails_says_why() -> None:
    measured = run([sys.executable, "-c", "raise SystemExit('no such trace')"])
    with pytest.raises(RuntimeError, match="exit code 1: no such trace"):
        measured.answer()


def test_a_command_that_hangs_is_ended() -> None:
    measured = run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.5)
    assert measured.exit_code == -9


@pytest.mark.parametrize("k", [0.5, 1.0, 2.0])
def test_exponent_of_a_power(k: float) -> None:
    assert exponent({n: 3e-9 * n**k for n in (10**8, 10**9, 25 * 10**8)}) == pytest.approx(k)


def test_a_made_trace_is_made_once(tmp_path: Path) -> None:
    first = _corpus.made("cpu", "6MB", tmp_path)
    assert first.copies == 1
    written = first.path.stat().st_mtime_ns
    assert _corpus.made("cpu", "6MB", tmp_path) == first
    assert first.path.stat().st_mtime_ns == written


def test_a_size_in_events_is_reached(tmp_path: Path) -> None:
    made = _corpus.made("cpu", "0.03M", tmp_path)
    assert 30_000 <= made.events < 30_000 + 14_000


def test_an_absent_source_and_a_size_that_is_none(tmp_path: Path) -> None:
    kind = _corpus.Kind("nothing", tmp_path, ("a/*.gz", "b.gz"))
    with pytest.raises(_corpus.AbsentError, match="the trace is absent: a/"):
        kind.source()
    with pytest.raises(ValueError, match="100MB"):
        _corpus.made("cpu", "large", tmp_path)


def entry(value: float | None = None, because: str = "") -> dict[str, Any]:
    return {"value": value, "because": because, "date": "2026-01-02", "load": 0.5}


def test_targets_are_judged_by_the_figures() -> None:
    most = Target("memory", 2, False, "{:.1f} GB", ("a",), itself)
    least = Target("faster", 20, True, "{:.0f}×", ("b", "a"), ratio)
    measured = {"a": entry(1.5), "b": entry(15)}
    assert most.judge(measured).met is True
    assert least.judge(measured).met is False
    assert least.judge(measured).measured == "10×"
    assert least.judge(measured).promised == "≥ 20×"


def test_what_was_not_measured_says_why() -> None:
    target = Target("memory", 2, False, "{:.1f} GB", ("a",), itself)
    assert target.judge({}).measured == "not measured, because it was not run"
    absent = target.judge({"a": entry(because="the trace is absent: x")})
    assert absent.measured == "not measured, because the trace is absent: x"
    assert absent.met is None


def test_the_page_shows_every_target_and_what_was_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_results, "RESULTS", tmp_path / "results.json")
    cost = {"cpu": 4.0, "wall": 5.0, "peak": 600e6}
    found: Mapping[str, Any] = {
        **{f"{stage}_{k}": v for stage in ("overview", "columns") for k, v in cost.items()},
        **{f"peer_tb_{k}": v * 30 for k, v in cost.items()},
        "text_bytes": 1_000_000_000,
        "events": 3_000_000,
        "calibration_cpu": 0.4,
        "floor_inflate_cpu": 0.5,
        "floor_scan_cpu": 2.0,
        "floor_cpu": {"value": 2.5, "runs": [2.5]},
    }
    _results.keep("ingest/stacks/1GB", found)
    _results.keep("ingest/nccl/1GB", {"overview_cpu": "the trace is absent: x"})
    _results.keep("ingest/cpu/1GB", {"exponent": {"value": math.nan}})
    measured = _results.load()
    assert measured["ingest/cpu/1GB/exponent"]["value"] is None
    assert "NaN" not in _results.RESULTS.read_text()
    text = report.tables({"machine": _results.machine(), "measured": measured})
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert sum(target.promise in text for target in targets()) == len(targets())
    assert any("stacks, 1 GB of text" in row and "0.60 GB | yes" in row for row in rows)
    assert any("torch-tb-profiler" in row and "30.0× | yes" in row for row in rows)
    assert any("inflating" in row and "1.60× | yes" in row for row in rows)
    assert any(row.startswith("| stacks, 1GB | 1,000 MB | 3.00 M") for row in rows)
    assert any("2,000 MB/s | 500 MB/s | 1.60×" in row for row in rows)
    assert any(_peers.NAMES["tb"] in row and "30.0×" in row for row in rows)
    assert any("nccl" in row and "the trace is absent: x | –" in row for row in rows)


def test_only_what_is_between_the_markers_changes() -> None:
    page = f"above\n{report.BEGIN}\nold\n{report.END}\nbelow\n"
    new = report.placed(page, "new")
    assert new == f"above\n{report.BEGIN}\n\nnew\n\n{report.END}\nbelow\n"
    assert report.placed(new, "new") == new
    with pytest.raises(ValueError, match="no <!-- measured"):
        report.placed("a page without markers", "new")


def test_the_page_in_the_docs_has_the_markers_and_what_was_kept() -> None:
    page = report.PAGE.read_text(encoding="utf-8")
    assert report.placed(page, "")
    if _results.RESULTS.exists():
        assert report.tables(report.kept()) in page, "run python -m benchmarks.report --write"


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_the_peak_of_a_process_is_not_that_of_the_one_which_started_it() -> None:
    with mmap.mmap(-1, 300 << 20) as memory:  # this process holds so much
        memory[:] = b"x" * len(memory)
    script = "from benchmarks._measure import high_water; print(high_water())"
    command = [sys.executable, "-c", script]
    told = subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout
    assert 5 << 20 < int(told) < 200 << 20
