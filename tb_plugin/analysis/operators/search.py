"""Which rows are looked at: by their step, by words of their name; and which names match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..names import of_names
from .model import Operators


def in_steps(step: NDArray[np.int32], steps: tuple[int, ...] | None) -> NDArray[np.bool_]:
    """Which rows lie in the chosen steps; None = all, also those outside steps."""
    return np.ones(len(step), np.bool_) if steps is None else np.isin(step, steps)


def named(strings: Sequence[str], codes: NDArray[np.int32], search: str) -> NDArray[np.bool_]:
    """Which codes' names hold every word of ``search``, in any case; shape as ``codes``."""
    words = search.casefold().split()
    return of_names(strings, codes, lambda name: _holds(name, words), np.bool_)


def _holds(name: str, words: Sequence[str]) -> bool:
    text = name.casefold()
    return all(word in text for word in words)


@dataclass(frozen=True, slots=True, eq=False)
class NamesFound:
    """Names of one kind that match: their codes, best first, and how many there are in all."""

    codes: NDArray[np.intp]
    count: int


def names_found(operators: Operators, kind: str, search: str, limit: int) -> NamesFound:
    """The names of a kind (of ``sums_by_name``) that hold every word of ``search``, in any case.

    The name itself comes first, then names by their time. Costs time linear in distinct names.
    """
    sums, strings = operators.sums_by_name[kind], operators.strings
    words, whole = search.casefold().split(), search.strip().casefold()
    known = np.flatnonzero(sums.count)
    hits = known[[_holds(strings[code], words) for code in known.tolist()]]
    exact = np.array([strings[code].casefold() == whole for code in hits.tolist()], np.bool_)
    order = np.lexsort((hits, -sums.ns[hits], ~exact))
    return NamesFound(hits[order[:limit]], len(hits))
