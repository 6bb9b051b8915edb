"""Device time with an operator in served recordings, counted again from the text of the files.

A replay has the correlation of its launch; a capture of batch 32 has the names of the kernels that
it launched. What stands in both has an operator, whatever the order.
"""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kinetoscope.analysis.operators.artifact import OPERATORS as OPERATOR_COLUMNS
from kinetoscope.cli.diff import opened_pair
from kinetoscope.session.session import Wanted, choose
from kinetoscope.views.diff.contract import DiffTableQuery
from kinetoscope.views.diff.view import VIEW as DIFF
from kinetoscope.views.diff.view import table
from kinetoscope.views.kernels.contract import KernelQuery
from kinetoscope.views.kernels.view import VIEW as KERNELS
from kinetoscope.views.modules.contract import ModulesQuery
from kinetoscope.views.modules.view import VIEW as MODULES
from kinetoscope.views.operators.contract import OperatorQuery
from kinetoscope.views.operators.view import VIEW as OPERATORS
from kinetoscope.views.origins import speed_of
from kinetoscope.views.speed_of_light.view import VIEW as SPEED
from kinetoscope.views.timeline.common import opened_of
from kinetoscope.views.timeline.details import details
from kinetoscope.views.timeline.queries import SliceQuery
from kinetoscope.views.timeline.view import VIEW as TIMELINE
from tests.conftest import TRACES, requires_traces

SERVED = Path("tracelens/inference")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def plain(name: str) -> str:
    return name.removesuffix(" [clone .kd]")


class Counted(NamedTuple):
    whole_ns: int
    in_graphs_ns: int
    found_ns: int  # of that, with a launch in the capture
    kernels: int


def counted(run: Path, capture: Path | None, mark: str = "capture_32_FULL") -> Counted:
    events = read(run)
    replays = {e["args"]["correlation"] for e in events if "GraphLaunch" in e.get("name", "")}
    device = [e for e in events if e.get("cat") in DEVICE and e.get("ph") == "X"]
    inside = [e for e in device if e["args"].get("correlation") in replays]
    left: Counter[str] = Counter()
    if capture is not None:
        calls = read(capture)
        (around,) = (e for e in calls if e.get("name") == mark and e["cat"] == "user_annotation")
        left.update(
            plain(e["args"]["kernel"])
            for e in calls
            if e.get("cat") == "cuda_runtime"
            and "kernel" in e.get("args", {})
            and around["ts"] <= e["ts"] < around["ts"] + around["dur"]
        )
    found = []
    for one in inside:
        if left[plain(one["name"])] > 0:
            left[plain(one["name"])] -= 1
            found.append(one)
    whole, in_graphs, named = (
        round(1000 * sum(e["dur"] for e in some)) for some in (device, inside, found)
    )
    return Counted(whole, in_graphs, named, len(found))


@requires_traces
def test_each_view_names_the_operators_of_replays_with_the_capture_beside_them() -> None:
    folder = TRACES / SERVED / "vllm_decode_full"
    (capture,) = (folder / "capture_traces").iterdir()
    by_hand = counted(folder / "graph_execution.json.gz", capture)
    assert by_hand == (10_717_708, 10_388_482, 10_388_482, 421)

    session = choose(str(folder), Wanted()).session()
    operators: Any = OPERATORS.build(session.asked(OPERATORS), OperatorQuery(limit=1000))
    rows = operators.table.rows
    assert operators.device_ns == by_hand.whole_ns
    lent = sum((row.device_self_ns or 0) * (row.lent_ratio or 0.0) for row in rows)
    assert lent == pytest.approx(by_hand.found_ns, abs=1)
    assert not any(row.device_self_ns for row in rows if row.name == "hipGraphLaunch")

    asked_kernels = session.asked(KERNELS)
    by_operator: Any = KERNELS.build(asked_kernels, KernelQuery(group_by="properties", limit=1000))
    own = Counter[str]()
    for row in by_operator.table.rows:
        own[row.op or ""] += row.total_ns
    assert own[""] == own["hipGraphLaunch"] == 0
    assert own.total() == by_operator.kernel_ns >= by_hand.found_ns
    experts = next(row for row in rows if row.name == "vllm::moe_forward")
    assert own["vllm::moe_forward"] == experts.device_self_ns == 7_171_530

    modules: Any = MODULES.build(session.asked(MODULES), ModulesQuery())
    assert modules.device.total_ns == by_hand.whole_ns
    assert "replays" not in {part.key for part in modules.device.parts if part.ns}

    asked = session.seen_by(TIMELINE)
    slices = opened_of(asked, "split").timeline.slices
    origins = [details(asked, SliceQuery(slice=one)).origin for one in range(len(slices))]
    assert sum(one is not None and bool(one.op) for one in origins) == by_hand.kernels

    light = speed_of(session.subject(SPEED))
    kind = light.calls.kind[light.kinds.lent[light.calls.kind] > 0]
    assert light.calls.measured_ns[light.kinds.lent[light.calls.kind] > 0].sum() == by_hand.found_ns
    assert (light.kinds.op[kind] >= 0).all()


@requires_traces
def test_the_diff_names_operators_of_replays_on_both_sides(tmp_path: Path) -> None:
    """The recording against itself: the same operators, none of them the call that replays."""
    folder = TRACES / SERVED / "vllm_decode_full"
    for run in ("a", "b"):
        shutil.copytree(folder, tmp_path / run)
    session = choose(str(tmp_path), Wanted(run="b")).session()
    asked = session.subject(DIFF)
    found = table(asked, DiffTableQuery(base_run="a", limit=1000, metric="device_self_ns"))
    sums = [sum(getattr(row, side) or 0 for row in found.rows) for side in ("base_ns", "other_ns")]
    assert sums == [10_717_708, 10_717_708]
    assert not any(row.base_ns for row in found.rows if row.name == "hipGraphLaunch")
    experts = next(row for row in found.rows if row.name == "vllm::moe_forward")
    assert (experts.base_ns, experts.other_ns) == (7_171_530, 7_171_530)
    modules = table(asked, DiffTableQuery(base_run="a", limit=1000, group="modules"))
    assert {row.status for row in modules.rows} == {"same"}, "device time without calls is no news"
    pair = opened_pair(str(tmp_path / "a"), str(tmp_path / "b"))
    assert [one.artifact(OPERATOR_COLUMNS).lent_count for one in (pair.base, pair.other)] == [
        421, 421,
    ]  # fmt: skip


@requires_traces
@pytest.mark.parametrize(
    ("folder", "file", "ratio", "said"),
    [
        ("sglang_decode", "sglang_Qwen3-8B_decode.json.gz", 0.986, "GRAPH_CAPTURE_TRACE=1"),
        ("xdit_sd_3.5", "profile_trace_rank_0.json.gz", 0.0, ""),
    ],
)
def test_without_a_capture_nothing_is_lent(folder: str, file: str, ratio: float, said: str) -> None:
    by_hand = counted(TRACES / SERVED / folder / file, None)
    assert by_hand.in_graphs_ns / by_hand.whole_ns == pytest.approx(ratio, abs=2e-3)
    session = choose(str(TRACES / SERVED / folder), Wanted()).session()
    answer: Any = OPERATORS.build(session.asked(OPERATORS), OperatorQuery(steps="everything"))
    assert not any(row.lent_ratio for row in answer.table.rows)
    assert said in answer.detail
