"""Which names match a text, a regular expression, or are exactly it.

Matching is RE2's, by Arrow: its time is linear in the text whatever the expression, and other
threads run meanwhile. Look-around and references back to a group are the price.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...base.errors import KinetoscopeError
from .files import numbers, texts_array

MOST_WORDS = 20


class BadPattern(KinetoscopeError):
    """The text is no regular expression; the message says where it fails."""

    kind = "bad_query"
    status = 400


class NameTexts:
    """The names of a timeline, by code."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    @cached_property
    def _texts(self) -> pa.Array:
        return _array(self._names)

    @cached_property
    def _folded(self) -> pa.Array:
        return _array([name.casefold() for name in self._names])

    def find(self, text: str, mode: str) -> NDArray[np.intp]:
        """Codes of the names that match, ascending.

        ``text``: every word occurs, in any case; ``regex``; ``exact``. An empty text matches none.

        Raises:
            BadPattern: the text is no regular expression.
        """
        if not text.strip() and mode != "exact":
            return np.empty(0, np.intp)
        if mode == "exact":
            hit = np.array([name == text for name in self._names], np.bool_)
        elif mode == "regex":
            hit = self._matching(text)
        else:
            hit = self._with_words(text.casefold().split()[:MOST_WORDS])
        return np.flatnonzero(hit)

    def _with_words(self, words: Sequence[str]) -> NDArray[np.bool_]:
        hit = np.ones(len(self._names), np.bool_)
        for word in words:
            hit &= _as_mask(pc.match_substring(self._folded, _sound(word)))
        return hit

    def _matching(self, pattern: str) -> NDArray[np.bool_]:
        try:
            return _as_mask(pc.match_substring_regex(self._texts, _sound(pattern)))
        except pa.ArrowInvalid as error:
            raise BadPattern(f"no regular expression: {_reason(error)}") from None


def _array(texts: Sequence[str]) -> pa.Array:
    # Halves of surrogate pairs become question marks: UTF-8 cannot hold them.
    return texts_array([text.encode("utf-8", "replace") for text in texts], pa.large_string())


def _sound(text: str) -> str:
    """The text without halves of surrogate pairs, which UTF-8 cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _as_mask(found: pa.Array) -> NDArray[np.bool_]:
    return numbers(pc.cast(found, pa.uint8())).astype(np.bool_)


def _reason(error: pa.ArrowInvalid) -> str:
    return str(error).removeprefix("Invalid regular expression: ").strip()[:200]
