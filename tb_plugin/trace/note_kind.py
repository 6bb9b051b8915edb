"""What one kind of note in the health record says.

Titles may use ``{count}``, ``{total}``, ``{share}`` (of the two, in percent) and ``{detail}``. A
note of severity "error" means that part of the file is lost; "warning" taints a figure; "info"
explains; "good" confirms.
"""

from __future__ import annotations

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


def harmless(title: str, consequence: str, remedy: str = "") -> NoteKind:
    """A note that explains and taints nothing."""
    return NoteKind("info", title, consequence, remedy)
