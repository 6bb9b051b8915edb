"""What a scan makes of a damaged trace: the rows that are left, the faults that tell of it."""

from __future__ import annotations

import pytest

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.io.source import SNIFF_BYTES
from kinetoscope.trace.scan.cursor import ScanLimits
from kinetoscope.trace.scan.scanner import scan
from tests.trace.scanned import TINY, document, everything, faults, rows, scan_events

BEFORE = '{"ph": "X", "name": "before", "ts": 1, "dur": 1}'
BEHIND = '{"ph": "X", "name": "behind", "ts": 9, "dur": 1}'


@pytest.mark.parametrize(
    ("name", "meaning", "kind"),
    [
        ('quote " inside', 'quote " inside', "unescaped_quote"),
        ('a", "b', 'a", "b', "unescaped_quote"),
        ('{"a"}', '{"a"}', "unescaped_quote"),
        (r"C:\temp\new\u_net.py", r"C:\temp\new\u_net.py", "bad_escape"),
        (r"torch\nn\modules", r"torch\nn\modules", "bad_escape"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab", "control_char"),
        (r"half \ud83d pair", "half � pair", "lone_surrogate"),
        (r"half \ude00 pair", "half � pair", "lone_surrogate"),
        (r"\ud83d\ude00 \ude00", "😀 �", "lone_surrogate"),
        (r"\\ud83d\ude00", r"\ud83d�", "lone_surrogate"),
    ],
)
def test_a_damaged_name_is_read_as_it_was_meant(name: str, meaning: str, kind: str) -> None:
    damaged = f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "ts": 5, "dur": 2}}'
    raw = scan_events(BEFORE, damaged, BEHIND)
    assert [row["name"] for row in rows(raw)] == ["before", meaning, "behind"]
    assert rows(raw)[1] | {"name": ""} == {
        "ph": "X", "cat": "cpu_op", "name": "", "pid": "1", "ts": 5000, "dur": 2000,
    }  # fmt: skip
    assert faults(raw) == {kind: 1}


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    text = document(BEFORE, '{"ph": "X", "name": "k?rnel"}', BEHIND).replace(b"?", b"\xff")
    raw = scan(text)
    assert [row["name"] for row in rows(raw)] == ["before", "k�rnel", "behind"]
    assert faults(raw) == {"bad_utf8": 1}
    assert raw.faults[0].offset == text.index(b'{"ph": "X", "name": "k')


@pytest.mark.parametrize(
    "word", ["NaN", "nan", "-nan", "Infinity", "-Infinity", "inf", "N/A", "None", ""]
)
def test_a_word_in_place_of_a_number_is_null(word: str) -> None:
    damaged = f'{{"ph": "X", "args": {{"correlation": {word}, "stream": 7}}}}'
    raw = scan_events(BEFORE, damaged, BEHIND)
    assert rows(raw)[1] == {"ph": "X", "stream": 7}
    assert faults(raw) == {"not_a_number": 1}


@pytest.mark.parametrize(
    ("damaged", "kind"),
    [
        ('{"ph": "X", "args": {"stream": 7, }}', "stray_comma"),
        ('{"ph": "X", "args": {"stream": 7},}', "stray_comma"),
        ('{"ph": "X", , "args": {"stream": 7}}', "stray_comma"),
        ('{"ph": "X", "args": {"stream": 7 /* seven */}}', "comment"),
        ('{"ph": "X", // all\n "args": {"stream": 7}}', "comment"),
        ('{"ph": "X", "args": {"stream": +7}}', "bad_number"),
        ('{"ph": "X", "args": {"stream": 07}}', "bad_number"),
        ('{"ph": "X", "args": {stream": 7}}', "missing_quote"),
    ],
)
def test_nearly_json_is_json(damaged: str, kind: str) -> None:
    raw = scan_events(BEFORE, damaged, BEHIND)
    assert rows(raw)[1] == {"ph": "X", "stream": 7}
    assert [row.get("name") for row in rows(raw)] == ["before", None, "behind"]
    assert faults(raw) == {kind: 1}


@pytest.mark.parametrize(
    ("between", "kind"),
    [
        (",,", "stray_comma"),
        (" ", "missing_comma"),
        (", // next\n", "comment"),
        (", x,", "skipped_text"),
    ],
)
def test_damage_between_events_costs_no_event(between: str, kind: str) -> None:
    raw = scan(f'{{"traceEvents": [{BEFORE}{between}{BEHIND}]}}'.encode())
    assert [row["name"] for row in rows(raw)] == ["before", "behind"]
    assert faults(raw) == {kind: 1}


@pytest.mark.parametrize(
    "lost",
    [
        '{"ph": "X", "args": {"stream": 7}',  # a bracket short
        '{"ph": "X", "name": "no end, "ts": 1',
        '{"ph": "X", "args": {{{',
        '{"ph" "X"}',
        "{]}",
    ],
)
def test_an_event_beyond_repair_costs_itself_alone(lost: str) -> None:
    raw = scan_events(BEFORE, lost, BEHIND, BEHIND)
    assert [row["name"] for row in rows(raw)] == ["before", "behind", "behind"]
    assert faults(raw) == {"skipped_event": 1}
    assert raw.faults[0].example == lost
    assert raw.faults[0].offset == document(BEFORE, lost).index(lost.encode())


def test_members_that_are_no_events_have_no_row() -> None:
    raw = scan_events(BEFORE, "null", "[1]", '"text"', "3", BEHIND)
    assert [row["name"] for row in rows(raw)] == ["before", "behind"]
    assert faults(raw) == {"not_an_event": 4}


def test_fields_of_unusual_types_are_told() -> None:
    raw = scan_events(
        '{"ph": "XY", "cat": 3, "name": null, "pid": 1.5, "tid": [1], "id": null}',
        '{"ph": "X", "ts": "soon", "dur": [], "args": null}',
        '{"ph": "X", "ts": 1e30, "dur": -0.001, "args": []}',
        '{"ph": "X", "args": {"correlation": "many", "stream": 1.5, "warps per SM": "few"}}',
        '{"ph": "X", "args": {"correlation": 18446744073709551615, "stream": -1e30}}',
    )
    assert rows(raw) == [
        {"cat": "3", "pid": "1.5", "tid": "[1]"},
        {"ph": "X"},
        {"ph": "X", "dur": -2},  # −1 ns would say that there is no dur
        {"ph": "X"},
        {"ph": "X", "correlation": -1},  # the same 64 bits
    ]
    assert faults(raw) == {
        "odd_field": 6, "odd_args": 2, "odd_arg": 4, "bad_ts": 2, "bad_dur": 1, "wide_int": 1,
    }  # fmt: skip


def test_a_file_cut_short_keeps_its_complete_events() -> None:
    text = document(BEFORE, BEHIND)
    cut = text.index(b"behind")
    raw = scan(text[:cut])
    assert [row["name"] for row in rows(raw)] == ["before"]
    (fault,) = raw.faults
    assert fault.kind == "truncated"
    assert fault.offset == text.index(BEHIND.encode())
    assert fault.example.startswith("21 bytes after the last complete event")


@pytest.mark.parametrize("missing", ["\n]}", "]}", "}"])
def test_a_file_without_its_last_brackets_loses_nothing(missing: str) -> None:
    text = document(BEFORE, BEHIND).decode().removesuffix(missing)
    raw = scan(text.encode())
    assert [row["name"] for row in rows(raw)] == ["before", "behind"]
    assert faults(raw) == {"truncated": 1}


def test_a_file_cut_before_its_events_is_refused() -> None:
    with pytest.raises(TraceFormatError, match="before its list of events") as refusal:
        scan(b'{"schemaVersion": 1, "deviceProp')
    assert refusal.value.kind == "truncated"


@pytest.mark.parametrize("junk", ["\\}", "x", '"', "}", ": 1"])
def test_junk_instead_of_the_last_bracket_loses_nothing(junk: str) -> None:
    raw = scan(document(BEFORE, BEHIND).removesuffix(b"]}") + junk.encode())
    assert [row["name"] for row in rows(raw)] == ["before", "behind"]
    assert faults(raw) == {"truncated": 1}


def test_text_behind_the_end_is_told() -> None:
    raw = scan(document(BEFORE) + b'{"more": 1}')
    assert len(raw.events) == 1
    assert faults(raw) == {"trailing_text": 1}


def test_an_example_does_not_depend_on_how_much_was_in_memory() -> None:
    start = document('{"name": "' + "x" * (SNIFF_BYTES - 100) + '"}')
    text = start + b"more and more" * 100
    examples = {scan(text, limits=ScanLimits(block_bytes=size)).faults for size in (1, 7, 1 << 20)}
    assert len(examples) == 1


@pytest.mark.parametrize(
    ("value", "meaning", "kinds"),
    [
        ('"exp "A" / b"', 'exp "A" / b', {"unescaped_quote": 1}),
        ('{"lr": 0.1, "x": NaN, "y": [1,]}', {"lr": 0.1, "x": None, "y": [1]},
         {"not_a_number": 1, "stray_comma": 1}),
        ('{\n "a": {\n  "b": NaN\n }\n}', {"a": {"b": None}}, {"not_a_number": 1}),
        (r'"C:\logs\t.json"', r"C:\logs\t.json", {"bad_escape": 1}),
    ],
)  # fmt: skip
def test_a_damaged_top_level_value_is_read_as_meant(
    value: str, meaning: object, kinds: dict[str, int]
) -> None:
    text = f'{{"a": 1,\n"user": {value},\n"b": 2,\n"traceEvents": [{BEFORE}]}}'
    raw = scan(text.encode())
    assert raw.metadata == {"a": 1, "user": meaning, "b": 2}
    assert faults(raw) == kinds
    assert len(raw.events) == 1


def test_a_top_level_value_beyond_repair_costs_itself_alone() -> None:
    raw = scan(f'{{"a": 1,\n"user": {{not json,\n"b": 2,\n"traceEvents": [{BEFORE}]}}'.encode())
    assert raw.metadata == {"a": 1, "b": 2}
    assert faults(raw) == {"bad_metadata": 1}
    assert len(raw.events) == 1


def test_the_last_event_may_be_damaged_too() -> None:
    damaged = '{"ph": "X", "name": "a "quote""}'
    for text in (document(BEFORE, damaged), f"[{BEFORE}, {damaged}]".encode()):
        raw = scan(text)
        assert [row["name"] for row in rows(raw)] == ["before", 'a "quote"']
        assert faults(raw) == {"unescaped_quote": 1}


def test_events_behind_damage_may_be_followed_by_metadata() -> None:
    lost = '{"ph": "X", "args": {"stream": 7}'
    text = f'{{"traceEvents": [{BEFORE}, {lost}], "traceName": "t", "x": [{{"id": 1}}]}}'
    raw = scan(text.encode())
    assert [row["name"] for row in rows(raw)] == ["before"]
    assert raw.metadata == {"traceName": "t", "x": [{"id": 1}]}
    assert faults(raw) == {"skipped_event": 1}


def test_one_event_larger_than_the_limit_is_left_out() -> None:
    large = '{"ph": "X", "name": "' + "x" * 5000 + '"}'
    raw = scan(document(BEFORE, large, BEHIND), limits=ScanLimits(block_bytes=64, value_bytes=1000))
    assert [row["name"] for row in rows(raw)] == ["before", "behind"]
    assert faults(raw) == {"oversized": 1}


def test_one_top_level_value_larger_than_the_limit_is_left_out() -> None:
    text = f'{{"large": "{"x" * 5000}",\n"traceEvents": [{BEFORE}], "b": 2}}'
    raw = scan(text.encode(), limits=ScanLimits(block_bytes=64, value_bytes=1000))
    assert raw.metadata == {"b": 2}
    assert faults(raw) == {"oversized": 1}
    assert len(raw.events) == 1


def test_top_level_values_are_left_out_beyond_the_limit_of_all_together() -> None:
    keys = ",".join(f'"k{n}": {n}' for n in range(100))
    raw = scan(
        f'{{{keys}, "traceEvents": [{BEFORE}]}}'.encode(), limits=ScanLimits(metadata_bytes=40)
    )
    assert raw.metadata == {f"k{n}": n for n in range(12)}
    assert faults(raw) == {"oversized": 88}
    assert len(raw.events) == 1


def test_reading_stops_at_the_limit_of_events() -> None:
    raw = scan(document(*[BEFORE] * 50), limits=ScanLimits(block_bytes=1, events=10))
    assert 10 < len(raw.events) < 50
    assert faults(raw) == {"too_many_events": 1}


def test_values_nested_too_deep_do_no_harm() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    raw = scan_events(BEFORE, f'{{"ph": "X", "name": "deep", "args": {{"grid": {deep}}}}}', BEHIND)
    assert {"before", "behind"} <= {row["name"] for row in rows(raw)}


def test_damage_is_the_same_in_blocks_of_any_size() -> None:
    text = document(
        *[BEFORE] * 40, '{"ph": "X", "name": "a "b" c"}', *[BEHIND] * 40, "{lost", *[BEFORE] * 3
    )
    whole = everything(scan(text))
    assert whole == everything(scan(text, limits=TINY))
    assert len(whole["rows"]) == 84
