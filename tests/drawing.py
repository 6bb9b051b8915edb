"""Traces drawn as text: a picture in a test becomes JSON, and the real reader reads it.

    trace = draw('''
        step   |1111111111222222|
        op     | aaaaa   aa     |
        call   |  l      m      |
        gpu    |    llll   mmmm |
    ''')

One column is one microsecond, one letter a name, a run of equal letters one event. A lane is a
kind, with a thread after it where there is more than one (``op2``), or a device and a stream
(``gpu1.9``); lanes of one name are rows of one thread, outermost first. Where a call and device
work carry the same letter, the call launched the work; a letter that comes twice is matched in
order.

* ``step`` draws ``ProfilerStep#1`` …; the letters are digits
* ``op`` draws ``aten::<letter>``, ``note`` annotations, ``frame`` Python frames, ``module`` modules
* ``call`` draws runtime calls; ``gpu`` kernels, ``copy`` and ``set`` copies and memsets
* ``names`` gives a letter another name, ``args`` adds arguments to the events of a letter
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read

Event = dict[str, Any]

PID = 100
STREAM = 7
_LANE = re.compile(r"([a-z]+)(\d*)(?:\.(\d+))?$")
_CATEGORY = {
    "step": "user_annotation",
    "op": "cpu_op",
    "note": "user_annotation",
    "frame": "python_function",
    "module": "python_function",
    "call": "cuda_runtime",
    "gpu": "kernel",
    "copy": "gpu_memcpy",
    "set": "gpu_memset",
    "gpunote": "gpu_user_annotation",
}
_DEVICE = ("gpu", "copy", "set", "gpunote")
_NAME = {
    "step": "ProfilerStep#{}",
    "op": "aten::{}",
    "note": "note {}",
    "frame": "train.py(1): {}",
    "module": "nn.Module: {}_0",
    "call": "cudaLaunchKernel",
    "gpu": "kernel_{}",
    "copy": "Memcpy HtoD (Pageable -> Device)",
    "set": "Memset (Device)",
    "gpunote": "note {}",
}

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
"""The range in which the main thread of a training waits for a batch."""

V100 = {
    "id": 0,
    "name": "Tesla V100-SXM2-32GB",
    "totalGlobalMem": 32 << 30,
    "computeMajor": 7,
    "computeMinor": 0,
    "numSms": 80,
}


def draw(
    picture: str,
    *,
    names: Mapping[str, str] | None = None,
    args: Mapping[str, Event] | None = None,
    events: Iterable[Event] = (),
    **metadata: Any,
) -> Trace:
    """The trace of a picture and of further events."""
    drawn = [*_events(picture, names or {}, args or {}), *events]
    return trace_of(drawn, **metadata)


def draw_at(
    path: Path,
    picture: str,
    *,
    names: Mapping[str, str] | None = None,
    args: Mapping[str, Event] | None = None,
    events: Iterable[Event] = (),
    **metadata: Any,
) -> Trace:
    """The same, and its file stays, so that events can be read from it again."""
    drawn = [*_events(picture, names or {}, args or {}), *events]
    return _written(path, drawn, metadata)


def trace_of(events: Iterable[Event], **metadata: Any) -> Trace:
    """The trace of a list of Chrome events, read from a real file."""
    with tempfile.TemporaryDirectory() as folder:
        return _written(Path(folder, "worker0.pt.trace.json"), events, metadata)


def _written(path: Path, events: Iterable[Event], metadata: Mapping[str, Any]) -> Trace:
    document = {"schemaVersion": 1, **metadata, "traceEvents": list(events)}
    path.write_text(json.dumps(document), encoding="utf-8")
    return read(path)


def memory(
    at: float,
    size: int,
    total: int | None,
    *,
    device: int = 0,
    kind: int = 1,
    reserved: int | None = None,
) -> Event:
    """An allocator event; ``kind`` is c10's DeviceType. No total: as torch 1.10 wrote it."""
    told: Event = {"Device Type": kind, "Device Id": device, "Bytes": size}
    if total is not None:
        told |= {"Addr": 4096, "Total Allocated": total, "Total Reserved": reserved or total}
    return {
        "ph": "i",
        "s": "t",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "pid": PID,
        "tid": 1,
        "ts": at,
        "args": told,
    }


def _events(picture: str, names: Mapping[str, str], args: Mapping[str, Event]) -> Iterable[Event]:
    seen: dict[tuple[str, str], int] = {}
    for line in picture.splitlines():
        if "|" not in line:
            continue
        lane, bars = line.split("|")[:2]
        match = _LANE.match(lane.strip())
        assert match is not None, f"no lane: {lane!r}"
        kind, number, stream = match.groups()
        for bar in re.finditer(r"(\S)\1*", bars):
            yield _event(kind, number, stream, bar, names, args, seen)


def _event(
    kind: str,
    number: str,
    stream: str | None,
    bar: re.Match[str],
    names: Mapping[str, str],
    args: Mapping[str, Event],
    seen: dict[tuple[str, str], int],
) -> Event:
    letter = bar[1]
    on_device = kind in _DEVICE
    told = dict(args.get(letter, {})) if kind != "call" else {}
    place: Event = {"pid": PID, "tid": int(number or 1)}
    if on_device:
        device = int(number or 0)
        told |= {"device": device, "stream": int(stream or STREAM)}
        place = {"pid": device, "tid": int(stream or STREAM)}
    if kind in ("call", "gpu", "copy", "set"):
        side = "device" if on_device else "call"
        turn = seen[side, letter] = seen.get((side, letter), 0) + 1
        told["correlation"] = ord(letter) * 1000 + turn
    if kind == "module":
        told["Python module id"] = 0
    default = _NAME[kind].format(letter)
    return {
        "ph": "X",
        "cat": _CATEGORY[kind],
        "name": names.get(letter, default)
        if kind != "call"
        else names.get(f"call {letter}", default),
        "ts": bar.start(),
        "dur": len(bar[0]),
        "args": told,
        **place,
    }
