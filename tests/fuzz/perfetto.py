"""Throws damaged Perfetto files at both readers until they disagree, crash, hang or eat memory.

    python -m tests.fuzz.perfetto --cases 100000

Each case is a small file, changed at random. Both readers must give the same text and the same
faults, whatever the pieces in which the file comes, and the text must be a JSON object.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.perfetto.native import NativeTranscoder, Transcoder
from kinetoscope.trace.perfetto.source import PerfettoText
from kinetoscope.trace.raw import Fault, FaultLog
from kinetoscope.trace.scan.scanner import scan
from tests.reference.perfetto.transcoder import ReferenceTranscoder
from tests.trace.perfetto.drawn import (
    BASE,
    arg,
    begin,
    end,
    instant,
    packet,
    process,
    snapshot,
    thread,
    torch_head,
    trace_file,
    varint,
    work,
)

HANG_SECONDS = 20
MEMORY_BYTES = 4 << 30
MOST_BYTES = 64 * 1024
SCANNED_EVERY = 20
"""One case in so many goes through the whole scan."""


def seeds() -> list[bytes]:
    """Small files that have everything the readers know."""
    args = [arg("Input Dims", [[4, 16], []]), arg("x", {"y": 1.5, "z": ["a", True, -7]})]
    torch = trace_file(
        *torch_head("ProfilerStep#1", "aten::mm", "gemm", lanes={100: "[000007] stream 7"}),
        process(3, 0x7FFFFFFF, "Overhead"),
        thread(4, 3, 0x7FFFFFFF, 0, "Overhead"),
        process(6, 0, "GPU 0"),
        thread(7, 6, 0, 0x7FFFFFFF, "stream -1"),
        *(packet(ts=BASE + 10 * k, event=begin(2, 1 + k % 2, *args, category=2)) for k in range(6)),
        *(packet(ts=BASE + 500 + 10 * k, event=end(2)) for k in range(6)),
        packet(ts=BASE, event=begin(4, 1)),
        packet(ts=BASE + 9, event=end(4)),
        work(1, 3, 10, 50, grid=(4, 1, 1), block=(64, 1, 1), registers=32, correlation=3),
        work(2, 3, 60, 20, stage=2, waits=[1], bytes=99, host_fn="f"),
        work(3, 3, 70, 5, stage=6, waits=[1, 2, 40], Seq="x"),
    )
    specs = [(1, [(1, 0), (2, "Power (W)")]), (1, [(1, 1), (2, "Cycles")])]
    other = trace_file(
        packet(ts=5, snapshot=snapshot((6, 5), (1, BASE))),
        packet(sequence=5, snapshot=snapshot((6, 9), (64, 0, 1, 1000))),
        packet(sequence=5, defaults=[(58, 64), (11, [(11, 3)])]),
        packet(flags=1, interned=[(2, [(1, 1), (2, "näme\u2028")]), (1, [(1, 1), (2, "cat")])]),
        packet(interned=[(47, [(1, 1), (3, 2), (2, specs)]), (24, [(1, 9), (2, "queue")])]),
        process(1, 40, "app"),
        thread(2, 1, 40, 41, 'a "b"\n'),
        packet(track=[(1, 8), (2, "count"), (5, 1), (8, [(6, "items"), (4, 10), (5, 1)])]),
        *(packet(ts=50 * k, event=begin(2, 1, category=1)) for k in range(3)),
        packet(ts=3, sequence=5, event=[(9, 3), (23, "incremental")]),
        *(packet(ts=200 + 50 * k, event=end(2)) for k in range(3)),
        packet(ts=1000, counters=[(4, 1), (2, [(1, 0), (3, 461.383)]), (2, [(1, 1), (2, -5)])]),
        packet(ts=1001, counters=[(3, 1), (1, specs), (2, [(1, 1), (3, 1e300)])]),
        packet(ts=1002, stage=[(1, 1), (2, 7), (11, 1), (13, 9), (20, 1), (6, [(1, "k")])]),
        packet(ts=2000, event=[(9, 4), (11, 8), (30, 3)]),
        packet(ts=2001, event=[(9, 4), (11, 8), (44, 0.1)]),
        packet(ts=3000, event=instant(8, "i", *args), ftrace=[(1, 0)]),
        packet(ts=3001, ftrace=[(1, 0)]),
    )
    return [torch, other]


def changed(data: bytes, random_: random.Random, others: list[bytes]) -> bytes:
    """The file with up to six changes."""
    out = bytearray(data)
    for _ in range(random_.randint(1, 6)):
        at = random_.randrange(len(out) + 1)
        size = random_.choice((1, 1, 2, 4, 16, 100))
        match random_.randrange(9):
            case 0 if out:
                out[at % len(out)] ^= 1 << random_.randrange(8)
            case 1 if out:
                out[at % len(out)] = random_.choice((0, 1, 2, 0x0A, 0x7F, 0x80, 0xFF))
            case 2:
                out[at:at] = random_.randbytes(size)
            case 3:
                del out[at : at + size]
            case 4:
                out[at:at] = varint(random_.choice((0, 1, 127, 1 << 31, 1 << 40, 1 << 63, -1)))
            case 5:
                start = random_.randrange(len(out) + 1)
                out[at:at] = out[start : start + size * 8]
            case 6:
                other = random_.choice(others)
                start = random_.randrange(len(other))
                out[at:at] = other[start : start + size * 8]
            case 7:
                del out[max(at, 1) :]
            case _:
                out[at:at] = b"\x0a" * size
    return bytes(out[:MOST_BYTES])


def cases(seed: int) -> Iterator[bytes]:
    """Damaged files without end, the same ones for the same seed."""
    random_, files = random.Random(seed), seeds()
    while True:
        yield changed(random_.choice(files), random_, files)


class _Pieces:
    """A file that comes in pieces of one size."""

    def __init__(self, data: bytes, most: int) -> None:
        self._file = io.BytesIO(data)
        self._most = most

    def read(self, n: int, /) -> bytes:
        return self._file.read(min(n, self._most))

    def skip(self, n: int, /) -> None:
        self._file.seek(n, 1)


def text_of(
    data: bytes, made: Callable[[int], Transcoder], most: int = 1 << 20
) -> tuple[bytes, tuple[Fault, ...]] | str:
    """What a reader makes of a file: text and faults, or why it refuses it."""
    faults = FaultLog()
    first = _Pieces(data, most)
    text = PerfettoText(
        data[: 1 << 16], first, lambda: _Pieces(data, most), faults, len(data), made
    )
    try:
        whole = b"".join(iter(lambda: text.read(1 << 16), b""))
    except TraceFormatError as error:
        return error.kind
    return whole, faults.result()


def wrong(data: bytes, *, scanned: bool) -> str:
    """What is wrong with the readers, seen on this file; "" if nothing is."""
    native = text_of(data, NativeTranscoder)
    if native != text_of(data, ReferenceTranscoder):
        return "the readers disagree"
    if native != text_of(data, NativeTranscoder, most=37):
        return "it depends on the pieces"
    if not isinstance(native, str) and not isinstance(json.loads(native[0]), dict):
        return "the text is no JSON object"
    if scanned:
        with suppress(TraceFormatError):
            scan(data)
    return ""


def main() -> int:
    """Runs the cases; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    began, slowest = time.process_time(), 0.0
    for number, data in zip(range(args.cases), cases(args.seed), strict=False):
        signal.alarm(HANG_SECONDS)
        before = time.process_time()
        try:
            why = wrong(data, scanned=number % SCANNED_EVERY == 0)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what is looked for
            why = f"{type(error).__name__}: {error}"
        slowest = max(slowest, time.process_time() - before)
        if why:
            sys.stdout.write(f"case {number} of seed {args.seed}: {why}\n{data.hex()}\n")
            return 1
    signal.alarm(0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sys.stdout.write(
        f"{args.cases:,} cases of seed {args.seed}: none failed;"
        f" {time.process_time() - began:.0f} s of CPU time,"
        f" the slowest took {1000 * slowest:.0f} ms, {peak} MiB at most\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
