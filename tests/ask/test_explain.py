"""``kinetoscope explain``: figures are those of the views, within a number of bytes."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from kinetoscope import notebook
from kinetoscope.analysis.overview.whole import WHOLE
from kinetoscope.ask.explain import ExplainDocument, brief, explain, fitted
from kinetoscope.ask.gaps import unanswered
from kinetoscope.ask.sources import Source
from kinetoscope.ask.text import explained
from kinetoscope.base.errors import KinetoscopeError, QueryError
from kinetoscope.session.session import TraceSession, choose
from tests.cli.runs import run
from tests.conftest import ROOT, TRACES, requires_traces
from tests.drawing import draw, draw_at

# a (c is another call of it) calls itself and b; the device is idle for 4 and 3 µs of it.
FUNCTIONS = """
    step   |11111111112222222222|
    frame  |aaaaaaaa   cccccc   |
    frame  | aabbb      bb      |
    frame  |  d                 |
    call   |k   l      m  n     |
    gpu    | kkk l      mm  n   |
    """
NAMES = {"c": "train.py(1): a", "d": "torch/nn.py(3): d"}


def drawn(tmp_path: Path) -> Path:
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, FUNCTIONS, names=NAMES)
    return path


def document(path: Path) -> ExplainDocument:
    return explain(choose(str(path)).session())


def test_functions_are_inclusive_per_step_and_recursion_counts_once(tmp_path: Path) -> None:
    told = document(drawn(tmp_path))
    assert told.functions.columns == (
        "name", "inclusive_ns_per_step", "exclusive_ns_per_step", "calls_per_step",
        "idle_ns_per_step",
    )  # fmt: skip
    assert told.functions.rows == (
        ("train.py(1): a", 7_000, 4_500, 1.5, 3_500),
        ("train.py(1): b", 2_500, 2_500, 1.0, 500),
    )


def test_the_late_rank_of_a_run_comes_first() -> None:
    told = document(ROOT / "samples/traces/train_ddp_cpu")
    assert told.headline.startswith("Rank 1 makes the others wait")
    assert told.findings[0].id == "CO5"


def test_findings_in_sql_know_the_other_ranks() -> None:
    source = Source(choose(str(ROOT / "samples/traces/train_ddp_cpu")).session())
    columns = {one.key: one.of() for one in source.columns("findings")}
    ids = columns["id"]
    assert isinstance(ids, list)
    assert ids[0] == "CO5"


def test_sql_in_its_process_knows_the_other_ranks() -> None:
    pytest.importorskip("duckdb")
    run_folder = ROOT / "samples/traces/train_ddp_cpu"
    query = "SELECT id FROM Findings"
    told = json.loads(run("sql", run_folder, query, "--format", "json").stdout)
    assert told["rows"][0] == ["CO5"]
    assert notebook.open_trace(run_folder).sql(query).iloc[0, 0] == "CO5"
    alone = min(run_folder.glob("*.pt.trace.json.gz"))
    told = json.loads(run("sql", alone, query, "--format", "json").stdout)
    assert ["CO5"] not in told["rows"]


def test_what_was_compiled_and_where_a_graph_breaks_is_told() -> None:
    (path,) = (ROOT / "samples/traces/compiled").glob("*.pt.trace.json.gz")
    told = document(path)
    assert "1 graph break" in told.compiled_headline
    assert told.breaks.columns == ("place", "name", "reason", "calls", "gap_ns")
    assert told.breaks.rows[0][:2] == ("compiled.py:33", "forward")
    assert "compiled.py:33" in explained(told)
    none = document(ROOT / "samples/traces/train_ddp_cpu")
    assert (none.compiled_headline, none.breaks.rows) == ("", ())


def test_each_option_to_record_is_named_once() -> None:
    (path,) = (ROOT / "samples/traces/compiled").glob("*.pt.trace.json.gz")
    told = {one.record: one.tells for one in document(path).cannot_tell}
    options = [re.findall(r"`[^`]+`", record)[:1] for record in told]
    known = [one[0] for one in options if one]
    assert sorted(known) == sorted(set(known))
    assert told["record with `profile_memory=True`"].endswith("bytes never freed")
    assert told["this torch, 2.13.0+cpu, is built for the CPU alone"].startswith(
        "Device activity: kernels"
    )
    rows = [*unanswered(Source(choose(str(path)).session()).advice)]
    assert ("Ops in float64", "record with `record_shapes=True`") in rows
    assert {record for _, record in rows} == set(told)


def test_a_function_around_the_steps_has_no_number_of_calls() -> None:
    told = document(ROOT / "samples/traces/train_cpu")
    calls = {str(row[0]).rpartition(" ")[2]: row[3] for row in told.functions.rows}
    assert (calls["train"], calls["forward"]) == (None, 1.0)


def test_operators_by_their_own_time_a_step(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    draw_at(
        path,
        """
        step |11111111112222222222333|
        op   |aaaa bbbb aaa  aaa  cc |
        op   | b   aaa               |
        """,
    )
    told = document(path).operators
    assert told.columns == ("name", "self_ns_per_step", "total_ns_per_step", "calls_per_step")
    assert told.rows == (
        ("aten::a", 6_000, 6_500, 2.0),
        ("aten::b", 1_000, 2_500, 1.0),
    )


def test_steps_that_are_not_counted_say_why_and_how_long_they_are() -> None:
    told = document(ROOT / "samples/traces/serving/worker0.1795371641435094456.pt.trace.json.gz")
    assert told.step is not None
    assert told.step.numbers == "191-199"
    assert told.step.left_out == {"190": "warm-up, 16.8 ms"}
    assert "not counted: 190 (warm-up, 16.8 ms)" in explained(told)


def test_sections_without_rows_say_why() -> None:
    told = document(ROOT / "samples/traces/resnet_workers0")
    assert told.absent == {
        "functions": "no Python frames",
        "totals": "no device activity",
        "ranks": "one recording, no run of several",
        "breaks": "nothing was compiled",
    }


def test_missing_data_are_named_in_plain_words_and_others_by_their_question() -> None:
    told = {one.record: one.tells for one in document(
        ROOT / "samples/traces/train_cpu").cannot_tell}  # fmt: skip
    assert not any("Lines of code" in tells or "Memory" in tells for tells in told.values())
    assert told["record with the handler of kinetoscope"] == "More threads than cores"
    told = {one.record: one.tells for one in document(
        ROOT / "samples/traces/resnet_workers0").cannot_tell}  # fmt: skip
    assert told["record with `with_stack=True`"] == "Lines of code, your functions, stacks"


def test_several_recordings_are_explained_by_themselves(tmp_path: Path) -> None:
    path = drawn(tmp_path)
    sections = ("--section", "step,functions,totals")
    one = run("explain", path, *sections).stdout
    both = run("explain", "--each", path, path, *sections)
    assert both.stdout == f"== {path}\n{one}" * 2
    lines = run("explain", "--each", path, path, *sections, "--format", "json").stdout.splitlines()
    assert [json.loads(line)["step"]["count"] for line in lines] == [2, 2]
    bad = tmp_path / "y.pt.trace.json"
    bad.write_text("{}")
    mixed = run("explain", "--each", path, bad, path, *sections)
    assert mixed.exit_code != 0
    assert mixed.stdout.count(one) == 2
    assert run("explain", "--each", path, path, "--format", "csv").exit_code == 2
    refused = run("explain", path, path, path)
    assert (refused.exit_code, "--each" in refused.stderr) == (2, True)


def test_libraries_are_no_functions_of_the_user() -> None:
    whole = TraceSession(draw(FUNCTIONS, names=NAMES)).artifact(WHOLE)
    assert sorted(whole.names) == ["train.py(1): a", "train.py(1): b"]


def test_totals_count_what_lies_outside_of_steps() -> None:
    trace = draw(
        """
        step   |1111111111          |
        call   |k  l           n    |
        gpu    | kkkk           nn  |
        gpu0.9 |   llll             |
        """,
        names={"l": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"},
    )
    one = TraceSession(trace).artifact(WHOLE).devices
    assert (one.busy_ns.tolist(), one.compute_ns.tolist()) == ([8_000], [6_000])
    assert (one.communication_ns.tolist(), one.exposed_communication_ns.tolist()) == (
        [4_000],
        [2_000],
    )
    assert one.launches.tolist() == [3]


def test_parts_and_idle_sum_to_the_step(tmp_path: Path) -> None:
    step = document(drawn(tmp_path)).step
    assert step is not None
    assert sum(row[1] for row in step.parts.rows) == pytest.approx(step.mean_ns)  # type: ignore[misc]
    idle = next(row[1] for row in step.parts.rows if row[0] == "Idle")
    assert sum(row[1] for row in step.idle.rows) == pytest.approx(idle)  # type: ignore[misc]


def test_parts_of_the_host_sum_to_the_step_too(tmp_path: Path) -> None:
    """With what nothing was recorded in."""
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, "step |11111111112222222222|\nop   | aaaa      bbbbbb   |")
    step = document(path).step
    assert step is not None
    parts = {row[0]: row[1] for row in step.parts.rows}
    assert (len(parts), sum(parts.values())) == (2, step.mean_ns)  # type: ignore[arg-type]
    assert parts["Forward"] == 5_000


@pytest.mark.parametrize(("form", "inclusive"), [("csv", "7000"), ("markdown", "7.000")])
def test_tables_of_the_answer_for_other_programs(tmp_path: Path, form: str, inclusive: str) -> None:
    shown = run("explain", drawn(tmp_path), "--format", form)
    assert shown.exit_code == 0
    assert "inclusive" in shown.stdout
    assert inclusive in shown.stdout


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_answer_keeps_to_its_bytes_or_is_refused(tmp_path: Path, form: str) -> None:
    path = drawn(tmp_path)
    whole = run("explain", path, "--format", form)
    size = len(whole.stdout.encode())
    assert (whole.exit_code, size <= 6144) == (0, True)
    least = run("explain", path, "--format", form, "--max-bytes", 10)
    assert (least.exit_code, "cannot_tell" in least.stdout) == (2, False)
    smallest = int(least.stderr.split("has ")[1].split(" bytes")[0])
    assert run("explain", path, "--format", form, "--max-bytes", smallest).exit_code == 0
    assert run("explain", path, "--format", form, "--max-bytes", smallest - 1).exit_code == 2
    cut = run("explain", path, "--format", form, "--max-bytes", size - 1)
    assert len(cut.stdout.encode()) < size
    assert "Cannot tell" in cut.stdout or '"cannot_tell":[{' in cut.stdout


def test_small_functions_are_counted_and_a_section_has_them_all() -> None:
    (path,) = (ROOT / "samples/traces/train_cpu").glob("*.pt.trace.json.gz")
    whole = document(path)
    assert whole.step is not None
    told = brief(whole)
    assert all(row[1] >= 0.01 * whole.step.mean_ns for row in told.functions.rows)  # type: ignore[operator]
    rest = whole.functions.rows[len(told.functions.rows) :]
    assert rest[0][1] < 0.01 * whole.step.mean_ns  # type: ignore[operator]
    others = len(whole.operators.rows) - len(told.operators.rows)
    assert told.left_out == {"functions": len(rest), "operators": others}
    section = run("explain", path, "--section", "functions", "--max-bytes", "65536").stdout
    assert section.count("\n") == len(whole.functions.rows) + 2  # title and heads
    least = 0.01 * whole.step.mean_ns
    large = max(sum(float(row[1] or 0) >= least for row in whole.functions.rows), 12)
    alone = run("explain", path, "--section", "functions").stdout.splitlines()
    assert len(alone) == large + 3
    small = len(whole.functions.rows) - large
    assert alone[-1] == f"  … {small} more of less than 1 %: --max-bytes 65536"
    asked = json.loads(run("explain", path, "--section", "functions", "--format", "json").stdout)
    assert len(asked["functions"]["rows"]) == len(whole.functions.rows)


def test_sections_that_are_named_have_more_operators() -> None:
    (path,) = (ROOT / "samples/traces/train_cpu").glob("*.pt.trace.json.gz")
    count = len(document(path).operators.rows)
    for sections, shown in (("operators", count), ("step,operators", 12)):
        lines = run("explain", path, "--section", sections).stdout.splitlines()
        heads = next(at for at, line in enumerate(lines) if line.split()[:2] == ["name", "self_ms"])
        rows = [line for line in lines[heads + 1 :] if not line.startswith("  …")]
        assert len(rows) == shown
        is_cut = f"  … {count - 12} more: --section operators" in lines
        assert is_cut == (shown < count)


def test_totals_tell_launches_from_kernels(tmp_path: Path) -> None:
    text = run("explain", drawn(tmp_path), "--section", "totals").stdout
    assert "launched by 4 recorded calls" in text


def test_rows_that_are_left_out_are_counted(tmp_path: Path) -> None:
    told = document(drawn(tmp_path))
    with pytest.raises(QueryError, match="smallest") as refused:
        fitted(told, 10, explained)
    smallest = int(str(refused.value).split("has ")[1].split()[0])
    assert fitted(told, smallest, explained).left_out["functions"] == 2
    short = fitted(told, len(explained(told).encode()) - 1, explained)
    assert short.left_out == {"next": 1}  # sections with few rows keep them the longest
    assert short.cannot_tell == told.cannot_tell


def test_an_id_names_one_event_of_this_file_only(tmp_path: Path) -> None:
    path = drawn(tmp_path)
    trace = document(path).recording.trace
    event = json.loads(run("explain", path, "--id", "slice/2").stdout)
    assert run("explain", path, "--id", f"{trace}/slice/2").exit_code == 0
    assert event["id"] == f"{trace}/slice/2"
    assert event["in_file"]["dur"] * 1000 == event["dur_ns"]
    for wrong, code in (("0123abcd/slice/2", 2), ("slice/-1", 2), ("x", 2), ("slice/9999", 4)):
        assert run("explain", path, "--id", wrong).exit_code == code


def test_a_section_alone(tmp_path: Path) -> None:
    path = drawn(tmp_path)
    assert "train.py(1): a" in run("explain", path, "--section", "functions").stdout
    refused = run("explain", path, "--section", "function")
    assert refused.exit_code == 2
    assert "did you mean functions?" in refused.stderr


@requires_traces
def test_all_ranks_of_a_run_are_in_one_answer() -> None:
    told = document(TRACES / "dlrm_8rank_v100")
    assert len(told.ranks.rows) == 8
    slowest = told.ranks.rows[0]
    assert slowest[told.ranks.columns.index("rank")] == 7
    assert slowest[told.ranks.columns.index("cost_ns_per_step")] == 35_552_000
    assert len(explained(brief(told)).encode()) <= 6144
    assert told.step is not None
    parts = {row[0]: row[1] for row in told.step.parts.rows}
    first = next(row for row in told.ranks.rows if row[0] == 0)
    of_first = dict(zip(told.ranks.columns, first, strict=True))
    assert of_first["length_ns_per_step"] == told.step.mean_ns
    assert of_first["compute_ns_per_step"] == parts["Compute"]
    assert of_first["overlap_ns_per_step"] == told.step.overlap_ns_per_step
    assert of_first["exposed_communication_ns_per_step"] == parts["Exposed communication"]


@requires_traces
def test_every_real_recording_is_explained_or_refused_by_name() -> None:
    """Within its bytes; the parts sum to the step."""
    answered = 0
    for path in sorted(TRACES.rglob("*json*"))[::4]:
        if not path.is_file():
            continue
        with contextlib.suppress(KinetoscopeError):
            told = fitted(brief(document(path)), 6144, explained)
            answered += 1
            if told.step is not None:
                parts = [row[1] for row in told.step.parts.rows]
                assert sum(parts) == pytest.approx(told.step.mean_ns, abs=2), path  # type: ignore[arg-type]
    assert answered > 20


def test_sections_alone_are_written_as_in_the_whole() -> None:
    folder = ROOT / "samples/traces/train_cpu"
    whole = re.sub(" {3,}", "  ", explained(document(folder)))
    alone = run("explain", folder, "--section", "step,findings,breaks,recording").stdout
    *lines, nothing = alone.splitlines()
    assert nothing == "Nothing for breaks (nothing was compiled)"
    assert all(line in whole.splitlines() for line in lines)
    assert "(step 2)" in lines[0]
    refused = run("explain", folder, "--section", "step,function")
    assert refused.exit_code == 2
    assert "functions" in refused.stderr


def test_health_names_what_limits_the_answer(tmp_path: Path) -> None:
    path = drawn(tmp_path)
    assert document(path).recording.health == ""
    text = path.read_bytes()
    path.write_bytes(text[: len(text) * 2 // 3])
    told = document(path).recording.health
    assert told.startswith("Read in part: ")
    assert "health: " + told in explained(document(path))
