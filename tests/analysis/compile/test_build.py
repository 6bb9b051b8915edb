"""analysis/compile: functions, versions, breaks and kernels of drawn runs."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from kinetoscope.analysis.call_tree.flame import FlameTree
from kinetoscope.analysis.compile.kernels import nodes_of
from kinetoscope.analysis.compile.model import CompiledFacts
from kinetoscope.analysis.compile.reasons import about, life_of
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.compile_record import CompileRecord
from kinetoscope.views.shared import flame_of
from tests.drawing import PID, draw, trace_of

RECORD: dict[str, Any] = {
    "functions": [
        {"id": 4, "name": "f", "file": "a.py", "line": 3},
        {"id": 7, "name": "torch_dynamo_resume_in_f_at_9", "file": "a.py", "line": 9},
    ],
    "compilations": [
        {"id": "0/0", "function": 4, "in_window": False, "start_us": 1, "dur_us": 11},
        {"id": "1/0", "function": 7, "in_window": False, "start_us": 2, "dur_us": 13},
        {
            "id": "0/1", "function": 4, "in_window": True, "guards": 5,
            "reasons": [
                {"of": "0/0", "kind": "size", "guard": "size 0", "file": "a.py", "line": 4},
            ],
        },
        {"id": "0/2", "function": 4, "failed": "Unsupported: limit"},
    ],
    "breaks": [
        {"compilation": "0/0", "reason": "print", "stack": [["a.py", 9, "f"], ["b.py", 2, "g"]]},
        {"compilation": "0/1", "reason": "print", "stack": [["a.py", 9, "f"], ["b.py", 2, "g"]]},
    ],
}  # fmt: skip
NAMES = {
    "R": "Torch-Compiled Region: 0/0",
    "S": "Torch-Compiled Region: 1/0",
    "T": "Torch-Compiled Region: 0/1",
    "G": "## Call CompiledFxGraph abc ##",
    "L": "TorchDynamo Cache Lookup",
}
# Behind the break: 7 µs from the graph to the region, of which an op of the user takes 2 and a
# lookup that is no work of the user 1.
BROKEN = """
    op  |LRRRRRRRRRRRRRRRR  TTTTT|
    op  |                        |
    op  | GGG  aa  LSSSSS        |
"""


def _facts(picture: str, record: dict[str, Any] | None = None) -> CompiledFacts | None:
    trace = draw(picture, names=NAMES)
    if record is not None:
        told = msgspec.convert(record, CompileRecord)
        trace = msgspec.structs.replace(trace, compile_record=told)
    return summarize(trace).compiled


def _sure(found: CompiledFacts | None) -> CompiledFacts:
    assert found is not None
    return found


def test_nothing_compiled_is_no_facts() -> None:
    assert _facts("op |aa bb|") is None


def test_a_fused_kernel_alone_is_shown() -> None:
    trace = draw("call |k   |\ngpu  | kkk|", names={"k": "triton_poi_fused_add_0"})
    found = _sure(summarize(trace).compiled)
    assert [(one.name, one.nodes, one.calls) for one in found.kernels] == [
        ("triton_poi_fused_add_0", ("add",), 1)
    ]
    assert not found.versions


def test_the_trace_alone_tells_ids_and_runs() -> None:
    found = _sure(_facts(BROKEN))
    assert [(one.id, one.calls, one.run_ns, one.compile_ns) for one in found.versions] == [
        ("0/0", 1, 16000, None),
        ("0/1", 1, 5000, None),
        ("1/0", 1, 5000, None),
    ]
    assert [one.is_again for one in found.versions] == [False, True, False]
    assert (found.recorded, found.breaks, found.lookups, found.lookup_ns) == (False, (), 2, 2000)
    assert found.label(found.versions[2]) == "compiled frame 1"


def test_the_record_names_functions_reasons_and_the_limit() -> None:
    found = _sure(_facts(BROKEN, RECORD))
    by_id = {one.id: one for one in found.versions}
    assert found.label(by_id["0/0"]) == "f"
    assert found.label(by_id["1/0"]) == "f, from line 9"
    assert (by_id["0/0"].before_ns, by_id["1/0"].before_ns) == (11000, 13000)
    reason = by_id["0/1"].reasons[0]
    assert (reason.of, reason.kind, reason.guard, reason.place) == (
        "0/0", "size", "size 0", "a.py:4",
    )  # fmt: skip
    assert (by_id["0/2"].failed, by_id["0/2"].calls) == ("Unsupported: limit", 0)


def test_a_break_costs_the_host_time_between_graph_and_region_without_ops() -> None:
    (found,) = _sure(_facts(BROKEN, RECORD)).breaks
    assert (found.place, found.name, found.callers) == ("a.py:9", "f", ("b.py:2",))
    assert (found.versions, found.calls, found.gap_ns) == (2, 1, 5000)


def test_a_back_end_that_marks_no_graph_has_no_estimate() -> None:
    (found,) = _sure(_facts(BROKEN.replace("GGG", "ggg"), RECORD)).breaks
    assert (found.calls, found.gap_ns) == (1, None)


def test_twins_tie_a_compilation_to_its_id() -> None:
    names = {
        **NAMES,
        "C": "entire_frame_compile (dynamo_timed)",
        "t": "entire_frame_compile_data: fn_name=x, compile_id=0/1",
    }
    trace = draw("op |CCCCCCC TTT|\nop | t         |", names=names)
    found = _sure(summarize(trace).compiled)
    (version,) = found.versions
    assert (version.id, version.compile_ns) == ("0/1", 7000)
    assert [(one.ts, one.dur_ns) for one in found.occurrences] == [(0, 7000)]
    assert found.first_and_again([(0, 3000), (5000, 20_000)]) == (0, 5000)
    first = msgspec.structs.replace(version, id="0/0")
    warm = msgspec.structs.replace(found, versions=(first,))
    assert warm.first_and_again([(1000, 3000)]) == (2000, 0)


def test_a_region_without_an_id_is_a_version_that_is_not_told() -> None:
    found = _sure(_facts("op |RRR|".replace("R", "U")) or CompiledFacts())
    assert not found.versions
    trace = draw("op |RRR RR|", names={"R": "Torch-Compiled Region"})
    (version,) = _sure(summarize(trace).compiled).versions
    assert (version.id, version.calls, version.run_ns) == ("", 2, 5000)


def _kernel(name: str, ts: float, dur: float, correlation: int) -> list[dict[str, Any]]:
    launch = {
        "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": PID, "tid": 1,
        "ts": ts, "dur": 1, "args": {"correlation": correlation},
    }  # fmt: skip
    return [
        launch,
        {
            "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts + 2, "dur": dur,
            "args": {"device": 0, "stream": 7, "correlation": correlation},
        },
    ]  # fmt: skip


def test_kernels_of_one_name_belong_to_the_graph_around_their_launch() -> None:
    def op(name: str, ts: float, dur: float) -> dict[str, Any]:
        return {
            "ph": "X", "cat": "cpu_op", "name": name, "pid": PID, "tid": 1, "ts": ts, "dur": dur,
            "args": {},
        }  # fmt: skip

    name = "triton_poi_fused_add_0"
    events = [
        op("Torch-Compiled Region: 0/0", 0, 20),
        op(name, 1, 5),
        *_kernel(name, 2, 3, 1),
        op("Torch-Compiled Region: 0/1", 30, 20),
        op(name, 31, 5),
        *_kernel(name, 32, 4, 2),
        op("triton_red_fused_sum_1", 60, 5),
        *_kernel("triton_red_fused_sum_1", 61, 6, 3),
    ]

    def graph(identity: str, line: int) -> dict[str, Any]:
        kernel = {"name": name, "nodes": ["add"], "lines": [["a.py", line, "f"]] * 2}
        return {"compilation": identity, "kernels": [kernel]}

    record = msgspec.convert({"graphs": [graph("0/0", 5), graph("0/1", 6)]}, CompileRecord)
    trace = msgspec.structs.replace(trace_of(events), compile_record=record)
    found = _sure(summarize(trace).compiled)
    assert {(one.name, one.id, one.lines, one.calls, one.total_ns) for one in found.kernels} == {
        (name, "0/0", ("a.py:5",), 1, 3000),
        (name, "0/1", ("a.py:6",), 1, 4000),
        ("triton_red_fused_sum_1", "", (), 1, 6000),
    }
    assert (found.fused_ns, found.lined_ns) == (13000, 7000)
    assert found.made_of(name) == ("add", "a.py:6, a.py:5")
    assert found.made_of(f"graph_3_{name}") == ("add", "a.py:6, a.py:5")
    assert found.made_of("triton_red_fused_sum_1") == ("sum", "")
    assert found.made_of("aten::add") == ("", "")


@pytest.mark.parametrize(
    ("part", "nodes"),
    [
        ("add_mul_sin", ("add", "mul", "sin")),
        ("_to_copy_native_layer_norm_add", ("_to_copy", "native_layer_norm", "add")),
        ("_softmax", ("_softmax",)),
        ("_weird_op", ("_weird", "op")),
        ("", ()),
        ("0", ()),
    ],
)
def test_nodes_of_a_name(part: str, nodes: tuple[str, ...]) -> None:
    assert nodes_of(part) == nodes


def test_the_life_of_a_function_has_versions_runs_cost_and_reasons() -> None:
    found = _sure(_facts(BROKEN, RECORD))
    life = life_of(found, "f (a.py:3)").replace("\u00a0", " ")
    assert life == (
        "2 versions, 2 runs; compiled 11.0 µs before the recording; again for size 0 (a.py:4);"
        " refused: the recompile limit"
    )
    assert life_of(found, "f, from line 9 (a.py:9)").startswith(
        "1\u00a0version, 1\u00a0run; compiled 13"
    )
    assert life_of(found, "net.Layer_0") == ""
    assert life_of(None, "f (a.py:3)") == ""


def test_without_a_record_a_function_has_its_versions_and_runs_alone() -> None:
    found = _sure(_facts(BROKEN))
    assert life_of(found, "compiled frame 0") == "2\u00a0versions, 2\u00a0runs"
    told = dict(about(found, "Torch-Compiled Region: 0/1"))
    assert told["version 0/1"] == "1\u00a0run, 5.00\u00a0µs in all"
    assert "compiled again for" not in told


def test_a_region_tells_its_function_and_its_version() -> None:
    told = about(_facts(BROKEN, RECORD), "Torch-Compiled Region: 0/1")
    assert [label for label, _ in told] == [
        "compiled function", "all versions", "version 0/1", "compiled again for",
    ]  # fmt: skip
    assert told[0][1] == "f (a.py:3)"


def test_a_version_says_when_it_was_compiled() -> None:
    names = {
        **NAMES,
        "C": "entire_frame_compile (dynamo_timed)",
        "t": "entire_frame_compile_data: fn_name=x, compile_id=0/1",
    }
    trace = draw("op |a  CCCCCCC TTT|\nop |    t         |", names=names)
    told = dict(about(summarize(trace).compiled, "Torch-Compiled Region: 0/1"))
    text = told["version 0/1"].replace("\u00a0", " ")
    assert text == "1 run, 3.00 µs in all; compiled at 3.00 µs in 7.00 µs"


def test_regions_and_fused_kernels_have_a_note_for_flame_graphs() -> None:
    trace = draw(
        "op   |RRR|\ncall |k  |\ngpu  | kk|", names={**NAMES, "k": "triton_poi_fused_add_0"}
    )
    told = msgspec.convert(RECORD, CompileRecord)
    found = _sure(summarize(msgspec.structs.replace(trace, compile_record=told)).compiled)
    assert found.notes()["Torch-Compiled Region: 0/0"] == "f"
    assert found.notes()["triton_poi_fused_add_0"] == "fused: add"
    tree = FlameTree(
        parent=np.array([-1, 0], np.int32),
        name=np.array([0, 1], np.int32),
        kind=np.zeros(2, np.int32),
        own=np.array([1, 2]),
        count=np.array([1, 1]),
        names=("Torch-Compiled Region: 0/0", "graph_4_triton_poi_fused_add_0"),
        labels=(),
        kinds=("op",),
    )
    assert [one.note for one in flame_of(tree, "ns", 0.0, compiled=found).nodes] == [
        "f",
        "fused: add",
    ]
    assert [one.note for one in flame_of(tree, "ns", 0.0).nodes] == ["", ""]


def _calls_of_one_kernel(count: int) -> CompiledFacts:
    """Some runs of a kernel that its graph calls at three places, two of them on one line."""
    name = "triton_poi_fused_add_0"
    events = [event for i in range(count) for event in _kernel(name, 10 * i, 1 + i % 3, i + 1)]
    places = [(["add"], 5), (["add_1"], 6), (["add_2"], 5)]
    kernels = [
        {"name": name, "nodes": nodes, "lines": [["a.py", line, "f"]]} for nodes, line in places
    ]
    record = msgspec.convert(
        {"graphs": [{"compilation": "0/0", "backward": True, "kernels": kernels}]}, CompileRecord
    )
    return _sure(
        summarize(msgspec.structs.replace(trace_of(events), compile_record=record)).compiled
    )


def test_the_calls_of_a_kernel_in_one_graph_take_turns() -> None:
    found = _calls_of_one_kernel(6)
    assert {(one.lines, one.calls, one.total_ns) for one in found.kernels} == {
        (("a.py:5",), 4, 8000),
        (("a.py:6",), 2, 4000),
    }
    assert (found.fused_ns, found.lined_ns) == (12_000, 12_000)


def test_where_a_run_of_the_graph_is_cut_a_kernel_has_all_its_lines() -> None:
    (one,) = _calls_of_one_kernel(5).kernels
    assert (one.lines, one.calls, one.total_ns) == (("a.py:5", "a.py:6"), 5, 9000)
    assert one.nodes == ("add", "add_1", "add_2")
