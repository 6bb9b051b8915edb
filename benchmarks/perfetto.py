"""Reading of Perfetto protobuf against that of JSON: CPU time per event, on twins of any size.

    python -m benchmarks.perfetto FOLDER [MEGABYTES]

FOLDER holds one recording written as `.json.gz` and as `.pftrace.gz`. Both are repeated in time,
until the protobuf has so many megabytes, with identifiers that move along. In the protobuf each
group of begins and ends is repeated as a group, as torch would have written it.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from kinetoscope.trace.perfetto.wire import BYTES, VARINT, Field, Frames, Packet, fields

from ._scale import scale

PERIOD_NS = 100_000_000
ROUNDS = 3
_READ = """
import sys, time
from kinetoscope.trace.scan.scanner import scan
from kinetoscope.trace.read import read
began = time.process_time(); raw = scan(sys.argv[1]); scanned = time.process_time() - began
events = len(raw.events); del raw
began = time.process_time(); read(sys.argv[1]); whole = time.process_time() - began
from benchmarks._measure import high_water
peak = high_water() / 2**20
print(events, scanned, whole, peak)
"""


def varint(value: int) -> bytes:
    """An integer in protobuf."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def rewritten(
    data: bytes, at: int, end: int, change: Callable[[Field], int | bytes | None]
) -> bytes:
    """A message with other values in some fields."""
    out, place = bytearray(), at
    for one in fields(data, at, end):
        value = change(one)
        if isinstance(value, int):
            out += varint(one.number << 3) + varint(value)
        elif value is not None:
            out += varint(one.number << 3 | 2) + varint(len(value)) + value
        else:
            out += data[place : one.end]
        place = one.end
    return bytes(out)


def shifted(data: bytes, copy: int) -> bytes:  # noqa: C901  # three small functions inside
    """A packet of a later copy: its time, event ids, correlations and external ids."""
    if not copy:
        return data

    def packet(one: Field) -> int | bytes | None:
        if one.number == 8 and one.wire == VARINT:
            return one.value + copy * PERIOD_NS
        if one.number == 53 and one.wire == BYTES:
            return rewritten(data, one.value, one.end, stage)
        if one.number == 11 and one.wire == BYTES:
            return rewritten(data, one.value, one.end, event)
        return None

    def stage(one: Field) -> int | bytes | None:
        if one.number in (1, 18) and one.wire == VARINT:
            return one.value + copy * 100_000
        if one.number == 6:
            text = data[one.value : one.end]
            if text.startswith(b"\n\x0bcorrelation"):
                number = str(int(text[15:]) + copy * 100_000).encode()
                return b"\n\x0bcorrelation\x12" + varint(len(number)) + number
        return None

    def event(one: Field) -> int | bytes | None:
        if one.number == 4 and one.wire == BYTES:
            text = data[one.value : one.end]
            if b"correlation" in text or b"External id" in text or b"Ev Idx" in text:
                return rewritten(
                    text, 0, len(text), lambda arg: arg.value + copy * 100_000
                    if arg.number == 4 and arg.wire == VARINT and arg.value else None,
                )  # fmt: skip
        return None

    return rewritten(data, 0, len(data), packet)


def groups(data: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Packets that are repeated together: a run of begins, of ends, of a device's events."""
    frames = Frames()
    kind, group = "", list[bytes]()
    for taken in frames.feed(data, last=True):
        if not isinstance(taken, Packet):
            raise SystemExit(f"the source is damaged at byte {taken.place}")
        body = data[taken.place : taken.place + taken.bytes]
        (content,) = fields(body, 0, len(body))
        event = next(taken.message.messages(data, 11), None)
        device = 53 in taken.message.parts or 52 in taken.message.parts
        found = f"slice {event.number(9)}" if event else "device" if device else "once"
        if found != kind and group:
            yield kind, group
            group = []
        kind = found
        group.append(body[content.value : content.end])
    yield kind, group


def scale_protobuf(source: Path, target: Path, megabytes: float) -> None:
    """Writes the file: a whole number of copies."""
    data = gzip.decompress(source.read_bytes())
    copies = max(1, round(megabytes * 1e6 / len(data)))
    with gzip.open(target, "wb", compresslevel=1) as out:
        for kind, group in groups(data):
            for copy in range(1 if kind == "once" else copies):
                for body in group:
                    packet = shifted(body, copy)
                    out.write(b"\n" + varint(len(packet)) + packet)


def measured(path: Path) -> tuple[int, float, float, float]:
    """Events, CPU seconds of the scan and of the whole reading, peak memory in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], check=True, capture_output=True, text=True
    )
    events, scanned, whole, peak = done.stdout.split()
    return int(events), float(scanned), float(whole), float(peak)


def main() -> None:
    """Prints one table: JSON and protobuf, alternated."""
    folder = Path(sys.argv[1])
    megabytes = float(sys.argv[2]) if len(sys.argv) > 2 else 100
    json_file, protobuf = (min(folder.glob(f"*.{ending}.gz")) for ending in ("json", "pftrace"))
    with tempfile.TemporaryDirectory() as made:
        targets = {"JSON": Path(made, "a.json.gz"), "protobuf": Path(made, "a.pftrace.gz")}
        scale_protobuf(protobuf, targets["protobuf"], megabytes)
        with gzip.open(json_file) as file:
            size = len(file.read())
        with gzip.open(protobuf) as file:
            size = round(size * megabytes * 1e6 / len(file.read()))
        scale(json_file, targets["JSON"], size)
        print("| file | MB stored | events | scan, µs/event | reading, µs/event | peak, MiB |")
        print("|---|---|---|---|---|---|")
        for name in [*targets] * ROUNDS:
            stored = targets[name].stat().st_size / 1e6
            events, scanned, whole, peak = measured(targets[name])
            print(
                f"| {name} | {stored:.0f} | {events:,} | {1e6 * scanned / events:.2f}"
                f" | {1e6 * whole / events:.2f} | {peak:.0f} |"
            )


if __name__ == "__main__":
    main()
