"""Files that would eat time or memory: read in time linear in their size, or refused by a limit."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.scan import cursor, repair
from kinetoscope.trace.scan.cursor import Effort, Guard, ScanLimits
from kinetoscope.trace.scan.scanner import scan, scan_in_python
from tests.conftest import ROOT
from tests.trace.scanned import faults

EVENT = '{"ph": "X", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 1}'
# What is repeated until the file has its size.
UNITS = [
    '"', '"" ', "{", "[", '{"a":', '{"a":[', "}", "]", ",", ":", "\\", '\\"', "/", "/*", "//",
    "//\n", "1 ", "{} x ", "[]", "null ", "-", "7", "x", " ", "\n", "\0", '",', '":', '"}', '"//',
    '"/*',    '{"ph":"X","args":[1,', '{"ph":"X","args":{"a":', '{"ph":"X","args":[' + "1," * 300,
    '{"ph":"X","name":"\\q\\"\\"\\"', '{"ph":[},', "], ", ',"a":1', '{"ph":', '[{"ph":',
    '{"ph":"B"},', '{"ph":"X","ts":' + "1" * 900 + "x},", '{"ph":"X","args":[/*,',
]  # fmt: skip
BEFORE = ['{"traceEvents":[', "[" + EVENT + ",", "{", '{"a":', '{"traceEvents":[]}', EVENT + "\n"]
BEHIND = ["", "]}", "," + EVENT + "]}"]


class Counted:
    """Counts the characters that are handed to the decoder and to the repair."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._count(monkeypatch, cursor._DECODER.__class__, "raw_decode")
        real = repair._Parser.__init__

        def begin(parser: repair._Parser, text: str) -> None:
            self.count += len(text)
            real(parser, text)

        monkeypatch.setattr(repair._Parser, "__init__", begin)

    def _count(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        real = getattr(owner, name)

        def counted(decoder: json.JSONDecoder, text: str, idx: int = 0) -> tuple[object, int]:
            self.count += len(text) - idx
            value: tuple[object, int] = real(decoder, text, idx)
            return value

        monkeypatch.setattr(owner, name, counted)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("unit", UNITS)
def test_no_text_is_decoded_in_vain_again_and_again(
    monkeypatch: pytest.MonkeyPatch, before: str, unit: str
) -> None:
    monkeypatch.setattr(Effort, "FREE_BYTES", 1 << 14)
    monkeypatch.setattr(cursor, "FIRST_BYTES", 64)  # always free; more would hide what is tested
    seen = Counted(monkeypatch)
    size = 12_000
    for behind in BEHIND:
        text = (before + unit * (size // len(unit)) + behind).encode()
        for read in (scan, scan_in_python):
            seen.count = 0
            with contextlib.suppress(TraceFormatError):
                read(text)
            # Half the square of the size are 6,000 a byte.
            assert seen.count < (1 << 17) + 400 * len(text), (read, behind)


@pytest.mark.parametrize(
    "inside",
    [
        '"name":"' + "\\q" + '\\"' * 100_000,
        '"args":[' + "/*," * 60_000 + "1]",
        '"args":[NaN,' + "1" * 200_000 + "x]",
        '"args":{' + '"a":"b"//"//"' * 15_000 + "}",
        '"ts":"' + "1" * 900 + 'x"',
    ],
)
def test_the_repair_of_one_event_is_linear(inside: str) -> None:
    """Each of these took minutes; what is tested is that the test ends."""
    for read in (scan, scan_in_python):
        raw = read(f'{{"traceEvents": [{{"ph": "X", {inside}}}, {EVENT}]}}'.encode())
        assert len(raw.events) >= 1


def bomb(before: str, unit: str, count: int, behind: str) -> bytes:
    """``count`` MiB of the unit in a few KB."""
    piece = (unit * ((1 << 20) // len(unit))).encode()
    packer = gzip.compress(piece, 9)
    return gzip.compress(before.encode()) + packer * count + gzip.compress(behind.encode())


@pytest.mark.parametrize(
    ("before", "unit", "behind", "kind"),
    [
        ('{"x": [', "1,2,3,", '0], "traceEvents": []}', "metadata_limit"),
        ('{"x": "', "a", '", "traceEvents": []}', "metadata_limit"),
        ('{"traceEvents": [', " ", "]}", "metadata_limit"),
        ('{"traceEvents": [{"ph": "X", "name": "', "a", '"}]}', "metadata_limit"),
        ('{"traceEvents": [', EVENT + ",", EVENT + "]}", "ratio_limit"),
        ('{"traceEvents": [', " ", "]}", "ratio_limit"),
    ],
)
def test_what_only_inflates_is_refused_by_a_limit_with_its_name(
    tmp_path: Path, before: str, unit: str, behind: str, kind: str
) -> None:
    path = tmp_path / "bomb.pt.trace.json.gz"
    path.write_bytes(bomb(before, unit, 40, behind))
    free = (4 if kind == "ratio_limit" else 64) << 20
    limits = ScanLimits(other_bytes=8 << 20, value_bytes=2 << 20, ratio_free_bytes=free)
    with pytest.raises(TraceFormatError, match=r"bomb\.pt\.trace\.json\.gz") as refusal:
        scan(path, limits=limits)
    assert refusal.value.kind == kind
    assert "KINETOSCOPE_" in refusal.value.hint


def test_layers_of_gzip_do_not_hide_a_ratio(tmp_path: Path) -> None:
    path = tmp_path / "layers.json.gz"
    path.write_bytes(gzip.compress(bomb('{"traceEvents": [', EVENT + ",", 60, EVENT + "]}")))
    with pytest.raises(TraceFormatError) as refusal:
        scan(path, limits=ScanLimits(ratio_free_bytes=4 << 20))
    assert refusal.value.kind == "ratio_limit"


def test_recordings_that_compress_well_are_read() -> None:
    """Long arguments that repeat, each event with a time of its own: ratio about 250."""
    stack = ";".join(f"/usr/lib/python3/site-packages/torch/nn/modules/m{n}.py" for n in range(90))
    events = [
        f'{{"ph": "X", "name": "op", "pid": 1, "tid": 1, "ts": {n * 37}, "dur": {n % 89},'
        f' "args": {{"Call stack": "{stack}"}}}}'
        for n in range(2_000)
    ]
    packed = gzip.compress(f'{{"traceEvents": [{",".join(events)}]}}'.encode(), 9)
    raw = scan(packed, limits=ScanLimits(ratio=50, ratio_free_bytes=1 << 20))
    assert raw.text_bytes > 50 * len(packed)
    assert len(raw.events) == len(events)
    assert faults(raw) == {}


def test_memory_stays_small_while_a_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(bomb('{"x": [', "[],", 600, '0], "traceEvents": []}'))
    script = f"""
import resource, sys
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.scan.scanner import scan
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try: scan({str(path)!r})
except TraceFormatError as error: print(error.kind, file=sys.stderr)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "ratio_limit" in done.stderr
    scale = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * scale < 1 << 30


def test_the_processor_time_for_a_text_is_bounded() -> None:
    limits = ScanLimits(cpu_seconds=0, cpu_seconds_per_mib=0)
    guard = Guard("slow.json", limits, 100)
    spent = resource.getrusage(resource.RUSAGE_SELF)
    while resource.getrusage(resource.RUSAGE_SELF).ru_utime == spent.ru_utime:
        pass
    with pytest.raises(TraceFormatError, match=r"slow\.json takes too long") as refusal:
        guard.check(1 << 20, 1 << 20, 1)
    assert refusal.value.kind == "cpu_limit"
    assert "KINETOSCOPE_CPU_LIMIT" in refusal.value.hint
    with pytest.raises(TraceFormatError, match="processor time"):
        scan(b'{"traceEvents": [' + b"1," * 99_999 + b"1]}", limits=limits)


def test_limits_are_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "KINETOSCOPE_TEXT_LIMIT", "1MiB")
    monkeypatch.setitem(os.environ, "KINETOSCOPE_METADATA_LIMIT", "2GB")
    monkeypatch.setitem(os.environ, "KINETOSCOPE_RATIO_LIMIT", "nonsense")
    monkeypatch.setitem(os.environ, "KINETOSCOPE_CPU_LIMIT", "7.5")
    limits = ScanLimits()
    assert (limits.text_bytes, limits.other_bytes, limits.ratio) == (1 << 20, 2_000_000_000, 200)
    assert limits.cpu_seconds_per_mib == 7.5
    with pytest.raises(TraceFormatError, match="more than 1"):
        scan(b'{"traceEvents": [' + (EVENT.encode() + b",") * 40_000 + b"]}")
