"""Runs mypy over the package, the tests and the tools, on any checkout, installed or not.

Usage: python tools/typecheck.py [mypy-arguments...]

The import package `kinetoscope` has no folder of that name: setup.py maps tb_plugin and handlers
to it, and mypy does not follow that mapping. So the package is laid out under .mypy with links to
the real files, and messages name the real files again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGE = ROOT / ".mypy"
PACKAGE = STAGE / "kinetoscope"
FOLDERS = ("tests", "tools", "benchmarks", "samples", "setup.py")


def lay_out_package() -> None:
    """Makes .mypy/kinetoscope anew: a link for each entry of tb_plugin, and one for handlers."""
    shutil.rmtree(STAGE, ignore_errors=True)
    PACKAGE.mkdir(parents=True)
    for entry in sorted((ROOT / "tb_plugin").iterdir()):
        if entry.name not in {"static", "__pycache__"}:
            _link(entry, PACKAGE / entry.name)
    _link(ROOT / "handlers", PACKAGE / "handlers")


def real_path(line: str) -> str:
    """A message of mypy with the path of the real file."""
    line = line.replace("\\", "/") if os.name == "nt" else line
    line = re.sub(r"^\.mypy/kinetoscope/handlers/", "handlers/", line)
    return re.sub(r"^\.mypy/kinetoscope/", "tb_plugin/", line)


def main(args: list[str]) -> int:
    """Runs mypy and returns its exit status."""
    lay_out_package()
    targets = [str(PACKAGE.relative_to(ROOT)), *(x for x in FOLDERS if _has_python(ROOT / x))]
    mypy = subprocess.run(
        [sys.executable, "-m", "mypy", *args, *targets],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    for line in mypy.stdout.splitlines():
        print(real_path(line))
    return mypy.returncode


def _link(source: Path, target: Path) -> None:
    """Links, or copies where the system does not let us link."""
    if not source.exists():
        return
    try:
        target.symlink_to(source, target_is_directory=source.is_dir())
    except OSError:
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)


def _has_python(path: Path) -> bool:
    return path.is_file() or any(path.rglob("*.py"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
