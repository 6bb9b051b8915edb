"""Reading on the command line: from the cache when it can, with a bar where somebody looks."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest

from kinetoscope.cli import reading
from kinetoscope.cli.reading import facts_of, progress_bar
from kinetoscope.trace.raw import Progress
from tests.cli.runs import run
from tests.web.trace_files import write_trace


class Terminal(StringIO):
    """A text stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_what_the_doctor_kept_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_trace(tmp_path / "log" / "run" / "x.pt.trace.json")
    assert run("doctor", tmp_path / "log").exit_code == 0
    monkeypatch.setattr(reading, "read", lambda *_: pytest.fail("it was read again"))
    assert [step.end_ns - step.start_ns for step in facts_of(str(path)).steps] == [
        100_000,
        150_000,
        100_000,
    ]


def test_a_pipe_sees_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with progress_bar("x.json") as on_progress:
        assert on_progress is None
    assert pipe.getvalue() == ""


@pytest.mark.parametrize("name", ["x.json", "[/red].json", "[bold]\x1b]0;title\x07.json"])
def test_the_bar_names_the_file_as_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress_bar(f"log/{name}") as on_progress:
        assert on_progress is not None
        on_progress(Progress("reading", 5, 10, 7))
    assert "\x1b]0;" not in terminal.getvalue()
