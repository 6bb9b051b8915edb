"""On real recordings each finding rests on events that are there, and its remedy on what ran.

These are small; ``python -m benchmarks.false_alarms`` asks all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinetoscope.trace.read import read
from tests.analysis.advice.evidence import (
    findings_of,
    raw_events,
    unmet_remedies,
    wrong_evidence,
)
from tests.conftest import TRACES, requires_traces
from tests.test_advice import rows

MOST_BYTES = 3 << 20


def chosen_files() -> Iterator[str]:
    for row in rows():
        path = TRACES / row.file
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            yield row.file


@requires_traces
@pytest.mark.parametrize("file", sorted(chosen_files()))
def test_findings_rest_on_events_of_the_file_and_remedies_on_what_ran(file: str) -> None:
    raw = raw_events(TRACES / file)
    if raw is None:
        pytest.skip("strict JSON refuses this file")
    trace = read(TRACES / file)
    findings = findings_of(trace)
    assert [*wrong_evidence(trace, findings, raw), *unmet_remedies(findings, raw)] == []
