"""Recordings of torch 2.15's second engine against the table of what is in them, to the ns.

`truth.json` was computed from the records, never from the written files.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.summarize import summarize
from kinetoscope.analysis.timeline.build.counters import series_of
from kinetoscope.analysis.timeline.tracks import divide, groups_of
from kinetoscope.base.intervals import union
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.build.categories import LAUNCH_FLOWS
from kinetoscope.trace.build.metadata import identify, take_census
from kinetoscope.trace.build.route import sort_out
from kinetoscope.trace.link.flows import match_flows
from kinetoscope.trace.model import DeviceClass, DeviceKind, Link, Trace
from kinetoscope.trace.raw import Texts
from kinetoscope.trace.read import read
from kinetoscope.trace.scan.scanner import scan
from kinetoscope.views import health
from kinetoscope.views.kernels import view as kernels
from kinetoscope.views.kernels.contract import KernelQuery, Kernels
from kinetoscope.views.overview import view as overview
from kinetoscope.views.timeline import view as timeline
from kinetoscope.views.timeline.queries import LayoutQuery
from tests.conftest import TRACES, requires_traces

FOLDER = TRACES / "torch2.15_cuspy"
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
FILES = {
    "all_on": FOLDER / "node0_4242.1795335000000000000.pt.trace.json.gz",
    "all_off": FOLDER / "node0_4243.1795335000000000000.pt.trace.json.gz",
}
pytestmark = [requires_traces, pytest.mark.parametrize("which", FILES)]


class Recorded(NamedTuple):
    """A recording, and what is in it."""

    trace: Trace
    facts: Facts
    truth: dict[str, Any]


@cache
def recorded(which: str) -> Recorded:
    if not FILES[which].is_file():
        pytest.skip(f"no {FILES[which]}")
    trace = read(FILES[which])
    return Recorded(trace, summarize(trace), json.loads((FOLDER / "truth.json").read_text())[which])


@cache
def kernel_view(which: str, steps: str = "all") -> Kernels:
    trace, facts, _ = recorded(which)
    subject = TraceSession(trace, facts).subject(kernels.VIEW)
    return kernels.build(subject, KernelQuery(steps=steps, limit=1000))


def steps_of(which: str) -> list[tuple[int, dict[str, Any]]]:
    """Index of each step, and what is true of it."""
    return list(enumerate(recorded(which).truth["steps"]))


def device_of(step: dict[str, Any]) -> dict[str, Any]:
    device: dict[str, Any]
    (device,) = step["devices"].values()
    return device


def test_every_row_is_what_its_category_says(which: str) -> None:
    trace, facts, truth = recorded(which)
    rows = truth["whole_trace"]["X_by_cat"]
    counts = facts.counts
    assert {
        "user_annotation": counts["annotation"],
        "cpu_op": counts["op"],
        "kernel": counts["kernel"],
        "gpu_memcpy": counts["memcpy"],
        "gpu_memset": counts["memset"],
        "overhead": counts["overhead"],
        "gpu_user_annotation": counts["device_annotation"],
        "Trace": counts["range"],
    } == {name: rows[name] for name in rows if "graph" not in name and "cuda" not in name}
    assert counts["runtime"] == rows["cuda_runtime"] + rows["cuda_driver"]
    assert counts["sync"] == rows.get("cuda_sync", 0)
    nodes = rows.get("graph_event_node", 0) + rows["graph_host_node"]
    assert counts["graph_node"] == nodes
    assert counts["other_device"] == counts["other_host"] == 0
    assert trace.recording.torch_era == "H"


def test_steps_are_those_of_the_host_and_none_is_left_out(which: str) -> None:
    trace, facts, _ = recorded(which)
    for index, step in steps_of(which):
        found = facts.steps[index]
        # Ranges of the host went through a double before they were written: 1 ns may be lost.
        assert abs(found.host_start_ns + trace.base_ns - step["host_start_ns"]) <= 1
        assert abs(found.host_end_ns + trace.base_ns - step["host_end_ns"]) <= 1
        assert found.excluded is None, "the last one is complete, whatever the one before replayed"
        assert found.start_ns == found.host_start_ns
        tail = facts.tail_ns if index == len(facts.steps) - 1 else 0
        assert found.end_ns == found.host_end_ns - tail


def test_kernels_of_a_step_and_their_unions(which: str) -> None:
    trace = recorded(which).trace
    device = trace.device
    for index, step in steps_of(which):
        true = device_of(step)
        mine = device.step == index
        kernel = mine & (device.kind == DeviceKind.KERNEL)
        nccl = mine & (device.klass == DeviceClass.COMMUNICATION)
        compute = mine & (device.klass == DeviceClass.COMPUTE)
        copies = mine & (device.klass == DeviceClass.COPY)
        sets = mine & (device.klass == DeviceClass.MEMSET)

        def busy(rows: Any) -> int:
            return union(device.ts[rows], device.end[rows]).total_ns

        def spent(rows: Any) -> int:
            return int(device.dur[rows].sum())

        assert {
            "kernel_rows": kernel.sum(),
            "of_which_nccl": nccl.sum(),
            "graphed_kernel_rows": (kernel & (device.link == Link.GRAPH)).sum(),
            "compute_kernel_sum_ns": spent(compute),
            "compute_busy_ns": busy(compute),
            "nccl_sum_ns": spent(nccl),
            "nccl_busy_ns": busy(nccl),
            "nccl_overlapped_by_compute_ns": busy(nccl) + busy(compute) - busy(nccl | compute),
            "copy_rows": copies.sum(),
            "copy_busy_ns": busy(copies),
            "memset_rows": sets.sum(),
            "memset_busy_ns": busy(sets),
            "device_work_first_start": device.ts[mine].min() + trace.base_ns,
            "device_work_last_end": device.end[mine].max() + trace.base_ns,
        } == {
            name: true[name]
            for name in true
            if name not in ("copies_by_kind", "partition", "not_device_work")
        }


def test_the_partition_of_a_step_and_what_the_overview_makes_of_it(which: str) -> None:
    _, facts, _ = recorded(which)
    for index, step in steps_of(which):
        true = device_of(step)["partition"]
        (seen,) = facts.steps[index].devices
        part = seen.partition
        assert part.compute_ns == true["compute_ns"]
        assert part.exposed_communication_ns == true["comm_exposed_ns"]
        assert part.exposed_copy_ns == true["copy_exposed_ns"]
        assert part.memset_ns == true["memset_exposed_ns"]
        assert facts.steps[index].dur_ns - part.idle_ns == true["device_busy_ns"]
        assert part.overlap_ns == device_of(step)["nccl_overlapped_by_compute_ns"]
        kernels_ns = true["compute_ns"] + true["comm_exposed_ns"]
        assert seen.gauges.busy_ns == kernels_ns, "utilization is of kernels alone"
        # The classic breakdown gives a collective to its op on the host before copies and sets.
        assert facts.steps[index].breakdown.kernel_ns == true["compute_ns"]


def test_kernels_by_name_in_the_kernel_view(which: str) -> None:
    true = recorded(which).truth["whole_trace"]
    view = kernel_view(which)
    rows = {row.name: {"count": row.calls, "total_ns": row.total_ns} for row in view.table.rows}
    assert rows == true["kernels"]
    assert view.kernel_ns == sum(row["total_ns"] for row in true["kernels"].values())
    assert not any(name.startswith(("EventRecord", "HostNode")) for name in rows)
    assert {part.name for part in view.classes if part.ns} == {
        "gemm", "communication", "attention", "elementwise", "triton", "norm",
    }  # fmt: skip


def test_copies_are_told_by_their_arguments(which: str) -> None:
    for _, step in steps_of(which):
        true = device_of(step)["copies_by_kind"]
        found = {}
        for row in kernel_view(which, str(step["step"])).copies:
            if row.name.startswith("Memset"):
                assert row.name == "Memset (Device)"
                continue
            kind, ends = row.name.removeprefix("Memcpy ").split(" (")
            key = f"{kind} {ends.lower().rstrip(')').replace(' -> ', '->')}"
            found[key] = {"count": row.calls, "bytes": row.total_bytes, "dur_ns": row.total_ns}
            assert ("pageable" in row.direction) == ("pageable" in key)
        assert found == true
    facts = recorded(which).facts
    pageable = [
        copy["count"]
        for _, step in steps_of(which)
        for kind, copy in device_of(step)["copies_by_kind"].items()
        if "pageable" in kind
    ]
    assert facts.traits.pageable_copy_count == sum(pageable)


def test_what_is_no_device_work_is_drawn_among_the_waits(which: str) -> None:
    trace = recorded(which).trace
    syncs = trace.syncs
    category = np.array([trace.text(code) for code in syncs.category], object)
    for _, step in steps_of(which):
        true = device_of(step)["not_device_work"]
        start, end = (step[key] - trace.base_ns for key in ("host_start_ns", "host_end_ns"))
        inside = (syncs.ts >= start) & (syncs.end <= end)
        for kind in ("graph_event_node", "graph_host_node"):
            mine = inside & (category == kind)
            assert mine.sum() == true[kind]["count"]
            assert syncs.dur[mine].sum() == true[kind]["dur_ns"]
        assert (inside & (category == "cuda_sync")).sum() == true["cuda_sync"]
    assert (syncs.device == 0).all()
    nodes = np.isin(category, ["graph_event_node", "graph_host_node"])
    assert (syncs.stream[nodes] >= 0).all(), "a node stays on its stream"
    whole = category == "cuda_sync"
    context = np.array([trace.text(code) == "Context Sync" for code in syncs.name], bool)
    assert (syncs.stream[whole & context] == -1).all(), "a wait for the device is of no stream"
    headings = divide(trace, groups_of(trace), None, None).headings
    waits = [one for one in headings if one.kind == "syncs"]
    assert [one.label for one in waits] == ["Waits"]


def test_counters_belong_to_their_gpu(which: str) -> None:
    trace, facts, truth = recorded(which)
    groups = groups_of(trace)
    found = Counter[str]()
    for one in series_of(trace, groups):
        if one.kind == "counter":
            found[one.label.replace("GPU 0 ", "GPU 0 Counters: ", 1)] += len(one.ts)
            assert groups.groups[one.group].label.startswith("GPU 0")
            assert ("not measured" in one.definition) == ("Cycles" in one.label)
            written = one.label.rpartition(" (")[2].rstrip(")")
            assert one.unit == {"W": "W", "C": "°C", "MHz": "MHz", "%": "%"}.get(written, "")
    assert found == truth["whole_trace"]["C_samples"]
    assert facts.counts["counter"] == sum(truth["whole_trace"]["C_samples"].values())
    assert [one.index for one in trace.devices] == [0], "no trace of the idle GPU"


def test_arrows_are_launches_or_dependencies(which: str) -> None:
    trace, _, truth = recorded(which)
    true = truth["whole_trace"]
    raw = scan(FILES[which])
    texts = Texts(raw.strings)
    rows = sort_out(raw, texts, identify(raw, texts), take_census(raw.events, texts))
    flows = match_flows(raw, texts, rows)
    assert len(flows.of(raw, texts, LAUNCH_FLOWS)) == true["launch_flow_f"]
    assert len(flows.dependencies) == len(trace.graph_edges) == true["dependency_edges"]
    edges = sum(step["dependency_edges"] for _, step in steps_of(which))
    assert edges == true["dependency_edges"]
    assert len(trace.flows) == true["fwdbwd_s"]
    # The link is by correlation, so every row has its launch, whatever arrows end there.
    assert (trace.device.launch >= 0).all()
    assert {trace.text(code) for code in trace.host.name[np.unique(trace.device.launch)]} <= {
        "cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync", "cudaMemsetAsync",
        "cuLaunchKernelEx", "cudaLaunchKernelExC",
    }  # fmt: skip


def test_health_names_the_engine_and_counts_kernels_as_kernels(which: str) -> None:
    _, facts, truth = recorded(which)
    notes = {note.kind: note for note in facts.health.notes}
    replayed = sum(device_of(step)["graphed_kernel_rows"] for _, step in steps_of(which))
    total = facts.counts["kernel"]
    assert notes["graphs"].title == f"{replayed} of {total} kernels were replayed by graphs"
    assert notes["graph_nodes"].count == facts.counts["graph_node"]
    assert ("graph_dependencies" in notes) == bool(truth["whole_trace"]["dependency_edges"])
    assert "unknown_categories" not in notes
    answer = health.build(facts, health.HealthQuery())
    assert "Cuspy" in answer.sentence.detail
    assert "Cuspy" in notes["cuspy"].title


def test_the_overview_says_how_long_the_device_was_busy(which: str) -> None:
    _, facts, truth = recorded(which)
    answer = overview.build(facts, overview.OverviewQuery(steps="all"))
    busy = [device_of(step)["partition"]["device_busy_ns"] for step in truth["steps"]]
    assert answer.ruler.busy_ns == pytest.approx(sum(busy) / len(busy))


def test_what_waits_inside_a_graph_has_arrows_of_its_own(which: str) -> None:
    trace, facts, truth = recorded(which)
    session = TraceSession(trace, facts)
    manifest = timeline.build(session.seen_by(timeline.VIEW), LayoutQuery())
    arrows = {kind.label: kind.arrows for kind in manifest.flow_kinds}
    launched = sum(truth["whole_trace"]["X_by_cat"][name] for name in WORK)
    assert arrows["Launch to device activity"] == launched
    edges = truth["whole_trace"]["dependency_edges"]
    assert arrows["Node of a graph to the node that waits for it"] == edges
