"""What a scan makes of a trace that is as it should be."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kinetoscope.base.errors import NotFoundError, TraceFormatError
from kinetoscope.trace.raw import MISSING, NO_DUR, Progress
from kinetoscope.trace.scan.cursor import ScanLimits
from kinetoscope.trace.scan.scanner import scan, scan_in_python
from tests.trace.scanned import TINY, document, everything, faults, rows, scan_events

TRACE = b"""{
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}],
  "traceEvents": [
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": 100,
    "ts": 4370504323436.782, "dur": 7.5,
    "args": {
      "External id": 14,"Record function id": 0, "Input Dims": [[2, 3], []], "Ev Idx": 13
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
    "ts": 4370504323440.001, "dur": 3,
    "args": {
      "External id": 14, "device": 0, "stream": 7, "correlation": 5, "blocks per SM": 1.5,
      "grid": [8, 1, 1]
    }
  },
  {
    "ph": "f", "id": 5, "pid": 0, "tid": 7, "ts": 4370504323440.001,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  },
  {
    "ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python"}
  }
  ],
  "traceName": "t.json"
}"""


def test_every_event_is_a_row_and_every_hot_argument_a_column() -> None:
    op = {
        "ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": "100", "tid": "100",
        "ts": 4370504323436782, "dur": 7500,
        "external_id": 14, "input_dims": "[[2,3],[]]",
    }  # fmt: skip
    kernel = {
        "ph": "X", "cat": "kernel", "name": "gemm", "pid": "0", "tid": "7",
        "ts": 4370504323440001, "dur": 3000,
        "external_id": 14, "device": 0, "stream": 7, "correlation": 5,
        "blocks_per_sm": 1.5, "grid": "[8,1,1]",
    }  # fmt: skip
    flow = {"ph": "f", "cat": "ac2g", "name": "ac2g", "pid": "0", "tid": "7",
            "ts": 4370504323440001, "id": 5}  # fmt: skip
    meta = {"ph": "M", "name": "process_name", "pid": "100", "tid": "0", "label_name": "python"}
    raw = scan(TRACE)
    assert rows(raw) == [op, kernel, flow, meta]
    assert raw.faults == ()
    assert raw.text_bytes == len(TRACE)


def test_metadata_stands_before_and_behind_the_events() -> None:
    assert scan(TRACE).metadata == {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}],
        "traceName": "t.json",
    }


def test_codes_count_texts_in_the_order_of_their_first_use() -> None:
    raw = scan(TRACE)
    assert raw.strings == (
        "", "cpu_op", "aten::mm", "100", "[[2,3],[]]", "kernel", "gemm", "0", "7", "[8,1,1]",
        "ac2g", "process_name", "python",
    )  # fmt: skip
    assert raw.events.category.tolist() == [1, 5, 10, 0]


def test_columns_have_the_types_of_the_contract() -> None:
    raw = scan(TRACE)
    assert raw.events.phase.dtype == np.uint8
    assert {raw.events.name.dtype, raw.events.pid.dtype} == {np.dtype(np.int32)}
    assert {raw.events.ts.dtype, raw.events.dur.dtype} == {np.dtype(np.int64)}
    assert raw.ints["correlation"].value.dtype == np.int32
    assert raw.floats["blocks_per_sm"].value.dtype == np.float64
    assert raw.texts["grid"].value.dtype == raw.texts["grid"].row.dtype == np.int32


def test_what_an_event_does_not_have_is_missing_and_no_fault() -> None:
    raw = scan_events("{}", '{"ph": "X"}')
    assert raw.events.phase.tolist() == [0, ord("X")]
    assert raw.events.ts.tolist() == [MISSING, MISSING]
    assert raw.events.dur.tolist() == [NO_DUR, NO_DUR]
    assert raw.strings == ("",)
    assert raw.faults == ()


def test_a_bare_array_is_a_trace() -> None:
    raw = scan(b'[{"ph": "X", "name": "aten::mm", "ts": 1.5, "dur": 2, "pid": "CPU functions"}]')
    assert rows(raw) == [
        {"ph": "X", "name": "aten::mm", "pid": "CPU functions", "ts": 1500, "dur": 2000}
    ]
    assert raw.metadata == {}


def test_events_may_be_the_first_or_the_last_key_or_none() -> None:
    assert len(scan(b'{"traceEvents": [], "a": 1}').events) == 0
    assert len(scan(b'{"a": 1, "traceEvents": [{"ph": "X"}]}').events) == 1
    assert scan(b'{"traceEvents": [], "a": 1}').metadata == {"a": 1}


def test_numbers_and_texts_are_the_same_pid_tid_and_time() -> None:
    number = {"ph": "X", "pid": 7, "tid": 8, "ts": 1704161511420306.5, "id": 12}
    text = {"ph": "X", "pid": "7", "tid": "8", "ts": "1704161511420306.5", "id": "12"}
    first, second = rows(scan_events(number, text))
    assert first == second == {"ph": "X", "pid": "7", "tid": "8", "ts": 1704161511420306500,
                               "id": 12}  # fmt: skip


def test_an_id_that_is_no_number_stays_a_text() -> None:
    raw = scan_events({"ph": "b", "id": "0x7f"}, {"ph": "b", "id": "007"}, {"ph": "b", "id": 7})
    assert [(row.get("id"), row.get("id_text")) for row in rows(raw)] == [
        (None, "0x7f"), (None, "007"), (7, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "value"),
    [("7", 7), ('"7"', 7), ("7.0", 7), ('"0x1f"', 31), ("true", 1), ("-3", -3)],
)
def test_an_integer_argument_may_be_written_in_many_ways(written: str, value: int) -> None:
    raw = scan_events(f'{{"ph": "X", "args": {{"correlation": {written}}}}}')
    assert raw.ints["correlation"].value.tolist() == [value]
    assert raw.faults == ()


def test_a_text_argument_that_is_no_string_is_its_json() -> None:
    args = '{"Input Dims": [ [1, 2],\\n [] ], "kind": 1.50, "dtype": {"a": "é", "b": null}}'
    raw = scan_events('{"ph": "X", "args": ' + args.replace("\\n", "\n") + "}")
    assert rows(raw)[0] | {"ph": ""} == {
        "ph": "", "input_dims": "[[1,2],[]]", "copy_kind": "1.50",
        "collective_dtype": '{"a":"é","b":null}',
    }  # fmt: skip


def test_null_is_an_absent_argument() -> None:
    raw = scan_events({"ph": "X", "args": {"Python parent id": None, "grid": None}})
    assert raw.ints == raw.texts == {}
    assert raw.faults == ()


def test_an_absent_argument_is_no_number_either() -> None:
    args: list[dict[str, object]] = [{"blocks per SM": 1.5, "stream": 7}, {}, {"stream": 8}]
    raw = scan_in_python(document(*(json.dumps({"ph": "X", "args": each}) for each in args)))
    assert raw.floats["blocks_per_sm"].row.tolist() == [0]
    assert raw.ints["stream"].row.tolist() == [0, 2]


def test_of_two_spellings_the_first_in_the_table_counts() -> None:
    raw = scan_events({"ph": "X", "args": {"external id": 2, "External id": 1}},
                      {"ph": "X", "args": {"external id": 2, "External id": None}})  # fmt: skip
    assert raw.ints["external_id"].value.tolist() == [1, 2]


def test_counters_keep_all_their_args() -> None:
    event = {"ph": "C", "name": "GPU 0 Utilization", "args": {"": 0.5, "b": [1]}}
    assert rows(scan_events(event))[0]["counter_args"] == '{"":0.5,"b":[1]}'


def test_of_equal_keys_in_an_event_the_last_counts() -> None:
    event = '{"ph": "X", "name": "a", "name": "b", "args": {"correlation": 1, "correlation": 2}}'
    assert rows(scan_events(event)) == [{"ph": "X", "name": "b", "correlation": 2}]


def test_a_key_of_the_root_given_twice_is_told() -> None:
    raw = scan(b'{"a": 1, "traceEvents": [{"ph": "X"}], "a": 2}')
    assert raw.metadata == {"a": 2}
    assert faults(raw) == {"repeated_key": 1}


def test_a_category_may_change_its_arguments_and_their_types_at_any_event() -> None:
    """What is learned from the first events of a category must not hide what comes later."""
    events = [{"ph": "X", "cat": "k", "args": {"stream": 1}} for _ in range(200)]
    events += [{"ph": "X", "cat": "k", "args": {"stream": "2", "correlation": 3}}]
    events += [{"ph": "X", "cat": "k", "args": {"stream": None, "never seen": [{}]}}]
    for limits in (None, TINY):
        raw = scan(document(*map(json.dumps, events)), limits=limits)
        assert raw.ints["stream"].value.tolist() == [1] * 200 + [2]
        assert raw.ints["correlation"].row.tolist() == [200]


def test_any_text_may_be_the_key_of_an_argument() -> None:
    events = [{"ph": "X", "args": {key: 1, "stream": n}} for n, key in enumerate('"\\\n\0é ')]
    assert scan_in_python(document(*map(json.dumps, events))).ints["stream"].value.tolist() == [
        0, 1, 2, 3, 4, 5,
    ]  # fmt: skip


def test_more_categories_and_keys_than_anybody_would_learn() -> None:
    events = [
        {"ph": "X", "cat": f"c{n}", "args": {f"key {n}": n, "correlation": n, "stream": str(n)}}
        for n in range(300)
    ]
    raw = scan_events(*events)
    assert raw.ints["correlation"].value.tolist() == list(range(300))
    assert raw.ints["stream"].value.tolist() == list(range(300))


def test_blocks_of_any_size_give_the_same() -> None:
    whole = everything(scan(TRACE))
    for block_bytes in (1, 7, 100, 1000):
        assert everything(scan(TRACE, limits=ScanLimits(block_bytes=block_bytes))) == whole


def test_blocks_tell_where_the_rows_are() -> None:
    raw = scan(TRACE, limits=TINY)
    assert raw.blocks.first_row[0] == 0
    assert raw.blocks.first_row[-1] == len(raw.events)
    assert len(raw.blocks.first_row) == len(raw.blocks.offset) + 1
    for offset, length in zip(raw.blocks.offset, raw.blocks.length, strict=True):
        json.loads(b"[" + TRACE[offset : offset + length] + b"]")


def test_progress_is_told_in_bytes_of_the_file_and_in_events(tmp_path: Path) -> None:
    told: list[Progress] = []
    path = tmp_path / "t.json"
    path.write_bytes(TRACE)
    scan(path, told.append)
    assert told[-1] == Progress("reading", len(TRACE), len(TRACE), 4)
    assert all(progress.bytes_total == len(TRACE) for progress in told)


def test_a_path_an_open_file_and_bytes_are_the_same_source(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(TRACE)
    with path.open("rb") as file:
        file.read(5)
        assert everything(scan(file)) == everything(scan(path)) == everything(scan(TRACE))
        assert not file.closed


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        scan(tmp_path / "none.json")
    with pytest.raises(TraceFormatError) as refusal:
        scan(tmp_path)
    assert refusal.value.kind == "directory"
