"""``kinetoscope diff`` and ``kinetoscope check``: what they print, and how they end."""

from __future__ import annotations

import errno
import json
import pickle
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from kinetoscope.analysis.diff.budget import BudgetCase, CaseOutcome
from kinetoscope.cli.check import runner_commands
from kinetoscope.cli.diff import bridge_picture
from kinetoscope.views.diff.contract import Diff
from tests.analysis.diff.training import Plant, events, metadata, write_training
from tests.trace.drawn import Event, python

from .runs import run

STEPS = 20
SLOW = Plant(slower={"aten::mm": 1.3})


@pytest.fixture(name="log")
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Recordings of the same code, and of one with a slower operator."""
    monkeypatch.chdir(tmp_path)
    for at, name in enumerate(("base", "same")):
        write_training(tmp_path / name / "w.pt.trace.json", at, STEPS)
    write_training(tmp_path / "slow" / "w.pt.trace.json", 5, STEPS, SLOW)
    write_training(tmp_path / "few" / "w.pt.trace.json", 6, 3)
    return tmp_path


def budget(folder: Path, **lines: object) -> Path:
    path = folder / "budget.json"
    path.write_text(json.dumps(lines))
    return path


def test_a_recording_of_the_same_code_is_ok(log: Path) -> None:
    result = run("check", log / "base", log / "same")
    assert result.exit_code == 0, result.output
    assert "✓ step time" in result.stdout


def test_a_slower_operator_is_named_with_its_amount(log: Path) -> None:
    result = run("check", log / "base", log / "slow", "--junit", log / "report.xml")
    assert result.exit_code == 7, result.output
    assert "✗ step time" in result.stdout
    assert "operator aten::mm: +1" in result.stdout
    assert "kernel gemm2 of aten::mm: +1" in result.stdout
    suite = ET.parse(log / "report.xml").getroot()  # noqa: S314  # our own
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "aten::mm" in (failure.text or "")


def test_too_few_steps_cannot_tell_and_say_what_would_settle_it(log: Path) -> None:
    result = run("check", log / "base", log / "few", "--junit", log / "report.xml")
    assert result.exit_code == 8, result.output
    assert "Record 5 more steps on each side." in result.stdout.replace("\u00a0", " ")
    report = ET.parse(log / "report.xml").getroot()  # noqa: S314  # our own
    assert report.find("testcase/skipped") is not None


def test_counts_operators_and_parts_have_budgets(log: Path) -> None:
    more = Plant(times={"aten::copy_": 2})
    write_training(log / "more" / "w.pt.trace.json", 7, STEPS, more)
    lines = budget(
        log,
        step=0.5,
        counts={"launches": 0},
        operators={"aten::mm": 0.1, "aten::copy_": 0.1},
        parts={"compute_ns": 0.5},
        peak_memory=0.1,
    )
    result = run("check", log / "base", log / "more", "--budget", lines, "--format", "json")
    assert result.exit_code == 7
    cases = {one["name"]: one for one in json.loads(result.stdout)["cases"]}
    assert {name: one["outcome"] for name, one in cases.items()} == {
        "step time": "ok",
        "part compute_ns": "ok",
        "count launches": "worse",
        "operator aten::mm": "ok",
        "operator aten::copy_": "worse",
        "peak memory": "cannot tell",
    }
    assert "1 → 2" in cases["count launches"]["evidence"][0]


def test_a_named_baseline_is_kept_and_grows(log: Path) -> None:
    first = run("check", "main", log / "base", "--keep")
    assert (first.exit_code, len(list((log / "baselines/main").iterdir()))) == (0, 1)
    again = run("check", "main", log / "same", "--keep")
    assert (again.exit_code, len(list((log / "baselines/main").iterdir()))) == (0, 2)
    worse = run("check", "main", log / "slow", "--keep")
    assert (worse.exit_code, len(list((log / "baselines/main").iterdir()))) == (7, 2)
    assert "one recording a side" in worse.stdout


def test_a_baseline_keeps_the_last_good_ones_and_learns_the_day_from_them(log: Path) -> None:
    """Three recordings of one code: 4 % more is worse, which is no claim against one of them."""
    write_training(log / "more" / "w.pt.trace.json", 9, STEPS, Plant(slower={"aten::mm": 1.12}))
    for kept, name in enumerate(("base", "same", "third", "fourth"), 1):
        write_training(log / name / "w.pt.trace.json", kept, STEPS)
        done = run("check", "main", log / name, "--keep", "--last", 3)
        assert done.exit_code in (0, 8), done.output
        assert len(list((log / "baselines/main").iterdir())) == min(kept, 3)
    one = run("check", log / "base", log / "more")
    assert (one.exit_code, "Differs by" in one.stdout) == (8, True), one.output
    found = run("check", "main", log / "more")
    assert found.exit_code == 7, found.output
    assert "3 against 1 recording" in found.stdout.replace("\u00a0", " ")


def test_starts_of_a_run_are_recordings_and_its_spans_are_not(log: Path) -> None:
    for folder, plant in (("before", Plant()), ("after", Plant(slower={"aten::mm": 1.12}))):
        for start in range(3):
            name = f"host_{100 + start}.17000{start}0000000.pt.trace.json"
            write_training(log / folder / name, start, STEPS, plant)
        for span in range(3):
            name = f"host_7.1700000{span}00000.pt.trace.json"
            write_training(log / f"{folder}_spans" / name, span, STEPS, plant)
    starts, spans = (
        run("check", log / f"before{kind}", log / f"after{kind}").stdout.replace("\u00a0", " ")
        for kind in ("", "_spans")
    )
    assert "3 against 3 recordings" in starts
    assert "✗ step time" in starts
    assert "one recording a side" in spans
    assert "? step time: Differs by" in spans


def test_what_cannot_be_compared_is_no_baseline(log: Path) -> None:
    (log / "notes.json").write_text("no trace")
    result = run("check", "main", log / "notes.json", "--keep")
    assert result.exit_code == 3, result.output
    assert not (log / "baselines").exists()


def test_half_a_recording_is_no_baseline(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copyfile(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:100])
        raise OSError(errno.ENOSPC, "No space left on device", str(target))

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    assert run("check", "main", log / "base", "--keep").exit_code == 1
    assert list((log / "baselines/main").iterdir()) == []


def test_a_baseline_that_is_not_there(log: Path) -> None:
    result = run("check", "missing", log / "base")
    assert result.exit_code == 4
    assert "no baseline missing" in result.stderr
    assert run("check", "../elsewhere", log / "base", "--keep").exit_code == 4


def test_a_budget_with_an_unknown_line(log: Path) -> None:
    result = run("check", log / "base", log / "same", "--budget", budget(log, stepp=1))
    assert result.exit_code == 2
    assert "stepp" in result.stderr


def test_markdown_of_a_check(log: Path) -> None:
    result = run("check", log / "base", log / "slow", "--format", "markdown")
    assert result.stdout.startswith("**kinetoscope check: worse**")


def test_diff_as_a_table(log: Path) -> None:
    result = run("diff", log / "base", log / "slow")
    assert result.exit_code == 0
    assert "Verdict: worse" in result.stdout
    assert "aten::mm" in result.stdout.split("Operators")[2].splitlines()[2]


def test_diff_as_json_and_as_markdown(log: Path) -> None:
    answer = json.loads(run("diff", log / "base", log / "slow", "--format", "json").stdout)
    assert answer["diff"]["outcome"] == "worse"
    assert sum(one["change_ns"] for one in answer["diff"]["parts"]) == answer["diff"]["change_ns"]
    assert answer["tables"][0]["rows"][0]["name"] == "aten::mm"
    text = run("diff", log / "base", log / "slow", "--format", "markdown").stdout
    assert "Verdict: **worse**" in text
    assert "| `aten::mm` |" in text


def test_the_picture_of_the_bridge_leads_from_step_to_step(log: Path) -> None:
    """Bars of Mermaid: the first step, each change where the one before ended, the second step."""
    pair = (log / "base", log / "slow")
    answer = diff_of(*pair)
    for command in ("check", "diff"):
        text = run(command, *pair, "--format", "markdown").stdout
        drawn = text.split("```mermaid\n")[1].split("```")[0]
        assert drawn.startswith("gantt\n")
        assert ", µs\n" in drawn  # thousandths of it are ns
        assert "section Compute" in drawn
        bars = bars_of(drawn)
        assert bars[0] == ("", 0, answer.base_ns)
        assert bars[-1] == ("", 0, answer.other_ns)
        slower = next(one for one in answer.parts if one.label == "Compute").change_ns
        assert ("crit, ", answer.base_ns, answer.base_ns + slower) in bars


def test_the_picture_goes_back_for_what_is_faster_and_drops_what_is_small(log: Path) -> None:
    answer = diff_of(log / "base", log / "slow")
    part = answer.parts[0]
    changes = {"Up": 40_000, "Small": 9_999, "Edge": -10_000, "Idle: Do#wn;": -30_000}
    parts = tuple(
        structs.replace(part, label=name, change_ns=change) for name, change in changes.items()
    )
    shown = structs.replace(answer, base_ns=9_990_001, other_ns=10_000_000, parts=parts)
    text = "\n".join(bridge_picture(shown))
    assert ", ms\n" in text  # thousandths of it are µs
    assert [line[10:] for line in text.splitlines() if "section" in line] == [
        "Step A", "Up", "Edge", "Idle, Do wn ", "Step B",
    ]  # fmt: skip
    assert bars_of(text) == [
        ("", 0, 9_990),
        ("crit, ", 9_990, 10_030),
        ("done, ", 10_030, 10_040),
        ("done, ", 10_000, 10_030),
        ("", 0, 10_000),
    ]
    for ns, unit in ((4_999_999_999, "ms"), (5_000_000_000, "s"), (4_999, "µs")):
        longer = structs.replace(shown, base_ns=ns, other_ns=1, parts=())
        assert f", {unit}" in bridge_picture(longer)[2]


def diff_of(base: Path, other: Path) -> Diff:
    """The comparison that `diff` writes as JSON."""
    answer = json.loads(run("diff", base, other, "--format", "json").stdout)
    return msgspec.convert(answer["diff"], Diff)


def bars_of(chart: str) -> list[tuple[str, int, int]]:
    """Kind, begin and end of each bar of a chart."""
    found = re.findall(r" :(\D*)(\d+), (\d+)$", chart, re.MULTILINE)
    return [(kind, int(first), int(last)) for kind, first, last in found]


def test_diff_of_a_recording_with_itself(log: Path) -> None:
    answer = json.loads(run("diff", log / "base", log / "base", "--format", "json").stdout)
    assert answer["diff"]["outcome"] == "no change"
    assert not any(row["change_ns"] for table in answer["tables"] for row in table["rows"])
    assert {row["status"] for table in answer["tables"] for row in table["rows"]} == {"same"}


def test_names_of_a_trace_move_no_cursor(log: Path) -> None:
    plant = Plant(names={"aten::mm": "evil\u001b[2J|name"})
    write_training(log / "odd" / "w.pt.trace.json", 8, STEPS, plant)
    for form in ("table", "markdown"):
        out = run("diff", log / "base", log / "odd", "--format", form).stdout
        assert "\u001b" not in out


# --- the line of code, and the evidence -----------------------------------------------------------


def write_framed(folder: Path, seed: int, plant: Plant, line: str) -> None:
    """A recording with Python frames around `aten::mm`."""
    folder.mkdir()
    recorded = [*with_frames(events(seed, STEPS, plant), line)]
    document = {"schemaVersion": 1, **metadata(plant), "traceEvents": recorded}
    (folder / "w.pt.trace.json").write_text(json.dumps(document))


def with_frames(recorded: Iterable[Event], line: str) -> Iterator[Event]:
    """Each call of `aten::mm` with the line that made it, and a frame of torch between them."""
    for event in recorded:
        yield event
        if event["name"] == "aten::mm":
            ids = {"Python id": 1, "Python parent id": None, "tid": event["tid"]}
            for name, out in (("torch/nn/functional.py(2077): linear", 0.4), (line, 0.8)):
                yield python(name, event["ts"] - out, event["dur"] + 2 * out, **ids)


LINE = "/home/me/train.py(42): forward"


def test_a_failure_names_operator_amount_line_and_events(log: Path) -> None:
    for run_, seed, plant in (("a", 1, Plant()), ("b", 5, SLOW)):
        write_framed(log / run_, seed, plant, LINE)
    result = run("check", log / "a", log / "b")
    assert result.exit_code == 7, result.output
    told = next(line for line in result.stdout.splitlines() if "operator aten::mm" in line)
    assert told.startswith(f"    operator aten::mm at {LINE}: +1"), told
    amount, calls, longest = re.split(r" \(|\), differs; ", told)
    assert re.search(r"\+1[45]\d µs per step$", amount)
    assert re.fullmatch(r"1 call per step, 50\d µs → 65\d µs each, p = [\d.]+e-\d+", calls)
    found = re.fullmatch(r"longest (6\d\d) µs in step (\d+), ([\d.]+) ms after .*", longest)
    assert found is not None, longest
    own = [one for one in events(5, STEPS, SLOW) if one["name"] == "aten::mm"]
    event = max(own, key=lambda one: one["dur"])
    launch_us = 2  # is not its own
    assert (own.index(event), round(event["dur"] - launch_us)) == (int(found[2]), int(found[1]))
    assert float(found[3]) == pytest.approx(event["ts"] / 1000, rel=0.01)
    assert f"kernel gemm2 of aten::mm at {LINE}: +1" in result.stdout


def test_a_failure_without_stacks_says_why_no_line_is_named(log: Path) -> None:
    result = run("check", log / "base", log / "slow")
    assert "kernel gemm2 of aten::mm: +1" in result.stdout
    assert "Lines of code are not available." in result.stdout
    assert "with_stack=True" in result.stdout


def test_a_renamed_operator_that_is_slower_has_both_names(log: Path) -> None:
    plant = Plant(slower={"aten::mm": 1.3}, names={"aten::mm": "mine::mm"})
    write_training(log / "mine" / "w.pt.trace.json", 8, STEPS, plant)
    result = run("check", log / "base", log / "mine")
    assert "operator aten::mm → mine::mm: +1" in result.stdout
    lines = budget(log, step=1, operators={"mine::mm": 0.1})
    result = run("check", log / "base", log / "mine", "--budget", lines)
    assert result.exit_code == 8
    assert "? operator mine::mm" in result.stdout
    assert "3 recordings a side tell the code from the day." in result.stdout


# --- what is wrong with a budget ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ('{"step": "2%"}', "line 1, step: ", "write 2 % as 0.02"),
        ('{"step": -0.02}', "line 1, step: ", "write 2 % as 0.02"),
        ('{"step": true}', "line 1, step: ", "write 2 % as 0.02"),
        ('{\n  "stepp": 1\n}', "line 2, stepp: ", "did you mean step?"),
        ('{"counts": {\n"lanches": 0}}', "line 2, counts.lanches: ", "did you mean launches?"),
        ('{"counts": {"kernels": "0"}}', "line 1, counts.kernels: ", "write 2 % as 0.02"),
        (
            '{"parts":\n\n{"idle_bloking_ns": 0.01}}',
            "line 3, parts.idle_bloking_ns: ",
            "did you mean idle_blocking_ns?",
        ),
        ('{"operators": ["aten::mm"]}', "line 1, operators: ", "write {"),
        ('{"step": 0.1,\n}', "line 2: ", "repair it there"),
        ('{"step": 0.1, "step": 0.2}', "step stands in it twice", "repair it there"),
        ('{"step": NaN}', "NaN is no number", "repair it there"),
        ("[0.02]", "a budget is an object", "step, parts, counts"),
        ("[" * 100_000, "is no budget", "repair it there"),
        ('{"step": 1' + "0" * 400 + "}", "line 1, step: ", "0.02"),
        ('{"operators": {"\\ud800": 1}}', "is no budget", "repair it there"),
    ],
)
def test_a_budget_with_a_fault_is_refused_by_place(
    log: Path, text: str, place: str, remedy: str
) -> None:
    path = log / "budget.json"
    path.write_text(text)
    result = run("check", log / "base", log / "same", "--budget", path)
    assert result.exit_code == 2, result.output
    assert "budget.json" in result.stderr
    assert place in result.stderr
    assert remedy in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_budget_that_is_not_there(log: Path) -> None:
    assert run("check", log / "base", log / "same", "--budget", log / "none.json").exit_code == 4


def test_a_budget_for_what_is_in_neither_recording_is_not_kept_in_silence(log: Path) -> None:
    """Else a name with a typing error would be fine for ever."""
    lines = budget(log, step=1, operators={"aten::mn": 0.1}, parts={"forward_ns": 0.1})
    result = run("check", log / "base", log / "same", "--budget", lines)
    assert result.exit_code == 8
    assert "? operator aten::mn: It is in neither recording. Did you mean aten::mm?" in (
        result.stdout
    )
    assert "? part forward_ns: The step has no such part" in result.stdout  # there is a device


def test_a_part_of_another_division_is_checked_in_that_division(log: Path) -> None:
    lines = budget(log, step=1, parts={"kernel_ns": 0.05, "memset_ns": 0})
    result = run("check", log / "base", log / "slow", "--budget", lines)
    assert result.exit_code == 8
    assert "? part kernel_ns: kernels: 1.10 ms → 1.25 ms per step" in result.stdout
    assert "✓ part memset_ns: Memsets: none in either recording." in result.stdout


# --- hostile names, odd pairs, and what programs read ---------------------------------------------

ODD = "https://evil.example/a www.evil.example "
ODD += "evil\x1b[2J|`tick`[x](http://e)<b>&*_\n]]>\ufffe @me " + "y" * 200


@pytest.fixture(name="odd")
def odd_names(log: Path) -> Path:
    plant = Plant(slower={"aten::mm": 1.3}, names={"aten::mm": ODD})
    write_training(log / "odd" / "w.pt.trace.json", 8, STEPS, plant)
    return log


def test_a_hostile_name_is_text_in_every_report(odd: Path) -> None:
    report = odd / "reports" / "of" / "today.xml"
    pair = ("check", odd / "base", odd / "odd")
    out = run(*pair, "--format", "markdown", "--junit", report).stdout
    (line,) = (line for line in out.splitlines() if "operator" in line)
    assert "\\[x\\]" in line
    assert "\\`tick\\`" in line
    assert "&lt;b" in line
    assert "@" not in line
    assert not re.search(r"(?i)[a-z]://|www\.", line)  # Markdown makes links of bare addresses
    assert "https\\://evil.example/a" in line
    assert "\x1b" not in out
    failure = ET.parse(report).getroot().find("testcase/failure")  # noqa: S314  # our own
    assert failure is not None
    assert "<b>&*_\\x0a]]>\\ufffe" in (failure.text or "")
    assert "\x1b" not in run(*pair).stdout


def test_a_hostile_name_breaks_no_table_of_markdown(odd: Path) -> None:
    out = run("diff", odd / "base", odd / "odd", "--format", "markdown").stdout
    (line,) = (line for line in out.splitlines() if "evil" in line and "renamed" in line)
    assert len(re.findall(r"(?<!\\)\|", line)) == 7  # six cells
    assert line.count("`") == 2


def test_long_names_fit_a_terminal(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("diff", "check"):
        out = run(command, odd / "base", odd / "odd").stdout
        assert max(map(len, out.splitlines())) <= 80, command
        assert "yyyy" in out, command


def test_pairs_that_say_nothing_about_the_code(log: Path) -> None:
    """Without steps, of another device, of memory alone, swapped, and the same twice."""
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    for name, document in (
        ("whole", {**metadata(), "traceEvents": [event]}),
        ("memory", {"traceEvents": [{**event, "ph": "i", "name": "[memory]", "args": {}}]}),
    ):
        (log / f"{name}.pt.trace.json").write_text(json.dumps(document))
        result = run("check", log / "base", log / f"{name}.pt.trace.json")
        assert result.exit_code in (3, 8), (name, result.output)
        assert "Traceback" not in result.output
    snapshot = log / "memory.pickle"
    snapshot.write_bytes(pickle.dumps({"segments": [], "device_traces": []}))
    result = run("diff", log / "base", snapshot)
    assert (result.exit_code, "kinetoscope snapshot" in result.stderr) == (6, True), result.output
    assert run("check", log / "base", log / "base").exit_code == 0
    assert run("check", log / "slow", log / "base").exit_code == 0
    (log / "notes.txt").write_text("no trace")
    assert run("diff", log / "base", log / "notes.txt").exit_code == 3
    assert run("diff", log / "base", log / "nothing").exit_code == 4


def test_the_forms_for_programs_keep_their_keys(log: Path) -> None:
    """docs/command-line.md names them."""
    report = json.loads(run("check", log / "base", log / "slow", "--format", "json").stdout)
    assert list(report) == ["outcome", "headline", "cases"]
    assert {tuple(one) for one in report["cases"]} == {
        ("name", "outcome", "text", "evidence", "frames")
    }
    answer = json.loads(run("diff", log / "base", log / "slow", "--format", "json").stdout)
    assert list(answer) == ["diff", "tables"]
    assert {
        "outcome", "headline", "detail", "certainty", "settle", "base_ns", "other_ns", "change_ns",
        "parts", "counts", "mismatches",
    } <= set(answer["diff"])  # fmt: skip
    assert {"group", "metric", "count", "rows"} <= set(answer["tables"][0])


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
def test_a_reader_that_goes_away_is_no_fault(log: Path) -> None:
    for form in ("json", "markdown"):
        command = [sys.executable, "-m", "kinetoscope", "diff", "base", "slow", "--format", form]
        with subprocess.Popen(
            command, cwd=log, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            said = process.stderr.read().decode()
        assert "Traceback" not in said
        assert "Broken" not in said


def test_a_count_that_is_nothing_on_both_sides_is_known(log: Path) -> None:
    """One process has no collectives: a budget that speaks of them can be kept."""
    lines = budget(log, counts={"collectives": 0})
    result = run("check", log / "base", log / "same", "--budget", lines)
    assert result.exit_code == 0, result.output
    assert "✓ count collectives: Collectives: none in either recording." in result.stdout


# --- in a job of GitHub Actions -------------------------------------------------------------------


def test_what_is_worse_is_marked_at_its_line(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (log / "samples").mkdir()
    (log / "samples" / "train.py").touch()
    outputs = log / "outputs"
    monkeypatch.setenv("GITHUB_OUTPUT", str(outputs))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(log))
    for folder, seed, plant in (("a", 1, Plant()), ("b", 5, SLOW)):
        write_framed(log / folder, seed, plant, "train.py(42): forward")
    result = run("check", log / "a", log / "b", "--github")
    assert result.exit_code == 7, result.output
    (error,) = [line for line in result.stderr.splitlines() if line.startswith("::")]
    start = "::error file=samples/train.py,line=42,title=kinetoscope::operator aten::mm at train.py"
    assert error.startswith(start)
    told = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    assert told["outcome"] == "worse"
    assert re.match(r"1[45]\d µs slower per step: ", told["headline"])
    assert run("check", log / "a", log / "a", "--github").exit_code == 0
    assert "outcome=ok\n" in outputs.read_text()
    lines = budget(log, step=10, counts={"launches": 0})
    more = Plant(times={"aten::copy_": 2})
    write_framed(log / "c", 2, more, "train.py(42): forward")
    assert run("check", log / "a", log / "c", "--github", "--budget", lines).exit_code == 7
    assert "headline=count launches: " in outputs.read_text()
    kept = run("check", "main", log / "a", "--keep", "--github")
    assert (kept.exit_code, "::" in kept.stderr) == (0, False)
    assert "headline=There is no baseline main yet:" in outputs.read_text()


def test_no_text_of_a_trace_is_a_command_of_the_runner(tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    (folder / "50%:x.py").touch()
    frame = "a,b/50%:x.py(7): f"
    evil = "op\n::stop-commands::x 100%"
    case = BudgetCase("step time", "worse", "", (evil, "other"), (frame,))
    assert runner_commands([case], tmp_path) == [
        "::error file=a%2Cb/50%25%3Ax.py,line=7,title=kinetoscope::op ::stop-commands::x 100%25"
    ]


def test_only_files_of_the_workspace_are_marked_and_at_most_nine(tmp_path: Path) -> None:
    root = tmp_path / "work"
    for name in ("a.py", "one/twice.py", "two/twice.py", "two/once.py", ".venv/hidden.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (tmp_path / "outside.py").touch()

    def marked(*names: str, outcome: CaseOutcome = "worse") -> list[str]:
        frames = tuple(f"{name}({at}): f" for at, name in enumerate(names, 1))
        case = BudgetCase("step time", outcome, "", tuple("x" for _ in frames), frames)
        return [re.split("[=,]", line)[1] for line in runner_commands([case], root)]

    assert marked("a.py", "once.py", "two/once.py", f"{root}/a.py") == [
        "a.py", "two/once.py", "two/once.py", "a.py",
    ]  # fmt: skip
    assert marked("twice.py", "hidden.py", "../outside.py", f"{tmp_path}/outside.py") == []
    assert marked("no.py", "<string>", "a/../a.py") == []
    assert marked(*["a.py"] * 12) == ["a.py"] * 9
    assert marked("a.py", outcome="cannot tell") == []
