"""Whole answers on drawn input, held in a table of text: no figure of them moves unseen.

A table has a section for each case: a line for each key of the answer, and each sentence that a
reader sees first. Values are told as in ``test_figures``. A change that is intended: look at the
sentences and the figures that changed, judge them, and write the table anew:

    python -m tests.analysis.idle.test_drawn > /tmp/new && mv /tmp/new …/test_drawn.txt
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.test_figures import told

SAID = frozenset({"headline", "detail", "sentence", "refused"})
"""Keys of sentences that a table shows as they are."""
Cases = Mapping[str, Callable[[], Mapping[str, Any]]]


def lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """A line for each key with a value, then each sentence once."""
    sentences: dict[str, None] = {}
    for key, value in answer.items():
        found = plain(value)
        if found not in (None, "", [], {}):
            yield f"{key}\t{told(found)}"
            sentences.update(dict.fromkeys(_sentences(found)))
    yield from (f"\t{one}" for one in sentences)


def plain(value: Any) -> Any:
    """Lists, dicts, numbers and texts alone, whatever classes an answer is made of."""
    if isinstance(value, enum.Enum | np.generic):
        return value.value if isinstance(value, enum.Enum) else value.item()
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    names = getattr(value, "__struct_fields__", None) or getattr(value, "_fields", None)
    names = names or getattr(value, "__dataclass_fields__", None)
    if names:
        return {name: plain(getattr(value, name)) for name in names}
    some = [plain(one) for one in value]
    return sorted(some, key=repr) if isinstance(value, set | frozenset) else some


def _sentences(value: Any, key: str = "") -> Iterable[str]:
    """The texts in a value under one of the keys."""
    if isinstance(value, dict):
        return [text for name, one in value.items() for text in _sentences(one, name)]
    if isinstance(value, list):
        return [text for one in value for text in _sentences(one, key)]
    return [value] if isinstance(value, str) and value.endswith(".") and key in SAID else ()


@cache
def _sections(table: Path) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in table.read_text("utf-8").splitlines():
        if line.startswith("# "):
            found[line[2:]] = []
        else:
            found[next(reversed(found))].append(line)
    return found


def holds(table: Path, case: str, answer: Mapping[str, Any]) -> None:
    """Fails where an answer is not what the table says."""
    assert [*lines(answer)] == _sections(table)[case]


def write(cases: Cases) -> None:
    """The table of all cases."""
    for case, ask in cases.items():
        sys.stdout.writelines(f"{line}\n" for line in (f"# {case}", *lines(ask())))
