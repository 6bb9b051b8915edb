"""`kinetoscope open`: what a pasted link names is found below another folder, or refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qsl, quote

import pytest

from kinetoscope.base.errors import NotFoundError, QueryError
from kinetoscope.cli.open import MOST_CHARACTERS, found, values_of
from kinetoscope.session.session import choose
from kinetoscope.views import STEMS
from kinetoscope.views.view import TracePlace
from tests.cli.runs import run, write_logdir
from tests.web.trace_files import write_trace

ALONE = "http://far.example:6007/bob/?token=x#view=kernels&run=new&worker=rank0&steps=2-3"
BOARD = (
    "http://far.example:6006/?darkMode=true#pytorch_profiler&p.scalars.run=old"
    "&p.pytorch_profiler.view=memory&p.pytorch_profiler.run=a%20%23%26b&p.pytorch_profiler.worker=w"
)


def test_a_link_is_read_from_its_fragment() -> None:
    alone = {"view": "kernels", "run": "new", "worker": "rank0", "steps": "2-3"}
    assert values_of(ALONE) == alone
    assert values_of(BOARD) == {"view": "memory", "run": "a #&b", "worker": "w"}
    assert values_of("#run=new&worker=rank0&span=") == {"run": "new", "worker": "rank0"}


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:6007/?run=a&worker=b", "is no link"),
        ("http://127.0.0.1:6007/#view=kernels&run=a", "names no recording"),
        ("http://127.0.0.1:6007/#view=kernel&run=a&worker=b", "there is no view 'kernel'"),
        ("#run=a&worker=b&steps=%1b[2J", "unusual 'steps'"),
        ("#run=a&worker=b&%3Cb%3E=1", "unusual '<b>'"),
        ("#run=%ff&worker=b", "not UTF-8"),
    ],
)
def test_what_no_page_writes_is_refused(address: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        values_of(address)
    assert run("open", address).exit_code == 2


def test_a_link_has_a_longest_length() -> None:
    start = "#run=a&worker="
    longest = start + "b" * (MOST_CHARACTERS - len(start))
    assert values_of(longest)["run"] == "a"
    with pytest.raises(QueryError, match="16,384 characters"):
        values_of(longest + "b")


def test_the_recording_of_these_names_is_found_or_none(tmp_path: Path) -> None:
    logdir = str(write_logdir(tmp_path))
    names = {"run": "new", "worker": "rank0"}
    first, last = (found({**names, "span": span}, logdir) for span in ("1", "2"))
    assert (first.worker, last.worker, first.span != last.span) == ("rank0", "rank0", True)
    assert found(names, logdir) == last
    assert found({"run": "elsewhere", "worker": "rank1"}, logdir) == TracePlace("new", "rank1", "1")
    for missing in (
        {**names, "span": "9"},
        {"run": "x", "worker": "rank0"},
        {**names, "worker": "z"},
    ):
        with pytest.raises(NotFoundError):
            found(missing, logdir)
    with pytest.raises(QueryError, match="one file"):
        found(names, f"{logdir}/old/host_1.pt.trace.json")


AWKWARD = (
    "a b", "a#b", "100%", "50%25", "what?", "a&b=c", "+plus", "größe 日本", "it's (1)", "~x!*",
    r"C:\runs\new", "C:new", "nested/a b#c%d",
)  # fmt: skip


SAFE = "!'()*~"


def as_the_page_writes(values: Mapping[str, str]) -> str:
    """``encodeURIComponent`` of each key and value."""
    return "&".join(f"{key}={quote(value, safe=SAFE)}" for key, value in values.items())


@pytest.mark.parametrize("name", AWKWARD)
def test_each_view_of_an_awkward_path_is_found(tmp_path: Path, name: str) -> None:
    stem = name.rpartition("/")[2]
    try:
        write_trace(tmp_path / "log" / name / f"{stem}.1700000000000.pt.trace.json")
    except OSError:
        pytest.skip(f"this system has no file {name}")
    place = choose(str(tmp_path / "log")).place
    assert place is not None
    for view in STEMS:
        values = {"view": view, **place._asdict()}
        for start in ("http://far:6007/#", "http://far:6006/bob/?x=1#", "#"):
            read = values_of(start + as_the_page_writes(values))
            assert read == values
            assert found(read, str(tmp_path / "log")) == place
        inside = {f"p.pytorch_profiler.{key}": value for key, value in values.items()}
        assert values_of("#pytorch_profiler&" + as_the_page_writes(inside)) == values


@pytest.mark.parametrize("name", ["a b#c%d", "größe 日本", r"C:\runs"])
def test_what_it_prints_names_the_awkward_path_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    logdir = tmp_path / "log ? #1"
    write_trace(logdir / name / "w.1700000000000.pt.trace.json")
    place = choose(str(logdir)).place
    assert place is not None
    told: list[str] = []
    monkeypatch.setattr(
        "kinetoscope.cli.open.serve_page", lambda _, __, fragment, **___: told.append(fragment)
    )
    address = "#" + as_the_page_writes({"view": "memory", **place._asdict()})
    assert run("open", address, logdir).exit_code == 0
    (fragment,) = told
    assert values_of(fragment) == {"view": "memory", **place._asdict()}
    assert fragment.isascii()
    assert not set(fragment) & set(' "<>\\^`{|}')  # so that a terminal makes all of it a link


def test_it_serves_the_folder_and_prints_the_address(tmp_path: Path) -> None:
    write_logdir(tmp_path / "their")
    shutil.move(tmp_path / "their", tmp_path / "mine")
    command = [sys.executable, "-m", "kinetoscope.cli", "open", ALONE, str(tmp_path / "mine")]
    process = subprocess.Popen(
        [*command, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        page, _, fragment = line.split()[3].partition("#")
        assert page.startswith("http://127.0.0.1:")
        assert dict(parse_qsl(fragment)) == {
            "view": "kernels", "run": "new", "worker": "rank0", "span": "2", "steps": "2-3",
        }  # fmt: skip
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("more", "screen", "is_opened"),
    [((), True, True), ((), False, False), (("--no-browser",), True, False)],
)
def test_a_browser_opens_where_there_is_a_screen(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: Sequence[str],
    screen: bool,
    is_opened: bool,
) -> None:
    called: list[object] = []
    monkeypatch.setattr("kinetoscope.cli.open.has_screen", lambda: screen)
    monkeypatch.setattr(
        "kinetoscope.cli.open.serve_page", lambda *_, opens: called.append(opens is not None)
    )
    assert run("open", ALONE, write_logdir(tmp_path), *more).exit_code == 0
    assert called == [is_opened]
