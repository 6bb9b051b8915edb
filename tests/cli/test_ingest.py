"""`kinetoscope ingest`: a logdir is read once, and the other commands find it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kinetoscope.trace import read as reader
from tests.cli.runs import run, write_logdir


def test_what_was_ingested_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir = write_logdir(tmp_path / "log")
    first = run("ingest", logdir, "--workers", "1", "--columns")
    assert first.exit_code == 0
    assert first.stdout.startswith("4 traces: 4 read.\n")
    assert "PYTHONSAFEPATH" not in os.environ  # a process started later imports as it did
    monkeypatch.setattr(reader, "read", lambda *_: pytest.fail("it was read again"))
    assert run("show", "overview", logdir).exit_code == 0


def test_what_failed_is_named_and_ends_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kinetoscope.cli import ingest
    from kinetoscope.session.ingest import IngestOutcome

    logdir = write_logdir(tmp_path / "log")

    def failing(tasks: object, *_: object) -> dict[str, IngestOutcome]:
        outcome = IngestOutcome("a.json", "failed", "It was killed.")
        return {"a.json": outcome}

    monkeypatch.setattr(ingest, "ingest_all", failing)
    result = run("ingest", logdir, "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["message"] == "It was killed."


@pytest.mark.skipif(os.name != "posix", reason="owner and mode are of POSIX systems")
def test_a_place_that_no_viewer_would_read_is_refused(tmp_path: Path) -> None:
    logdir = write_logdir(tmp_path / "log")
    logdir.chmod(0o777)
    result = run("ingest", logdir, "--cache", "beside")
    assert result.exit_code != 0
    assert f"{logdir} can be written by others" in result.stderr
    assert "--cache" in result.stderr
    assert not (logdir / ".kinetoscope").exists()


def test_a_folder_without_traces_says_so(tmp_path: Path) -> None:
    result = run("ingest", tmp_path)
    assert result.exit_code == 4
    assert "there is no trace below" in result.stderr


def test_a_scheduler_that_does_not_answer_is_said(tmp_path: Path) -> None:
    result = run("ingest", write_logdir(tmp_path / "log"), "--scheduler", "bad://address")
    assert result.exit_code == 6
    assert "no dask scheduler answers at bad://address" in result.stderr
