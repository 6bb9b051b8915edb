"""Regular expressions that are compiled when they are first used.

The modules of a reading name a few hundred. To compile them all takes longer than to show an answer
that was kept, and of a small file longer than to read it.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern with the methods of a compiled one; ``re.search`` and the like do not take it.

    A mistake in ``text`` raises ``re.error`` at its first use.

    >>> regex("a+").search("baab").group()
    'aa'
    """
    return cast("re.Pattern[AnyStr]", UncompiledRegex(text, flags))


class UncompiledRegex:
    """What ``regex`` returns: compiled when one of its methods is asked for."""

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
