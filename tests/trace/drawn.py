"""Traces drawn in a test: events as dicts, and the shortest correct way from JSON to `RawTrace`.

`raw_trace` is the meaning of the contract in `kinetoscope.trace.raw` in one page, slow and obvious;
scanners are held against it.

    trace = drawn(
        x("aten::mm", 0, 10),
        x("cudaLaunchKernel", 2, 4, cat="cuda_runtime", correlation=1),
        kernel("gemm", 8, 5, correlation=1),
    )
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from kinetoscope.base.arrays import Sparse
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import (
    COUNTER_ARGS,
    FLOAT_ARGS,
    ID_INT,
    ID_TEXT,
    INT_ARGS,
    MISSING,
    NO_DUR,
    TEXT_ARGS,
    Blocks,
    Fault,
    RawEvents,
    RawTrace,
)
from kinetoscope.trace.read import build

HOST, THREAD, DEVICE, STREAM = 100, 1, 0, 7
Event = dict[str, Any]


def x(name: str, ts: float, dur: float, *, cat: Any = "cpu_op", **args: Any) -> Event:
    """A duration event on the host; times in µs. `pid` and `tid` may be given among the args."""
    pid, tid = args.pop("pid", HOST), args.pop("tid", THREAD)
    names = {"external_id": "External id", "seq": "Sequence number", "fwd": "Fwd thread id"}
    written = {names.get(key, key): value for key, value in args.items()}
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": written}  # fmt: skip


def annotation(name: str, ts: float, dur: float, **args: Any) -> Event:
    return x(name, ts, dur, cat="user_annotation", **args)


def python(name: str, ts: float, dur: float, **args: Any) -> Event:
    return x(name, ts, dur, cat="python_function", **args)


def launch(ts: float, dur: float, correlation: int, **args: Any) -> Event:
    name = args.pop("name", "cudaLaunchKernel")
    return x(name, ts, dur, cat="cuda_runtime", correlation=correlation, **args)


def kernel(name: str, ts: float, dur: float, **args: Any) -> Event:
    pid, tid = args.pop("pid", DEVICE), args.pop("tid", STREAM)
    cat = args.pop("cat", "kernel")
    return x(name, ts, dur, cat=cat, pid=pid, tid=tid, device=DEVICE, stream=STREAM, **args)


def flow(cat: str, number: int, start: tuple[int, float], end: tuple[int, float]) -> list[Event]:
    """The two ends of a flow on host threads, each (tid, ts)."""
    common = {"cat": cat, "name": cat, "id": number, "pid": HOST}
    return [
        {**common, "ph": "s", "tid": start[0], "ts": start[1]},
        {**common, "ph": "f", "tid": end[0], "ts": end[1], "bp": "e"},
    ]


def memory(ts: float, amount: int, **args: Any) -> Event:
    tid = args.pop("tid", THREAD)
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": HOST,
            "tid": tid, "ts": ts, "args": {"Bytes": amount, **args}}  # fmt: skip


def meta(what: str, pid: object, tid: object = 0, **args: Any) -> Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": args}


def drawn(*events: Event | Iterable[Event], **metadata: Any) -> Trace:
    """The trace of these events; lists of events are spread."""
    flat: list[Event] = []
    for item in events:
        flat += [item] if isinstance(item, dict) else list(item)
    return build(raw_trace({"schemaVersion": 1, **metadata, "traceEvents": flat}), "drawn.json", 1)


def drawn_by_others(*events: Event) -> Trace:
    """The trace of a file that says nothing of torch but what these events do."""
    return build(raw_trace(list(events)), "drawn.json", 1)


def kinds(trace: Trace) -> list[str]:
    """What the notes of the health record are about, in their order."""
    return [note.kind for note in trace.health.notes]


def raw_trace(document: Any, faults: tuple[Fault, ...] = ()) -> RawTrace:
    """What a scanner must make of a decoded document."""
    events = document if isinstance(document, list) else document.get("traceEvents") or []
    metadata = (
        {}
        if isinstance(document, list)
        else {k: v for k, v in document.items() if k != "traceEvents"}
    )
    codes: dict[str, int] = {}

    def code(value: object) -> int:
        return codes.setdefault("" if value is None else str(value), len(codes))

    code("")
    ints: dict[str, dict[int, int]] = {}
    floats: dict[str, dict[int, float]] = {}
    texts: dict[str, dict[int, int]] = {}
    columns: list[tuple[int, ...]] = []
    for row, event in enumerate(events):
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        columns.append(
            (
                ord(event["ph"][0]) if event.get("ph") else 0,
                code(event.get("cat")),
                code(event.get("name")),
                code(event.get("pid")),
                code(event.get("tid")),
                _ns(event.get("ts"), MISSING),
                _ns(event.get("dur"), NO_DUR),
            )
        )
        for key, value in args.items():
            if key in INT_ARGS and (number := _int(value)) is not None:
                ints.setdefault(INT_ARGS[key], {})[row] = number
            if key in FLOAT_ARGS and isinstance(value, (int, float, Decimal)):
                floats.setdefault(FLOAT_ARGS[key], {})[row] = float(value)
            if key in TEXT_ARGS and value is not None:
                texts.setdefault(TEXT_ARGS[key], {})[row] = code(
                    value
                    if isinstance(value, str)
                    else json.dumps(value, separators=(",", ":"), default=float)
                )
        if isinstance(number := event.get("id"), int):
            ints.setdefault(ID_INT, {})[row] = number
        elif number is not None:
            texts.setdefault(ID_TEXT, {})[row] = code(number)
        if event.get("ph") == "C":
            texts.setdefault(COUNTER_ARGS, {})[row] = code(json.dumps(args, default=float))
    kinds = (np.uint8, *[np.int32] * 4, np.int64, np.int64)
    table = list(zip(*columns, strict=True)) or [()] * 7
    dense = [np.array(column, kind) for column, kind in zip(table, kinds, strict=True)]
    none = np.zeros(1, np.int64)
    return RawTrace(
        events=RawEvents(*dense),
        ints={key: _sparse(cells, np.int64) for key, cells in ints.items()},
        floats={key: _sparse(cells, np.float64) for key, cells in floats.items()},
        texts={key: _sparse(cells, np.int32) for key, cells in texts.items()},
        strings=tuple(codes),
        metadata=metadata,
        blocks=Blocks(none, none, np.array([0, len(columns)])),
        faults=faults,
        text_bytes=1,
    )


def _ns(value: object, missing: int) -> int:
    if value is None:
        return missing
    try:
        number = Decimal(str(value)) * 1000
        result = int(number.to_integral_value())
    except (InvalidOperation, OverflowError, ValueError):
        return missing
    if not -(2**63) < result < 2**63:
        return missing
    return result - 1 if missing == NO_DUR and result < 0 else result


def _int(value: object) -> int | None:
    if isinstance(value, (bool, int)) or (
        isinstance(value, (float, Decimal)) and value == int(value)
    ):
        number = int(value)
    elif isinstance(value, str):
        try:
            number = int(value, 0)
        except ValueError:
            return None
    else:
        return None
    return number if -(2**63) <= number < 2**63 else None


def _sparse(cells: dict[int, Any], kind: type) -> Sparse:
    return Sparse(np.array(list(cells), np.int32), np.array(list(cells.values()), kind))
