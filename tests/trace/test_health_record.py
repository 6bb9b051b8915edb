"""What the health record says of a trace, and that its counts reconcile."""

from __future__ import annotations

import re
import string
from typing import Any

import pytest

from kinetoscope.trace.health.checks import note
from kinetoscope.trace.health.notes import CATALOG, EVERYTHING
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import Fault
from kinetoscope.trace.read import build
from tests.drawing import trace_of
from tests.trace.drawn import (
    annotation,
    drawn,
    flow,
    kernel,
    kinds,
    launch,
    memory,
    meta,
    python,
    raw_trace,
    x,
)

OP = x("aten::mm", 0, 100)


def find(trace: Trace, kind: str) -> Any:
    return next(note for note in trace.health.notes if note.kind == kind)


def test_a_recording_without_gaps() -> None:
    trace = drawn(
        annotation("ProfilerStep#1", 0, 1000.001),
        python("train.py(1): step", 1, 900),
        x("aten::mm", 2, 50, **{"Input Dims": [[2, 2], [2, 2]], "External id": 1}),
        launch(5, 2, 1),
        kernel("gemm", 10, 5, correlation=1),
        memory(3, 64, Addr=1),
    )
    assert kinds(trace) == ["python_tracing", "all_linked", "complete"]
    assert find(trace, "complete").severity == "good"
    health = trace.health
    assert (health.events, health.used, health.ignored, health.skipped) == (6, 6, {}, 0)


def test_what_is_missing_comes_with_what_to_record() -> None:
    trace = drawn(OP)
    for kind in ("no_shapes", "no_stacks", "no_memory", "no_steps"):
        assert find(trace, kind).remedy, kind
    assert "record_shapes=True" in find(trace, "no_shapes").remedy


def test_notes_are_sorted_worst_first() -> None:
    trace = drawn(OP, x("b", 5_000, -1), launch(5, 1, 1), ERROR=["DEVICE_STOPPED"])
    severities = [note.severity for note in trace.health.notes]
    assert severities == sorted(severities, key=["error", "warning", "info", "good"].index)
    assert find(trace, "recorder_errors").example == "DEVICE_STOPPED"


@pytest.mark.parametrize(
    ("kind", "events"),
    [
        ("no_device", [OP]),
        ("lost_kernels", [OP, launch(5, 1, 1)]),
        ("left_out_kernels", [OP, launch(5, 1, 1), x("Memset", 9, 1, cat="gpu_memset", tid=7)]),
        ("left_out_copies", [OP, launch(5, 1, 1, name="cudaMemcpyAsync"), kernel("k", 9, 1)]),
        ("device_only", [kernel("k", 0, 5)]),
        ("no_runtime", [OP, kernel("k", 0, 5)]),
        ("no_addresses", [OP, memory(5, 64)]),
        ("stacks_as_text", [x("a", 0, 5, **{"Call stack": "a.py(3): f"})]),
        ("several_processes", [OP, x("aten::mm", 0, 9, pid=200)]),
        ("lost_names", [x("unknown", 0, 5)]),
        ("unfinished", [x("open", 0, 5, finished=False)]),
        ("partial_overlap", [OP, annotation("range", 50, 100)]),
        ("stream_overlap", [kernel("a", 0, 10), kernel("b", 5, 10)]),
        ("profiler_overhead", [OP, x("Instrumentation", 0, 50, cat="overhead", pid=-1)]),
        ("lonely_flows", [OP, flow("ac2g", 3, (1, 0), (1, 5))[:1]]),
        ("derived_rows", [meta("process_name", 8, name="Overlap Analysis"), OP,
                          {**x("Computing", 0, 5, pid=8), "cat": None}]),
        ("thread_renamed", [meta("thread_name", 100, 1, name="loader"),
                            meta("thread_name", 100, 1, name="saver"), OP]),
        ("rounded_time", [OP]),
    ],
)  # fmt: skip
def test_one_cause_one_note(kind: str, events: list[Any]) -> None:
    flat = [event for item in events for event in (item if isinstance(item, list) else [item])]
    assert kind in kinds(drawn(flat))
    clean = drawn(
        x("aten::mm", 0, 100.5, **{"Input Dims": [[1]]}),
        launch(5, 2, 1),
        kernel("k", 10, 5, correlation=1),
    )
    assert kind not in kinds(clean)


def test_an_event_has_one_note_for_its_time() -> None:
    """What cannot be read is missing, too; that is not said a second time."""
    trace = trace_of([OP, {**OP, "ts": "noon"}, {**OP, "dur": "long"}])
    assert {"bad_ts", "bad_dur"} < set(kinds(trace))
    assert not {"no_time", "missing_duration"} & set(kinds(trace))
    assert find(trace, "bad_dur").consequence == "Each counts as 0 ns."


@pytest.mark.parametrize("kind", [kind for kind in CATALOG if "{count}" in CATALOG[kind].title])
def test_what_is_said_of_one_is_no_plural(kind: str) -> None:
    said = note(kind, 1, 1).consequence
    assert not re.search(r"^(They|Their)\b|; they are|: they were", said), said


def test_finished_true_on_every_event_means_nothing() -> None:
    """Some recorders write it so."""
    assert "unfinished" not in kinds(drawn(x("a", 0, 5, finished=True)))


def test_orphans_are_a_warning_when_they_are_many() -> None:
    linked = [launch(5, 1, 1)] + [kernel("k", 10 + i, 1, correlation=1) for i in range(40)]
    few = drawn(OP, linked, kernel("lost", 90, 1, correlation=7))
    many = drawn(OP, linked, [kernel("lost", 90 + i, 1, correlation=7 + i) for i in range(9)])
    assert find(few, "orphans").severity == "info"
    assert find(many, "many_orphans").severity == "warning"
    assert "overview" in find(many, "many_orphans").taints
    assert find(many, "many_orphans").count == 9


def test_faults_of_the_scanner_become_notes_and_counts() -> None:
    faults = (
        Fault("truncated", 1, "", 4096),
        Fault("unescaped_quote", 3, 'say "hi"', 100),
        Fault("skipped_event", 2),
        Fault("not_a_kind", 1),
    )
    trace = build(raw_trace({"traceEvents": [OP]}, faults), "x", 10)
    assert (trace.health.skipped, trace.health.repaired) == (2, 3)
    assert find(trace, "truncated").offset == 4096
    assert find(trace, "unescaped_quote").example == 'say "hi"'
    assert find(trace, "not_a_kind").title == "not_a_kind", "shown, though nobody has words for it"
    assert "complete" not in kinds(trace)


@pytest.mark.parametrize("kind", CATALOG)
def test_every_kind_can_be_said(kind: str) -> None:
    entry = CATALOG[kind]
    assert entry.severity in {"error", "warning", "info", "good"}
    assert entry.counts_as in {"", "skipped", "repaired"}
    assert set(entry.taints) <= set(EVERYTHING)
    fields = {
        name
        for text in (entry.title, entry.consequence)
        for _, name, _, _ in string.Formatter().parse(text)
    }
    assert fields - {None} <= {"count", "total", "share", "detail"}
    said = note(kind, 3, 12, detail="{braces}")
    assert said.title
    assert said.consequence.endswith((".", "…"))


def test_a_note_counts_and_shares() -> None:
    said = note("orphans", 300, 1200)
    assert said.title == "25.0 % of the device activity has no launch"
    assert said.consequence.startswith("300 of 1,200")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("timeless", "1 event has no plausible time"),
        ("negative_duration", "1 event ends before it starts"),
        ("no_time", "1 event without a time"),
        ("prologue", "1 kernel was launched before the recording began"),
        ("clock_skew", "1 kernel starts before its launch"),
        ("lost_kernels", "1 launch, but no kernels"),
        ("skipped_text", "1 piece of text could not be read"),
    ],
)
def test_one_of_a_kind_is_said_in_the_singular(kind: str, said: str) -> None:
    assert note(kind, 1).title == said
    assert note(kind, 2).title != said
