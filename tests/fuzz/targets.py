"""What must hold of any text, for each reader and for the two together."""

from __future__ import annotations

from collections.abc import Callable

from kinetoscope.trace.raw import RawTrace
from kinetoscope.trace.scan.cursor import ScanLimits

from .agreement import (
    SMALL,
    Scan,
    block_faults,
    blocks_differ,
    by_library,
    by_python,
    differences,
    verdict,
)


def one_reader(scan: Scan) -> Callable[[bytes], list[str]]:
    """A reader says the same whatever its blocks, and finds its events again."""

    def check(text: bytes) -> list[str]:
        found = verdict(scan, text)
        return differences(found, verdict(scan, text, SMALL)) + _found_again(found, text)

    return check


def both(text: bytes) -> list[str]:
    """The two readers say the same, and the native one whatever its blocks."""
    reference = verdict(by_python, text)
    found = verdict(by_library, text)
    small = ScanLimits(block_bytes=len(text) % 97 + 1)
    return differences(reference, found) or differences(
        reference, verdict(by_library, text, small)
    ) + _found_again(found, text)


def threads(text: bytes) -> list[str]:
    """The native reader says the same on any number of threads, blocks included."""
    block_bytes = len(text) % 997 + 40
    alone = verdict(by_library, text, ScanLimits(block_bytes=block_bytes, threads=1))
    many = ScanLimits(block_bytes=block_bytes, threads=len(text) % 5 + 2)
    found = verdict(by_library, text, many)
    return differences(alone, found) or blocks_differ(alone, found)


def _found_again(found: RawTrace | str, text: bytes) -> list[str]:
    if isinstance(found, str):
        return []
    rows = len(found.events)
    return block_faults(found, text, [rows * len(text) // 7 % rows] if rows else [])


TARGETS: dict[str, Callable[[bytes], list[str]]] = {
    "both": both,
    "python": one_reader(by_python),
    "native": one_reader(by_library),
    "threads": threads,
}
