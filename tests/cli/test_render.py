"""What a terminal gets and a pipe does not: a progress bar, and control characters written out."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from kinetoscope.cli.render import progress_bar, write_csv
from kinetoscope.trace.raw import Progress
from kinetoscope.views.table import Column, Table


class Terminal(StringIO):
    """A text stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


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


@pytest.mark.parametrize(("out", "told"), [(Terminal(), "a\\x1b[2Jb"), (StringIO(), "a\x1b[2Jb")])
def test_csv_moves_no_cursor_and_changes_nothing_in_a_file(out: StringIO, told: str) -> None:
    write_csv([Table("t", (Column("name", "Name", "text"),), (("a\x1b[2Jb",),))], out)
    assert out.getvalue() == f"name\n{told}\n"
