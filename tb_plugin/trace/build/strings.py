"""The texts of a trace as codes, and questions answered once per text instead of once per event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Texts:
    """The strings of a trace, to which a few may be added. Codes never change."""

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = list(strings)
        self._codes: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self._strings)

    def __getitem__(self, code: int) -> str:
        return self._strings[code]

    def code(self, text: str) -> int:
        """The code of a text, which is added when it is new."""
        if self._codes is None:
            self._codes = {text: code for code, text in enumerate(self._strings)}
        code = self._codes.setdefault(text, len(self._strings))
        if code == len(self._strings):
            self._strings.append(text)
        return code

    def used(self, codes: NDArray[np.int32]) -> NDArray[np.intp]:
        """The distinct codes among ``codes``, ascending; O(n) without a sort."""
        seen = np.zeros(len(self._strings), bool)
        seen[codes] = True
        return np.flatnonzero(seen)

    def table(
        self, codes: NDArray[np.int32], answer: Callable[[str], Any], kind: type[np.generic]
    ) -> NDArray[Any]:
        """``answer(text)`` by code, called once per distinct text among ``codes``; else zero.

        ``table(names, is_module, np.bool_)[names]`` is the answer for every row.
        """
        result = np.zeros(len(self._strings), kind)
        for code in self.used(codes).tolist():
            result[code] = answer(self._strings[code])
        return result

    def freeze(self) -> tuple[str, ...]:
        """All strings, in the order of their codes."""
        return tuple(self._strings)
