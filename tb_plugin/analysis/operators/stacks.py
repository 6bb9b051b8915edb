"""Call stacks: traced Python frames, and stacks that the recorder wrote beside an op.

torch wrote such stacks as text before it traced frames, innermost frame first:

"resnet.py(128): forward;resnet.py(220): forward;train.py(31): <module>"
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ...base.arrays import I32, Sparse, distinct, distinct_values, of_names, take
from ...base.regex import regex
from ...trace.model import HostKind, Trace
from ..call_tree.paths import innermost
from ..idle.places import is_own_frame
from .model import Stacks

_PLACE = regex(r"(?P<file>[^<\n][^\n]*?)\((?P<line>\d{1,9})\): ", re.ASCII)
_BETWEEN_WRITTEN = regex(r";|\n")


def frame_place(name: str) -> tuple[str, int]:
    """File and line of a frame such as ``train.py(12): step``; ``("", 0)`` where it has none.

    Code without a file tells none: ``<string>(1): <module>``, ``<frozen importlib>(241): load``.
    """
    match = _PLACE.match(name)
    return (match["file"], int(match["line"])) if match else ("", 0)


def frame_function(name: str) -> str:
    """The function of a frame: ``step`` of ``train.py(12): step``; else the whole name."""
    match = _PLACE.match(name)
    return name[match.end() :] if match else name


def written_frames(text: str) -> list[str]:
    """The frames of a call stack that was written as one text, innermost first."""
    return [part for part in map(str.strip, _BETWEEN_WRITTEN.split(text)) if part]


def files_named(trace: Trace) -> frozenset[str]:
    """The files in the frames of a trace, traced ones and those of written call stacks."""
    host = trace.host
    framed = np.isin(host.kind, (HostKind.PYTHON, HostKind.MODULE))
    names = {trace.strings[code] for code in np.unique(host.name[framed]).tolist()}
    written = host.args.get("call_stack")
    if written is not None:
        for code in distinct_values(written.value):
            names.update(written_frames(trace.strings[int(code)]))
    return frozenset(frame_place(name)[0] for name in names) - {""}


def innermost_frames(stacks: Stacks, stack: I32, depth: int) -> I32:
    """For each stack one representative of all with the same ``depth`` innermost frames.

    A path is told apart by its frames from the inside: the first, then the first two, and so on.
    So the classes of ``n`` frames refine those of ``n − 1``.
    """
    count = len(stacks)
    klass = np.zeros(count, np.int64)
    at = np.arange(count)
    for _ in range(depth):
        frame = np.where(at >= 0, stacks.frame[at], -1)
        klass = _ranked(klass << 32 | (frame.astype(np.int64) + 1))
        at = np.where(at >= 0, stacks.parent[at], -1)
        if (at < 0).all():
            break
    first = np.full(int(klass.max(initial=-1)) + 1, -1, np.int32)
    first[klass[::-1]] = np.arange(count - 1, -1, -1, dtype=np.int32)
    result = np.full(len(stack), -1, np.int32)
    known = stack >= 0
    result[known] = first[klass[stack[known]]]
    return result


def _ranked(key: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def own_frames(stacks: Stacks, strings: Sequence[str]) -> I32:
    """By stack: the code of its innermost frame of the user's code; −1 where it has none."""
    own = of_names(strings, stacks.frame, is_own_frame, np.bool_)
    return innermost(np.where(own, stacks.frame, np.int32(-1)), stacks.parent)


def frames_of(stacks: Stacks, stack: int) -> list[int]:
    """Codes of the frames of a stack, innermost first."""
    codes = []
    while stack >= 0:
        codes.append(int(stacks.frame[stack]))
        stack = int(stacks.parent[stack])
    return codes


_NONE = -1


class _Trie(Struct):
    """A trie of stacks that grows; frames get codes behind those of the strings."""

    strings: Sequence[str]
    parent: list[int]
    frame: list[int]
    added: list[str] = field(default_factory=list)
    code_of: dict[str, int] = field(default_factory=dict)
    known: dict[tuple[int, int], int] = field(default_factory=dict)

    def row(self, text: str) -> int:
        """The stack of a text, outermost frame first in the trie."""
        at = _NONE
        for frame in reversed([part for part in text.split(";") if part]):
            key = (at, self._code(frame))
            at = self.known.setdefault(key, len(self.parent))
            if at == len(self.parent):
                self.parent.append(key[0])
                self.frame.append(key[1])
        return at

    def _code(self, text: str) -> int:
        code = self.code_of.setdefault(text, len(self.strings) + len(self.added))
        if code == len(self.strings) + len(self.added):
            self.added.append(text)
        return code


def add_written_stacks(
    strings: Sequence[str], stacks: Stacks, stack: I32, written: Sparse | None
) -> tuple[tuple[str, ...], Stacks, I32]:
    """Add the written stack of each row without a traced frame around it.

    Returns the strings with the frames behind them, the stacks, and the stack of each row.
    """
    if written is None:
        return tuple(strings), stacks, stack
    bare = take(stack, written.row) == _NONE
    rows, codes = written.row[bare], written.value[bare]
    if not len(rows):
        return tuple(strings), stacks, stack
    trie = _Trie(strings, stacks.parent.tolist(), stacks.frame.tolist())
    number = np.full(len(strings), _NONE, np.int32)  # by code of a text
    for code in distinct(codes, len(strings)).tolist():
        number[code] = trie.row(strings[code])
    result = stack.copy()
    result[rows] = take(number, codes)
    grown = Stacks(np.array(trie.parent, np.int32), np.array(trie.frame, np.int32))
    return (*strings, *trie.added), grown, result
