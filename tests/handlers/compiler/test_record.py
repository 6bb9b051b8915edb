"""handlers/compiler: equal to what torch's own logs say of the same run."""

from __future__ import annotations

import copy
import gzip
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kinetoscope.handlers import tensorboard_trace_handler as handler_of
from kinetoscope.handlers.compiler import record as compilations
from kinetoscope.handlers.compiler.provenance import KernelNodes
from kinetoscope.handlers.compiler.record import CompileFile

PROGRAMS = Path(__file__).with_name("compile_programs.py")
_HEAD = re.compile(r"^[VIWE]\d{4} [\d:.]+ \d+ \S+\] (?P<head>\{.*\})$")


def _run(folder: Path, *arguments: str, **more: str) -> tuple[dict[str, Any], list[Any]]:
    """The record of a run, and torch's structured log of it: (head, payload)."""
    pytest.importorskip("torch", reason="needs torch")
    environment = {**os.environ, "TORCH_TRACE": str(folder / "torch"), **more}
    done = subprocess.run(
        [sys.executable, str(PROGRAMS), str(folder / "log"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    file = next((folder / "log").glob("*.compile.json.gz"))
    return json.loads(gzip.decompress(file.read_bytes())), _log_of(folder / "torch")


def _log_of(folder: Path) -> list[Any]:
    found: list[Any] = []
    for line in next(folder.glob("*.log")).read_text().splitlines():
        match = _HEAD.match(line)
        if match:
            found.append((json.loads(match["head"]), []))
        elif line.startswith("\t") and found:
            found[-1][1].append(line[1:])
    return [(head, "\n".join(payload)) for head, payload in found]


def _id(head: dict[str, Any]) -> str:
    return f"{head['frame_id']}/{head['frame_compile_id']}"


def _artifacts(log: list[Any], name: str) -> list[Any]:
    return [
        (_id(head), payload)
        for head, payload in log
        if head.get("artifact", {}).get("name") == name
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[Any]]:
    return _run(tmp_path_factory.mktemp("compile"), "eager")


def test_each_compilation_is_there_once_with_function_place_and_time(run: Any) -> None:
    record, log = run
    logged = [
        (_id(head), head["compilation_metrics"]) for head, _ in log if "compilation_metrics" in head
    ]
    functions = record["functions"]
    assert len(logged) >= 25
    assert [
        (one["id"], functions[one["function"]]["name"], functions[one["function"]]["line"])
        for one in record["compilations"]
        if not one["failed"]
    ] == [
        (identity, told["co_name"], told["co_firstlineno"])
        for identity, told in logged
        if told["co_name"]
    ]
    assert len(logged) == len(record["compilations"])
    times = {identity: (one["start_time_us"], one["duration_us"]) for identity, one in logged}
    for one in record["compilations"]:
        assert (one["start_us"], one["dur_us"]) == times[one["id"]]


def test_each_failed_guard_is_tied_to_its_compilation(run: Any) -> None:
    record, log = run
    told: dict[str, list[str]] = {}
    for identity, payload in _artifacts(log, "recompile_reasons"):
        texts = json.loads(payload) if payload.lstrip().startswith("[") else [payload]
        told[identity] = [re.split(r"\s{2,}#|\n", text)[0] for text in texts]
    found = {
        one["id"]: [f"{reason['of']}: {reason['guard']}" for reason in one["reasons"]]
        for one in record["compilations"]
        if one["reasons"]
    }
    assert len(found) == 8
    assert found == told


def test_the_line_of_a_guard_is_that_of_the_user(run: Any) -> None:
    record, _ = run
    lines = PROGRAMS.read_text().splitlines()
    of_value = [
        reason
        for one in record["compilations"]
        for reason in one["reasons"]
        if reason["guard"].startswith("mode ==")
    ]
    assert [reason["kind"] for reason in of_value] == ["value"] * 3
    assert {lines[reason["line"] - 1].strip() for reason in of_value} == {'if mode == "a":'}
    kinds = {
        record["functions"][one["function"]]["name"]: {reason["kind"] for reason in one["reasons"]}
        for one in record["compilations"]
        if one["reasons"]
    }
    assert kinds == {
        "dynamic_batch": {"size"},
        "value_guard": {"value"},
        "limited": {"value"},
        "by_global": {"global"},
        "by_grad": {"dtype"},
    }


def test_each_break_has_its_compilation_reason_and_lines(run: Any) -> None:
    record, log = run
    told: Counter[tuple[str, int]] = Counter()
    for identity, payload in _artifacts(log, "dynamo_graph_break_reason"):
        place = re.search(r"in user code at (?P<file>.*):(?P<line>\d+)", payload)
        assert place is not None
        told[identity, int(place["line"])] += 1
    found = Counter(
        {(one["compilation"], one["stack"][0][1]): one["count"] for one in record["breaks"]}
    )
    assert len(found) == 5
    assert found == told
    text = PROGRAMS.read_text().splitlines()
    marks = {text[one["stack"][0][1] - 1].rpartition("# ")[2] for one in record["breaks"]}
    assert marks == {"break: print", "break: item", "break: call", "break: helper"}
    assert all(one["reason"] and one["explanation"] for one in record["breaks"])
    stacks = sorted([name for _, _, name in one["stack"]] for one in record["breaks"])
    assert stacks[-2:] == [["helper"], ["helper", "by_helper"]]


def test_a_refused_compilation_says_that_the_limit_was_met(run: Any) -> None:
    record, _ = run
    failed = [one for one in record["compilations"] if one["failed"]]
    assert [record["functions"][one["function"]]["name"] for one in failed] == ["limited"]
    assert len(failed[0]["reasons"]) == 3
    assert "limit" in failed[0]["failed"]


def test_the_warm_up_is_before_the_window_and_the_rest_inside(run: Any) -> None:
    record, _ = run
    before = {
        record["functions"][one["function"]]["name"]
        for one in record["compilations"]
        if not one["in_window"]
    }
    assert before == {"healthy", "part"}


def test_what_a_healthy_program_does_has_no_reason_and_no_break(run: Any) -> None:
    record, _ = run
    of = {one["id"]: one["name"] for one in record["functions"]}
    healthy = [one for one in record["compilations"] if of[one["function"]] in ("healthy", "part")]
    assert [one["reasons"] for one in healthy] == [[], []]
    ids = {one["id"] for one in healthy}
    assert not [one for one in record["breaks"] if one["compilation"] in ids]


HEADERS = Path(sysconfig.get_paths()["include"], "Python.h")


@pytest.mark.skipif(
    not HEADERS.is_file() or not any(map(shutil.which, ("c++", "g++", "clang++"))),
    reason="Inductor builds kernels with a C++ compiler and the headers of Python: packages g++"
    " and python3-dev",
)
def test_nodes_and_lines_of_kernels_are_those_of_torchs_log(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    record, log = _run(
        tmp_path,
        "inductor",
        "lines",
        TORCHINDUCTOR_CACHE_DIR=cache,
        INDUCTOR_PROVENANCE="1",
    )
    name = "inductor_provenance_tracking_kernel_stack_traces"
    told = [json.loads(payload) for _, payload in _artifacts(log, name)]
    assert len(told) == len(record["graphs"]) == 2
    for stacks, graph in zip(told, record["graphs"], strict=True):
        found = {one["name"]: {line for _, line, _ in one["lines"]} for one in graph["kernels"]}
        assert found == {
            kernel.rpartition(":")[0]: {
                int(re.findall(r"line (\d+), in", stack.partition("Gradient")[0])[-1])
                for stack in some
            }
            for kernel, some in stacks.items()
        }
    marks = {
        text.rpartition("# line: ")[2]: number
        for number, text in enumerate(PROGRAMS.read_text().splitlines(), 1)
        if "# line: " in text
    }
    forward = record["graphs"][0]["kernels"]
    assert [one["name"] for one in forward] == [
        "cpp_fused_add_mul_sin_0",
        "extern_kernels.mm",
        "cpp_fused_cos_sum_1",
    ]
    assert sorted(forward[0]["nodes"]) == ["add", "mul", "sin"]
    assert {line for _, line, _ in forward[0]["lines"]} == {marks["y"], marks["z"]}
    assert [line for _, line, _ in forward[1]["lines"]] == [marks["mm"]]


# --- without torch --------------------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Fake `torch._dynamo.utils`, and a record that knows nothing yet."""
    monkeypatch.setattr(compilations, "_watch", compilations._Watch())
    utils = ModuleType("torch._dynamo.utils")
    utils.guard_failures = {}  # type: ignore[attr-defined]
    utils.graph_break_reasons = []  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", utils)
    monkeypatch.delitem(sys.modules, "torch._dynamo.callback", raising=False)
    return utils


def _broken(line: int) -> SimpleNamespace:
    frame = SimpleNamespace(filename="/data/job/train.py", lineno=line, name="f", line="print()")
    return SimpleNamespace(reason="print called\n  Hint: do not", user_stack=[frame])


def _read(file: CompileFile | None) -> dict[str, Any]:
    assert file is not None
    found: dict[str, Any] = json.loads(gzip.decompress(file.data))
    return found


def test_an_old_torch_gives_what_it_has_and_names_the_rest(fresh: Any) -> None:
    compilations.watch()
    fresh.graph_break_reasons += [_broken(12), _broken(12)]
    record = _read(compilations.compile_file("w.1", None, ["/data/job"]))
    assert record["breaks"] == [
        {
            "compilation": None,
            "reason": "print called",
            "explanation": "",
            "hint": "do not",
            "stack": [["train.py", 12, "f"]],
            "count": 2,
        }
    ]
    assert record["missing"] == [
        "callbacks",
        "guard_failures",
        "metrics",
        "metrics.compile_id",
        "metrics.recompile_reason",
        "metrics.start_time_us",
    ]


def test_changed_names_of_torch_switch_off_one_part_and_are_logged_once(
    fresh: Any, caplog: pytest.LogCaptureFixture
) -> None:
    fresh.guard_failures = 7
    fresh.get_compilation_metrics = lambda: 1 / 0
    fresh.graph_break_reasons += [_broken(3)]
    caplog.set_level(logging.INFO)
    record, *_ = [_read(compilations.compile_file("w.1", None, [])) for _ in range(3)]
    assert [one["stack"][0][1] for one in record["breaks"]] == [3]
    said = [one.message for one in caplog.records]
    assert len([one for one in said if "guard_failures" in one]) == 1
    assert len([one for one in said if "metrics" in one]) == 1


def test_memory_is_bounded_and_what_is_left_out_is_counted(
    fresh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilations, "MOST", 10)
    rows: list[Any] = []
    fresh.get_compilation_metrics = lambda: rows[-4:]
    for number in range(13):
        rows.append(SimpleNamespace(compile_id=f"{number}/0", co_name="f", co_filename="a.py"))
        compilations._at_end(SimpleNamespace(compile_id=f"{number}/0"))
    record = _read(compilations.compile_file("w.1", None, []))
    assert [one["id"] for one in record["compilations"]] == [f"{n}/0" for n in range(10)]
    assert record["dropped"] == 3


def test_texts_are_left_out_where_asked_and_long_values_always(fresh: Any) -> None:
    guard = "0/0: name == '" + "s" * 90 + "'    # if name  # train.py:3 in f"
    row = SimpleNamespace(compile_id="0/1", co_name="f", co_filename="a.py", start_time_us=1)
    fresh.get_compilation_metrics = lambda: [row]
    compilations._watch.is_registered = True
    fresh.guard_failures[object()] = [guard]
    compilations._at_end(SimpleNamespace(compile_id="0/1"))
    (with_text,) = _read(compilations.compile_file("w.1", None, []))["compilations"][0]["reasons"]
    assert with_text["guard"] == "name == '…'"
    record = _read(compilations.compile_file("w.1", None, [], keeps_text=False))
    (without,) = record["compilations"][0]["reasons"]
    assert (without["guard"], without["kind"], without["of"]) == ("", "value", "0/0")


def test_a_late_handler_tells_compilations_apart_by_their_rows(fresh: Any) -> None:
    def row(identity: str, reason: str | None, restarts: tuple[str, ...] = ()) -> Any:
        return SimpleNamespace(
            compile_id=identity, co_name="f", co_filename="a.py", start_time_us=1,
            recompile_reason=reason, restart_reasons=set(restarts),
        )  # fmt: skip

    rows = [
        row("0/0", None, ("print called",)),
        row("0/1", "0/0: a", ("print called",)),
        row("0/2", "0/1: b"),
    ]
    fresh.get_compilation_metrics = lambda: rows
    fresh.guard_failures[object()] = ["0/0: a", "0/1: b", "0/0: a"]
    fresh.graph_break_reasons += [_broken(3), _broken(3)]
    record = _read(compilations.compile_file("w.1", None, []))
    reasons = [[one["guard"] for one in each["reasons"]] for each in record["compilations"]]
    assert reasons == [[], ["a"], ["b", "a"]]
    assert [one["compilation"] for one in record["breaks"]] == ["0/0", "0/1"]


def test_nothing_compiled_is_no_file(fresh: Any) -> None:
    assert fresh is not None
    assert compilations.compile_file("w.1", None, []) is None


def test_the_options_are_checked_and_survive_a_copy(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="compile: True, False"):
        handler_of(tmp_path, compile="all")  # type: ignore[arg-type]
    again = copy.deepcopy(handler_of(tmp_path, compile=False, compile_text=False))
    assert (again._options.compile, again._options.compile_text) == (None, False)


def test_records_of_another_form_are_counted_and_dropped() -> None:
    nodes = KernelNodes()
    record = logging.LogRecord("torch.__trace", 10, "", 0, "", (), None)
    name = "inductor_provenance_tracking_node_mappings"
    record.metadata = {"artifact": {"name": name}}
    record.payload = "[["
    nodes.emit(record)
    assert nodes.dropped == 1
    assert nodes.graphs(str) == []


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("2.0.1", "nothing: needs torch 2.1"),
        ("2.1.0", "graph breaks only: compilations and failed guards need torch 2.3"),
        ("2.2.2+cu121", "graph breaks only: compilations and failed guards need torch 2.3"),
        ("2.8.0+cpu", 'all but nodes and lines of fused kernels, with compile="lines" (torch 2.9)'),
        ("2.13.0", 'all, lines of kernels with compile="lines"'),
    ],
)
def test_each_version_says_what_it_has(version: str, told: str) -> None:
    assert compilations.since_then(version) == told
    assert "which version of which function (torch 2.4)" in compilations.since_then("2.3.0")
    assert "(torch 2.3)" not in compilations.since_then("2.3.0")
