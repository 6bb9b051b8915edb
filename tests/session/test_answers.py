"""Answers that are kept: found again, and only for the same question, file, code and settings."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct, structs

from kinetoscope.base.machine import user_folder
from kinetoscope.session import answers
from kinetoscope.session.session import FileSession
from kinetoscope.store.cache import content_key
from kinetoscope.views import view_named
from kinetoscope.views.view import Subject, View
from tests.cli.runs import run
from tests.web.trace_files import write_trace

OPERATORS = view_named("operators")


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A trace that is large enough to keep answers about it; nothing is kept yet."""
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(answers, "LEAST_BYTES", 0)
    return str(write_trace(tmp_path / "log" / "run" / "x.pt.trace.json"))


def counted(view: View) -> tuple[View, list[Struct]]:
    """The view, and the queries for which its answer was made."""
    made: list[Struct] = []

    def build(subject: Subject, query: Struct) -> Struct:
        made.append(query)
        return view.build(subject, query)

    return structs.replace(view, build=build), made


def test_the_same_question_is_answered_from_the_cache(path: str) -> None:
    view, made = counted(OPERATORS)
    first = FileSession(path).answer(view, view.query())
    again = FileSession(path).answer(view, view.query())
    assert len(made) == 1
    assert msgspec.json.encode(again) == msgspec.json.encode(first)
    assert view.tables(again) == view.tables(first)


def test_another_question_is_another_answer(path: str) -> None:
    view, made = counted(OPERATORS)
    for query in (view.query(), view.query(search="mm"), view.query(search="add")):
        answer = FileSession(path).answer(view, query)
        plain = view.build(FileSession(path).asked(view), query)
        assert msgspec.json.encode(answer) == msgspec.json.encode(plain)
    assert len(made) == 6


@pytest.mark.parametrize("change", ["file", "variable", "setting", "code", "damage"])
def test_what_an_answer_depends_on_makes_it_anew(
    path: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view, made = counted(OPERATORS)
    FileSession(path).answer(view, view.query())
    (kept,) = (tmp_path / "cache").rglob("answer.msgpack")
    if change == "file":
        file = Path(path)
        events = json.loads(file.read_text())
        events["traceEvents"] = events["traceEvents"][:-1]
        file.write_text(json.dumps(events))
    elif change == "variable":
        monkeypatch.setenv("KINETOSCOPE_THRESHOLDS", str(tmp_path / "limits.json"))
    elif change == "setting":
        folder = Path(user_folder("config"))
        folder.mkdir(parents=True)
        (folder / "device_peaks.json").write_text("{}")
    elif change == "code":
        monkeypatch.setattr(content_key, "code_version", lambda *_, root=None: str(root))
    else:
        kept.write_bytes(os.urandom(8))
    FileSession(path).answer(view, view.query())
    assert len(made) == 2


def test_a_small_file_keeps_none(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "LEAST_BYTES", os.path.getsize(path) + 1)
    FileSession(path).answer(OPERATORS, OPERATORS.query())
    assert not [*(tmp_path / "cache").rglob("answer.msgpack")]
    monkeypatch.setattr(answers, "LEAST_BYTES", os.path.getsize(path))
    FileSession(path).answer(OPERATORS, OPERATORS.query())
    assert [*(tmp_path / "cache").rglob("answer.msgpack")]


class _Declared(Struct):
    rows: tuple[Any, ...]
    ns: float = 0.0


class _Other(_Declared):
    more: int = 0


@pytest.mark.parametrize(
    "odd",
    [
        _Declared((1, None, "a"), 2),  # 2 would come back as 2.0
        _Other((1,), 2.0, more=3),
        _Declared((object(),)),
        _Declared(("\udcff",)),
        _Declared(("a" * answers.MOST_BYTES,)),
    ],
)
def test_what_would_not_come_back_as_it_is_is_not_kept(odd: _Declared) -> None:
    assert answers.packed(odd, _Declared) is None
    assert answers.packed(_Declared((1, None, "a"), 2.0), _Declared) is not None


def test_a_comparison_of_two_files_is_kept(path: str, tmp_path: Path) -> None:
    other = str(write_trace(tmp_path / "log" / "other" / "y.pt.trace.json"))

    def kept() -> int:
        return len([*(tmp_path / "cache").rglob("answer.msgpack")])

    def said(*more: str) -> Sequence[str]:
        done = run("diff", path, other, *more)
        assert done.exit_code == 0, done.output
        return done.output.splitlines()

    first = said()
    assert kept() == 1
    assert said() == first
    assert kept() == 1
    said("--budget", "0.5")
    assert kept() == 2
    said("--steps", "1")  # chosen steps are compared, and not kept
    assert kept() == 2
