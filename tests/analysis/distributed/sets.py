"""Sets of recordings for tests: real ones by folder, each digested once."""

from __future__ import annotations

from functools import cache

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.trace.read import read
from tests.conftest import TRACES


@cache
def digests(folder: str) -> tuple[RankDigest, ...]:
    """The digests of all recordings in a folder of the real traces, by file name."""
    files = sorted((TRACES / folder).glob("*.json.gz"))
    return tuple(digest_of(read(file)) for file in files)


@cache
def compared(folder: str) -> Comparison:
    """What the recordings in a folder say together."""
    found = digests(folder)
    return compare(found, [f"worker{number}" for number in range(len(found))])
