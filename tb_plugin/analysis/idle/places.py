"""Where in the code is a host event: the innermost op around it, and the line of Python?"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from itertools import pairwise

from ...base.regex import regex
from ...trace.model import HostKind, Trace
from ..facts import Place

_OP, _PYTHON = int(HostKind.OP), int(HostKind.PYTHON)
_FRAME = regex(r"^(?P<file>[^()]+?\.py)\((?P<line>\d+)\): (?P<function>.+)$")

# Names of the innermost op, frame of the user's code, and frame at all; −1 where there is none.
_Around = tuple[int, int, int]
_NOWHERE: _Around = (-1, -1, -1)


class CodePlaces:
    """Collects the places of events; each is kept once."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._places: dict[Place, int] = {}
        self._known: dict[int, _Around] = {}  # by host row
        self._frames: dict[int, tuple[bool, bool]] = {}  # see _frame_name

    def table(self) -> tuple[Place, ...]:
        """All places, in the order of their numbers."""
        return tuple(self._places)

    def of(self, row: int) -> int:
        """The number of the place around a host row."""
        strings = self._trace.strings
        op, own, frame = self._around(int(self._trace.host.parent[row]))
        line = own if own >= 0 else frame
        place = Place(strings[op] if op >= 0 else "", strings[line] if line >= 0 else "")
        return self._places.setdefault(place, len(self._places))

    def _around(self, row: int) -> _Around:
        """The place of an event by itself and its ancestors, computed once."""
        host, known = self._trace.host, self._known
        above, kinds, names = host.parent.item, host.kind.item, host.name.item
        path = []
        while row >= 0 and row not in known:
            path.append(row)
            row = above(row)
        around = known.get(row, _NOWHERE)
        for at in reversed(path):
            kind = kinds(at)
            if kind == _OP:
                around = (names(at), *around[1:])
            elif kind == _PYTHON:
                name = names(at)
                is_frame, is_own = self._frame_name(name)
                if is_frame:
                    around = (around[0], name if is_own else around[1], name)
            known[at] = around
        return around

    def _frame_name(self, code: int) -> tuple[bool, bool]:
        """True if a name is a line of code, and true if that line is the user's."""
        found = self._frames.get(code)
        if found is None:
            name = self._trace.strings[code]
            found = self._frames[code] = _FRAME.match(name) is not None, is_own_frame(name)
        return found


_LIBRARIES = frozenset(
    ("torch", "<frozen", "numpy", "scipy", "pandas", "PIL", "sklearn", "pyarrow")
)  # what they do, their caller asked for


@lru_cache(maxsize=4096)
def is_own_frame(name: str) -> bool:
    """True if a Python frame is the user's code, not torch, an array library or Python's own."""
    match = _FRAME.match(name)
    if match is None:
        return False
    parts = match["file"].removeprefix("/").split("/")
    if parts[0] in _LIBRARIES or "/torch/" in match["file"]:
        return False
    if any(part.endswith("-packages") and after in _LIBRARIES for part, after in pairwise(parts)):
        return False
    if any(part.startswith("torchinductor_") for part in parts):  # what torch.compile wrote
        return False
    if any(re.fullmatch(r"python3\.\d+", part) for part in parts[:-1]) and not any(
        part.endswith("-packages") for part in parts
    ):
        return False
    module = parts[0].removesuffix(".py")
    return module not in sys.stdlib_module_names


def is_part_of_function(name: str) -> bool:
    """True for comprehensions, which are frames of their own up to Python 3.11."""
    return name.endswith((": <listcomp>", ": <dictcomp>", ": <setcomp>", ": <genexpr>"))
