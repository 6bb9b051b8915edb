"""`kinetoscope show`: one view, three formats, one trace."""

from __future__ import annotations

import csv
import json
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kinetoscope.cli import show as show_module
from kinetoscope.cli.show import COMMON
from kinetoscope.views import all_views
from kinetoscope.views.overview import view as overview
from tests.cli.runs import run, write_logdir
from tests.conftest import ROOT, TRACES, requires_traces
from tests.web.trace_files import write_trace

SAMPLE = ROOT / "samples" / "traces" / "train_cpu"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Three steps of 100, 150 and 100 µs."""
    return write_trace(tmp_path / "x.pt.trace.json")


def steps_of(answer: dict[str, Any]) -> list[int]:
    """Lengths of the chosen steps."""
    return [step["dur_ns"] for step in answer["steps"] if step["chosen"]]


# --- formats ------------------------------------------------------------------------------------


def test_json_is_the_answer_of_the_page(trace: Path) -> None:
    result = run("show", "overview", trace, "--format", "json")
    assert result.exit_code == 0
    answer = msgspec.json.decode(result.stdout, type=overview.Overview)
    assert [step.dur_ns for step in answer.steps] == [100_000, 150_000, 100_000]


def test_csv_is_in_base_units_with_the_unit_in_the_name(trace: Path) -> None:
    result = run("show", "overview", trace, "--format", "csv", "--table", "3")
    rows = list(csv.DictReader(StringIO(result.stdout)))
    assert [row["dur_ns"] for row in rows] == ["100000", "150000", "100000"]
    parts = [key for key in rows[0] if key.endswith("_ns") and key != "dur_ns"]
    for row in rows:
        assert sum(int(row[part]) for part in parts) == int(row["dur_ns"])


def test_several_tables_in_csv_are_told_apart(trace: Path) -> None:
    text = run("show", "overview", trace, "--format", "csv").stdout
    tables = text.split("\n\n")
    assert len(tables) == 10
    assert all(table.startswith("# ") for table in tables)


def test_a_table_opens_with_the_answer_in_words(trace: Path) -> None:
    plain = run("show", "overview", trace).stdout
    answer = json.loads(run("show", "overview", trace, "--format", "json").stdout)
    assert plain.splitlines()[0] == answer["sentence"]["headline"].replace("\u00a0", " ")
    assert "Step time breakdown" in plain


def test_a_pipe_gets_plain_text_in_whole_lines(trace: Path) -> None:
    text = run("show", "overview", trace).stdout
    assert "\x1b" not in text
    assert "\u00a0" not in text
    assert not any(line != line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_the_same_call_gives_the_same_bytes(trace: Path, form: str) -> None:
    first, second = (run("show", "health", trace, "--format", form).stdout for _ in range(2))
    assert first == second


WITHOUT_A_DEVICE = [
    view.stem for view in all_views() if view.stem != "kernels" and view.among is None
]
"""The views that a training of one process on a CPU fills."""


@pytest.mark.parametrize("view", WITHOUT_A_DEVICE)
def test_every_view_shows_a_recorded_training(view: str) -> None:
    for form in ("table", "json", "csv"):
        sample = SAMPLE.with_name("compiled") if view == "compile" else SAMPLE
        result = run("show", view, sample, "--format", form)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout


# --- options of the view ------------------------------------------------------------------------


def test_the_query_of_the_view_is_its_options(trace: Path) -> None:
    result = run("show", "overview", trace, "--format", "json", "--steps", "1")
    assert steps_of(json.loads(result.stdout)) == [150_000]


def test_help_explains_the_options_in_the_words_of_the_query() -> None:
    text = run("show", "overview", "--help").stdout
    assert "--steps" in text
    assert "all but warm-up" in " ".join(text.split())


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--device", "x"), "there is no device 'x' (Devices: cuda:0)"),
        (("--device", "7"), "there is no device '7' (Devices: cuda:0)"),
        (("--steps", "x"), "is no step"),
        (("--steps", "9"), "there is no step 9"),
        (("--table", "99"), "there is no table 99"),
    ],
)
def test_an_option_without_a_meaning_is_misuse(
    trace: Path, option: tuple[str, str], words: str
) -> None:
    result = run("show", "overview", trace, *option)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_no_field_of_a_query_hides_an_option_of_the_command() -> None:
    for view in all_views():
        assert not {*view.query.__struct_fields__} & {*COMMON}


# --- which trace --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "path", "others"),
    [
        ((), "new/rank0.1700000060000", 3),
        (("--run", "old"), "old/host_1", 0),
        (("--run", "new"), "new/rank0.1700000060000", 2),
        (("--run", "new", "--worker", "rank1"), "new/rank1.1700000000000", 0),
        (("--run", "new", "--worker", "rank0", "--span", "1"), "new/rank0.1700000000000", 0),
    ],
)
def test_below_a_folder_one_trace_is_chosen_and_said(
    tmp_path: Path, options: tuple[str, ...], path: str, others: int
) -> None:
    logdir = write_logdir(tmp_path / "log")
    result = run("show", "health", logdir, "--format", "json", *options)
    assert result.exit_code == 0
    assert path in json.loads(result.stdout)["recording"]["File"]
    assert bool(result.stderr) is bool(others)
    if others:
        assert f"{others} other trace" in result.stderr


def test_a_run_is_a_folder_too(tmp_path: Path) -> None:
    logdir = write_logdir(tmp_path / "log")
    result = run("show", "health", logdir / "old", "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--run", "nwe"), "There is: new"),
        (("--worker", "rank7"), "There is: "),
        (("--span", "9"), "There is: "),
    ],
)
def test_a_name_that_is_not_there_is_told_the_nearest(
    tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    result = run("show", "health", write_logdir(tmp_path / "log"), *options)
    assert result.exit_code == 4
    assert words in result.stderr


def test_names_with_a_file_are_misuse(trace: Path) -> None:
    result = run("show", "health", trace, "--run", "x")
    assert result.exit_code == 2
    assert "is one file" in result.stderr


# --- exit codes ---------------------------------------------------------------------------------


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    result = run("show", "health", tmp_path / "nothing.json")
    assert result.exit_code == 4
    assert "there is no file or folder" in result.stderr


def test_a_folder_without_traces_leads_to_the_doctor(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    result = run("show", "health", tmp_path)
    assert result.exit_code == 4
    assert "kinetoscope doctor" in result.stderr


@pytest.mark.parametrize("content", [b"", b"<!doctype html>", b"{}", b"\x1f\x8b", b"\x00" * 64])
def test_a_file_that_is_no_trace(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    result = run("show", "health", path)
    assert (result.exit_code, result.stdout) == (3, "")
    assert len(result.stderr.splitlines()) == 1


def test_a_view_that_the_trace_cannot_fill(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(overview.VIEW, unavailable=lambda _: "not available, because …")
    monkeypatch.setattr(show_module, "view_named", lambda _: absent)
    result = run("show", "overview", trace)
    assert result.exit_code == 6
    assert "not available" in result.stderr


@pytest.mark.parametrize("arguments", [("overview",), ("nothing", "x"), ("overview", "a", "b")])
def test_misuse(arguments: tuple[str, ...]) -> None:
    result = run("show", *arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


# --- hostile traces -----------------------------------------------------------------------------

ESCAPES = "\x1b[2J\x1b]0;title\x07\u202e\u2028\r[red]bold[/red]<script>"


def test_texts_of_a_trace_move_no_cursor(tmp_path: Path) -> None:
    path = tmp_path / "log" / "run\x1b[31m" / "host\x07_1.pt.trace.json"
    write_trace(path, op=ESCAPES)
    write_trace(path.with_name("z_2.pt.trace.json"))
    for arguments in (("show", "overview"), ("show", "health"), ("doctor",)):
        result = run(*arguments, tmp_path / "log")
        for text in (result.stdout, result.stderr):
            assert not set(text) & {"\x1b", "\x07", "\r", "\u202e", "\u2028"}


def test_json_holds_no_control_characters_and_the_same_names(tmp_path: Path) -> None:
    """A terminal obeys U+009B as it does an escape; both are written as escapes of JSON."""
    name = f"op\x9b31m\x7f{ESCAPES}"
    path = write_trace(tmp_path / "x.pt.trace.json", op=name)
    text = run("show", "operators", path, "--format", "json").stdout
    assert not set(text) & {"\x1b", "\x9b", "\x7f", "\x07", "\r", "\u202e", "\u2028"}
    assert json.dumps(name) in json.dumps(json.loads(text))


COMMANDS_WITH_JSON = (("show", "overview"), ("show", "health"), ("advise",), ("doctor",))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux alone")
@pytest.mark.parametrize("below", ["", "run\udcff"])
@pytest.mark.parametrize("command", COMMANDS_WITH_JSON, ids=" ".join)
def test_a_name_that_is_no_text_is_written_out(
    tmp_path: Path, command: tuple[str, ...], below: str
) -> None:
    path = write_trace(tmp_path / "log" / below / "x\udcff\udcfe.pt.trace.json")
    for form in ("json", "table"):
        for asked in (path, path.parent):
            result = run(*command, asked, "--format", form)
            assert result.exit_code == 0
            result.stdout.encode()
    both = run("diff", path, path, "--format", "json")
    assert json.loads(both.stdout)["diff"]
    assert run("ingest", path.parent, "--format", "json", "--workers", "1").exit_code == 0


def test_an_error_names_the_file_it_is_about(tmp_path: Path) -> None:
    whole = write_trace(tmp_path / "log" / "x.pt.trace.json")
    empty = tmp_path / "empty.json"
    empty.write_bytes(b"")
    for arguments in (("show", "overview", empty), ("diff", whole, empty), ("check", empty, whole)):
        said = run(*arguments).stderr
        assert said.startswith(f"kinetoscope: {empty}: The file is empty (")
    alone = run("doctor", empty).stdout
    assert alone.count(str(empty)) == 1  # the row says which file it is


@requires_traces
@pytest.mark.parametrize("name", ["container/utf16.json", "syntax/lone_surrogate_escape.json"])
def test_odd_files_are_shown_or_refused_but_never_crash(name: str) -> None:
    for form in ("table", "json", "csv"):
        result = run("show", "health", TRACES / "derived_oddities" / name, "--format", form)
        assert result.exit_code in {0, 3}
