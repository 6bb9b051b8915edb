"""What a Perfetto file says, row by row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import UnavailableError
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.event_text import Rereader
from kinetoscope.trace.io.source import Text, looks_like_trace
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import FaultLog
from kinetoscope.trace.read import build, read
from kinetoscope.trace.scan.scanner import scan
from kinetoscope.views import all_views
from kinetoscope.views.kernels import view as kernels
from kinetoscope.views.kernels.contract import KernelQuery
from kinetoscope.views.timeline import view as timeline
from kinetoscope.views.timeline.queries import LayoutQuery
from tests.conftest import requires_native
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
    work,
)

pytestmark = requires_native


def document(data: bytes) -> dict[str, Any]:
    """The text of a file, as Python values."""
    with Text(data, FaultLog()) as text:
        pieces = iter(lambda: text.read(1 << 16), b"")
        found: dict[str, Any] = json.loads(b"".join(pieces))
    return found


def rows(data: bytes, phases: str = "XBiCsf") -> list[dict[str, Any]]:
    return [row for row in document(data)["traceEvents"] if row["ph"] in phases]


def spans(data: bytes) -> dict[str, tuple[float, float | None]]:
    """Begin and length in µs of each slice by its name; no length where its end is not known."""
    return {row["name"]: (row["ts"], row.get("dur")) for row in rows(data, "XB")}


def torch_slices(*events: tuple[int, list[Any]]) -> bytes:
    """A file of torch's with these events of track 2, at ns from its base."""
    head = torch_head("A", "B", "C", "D", "E")
    return trace_file(*head, *(packet(ts=BASE + ts, event=event) for ts, event in events))


A, B, C, D, E = (begin(2, iid, category=2) for iid in range(1, 6))
END = end(2)


def test_torch_pairs_begins_and_ends_by_their_order() -> None:
    """Two groups, and in the first two slices that overlap in part: a stack would mix their ends.

    A ▐██████▌
    B    ▐███████▌
    C                ▐██▌
    """
    data = torch_slices((1000, A), (4000, B), (8000, END), (12000, END), (20000, C), (23000, END))
    assert spans(data) == {"A": (1.0, 7.0), "B": (4.0, 8.0), "C": (20.0, 3.0)}


def test_other_writers_nest() -> None:
    """The same packets of another writer: the first end closes the innermost slice."""
    packets = [
        packet(ts=1000, event=begin(2, "A")),
        packet(ts=4000, event=begin(2, "B")),
        packet(ts=5000, event=begin(3, "on another track")),
        packet(ts=8000, event=end(2)),
        packet(ts=9000, event=end(2)),
        packet(ts=9500, event=end(2)),
    ]
    data = trace_file(*packets)
    assert spans(data) == {"A": (1.0, 8.0), "B": (4.0, 4.0), "on another track": (5.0, None)}
    assert [row["ph"] for row in rows(data)] == ["X", "X", "B"]
    assert {fault.kind: fault.count for fault in scan(data).faults} == {"unpaired_end": 1}


def test_arguments_keep_their_types() -> None:
    args = [
        arg("Input Dims", [[4, 16], [], 7]),
        arg("empty", []),
        arg("text", 'a "quoted" \\ line\n'),
        arg("negative", -5),
        arg("real", 0.25),
        arg("flag", True),
        arg("inner", {"x": 1, "y": ["z"]}),
    ]
    (row,) = rows(torch_slices((1000, begin(2, 1, *args)), (2000, END)))
    assert row["args"] == {
        "Input Dims": [[4, 16], [], 7],
        "empty": [],
        "text": 'a "quoted" \\ line\n',
        "negative": -5,
        "real": 0.25,
        "flag": True,
        "inner": {"x": 1, "y": ["z"]},
    }


def test_work_of_a_device_is_what_torch_writes_as_json() -> None:
    lanes = {100: "[000007] stream 7", 101: "[100001] DP"}
    data = trace_file(
        *torch_head("gemm", "Memcpy", "EventRecord", "HostNode", lanes=lanes),
        work(1, 1, 1000, 500, grid=(64, 2, 1), block=(128, 1, 1), registers=32, correlation=17),
        work(2, 2, 1500, 250, stage=2, lane=101, waits=[1], bytes=4096, graph_id=5),
        work(3, 4, 1800, 100, stage=6, waits=[1, 9], host_fn="log"),
    )
    kernel, copy, start, stop, node, *rest = rows(data)
    assert kernel["cat"] == "kernel"
    assert kernel["ts"], kernel["dur"] == (1.0, 0.5)
    assert (kernel["pid"], kernel["tid"]) == (0, 7)
    assert kernel["args"] == {
        "grid": [64, 2, 1], "block": [128, 1, 1], "registers per thread": 32,
        "device": 0, "context": 1, "stream": 7, "correlation": 17,
    }  # fmt: skip
    # The lane is another one than the stream: who put it there is not told, the stream is.
    assert copy["tid"] == 100001
    assert copy["args"]["stream"], copy["args"]["original_stream"] == (100001, 7)
    assert copy["args"]["bytes"] == 4096
    # The copy waited for the kernel; the arrow begins where that ends.
    assert (start["ph"], start["id"], start["ts"], start["tid"]) == ("s", 1 << 40, 1.5, 7)
    assert (stop["ph"], stop["id"], stop["ts"], stop["tid"]) == ("f", 1 << 40, 1.5, 100001)
    assert (node["cat"], node["name"]) == ("graph_host_node", "HostNode: log")
    # Nothing has the event id 9: that arrow has no start.
    assert [(row["ph"], row["id"] - (1 << 40)) for row in rest] == [("s", 1), ("f", 1), ("f", 2)]


def test_counters_of_a_device_and_of_a_track() -> None:
    specs = [(1, [(1, 4), (2, "Power (W)")])]
    names = packet(interned=[(47, [(1, 1), (3, 2), (2, specs)])])
    track = packet(track=[(1, 8), (2, "queue"), (8, [(6, "items"), (4, 10), (5, 1)])])
    data = trace_file(
        names,
        track,
        packet(ts=1000, counters=[(4, 1), (2, [(1, 4), (3, 461.383)])]),
        packet(ts=2000, event=[(9, 4), (11, 8), (30, 3)]),
        packet(ts=3000, event=[(9, 4), (11, 8), (30, 4)]),
    )
    power, first, second = rows(data)
    assert (power["name"], power["pid"], power["args"]) == (
        "Power (W)", "GPU 2 Counters", {"": 461.383},
    )  # fmt: skip
    assert (first["name"], first["args"]) == ("queue", {"items": 30})
    assert second["args"] == {"items": 70}, "it counts what is new, in tens"


def test_clocks_of_sequences_are_brought_onto_that_of_the_trace() -> None:
    """Clock 64 of sequence 5 counts µs from one event to the next; the trace's clock is the boot's.

    The wall clock was 1,000,000 ns ahead of it.
    """
    data = trace_file(
        packet(ts=5000, snapshot=snapshot((6, 5000), (1, 1_005_000))),
        packet(sequence=5, snapshot=snapshot((6, 10_000), (64, 0, 1, 1000))),
        packet(sequence=5, defaults=[(58, 64), (11, [(11, 3)])]),
        packet(ts=1, sequence=5, event=[(9, 3), (23, "a")]),
        packet(ts=2, sequence=5, event=[(9, 3), (23, "b")]),
        packet(ts=1_030_000, clock=1, event=[(9, 3), (23, "wall"), (11, 3)]),
    )
    assert document(data)["baseTimeNanoseconds"] == 1_000_000
    assert {row["name"]: row["ts"] for row in rows(data)} == {"a": 11.0, "b": 13.0, "wall": 30.0}


def test_names_end_with_the_state_that_explained_them() -> None:
    data = trace_file(
        packet(flags=1, interned=[(2, [(1, 1), (2, "old")])]),
        packet(ts=1000, event=[(9, 3), (11, 1), (10, 1)]),
        packet(flags=1, interned=[(2, [(1, 2), (2, "new")])]),
        packet(ts=2000, event=[(9, 3), (11, 1), (10, 1)]),
        packet(ts=3000, sequence=7, event=[(9, 3), (11, 1), (10, 2)]),
    )
    assert [row["name"] for row in rows(data)] == ["old", "#1", "#2"]
    (fault,) = scan(data).faults
    assert (fault.kind, fault.count, fault.example) == ("lost_iid", 2, "the name with the number 1")


def test_a_track_that_is_no_thread_is_one_of_its_process() -> None:
    data = trace_file(
        process(1, 40, "app"),
        packet(track=[(1, 5), (2, "frames"), (5, 1)]),
        packet(ts=1000, event=instant(5, "shown")),
        packet(ts=2000, event=instant(77, "of no track")),
    )
    named, first, second = rows(data, "Mi")[1:]
    assert (named["pid"], named["tid"], named["args"]) == (40, "track 5", {"name": "frames"})
    assert (first["pid"], first["tid"]) == (40, "track 5")
    assert (second["pid"], second["tid"]) == ("tracks", "track 77")


def test_numbers_that_torch_masked_get_their_sign_back() -> None:
    masked = -1400000123 & 0x7FFFFFFF
    data = trace_file(
        *torch_head("A"),
        process(3, 0x7FFFFFFF, "Overhead"),
        thread(4, 3, 0x7FFFFFFF, 0, "Overhead"),
        thread(5, 1, 9, masked, "thread -1400000123"),
        process(6, 0, "GPU 0"),
        thread(7, 6, 0, 0x7FFFFFFF, "stream -1"),
        *(packet(ts=BASE, event=begin(track, 1)) for track in (4, 5, 7)),
        *(packet(ts=BASE + 1, event=end(track)) for track in (4, 5, 7)),
    )
    found = [(row["pid"], row["tid"], row["cat"]) for row in rows(data)]
    assert found == [(-1, 0, "overhead"), (9, 1400000123, ""), (0, -1, "cuda_sync")]


def test_what_is_not_read_is_counted() -> None:
    data = trace_file(
        packet(ts=1, ftrace=[(1, 0)]),
        packet(ts=2, event=instant(1, "a")),
        packet(ts=3, ftrace=[(1, 0)]),
    )
    (fault,) = scan(data).faults
    assert (fault.kind, fault.count, fault.example, fault.offset) == (
        "other_packet", 2, "a packet with field 1", 0,
    )  # fmt: skip


FOREIGN = trace_file(
    packet(ts=5000, snapshot=snapshot((6, 5000), (1, BASE))),
    process(1, 40, "app"),
    thread(2, 1, 40, 41, "render"),
    packet(ts=6000, event=begin(2, "frame", category="rendering")),
    packet(ts=7000, event=begin(2, "draw", category="rendering")),
    packet(ts=9000, event=end(2)),
    packet(ts=9500, event=end(2)),
)


@pytest.mark.parametrize("name", ["a.pftrace", "a.pftrace.gz", "a.perfetto-trace", "renamed.json"])
def test_a_file_is_known_by_what_it_holds(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(FOREIGN) if name.endswith("gz") else FOREIGN)
    trace = read(path)
    assert [trace.text(code) for code in trace.host.name] == ["frame", "draw"]
    assert trace.host.dur.tolist() == [3500, 2000]
    assert trace.base_ns == BASE + 1000
    assert Rereader(str(path), trace.blocks, trace.seek).event(3)["name"] == "draw"


@pytest.mark.parametrize("text", [b'\n{"traceEvents": []}', b"\n\n[]", b"\n", b"\n\x08\x01"])
def test_text_and_noise_are_no_perfetto(text: bytes) -> None:
    with Text(text, FaultLog()) as found:
        assert found.read(100) == text


def test_who_looks_at_the_beginning_reads_no_more_than_that() -> None:
    with Text(FOREIGN, FaultLog()) as text:
        head = text.read(4096)
    assert looks_like_trace(head)
    assert head.endswith(b"[\n")


def trace_of(data: bytes) -> Trace:
    return build(scan(data), "drawn.pftrace", len(data))


def test_another_program_fills_the_trace_view_and_the_others_say_why_not() -> None:
    trace = trace_of(FOREIGN)
    session = TraceSession(trace, summarize(trace))
    said = {view.stem: session.unavailable(view) for view in all_views()}
    assert said.pop("timeline") is None
    assert said.pop("health") is None
    assert {why and why.partition(":")[0] for why in said.values()} == {
        "This Perfetto file was not written by PyTorch"
    }
    answer = timeline.build(session.seen_by(timeline.VIEW), LayoutQuery())
    assert [(track.detail, track.slices) for track in answer.tracks] == [("thread 41 (render)", 2)]
    assert set(answer.missing) == {"pytorch"}, "no advice on how to call torch"
    notes = {note.kind for note in trace.health.notes}
    assert "not_torch" in notes
    assert not notes & {"no_steps", "no_device", "no_stacks", "no_shapes", "cuspy", "perfetto"}
    assert trace.recording.torch_era == "Perfetto"
    with pytest.raises(UnavailableError, match="not written by PyTorch"):
        session.subject(next(view for view in all_views() if view.stem == "overview"))


def test_what_torch_leaves_out_of_a_pftrace_is_said() -> None:
    data = trace_file(
        *torch_head("aten::mm", "gemm", "Memcpy"),
        packet(ts=BASE, event=begin(2, 1, category=2)),
        packet(ts=BASE + 5000, event=end(2)),
        work(1, 2, 1000, 500, correlation=1),
        work(2, 3, 1500, 250, stage=2),
        work(3, 2, 1760, 40, correlation=2),
    )
    trace = trace_of(data)
    facts = summarize(trace)
    notes = {note.kind: note for note in trace.health.notes}
    assert "perfetto" in notes
    assert notes["cut_rows"].title == "1 of 3 rows of devices may have been cut"
    assert "lower bounds" in notes["cut_rows"].consequence
    assert facts.traits.pageable_copy_count is None, "not 0: the file does not tell"
    assert "`.pftrace` file holds no allocator events" in facts.unavailable["memory"]
    assert facts.rank is None
    answer = kernels.build(TraceSession(trace, facts).seen_by(kernels.VIEW), KernelQuery())
    assert [row.direction for row in answer.copies] == ["direction not recorded"]
    assert "does not tell the directions" in answer.missing["direction"]
    assert {"occupancy", "blocks"} <= answer.missing.keys()
