"""`kinetoscope advise`: for people, for tickets, for programs."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import msgspec
import pytest

from kinetoscope.base.errors import UnavailableError
from kinetoscope.notebook import open_trace
from kinetoscope.views.overview.document import AdviceDocument, fitted
from tests.cli.runs import run
from tests.conftest import ROOT
from tests.drawing import LOADER, draw_at
from tests.trace.pickles.drawn_snapshot import event, snapshot

WAITING = """
    step   |1111111111111111111122222222222222222222|
    note   |DDDDDDDDDDDDDD      DDDDDDDDDDDDDDD     |
    op     |              aaaaaa               aaaaa|
    """


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two steps that wait for the DataLoader for most of their time."""
    path = tmp_path / "x.pt.trace.json"
    draw_at(path, WAITING, names={"D": LOADER})
    return path


def document(trace: Path, *options: str) -> AdviceDocument:
    result = run("advise", trace, "--format", "json", *options)
    assert result.exit_code == 0
    return msgspec.json.decode(result.stdout, type=AdviceDocument)


def test_the_document_says_what_was_found_and_what_cannot_be_answered(trace: Path) -> None:
    told = document(trace)
    assert told.schema == 2
    assert told.scope.steps == (1, 2)
    assert [one.id for one in told.findings] == ["IN1"]
    found = told.findings[0]
    assert found.gain is not None
    assert found.gain.kind == "ceiling"
    assert found.gain.ratio == told.together_ratio == 29 / 40
    assert found.action.text in found.text
    records = [one.record for one in told.cannot_answer]
    assert len(set(records)) == len(records), "each need is said once"
    (stacks,) = [one for one in told.cannot_answer if "with_stack=True" in one.record]
    assert {"PY1", "LA3", "RE1"} - {one.id for one in stacks.rules} == {"RE1"}  # of a device
    assert told.left_out == 0
    first = told.critical_path[0]
    assert (first.kind, first.names) == ("DataLoader", (LOADER,))
    assert (first.ns_per_step, first.ratio) == (14_500.0, 29 / 40)
    assert (told.ranks, told.not_judged) == ("", ())


def test_the_document_names_the_late_rank_and_what_no_figure_contains(tmp_path: Path) -> None:
    told = document(ROOT / "samples" / "traces" / "train_ddp_cpu")
    assert told.ranks.startswith("Rank 1 makes the others wait")
    place = tmp_path / "x.pt.trace.json"
    draw_at(place, "step   |1111113333|\nop     |aaaa  aaaa|")
    assert document(place).not_judged == ("Step 2 is not in the recording.",)


def test_a_size_limit_takes_the_critical_path_before_a_finding(trace: Path) -> None:
    told = document(trace)
    short = msgspec.structs.replace(told, critical_path=())
    size = len(msgspec.json.encode(short))
    kept = fitted(told, size)
    assert (kept.critical_path, len(kept.findings), kept.left_out) == ((), 1, 0)
    assert fitted(told, size + 400).critical_path == told.critical_path


def test_evidence_is_resolved_by_its_number(trace: Path) -> None:
    seen = document(trace).findings[0].evidence[0]
    event = json.loads(run("advise", trace, "--slice", str(seen.slice)).stdout)
    assert event["in_file"]["name"] == seen.name == LOADER
    assert (event["start_ns"], event["end_ns"]) == (seen.start_ns, seen.end_ns)
    assert seen.page["select"] == str(seen.slice)


def test_an_unknown_number_says_which_there_are(trace: Path) -> None:
    result = run("advise", trace, "--slice", "99999")
    assert result.exit_code == 4
    assert "0 to" in result.stderr


def test_a_size_limit_keeps_the_first_parts_and_counts_the_rest(trace: Path) -> None:
    whole = len(run("advise", trace, "--format", "json").stdout)
    told = document(trace, "--max-bytes", str(whole - 200))
    assert len(msgspec.json.encode(told)) <= whole - 200
    assert told.findings == () or len(told.findings[0].evidence) == 1
    assert told.left_out == 1 - len(told.findings)


def test_people_get_the_sentence_and_the_evidence(trace: Path) -> None:
    text = run("advise", trace).stdout
    assert text.startswith("The run waits for the DataLoader for 72.5 % of every step.")
    assert "num_workers=4" in text
    assert "longest event: slice" in text
    assert "Not answered by this recording:" in text
    assert text.count("with_stack=True") == 1
    assert "\nNot available:\n  Devices: No device activity was recorded" in text


def test_a_ticket_gets_markdown(trace: Path) -> None:
    text = run("advise", trace, "--format", "markdown").stdout
    assert text.startswith("# The run waits for the DataLoader")
    assert "```python\nDataLoader(…, num_workers=4)  # now 0\n```" in text


def test_what_is_not_available_is_listed_with_its_reason(trace: Path, tmp_path: Path) -> None:
    """A sentence on top says one of them at most."""
    (what,) = document(trace).not_available
    assert what == "Devices"
    text = run("advise", trace, "--format", "markdown").stdout
    assert "\n## Not available\n\n- Devices: No device activity was recorded" in text
    path = tmp_path / "device.pt.trace.json"
    draw_at(path, "call |a b |\n gpu0 | a b|")
    alone = document(path).not_available
    assert list(alone) == ["Steps", "Counters", "Parts of the recording"]
    assert alone["Parts of the recording"].startswith("DataLoader and CPU exec are not available")
    assert open_trace(path).advice().not_available == alone


def test_a_file_of_memory_alone_gets_no_advice_on_steps(tmp_path: Path) -> None:
    file = tmp_path / "now.pickle"
    taken = [event("alloc", at, 512, at, "train.py:7 forward") for at in range(1024, 4096, 512)]
    file.write_bytes(pickle.dumps(snapshot(*taken)))
    result = run("advise", file)
    assert result.exit_code == 6
    assert "no ops or kernels" in result.stderr
    with pytest.raises(UnavailableError):
        open_trace(file).advice()


def test_another_threshold_silences_a_rule(trace: Path, tmp_path: Path) -> None:
    limits = tmp_path / "thresholds.json"
    limits.write_text('{"loader_ratio": 0.8}')
    assert document(trace, "--thresholds", str(limits)).findings == ()
    assert open_trace(trace).advice(thresholds=str(limits)).findings == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"loader_share": 0.5}', "loader_share"),
        ('{"loader_ratio": "much"}', "loader_ratio"),
        ('{"loader_ratio": -1}', "loader_ratio is -1"),
        ("[]", "array"),
        ("{", "truncated"),
    ],
)
def test_a_bad_file_of_thresholds_is_named_with_its_fault(
    trace: Path, tmp_path: Path, text: str, problem: str
) -> None:
    limits = tmp_path / "thresholds.json"
    limits.write_text(text)
    result = run("advise", trace, "--thresholds", limits)
    assert result.exit_code == 2
    assert str(limits) in result.stderr
    assert problem in result.stderr
    assert "docs/findings.md" in result.stderr


def test_a_name_of_the_trace_writes_no_markdown_and_no_escape(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    hostile = LOADER + "`\n# Ignore all findings \x1b[2J"
    draw_at(path, WAITING, names={"D": hostile})
    text = run("advise", path, "--format", "markdown").stdout
    assert "\n# Ignore" not in text
    assert "\x1b" not in text


SAMPLE = Path(__file__).parents[2] / "samples/traces/train_ddp_cpu"


@pytest.mark.parametrize("worker", ["rank0", "rank1"])
def test_of_a_run_the_rank_that_is_late_comes_first(worker: str) -> None:
    told = document(SAMPLE, "--worker", worker)
    assert told.headline == "Rank 1 makes the others wait for two thirds of the mean step."
    assert [one.id for one in told.findings] == ["CO5", "PY3"]  # rank 1 sleeps, and rank 0 a little


def test_one_file_alone_says_what_it_holds() -> None:
    (alone,) = SAMPLE.glob("rank0.*")
    assert document(alone).headline == "Communication takes 73.3 % of every step."


def test_show_overview_waits_for_no_other_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path))
    unread = json.loads(run("show", "overview", SAMPLE, "--format", "json").stdout)
    assert "the recordings of 2\u00a0ranks were not compared" in unread["sentence"]["detail"]
    assert unread["waiting"] == 2
    document(SAMPLE)  # reads all of them
    read = json.loads(run("show", "overview", SAMPLE, "--format", "json").stdout)
    assert read["sentence"]["headline"].startswith("Rank 1 makes the others wait")
    assert read["waiting"] == 0
    chosen = run("show", "overview", SAMPLE, "--format", "json", "--steps", "2-4")
    assert json.loads(chosen.stdout)["sentence"]["headline"].startswith("Communication takes")
