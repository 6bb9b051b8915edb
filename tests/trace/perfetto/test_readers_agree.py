"""The native reader of Perfetto files against its reference: the same text and the same faults."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import pytest

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.base.native import AGAIN, Native
from kinetoscope.trace.perfetto.native import NativeTranscoder, TranscoderFailed
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_native, requires_traces
from tests.fuzz.perfetto import cases, seeds, text_of, wrong
from tests.reference.perfetto.transcoder import ReferenceTranscoder

FILES = sorted((TRACES / "torch2.15_cuspy").glob("*.pftrace.gz"))


@requires_native
def test_the_same_text_of_damaged_files() -> None:
    for number, data in enumerate(islice(cases(5), 150)):
        assert not wrong(data, scanned=number % 10 == 0), data.hex()


@requires_native
@requires_traces
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_same_text_of_real_files(path: object) -> None:
    data = gzip.decompress(FILES[FILES.index(path)].read_bytes())  # type: ignore[arg-type]
    assert text_of(data, NativeTranscoder) == text_of(data, ReferenceTranscoder)


@requires_native
@pytest.mark.parametrize("number", [0.5, 1e16, 123456789012345680.0, 1e-5, 1e-4, -0.0, 5e-324])
def test_numbers_have_the_same_digits(number: float) -> None:
    from tests.trace.perfetto.drawn import arg, instant, packet, trace_file

    data = trace_file(packet(ts=1, event=instant(1, "a", arg("x", number))))
    assert text_of(data, NativeTranscoder) == text_of(data, ReferenceTranscoder)


@requires_native
def test_defaults_that_cannot_be_read_leave_those_before() -> None:
    from tests.trace.perfetto.drawn import packet, trace_file

    data = trace_file(
        packet(ts=1, defaults=[(11, [(11, 3)])]),
        packet(ts=2, defaults=[(11, b"\xff")]),
        packet(ts=3, event=[(9, 3), (23, "on track 3")]),
    )
    native_answer = text_of(data, NativeTranscoder)
    assert native_answer == text_of(data, ReferenceTranscoder)
    assert b'"tid":"track 3"' in native_answer[0]


@pytest.mark.parametrize("calls", [0, 1, 3])
def test_a_reader_that_fails_refuses_the_file(calls: int) -> None:
    """At its first call or in the middle: no half of a file is shown as the whole."""
    data, left = seeds()[0], calls

    class Fails(ReferenceTranscoder):
        def survey(self, piece: bytes, *, last: bool) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise TranscoderFailed("it failed on this file")
            super().survey(piece, last=last)

    assert text_of(data, Fails, most=len(data) // 4 + 1) == "perfetto"


def test_without_the_library_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.pftrace"
    path.write_bytes(seeds()[0])
    for module in ("native", "source"):
        monkeypatch.setattr(
            f"kinetoscope.trace.perfetto.{module}.native", lambda: Native(None, "no cargo", AGAIN)
        )
    monkeypatch.setattr("kinetoscope.trace.perfetto.native.call", lambda *_: None)
    with pytest.raises(TraceFormatError, match="native library alone: no cargo") as refused:
        read(path)
    assert "cargo" in refused.value.hint
