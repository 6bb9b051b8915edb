"""The native reader and the reference say the same of every text: columns, faults, health."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base.native import native
from kinetoscope.trace.raw import RawTrace
from kinetoscope.trace.read import build
from kinetoscope.trace.scan.cursor import ScanLimits, TextWindow
from kinetoscope.trace.scan.native import NativeColumns, NativePanic, NativeSink
from kinetoscope.trace.scan.scanner import scan, scan_natively
from tests.conftest import TRACES, requires_native, requires_traces
from tests.fuzz.agreement import (
    arrays,
    block_faults,
    by_library,
    by_python,
    differences,
    verdict,
)
from tests.fuzz.documents import Documents
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import both
from tests.trace.scanned import document, everything

pytestmark = requires_native

FILES = sorted(path for path in TRACES.rglob("*") if path.is_file()) if TRACES.is_dir() else []


def name_of(path: Path) -> str:
    return path.relative_to(TRACES).as_posix()


@requires_traces
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_real_trace_is_the_same_to_both(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[object] = []

    def events(self: NativeSink, events: list[object], starts: list[int], end: int) -> None:
        left.extend(events)
        singly(self, events, starts, end)  # type: ignore[arg-type]

    singly = NativeSink.events
    monkeypatch.setattr(NativeSink, "events", events)
    reference, found = verdict(by_python, path), verdict(by_library, path)
    assert differences(reference, found) == []
    if isinstance(reference, str) or isinstance(found, str):
        return
    assert block_faults(found, path, [len(found.events) // 3] if len(found.events) else []) == []
    assert len(left) <= 20, "the library leaves events of a common kind"
    size = path.stat().st_size
    assert build(reference, path, size).health == build(found, path, size).health


@given(st.randoms(use_true_random=False))
def test_a_trace_that_nobody_wrote_is_the_same_to_both(chance: random.Random) -> None:
    assert both(Documents(chance).document().encode()) == []


@given(st.randoms(use_true_random=False))
def test_a_damaged_trace_is_the_same_to_both(chance: random.Random) -> None:
    texts = [Documents(chance).document().encode() for _ in range(2)]
    assert both(mutated(texts[0], texts, chance)) == []


PLAIN = (
    '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": "7", "ts": "1.5", "dur": 2,'
    ' "args": {"External id": "12", "Input Dims": [[2, 3], []], "blocks per SM": 1.50}}'
)
EVENTS = (
    PLAIN,
    '{"ph": "X", "name": 7, "args": {"correlation": "many"}}',  # two faults
    '{"ph": "C", "name": "memory", "args": {"bytes": 1, "more": {"a": [1.50, "é"]}}}',
    '{"ph": "X", "name": "a "b" c"}',
    '{"ph": "s", "id": 1704161511422904204, "pid": 1}',
)


def test_what_the_library_takes_and_what_it_leaves_stand_in_the_order_of_the_file() -> None:
    text = document(*EVENTS)
    assert both(text) == []
    assert arrays(by_library(text))["phase"].tobytes() == b"XXCXs"


@pytest.mark.parametrize("every", [1, 2, 5, 30])
@pytest.mark.parametrize("odd", EVENTS[1:4])
def test_many_events_that_the_library_leaves(odd: str, every: int) -> None:
    """Then the reference reads blocks, whose texts it meets in another order."""
    events = [
        odd if n % every == 0 else PLAIN.replace("mm", f"mm{n % 7}").replace("[2,", f"[{n % 3},")
        for n in range(700)
    ]
    text = document(*events)
    reference = by_python(text)
    for limits in (None, ScanLimits(block_bytes=5000)):
        assert differences(reference, by_library(text, limits)) == []


NUMBERS = [
    *("9" * digits for digits in (19, 20, 40, 41, 400, 401, 5000)),
    *(f"0.{'3' * 34}e-{power}" for power in (3, 40, 400)),  # 41 characters are too many
    *(f"{'9' * digits}e-{digits}" for digits in (35, 36, 38)),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{len(number)} characters")
@pytest.mark.parametrize(
    "event",
    [
        '{"ph": "X", "pid": N, "tid": "N"}',
        '{"ph": "b", "id": N}',
        '{"ph": "X", "ts": N, "dur": N, "args": {"External id": N, "blocks per SM": N}}',
    ],
)
def test_numbers_of_any_length(event: str, number: str) -> None:
    """In sound text, and behind damage, where other decoders read them."""
    odd = event.replace("N", number)
    for text in (
        f'[{{"a": 1}}, {odd}, {{"a": 2}}, {odd}, {{}}]',
        '[{"ph": 1}' + 20 * ', {"ph":' + f', {odd}, {odd}, {{"dur": {{}}}}, {odd}, {{}}, {{',
    ):
        assert both(text.encode()) == []


@pytest.mark.parametrize("blank", [" ", "\n\t", ""])
@pytest.mark.parametrize("junk", ["\v", "\f", "\0", "\u00a0", "x"])
def test_junk_behind_an_event_is_skipped_where_it_is(blank: str, junk: str) -> None:
    text = f'[{{"a": 1}}{blank}{junk},{{"ph": "X"}}{blank}{junk}{blank},{blank}{{"ph": "i"}}]'
    assert both(text.encode()) == []


def test_scan_uses_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    run = NativeColumns.run

    def counted(
        self: NativeColumns,
        pieces: Sequence[bytes],
        window: TextWindow,
        stop: int,
        limits: ScanLimits,
    ) -> tuple[int, bool]:
        runs.append(window.pos)
        return run(self, pieces, window, stop, limits)

    monkeypatch.setattr(NativeColumns, "run", counted)
    assert len(scan(document(*EVENTS)).events) == len(EVENTS)
    assert runs


def test_a_bug_in_the_library_costs_time_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers that it failed; the reference reads the file."""
    run = NativeColumns.run

    def failing(
        self: NativeColumns,
        pieces: Sequence[bytes],
        window: TextWindow,
        stop: int,
        limits: ScanLimits,
    ) -> tuple[int, bool]:
        if self.rows:
            raise NativePanic
        return run(self, pieces, window, stop, limits)

    text = document(*EVENTS)
    expected = everything(by_python(text))
    monkeypatch.setattr(NativeColumns, "run", failing)
    assert everything(scan(text)) == expected
    library = native().library
    assert library is not None
    with pytest.raises(NativePanic):
        scan_natively(library, text)


def test_a_panic_does_not_leave_the_library() -> None:
    library = native().library
    assert library is not None
    columns = NativeColumns(library)
    one = np.zeros(1, np.int64).ctypes.data
    with pytest.raises(NativePanic):
        columns.call("put", 255, 1, one, one)  # There is no such column.


def test_a_trace_without_events() -> None:
    for text in (b'{"traceEvents": []}', b"[]", b'{"traceEvents": [], "a": 1}'):
        assert differences(verdict(by_python, text), verdict(by_library, text)) == []


def test_the_agreement_would_notice() -> None:
    raw: RawTrace = by_library(document(*EVENTS))
    other: RawTrace = by_library(document(*EVENTS[:2], *EVENTS[3:]))
    assert {line.split(":")[0] for line in differences(raw, other)} >= {"phase", "ts", "strings"}
    assert differences(raw, "no_trace_events") == ["5 events != no_trace_events"]
