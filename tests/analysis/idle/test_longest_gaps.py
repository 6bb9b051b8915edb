"""The five longest idle stretches of real recordings, each looked up in the events around it.

`longest_gaps.tsv` has for each: file, start and length in ns, the cause that is most of it, the
beginnings of the names of what held the device longest and of the work that ended it; and what the
events of the file show there.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import pytest

from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.collected import opened
from tests.conftest import TRACES, requires_traces

TABLE = Path(__file__).with_name("longest_gaps.tsv")


class Judged(NamedTuple):
    """One row of the table."""

    file: str
    ts: str
    dur_ns: str
    cause: str
    held: str
    following: str
    events: str


def judged() -> dict[str, list[Judged]]:
    """The rows of each file."""
    found: dict[str, list[Judged]] = {}
    with TABLE.open(newline="", encoding="utf-8") as table:
        for row in csv.reader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            found.setdefault(row[0], []).append(Judged(*row))
    return found


@requires_traces
@pytest.mark.parametrize("name", judged())
def test_the_longest_gaps_are_what_their_events_show(name: str) -> None:
    if not (TRACES / name).is_file():
        pytest.skip("this file is not among the traces here")
    found = select(summarize(opened(name)), "all").gaps[:5]
    for seen, row in zip(found, judged()[name], strict=True):
        told = (str(seen.gap.ts), str(seen.gap.dur_ns), seen.cause)
        assert told == (row.ts, row.dur_ns, f"idle_{row.cause}_ns"), row.events
        assert (seen.held.name if seen.held else "").startswith(row.held), row.events
        assert seen.following.startswith(row.following), row.events
