"""What the Overview says of real recordings: the sentence on top and the first finding.

`advice.tsv` lists, for each recording, both as an earlier state said them, both as they are now,
and what the events show: the reason why the new words are true, looked up in the recording itself.
To write the columns of now anew after an intended change, and then judge what changed:

    python -m tests.test_advice > /tmp/advice.tsv && mv /tmp/advice.tsv tests/advice.tsv
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kinetoscope.analysis.headline import verdict
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.test_verdicts import listed

TABLE = Path(__file__).with_name("advice.tsv")


class Advice(NamedTuple):
    """One row of the table."""

    file: str
    said_before: str
    found_before: str
    says: str
    finds: str
    events: str  # what the events of the recording show


def rows() -> list[Advice]:
    with TABLE.open(newline="", encoding="utf-8") as table:
        return [Advice(*row) for row in csv.reader(table, delimiter="\t", quoting=csv.QUOTE_NONE)]


def advice_on(file: str) -> tuple[str, str]:
    """The sentence on top, and the first finding, else why there is none."""
    chosen = select(summarize(read(TRACES / file)))
    said = verdict(chosen)
    first, why = next(iter(said.findings), None), said.unanswered
    finds = f"{first.id}: {first.text}" if first else f"none: {why and why.text}"
    return plain(said.sentence.headline), plain(finds)


def plain(text: str) -> str:
    """A text on one line: names of a trace may hold anything."""
    return re.sub(r"[\x00-\x1f\u00a0]", " ", text)


@requires_traces
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.file)
def test_what_is_said_of_a_recording(row: Advice) -> None:
    if not (TRACES / row.file).is_file():
        pytest.skip("this file is not among the traces here")
    assert advice_on(row.file) == (row.says, row.finds)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.file)
def test_each_row_is_judged_by_its_events(row: Advice) -> None:
    assert row.events
    assert not row.events.startswith("?")


def test_every_recording_that_opens_is_judged() -> None:
    opened = {row.file for row in listed() if row.verdict == "open"}
    assert {row.file for row in rows()} == opened


if __name__ == "__main__":
    for one in rows():
        says, finds = advice_on(one.file)
        sys.stdout.write("\t".join(one._replace(says=says, finds=finds)) + "\n")
