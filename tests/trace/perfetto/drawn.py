"""Perfetto files drawn in a test: packets as nested tuples, and protobuf's wire format.

    trace_file(
        packet(ts=5, track_event=begin(track=1, name="A")),
        packet(ts=9, track_event=end(track=1)),
    )

A message is a list of (number, value): an int is a varint, a float eight bytes, a text or bytes
their bytes, a list a message.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

Fields = list[tuple[int, Any]]
STAGES = ("Kernel", "Memcpy", "Memset", "Annotation", "EventRecord", "HostNode")
BASE = 1_790_857_026_000_000_000
"""Base of the drawn files of torch, in ns."""


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(fields: Fields) -> bytes:
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        else:
            data = message(value) if isinstance(value, list) else value
            data = data.encode() if isinstance(data, str) else data
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return bytes(out)


def trace_file(*packets: Fields | bytes) -> bytes:
    """Packets as a file; bytes among them stay as they are."""
    return b"".join(one if isinstance(one, bytes) else message([(1, one)]) for one in packets)


def packet(ts: int | None = None, **parts: Any) -> Fields:
    numbers = {
        "snapshot": 6, "event": 11, "interned": 12, "flags": 13, "counters": 52, "stage": 53,
        "clock": 58, "defaults": 59, "track": 60, "sequence": 10, "ftrace": 1,
    }  # fmt: skip
    fields: Fields = [] if ts is None else [(8, ts)]
    fields += [] if "sequence" in parts else [(10, 1)]
    return fields + [(numbers[name], value) for name, value in parts.items()]


def snapshot(*clocks: tuple[int, ...]) -> Fields:
    """Clocks as (id, value[, incremental, unit])."""
    return [(1, list(zip((1, 2, 3, 4), clock, strict=False))) for clock in clocks]


def begin(track: int, name: str | int, *args: Fields, **more: Any) -> Fields:
    return _event(1, track, name, args, **more)


def end(track: int) -> Fields:
    return [(9, 2), (11, track)]


def instant(track: int, name: str, *args: Fields) -> Fields:
    return _event(3, track, name, args)


def _event(
    kind: int,
    track: int,
    name: str | int,
    args: Sequence[Fields],
    category: int | str | None = None,
) -> Fields:
    fields: Fields = [(9, kind), (11, track), (10 if isinstance(name, int) else 23, name)]
    if category is not None:
        fields.append((3 if isinstance(category, int) else 22, category))
    return fields + [(4, arg) for arg in args]


def arg(name: str, value: Any) -> Fields:
    return [(10, name), *_value(value)]


def _value(value: Any) -> Fields:
    if isinstance(value, bool):
        return [(2, int(value))]
    if isinstance(value, (int, float)):
        return [(4 if isinstance(value, int) else 5, value)]
    if isinstance(value, str):
        return [(6, value)]
    if isinstance(value, dict):
        return [(11, arg(key, one)) for key, one in value.items()]
    return [(12, _value(one)) for one in value]


def process(uuid: int, pid: int, name: str) -> Fields:
    return packet(track=[(1, uuid), (3, [(1, pid), (6, name)])])


def thread(uuid: int, parent: int, pid: int, tid: int, name: str) -> Fields:
    return packet(track=[(1, uuid), (5, parent), (4, [(1, pid), (2, tid), (5, name)])])


def torch_names(*names: str, lanes: dict[int, str] | None = None) -> Fields:
    """The names of a file of torch's: stages, categories, lanes from 100 on, event names from 1."""
    specs = dict(enumerate(STAGES, 1)) | (lanes or {100: "[000007] stream 7"})
    interned: Fields = [(24, [(1, iid), (2, name)]) for iid, name in specs.items()]
    interned += [(1, [(1, 1), (2, "user_annotation")]), (1, [(1, 2), (2, "cpu_op")])]
    interned += [(1, [(1, 3), (2, "cuda_runtime")])]
    interned += [(2, [(1, iid), (2, name)]) for iid, name in enumerate(names, 1)]
    interned += [(1001, [(1, 1), (2, "registers_per_thread")])]
    interned += [(1001, [(1, 2), (2, "shared_mem_dynamic")])]
    return packet(flags=1, interned=interned)


def torch_head(*names: str, lanes: dict[int, str] | None = None) -> list[Fields]:
    """The packets with which a file of torch's begins: process 9 with thread 9 on track 2."""
    return [
        packet(ts=BASE, snapshot=snapshot((6, BASE), (1, BASE))),
        process(1, 9, "python"),
        thread(2, 1, 9, 9, "thread 9 (python)"),
        torch_names(*names, lanes=lanes),
    ]


def work(
    event_id: int,
    name: int,
    ts: int,
    dur: int,
    *,
    stage: int = 1,
    lane: int = 100,
    waits: Sequence[int] = (),
    **extras: Any,
) -> Fields:
    """Work of device 0 in a file of torch's; times from its base."""
    fields: Fields = [(1, event_id), (2, dur), (11, 0), (13, lane), (14, stage), (20, name)]
    fields += [(18, one) for one in waits]
    if "grid" in extras:
        sizes = [list(zip((1, 2, 3), extras.pop(key), strict=True)) for key in ("grid", "block")]
        launch: Fields = [(1, sizes[0]), (2, sizes[1])]
        launch += [(3, [(1, 1), (4, extras.pop("registers"))])]
        fields.append((21, launch))
    written = {"device id": 0, "context id": 1, "stream id": 7} | {
        key.replace("_", " "): value for key, value in extras.items()
    }
    fields += [(6, [(1, key), (2, str(value))]) for key, value in written.items()]
    return packet(ts=BASE + ts, stage=fields)
