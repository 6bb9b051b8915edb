"""Call stacks that the recorder wrote beside an op, as torch did before it traced frames.

"resnet.py(128): forward;resnet.py(220): forward;train.py(31): <module>"   innermost first
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...trace.raw import Sparse
from .model import Stacks

I32 = NDArray[np.int32]
_NONE = -1


@dataclass(slots=True)
class _Trie:
    """Stacks that grow; frames get codes behind those of the strings."""

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
    """Takes the written stack of each row that no traced frame is around.

    Returns the strings with the frames behind them, the stacks, and the stack of each row.
    """
    if written is None:
        return tuple(strings), stacks, stack
    rows = written.row[stack[written.row] == _NONE]
    codes = written.value[stack[written.row] == _NONE]
    trie = _Trie(strings, stacks.parent.tolist(), stacks.frame.tolist())
    distinct, index = np.unique(codes, return_inverse=True)
    number = np.array([trie.row(strings[code]) for code in distinct.tolist()], np.int32)
    result = stack.copy()
    if len(rows):
        result[rows] = number[index]
    grown = Stacks(np.array(trie.parent, np.int32), np.array(trie.frame, np.int32))
    return (*strings, *trie.added), grown, result
