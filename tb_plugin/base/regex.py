"""Regular expressions that are compiled when they are first used.

The modules of a reading name a few hundred. To compile them all takes longer than to show an answer
that was kept, and of a small file longer than to read it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, AnyStr, cast

_METHODS = ("match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern with the methods of a compiled one; ``re.search`` and the like do not take it.

    A mistake in ``text`` raises ``re.error`` at its first use.

    >>> regex("a+").search("baab").group()
    'aa'
    """
    return cast("re.Pattern[AnyStr]", UncompiledRegex(text, flags))


def any_of(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A function that is true if a text matches any of the patterns anywhere.

    Those of its beginning are one, which is looked for there alone. The others stay apart: a search
    for one that begins with fixed characters skips what has none of them.

    >>> [any_of(["^b+$", "cc"])(text) for text in ("bb", "abb", "abcc")]
    [True, False, True]
    """
    given = list(patterns)
    begins = [one for one in given if _is_of_beginning(one)]
    first = regex("|".join(f"(?:{one})" for one in begins) or "(?!)")
    rest = [regex(one) for one in given if one not in begins]
    return lambda text: first.match(text) is not None or any(one.search(text) for one in rest)


def _is_of_beginning(pattern: str) -> bool:
    """True if a pattern begins with ^ and has no choice outside of parentheses."""
    text, inner = re.sub(r"\\.", "", pattern), ""
    while text != inner:
        text, inner = re.sub(r"\([^()]*\)", "", text), text
    return text.startswith("^") and "|" not in text


class UncompiledRegex:
    """Result of ``regex``: compiled at the first use of a method."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern, self._given = text, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever a pattern has
        if name not in (*_METHODS, "flags", "groups", "groupindex", "scanner"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._given)
        # From now on they are found at once.
        self.__dict__.update((method, getattr(compiled, method)) for method in _METHODS)
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return f"regex({self.pattern!r})"
