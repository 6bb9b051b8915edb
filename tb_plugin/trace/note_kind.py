"""What one kind of note in the health record says.

Titles may use ``{count}``, ``{total}``, ``{share}`` (of the two, in percent) and ``{detail}``. A
note of severity "error" means that part of the file is lost; "warning" affects a figure; "info"
explains; "good" confirms.
"""

from __future__ import annotations

import re

from msgspec import Struct

EVERYTHING = (
    "overview",
    "operators",
    "kernels",
    "timeline",
    "memory",
    "modules",
    "distributed",
    "diff",
)
HOST = ("overview", "operators", "timeline", "modules")
DEVICE = ("overview", "kernels", "operators", "timeline")

RECORD = "from torch.profiler import profile; profile({})"
UPGRADE = "Record with torch 2.4 or newer."


class NoteKind(Struct, frozen=True):
    """What a note says. ``counts_as``: "skipped" or "repaired", for faults of that sort."""

    severity: str
    title: str
    consequence: str
    remedy: str = ""
    taints: tuple[str, ...] = ()
    counts_as: str = ""


_VERBS = {"have": "has", "are": "is", "were": "was", "start": "starts", "end": "ends",
          "last": "lasts", "outlive": "outlives", "name": "names", "lack": "lacks",
          "belong": "belongs", "say": "says"}  # fmt: skip
_ONE = re.compile(r"^((?:.* )?1) (\w+?)s\b(?: (\w+))?(.*)$")


def one_of(text: str) -> str:
    """A title that counts one thing, in the singular.

    >>> one_of("1 events end before they start")
    '1 event ends before it starts'
    """
    match = _ONE.match(text)
    if match is None:
        return text
    before, noun, verb, rest = match.groups()
    said = f" {_VERBS.get(verb, verb)}" if verb else ""
    rest = re.sub(r"\bthey (\w+)", lambda m: f"it {_VERBS.get(m[1], m[1])}", rest)
    if verb == "of":
        rest = rest.replace(" are no events", " is no event")
    noun = noun[:-1] if noun.endswith(("che", "sse")) else noun
    return f"{before} {noun}{said}{rest.replace(' their ', ' its ').replace(' them', ' it')}"


def harmless(title: str, consequence: str, remedy: str = "") -> NoteKind:
    """A note that explains and taints nothing."""
    return NoteKind("info", title, consequence, remedy)
