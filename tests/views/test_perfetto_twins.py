"""One recording written twice, as JSON and as Perfetto protobuf: every view says the same of both.

What may differ is listed here, and nothing else: rows whose end torch cuts in the protobuf, a
nanosecond of host times (which went through a double), and what the protobuf leaves out.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import UnavailableError
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.io.source import Text
from kinetoscope.trace.raw import FaultLog
from kinetoscope.trace.read import build
from kinetoscope.trace.scan.scanner import scan
from kinetoscope.views import all_views
from tests.conftest import TRACES, requires_native, requires_traces

FOLDER = TRACES / "torch2.15_cuspy"
FILES = {"all_on": "node0_4242", "all_off": "node0_4243"}
pytestmark = [requires_traces, requires_native, pytest.mark.parametrize("which", FILES)]

Row = dict[str, Any]
HOST = {"user_annotation", "cpu_op", "cuda_runtime", "cuda_driver", "overhead", "cuda_sync"}
_LAUNCHED = {"priority", "queued", "flags", "correlation"}
"""Left out where they are 0."""
ABSENT = {
    "kernel": {"shared memory", *_LAUNCHED},
    "gpu_memcpy": {"copy kind", "src kind", "dst kind", *_LAUNCHED},
    "gpu_memset": {"value", *_LAUNCHED},
    "graph_event_node": {"cuda event", *_LAUNCHED},
    "graph_host_node": {"host process", "host thread", *_LAUNCHED},
    "gpu_user_annotation": {"External id"},
}
"""Arguments that only the JSON has, by category."""
ONLY_THERE = {"arch", "process_id", "process_name", "dynamic shared memory", "threads per block"}
COMPUTED = "Cycles (Current Kernel)"
ROWS_ABSENT = {"Trace", "fwdbwd", "i"}
KEYS_ABSENT = {
    "deviceProperties", "trace_id", "record_shapes", "host_name", "traceName",
}  # fmt: skip


class Twins(NamedTuple):
    """Rows of both files, paired: (JSON, protobuf), in the order of the protobuf."""

    document: dict[str, Any]
    pairs: list[tuple[Row, Row]]
    left: list[Row]  # of the JSON
    truth: dict[str, Any]


def ns(us: float) -> int:
    return round(us * 1000)


def category(row: Row) -> str:
    return str(row.get("cat", row["ph"]))


def in_time(row: Row) -> tuple[Any, ...]:
    return row.get("ts", 0), str(row.get("tid")), row.get("args", {}).get("", 0)


def written(which: str) -> dict[str, Any]:
    """The text that stands for the protobuf."""
    with Text(next(FOLDER.glob(f"{FILES[which]}*.pftrace.gz")), FaultLog()) as text:
        found: dict[str, Any] = json.loads(b"".join(iter(lambda: text.read(1 << 20), b"")))
    return found


@cache
def twins(which: str) -> Twins:
    stem = next(FOLDER.glob(f"{FILES[which]}*.json.gz")).name.removesuffix(".json.gz")
    document = json.loads(gzip.decompress((FOLDER / f"{stem}.json.gz").read_bytes()))
    other = written(which)
    waiting: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in document["traceEvents"]:
        waiting[row["ph"], category(row), row["name"]].append(row)
    for rows in waiting.values():
        rows.sort(key=in_time, reverse=True)
    theirs = [row for row in other["traceEvents"] if row["ph"] in "XC"]
    order = sorted(range(len(theirs)), key=lambda at: in_time(theirs[at]))
    own: dict[int, Row] = {}
    for at in order:
        row = theirs[at]
        own[at] = waiting[row["ph"], category(row), row["name"]].pop()
    left = [row for rows in waiting.values() for row in rows if row["ph"] != "M"]
    truth = json.loads((FOLDER / "truth.json").read_text())[which]
    return Twins(document, [(own[at], row) for at, row in enumerate(theirs)], left, truth)


def test_every_row_has_its_twin(which: str) -> None:
    both = twins(which)
    cut: Counter[str] = Counter()
    lost_ns = 0
    for own, other in both.pairs:
        host = category(own) in HOST
        assert abs(ns(own["ts"]) - ns(other["ts"])) <= host, (own, other)
        if own["ph"] == "X":
            short = ns(own["dur"]) - ns(other["dur"])
            if short > host:
                cut[category(own)] += 1
                lost_ns += short
            assert short >= -host, (own, other)
        said, told = own.get("args", {}), other.get("args", {})
        assert said.keys() - told.keys() <= ABSENT.get(category(own), set()), (own, other)
        extra = ONLY_THERE if category(own) != "gpu_user_annotation" else {*ONLY_THERE, "device",
            "context", "stream", "original_stream"}  # fmt: skip
        assert told.keys() - said.keys() <= extra, (own, other)
        if own["name"] == COMPUTED:
            assert abs(said[""] - told[""]) <= 1, "the two writers round it differently"
        else:
            assert all(said[key] == told[key] for key in said.keys() & told.keys()), (own, other)
        assert str(own["pid"]) == str(other["pid"])
        if "tid" in own and own["name"] != "Context Sync":
            assert own["tid"] == other["tid"]
    true = both.truth["whole_trace"]["pftrace"]
    assert cut.total() == true["clamped_rows"]
    assert lost_ns == true["clamped_lost_ns"]
    counts = Counter(category(row) for _, row in both.pairs)
    stages = true["render_stage_rows"]
    assert counts["kernel"] == stages["Kernel"]
    assert counts["C"] == true["counter_samples"]


def test_what_has_no_twin_is_what_the_format_leaves_out(which: str) -> None:
    both = twins(which)
    rest = [row for row in both.left if category(row) not in ROWS_ABSENT]
    assert all(category(row) == "ac2g" for row in rest), "arrows are compared by the views"
    other = written(which)
    assert both.document.keys() - other.keys() <= KEYS_ABSENT
    edges = sum(row["ph"] == "f" for row in other["traceEvents"])
    assert edges == both.truth["whole_trace"]["pftrace"]["event_wait_ids"]


def lessened(which: str) -> bytes:
    """The JSON without what the protobuf leaves out, its rows in the order of the protobuf."""
    both = twins(which)
    rows = []
    ends = {}
    for own, other in both.pairs:
        kept = {key: value for key, value in own.items() if key in ("ph", "cat", "name", "pid")}
        kept |= {key: other[key] for key in ("ts", "dur") if key in own}
        if "tid" in own:
            kept["tid"] = own["tid"]
        gone = ABSENT.get(category(own), set())
        said = own.get("args", {})
        told = other.get("args", {})
        kept["args"] = {key: said[key] for key in said if key not in gone or key in told}
        rows.append(kept)
        if own["ph"] == "X":
            ends[own["pid"], own["tid"], ns(own["ts"]) + ns(own["dur"])] = other
    launched = {row["id"] for row in both.left if row["ph"] == "f"}
    for row in both.left:
        if category(row) != "ac2g" or row["id"] not in launched:
            continue
        # As doubles, times of this size are a nanosecond or two off the sum of begin and length.
        near = [ns(row["ts"]) + off for off in (0, 1, -1, 2, -2)] if row["id"] >= 1 << 40 else []
        found = (ends.get((row["pid"], row["tid"], end)) for end in near)
        moved = next((end for end in found if end is not None), None)
        at = row["ts"]
        if row["ph"] == "s" and moved is not None:
            at = (ns(moved["ts"]) + ns(moved["dur"])) / 1000
        rows.append(row | {"ts": at})
    rows += [row for row in both.document["traceEvents"] if row["ph"] == "M"]
    keys = {key: both.document[key] for key in both.document if key not in KEYS_ABSENT}
    origin = {"kinetoscopePerfetto": {"writer": "torch"}}
    return json.dumps(keys | origin | {"traceEvents": rows}).encode()


@cache
def answers(which: str, *, perfetto: bool) -> dict[str, Any]:
    """JSON of the facts and of every view."""
    if perfetto:
        text = written(which)  # names behind the rows, so that rows have the same numbers
        text["traceEvents"].sort(key=lambda row: row["ph"] not in "XC")
        data = json.dumps(text).encode()
    else:
        data = lessened(which)
    trace = build(scan(data), Path("twin"), 0)
    facts = summarize(trace)
    session = TraceSession(trace, facts)
    found: dict[str, Any] = {"facts": json.loads(msgspec.json.encode(facts))}
    for view in all_views():
        try:
            answer = view.build(session.asked(view), view.query())
            found[view.stem] = json.loads(msgspec.json.encode(answer))
        except UnavailableError as reason:
            found[view.stem] = str(reason)
    return found


DIFFERENT = re.compile(
    r"(facts/health|health)/(text_bytes|events|used|sentence/detail|counts/\d+/count)"
    r"|timeline/events"  # names of threads and processes count as events
    r"|kernels/table/rows/\d+/key"  # numbers of texts, the names of threads among them
    r"|timeline/tracks/\d+/(label|detail)"
    r"|timeline/counters/\d+/high"
)
"""Paths of figures that may differ; what they may say instead is in ``SAID_INSTEAD``."""
SAID_INSTEAD = {
    "Thread 0 · calls": "Overhead · calls",
    "thread 0": "thread 0 (Overhead)",
    959842.0: 959843.0,  # computed cycles
}


def differences(own: Any, other: Any, path: str = "") -> list[str]:
    if isinstance(own, dict) and isinstance(other, dict):
        keys = sorted(own.keys() | other.keys())
        return [
            one
            for key in keys
            for one in differences(own.get(key), other.get(key), f"{path}/{key}".lstrip("/"))
        ]
    if isinstance(own, list) and isinstance(other, list) and len(own) == len(other):
        return [
            one
            for index, (a, b) in enumerate(zip(own, other, strict=True))
            for one in differences(a, b, f"{path}/{index}")
        ]
    if own == other or (
        DIFFERENT.fullmatch(path)
        and (not path.startswith("timeline/") or path == "timeline/events"
             or SAID_INSTEAD.get(own) == other)
    ):  # fmt: skip
        return []
    return [f"{path}: {str(own)[:150]} | {str(other)[:150]}"]


def test_every_view_says_the_same_of_both(which: str) -> None:
    assert differences(answers(which, perfetto=False), answers(which, perfetto=True)) == []


def test_what_is_left_out_is_said_to_be_missing(which: str) -> None:
    trace = build(scan(next(FOLDER.glob(f"{FILES[which]}*.pftrace.gz"))), Path("twin"), 0)
    facts = summarize(trace)
    notes = {note.kind: note for note in trace.health.notes}
    left_out = notes["perfetto"].consequence
    for what in ("direction", "memory kind", "occupancy", "allocator events", "rank"):
        assert what in left_out
    true = twins(which).truth["whole_trace"]["pftrace"]
    assert notes["cut_rows"].count >= true["clamped_rows"], "suspects, some of them not cut"
    found = answers(which, perfetto=True)
    assert ".pftrace" in found["memory"]
    assert facts.rank is None
    assert facts.traits.pageable_copy_count is None
    assert {row["direction"] for row in found["kernels"]["copies"]} == {
        "direction not recorded", "Memset (Device)",
    }  # fmt: skip
    assert {"occupancy", "blocks", "direction"} <= found["kernels"]["missing"].keys()
    assert all(row["occupancy_percent"] is None for row in found["kernels"]["table"]["rows"])
    gauges = found["overview"]["devices"][0]["gauges"]
    unknown = [bool(gauge["reason"]) for gauge in gauges if gauge["ratio"] is None]
    assert unknown == [True, True, True]
