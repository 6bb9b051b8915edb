"""The Memory view held against the former plugin: statistics, events and curve, row for row."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from typing import Any

import msgspec
import pytest

from kinetoscope.session.session import TraceSession
from kinetoscope.trace.read import read
from kinetoscope.views.memory.contract import MemoryEventQuery, MemoryQuery, StatisticsQuery
from kinetoscope.views.memory.view import VIEW, build
from kinetoscope.views.memory.windows import event_window, statistics_window
from kinetoscope.views.shared import EVERY_ROW
from kinetoscope.views.view import Subject
from tests.conftest import TRACES, requires_traces
from tests.oracle.former_plugin import PYTHON, requires_former

pytestmark = [requires_traces, requires_former]

V100 = "kineto_tb_samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"
V100_WORKERS = "kineto_tb_samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz"
GPT = "fresh_torch2.13/gpt_full/gpt.1795227686608472692.pt.trace.json.gz"
RESNET = "fresh_torch2.13/resnet_w0/worker0.1795227611181206185.pt.trace.json"
H100 = "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"

_STEP = re.compile(r"^ProfilerStep#\d+ \(aten::")
_SCRIPT = """
import json, logging, sys, tempfile
logging.disable(logging.CRITICAL)
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator
data = RunProfileData.parse("worker", None, sys.argv[1], tempfile.mkdtemp())
profile = RunGenerator("worker", None, data).generate_run_profile()
chosen = {name: int(at) for name, at in zip(("start_ts", "end_ts"), sys.argv[2:])}
told = {"stats": profile.get_memory_stats(memory_metric="B", **chosen)["rows"]}
units = {"memory_metric": "B", "time_metric": "us"}
if sys.argv[1].find("kineto_tb") < 0:
    told["events"] = profile.get_memory_events(**units, **chosen)["rows"]
    told["curve"] = profile.get_memory_curve(**units, patch_for_step_plot=False)
print(json.dumps(told))
"""


@cache
def former(file: str, *span: int) -> dict[str, Any]:
    """What it shows of a trace, and of a range in µs since its own zero."""
    command = [PYTHON, "-c", _SCRIPT, str(TRACES / file), *map(str, span)]
    answer = subprocess.run(command, check=True, capture_output=True, timeout=500)
    told: dict[str, Any] = json.loads(answer.stdout)
    return told


@cache
def subject(file: str) -> Subject:
    return TraceSession(read(TRACES / file)).subject(VIEW)


def device_key(name: str) -> str:
    return "cpu" if name == "CPU" else f"cuda:{name.removeprefix('GPU')}"


def statistics_rows(file: str, key: str, start: int, end: int | None) -> dict[str, tuple[int, ...]]:
    """Op → the seven figures, without what is outside of ops."""
    query = StatisticsQuery(device=key, start_ns=start, end_ns=end)
    table = statistics_window(subject(file), msgspec.structs.replace(query, limit=EVERY_ROW))
    return {
        row.name: (
            row.calls or 0, row.increase_bytes, row.self_increase_bytes, row.allocations,
            row.self_allocations, row.allocation_bytes, row.self_allocation_bytes,
        )
        for row in table.rows
        if row.name
    }  # fmt: skip


@pytest.mark.parametrize("file", [V100, V100_WORKERS, GPT, RESNET, H100])
def test_the_same_statistics(file: str) -> None:
    for name, rows in former(file)["stats"].items():
        mine = statistics_rows(file, device_key(name), 0, None)
        theirs = {row[0]: tuple(map(int, row[1:])) for row in rows}
        compare(mine, theirs)


def compare(mine: dict[str, tuple[int, ...]], theirs: dict[str, tuple[int, ...]]) -> None:
    # It lists no op whose figures are all zero: what it allocated, it released.
    assert {name: row[1:] for name, row in mine.items() if any(row[1:])} == {
        name: row[1:] for name, row in theirs.items()
    }
    # It visits no call below those without events of their own, so it may count fewer.
    assert all(mine[name][0] >= row[0] for name, row in theirs.items())


@pytest.mark.parametrize("file", [GPT, RESNET])
@pytest.mark.parametrize("part", [(0.2, 0.5), (0.45, 0.46), (0.0, 0.9)])
def test_the_same_statistics_and_events_of_a_range(file: str, part: tuple[float, float]) -> None:
    told = former(file)["curve"]
    first, last = told["rows"]["CPU"][0][0], told["rows"]["CPU"][-1][0]
    chosen = [first + share * (last - first) for share in part]
    start, end = (round(told["metadata"]["first_ts"] + at) for at in chosen)
    answer = former(file, start, end)
    ours = [
        zero_of(file) + round((at - told["metadata"]["first_ts"]) * 1000) for at in (start, end)
    ]
    compare(
        statistics_rows(file, "cpu", *ours),
        {row[0]: tuple(map(int, row[1:])) for row in answer["stats"]["CPU"]},
    )
    same_events(event_rows(file, *ours), theirs_of(answer["events"]["CPU"]))


def zero_of(file: str) -> int:
    """Its zero in ns of ours, by the first event that both have."""
    theirs: float = former(file)["curve"]["rows"]["CPU"][0][0]
    return int(subject(file).trace().memory.ts[0]) - round(theirs * 1000)


@pytest.mark.parametrize("file", [GPT, RESNET])
def test_the_same_events(file: str) -> None:
    same_events(event_rows(file, 0, None), theirs_of(former(file)["events"]["CPU"]))


def event_rows(file: str, start: int, end: int | None) -> list[tuple[Any, ...]]:
    query = MemoryEventQuery(device="cpu", start_ns=start, end_ns=end)
    table = event_window(subject(file), msgspec.structs.replace(query, limit=EVERY_ROW))
    zero = zero_of(file)
    return ordered(
        (
            row.name or "<unknown>",
            row.bytes,
            *(
                None if at is None else (at - zero) / 1000
                for at in (row.allocated_ns, row.released_ns)
            ),
        )
        for row in table.rows
    )  # fmt: skip


def theirs_of(rows: list[list[Any]]) -> list[tuple[Any, ...]]:
    # It takes a step for the caller of an op: "ProfilerStep#2 (aten::empty)".
    return ordered((_STEP.sub("aten::", row[0]).rstrip(")"), *row[1:4]) for row in rows)


def ordered(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(
        (-1 if born is None else born, -1 if freed is None else freed, name.rstrip(")"), int(size))
        for name, size, born, freed in rows
    )


def same_events(mine: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> None:
    assert [row[2:] for row in mine] == [row[2:] for row in theirs]
    # Its times are doubles of microseconds since the epoch.
    for at in (0, 1):
        assert [row[at] for row in mine] == pytest.approx([row[at] for row in theirs], abs=1)


@pytest.mark.parametrize("file", [GPT, RESNET, H100])
def test_the_same_curve(file: str) -> None:
    curve = former(file)["curve"]
    for name, rows in curve["rows"].items():
        query = msgspec.structs.replace(MemoryQuery(device=device_key(name)), points=EVERY_ROW)
        mine = build(subject(file), query).curve
        inner = slice(1, -1)  # it has no points at the ends of the recording
        assert list(mine.allocated[inner]) == [int(row[1]) for row in rows]
        if mine.reserved is not None:
            assert list(mine.reserved[inner]) == [int(row[2]) for row in rows]
        assert curve["metadata"]["peaks"][name] == f"Peak Memory Usage: {mine.peak_bytes:.1f}B"
