"""From drawn events to tables: what goes where, in which order, at which time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.trace.model import DeviceClass, DeviceKind, HostKind, Trace
from kinetoscope.trace.read import build
from tests.trace.drawn import (
    Event,
    annotation,
    drawn,
    kernel,
    launch,
    memory,
    meta,
    python,
    raw_trace,
    x,
)


def names(trace: Trace, codes: Any) -> list[str]:
    return [trace.text(code) for code in codes.tolist()]


def test_one_of_everything() -> None:
    trace = drawn(
        annotation("ProfilerStep#3", 1000, 100),
        python("train.py(8): step", 1001, 90),
        python("nn.Module: Linear_0", 1002, 80),
        x("aten::mm", 1010, 30, external_id=7),
        launch(1015, 5, 1),
        x("Buffer Flush", 1060, 4, cat="overhead", pid=-1, tid=0),
        x("what is this", 1070, 1, cat="vendor_thing"),
        kernel("gemm", 1030, 20, correlation=1),
        kernel("Memcpy HtoD", 1052, 2, cat="gpu_memcpy", correlation=2),
        kernel("Memset (Device)", 1055, 1, cat="gpu_memset", correlation=3),
        kernel("ProfilerStep#3", 1030, 27, cat="gpu_user_annotation"),
        kernel("Stream Sync", 1060, 9, cat="cuda_sync"),
        x("PyTorch Profiler (0)", 990, 200, cat="Trace", pid="Spans", tid="PyTorch Profiler"),
        memory(1011, 512, Addr=4096),
        {"ph": "C", "name": "GPU 0 Utilization", "pid": 0, "ts": 1001, "args": {"a": 0.5}},
    )
    host = trace.host
    assert [HostKind(kind).name for kind in host.kind] == [
        "ANNOTATION", "PYTHON", "MODULE", "OP", "RUNTIME", "OTHER", "OVERHEAD",
    ]  # fmt: skip
    assert names(trace, host.name)[:5] == [
        "ProfilerStep#3", "train.py(8): step", "nn.Module: Linear_0", "aten::mm",
        "cudaLaunchKernel",
    ]  # fmt: skip
    assert host.parent.tolist() == [-1, 0, 1, 2, 3, 2, -1]
    assert host.depth.tolist() == [0, 1, 2, 3, 4, 3, 0]
    # Time 0 is the first event, here the span of the recorder.
    assert host.ts.tolist() == [10_000, 11_000, 12_000, 20_000, 25_000, 80_000, 70_000]
    assert host.external_id.tolist() == [-1, -1, -1, 7, -1, -1, -1]
    assert host.correlation.tolist() == [-1, -1, -1, -1, 1, -1, -1]
    assert trace.base_ns == 990_000
    assert trace.end_ns == 200_000

    device = trace.device
    assert [DeviceKind(kind).name for kind in device.kind] == ["KERNEL", "MEMCPY", "MEMSET"]
    assert [DeviceClass(klass).name for klass in device.klass] == ["COMPUTE", "COPY", "MEMSET"]
    assert device.launch.tolist() == [4, -1, -1]
    assert device.op.tolist() == [3, -1, -1]
    assert device.step.tolist() == [0, -1, -1]
    assert names(trace, trace.device_annotations.name) == ["ProfilerStep#3"]
    assert names(trace, trace.syncs.name) == ["Stream Sync"]
    assert names(trace, trace.ranges.name) == ["PyTorch Profiler (0)"]
    assert (trace.memory.ts[0], trace.memory.bytes[0], trace.memory.address[0]) == (
        21_000,
        512,
        4096,
    )
    assert trace.memory.thread[0] == host.thread[0]
    assert trace.text(trace.counters.values[0]) == '{"a": 0.5}'
    assert [(device.type, device.index, device.used) for device in trace.devices] == [
        ("GPU", 0, True)
    ]


def test_host_rows_are_sorted_whatever_the_order_of_the_file() -> None:
    events = [
        x("late", 50, 1, tid=2),
        x("inner", 10, 5),
        x("outer", 10, 20),
        x("early", 1, 2, tid=2),
    ]
    for order in (events, events[::-1]):
        trace = drawn(*order)
        assert sorted(names(trace, trace.host.name)[:2]) == sorted(
            names(trace, trace.host.name)[:2]
        )
        by_thread = {
            tid: names(trace, trace.host.name[trace.host.thread == thread])
            for thread, tid in enumerate(names(trace, trace.threads.tid))
        }
        assert by_thread == {"1": ["outer", "inner"], "2": ["early", "late"]}


def test_the_outer_of_two_events_with_one_time_is_the_one_that_began_first() -> None:
    """Whole µs hide the order of start; kinds and ids tell it."""
    trace = drawn(
        launch(10, 3, 1),
        x("aten::_to_copy", 10, 3, external_id=6),
        x("aten::to", 10, 3, external_id=5),
        python("train.py(1): f", 10, 3),
        annotation("## forward ##", 10, 3, external_id=4),
    )
    assert names(trace, trace.host.name) == [
        "## forward ##", "train.py(1): f", "aten::to", "aten::_to_copy", "cudaLaunchKernel",
    ]  # fmt: skip
    assert trace.host.depth.tolist() == [0, 1, 2, 3, 4]


def test_numbers_and_texts_are_the_same_thread() -> None:
    trace = drawn(x("a", 0, 10, tid=5555), x("b", 1, 2, tid="5555"))
    assert len(trace.threads) == 1
    assert trace.host.parent.tolist() == [-1, 0]


def test_old_annotations_are_told_from_ops_by_name() -> None:
    trace = drawn(
        x("ProfilerStep#1", 0, 50, cat="Operator"),
        x("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1, 5, cat="Operator"),
        x("Optimizer.step#SGD.step", 10, 5, cat="Operator"),
        x("aten::add", 20, 5, cat="Operator"),
    )
    assert [HostKind(kind).name for kind in trace.host.kind] == [*["ANNOTATION"] * 3, "OP"]


def test_begin_and_end_make_a_range() -> None:
    begin: Event = {"ph": "B", "cat": "cpu_op", "pid": 1, "tid": 1, "args": {}}
    end: Event = {"ph": "E", "pid": 1, "tid": 1}
    trace = drawn(
        {**begin, "name": "outer", "ts": 0},
        {**begin, "name": "inner", "ts": 10, "args": {"External id": 8}},
        {**end, "ts": 15},
        {**end, "ts": 40},
        {**begin, "name": "never ends", "ts": 50},
        {**end, "ts": 60, "tid": 2},
        x("last", 60, 30, pid=1, tid=3),
    )
    assert names(trace, trace.host.name) == ["outer", "inner", "never ends", "last"]
    assert trace.host.dur.tolist() == [40_000, 5_000, 40_000, 30_000]
    assert trace.host.external_id.tolist()[1] == 8
    assert trace.host.args["finished"].row.tolist() == [2]
    assert trace.health.ignored == {"end without a begin": 1}


@given(st.lists(st.tuples(st.sampled_from("BE"), st.sampled_from("ab ")), max_size=16))
def test_ends_close_begins_by_definition(halves: list[tuple[str, str]]) -> None:
    """The last open begin, unless the end names another one."""
    events = [
        {"ph": phase, "cat": "cpu_op", "name": name.strip(), "pid": 1, "tid": 1, "ts": at}
        for at, (phase, name) in enumerate(halves, 1)
    ]
    open_: list[tuple[int, str]] = []
    closed: dict[int, int] = {}
    for at, (phase, name) in enumerate(halves, 1):
        if phase == "B":
            open_.append((at, name))
            continue
        fitting = [one for one in open_ if name == " " or one[1] in (name, " ")]
        if fitting:
            open_.remove(fitting[-1])
            closed[fitting[-1][0]] = at
    trace = drawn(*events)
    begun = {int(trace.host.ts[row]) // 1000: row for row in range(len(trace.host))}
    starts = sorted([*closed, *(at for at, _ in open_)])
    assert [at - starts[0] for at in starts] == sorted(begun) if starts else not begun
    for at, end in closed.items():
        assert trace.host.dur[begun[at - starts[0]]] == (end - at) * 1000
    assert trace.health.ignored.get("end without a begin", 0) == sum(
        phase == "E" for phase, _ in halves
    ) - len(closed)


def test_times_that_cannot_be_right() -> None:
    trace = drawn(
        x("good", 5_000_000_000, 100),
        x("also good", 5_000_000_050, 10),
        x("lost its time", 0, 0),
        x("ends before it starts", 5_000_000_020, -5),
        x("lasts for years", 5_000_000_030, 4e14),
        {**x("no end", 5_000_000_040, 0), "dur": None},
        {**x("no start", 0, 7), "ts": None},
    )
    assert names(trace, trace.host.name) == [
        "good", "ends before it starts", "lasts for years", "no end", "also good",
    ]  # fmt: skip
    assert trace.host.dur.tolist() == [100_000, 0, 0, 0, 10_000]
    assert trace.end_ns == 100_000
    assert trace.health.ignored == {
        "event without a believable time": 1,
        "event without a time stamp": 1,
    }
    kinds = {note.kind: note.count for note in trace.health.notes}
    assert kinds["timeless"] == kinds["no_time"] == kinds["negative_duration"] == 1
    assert kinds["absurd_duration"] == kinds["missing_duration"] == 1


def test_a_marker_far_away_does_not_stretch_the_axis() -> None:
    trace = drawn(
        x("a", 100, 10),
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 9e15},
        meta("process_name", 100, name="python"),
    )
    assert (trace.base_ns, trace.end_ns) == (100_000, 10_000)


def test_a_trace_that_begins_at_zero_keeps_its_first_event() -> None:
    trace = drawn(x("first", 0, 0), x("second", 30_000_000, 5))
    assert names(trace, trace.host.name) == ["first", "second"]


def test_the_base_is_added_to_wall_clock_only() -> None:
    trace = drawn(x("a", 100.001, 10), baseTimeNanoseconds=1_700_000_000_000_000_000)
    assert trace.base_ns == 1_700_000_000_000_100_001
    assert trace.host.ts.tolist() == [0]
    assert trace.recording.resolution_ns == 1


def test_memory_events_of_the_python_exporter_are_ranges_in_the_file() -> None:
    event = {**memory(10, 64), "ph": "X", "dur": 0}
    trace = drawn(x("aten::empty", 5, 10), event)
    assert (len(trace.memory), len(trace.host)) == (1, 1)


def test_a_process_may_be_host_and_device_at_once() -> None:
    """In a container the host process can have the number of a device."""
    trace = drawn(x("aten::mm", 0, 10, pid=2), kernel("gemm", 5, 10, pid=2), launch(1, 2, 1, pid=2))
    assert (len(trace.host), len(trace.device)) == (2, 1)
    assert trace.devices[0].index == 0, "as its arg `device` says"


@pytest.mark.parametrize(
    ("where", "expected"),
    [({"pid": 100}, "host"), ({"pid": 0}, "device"), ({"pid": 100, "stream": 3}, "device")],
)
def test_an_unknown_category_goes_where_its_process_is(
    where: dict[str, Any], expected: str
) -> None:
    trace = drawn(
        x("a", 0, 9),
        kernel("k", 1, 2),
        x("new", 2, 3, cat="brand_new", **where),
    )
    device = trace.device.kind.tolist().count(DeviceKind.OTHER)
    host = trace.host.kind.tolist().count(HostKind.OTHER)
    assert (host, device) == ((1, 0) if expected == "host" else (0, 1))
    assert "brand_new" in next(
        note.title for note in trace.health.notes if note.kind == "unknown_categories"
    )


def test_nothing_at_all() -> None:
    trace = drawn()
    assert (len(trace.host), len(trace.device), trace.end_ns) == (0, 0, 0)
    assert [note.kind for note in trace.health.notes] == ["empty"]
    assert len(trace.steps) == 1


PHASES = st.sampled_from([*"XXXXBEiICMsfbne", "", "?"])
ARGS = st.dictionaries(
    st.sampled_from(
        ["correlation", "External id", "Sequence number", "Fwd thread id", "stream", "device",
         "Bytes", "name", "labels", "Task Type", "finished", "graph id", "Collective name"]
    ),
    st.one_of(
        st.integers(-3, 6), st.sampled_from(["GPU 0", "CPU", "x"]), st.integers(), st.booleans()
    ),
    max_size=4,
)  # fmt: skip
HOSTILE = st.lists(
    st.fixed_dictionaries(
        {
            "ph": PHASES,
            "cat": st.sampled_from(
                ["cpu_op", "kernel", "cuda_runtime", "user_annotation", "ac2g", "fwdbwd", "new",
                 "overhead", "cuda_sync", "gpu_user_annotation", "Trace", "python_function", None]
            ),
            "name": st.sampled_from(
                ["a", "[memory]", "ProfilerStep#1", "process_labels", "thread_name", "nccl:x", None]
            ),
            "pid": st.sampled_from([0, 1, "1", "Spans", -1, None]),
            "tid": st.sampled_from([0, 1, "stream 7", -1, None]),
            "ts": st.one_of(st.integers(0, 30), st.integers(-(2**70), 2**70), st.none()),
            "dur": st.one_of(st.integers(-2, 20), st.integers(-(2**70), 2**70), st.none()),
            "id": st.one_of(st.integers(0, 3), st.text(max_size=2), st.none()),
            "args": ARGS,
        }
    ),
    max_size=25,
)  # fmt: skip


@given(HOSTILE)
def test_any_events_are_read_and_accounted_for(events: list[Event]) -> None:
    trace = build(raw_trace({"traceEvents": events}), "any", 1)
    health = trace.health
    assert health.events == len(events) == health.used + sum(health.ignored.values())
    check_tables(trace, [event["ph"] == "X" for event in events])


def check_tables(trace: Trace, ranges: list[bool]) -> None:
    """What holds for every trace: each range in one table, links in bounds, times on the axis."""
    host, device = trace.host, trace.device
    tables = (host, device, trace.device_annotations, trace.syncs, trace.ranges, trace.memory)
    rows = np.concatenate([table.raw for table in tables])
    assert len(np.unique(rows)) == len(rows), "no event is in two tables"
    lost = sum(
        count
        for reason, count in trace.health.ignored.items()
        if reason.startswith("event without a ")
    )
    missing = np.flatnonzero(ranges)
    assert len(missing) - np.isin(missing, rows).sum() <= lost, "every range is in a table"
    for table in tables[:-1]:
        assert (table.ts >= 0).all()
        assert (table.dur >= 0).all()
        assert (table.end <= trace.end_ns).all()
    assert (trace.memory.ts <= trace.end_ns).all()
    for link, size in (
        (host.parent, len(host)),
        (host.forward, len(host)),
        (host.step, len(trace.steps)),
        (device.launch, len(host)),
        (device.op, len(host)),
        (device.step, len(trace.steps)),
        (device.device, len(trace.devices)),
        (device.stream, len(trace.streams)),
        (trace.streams.device, len(trace.devices)),
        (trace.flows.source, len(host)),
        (trace.collectives.host, len(host)),
    ):
        assert ((link >= -1) & (link < max(size, 1))).all()
    assert (host.parent < np.arange(len(host))).all(), "parents come first"
    assert (device.device >= 0).all()
    assert (device.stream >= 0).all()
    order = np.lexsort((-host.dur, host.ts, host.thread))
    assert (host.ts[order] == host.ts).all()
    assert (host.thread[order] == host.thread).all()
    assert (np.diff(device.device) >= 0).all(), "rows of a device lie together"
    assert (np.diff(device.stream) >= 0).all()
    for column in (*host.args.values(), *device.args.values()):
        assert (np.diff(column.row) > 0).all()


def test_addresses_of_objects_leave_names() -> None:
    """Two objects of one kind are one name, in every run; C++ that looks alike stays."""
    append = "<built-in method append of list object at 0x{}>"
    plain = "<built-in method append of list object>"
    names = [append.format("7fa0"), append.format("7FB0"), "<function f>", "<function f at 0x1>"]
    trace = drawn(
        x("aten::mm", 900, 200),
        [python(name, 1000 + 10 * at, 5) for at, name in enumerate([*names, "f() at 0x12"])],
    )
    found = [trace.text(code) for code in trace.host.name.tolist()]
    assert found[1:] == [plain, plain, "<function f>", "<function f>", "f() at 0x12"]
    assert len({*trace.host.name.tolist()}) == 4
