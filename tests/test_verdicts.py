"""The verdict on every real and damaged trace: opened, or refused for what it is.

`verdicts.tsv` lists, for each file, the verdict ("open", or the kind of the refusal), the number of
events, where the steps come from and how many, the device type, and the notes that are warnings or
errors. To see what changed after an intended change of a verdict, and to write the table anew:

    python -m tests.test_verdicts > tests/verdicts.tsv
"""

from __future__ import annotations

import csv
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from kinetoscope.analysis.facts import Facts, StepFacts
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.read import read
from kinetoscope.views import all_views
from tests.conftest import TRACES, requires_traces

TABLE = Path(__file__).with_name("verdicts.tsv")


class Verdict(NamedTuple):
    """One row of the table, as text."""

    file: str
    verdict: str
    events: str
    steps: str
    device: str
    notes: str


@cache
def facts_of(file: str) -> Facts | TraceFormatError:
    try:
        return summarize(read(TRACES / file))
    except TraceFormatError as error:
        return error


def verdict_on(file: str) -> Verdict:
    facts = facts_of(file)
    if isinstance(facts, TraceFormatError):
        return Verdict(file, facts.kind, "–", "–", "–", "–")
    notes = sorted(n.kind for n in facts.health.notes if n.severity in {"warning", "error"})
    steps = f"{len(facts.steps)} {facts.step_source}"
    return Verdict(
        file, "open", str(facts.health.events), steps, facts.device_type, " ".join(notes) or "–"
    )


def listed() -> list[Verdict]:
    with TABLE.open(newline="") as table:
        return [Verdict(*row) for row in csv.reader(table, delimiter="\t")]


def present() -> list[str]:
    files = (p for p in TRACES.rglob("*") if p.is_file() and p.name != "README.md")
    return sorted(p.relative_to(TRACES).as_posix() for p in files)


@requires_traces
@pytest.mark.parametrize("expected", listed(), ids=lambda row: row.file)
def test_each_file_gets_its_verdict(expected: Verdict) -> None:
    if not (TRACES / expected.file).is_file():
        pytest.skip("this file is not among the traces here")
    assert verdict_on(expected.file) == expected
    facts = facts_of(expected.file)
    if isinstance(facts, TraceFormatError):
        assert facts.message
        assert facts.hint
        return
    for step in facts.steps:
        assert_parts_sum(step)
    for view in (view for view in all_views() if view.artifact is None):
        answer = view.build(facts, view.query())
        assert view.tables(answer)


@requires_traces
def test_no_file_is_left_out() -> None:
    assert [f for f in present() if f not in {row.file for row in listed()}] == []


def assert_parts_sum(step: StepFacts) -> None:
    """Breakdown, partitions and idle causes are exact to the nanosecond."""
    whole = step.end_ns - step.start_ns
    breakdown = step.breakdown
    assert sum(getattr(breakdown, f) for f in breakdown.__struct_fields__) == whole
    for device in step.devices:
        p = device.partition
        busy = p.compute_ns + p.exposed_communication_ns + p.exposed_copy_ns + p.memset_ns
        assert busy + p.idle_ns + p.start_up_ns == whole
        causes = (f for f in p.__struct_fields__ if f.startswith("idle_") and f != "idle_ns")
        assert sum(getattr(p, f) for f in causes) == p.idle_ns
        assert 0 <= p.overlap_ns <= p.compute_ns
    if step.host is not None:
        parts = (f for f in step.host.__struct_fields__ if f != "overlap_ns")
        assert sum(getattr(step.host, f) for f in parts) == whole


if __name__ == "__main__":
    for name in present():
        sys.stdout.write("\t".join(verdict_on(name)) + "\n")
