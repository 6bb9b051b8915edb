"""Properties of the scan that hold for any text, drawn by hypothesis."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.raw import FLOAT_ARGS, INT_ARGS, TEXT_ARGS
from kinetoscope.trace.scan import sinks
from kinetoscope.trace.scan.cursor import ScanLimits
from kinetoscope.trace.scan.scanner import scan_in_python as scan
from tests.trace.drawn import raw_trace
from tests.trace.scanned import TINY, document, everything, rows

# Words that upset readers of JSON; a mutation puts them anywhere.
JUNK = [
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"\n", b"\0", b"\xff", b"NaN", b"//", b"/*",
    b'"}', b'",', b"\\ud800", b"}, {", b'], "a": [', b"null", b"{}", b"-", b"1e999", b'"ph":',
    b'{"ph":"X","name":"z"}', b'], "traceName": "x"}',
]  # fmt: skip

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip
int64 = st.integers(-(2**63), 2**63 - 1)
times = st.integers(0, 9 * 10**15) | st.decimals(0, 10**13, places=3) | st.decimals(0, 9, places=5)
keys = st.sampled_from([*INT_ARGS, *FLOAT_ARGS, *TEXT_ARGS, "Ev Idx", "cbid", ""])
usual_args = st.fixed_dictionaries(
    {}, optional={"External id": st.integers(0, 99), "correlation": int64,
                  "Input Dims": st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3),
                  "blocks per SM": st.floats(0, 9), "kind": st.text(max_size=5), "Ev": int64},
)  # fmt: skip
usual_events = st.fixed_dictionaries(
    {"ph": st.sampled_from("XisfM"), "name": st.text(max_size=12)},
    optional={"cat": st.sampled_from(["cpu_op", "kernel"]), "pid": st.integers() | st.just("Spans"),
              "tid": st.integers(0, 9) | st.text(max_size=4), "ts": times, "dur": times,
              "id": int64, "args": usual_args},
)  # fmt: skip
counters = st.fixed_dictionaries(
    {"ph": st.just("C")},
    optional={"args": st.dictionaries(st.text(max_size=3), json_values, max_size=3)},
)
odd_events = counters | st.dictionaries(
    st.sampled_from(["ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "bp"]), json_values
).flatmap(
    lambda event: st.dictionaries(keys, json_values, max_size=5).map(
        lambda args: {**event, "args": args} if args else event
    )
)


def text_of(value: object) -> str:
    """JSON with decimals as they are, and with white space that a reader must not mind."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)}: {text_of(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def loosely(text: bytes) -> dict[str, Any]:
    """Scans without the typed blocks: every event value by value."""

    def block(self: sinks.ColumnsSink, array: bytes, place: int) -> None:
        sinks.add_block(self.columns, self._faults, array, place)

    with mock.patch.object(sinks.ColumnsSink, "block", block):
        return verdict(text)


def verdict(text: bytes, limits: ScanLimits | None = None) -> dict[str, Any]:
    """All that a scan says of a text, a refusal included."""
    try:
        return everything(scan(text, limits=limits))
    except TraceFormatError as refusal:
        return {"refused": refusal.kind}


@given(st.lists(usual_events, max_size=6))
def test_sound_events_are_read_as_json_reads_them(events: list[dict[str, Any]]) -> None:
    text = document(*map(text_of, events))
    expected = raw_trace(json.loads(text, parse_float=Decimal))
    raw = scan(text)
    assert rows(raw) == rows(expected)
    assert raw.faults == ()


@given(st.lists(usual_events | odd_events, max_size=8))
def test_typed_blocks_mean_what_single_events_mean(events: list[dict[str, Any]]) -> None:
    text = document(*map(text_of, events))
    assert verdict(text) == loosely(text) == verdict(text, TINY)


@st.composite
def damaged_documents(draw: st.DrawFn) -> tuple[bytes, int, list[str]]:
    """A text, the place of its first damage, and the events that are whole before it."""
    events = draw(st.lists(usual_events | odd_events, min_size=1, max_size=6))
    texts = [text_of(event) for event in events]
    text = bytearray(document(*texts))
    first = len(text)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        first = min(first, at)
        how = draw(st.sampled_from(["cut", "flip", "insert", "delete"]))
        if how == "cut":
            del text[at:]
        elif how == "flip":
            text[at : at + 1] = bytes(
                byte ^ (1 << draw(st.integers(0, 7))) for byte in text[at : at + 1]
            )
        elif how == "insert":
            text[at:at] = draw(st.sampled_from(JUNK))
        else:
            del text[at : at + draw(st.integers(1, 30))]
    return bytes(text), first, texts


@given(damaged_documents())
def test_damage_never_depends_on_the_blocks(damaged: tuple[bytes, int, list[str]]) -> None:
    text = damaged[0]
    assert (
        verdict(text)
        == loosely(text)
        == verdict(text, TINY)
        == verdict(text, ScanLimits(50, 1 << 20))
    )


@given(damaged_documents())
def test_no_event_before_the_damage_is_lost(damaged: tuple[bytes, int, list[str]]) -> None:
    text, first, events = damaged
    whole = 0
    while whole < len(events) and len(document(*events[: whole + 1])) - len(b"\n]}") < first:
        whole += 1
    if not whole:
        return
    sound = rows(scan(document(*events[:whole])))
    assert rows(scan(text))[:whole] == sound


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"{", b"[", b'{"traceEvents": [', b"\x1f\x8b\x08"]),
)
def test_no_bytes_at_all_do_harm(data: bytes, start: bytes) -> None:
    verdict(start + data)
