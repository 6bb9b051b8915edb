"""When the native library is built, and that its absence stops nobody."""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import build_backend
import build_native

SOURCE = '#[no_mangle]\npub extern "C" fn answer() -> u32 {{\n    {}\n}}\n'

can_build = pytest.mark.skipif(
    build_native.find_cargo() is None or importlib.util.find_spec("setuptools_rust") is None,
    reason="cargo and setuptools-rust are needed: run `make native`",
)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the sources of a library that was never built."""
    native, folder = tmp_path / "native", tmp_path / "tb_plugin" / "native"
    (native / "src").mkdir(parents=True)
    folder.parent.mkdir()
    (native / "Cargo.toml").write_text(
        '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n'
        '[lib]\ncrate-type = ["cdylib"]\n'
    )
    (native / "Cargo.lock").write_text(
        'version = 3\n\n[[package]]\nname = "tiny"\nversion = "0.1.0"\n'
    )
    (native / "src/lib.rs").write_text(SOURCE.format(42))
    monkeypatch.setattr(build_native, "NATIVE", native)
    monkeypatch.setattr(build_native, "FOLDER", folder)
    monkeypatch.setattr(build_native, "STAMP", folder / ".build-stamp")
    monkeypatch.setattr(build_native, "NEW", folder / ".new-library")
    monkeypatch.delenv(build_native.SKIP_VARIABLE, raising=False)
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    return tmp_path


@pytest.fixture
def no_cargo(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without cargo."""
    monkeypatch.setenv("CARGO", "no-such-program")


@can_build
def test_a_library_is_built_and_then_left_alone(repository: Path) -> None:
    assert build_native.main([]) == 0
    assert build_native.is_built()
    assert ctypes.CDLL(str(build_native.library())).answer() == 42
    built = build_native.library().stat().st_mtime_ns
    assert build_native.main([]) == 0
    assert build_native.library().stat().st_mtime_ns == built


@can_build
def test_a_library_in_use_is_replaced_and_not_overwritten(repository: Path) -> None:
    build_native.build()
    in_use = ctypes.CDLL(str(build_native.library()))
    (repository / "native/src/lib.rs").write_text(SOURCE.format(43))
    assert build_native.is_stale()
    assert build_native.main([]) == 0
    assert build_native.is_built()
    assert in_use.answer() == 42
    assert {path.name for path in build_native.FOLDER.iterdir()} == {
        build_native.library().name,
        build_native.STAMP.name,
    }


@can_build
def test_where_cargo_fails_there_is_no_library_and_no_error(
    repository: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    build_native.build()
    (repository / "native/src/lib.rs").write_text("fn broken( {")
    assert build_native.main([]) == 0
    assert not build_native.library().exists(), "it is not what the sources say"
    out, err = capfd.readouterr()
    assert "unclosed delimiter" in out
    assert err.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="zig links for Linux")
def test_zig_is_that_of_the_interpreter_beside_cargo_zigbuild(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an isolated build the first Python on PATH has nothing installed."""
    isolated, installed = tmp_path / "isolated", tmp_path / "installed"
    for folder, names in ((isolated, ["python3"]), (installed, ["cargo-zigbuild", "python3"])):
        folder.mkdir()
        for name in names:
            (folder / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{isolated}:{installed}")
    assert build_native.python_of_zig() == str(installed / "python3")
    (installed / "python3").unlink()
    assert build_native.python_of_zig() == ""
    (installed / "cargo-zigbuild").unlink()
    assert build_native.python_of_zig() == ""


@pytest.mark.usefixtures("no_cargo")
def test_without_cargo_one_line_says_so(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build_native.main([]) == 0
    assert not build_native.is_built()
    assert capsys.readouterr().err == (
        "kinetoscope: the native library was not built (there is no cargo on PATH): traces are "
        "read in Python, several times slower\n"
    )


@pytest.mark.parametrize("argument", ["--test", "--check", "--fix"])
@pytest.mark.usefixtures("no_cargo")
def test_without_cargo_its_checks_succeed_and_say_so(
    argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build_native.main([argument]) == 0
    assert "no `cargo" in capsys.readouterr().err


@pytest.mark.parametrize("changed", ["Cargo.toml", "Cargo.lock", "src/lib.rs", "src/deep/new.rs"])
def test_a_library_is_stale_after_a_change_of_its_sources(repository: Path, changed: str) -> None:
    pretend_built()
    assert build_native.is_built()
    path = repository / "native" / changed
    path.parent.mkdir(exist_ok=True)
    path.write_text("changed")
    assert build_native.is_stale()


def test_a_library_of_another_system_is_stale(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_built()
    monkeypatch.setattr("sysconfig.get_platform", lambda: "plan9-z80")
    assert build_native.is_stale()


def test_without_its_sources_a_library_is_what_it_is(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_native, "NATIVE", repository / "no-such-folder")
    assert not build_native.is_stale()
    assert not build_native.is_built()
    pretend_built()
    assert build_native.is_built()


def test_an_install_asks_for_more_only_when_there_is_cargo_and_something_to_build(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARGO", sys.executable)  # a program that is there
    assert build_backend.library_requirement() == [build_native.REQUIREMENT]
    monkeypatch.setenv(build_native.SKIP_VARIABLE, "1")
    assert build_backend.library_requirement() == []
    monkeypatch.delenv(build_native.SKIP_VARIABLE)
    pretend_built()
    assert build_backend.library_requirement() == []
    (repository / "native/src/lib.rs").write_text("changed")
    assert build_backend.library_requirement() == [build_native.REQUIREMENT]
    monkeypatch.setenv("CARGO", "no-such-program")
    assert build_backend.library_requirement() == []


def pretend_built() -> None:
    build_native.FOLDER.mkdir()
    build_native.library().touch()
    build_native.STAMP.write_text(
        build_native.sources_digest() if build_native.NATIVE.is_dir() else ""
    )
