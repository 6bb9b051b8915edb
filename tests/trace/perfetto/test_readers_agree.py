"""The native reader of Perfetto files against its reference: the same text and the same faults."""

from __future__ import annotations

import gzip
from itertools import islice

import pytest

from kinetoscope.base.native import native
from kinetoscope.trace.perfetto.native import NativeTranscoder, TranscoderFailed
from kinetoscope.trace.perfetto.source import Made, ReferenceTranscoder, Transcoder
from tests.conftest import TRACES, requires_traces
from tests.fuzz.perfetto import cases, seeds, text_of, wrong
from tests.trace.perfetto.test_drawn import FOREIGN

requires_native = pytest.mark.skipif(native().library is None, reason=native().reason)
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


class FailsAfter:
    """The reference, until a number of calls have been made."""

    def __init__(self, calls: int) -> None:
        self._left = calls
        self._passes = ReferenceTranscoder(0)

    def _called(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TranscoderFailed

    def survey(self, piece: bytes, *, last: bool) -> None:
        self._called()
        self._passes.survey(piece, last=last)

    def write(self, piece: bytes, *, last: bool) -> bytes:
        self._called()
        return self._passes.write(piece, last=last)

    def __getattr__(self, name: str) -> object:
        return getattr(self._passes, name)


@pytest.mark.parametrize("calls", range(12))
@pytest.mark.parametrize("data", [*seeds(), FOREIGN], ids=["torch", "other", "foreign"])
def test_a_reader_that_fails_is_replaced_in_the_middle(data: bytes, calls: int) -> None:
    """What it had given is neither given again nor left out."""
    import io

    from kinetoscope.trace.perfetto.source import PerfettoText
    from kinetoscope.trace.raw import FaultLog

    def failing(_: int) -> Transcoder:
        return FailsAfter(calls)  # type: ignore[return-value]

    class Small:
        def __init__(self) -> None:
            self._file = io.BytesIO(data)

        def read(self, n: int, /) -> bytes:
            return self._file.read(min(n, len(data) // 4 + 1))

        def skip(self, n: int, /) -> None:
            self._file.seek(n, 1)

    def whole(*readers: Made) -> bytes:
        text = PerfettoText(data[: 1 << 16], Small(), Small, FaultLog(), len(data), readers)
        return b"".join(iter(lambda: text.read(1 << 16), b""))

    def reference(_: int) -> Transcoder:
        return ReferenceTranscoder(0)

    assert whole(failing, reference) == whole(reference)
