"""A few seconds of each fuzz target, the same cases every time; ``tests.fuzz.scan`` runs longer."""

from __future__ import annotations

from itertools import islice

import pytest

from kinetoscope.base.native import native

from . import memory_files
from .agreement import by_python
from .campaign import cases, failure, shortest
from .shrink import shrunk
from .targets import TARGETS

CASES = {"both": 500, "native": 500, "python": 150, "threads": 500}
PIECE = 8 * 1024


@pytest.mark.parametrize("reader", sorted(CASES))
def test_no_case_of_the_first_ones_fails(reader: str) -> None:
    if reader != "python" and native().library is None:
        pytest.skip(native().reason)
    check = TARGETS[reader]
    for text in islice(cases(20, PIECE), CASES[reader]):
        found = failure(check, text)
        assert not found, shortest(check, found)


@pytest.mark.parametrize("kind", sorted(memory_files.KINDS))
def test_no_file_beside_a_trace_of_the_first_ones_fails(kind: str) -> None:
    draw, check = memory_files.KINDS[kind]
    chance = memory_files.Chance(20)
    for _ in range(200):
        found = failure(check, draw(chance))
        assert not found, found


def test_what_takes_too_long_is_a_failure() -> None:
    def check(_: bytes) -> list[str]:
        with memory_files.limited(0.05):
            while True:
                pass

    found = failure(check, b"x")
    assert found
    assert found.kind.startswith("TimeoutError")


def test_a_failure_is_found_and_made_short() -> None:
    """A reader that cannot bear a comma between two colons."""

    def check(text: bytes) -> list[str]:
        return ["broken"] if b":,:" in text else []

    found = failure(check, b'{"a":,: 1, "b": [1, 2, 3]}')
    assert found
    assert shortest(check, found).text == b":,:"
    assert shrunk(b"abc", lambda _: True) == b""


def test_an_exception_is_a_failure() -> None:
    found = failure(lambda text: [str(by_python(text[:0]))], b"x")
    assert found
    assert found.kind.startswith("TraceFormatError")
