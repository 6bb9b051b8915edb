"""A reader whose behaviour the file itself tells, and traces with something in every column.

write_trace(path, events=3)                     reads well
write_trace(path, events=3, then="kill")        the process that reads it is killed
write_trace(path, events=3, wait=str(go))       is being read until there is such a file
"""

from __future__ import annotations

import ctypes
import gzip
import json
import os
import resource
import signal
import sys
import time
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kinetoscope.base.arrays import Sparse
from kinetoscope.base.errors import TraceFormatError, UnavailableError
from kinetoscope.base.machine import thread_count
from kinetoscope.store.catalog import CatalogService
from kinetoscope.store.discovery.poller import Timing
from kinetoscope.store.discovery.stability import Patience
from kinetoscope.store.ingest import worker
from kinetoscope.trace.health_record import HealthRecord, Note
from kinetoscope.trace.model import Recording, Trace
from kinetoscope.trace.raw import Blocks, Progress

T = typing.TypeVar("T")

READ = "tests.store.fakes:read"
SUMMARIZE = "tests.store.fakes:summarize"

QUICK = Timing(
    look=0.05,
    busy_look=0.05,
    look_share=1.0,
    publish=0.01,
    patience=Patience(old=1e9, quiet=0.2, incomplete=0.6, longest=3.0),
)
"""Looks all the time, and goes by what it sees of a file alone: its age counts for nothing."""


class FakeFacts(msgspec.Struct, frozen=True):
    """A summary."""

    path: str
    rank: int | None
    events: int
    text: str
    health: HealthRecord


def write_trace(path: Path, *, events: int = 1, **behaviour: Any) -> Path:
    """A trace file in one piece; gzip when the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = trace_text(events=events, **behaviour).encode()
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)
    return path


def trace_text(*, events: int = 1, **behaviour: Any) -> str:
    """The text of such a file."""
    rows = [{"ph": "X", "name": f"op{i}", "ts": i, "dur": 1} for i in range(events)]
    return json.dumps({"schemaVersion": 1, "fake": behaviour, "traceEvents": rows})


def read(path: str, on_progress: Callable[[Progress], None]) -> Trace:
    """Does what the file says."""
    size = os.path.getsize(path)
    on_progress(Progress("reading", 0, size, 0))
    raw = Path(path).read_bytes()
    text = gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw
    try:
        content = json.loads(text)
    except ValueError:
        if not text.rstrip().endswith(b"}") and b'"traceEvents"' in text:
            count = text.count(b'"ph"')
            return made_trace(count, rank=None, path=path, note="truncated")
        raise TraceFormatError("broken", "This is no JSON.", hint="Record it again.") from None
    told = content.get("fake", {})
    sys.stdout.write("a library that prints to standard output\n")
    if told.get("started"):
        Path(told["started"]).write_text(str(os.getpid()))
    if told.get("cpu_limit"):
        limit = resource.getrlimit(resource.RLIMIT_CPU)[0]
        Path(told["cpu_limit"]).write_text(str(limit))
    if told.get("threads"):
        Path(told["threads"]).write_text(str(thread_count()))
    if told.get("shares"):
        _follow_shares(Path(told["shares"]), told["until"])
    while told.get("wait") and not os.path.exists(told["wait"]):
        time.sleep(0.005)
    on_progress(Progress("linking", size, size, len(content["traceEvents"])))
    _misbehave(told.get("then", ""))
    return made_trace(len(content["traceEvents"]), rank=told.get("rank"), path=path)


def _follow_shares(file: Path, until: list[int]) -> None:
    """Writes down how many threads this process may use, until it had these numbers in turn."""
    seen: list[int] = []
    while seen != until:
        if seen[-1:] != [thread_count()]:
            seen.append(thread_count())
            file.write_text(json.dumps(seen))
        time.sleep(0.005)


def _misbehave(what: str) -> None:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "segfault":
        ctypes.string_at(0)
    elif what == "exit":
        sys.stderr.write("the last words\n")
        sys.stderr.flush()
        os._exit(7)
    elif what == "refuse":
        raise TraceFormatError("html", "This is a web page.", hint="Download it again.")
    elif what == "unavailable":
        raise UnavailableError("No.", hint="Yes.")
    elif what == "bug":
        raise ZeroDivisionError("a bug")
    elif what == "memory":
        raise MemoryError
    elif what == "spin":
        worker.bound_cpu(0)
        while True:
            pass
    elif what == "hang":
        time.sleep(600)


def summarize(trace: Trace) -> FakeFacts:
    """The summary of a trace."""
    return FakeFacts(
        trace.path, trace.recording.rank, trace.health.events, trace.strings[0], trace.health
    )


def made_trace(
    rows: int, *, rank: int | None, path: str = "p", note: str = "", seed: int = 0
) -> Trace:
    """A trace with ``rows`` rows and different content in every column of every table."""
    random = np.random.default_rng(seed)
    hints = typing.get_type_hints(Trace)
    notes = (Note(note, "warning", "Cut short", 1, 0, "The end is missing."),) if note else ()
    values: dict[str, Any] = {
        "path": path,
        "base_ns": 1_700_000_000_000_000_000,
        "end_ns": rows,
        "strings": ("", "aten::mm", "naïve ☃", "\udcff lone", *(f"s{i}" for i in range(rows))),
        "devices": (),
        "recording": made_recording(rank),
        "health": HealthRecord(10, 20, rows, rows, {"flow": 2}, 0, 0, notes),
    }
    for field in msgspec.structs.fields(Trace):
        if field.name not in values and field.required:
            values[field.name] = _made_table(hints[field.name], rows, random)
    return Trace(**values)


def made_recording(rank: int | None) -> Recording:
    """A recording with the metadata that real files have."""
    metadata = {"n": float("nan"), "big": 2**80, "lone": "\ud800", "list": [{"a": None}, -1.5]}
    values: dict[str, Any] = {}
    for name, kind in typing.get_type_hints(Recording).items():
        values[name] = {bool: True, int: 1000, str: "G"}.get(kind)
    values.update(rank=rank, handler={}, metadata=metadata)
    return Recording(**values)


def _made_table(kind: Any, rows: int, random: np.random.Generator) -> Any:
    if kind is Blocks:
        return Blocks(np.array([0, 9]), np.array([9, 4]), np.array([0, rows, rows]))
    values: dict[str, Any] = {}
    for name, annotation in typing.get_type_hints(kind).items():
        hint = annotation
        if typing.get_origin(annotation) is types.UnionType:  # a column as wide as it was written
            widths = typing.get_args(annotation)
            hint = widths[int(random.integers(len(widths)))]
        if name == "args":
            values[name] = _made_args(rows, random)
        elif typing.get_origin(hint) is tuple:
            values[name] = tuple(np.arange(i, dtype=np.int32) for i in range(rows))
        elif typing.get_origin(hint) is np.ndarray:
            dtype = typing.get_args(typing.get_args(hint)[1])[0]
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            values[name] = random.integers(low, high, rows, dtype, endpoint=True)
        else:
            values[name] = name
    return kind(**values)


def _made_args(rows: int, random: np.random.Generator) -> dict[str, Sparse]:
    some = np.flatnonzero(random.random(rows) < 0.5).astype(np.int32)
    return {
        "correlation": Sparse(some, random.integers(-(2**63), 2**63 - 1, len(some))),
        "bandwidth": Sparse(some[::2], np.where(some[::2] % 3, np.nan, 0.5)),
        "grid": Sparse(some[1::2], some[1::2] + 1),
        "never": Sparse(some[:0], np.empty(0, np.int64)),
    }


def same(a: object, b: object) -> bool:
    """Whether two values are equal to the last bit, arrays and NaN included."""
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, msgspec.Struct):
        # Stored tables are of a kind of their own.
        return isinstance(a, type(b)) and all(
            same(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__
        )
    if isinstance(a, typing.Mapping):
        return (
            isinstance(b, typing.Mapping) and set(a) == set(b) and all(same(a[k], b[k]) for k in a)
        )
    if isinstance(a, (tuple, list)):
        return isinstance(b, type(a)) and len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)  # noqa: PLR0124  NaN


def states(service: CatalogService[FakeFacts]) -> dict[str, str]:
    """State of every file, as the page is told."""
    return {file.path: file.state for file in service.snapshot().files}
