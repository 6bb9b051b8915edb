"""The commit that this installation was built from."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from .. import __version__
from .regex import regex

PACKAGE = Path(__file__).resolve().parent.parent
FILE = PACKAGE / "commit.txt"
"""Written into wheels and source distributions by `tools/release/commit.py`."""
_HASH = regex(r"[0-9a-f]{7,40}")


@cache
def commit() -> str:
    """The first digits of the commit: of the file, else of the checkout around; else ""."""
    try:
        found = FILE.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        found = _of_checkout()
    return found if _HASH.fullmatch(found) else ""


def release() -> str:
    """Version and commit, for people: ``0.1.0 (1a2b3c4d5e6f)``."""
    return f"{__version__} ({commit()})" if commit() else __version__


def _of_checkout() -> str:
    """The commit of the checkout that holds this package; "" where it is no checkout."""
    root = PACKAGE.parent
    if not (root / ".git").exists() or not (root / "pyproject.toml").is_file():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
