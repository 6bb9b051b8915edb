"""Cases one after the other, and what was wrong with them."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .documents import Documents
from .mutations import mutated
from .seeds import drawn_seeds, real_seeds
from .shrink import shrunk

Check = Callable[[bytes], list[str]]


@dataclass(frozen=True, slots=True)
class Failure:
    """A text and what it did."""

    text: bytes
    reasons: tuple[str, ...]

    @property
    def kind(self) -> str:
        """Alike for failures that seem to be the same."""
        return self.reasons[0].split(":")[0][:60]


def cases(seed: int, most_bytes: int) -> Iterator[bytes]:
    """Texts without end, the same for the same seed and the same files at hand."""
    chance = random.Random(seed)
    seeds = [*real_seeds(most_bytes), *drawn_seeds(chance, 200)]
    yield from seeds
    while True:
        if chance.random() < 0.3:
            text = Documents(chance).document(40).encode()
        else:
            text = chance.choice(seeds)
        if chance.random() < 0.85:
            text = mutated(text, seeds, chance)
        yield text


def failure(check: Check, text: bytes) -> Failure | None:
    """What is wrong with one case; an exception is, too."""
    reasons = _reasons(check, text)
    return Failure(text, tuple(reasons)) if reasons else None


def shortest(check: Check, found: Failure) -> Failure:
    """The same failure with less text."""

    def fails(text: bytes) -> bool:
        again = failure(check, text)
        return again is not None and again.kind == found.kind

    text = shrunk(found.text, fails)
    return failure(check, text) or found


def _reasons(check: Check, text: bytes) -> list[str]:
    try:
        return check(text)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is what we are looking for
        last = traceback.extract_tb(error.__traceback__)[-1]
        return [f"{type(error).__name__} at {last.name}: {error}", traceback.format_exc()]
