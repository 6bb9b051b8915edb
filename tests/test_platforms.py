"""Windows and macOS, where neither is at hand: what POSIX alone has is asked for before it is used.

The source is searched for names that some system lacks; each stands in a function, or below a
condition, that asks for the system first. What such a branch does is tested with a fake of the
system's answer, here and beside the module; docs/platforms.md lists both.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import spawn
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kinetoscope.ask.sql import _memory_bounded
from kinetoscope.base import machine
from kinetoscope.cli import demo
from kinetoscope.handlers import background, process, remote_writer, writer
from kinetoscope.store.cache import beside, location
from kinetoscope.store.cache.content_key import open_regular
from kinetoscope.store.discovery import walk
from kinetoscope.store.ingest import child, resources, worker
from kinetoscope.trace import compile_record
from kinetoscope.web import embed, source_files
from kinetoscope.web.serve import Address, _bind
from tests.conftest import ROOT

POSIX_ALONE = frozenset(
    [
        "chown",
        "fork",
        "geteuid",
        "getloadavg",
        "getpgid",
        "getrlimit",
        "getuid",
        "killpg",
        "madvise",
        "mkfifo",
        "nice",
        "pread",
        "register_at_fork",
        "sched_getaffinity",
        "setitimer",
        "setrlimit",
        "setsid",
        "statvfs",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "SIGALRM",
        "SIGHUP",
        "SIGKILL",
        "SIGUSR1",
        "SIGUSR2",
    ]
)
MODULES = frozenset({"fcntl", "grp", "pty", "pwd", "resource", "termios"})
ASKED = re.compile(r"os\.name|sys\.platform|hasattr\(|getattr\(|AttributeError|ImportError")
ASKED_BEFORE = {("tb_plugin/store/cache/beside.py", "_is_private"): "why_untrusted returned before"}
"""File and function → why it need not ask."""


def unasked(source: str) -> Iterator[tuple[str, str]]:
    """Function and name of each use that nothing around asks for the system."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        names: set[str] = set()
        if isinstance(node, ast.Attribute):
            names = {node.attr} & POSIX_ALONE
        elif isinstance(node, ast.Import):
            names = {one.name for one in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = {node.module or ""} & MODULES
        if not names:
            continue
        around, function = node, ""
        is_asked = False
        while around in parents:
            around = parents[around]
            if isinstance(around, ast.FunctionDef | ast.If | ast.Try | ast.IfExp):
                is_asked |= ASKED.search(ast.get_source_segment(source, around) or "") is not None
            if isinstance(around, ast.FunctionDef) and not function:
                function = around.name
        if not is_asked:
            yield function, min(names)


def test_what_a_system_may_lack_is_asked_for() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), function)
        for folder in ("tb_plugin", "handlers")
        for path in (ROOT / folder).rglob("*.py")
        for function, _ in unasked(path.read_text("utf-8"))
    }
    assert found == set(ASKED_BEFORE)


SEARCHES = {
    "test_a_use_that_nobody_asked_for_is_found",
    "test_every_branch_is_listed_with_its_test",
}


def test_every_branch_is_listed_with_its_test() -> None:
    """docs/platforms.md names tests that are there, and all of this module."""
    page = (ROOT / "docs/platforms.md").read_text("utf-8")
    named = re.findall(r"^\|.*\| `(test_\w+)` \|$", page, re.MULTILINE)
    everywhere = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert set(named) <= set(re.findall(r"^def (test_\w+)", everywhere, re.MULTILINE))
    here = re.findall(r"^def (test_\w+)", Path(__file__).read_text("utf-8"), re.MULTILINE)
    assert set(here) - SEARCHES <= set(named)


def test_a_use_that_nobody_asked_for_is_found() -> None:
    assert list(unasked("import os\ndef f():\n    return os.getuid()\n")) == [("f", "getuid")]
    asked = "import os\ndef f():\n    return os.getuid() if os.name == 'posix' else 0\n"
    assert list(unasked(asked)) == []
    assert list(unasked("import fcntl\n")) == [("", "fcntl")]


def test_without_users_a_file_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no ``os.getuid``: what a killed job left is cleared away there as well."""
    file = tmp_path / "left"
    file.touch()
    status = file.lstat()
    of_another = os.stat_result((*status[:4], status.st_uid + 1, *status[5:]))
    assert (writer._is_own_file(status), writer._is_own_file(of_another)) == (True, False)
    monkeypatch.delattr(os, "getuid", raising=False)
    assert writer._is_own_file(status)
    assert not writer._is_own_file(tmp_path.lstat()), "a folder is no file"


def test_without_links_no_file_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object) -> None:
        raise OSError(1, "this file system has no links")

    monkeypatch.setattr(os, "link", no_link)
    (tmp_path / "new").write_text("new")
    (tmp_path / "there").write_text("there")
    assert not writer._rename_to_new(tmp_path / "new", tmp_path / "there")
    assert (tmp_path / "there").read_text() == "there"
    assert writer._rename_to_new(tmp_path / "new", tmp_path / "free")
    assert (tmp_path / "free").read_text() == "new"


def test_windows_tells_no_owners_so_notes_beside_traces_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        said = beside.why_untrusted(tmp_path)
    assert "does not tell" in said


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_a_share_of_windows_is_known_by_its_path(
    monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert resources.is_shared_filesystem(r"\\server\logs\run")
    assert not resources.is_shared_filesystem("C:\\logs\\run")
    assert not resources.has_local_clock("C:\\logs\\run")


def test_without_limits_of_the_system_reading_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "resource", None)  # importing it raises
    worker.bound_cpu(1)
    with worker.bound_memory(1), _memory_bounded():
        assert bytearray(1 << 20)


def test_a_port_is_not_shared_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """There, SO_REUSEADDR would let a second server take the port of the first."""
    options: list[object] = []
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        windows.setattr("socket.socket.setsockopt", lambda *said: options.append(said))
        _bind(Address(), [0]).close()
    assert options == []


def never(*_: object) -> None:
    raise AssertionError("this system has no such call, or another meaning of it")


def test_a_listed_file_is_asked_again_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, size and time in a listing stay those of the time at which a file was opened."""
    file = tmp_path / "a.pt.trace.json"
    file.write_bytes(b"12")
    late = file.stat()
    file.write_bytes(b"12345")
    listed: Any = SimpleNamespace(name=file.name, path=str(file), stat=lambda: late)
    item = walk._Entry(listed, file.name, is_folder=False)
    posix = walk._file(item)
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        found = walk._file(item)
    assert posix is not None
    assert found is not None
    assert (posix.identity.bytes, found.identity.bytes) == (2, 5)


@pytest.mark.parametrize("system", sorted({"nt", os.name}))
def test_a_program_is_ended(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no process groups, the program alone."""
    done: list[str] = []
    groups = lambda *said: done.append(f"group {said[0]}")  # noqa: E731
    program = SimpleNamespace(
        pid=7,
        poll=lambda: None,
        wait=lambda _: done.append("wait"),
        terminate=lambda: done.append("terminate"),
    )
    with monkeypatch.context() as there:
        there.setattr(os, "name", system)
        there.setattr(os, "killpg", groups if system == "posix" else never, raising=False)
        demo._end(program)  # type: ignore[arg-type]
    expected = {"posix": ["group 7", "wait", "group 7"], "nt": ["terminate", "wait"]}
    assert done == expected[system]


def test_a_process_is_not_asked_for_by_a_signal_on_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There, ``os.kill`` with any number ends the process."""
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        windows.setattr(os, "kill", never)
        is_running = location._is_running(f"{location._SESSION}12345-ab")
    assert is_running, "its folder stays"


def test_a_folder_that_tells_no_owner_is_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        windows.setattr(os, "geteuid", never, raising=False)
        refused = location._prepare(tmp_path / "cache")
    assert refused == ""


def test_a_folder_of_what_could_not_be_sent_tells_no_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as windows:
        windows.setattr(remote_writer, "Path", type(tmp_path))
        windows.setattr("tempfile.gettempdir", lambda: str(tmp_path))
        windows.setattr(os, "name", "nt")
        windows.delattr(os, "geteuid", raising=False)
        folder = remote_writer._own_folder()
        folder.chmod(0o777)  # what Windows says of each folder
        assert remote_writer._own_folder() == folder
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    if os.name == "posix":
        folder.rename(folder.with_name(f"kinetoscope-sending-{os.geteuid()}"))
        with pytest.raises(PermissionError):
            remote_writer._own_folder()


def test_without_proc_no_process_is_known_to_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "Path", lambda said: tmp_path / str(said).strip("/"))
    mark = process.process_mark()
    assert mark.startswith(f"{process._NO_MACHINE}-{os.getpid()}-")
    assert not process.is_known(mark)
    assert not process.is_gone(mark)


@pytest.mark.parametrize(("system", "times"), [("linux", 1), ("darwin", 0), ("win32", 0)])
def test_a_thread_has_a_priority_of_its_own_on_linux_alone(
    system: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    with monkeypatch.context() as there:
        there.setattr(sys, "platform", system)
        there.setattr(os, "setpriority", lambda *said: asked.append(said), raising=False)
        there.setattr(os, "PRIO_PROCESS", 0, raising=False)
        background.Background()._run()  # without work it returns
    assert len(asked) == times


def test_a_reading_process_has_low_priority_and_no_window_on_windows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = child.__file__
    assert file is not None
    spec = importlib.util.spec_from_file_location("kinetoscope.store.ingest.on_windows", file)
    assert spec is not None
    assert spec.loader is not None
    there = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as windows:
        windows.setattr(sys, "platform", "win32")
        windows.setattr(subprocess, "CREATE_NO_WINDOW", 0x8000000, raising=False)
        windows.setattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0x4000, raising=False)
        windows.setitem(sys.modules, spec.name, there)
        spec.loader.exec_module(there)
    assert there._CREATION_FLAGS == 0x8004000
    assert child._CREATION_FLAGS == 0 or sys.platform == "win32"


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_the_python_of_a_reading_process_is_that_of_multiprocessing(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(spawn, "get_executable", lambda: "the framework's Python")
    assert child._python() == "the framework's Python"


@pytest.mark.parametrize(
    ("system", "has_one"), [("darwin", True), ("win32", True), ("linux", False)]
)
def test_a_screen_is_known_by_the_system(
    system: str, has_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert embed.has_screen() == has_one


def test_files_are_opened_without_what_windows_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, record = tmp_path / "a.py", tmp_path / "record"
    source.write_bytes(b"x = 1\r\n")
    record.write_bytes(b"\x1a\r\n")
    for name in ("O_NONBLOCK", "O_NOFOLLOW"):
        monkeypatch.delattr(os, name, raising=False)
    assert source_files._text(str(source)) == "x = 1\r\n"
    assert compile_record._bytes(record) == b"\x1a\r\n"
    with open_regular(record) as opened:
        assert opened.read() == b"\x1a\r\n"


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_a_file_without_a_name_is_that_of_tempfile(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as there:
        there.setattr(sys, "platform", system)
        with machine.temporary_file() as file:
            file.write(b"1")
            file.seek(0)
            assert file.read() == b"1"


def test_room_on_a_disk_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as windows:
        windows.setattr(sys, "platform", "win32")
        windows.setattr(os, "statvfs", never, raising=False)
        windows.setattr("shutil.disk_usage", lambda _: SimpleNamespace(total=9, used=2, free=7))
        assert machine.free_disk(tmp_path) == 7
