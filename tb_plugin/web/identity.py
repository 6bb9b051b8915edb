"""Which program answered: a browser must not keep the answers of another version for ever."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from .. import __version__
from .answers import digest

PACKAGE = Path(__file__).resolve().parent.parent


@cache
def program() -> str:
    """A short mark of this program: its version and the youngest of its sources.

    The sources count because a checkout changes without changing its version.
    """
    youngest = max(path.stat().st_mtime_ns for path in PACKAGE.rglob("*.py"))
    return digest(__version__, str(youngest))[:8]


def answer_digest(content_digest: str) -> str:
    """The digest that the page sees of a trace: same content and same program, same answers."""
    return f"{content_digest}-{program()}" if content_digest else ""
