"""`kinetoscope demo`: records with torch, shows recorded samples without."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from kinetoscope.base.errors import UnavailableError
from kinetoscope.cli import demo as demo_module
from tests.cli.runs import run
from tests.conftest import ROOT
from tests.e2e.servers import free_port


def test_it_records_into_the_logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "has_torch", lambda: True)
    monkeypatch.setattr(demo_module, "RECORDER", "tests.cli.recorder")
    result = run("demo", "--logdir", tmp_path / "log", "--no-serve")
    assert result.exit_code == 0
    assert [path.name for path in (tmp_path / "log" / "sample").iterdir()] == ["x.pt.trace.json"]
    assert f"kinetoscope show overview {tmp_path / 'log'}" in result.stderr


def test_the_recorder_takes_a_logdir() -> None:
    command = [sys.executable, "-m", demo_module.RECORDER, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--logdir" in done.stdout


def test_a_recording_that_fails_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_module, "RECORDER", "kinetoscope.no_such_module")
    monkeypatch.setattr(demo_module, "has_torch", lambda: True)
    result = run("demo", "--logdir", tmp_path, "--no-serve")
    assert result.exit_code == 1
    assert result.stderr.startswith("kinetoscope: the sample training failed")


def test_without_torch_the_recorded_samples_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(demo_module, "has_torch", lambda: False)
    monkeypatch.setattr(demo_module, "show", lambda logdir, _: shown.append(logdir))
    result = run("demo")
    assert result.exit_code == 0
    assert shown == [str(ROOT / "samples" / "traces")]
    assert "pip install torch" in result.stderr


def test_without_torch_and_samples_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(demo_module, "SAMPLES", (tmp_path,))
    with pytest.raises(UnavailableError) as error:
        demo_module.recorded_samples()
    assert error.value.hint == "pip install torch"


def test_a_tensorboard_that_does_not_start_is_told_in_its_own_words() -> None:
    with pytest.raises(demo_module.ChildError) as error:
        demo_module.show("log", -1)
    assert error.value.hint


def test_tensorboard_is_started_and_ended(tmp_path: Path) -> None:
    port = free_port()
    code = f"from kinetoscope.cli.demo import show; show({str(tmp_path)!r}, {port})"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert f"http://localhost:{port}/#" in line
        with urllib.request.urlopen(f"http://localhost:{port}/", timeout=30) as answer:
            assert answer.status == 200
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://localhost:{port}/", timeout=5)
