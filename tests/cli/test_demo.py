"""`kinetoscope demo`: records with torch, shows recorded samples without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from kinetoscope.cli import demo as demo_module
from tests.cli.runs import run
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


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[list[str]]]]:
    """What would be shown, and what would run beside it."""
    calls: list[tuple[str, list[list[str]]]] = []
    monkeypatch.setattr(
        demo_module, "show", lambda logdir, _, __, beside: calls.append((logdir, [*beside]))
    )
    return calls


def test_samples_are_shown_at_once_and_torch_is_brought_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: list[tuple[str, list[list[str]]]]
) -> None:
    monkeypatch.setattr(demo_module, "has_torch", lambda: False)
    assert run("demo", "--logdir", tmp_path, "--prepare", "bring 'a torch'").exit_code == 0
    ((logdir, (prepare, record)),) = shown
    assert (logdir, prepare) == (str(tmp_path), ["bring", "a torch"])
    assert record[-1] == str(tmp_path / "sample")
    assert (tmp_path / "train_cpu").is_dir()
    assert not (tmp_path / "sample").exists()


@pytest.mark.parametrize("option", ["", "--samples"])
def test_without_torch_the_recorded_samples_are_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shown: list[tuple[str, list[list[str]]]],
    option: str,
) -> None:
    monkeypatch.setattr(demo_module, "has_torch", lambda: bool(option))
    result = run("demo", "--logdir", tmp_path, *([option] if option else []))
    assert (result.exit_code, shown) == (0, [(str(tmp_path), [])])
    assert ("pip install torch" in result.stderr) == (not option)


def test_without_torch_and_samples_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(demo_module, "SAMPLES", (tmp_path,))
    monkeypatch.setattr(demo_module, "has_torch", lambda: False)
    result = run("demo", "--logdir", tmp_path)
    assert (result.exit_code, "pip install torch" in result.stderr) == (6, True)


def test_a_command_that_fails_keeps_the_next_from_running(tmp_path: Path) -> None:
    made = tmp_path / "made"
    with demo_module.Children() as children:
        assert not children.run([["false"], ["touch", str(made)]])
        assert not made.exists()
        assert children.run([["true"], ["touch", str(made)]])
    assert made.exists()


def test_children_end_with_those_that_they_started() -> None:
    read_end, write_end = os.pipe()
    with demo_module.Children() as children:
        # The inner process holds the pipe open as long as it lives.
        command = ["sh", "-c", f"sleep 600 >&{write_end} & sleep 600"]
        os.set_inheritable(write_end, True)
        child = subprocess.Popen(command, start_new_session=True, pass_fds=[write_end])
        children._started.append(child)
        os.close(write_end)
    assert os.read(read_end, 1) == b""
    os.close(read_end)
    assert children.start(["true"]) is None


def test_a_tensorboard_that_does_not_start_is_told_in_its_own_words() -> None:
    with demo_module.Children() as children, pytest.raises(demo_module.ChildError) as error:
        demo_module.show("log", -1, children)
    assert error.value.hint


def test_tensorboard_is_started_and_ended(tmp_path: Path) -> None:
    port = free_port()
    code = [
        "-m",
        "kinetoscope",
        "demo",
        "--samples",
        "--logdir",
        str(tmp_path),
        "--port",
        str(port),
    ]
    process = subprocess.Popen(
        [sys.executable, "-u", *code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert f"http://localhost:{port}/#" in line
        with urllib.request.urlopen(f"http://localhost:{port}/", timeout=30) as answer:
            assert answer.status == 200
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.strip()) == (130, "")
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://localhost:{port}/", timeout=5)


def test_the_samples_are_listed_with_what_they_show() -> None:
    done = run("demo", "--list")
    assert done.exit_code == 0
    for name in ("train_cpu", "train_ddp_cpu", "transformer", "compiled", "serving"):
        assert f"\n{name}: " in f"\n{done.stdout}"
    assert "train_cpu: The run waits for the DataLoader" in done.stdout
    assert "train_ddp_cpu: Rank 1 makes the others wait" in done.stdout
    assert "kinetoscope serve " in done.stdout


def test_without_samples_the_list_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinetoscope.cli.demo.SAMPLES", (tmp_path,))
    done = run("demo", "--list")
    assert done.exit_code == 6
    assert "no recorded samples are here" in done.stderr
