"""Texts of a trace on a terminal: shown, never obeyed."""

from __future__ import annotations

import re

from ..base.units import NBSP

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with control characters written out: an escape sequence moves no cursor.

    No-break spaces become spaces: they are for the page, and nobody searches for them.

    >>> printable("a" + chr(27) + "[2Jb") == "a" + chr(92) + "x1b[2Jb"
    True
    """
    return _CONTROL.sub(_written_out, text.replace(NBSP, " "))


def one_line(text: str) -> str:
    """The text on one line, its blanks and breaks as single blanks."""
    return printable(" ".join(text.split()))


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
