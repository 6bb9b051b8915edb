"""From a name in a stack to a place for an editor, and to text: of the user's directories only.

What a recording says of directories is text. Nothing that it names is looked for on the disk unless
the user told the server to show sources, and then only below directories that the user named.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import Client

from kinetoscope.base.errors import NotFoundError, QueryError
from kinetoscope.session.catalog import facts_catalog
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.views import all_views
from kinetoscope.web.app import create_app
from kinetoscope.web.source_files import (
    MOST_FILE_BYTES,
    PREFIXES,
    SHOW,
    editor_path,
    excerpt,
    parse_prefixes,
)
from tests.waiting import wait_for

# --- a path for an editor -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "directory", "path"),
    [
        ("sub/train.py", "/workspace", "/workspace/sub/train.py"),
        ("/data/train.py", "/workspace", "/data/train.py"),
        (r"sub\train.py", r"C:\jobs", r"C:\jobs\sub\train.py"),
        (r"C:\jobs\train.py", "", r"C:\jobs\train.py"),
        ("../x.py", "/workspace/a", "/workspace/x.py"),
        # No invented path:
        ("train.py", "", ""),
        ("train.py", "relative/directory", ""),
        ("torch/nn/modules/module.py", "/workspace", ""),
        ("threading.py", "/workspace", ""),
        ("<frozen importlib._bootstrap>", "/workspace", ""),
        ("train.py\0", "/workspace", ""),
        ("train.py\n", "/workspace", ""),
        ("train.py", "/workspace\0", ""),
        ("a" * 5000, "/workspace", ""),
        # Opened on Windows, a share sends the user's name and password to its machine.
        ("//evil/share/x.py", "/workspace", ""),
        (r"\\evil\share\x.py", "/workspace", ""),
        ("x.py", r"\\evil\share", ""),
    ],
)
def test_an_editors_path_is_text(name: str, directory: str, path: str) -> None:
    assert editor_path(name, directory, ()) == path


def test_a_prefix_of_another_machine_is_replaced() -> None:
    prefixes = parse_prefixes(r"/workspace=/home/me/src;torch=/opt/torch;C:\jobs=/home/me/jobs")
    assert editor_path("/workspace/sub/x.py", "", prefixes) == "/home/me/src/sub/x.py"
    assert editor_path("sub/x.py", "/workspace", prefixes) == "/home/me/src/sub/x.py"
    assert editor_path("/workspaces/x.py", "", prefixes) == "/workspaces/x.py"
    assert editor_path("torch/nn/x.py", "/workspace", prefixes) == "/opt/torch/nn/x.py"
    assert editor_path(r"sub\x.py", r"C:\jobs", prefixes) == "/home/me/jobs/sub/x.py"


def test_a_map_of_prefixes() -> None:
    home = str(Path.home())
    assert parse_prefixes("/a=/b; /c=~/d;") == (("/a", "/b"), ("/c", f"{home}/d"))
    for wrong in ("/a", "=/b", "/a=", "/=/b"):
        with pytest.raises(QueryError):
            parse_prefixes(wrong)


# --- a file of this machine -----------------------------------------------------------------------


@pytest.fixture(name="project")
def make_project(tmp_path: Path) -> Path:
    """A directory of the user with one source, and a secret beside it."""
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / "sub" / "train.py").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "secret.py").write_text("secret\n", encoding="utf-8")
    return project


def lines_of(name: str, root: Path, directory: str = "") -> tuple[str, ...] | None:
    """The text of a file, with one root."""
    found = excerpt(name, directory, (), root, 1, 10)
    return None if found is None else found.lines


def test_lines_around_a_line(project: Path) -> None:
    for name in ("sub/train.py", str(project / "sub" / "train.py")):
        assert lines_of(name, project) == ("one", "two", "three")
    found = excerpt("sub/train.py", "", (), project, 3, 2)
    assert found is not None
    assert (found.path, found.first, found.lines) == (
        str((project / "sub" / "train.py").resolve()),
        2,
        ("two", "three"),
    )
    mapped = excerpt("train.py", "/job/sub", (("/job", str(project)),), None, 1, 1)
    assert mapped is not None
    assert mapped.lines == ("one",)


@pytest.mark.parametrize(
    "name",
    [
        *("../secret.py", "sub/../../secret.py", "sub/../../project/../secret.py"),
        *("", ".", "sub", "/", "sub/train.py\0", "sub/train.py/", "sub/train.py/x.py"),
        *("a" * 300 + ".py", "a/" * 1500 + "x.py", "a" * 5000, "\udcff.py", "sub\\train.py"),
        *("%2e%2e/secret.py", "..%2fsecret.py", "/proc/self/environ", "/dev/zero", "~/x.py"),
    ],
)
def test_nothing_else_is_found(project: Path, name: str) -> None:
    assert lines_of(name, project) is None
    assert lines_of(name, project, str(project.parent)) is None
    assert lines_of(str(project.parent / "secret.py"), project) is None


@given(st.text(max_size=60) | st.text(alphabet="./\\a~%\0 secrtpy", max_size=60))
def test_whatever_the_name_the_answer_is_a_file_below_the_root_or_none(name: str) -> None:
    root = Path(__file__).parent
    found = None
    try:
        found = excerpt(name, "/", (), root, 1, 1)
    except NotFoundError:
        return
    assert found is None or Path(found.path).is_relative_to(root.resolve())


def test_links_are_followed_before_a_place_is_judged(project: Path) -> None:
    (project / "out.py").symlink_to(project.parent / "secret.py")
    (project / "folder").symlink_to(project.parent)
    (project / "loop.py").symlink_to(project / "loop.py")
    (project / ".env").write_text("KEY=1\n", encoding="utf-8")
    (project / "env.py").symlink_to(project / ".env")
    (project / "in.py").symlink_to(project / "sub" / "train.py")
    for name in ("out.py", "folder/secret.py", "loop.py", "env.py", ".env"):
        assert lines_of(name, project) is None, name
    assert lines_of("in.py", project) == ("one", "two", "three")
    linked = project.parent / "linked"
    linked.symlink_to(project)
    assert lines_of("sub/train.py", linked) == ("one", "two", "three")


def test_only_regular_files_of_text_and_of_a_bounded_size(project: Path) -> None:
    os.mkfifo(project / "pipe.py")  # opened carelessly, it would wait for ever
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(project / "socket.py"))
    for name in ("pipe.py", "socket.py"):
        assert lines_of(name, project) is None
    (project / "binary.py").write_bytes(b"x = 1\n\0")
    (project / "latin.py").write_bytes(b"\xe9\n")
    with (project / "huge.py").open("wb") as huge:
        huge.truncate(MOST_FILE_BYTES + 1)
    for name in ("binary.py", "latin.py", "huge.py"):
        with pytest.raises(NotFoundError):
            lines_of(name, project)
    (project / "long.py").write_text("x" * 10_000 + "\r\n\ufeffy", encoding="utf-8-sig")
    assert lines_of("long.py", project) == ("x" * 2000, "\ufeffy")


def test_the_root_of_the_file_system_is_no_source_directory(project: Path) -> None:
    name = str(project / "sub" / "train.py")
    assert lines_of(name, Path("/")) is None
    assert excerpt(name, "", (("/x", "/"),), Path("relative"), 1, 1) is None
    assert excerpt(name, "", (("/x", "."), ("/", "/")), None, 1, 1) is None


# --- the address ----------------------------------------------------------------------------------


def frame(name: str) -> dict[str, object]:
    """A Python frame as the tracer writes it."""
    return {
        "ph": "X",
        "cat": "python_function",
        "name": name,
        "pid": 1,
        "tid": 1,
        "ts": 1,
        "dur": 9,
    }


@pytest.fixture(name="site")
def make_site(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A server started in the project; the recording claims directories that are not the user's."""
    outside = project.parent
    named = ["sub/train.py", "secret.py", "gone.py", "../secret.py", f"{outside}/secret.py"]
    op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 2, "dur": 3}
    trace = {
        "kinetoscope": {"cwd": str(outside), "source_roots": [str(outside), "/etc"]},
        "traceEvents": [
            *(frame(f"{name}(2): step") for name in named),
            op | {"args": {"Call stack": "written.py(3): f;sub/train.py(1): g"}},
        ],
    }
    logdir = project.parent / "logs"
    logdir.mkdir()
    (logdir / "w0.pt.trace.json").write_text(json.dumps(trace), encoding="utf-8")
    (project / "written.py").write_text("written\n", encoding="utf-8")
    (project / "other.py").write_text("of no frame\n", encoding="utf-8")
    monkeypatch.chdir(project)
    monkeypatch.delenv(PREFIXES, raising=False)
    monkeypatch.delenv(SHOW, raising=False)
    with facts_catalog(resolve((str(logdir),), None)) as catalog:
        client = Client(create_app(catalog, all_views(), "standalone"))
        monkeypatch.chdir(outside)  # what counts is where the server was started
        wait_for(lambda: client.get("/api/source?file=x").status_code == 200)
        yield client


def asked(site: Client, file: str) -> dict[str, object]:
    """The answer about a file, once the columns are there."""
    query = {"file": file, "line": "1"}
    wait_for(lambda: site.get("/api/source", query_string=query).status_code != 202)
    response = site.get("/api/source", query_string=query)
    assert response.status_code == 200, response.get_data(as_text=True)
    body: dict[str, object] = response.get_json()
    return body


def test_without_reading_nothing_tells_which_files_exist(
    site: Client, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = threading.get_ident()
    asked_disk = []

    def noted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            if threading.get_ident() == asking:
                asked_disk.append(args)
            return real(*args, **options)

        return call

    wanted = ("secret.py", "gone.py", "sub/train.py", "../../etc/shadow", "/etc/shadow", "/none")
    answers = {}
    with monkeypatch.context() as patch:
        for name in ("stat", "lstat", "open", "readlink", "scandir", "listdir"):
            patch.setattr(os, name, noted(getattr(os, name)))
        for name in wanted:
            answers[name] = asked(site, name)
    assert asked_disk == []
    assert answers["secret.py"]["path"] == str(project.parent / "secret.py")
    for name in wanted:
        assert {**answers[name], "path": ""} == {**answers["gone.py"], "path": ""}
        assert answers[name]["lines"] == []
        assert answers[name]["found"] is False


def test_with_reading_only_files_of_frames_below_the_users_roots(
    site: Client, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SHOW, "1")
    assert asked(site, "sub/train.py")["lines"] == ["one", "two", "three"]
    assert asked(site, "written.py")["lines"] == ["written"]
    nowhere = asked(site, "gone.py")
    assert nowhere["found"] is False
    assert nowhere["path"] == ""
    outside = str(project.parent / "secret.py")
    for name in ("secret.py", "../secret.py", outside, "other.py", "/etc/passwd", "gone2.py"):
        assert asked(site, name) == nowhere, name
    monkeypatch.setenv(PREFIXES, f"{project.parent}={project.parent}")  # now the user says so
    assert asked(site, outside)["lines"] == ["secret"]
