"""Builds the native library into tb_plugin/native when its sources changed since the last build.

Usage: python tools/build_native.py [--force | --requirement | --test | --check | --fix]

A digest of the sources and the machine is left beside the library. The library is an addition:
without cargo, or when cargo fails, one line says so and the reader in Python does its work.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

from node import ROOT
from stamps import digest_of, read_stamp

NATIVE = ROOT / "native"
FOLDER = ROOT / "tb_plugin" / "native"
STAMP = FOLDER / ".build-stamp"
NEW = FOLDER / ".new-library"
SKIP_VARIABLE = "KINETOSCOPE_SKIP_NATIVE"
"""Set to 1, an install goes on without building the library."""
GLIBC_VARIABLE = "KINETOSCOPE_GLIBC"
"""Set to 2.17, the library is linked by zig, and needs no later C library than that one."""
REQUIREMENT = "setuptools-rust>=1.11"
"""What pip installs to build it."""
MANIFEST_ARGUMENTS = ("--locked", "--offline")  # there is nothing to be fetched


class NativeBuildError(RuntimeError):
    """The library could not be built; the text says why in a few words."""


def library() -> Path:
    """Where the library of this system is put."""
    suffix = {"win32": "dll", "darwin": "dylib"}.get(sys.platform, "so")
    return FOLDER / f"libkinetoscope_native.{suffix}"


def is_stale() -> bool:
    """Whether there could be a library, and it is missing or older than its sources."""
    if not NATIVE.is_dir():
        return False
    return not library().is_file() or read_stamp(STAMP) != sources_digest()


def is_built() -> bool:
    """Whether there is a library, and it is what its sources say."""
    return library().is_file() and not is_stale()


def is_wanted() -> bool:
    """Whether an install should build the library: it is stale, and nobody said to do without."""
    return os.environ.get(SKIP_VARIABLE) != "1" and is_stale()


def requirement() -> str | None:
    """What must be installed before the library can be built, when it should and can be."""
    return REQUIREMENT if is_wanted() and find_cargo() else None


def build_if_wanted() -> None:
    """Builds the library if an install should; says in one line why there is none."""
    if not is_wanted():
        return
    try:
        build()
    except NativeBuildError as error:
        # What an older library computes is not what the sources say.
        library().unlink(missing_ok=True)
        print(
            f"kinetoscope: the native library was not built ({error}): traces are read in Python, "
            "several times slower",
            file=sys.stderr,
        )


def build() -> None:
    """Builds the library and puts it in place in one step; a running process keeps the old one.

    Raises:
        NativeBuildError: there is no cargo, no setuptools-rust, or one of them failed.
    """
    if find_cargo() is None:
        raise NativeBuildError("there is no cargo on PATH")
    glibc = os.environ.get(GLIBC_VARIABLE, "")
    if not glibc and importlib.util.find_spec("setuptools_rust") is None:
        raise NativeBuildError(f"{REQUIREMENT} is not installed")
    digest = sources_digest()
    NEW.unlink(missing_ok=True)
    if glibc:
        _run_zigbuild(glibc)
    else:
        _run_setuptools_rust()
    if not NEW.is_file():
        raise NativeBuildError("cargo failed, its messages are above")
    NEW.replace(library())
    STAMP.write_text(digest, encoding="ascii")


def find_cargo() -> str | None:
    """The path of cargo, if there is one."""
    return shutil.which(os.environ.get("CARGO", "cargo"))


def sources_digest() -> str:
    """One digest over everything the library is made of, and for which system."""
    return digest_of(_sources(), NATIVE, sysconfig.get_platform().encode())


def _sources() -> Iterator[Path]:
    yield NATIVE / "Cargo.lock"
    yield NATIVE / "Cargo.toml"
    yield from sorted((NATIVE / "src").rglob("*.rs"))


def _run_zigbuild(glibc: str) -> None:
    """Leaves a library at NEW that needs no later C library than this one; or a message."""
    target = f"{platform.machine()}-unknown-linux-gnu"
    command = ("zigbuild", "--release", *MANIFEST_ARGUMENTS, "--target", f"{target}.{glibc}")
    if python := python_of_zig():
        os.environ.setdefault("CARGO_ZIGBUILD_PYTHON_PATH", python)
    if _cargo(*command) == 0:
        built = NATIVE / "target" / target / "release" / "libkinetoscope_native.so"
        if built.is_file():
            NEW.parent.mkdir(exist_ok=True)
            shutil.copyfile(built, NEW)


def python_of_zig() -> str:
    """The interpreter beside cargo-zigbuild, which pip gave zig as well; "" where there is none.

    By itself it asks the first one on PATH. In an isolated build that is an empty environment.
    """
    program = shutil.which("cargo-zigbuild")
    python = Path(program).with_name("python3") if program else None
    return str(python) if python is not None and python.exists() else ""


def _run_setuptools_rust() -> None:
    """Leaves the library at NEW; or a message, and nothing."""
    from setuptools import Distribution
    from setuptools_rust import Binding, RustExtension, build_rust

    class BuildLibrary(build_rust):  # type: ignore[misc]
        def get_dylib_ext_path(self, *_: object) -> str:
            """Not the name of an extension module of one Python: every Python loads it."""
            return str(NEW)

    extension = RustExtension(
        "kinetoscope_native",
        path=str(NATIVE / "Cargo.toml"),
        cargo_manifest_args=MANIFEST_ARGUMENTS,
        binding=Binding.NoBinding,
        debug=False,
        quiet=True,
        optional=True,
    )
    command = BuildLibrary(Distribution({"rust_extensions": [extension]}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of an option that nobody gave
        command.ensure_finalized()
    command.run()


def _cargo(*command: str) -> int:
    """Runs cargo, and returns its exit status; 0 with a line where it is not there."""
    cargo = find_cargo()
    if cargo is None or not _knows(cargo, command[0]):
        print(f"*** no `cargo {command[0]}`: it does not see the native library", file=sys.stderr)
        return 0
    return subprocess.run([cargo, *command], cwd=NATIVE, check=False).returncode


def _knows(cargo: str, command: str) -> bool:
    asked = subprocess.run([cargo, command, "--help"], capture_output=True, check=False)
    return asked.returncode == 0


def main(args: list[str]) -> int:
    """Builds the library if it is stale, or always (`--force`), or does what the option says."""
    if args == ["--requirement"]:
        print(requirement() or "")
        return 0
    if args == ["--test"]:
        return _cargo("test", "--quiet", *MANIFEST_ARGUMENTS)
    if args == ["--check"]:
        lint = ("clippy", "--quiet", *MANIFEST_ARGUMENTS, "--all-targets", "--", "--deny=warnings")
        return _cargo("fmt", "--check") or _cargo(*lint)
    if args == ["--fix"]:
        return _cargo("fmt")
    if args == ["--force"]:
        STAMP.unlink(missing_ok=True)
    build_if_wanted()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
