"""What a terminal gets and a pipe does not: a progress bar, and control characters written out."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from kinetoscope.cli.render import progress_bar, tables_markdown, write_csv
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


@pytest.mark.parametrize("out", [Terminal(), StringIO()])
@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\\x09=1"),
        ("\r=1", "'\\x0d=1"),
        ("a=1", "a=1"),
        (-1, "-1"),
        (-0.5, "-0.5"),
    ],
)
def test_csv_runs_no_formula_and_moves_no_cursor(
    out: StringIO, cell: str | float, told: str
) -> None:
    out.truncate(0)
    out.seek(0)
    write_csv([Table("t", (Column("name", "Name", "text"),), ((cell,),))], out)
    assert out.getvalue() == f"name\n{told}\n"


def test_a_table_in_markdown_is_marked_once() -> None:
    """A bar in a name ends no cell; what is marked is not marked again."""
    table = Table("a_b", (Column("name", "Name"), Column("dur_ns", "T")), (("x|y_<b>", 1500),))
    assert tables_markdown([table]).splitlines() == [
        "**a\\_b**",
        "",
        "| Name | T (µs) |",
        "| --- | ---: |",
        "| x\\|y\\_&lt;b> | 1.500 |",
    ]
