"""Every collected trace through `read`: accounted for, linked as promised, of its age."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.base.intervals import union
from kinetoscope.trace.health.notes import CATALOG
from kinetoscope.trace.model import HostKind, Link, Trace
from kinetoscope.trace.raw import COMPLETE, KINDS
from kinetoscope.trace.read import read
from kinetoscope.trace.scan.scanner import scan
from tests.collected import FILES, opened
from tests.conftest import TRACES, requires_traces
from tests.trace.test_build import check_tables


@requires_traces
@pytest.mark.parametrize("name", FILES)
def test_every_file_is_read_and_accounted_for(name: str) -> None:
    trace = opened(name)
    health = trace.health
    assert health.events == health.used + sum(health.ignored.values())
    check_tables(trace, (scan(TRACES / name).events.phase == COMPLETE).tolist())
    assert all(note.kind in CATALOG for note in health.notes)
    assert_exclusive_times_fill_the_threads(trace)
    assert_links(trace)


def assert_exclusive_times_fill_the_threads(trace: Trace) -> None:
    host = trace.host
    assert (host.self_ns >= 0).all()
    for thread in range(len(trace.threads)):
        mine = host.thread == thread
        assert host.self_ns[mine].sum() == union(host.ts[mine], host.end[mine]).total_ns


def assert_links(trace: Trace) -> None:
    host, device = trace.host, trace.device
    joined = np.flatnonzero((device.launch >= 0) & (device.correlation >= 0))
    assert (host.correlation[device.launch[joined]] == device.correlation[joined]).all()
    called = np.flatnonzero((device.launch >= 0) & (device.op >= 0))
    at = host.ts[device.launch[called]]
    op = device.op[called]
    by_arrow = trace.recording.torch_era == "Ascend"
    assert by_arrow or ((host.ts[op] <= at) & (at < host.end[op])).all(), "the op is open then"
    assert np.isin(host.kind[op], (HostKind.OP,)).all()
    backward = np.flatnonzero(host.forward >= 0)
    assert (host.ts[host.forward[backward]] <= host.ts[backward]).all(), "forward comes first"


# Exact for recordings made for the collection; for others as far as the format tells.
ERAS = {
    "fresh_torch1.8.1/legacy/autograd_default.json": "A",
    "fresh_torch2.13/legacy/profiler_legacy.json": "A",
    "fresh_torch1.8.1/legacy/autograd_legacy_kineto.json": "B",
    "fresh_torch1.8.1/mem_only/memory_only.json.gz": "B",
    "kineto_tb_samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz": "C",
    "kineto_tb_tests/gpu_metrics_input.json": "C",
    "fresh_torch1.11.0/ddp2/worker0.1795229027466.pt.trace.json.gz": "D",
    "fresh_torch1.11.0/minimal/minimal.json": "D",
    "hta/trace_diff/control/control.json.gz": "D",
    "torchbench/trace.json": "D",
    "dlrm_8rank_v100/worker0_step_12.1694128201545.pt.trace.json.gz": "E",
    "misc_repos/switch_transformers/trace.json.gz": "E",
    "param/resnet_kineto.json.gz": "E",
    "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz": "F1",
    "tracelens/mi300/resnet_act_checkpoint.json.gz": "F",
    "hta/mtia_inference_trace/mtia_inference_rank_0.json.gz": "F",
    "fresh_torch2.13/minimal/minimal.json": "G",
    "fresh_torch2.13/gpt_full/gpt.1795227686608472692.pt.trace.json.gz": "G",
    "torch2.15_cuspy/node0_4242.1795335000000000000.pt.trace.json.gz": "H",
    "torch2.15_cuspy/node0_4243.1795335000000000000.pt.trace.json.gz": "H",
    "ascend_npu/trace_view.json": "Ascend",
}


@requires_traces
@pytest.mark.parametrize(("name", "era"), ERAS.items(), ids=list(ERAS))
def test_eras(name: str, era: str) -> None:
    trace = opened(name)
    assert trace.recording.torch_era == era
    assert trace.recording.resolution_ns == (1000 if era in "BCDE" else 1)


@requires_traces
@pytest.mark.parametrize(
    "name",
    [
        "kineto_tb_samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
        "hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
        "misc_repos/particle_transformer/gpu_working_chrome_trace.json.gz",
        "tracelens/b200/eager_trace.json.gz",
        "tracelens/mi300/resnet_act_checkpoint.json.gz",
        "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    ],
)
def test_the_op_around_the_launch_is_the_one_the_recorder_names(name: str) -> None:
    """Where External id is an op's, both ways to the op must agree: 0 of thousands may differ."""
    trace = opened(name)
    host, device = trace.host, trace.device
    owner = {int(number): row for row, number in enumerate(host.external_id) if number > 0}
    column = read_external_ids(name, trace)
    rows = [
        (owner[number], int(op))
        for number, op, link in zip(column, device.op, device.link, strict=True)
        if number in owner and op >= 0 and link == Link.CORRELATION
    ]
    assert len(rows) > 100
    assert [pair for pair in rows if pair[0] != pair[1]] == []


def read_external_ids(name: str, trace: Trace) -> list[int]:
    """External id of each device row, from the columns of the file."""
    column = scan(TRACES / name).ints["external_id"]
    by_row = dict(zip(column.row.tolist(), column.value.tolist(), strict=True))
    return [by_row.get(row, -1) for row in trace.device.raw.tolist()]


@requires_traces
@pytest.mark.parametrize(
    ("name", "by_link"),
    [
        # correlation, external id, graph, prologue, unlinked
        ("dlrm_8rank_v100/worker1_step_12.1694128201556.pt.trace.json.gz", (262, 0, 0, 64, 0)),
        ("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", (1198, 0, 0, 509, 0)),
        ("tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz", (14, 0, 544, 0, 0)),
        ("tracelens/inference/vllm_decode_full/graph_execution.json.gz", (13, 0, 421, 0, 0)),
        ("ascend_npu/trace_view.json", (274, 0, 0, 0, 2)),
        ("derived_oddities/gpu/no_runtime_events.json", (0, 0, 0, 0, 5)),
    ],
)
def test_how_device_work_found_its_launch(name: str, by_link: tuple[int, ...]) -> None:
    assert tuple(np.bincount(opened(name).device.link, minlength=len(Link))) == by_link


@requires_traces
@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("derived_oddities/container/truncated.json.gz", "truncated", 1),
        ("derived_oddities/fields/zero_ts_second_half_torch2.12_issue188481.json", "timeless", 136),
        ("derived_oddities/gpu/kernels_400us_early_clock_skew.json", "clock_skew", 5),
        ("derived_oddities/gpu/runtime_without_kernels.json", "lost_kernels", 4),
        ("misc_repos/zoology_trace.json.gz", "lost_kernels", 260),
        ("tracelens/b200/eager_trace.json.gz", "stream_overlap", 74),
        ("tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz", "device_only", 562),
        ("hta/mtia_inference_trace/mtia_inference_rank_0.json.gz", "recorder_errors", 1),
        (
            "kineto_tb_samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
            "no_addresses",
            12838,
        ),
    ],
)
def test_what_health_says(name: str, kind: str, count: int) -> None:
    assert {note.kind: note.count for note in opened(name).health.notes}[kind] == count


@requires_traces
def test_the_collectives_of_all_ranks_match() -> None:
    """The k-th call has one name on all eight ranks, and launched one kernel."""
    ranks = sorted((TRACES / "dlrm_8rank_v100").glob("*.gz"))
    calls = []
    for path in ranks:
        trace = read(path)
        calls.append([trace.text(int(code)) for code in trace.collectives.name])
        assert {len(rows) for rows in trace.collectives.device_rows} == {1}
    assert len(ranks) == 8
    assert calls[0] == calls[1] == calls[-1]
    assert len(calls[0]) == 8


def test_every_fault_of_the_scanner_has_words() -> None:
    assert [kind for kind in KINDS if kind not in CATALOG] == []
