"""From a name in a stack to a file: found in known directories, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.base.errors import NotFoundError, QueryError, UnavailableError
from kinetoscope.web.sources import (
    SHOW,
    Place,
    SourceRoots,
    parse_prefixes,
    source_roots,
    text_around,
)


@pytest.fixture(name="project")
def make_project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / "sub" / "train.py").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "secret.py").write_text("secret\n", encoding="utf-8")
    return project


def test_a_relative_name_is_looked_up_in_the_recorded_directories(project: Path) -> None:
    roots = source_roots([str(project.parent / "none"), str(project)], ())
    place = roots.find("sub/train.py")
    assert place == Place((project / "sub" / "train.py").resolve(), project.resolve())
    assert roots.find("train.py") is None


def test_a_prefix_of_another_machine_is_replaced(project: Path) -> None:
    prefixes = (("/workspace", str(project)),)
    roots = source_roots(["/workspace/sub"], prefixes)
    for name in ("/workspace/sub/train.py", "train.py", "sub/train.py"):
        place = roots.find(name)
        assert place is not None, name
        assert place.path == (project / "sub" / "train.py").resolve()
    assert roots.find("/workspaces/sub/train.py") is None
    assert roots.guess("/workspace/other.py") == f"{project}/other.py"


@pytest.mark.parametrize(
    "name",
    ["../secret.py", "sub/../../secret.py", "/etc/passwd", "", "sub", "sub/train.py\0", "a" * 5000],
)
def test_nothing_outside_is_found(project: Path, name: str) -> None:
    assert SourceRoots((project.resolve(),)).find(name) is None


def test_a_link_that_leads_outside_is_not_followed(project: Path) -> None:
    (project / "link.py").symlink_to(project.parent / "secret.py")
    assert SourceRoots((project.resolve(),)).find("link.py") is None


def test_the_root_of_the_file_system_is_no_source_directory() -> None:
    roots = source_roots(["/", "relative"], ())
    assert Path("/") not in roots.roots
    assert all(root.is_absolute() for root in roots.roots)


def test_texts_are_shown_only_where_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(project / "sub" / "train.py", project)
    monkeypatch.delenv(SHOW, raising=False)
    with pytest.raises(UnavailableError):
        text_around(place, 2, 10)
    monkeypatch.setenv(SHOW, "1")
    assert text_around(place, 2, 10) == (1, ("one", "two", "three"))
    assert text_around(place, 3, 2) == (2, ("two", "three"))
    with pytest.raises(NotFoundError):
        text_around(Place(project / "none.py", project), 1, 3)


def test_a_map_of_prefixes() -> None:
    home = str(Path.home())
    assert parse_prefixes("/a=/b; /c=~/d;") == (("/a", "/b"), ("/c", f"{home}/d"))
    with pytest.raises(QueryError):
        parse_prefixes("/a")
