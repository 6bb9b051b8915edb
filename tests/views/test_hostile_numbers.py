"""Whatever stands where a number belongs, every view of the trace answers, in valid JSON."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import NotFoundError, QueryError, UnavailableError
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.read import read
from kinetoscope.views import all_views
from kinetoscope.views.view import Part, Subject, View
from tests.drawing import V100

Node = Any
Place = tuple[str | int, ...]

HOSTILE = [
    *("0", "-1", "0.5", "-0.0", "1e-320", "1e999", "-1e999", "NaN", "Infinity", "-Infinity"),
    *(str(2**31), str(2**53 + 1), str(2**63 - 1), str(2**63), str(-(2**63)), "9" * 310),
    *("-" + "9" * 310, "null", "true", '"x"', '"1e999"', "[]", "{}", "[0,0,0]", "[1e999]"),
    *('{"a": [1]}', '["", "", 1e999, "[1e999]"]', "[" * 400 + "]" * 400),
]


def event(cat: str, name: str, ts: int, dur: int, **more: Any) -> dict[str, Any]:
    """A duration event of the host; ``more`` may move it to a device."""
    place = {"pid": 100, "tid": 1, "ph": "X"}
    return place | {"cat": cat, "name": name, "ts": ts, "dur": dur} | more


def step(at: int) -> Iterator[dict[str, Any]]:
    """A step with every kind of event that carries numbers."""
    launch = {"correlation": at, "External id": at, "cbid": 211}
    device = {"device": 0, "context": 1, "stream": 7, "correlation": at, "External id": at}
    collective = {"Collective name": "allreduce", "In msg nelems": 64, "Out msg nelems": 64}
    group = {"Group size": 2, "dtype": "Float", "Process Group Ranks": "[0, 1]", "Seq": 1}
    kernel = {
        "registers per thread": 32,
        "shared memory": 49152,
        "blocks per SM": 1.5,
        "warps per SM": 6.0,
        "grid": [100, 1, 1],
        "block": [128, 1, 1],
        "est. achieved occupancy %": 25,
        "queued": 0,
    }
    op = {"External id": at, "Sequence number": 5, "Fwd thread id": 0, "Record function id": 3}
    sizes = {"Input Dims": [[2, 3, 8, 8], [4, 3, 3, 3]], "Input Strides": [[192, 64, 8, 1], []]}
    values = ["", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1"]
    gpu = {"pid": 0, "tid": 7}
    yield event("user_annotation", f"ProfilerStep#{at // 100}", at, 95)
    frame = {"Python id": 1, "Python parent id": 0, "Python module id": 2}
    yield event("python_function", "train.py(3): f", at + 1, 90, args=frame)
    args: dict[str, Any] = op | sizes | {"Concrete Inputs": values}
    yield event("cpu_op", "aten::convolution", at + 2, 8, args=args)
    yield event("cuda_runtime", "cudaLaunchKernel", at + 3, 2, args=launch)
    yield event("kernel", "sm80_xmma_gemm_f16", at + 6, 9, args=device | kernel, **gpu)
    yield event("cpu_op", "record_param_comms", at + 20, 8, args=op | collective | group)
    yield event("cuda_runtime", "cudaLaunchKernel", at + 21, 2, args=launch)
    nccl = device | kernel | collective | group
    yield event("kernel", "ncclDevKernel_AllReduce_Sum_f32", at + 23, 30, args=nccl, **gpu)
    yield event("cuda_runtime", "cudaMemcpyAsync", at + 55, 9, args=launch)
    copy = device | {"bytes": 4096, "memory bandwidth (GB/s)": 1.5}
    yield event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 57, 5, args=copy, **gpu)
    yield event("cuda_sync", "Stream Sync", at + 65, 5, args=device, **gpu)
    told = {"Total Reserved": 2048, "Total Allocated": 1024, "Bytes": 512, "Addr": 4096}
    told |= {"Device Id": 0, "Device Type": 1, "Ev Idx": 1}
    yield {**event("cpu_instant_event", "[memory]", at + 5, 0), "ph": "i", "args": told}
    yield {**event("", "GPU 0 Utilization", at + 5, 0), "ph": "C", "args": {"GPU Utilization": 0.7}}
    yield {**event("ac2g", "ac2g", at + 3, 0), "ph": "s", "id": at}
    yield {**event("ac2g", "ac2g", at + 6, 0, **gpu), "ph": "f", "id": at, "bp": "e"}
    yield event("python_function", "nn.Module: Conv2d_0", at + 1, 60, args=frame)


TRACE: Node = {
    "schemaVersion": 1,
    "deviceProperties": [V100 | {"warpSize": 32, "maxThreadsPerMultiprocessor": 2048}],
    "cuda_runtime_version": 12080,
    "record_shapes": 1,
    "with_stack": 1,
    "distributedInfo": {
        "backend": "nccl",
        "rank": 0,
        "world_size": 2,
        "pg_config": [{"pg_name": "0", "pg_size": 2, "ranks": [0, 1]}],
    },
    "kinetoscope": {"schema": 1, "rank": 0, "world_size": 2, "cycle": 0, "pid": 100},
    "baseTimeNanoseconds": 1_700_000_000_000_000_000,
    "traceEvents": [one for at in (100, 200) for one in step(at)],
}


def numbers(node: Node, place: Place = ()) -> Iterator[Place]:
    """Where numbers are in a document, and lists and texts of arguments that hold some."""
    if isinstance(node, dict | list):
        if "args" in place and place[-1] != "args":
            yield place
        inner = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in inner:
            yield from numbers(value, (*place, key))
    elif isinstance(node, int | float) or "Concrete Inputs" in place:
        yield place


PLACES = tuple(numbers(TRACE))
STRIDE = ("traceEvents", 2, "args", "Concrete Inputs", 3)


def replaced(node: Node, by: dict[Place, str], place: Place = ()) -> str:
    """The document as JSON text, or what stands for it, with tokens at some places."""
    if place in by:
        return json.dumps(by[place]) if isinstance(node, str) else by[place]
    if isinstance(node, dict):
        members = (f"{json.dumps(k)}: {replaced(v, by, (*place, k))}" for k, v in node.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(node, list):
        return f"[{', '.join(replaced(v, by, (*place, i)) for i, v in enumerate(node))}]"
    return json.dumps(node)


@pytest.mark.filterwarnings("error")
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(PLACES), st.sampled_from(HOSTILE), min_size=8, max_size=30))
@example({STRIDE: "0"})
@example({STRIDE: "[Infinity, 1]"})
@example({STRIDE[:-1]: "{}"})
def test_every_view_answers(by: dict[Place, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "w.pt.trace.json")
        path.write_text(replaced(TRACE, by), encoding="utf-8")
        trace = read(path)
        facts = summarize(trace)
        assert_valid(facts)
        for view in (one for one in all_views() if one.among is None):
            try:
                subject = TraceSession(trace, facts).subject(view)
                answer = view.build(subject if view.artifact else facts, view.query())
            except UnavailableError:
                continue
            assert_valid(answer)
            view.tables(answer)
            for part in view.parts:
                assert_answers(view, part, subject)


def assert_valid(answer: msgspec.Struct) -> None:
    """The answer is JSON of its own type: what is no number became no null either."""
    text = msgspec.json.encode(answer)
    json.loads(text, parse_constant=pytest.fail)
    assert msgspec.json.decode(text, type=type(answer)) is not None


def assert_answers(view: View, part: Part, subject: Subject) -> None:
    """A part answers, or says what is wrong with the question."""
    for query in queries(view, part, subject):
        try:
            answer = part.build(subject, query)
        except (NotFoundError, QueryError, UnavailableError):
            continue
        if part.answer is not None:
            assert_valid(answer)
        elif isinstance(answer, Iterator):
            # Folded stacks alone may be empty: where no step lasts, no stack has a line.
            assert b"".join(answer) or part.stem == "folded"


def queries(view: View, part: Part, subject: Subject) -> Iterator[msgspec.Struct]:
    """Questions for a part: the whole trace, some slices, every row."""
    usual: dict[str, Any] = {"start_ns": -(2**62), "end_ns": 2**62, "text": "a", "by": "lane"}
    usual |= {"other_run": "none", "other_worker": "none", "other_span": "none"}
    usual |= {"level": 10, "tiles": "0", "series": "0", "blocks": "0.0", "name": "aten::mm"}
    usual |= {"search": "a", "block": 0, "module": 0}
    fields = {field.name for field in msgspec.structs.fields(part.query) if field.required}
    known = {name: value for name, value in usual.items() if name in fields}
    if "slice" in fields:
        trace = subject.trace()
        last = len(trace.host) + len(trace.device)
        yield from (part.query(**known, slice=one) for one in range(0, last, 3))
    elif "key" in fields:
        (table,) = [one for one in view.parts if one.stem == "table"]
        rows = table.build(subject, table.query()).rows
        yield from (part.query(**known, key=row.key) for row in rows)
    else:
        yield part.query(**known)
