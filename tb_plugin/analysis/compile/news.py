"""Events of torch.compile in one of two recordings alone: breaks, recompiles, refusals."""

from __future__ import annotations

from collections import Counter

from .model import CompiledFacts
from .reasons import changes_of

MOST_NEWS = 3


def compile_news(base: CompiledFacts | None, other: CompiledFacts | None) -> tuple[str, ...]:
    """New events, then gone ones, each as a phrase; none where a side has no record.

    A break is the same one in the same function for the same reason: lines move.
    """
    if base is None or other is None or not (base.recorded and other.recorded):
        return ()
    new, gone = _of(other) - _of(base), _of(base) - _of(other)
    found = [f"new {text}" for text in _worded(other, new)]
    return (*found, *(f"no more {text}" for text in _worded(base, gone)))


def _of(facts: CompiledFacts) -> Counter[tuple[str, str, str]]:
    breaks = Counter(("break", one.name, one.reason) for one in facts.breaks)
    again = Counter(
        ("again", facts.label(one), "")
        for one in facts.versions
        if one.is_again and one.compile_ns and not one.failed
    )
    refused = Counter(("refused", facts.label(one), "") for one in facts.versions if one.failed)
    return breaks + again + refused


def _worded(facts: CompiledFacts, some: Counter[tuple[str, str, str]]) -> list[str]:
    """Phrases; code between backticks."""
    found = []
    for (kind, name, reason), count in some.items():
        if kind == "break":
            place = next(
                one.place for one in facts.breaks if (one.name, one.reason) == (name, reason)
            )
            found.append(f"graph break at `{place}`")
        elif kind == "again":
            versions = [one for one in facts.versions if facts.label(one) == name]
            changes = changes_of(each for one in versions for each in one.reasons)
            why = f" ({changes[0].text})" if changes else ""
            times = f"{count} recompilations" if count > 1 else "recompilation"
            found.append(f"{times} of `{name}`{why}")
        else:
            found.append(f"recompile limit met by `{name}`")
    return found
