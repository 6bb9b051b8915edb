"""The launch of each kernel: by correlation, by arrows, by External id, or unknown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.trace.model import Link, Trace
from tests.trace.drawn import Event, drawn, flow, kernel, kinds, launch, meta, x


def links(trace: Trace) -> dict[str, tuple[str, str, str]]:
    """For each device activity: launch, op, and how it was found."""
    host, device = trace.host, trace.device

    def name(row: int) -> str:
        return trace.text(int(host.name[row])) if row >= 0 else ""

    return {
        trace.text(int(code)): (name(int(call)), name(int(op)), Link(int(link)).name)
        for code, call, op, link in zip(
            device.name, device.launch, device.op, device.link, strict=True
        )
    }


def test_correlation_then_the_op_around_the_call() -> None:
    # linear  ████████████        call 2 is in linear only, call 1 in addmm too
    # addmm     █████
    # calls      ▏      ▏
    trace = drawn(
        x("aten::linear", 0, 30),
        x("aten::addmm", 3, 10),
        launch(5, 2, 1),
        launch(20, 2, 2),
        kernel("gemm", 10, 5, correlation=1),
        kernel("bias", 25, 5, correlation=2),
    )
    assert links(trace) == {
        "gemm": ("cudaLaunchKernel", "aten::addmm", "CORRELATION"),
        "bias": ("cudaLaunchKernel", "aten::linear", "CORRELATION"),
    }
    assert "all_linked" in kinds(trace)


def test_the_op_is_looked_for_on_the_thread_of_the_call() -> None:
    trace = drawn(
        x("aten::mm", 0, 30, tid=1),
        x("autograd", 0, 30, tid=2),
        launch(5, 2, 1, tid=2),
        launch(6, 2, 2, tid=3),
        kernel("a", 10, 5, correlation=1),
        kernel("b", 20, 5, correlation=2),
    )
    assert links(trace)["a"] == ("cudaLaunchKernel", "autograd", "CORRELATION")
    assert links(trace)["b"] == ("cudaLaunchKernel", "", "CORRELATION")


def test_an_op_that_a_frame_outlives_still_owns_its_launches() -> None:
    """The frame hangs beside the op in the tree; the op is open nevertheless."""
    trace = drawn(
        x("custom::attention", 0, 30),
        x("forward", 2, 60, cat="python_function"),
        launch(5, 2, 1),
        kernel("k", 10, 5, correlation=1),
    )
    assert links(trace)["k"][1] == "custom::attention"


def test_of_two_calls_with_one_correlation_the_launching_one_counts() -> None:
    trace = drawn(
        x("urEnqueueKernelLaunch", 2, 15, cat="xpu_runtime", correlation=11),
        x("zeSomething", 4, 8, cat="xpu_driver", correlation=11),
        kernel("gemm", 30, 5, correlation=11),
    )
    assert links(trace)["gemm"][0] == "urEnqueueKernelLaunch"
    assert "shared_correlation" in kinds(trace)
    drawn_arrow = drawn(
        x("first", 2, 15, cat="cuda_runtime", correlation=11),
        x("second", 4, 8, cat="cuda_driver", correlation=11),
        flow("ac2g", 11, (1, 2), (1, 2)),
        kernel("gemm", 30, 5, correlation=11),
    )
    assert links(drawn_arrow)["gemm"][0] == "first", "the one with the arrow"


def test_a_graph_launch_owns_many() -> None:
    trace = drawn(
        x("replay", 0, 30),
        launch(5, 2, 1, name="cudaGraphLaunch"),
        *[kernel(f"k{i}", 10 + i, 1, correlation=1) for i in range(3)],
    )
    assert set(links(trace).values()) == {("cudaGraphLaunch", "replay", "GRAPH")}
    assert "graphs" in kinds(trace)


def test_external_id_where_no_call_was_recorded() -> None:
    trace = drawn(
        x("aten::mm", 0, 30, external_id=4),
        kernel("gemm", 10, 5, correlation=77, external_id=4),
        kernel("other", 20, 5, correlation=78, external_id=9),
    )
    assert links(trace) == {
        "gemm": ("", "aten::mm", "EXTERNAL_ID"),
        "other": ("", "", "UNLINKED"),
    }
    assert "no_runtime" in kinds(trace)


def test_external_id_that_repeats_the_correlation_means_nothing() -> None:
    """torch 1.11 to 2.3; here 4 is by accident the id of an op."""
    trace = drawn(
        x("aten::unrelated", 0, 3, external_id=4),
        kernel("gemm", 10, 5, correlation=4, external_id=4),
        kernel("bias", 20, 5, correlation=5, external_id=5),
    )
    assert links(trace)["gemm"] == ("", "", "UNLINKED")
    assert "external_id_ignored" in kinds(trace)


def test_work_from_before_the_recording_is_told_from_work_that_lost_its_launch() -> None:
    # stream  ███ early   ███ linked     ███ lost
    trace = drawn(
        x("aten::mm", 40, 30),
        launch(45, 2, 1),
        kernel("early", 0, 5, correlation=900),
        kernel("linked", 50, 5, correlation=1),
        kernel("lost", 1000, 5, correlation=901),
    )
    assert {name: link for name, (_, _, link) in links(trace).items()} == {
        "early": "PROLOGUE",
        "linked": "CORRELATION",
        "lost": "UNLINKED",
    }
    assert trace.device.step.tolist() == [0, 0, 0], "the whole trace is one step"


def test_work_launched_in_a_step_belongs_to_it_though_it_runs_later() -> None:
    # host    ▕ step 1 ▏▕ step 2 ▏
    # device          ██████            launched in step 1
    trace = drawn(
        x("ProfilerStep#1", 0, 20, cat="user_annotation"),
        x("ProfilerStep#2", 20, 20, cat="user_annotation"),
        launch(18, 1, 1),
        launch(30, 1, 2),
        kernel("first", 19, 15, correlation=1),
        kernel("second", 35, 15, correlation=2),
        kernel("before", 1, 2, correlation=99),
    )
    assert [trace.text(code) for code in trace.device.name] == ["before", "first", "second"]
    assert trace.device.step.tolist() == [-1, 0, 1]


def test_a_call_that_launches_two_copies_is_no_graph() -> None:
    trace = drawn(
        launch(5, 2, 1, name="hipMemcpyWithStream"),
        kernel("a", 10, 1, correlation=1, cat="gpu_memcpy"),
        kernel("b", 12, 1, correlation=1, cat="gpu_memcpy"),
    )
    assert {link for _, _, link in links(trace).values()} == {"CORRELATION"}


def test_kernels_before_their_launch_are_reported_with_the_skew() -> None:
    trace = drawn(launch(500, 2, 1), kernel("k", 100, 5, correlation=1))
    note = next(note for note in trace.health.notes if note.kind == "clock_skew")
    assert (note.count, note.total) == (1, 1)
    assert "400 µs" in note.consequence


def test_ascend_links_by_arrows() -> None:
    """Kernels without category; an arrow from the CANN call and one from the op."""
    host = {"pid": 9, "tid": 1}
    cann = {"pid": 902, "tid": 5}
    npu = {"pid": 800, "tid": 3}

    def arrow(
        cat: str, number: object, source: dict[str, int], at: float, end: float
    ) -> list[Event]:
        common = {"cat": cat, "name": cat, "id": number}
        return [
            {**common, "ph": "s", **source, "ts": at},
            {**common, "ph": "f", "bp": "e", **npu, "ts": end},
        ]

    trace = drawn(
        meta("process_name", 902, name="CANN"),
        meta("process_name", 800, name="Ascend Hardware"),
        meta("process_labels", 800, labels="NPU"),
        meta("process_name", 999, name="Overlap Analysis"),
        x("aten::mm", 0, 30, **host),
        {**x("AscendCL@aclnnMm", 40, 10, **cann), "cat": None},
        {**x("aclnnMm_MatMul", 60, 5, **npu), "cat": None, "args": {"Task Type": "AI_CORE"}},
        {**x("copy", 70, 5, **npu), "cat": None, "args": {"Task Type": "MEMCPY_ASYNC"}},
        {**x("Computing", 60, 5, pid=999, tid=0), "cat": None},
        arrow("HostToDevice", "38654705663", cann, 41, 60),
        arrow("async_npu", 1704161511422904204, host, 5, 60),
    )
    assert links(trace) == {
        "aclnnMm_MatMul": ("AscendCL@aclnnMm", "aten::mm", "CORRELATION"),
        "copy": ("", "", "UNLINKED"),
    }
    assert (trace.devices[0].type, trace.devices[0].vendor) == ("NPU", "Ascend")
    assert [trace.text(code) for code in trace.ranges.name] == ["Computing"], "derived, not work"
    assert trace.recording.torch_era == "Ascend"


def test_the_first_recorders_drew_arrows_from_the_op() -> None:
    cpu, gpu = {"pid": "CPU functions", "tid": 1}, {"pid": "CUDA functions", "tid": 0}
    arrow = {"name": "", "cat": "cpu_to_cuda", "id": 1}
    trace = drawn(
        {**x("conv2d", 91.253, 80, **cpu), "cat": None},
        {**x("conv2d", 150, 60, **gpu), "cat": None},
        {**arrow, "ph": "s", "ts": 91.253, **cpu},
        {**arrow, "ph": "f", "ts": 150, **gpu},
    )
    assert links(trace) == {"conv2d": ("", "conv2d", "EXTERNAL_ID")}
    assert trace.recording.torch_era == "A"


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 40)), max_size=12),
    st.lists(st.tuples(st.integers(1, 8), st.integers(0, 60)), max_size=12),
)
def test_links_obey_correlation_and_nothing_else(
    calls: list[tuple[int, int]], kernels: list[tuple[int, int]]
) -> None:
    trace = drawn(
        [launch(ts, 1, number) for number, ts in calls],
        [kernel("k", ts, 1, correlation=number) for number, ts in kernels],
    )
    known = {number for number, _ in calls}
    for number, row in zip(trace.device.correlation.tolist(), trace.device.launch, strict=True):
        assert (row >= 0) == (number in known)
        if row >= 0:
            assert trace.host.correlation[row] == number
