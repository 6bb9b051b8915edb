"""Version and commit of what is built. A wheel lies in no checkout, so the commit is written in.

Usage: python tools/release/commit.py --tag vVERSION
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "KINETOSCOPE_COMMIT"
"""Names the commit where the sources lie outside git."""
NAME = "commit.txt"


def commit_of(root: Path) -> str:
    """The first twelve digits; "" where nothing tells."""
    if named := os.environ.get(VARIABLE, ""):
        return named[:12]
    carried = root / "tb_plugin" / NAME  # a source distribution
    if carried.is_file():
        return carried.read_text("ascii").strip()
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip()


def write_commit(root: Path, package: Path) -> None:
    """Leaves the commit in a built package, unless nothing tells it."""
    if (found := commit_of(root)) and package.is_dir():
        (package / NAME).write_text(found + "\n", "ascii")


def version_of(root: Path) -> str:
    """What the package says of itself; importing it would need its folder under another name."""
    said = (root / "tb_plugin" / "__init__.py").read_text("utf-8")
    (found,) = re.findall(r'^__version__ = "([^"]+)"$', said, re.MULTILINE)
    return str(found)


def main(arguments: list[str]) -> int:
    """With ``--tag vVERSION``: 1 if the tag names another version than the package or CHANGELOG."""
    tag, version = arguments[-1], version_of(ROOT)
    if tag != f"v{version}":
        print(f"the tag {tag} is not of version {version}", file=sys.stderr)
        return 1
    if f"\n## {version}" not in (ROOT / "CHANGELOG.md").read_text("utf-8"):
        print(f"CHANGELOG.md has no heading for {version}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
