"""Tables on a terminal: they fit its width, cut nothing in silence, and can be had whole."""

from __future__ import annotations

import csv
import json
import os
import re
import socket
from io import StringIO
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kinetoscope.cli.render import TableLayout, drawn, name_parts, shortened_name, wrapped
from kinetoscope.cli.show import show
from kinetoscope.views import all_views
from kinetoscope.views.table import Column, Table
from tests.cli.runs import run
from tests.conftest import ROOT, TRACES, requires_traces
from tests.trace.drawn import kernel, launch, x
from tests.web.trace_files import write_trace

SAMPLE = ROOT / "samples" / "traces" / "train_cpu"
KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"
ROWS = {"operators": 683, "kernels": 682}
"""The launch call is a row of the operators, too."""


@pytest.fixture(scope="module", name="many")
def many_operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """682 operators, each of which launches a kernel of its own with a long name."""
    events = []
    for number in range(ROWS["kernels"]):
        at = 20 * number
        events += [
            x(f"aten::an_operator_with_a_long_name_{number}", at, 10, external_id=number + 1),
            launch(at + 1, 2, number + 1),
            kernel(KERNEL.replace("4", str(number), 1), at + 4, 5, correlation=number + 1),
        ]
    path = tmp_path_factory.mktemp("many") / "x.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def lines(table: Table, **layout: object) -> list[str]:
    """The table as text."""
    return [line.rstrip() for line, _ in drawn(table, TableLayout(**layout))]  # type: ignore[arg-type]


def test_quantities_have_a_unit_however_short_the_key() -> None:
    columns = (Column("ns", "Time"), Column("bytes", "Size"), Column("runs", "Runs"))
    head, row = lines(Table("", columns, ((2_500_000, 3 << 20, 7),)))[-2:]
    assert head.split() == ["Time", "(ms)", "Size", "(MiB)", "Runs"]
    assert row.split() == ["2.500", "3.000", "7"]


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of the first table of a CSV text."""
    first = text.split("\n\n", maxsplit=1)[0]
    return list(csv.DictReader(StringIO(first.partition("\n")[2] if first[0] == "#" else first)))


# --- nothing is cut in silence ------------------------------------------------------------------


@pytest.mark.parametrize("view", ["operators", "kernels"])
def test_csv_and_json_have_every_row(many: Path, view: str) -> None:
    answer = json.loads(run("show", view, many, "--format", "json").stdout)
    assert len(answer["table"]["rows"]) == ROWS[view]
    result = run("show", view, many, "--format", "csv", "--table", "1")
    assert (len(rows_of(result.stdout)), result.stderr) == (ROWS[view], "")


@pytest.mark.parametrize(("options", "shown"), [((), 25), (("--limit", "3"), 3)])
def test_a_table_says_how_many_rows_it_leaves_out(
    many: Path, options: tuple[str, ...], shown: int
) -> None:
    text = run("show", "operators", many, *options).stdout
    assert text.count("aten::an_operator") == shown + 1  # the sentence names the first
    assert f"{shown} of 683 rows, --limit for more" in text


def test_a_limit_may_be_larger_than_a_window_of_the_page(many: Path) -> None:
    text = run("show", "operators", many, "--limit", "5000").stdout
    assert text.count("aten::an_operator") == ROWS["kernels"] + 1
    assert "rows, --limit" not in text


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_limit_that_was_asked_for_is_said_beside_the_data(many: Path, form: str) -> None:
    result = run("show", "operators", many, "--format", form, "--limit", "3")
    assert "3 of 683 rows" in result.stderr


TABLE = Table(
    "t",
    (
        Column("name", "Name", kind="name"),
        *(Column(f"column_{number}_ns", f"Column {number}") for number in range(12)),
        Column("seldom", "Seldom", is_minor=True),
    ),
    tuple((KERNEL, *range(1_000, 1_012), 7) for _ in range(30)),
)


def test_columns_that_do_not_fit_are_named() -> None:
    text = lines(TABLE, width=80)
    hidden = " ".join(" ".join(text).partition("Not shown: ")[2].split())
    head = " ".join(text[1:4])
    for number in range(12):
        assert (f"column_{number}_ns" in hidden) is not bool(re.search(rf"\b{number}\b", head))
    assert "seldom" in hidden


def test_what_the_figures_are_held_against_is_said_below_the_table() -> None:
    table = Table("t", (Column("name", "Name", kind="name"),), (("a",),), note="Shares are of all.")
    assert lines(table)[-1] == "Shares are of all."


def test_named_columns_are_all_shown_below_each_other_if_need_be() -> None:
    text = lines(TABLE, width=60, columns=("all",))
    assert not any(line.startswith("Not shown") for line in text)
    assert sum("AddFunctor>" in line for line in text) > len(TABLE.rows)
    assert "Seldom" in " ".join(text)


def test_a_small_table_leaves_no_column_out() -> None:
    small = Table("t", TABLE.columns[:-1], tuple(row[:-1] for row in TABLE.rows[:3]))
    text = lines(small, width=80)
    assert not any(line.startswith("Not shown") for line in text)


def test_columns_of_one_name_are_chosen_for_all_formats(many: Path) -> None:
    wanted = ("--columns", "name,p95_ns", "--table", "1")
    text = run("show", "operators", many, *wanted, "--limit", "1").stdout
    assert "p95" in text
    assert "Self" not in text
    (first, *_) = rows_of(run("show", "operators", many, *wanted, "--format", "csv").stdout)
    assert list(first) == ["name", "p95_ns"]
    wrong = run("show", "operators", many, "--columns", "nmae")
    assert wrong.exit_code == 2
    assert "did you mean name?" in wrong.stderr


# --- it fits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("view", ["operators", "kernels"])
def test_one_line_a_row_within_the_width(many: Path, view: str, width: int) -> None:
    text = run("show", view, many, "--width", width, "--limit", 30, "--table", 1).stdout
    assert all(cell_len(line) <= width for line in text.splitlines())
    names = ("aten::", "vec")
    assert sum(line.startswith(names) for line in text.splitlines()) == 30


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("view", [view.stem for view in all_views()])
def test_every_view_fits(
    many: Path, view: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    path = many if view in ("operators", "kernels") else SAMPLE
    for columns in ((), ("--columns", "all")):
        text = run("show", view, path, *columns).stdout
        assert [line for line in text.splitlines() if cell_len(line) > width] == []


@requires_traces
@pytest.mark.parametrize("view", [view.stem for view in all_views() if view.stem != "diff"])
def test_views_of_a_real_trace_fit(view: str) -> None:
    path = TRACES / "kineto_tb_samples" / "resnet50_num_workers_0"
    if view == "modules":  # of which that recording has none
        path = TRACES / "tracelens" / "mi300" / "resnet_act_checkpoint.json.gz"
    if view == "compile":  # of compiled code
        path = TRACES / "tracelens" / "inference" / "xdit_sd_3.5" / "profile_trace_rank_0.json.gz"
    if view == "distributed":  # of several ranks
        path = TRACES / "dlrm_8rank_v100"
    for width in (80, 120):
        text = run("show", view, path, "--width", width).stdout
        assert text
        assert [line for line in text.splitlines() if cell_len(line) > width] == []


def test_the_doctor_fits(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (many.parent / "notes.json").write_text("[]")
    for path in (many, many.parent):
        text = run("doctor", path).stdout
        assert [line for line in text.splitlines() if cell_len(line) > 80] == []


def test_names_of_steps_are_not_broken() -> None:
    columns = (Column("step", "Step"), *(Column(f"{c}_ns", "Exposed copy") for c in "abcdefghij"))
    text = lines(Table("t", columns, (("ProfilerStep#10", *range(10**8, 10**8 + 10)),)), width=80)
    assert any(line.startswith("ProfilerStep#10  ") for line in text)


def test_in_a_pipe_names_are_whole_where_that_is_wanted(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else they show what tells them apart, as in a terminal, and no ellipsis."""
    monkeypatch.delenv("COLUMNS", raising=False)
    text = run("show", "kernels", many, "--limit", 1).stdout
    assert KERNEL.partition("<")[0] not in text
    assert KERNEL.partition("<")[0].rpartition("::")[2] in text
    assert KERNEL.partition("<")[0] in run("show", "kernels", many, "--full-names").stdout


@given(st.text(), st.integers(2, 200))
def test_a_shortened_name_fits(name: str, width: int) -> None:
    assert cell_len(shortened_name(name, width)) <= width
    assert all(cell_len(line) <= width for line in wrapped(name, width))


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (200, KERNEL),
        (80, "at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)"),
        (40, "vectorized_elementwise_kernel<4, at::na…"),
        (20, "vectorized…se_kernel"),
    ],
)
def test_of_a_long_name_what_matters_stays(width: int, expected: str) -> None:
    assert shortened_name(KERNEL, width) == expected


@pytest.mark.parametrize(
    ("name", "before", "base", "after"),
    [
        ("aten::mm", "", "aten::mm", ""),
        ("enumerate(DataLoader)#_Iter.__next__", "", "enumerate(DataLoader)#_Iter.__next__", ""),
        ("/a/b/train.py(7): step", "/a/b/", "train.py(7): step", ""),
        ("(anonymous namespace)::f<int>(x)", "(anonymous namespace)::", "f", "<int>(x)"),
        (
            "e<((8)>(0)), void>::type v::ops::f<8>(x)",
            "e<((8)>(0)), void>::type v::ops::",
            "f",
            "<8>(x)",
        ),
        ("void at::native::f<int>(x)", "at::native::", "f", "<int>(x)"),
    ],
)
def test_names_are_parted_as_on_the_page(name: str, before: str, base: str, after: str) -> None:
    assert name_parts(name) == (before, base, after)


# --- what the command says about itself ---------------------------------------------------------


@pytest.mark.parametrize("view", [view.stem for view in all_views()])
def test_help_names_the_default_of_every_option(view: str) -> None:
    context = click.Context(show)
    command = show.get_command(context, view)
    assert command is not None
    for option in command.params:
        if isinstance(option, click.Option):
            text = (option.get_help_record(context) or ("", ""))[1]
            assert "[default: " in text, option.name
            assert text[0].isupper(), option.name
            assert not text.endswith("[default: ]"), option.name


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("show", "operators", "--group-by", "nmae"), "did you mean name"),
        (("show", "timeline", "--layout", "flat"), "merged, split"),
        (("show", "kernels", "--sort-by", "x"), "total_ns"),
        (("show", "operators", "--kinds", "x"), "annotation"),
        (("show", "operators", "--format", "xml"), "text, markdown, json, csv"),
        (("show", "operators", "--stack-depth", "99"), "a whole number from 1 to 64"),
        (("show", "operators", "--format", "jsn"), "did you mean json"),
        (("show", "operators", "--grp-by", "name"), "did you mean group by"),
        (("show", "operatros"), "did you mean operators"),
        (("show", "zzz"), "operators, kernels"),
        (("shwo",), "did you mean show"),
        (("zzz",), "show, doctor"),
    ],
)
def test_a_wrong_choice_is_told_the_allowed_ones(
    many: Path, arguments: tuple[str, ...], allowed: str
) -> None:
    result = run(*arguments, many)
    assert (result.exit_code, result.stdout) == (2, "")
    words = set(re.findall(r"\w+", allowed))
    assert words <= set(re.findall(r"\w+", result.stderr)), result.stderr
    assert len(result.stderr.splitlines()) == 1


# --- what is no file ----------------------------------------------------------------------------

REMOTE = ("s3://bucket/log", "gs://b/x.json", "az://c/log", "s3:/b/x")


@pytest.mark.parametrize("path", REMOTE)
@pytest.mark.parametrize("command", [("show", "overview"), ("doctor",), ("serve",)])
def test_a_remote_folder_without_its_library(
    command: tuple[str, ...], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetoscope.handlers.remote_address._is_installed", lambda _: False)
    result = run(*command, path)
    assert (result.exit_code, result.stdout) == (6, "")
    assert "is not installed" in result.stderr
    assert "pip install 'kinetoscope[" in result.stderr
    assert "spelling" not in result.stderr


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "x.pt.trace.json")
    assert run("show", "health", f"file://{path}").exit_code == 0


@pytest.mark.parametrize("command", [("show", "overview"), ("doctor",)])
def test_what_is_no_regular_file_is_refused_without_waiting(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    pipe, bound = tmp_path / "pipe.json", tmp_path / "s.json"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(bound))
        for path, what in ((pipe, "a pipe"), (bound, "a socket"), (Path("/dev/zero"), "a device")):
            result = run(*command, path)
            assert result.exit_code == 3
            assert f"This is {what}" in result.stdout + result.stderr


def test_a_link_to_nowhere_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "x.json").symlink_to(tmp_path / "gone.json")
    result = run("show", "overview", tmp_path / "x.json")
    assert result.exit_code == 4
    assert "a link to" in result.stderr
