"""One event in full, found again by its row."""

from __future__ import annotations

import gzip
import json

import pytest

from kinetoscope.base.errors import NotFoundError
from kinetoscope.trace.scan.cursor import ScanLimits
from kinetoscope.trace.scan.scanner import scan
from tests.trace.reread import read_event

from .scanned import TINY, document

EVENTS = [
    {"ph": "X", "name": f"op {n}", "ts": n + 0.5, "args": {"Ev Idx": n, "more": [n, {"a": None}]}}
    for n in range(50)
]
TEXT = document(*map(json.dumps, EVENTS))


@pytest.mark.parametrize("stored", [TEXT, gzip.compress(TEXT)])
@pytest.mark.parametrize("limits", [TINY, ScanLimits(block_bytes=1000), ScanLimits()])
def test_every_event_is_found_again_with_all_its_keys(stored: bytes, limits: ScanLimits) -> None:
    blocks = scan(stored, limits=limits).blocks
    assert [read_event(stored, blocks, row) for row in (0, 1, 25, 49)] == [
        EVENTS[0], EVENTS[1], EVENTS[25], EVENTS[49],
    ]  # fmt: skip


@pytest.mark.parametrize("limits", [TINY, ScanLimits()])
def test_damaged_events_are_found_again_as_they_were_read(limits: ScanLimits) -> None:
    texts = [json.dumps(event) for event in EVENTS]
    texts[10] = '{"ph": "X", "name": "a "b" c", "args": {"x": NaN, "y": 1.5}}'
    texts[20] = '{"lost'
    texts[30] = "null"
    texts[49] = '{"ph": "X", "name": "last "quote""}'
    text = document(*texts)
    raw = scan(text, limits=limits)
    again = [read_event(text, raw.blocks, row) for row in range(len(raw.events))]
    assert [event["name"] for event in again] == [
        raw.strings[code] for code in raw.events.name.tolist()
    ]
    assert again[10]["args"] == {"x": None, "y": 1.5}


def test_a_row_that_is_not_there() -> None:
    blocks = scan(TEXT).blocks
    for row in (-1, 50, 10**9):
        with pytest.raises(NotFoundError, match="no event"):
            read_event(TEXT, blocks, row)


def test_a_file_that_was_replaced() -> None:
    blocks = scan(TEXT).blocks
    with pytest.raises(NotFoundError, match="has changed"):
        read_event(document('{"ph": "X"}'), blocks, 40)
