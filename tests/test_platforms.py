"""Windows and macOS, where neither is at hand: what POSIX alone has is asked for before it is used.

The source is searched for names that some system lacks; each stands in a function, or below a
condition, that asks for the system first. What such a branch does is tested with a fake of the
system's answer, here and beside the module; docs/platforms.md lists both.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinetoscope.ask.sql import _memory_bounded
from kinetoscope.handlers import writer
from kinetoscope.store.cache import beside
from kinetoscope.store.ingest import resources, worker
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
    monkeypatch.delattr(os, "getuid")
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
