"""What the user typed → the folders to look at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kinetoscope.store.discovery.walk import resolve


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("/runs", "/runs"),
        ("/runs/", "/runs"),
        ("/runs//a/../b", "/runs/b"),
        (" /runs ", "/runs"),
        ("~/runs", "/home/u/runs"),
        ("runs", "/work/runs"),
        ("./", "/work"),
        ("file:///runs", "/runs"),
        ("/a,b", "/a,b"),  # --logdir is one path
        ("/a:b", "/a:b"),
    ],
)
def test_a_logdir_is_one_absolute_path(
    typed: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.setattr(os, "getcwd", lambda: "/work")
    (one,) = resolve(typed, None)
    assert (one.path, one.name, one.problem) == (path, "", None)


@pytest.mark.parametrize("typed", [None, "", "  "])
def test_without_a_logdir_nothing_is_looked_at(typed: str | None) -> None:
    assert resolve(typed, typed) == ()


def test_the_path_does_not_follow_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (one,) = resolve("runs", None)
    monkeypatch.chdir("/")
    assert one.path == str(tmp_path / "runs")


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        ("/x/a", [("", "/x/a")]),
        ("good:/x/a", [("good", "/x/a")]),
        ("good:/x/a,bad:/x/b", [("good", "/x/a"), ("bad", "/x/b")]),
        ("good:/x/a:b", [("good", "/x/a:b")]),
        ("/foo:bar/baz", [("", "/foo:bar/baz")]),  # an absolute path has no name
        ("good:/x/a,/x/b", [("good", "/x/a"), ("b", "/x/b")]),
        ("/x/a,/y/a", [("x/a", "/x/a"), ("y/a", "/y/a")]),
        ("n:/x/a,n:/x/b", [("n (/x/a)", "/x/a"), ("n (/x/b)", "/x/b")]),
        ("/x/a,/x/a/", [("", "/x/a")]),
        ("/x/a,,", [("", "/x/a")]),
    ],
)
def test_a_specification_names_folders(specification: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.name, one.path) for one in resolve(None, specification)] == expected


@pytest.mark.parametrize("typed", ["s3://bucket/x", "gs://b", "hdfs://h:1/x"])
def test_a_remote_logdir_without_its_library_is_a_problem(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetoscope.handlers.remote_address._is_installed", lambda _: False)
    for (one,) in (resolve(typed, None), resolve(None, typed), resolve(None, f"name:{typed}")):
        assert (one.path, one.far) == ("", None)
        assert one.problem is not None
        assert "is not installed" in one.problem.message
        assert "pip install 'kinetoscope[" in one.problem.hint


def test_several_folders_given_one_by_one_get_names() -> None:
    assert [one.name for one in resolve(["/x/a", "/x/b"], None)] == ["a", "b"]
