"""Every collected file: read as `json` reads it, or refused by name, or damaged in a known way."""

from __future__ import annotations

import json
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.base.arrays import Sparse
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.raw import INT_ARGS, MISSING, NO_DUR, TEXT_ARGS, RawTrace
from kinetoscope.trace.scan.cursor import ScanLimits
from kinetoscope.trace.scan.json_values import int_value
from kinetoscope.trace.scan.scanner import scan
from tests.conftest import TRACES, requires_traces
from tests.trace.reread import read_event
from tests.trace.scanned import everything, faults, plain_text, rows

ODD = TRACES / "derived_oddities"
FILES = sorted(path for path in TRACES.rglob("*") if path.is_file()) if TRACES.is_dir() else []
CHECKED_TWICE = 120_000  # bytes of text; larger files take long in tiny blocks

REFUSED = {
    "README.md": "text",
    "ascend_npu/kernel_details.csv.gz": "csv",
    "cuda_memory_snapshots/magma27/memory_snapshot.pickle": "pickle",
    "cuda_memory_snapshots/wedsonlin/medium_128_inference_memory_snapshot.pickle": "pickle",
    "derived_oddities/container/empty_file.json": "empty",
    "derived_oddities/container/no_traceEvents.json": "no_trace_events",
    "derived_oddities/container/not_json.json": "html",
    "derived_oddities/container/traceEvents_dict.json": "trace_events_type",
    "derived_oddities/container/traceEvents_null.json": "trace_events_type",
    "fresh_torch1.11.0/oddnames/oddnames_result.json": "no_trace_events",
    "fresh_torch2.13/et/et.json.gz": "execution_trace",
    "fresh_torch2.13/exports/export_log.json": "no_trace_events",
    "fresh_torch2.13/exports/key_averages.txt": "key_averages",
    "fresh_torch2.13/exports/memory_timeline.json": "memory_timeline",
    "fresh_torch2.13/exports/memory_timeline.json.gz": "memory_timeline",
    "fresh_torch2.13/exports/memory_timeline.raw.json.gz": "memory_timeline",
    "fresh_torch2.13/oddnames/oddnames_result.json": "no_trace_events",
    "hta/execution_trace/benchmark_simple_add_et.json.gz": "execution_trace",
    "hta/memory_analysis/memory_timeline.raw.gz": "memory_timeline",
    "derived_oddities/container/utf16.json": "encoding",
    "torch2.15_cuspy/README.md": "text",
    "torch2.15_cuspy/truth.json": "no_trace_events",
}  # fmt: skip

DAMAGED = {
    "derived_oddities/container/array_no_closing_bracket.json": {"truncated": 1},
    "derived_oddities/container/bom.json": {"encoding": 1},
    "derived_oddities/container/crc_broken.json.gz": {"gzip_checksum": 1},
    "derived_oddities/container/double_gz.json.gz": {"gzip_nested": 1},
    "derived_oddities/container/truncated.json.gz": {"gzip_truncated": 1, "truncated": 1},
    "derived_oddities/container/truncated_mid_event.json": {"truncated": 1},
    "derived_oddities/syntax/comments.json": {"comment": 1},
    "derived_oddities/syntax/empty_args_fragment.json": {"stray_comma": 1},
    "derived_oddities/syntax/lone_surrogate_escape.json": {"lone_surrogate": 1},
    "derived_oddities/syntax/nan_inf_pyjson.json": {"not_a_number": 1},
    "derived_oddities/syntax/raw_newline_in_name_torch2.0.json": {"control_char": 1},
    "derived_oddities/syntax/trailing_commas.json": {"stray_comma": 1},
    "derived_oddities/syntax/windows_unescaped_backslash_torch2.0.json": {"bad_escape": 3},
    "fresh_torch1.11.0/oddnames/oddname_01.json": {"unescaped_quote": 1},
    "fresh_torch1.11.0/oddnames/oddname_02.json": {"bad_escape": 1},
    "fresh_torch1.11.0/oddnames/oddnames_all.json":
        {"control_char": 2, "bad_escape": 1, "unescaped_quote": 1},
    "fresh_torch1.11.0/resnet_w0/worker0.1795228885137.pt.trace.json": {"truncated": 1},
    "fresh_torch2.13/metadata/metadata_nan_and_broken.json":
        {"unescaped_quote": 1, "not_a_number": 1, "bad_metadata": 1},
    "fresh_torch2.13/oddnames/oddname_01.json": {"unescaped_quote": 1},
}  # fmt: skip

pytestmark = requires_traces


def name_of(path: Path) -> str:
    return path.relative_to(TRACES).as_posix()


SOUND = [path for path in FILES if name_of(path) not in REFUSED | DAMAGED]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_is_read_or_refused_by_name(path: Path) -> None:
    name = name_of(path)
    if name in REFUSED:
        with pytest.raises(TraceFormatError) as refusal:
            scan(path)
        assert refusal.value.kind == REFUSED[name]
        return
    raw = scan(path)
    assert faults(raw) == DAMAGED.get(name, {})
    if raw.text_bytes < CHECKED_TWICE:
        assert everything(scan(path, limits=ScanLimits(block_bytes=97))) == everything(raw)
    if len(raw.events):
        row = len(raw.events) // 2
        event = read_event(path, raw.blocks, row)
        assert event["ph"] == chr(raw.events.phase[row])
        assert event.get("name", "") == raw.strings[raw.events.name[row]]


@pytest.mark.parametrize("path", SOUND, ids=name_of)
def test_a_sound_file_is_read_as_json_reads_it(path: Path) -> None:
    raw = scan(path)
    document = json.loads(plain_text(path), parse_float=Decimal)
    events = document["traceEvents"] if isinstance(document, dict) else document
    metadata = {key: document[key] for key in document if key != "traceEvents"} if (
        isinstance(document, dict)) else {}  # fmt: skip
    assert raw.metadata == json.loads(json.dumps(metadata, default=float))
    assert raw.events.phase.tolist() == [ord(event["ph"]) for event in events]
    for key, codes in (("cat", raw.events.category), ("name", raw.events.name),
                       ("pid", raw.events.pid), ("tid", raw.events.tid)):  # fmt: skip
        expected = [str(event.get(key, "")) for event in events]
        assert [raw.strings[code] for code in codes.tolist()] == expected
    assert raw.events.ts.tolist() == [ns(event.get("ts"), MISSING) for event in events]
    assert raw.events.dur.tolist() == [ns(event.get("dur"), NO_DUR) for event in events]
    for key, column in INT_ARGS.items():
        check_column(raw, raw.ints.get(column), key, events)
    for key, column in TEXT_ARGS.items():
        check_column(raw, raw.texts.get(column), key, events)


def check_column(raw: RawTrace, sparse: Sparse | None, key: str, events: list[Any]) -> None:
    """Every event that has this argument has its value in the column."""
    cells = dict(zip(sparse.row.tolist(), sparse.value.tolist(), strict=True)) if sparse else {}
    for row, event in enumerate(events):
        value = (event.get("args") or {}).get(key)
        if value is None:
            continue
        if key in INT_ARGS:
            assert cells[row] == int_value(value)
        elif isinstance(value, str):
            assert raw.strings[cells[row]] == value
        else:
            assert json.loads(raw.strings[cells[row]], parse_float=Decimal) == value


def ns(value: Any, missing: int) -> int:
    if value is None:
        return missing
    return int((Decimal(value) * 1000).to_integral_value(ROUND_HALF_EVEN))


def test_names_that_broke_the_json_are_whole_again() -> None:
    names = {
        path: {row.get("name") for row in rows(scan(TRACES / path))}
        for path in (
            "fresh_torch2.13/oddnames/oddname_01.json",
            "fresh_torch1.11.0/oddnames/oddname_02.json",
            "derived_oddities/syntax/windows_unescaped_backslash_torch2.0.json",
        )
    }
    quote, backslash, windows = names.values()
    assert 'quote " inside' in quote
    assert r"back\slash C:\temp\new" in backslash
    assert windows == {
        r"torch\cuda\__init__.py(219): _lazy_init",
        r"C:\Users\x\u_net.py(3): forward",
        "a\nb.py(1): f",  # a valid escape: nobody can tell
    }


def test_a_crashed_export_says_where_it_ends() -> None:
    path = TRACES / "fresh_torch1.11.0/resnet_w0/worker0.1795228885137.pt.trace.json"
    raw = scan(path)
    assert len(raw.events) == 4112
    assert raw.faults[0].offset == raw.text_bytes
