"""Data that a recording lacks, in plain words, and the options that record them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from ..analysis.facts import Facts
from ..base.regex import regex
from ..views.overview.document import AdviceDocument


class CannotTell(Struct, frozen=True):
    """Missing data, and the questions that it would answer."""

    record: str
    tells: str


_ABSENT: tuple[tuple[str, str, Callable[[Facts], bool]], ...] = (
    (
        "devices|device activity",
        "Device activity: kernels, copies, idle time, memory, clock and power of a GPU",
        lambda facts: not any(one.used for one in facts.devices),
    ),
    (
        "python frames",
        "Lines of code, your functions, stacks",
        lambda facts: not facts.counts.get("python", 0),
    ),
    (
        "allocator events|totals of the device's allocator",
        "Memory: its use and peak, what holds it, bytes never freed",
        lambda facts: not facts.counts.get("memory", 0),
    ),
    (
        "counters|samples of the device's clock|samples of memory traffic",
        "Power, clock and memory traffic of the GPU",
        lambda facts: not any(one.counters for one in facts.devices),
    ),
)
"""Begin of a need → questions of it in plain words, where all data of its kind are absent."""


def cannot_tell_of(advice: AdviceDocument, facts: Facts) -> tuple[CannotTell, ...]:
    """Missing data by the option that records it, with the longest text of the option.

    Questions of the advice are summed up where a kind of data is absent, else each is named.
    """
    found: dict[str, tuple[str, list[str]]] = {}
    key_of: dict[str, str] = {}
    for title, need, remedy in _unanswered(advice):
        words = _in_plain_words(need, facts)
        option = _OPTION.search(remedy)
        key = option[0] if option else remedy
        key = key_of.setdefault(words, key) if words else key
        known, titles = found.get(key, ("", []))
        # What the recording as a whole lacks comes first, and says it best.
        told = known if known and words else max(known, remedy, key=len)
        found[key] = told, [*titles, words or title]
    return tuple(
        CannotTell(remedy, "; ".join(dict.fromkeys(told))) for remedy, told in found.values()
    )


def _in_plain_words(need: str, facts: Facts) -> str:
    """Questions that a kind of data would answer; "" where some of it is there."""
    return next(
        (words for begin, words, is_absent in _ABSENT
         if re.match(begin, need, re.IGNORECASE) and is_absent(facts)),
        "",
    )  # fmt: skip


def unanswered(advice: AdviceDocument) -> Iterator[tuple[str, str]]:
    """Each question without an answer, and what records it, or why nothing does."""
    return ((title, remedy) for title, _, remedy in _unanswered(advice))


def _unanswered(advice: AdviceDocument) -> Iterator[tuple[str, str, str]]:
    """Question, need, remedy."""
    known = set()
    for what, why in advice.not_available.items():
        before, remedy = _parts(why)
        known.add(remedy)
        yield f"{what} ({before.partition(':')[0]})" if before else what, what, remedy
    for need in advice.cannot_answer:
        before, remedy = _parts(need.record)
        # "allocator events, in four steps or more: record with …" has a condition.
        condition = before.partition(", ")[2] if _RECORD.match(remedy) else ""
        if not _RECORD.match(remedy) and remedy not in known:
            remedy = f"needs {need.record.strip(' .')}"
        for rule in need.rules:
            title = f"{rule.title} ({condition})" if condition else rule.title
            yield title, need.record, remedy


_OPTION = regex(r"`[^`]+`")
_RECORD = regex(r"\brecord with\b.*", re.IGNORECASE | re.DOTALL)


def _parts(text: str) -> tuple[str, str]:
    """The words before the remedy, and what to record, or why nothing does."""
    asked = _RECORD.search(text)
    at = asked.start() if asked else text.rfind(": ") + 1
    remedy = text[at:].strip(" .")
    remedy = remedy[:1].lower() + remedy[1:] if asked else remedy
    return text[:at].strip(" :."), remedy
