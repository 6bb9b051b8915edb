"""Whether the subject of a commit is ``area: imperative`` in at most 60 characters.

Usage: python tools/release/subject.py FILE      the file git hands to a commit-msg hook
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MOST = 60
_SUBJECT = re.compile(r"[a-z][a-z0-9 ,_./-]*: \S")
_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
_NO_IMPERATIVE = re.compile(r"[^:]+: (?:add(?:s|ed|ing)|fix(?:es|ed|ing)|wip)\b", re.IGNORECASE)


def fault(message: str) -> str:
    """What is wrong with a commit's message; "" where nothing is."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = lines[0].rstrip() if lines else ""
    if subject.startswith(_BY_GIT):
        return ""
    if not _SUBJECT.match(subject) or subject.endswith("."):
        return "write the subject as `area: imperative`, such as `memory: name what grows`"
    if _NO_IMPERATIVE.match(subject):
        return "begin with the imperative: `add`, not `adds` or `added`"
    if len(subject) > MOST:
        return f"the subject has {len(subject)} characters, {MOST} are allowed: the body says why"
    if len(lines) > 1 and lines[1].strip():
        return "leave the second line empty"
    return ""


def main(arguments: list[str]) -> int:
    """Says what is wrong; 1 stops the commit."""
    said = fault(Path(arguments[0]).read_text("utf-8"))
    if said:
        print(f"commit: {said}", file=sys.stderr)
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
