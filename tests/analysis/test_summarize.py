"""The facts of made-up traces, and of every real one: sums are exact, whatever a file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.trace.read import read
from kinetoscope.views import health
from kinetoscope.views.overview import view
from tests.analysis.invariants import check_facts, check_overview
from tests.conftest import TRACES, requires_traces
from tests.drawing import draw, trace_of

Event = dict[str, Any]

HOST_NAMES = (
    "aten::mm",
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "Optimizer.step#SGD.step",
    "autograd::engine::evaluate_function: MmBackward0",
    "nccl:all_reduce",
    "c10d::allreduce_",
    "<built-in method wait of PyCapsule object at 0x7f>",
    "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
    "note",
)
KERNELS = ("sgemm_nt", "ncclDevKernel_AllReduce(Args)", "s884gemm", "triton_tem_1")
TIMES = st.integers(0, 60_000).map(lambda ns: ns / 1000)
LENGTHS = st.integers(0, 20_000).map(lambda ns: ns / 1000)


@st.composite
def host_events(draw_: st.DrawFn) -> Event:
    category = draw_(
        st.sampled_from(["cpu_op", "user_annotation", "python_function", "cuda_runtime"])
    )
    runtime = category == "cuda_runtime"
    names = ("cudaLaunchKernel", "cudaStreamSynchronize") if runtime else HOST_NAMES
    return {
        "ph": "X",
        "cat": category,
        "name": draw_(st.sampled_from(names)),
        "pid": 100,
        "tid": draw_(st.sampled_from([1, 2])),
        "ts": draw_(TIMES),
        "dur": draw_(LENGTHS),
        "args": {"correlation": draw_(st.integers(1, 6))} if runtime else {},
    }


@st.composite
def device_events(draw_: st.DrawFn) -> Event:
    category = draw_(st.sampled_from(["kernel", "kernel", "gpu_memcpy", "gpu_memset"]))
    device, stream = draw_(st.sampled_from([0, 1])), draw_(st.sampled_from([7, 9]))
    numbers = st.one_of(st.none(), st.floats(0, 4), st.just(-1.0))
    told = {
        "blocks per SM": draw_(numbers),
        "est. achieved occupancy %": draw_(st.one_of(st.none(), st.integers(-1, 110))),
    }
    return {
        "ph": "X",
        "cat": category,
        "name": draw_(st.sampled_from(KERNELS)) if category == "kernel" else "Memcpy HtoD",
        "pid": device,
        "tid": stream,
        "ts": draw_(TIMES),
        "dur": draw_(LENGTHS),
        "args": {
            "device": device,
            "stream": stream,
            "correlation": draw_(st.integers(1, 9)),
            **{key: value for key, value in told.items() if value is not None},
        },
    }


@st.composite
def step_events(draw_: st.DrawFn) -> list[Event]:
    """Up to four steps, one after the other, with gaps or without."""
    at, steps = 0, []
    for number in range(draw_(st.integers(0, 4))):
        at += draw_(st.integers(0, 5_000))
        length = draw_(st.integers(0, 20_000))
        steps.append(
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"ProfilerStep#{number}",
                "pid": 100,
                "tid": 1,
                "ts": at / 1000,
                "dur": length / 1000,
                "args": {},
            }
        )
        at += length
    return steps


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(step_events(), st.lists(host_events(), max_size=14), st.lists(device_events(), max_size=14))
def test_sums_are_exact_whatever_happens(
    steps: list[Event], host: list[Event], device: list[Event]
) -> None:
    facts = summarize(trace_of([*steps, *host, *device]))
    check_facts(facts)
    for query in ("", "all"):
        check_overview(view.build(facts, view.OverviewQuery(steps=query)))
    health.build(facts, health.HealthQuery())


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(step_events(), st.lists(host_events(), max_size=14))
def test_without_frames_nothing_is_python(steps: list[Event], host: list[Event]) -> None:
    written = [one for one in host if one["cat"] != "python_function"]
    facts = summarize(trace_of([*steps, *written]))
    check_facts(facts)
    assert all(step.host is not None and not step.host.python_ns for step in facts.steps)


@requires_traces
def test_every_real_trace() -> None:
    """One test for all: nothing raises, and every sum is exact."""
    opened = 0
    for path in sorted(Path(TRACES).rglob("*")):
        if not path.is_file():
            continue
        try:
            trace = read(path)
        except KinetoscopeError:
            continue
        opened += 1
        facts = summarize(trace)
        check_facts(facts)
        answer = view.build(facts, view.OverviewQuery())
        check_overview(answer)
        view.tables(answer)
        recorded = health.build(facts, health.HealthQuery())
        assert sum(row.count for row in recorded.counts) == facts.health.events, path
        health.tables(recorded)
    assert opened > 100


def test_facts_of_the_devices() -> None:
    trace = draw(
        "call |a |\n gpu1 | aa|",
        deviceProperties=[{"id": 0, "name": "A"}, {"id": 1, "name": "B", "totalGlobalMem": 8}],
    )
    facts = summarize(trace)
    assert [(one.index, one.name, one.used) for one in facts.devices] == [
        (0, "A", False),
        (1, "B", True),
    ]
    assert facts.device_type == "GPU"
    assert facts.devices[1].memory_bytes == 8


def test_what_is_missing_says_how_to_record_it() -> None:
    facts = summarize(draw("op |aaa|"))
    assert facts.device_type == "CPU"
    assert set(facts.unavailable) == {"steps", "devices", "memory"}
    assert all("`" in why for why in facts.unavailable.values())
    assert "no event" in summarize(draw("")).unavailable["steps"]


@pytest.mark.parametrize("name", ["kernel", "copy", "communication", "unclassified"])
def test_classes_of_device_time(name: str) -> None:
    trace = draw(
        """
        call   |abcd    |
        gpu    | aa bbb |
        gpu.9  |  c     |
        copy.8 |    ddd |
        """,
        names={"a": "volta_sgemm", "b": "mystery", "c": "ncclKernel_AllReduce"},
    )
    facts = summarize(trace)
    if name == "kernel":
        assert facts.counts["kernel"] == 3
    else:
        assert facts.classified[name] == {"copy": 3000, "communication": 1000}.get(name, 3000)
