"""What is to know about a recording."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.health.notes import CATALOG
from kinetoscope.trace.health_record import HealthRecord, Note
from kinetoscope.trace.read import read
from kinetoscope.views import all_views
from kinetoscope.views.health import VIEW, Health, HealthQuery, build, tables
from kinetoscope.views.timeline.view import missing
from tests.drawing import draw, memory
from tests.trace.drawn import DEVICE, drawn, kernel, meta, x
from tests.trace.pickles.drawn_snapshot import event, snapshot

FULL = """
    step   |1111111111|
    frame  |ffffffffff|
    module | MMMMMMMM |
    op     |  aaaaa   |
    call   |   l      |
    gpu    |     lll  |
    """


def of(facts: Facts) -> Health:
    return build(facts, HealthQuery())


def note(severity: str, title: str) -> Note:
    return Note(title.lower(), severity, title, 1, 0, "It matters.", taints=("overview",))


def with_notes(*notes: Note, **changes: int) -> Facts:
    facts = summarize(draw("op |aaa|"))
    record: HealthRecord = structs.replace(facts.health, notes=notes, **changes)
    return structs.replace(facts, health=record)


def test_the_sentence_counts_what_limits() -> None:
    one = of(with_notes(note("warning", "A"), note("info", "B")))
    assert one.sentence.headline == ("Read completely. 1\u00a0warning limits the answers.")
    two = of(with_notes(note("warning", "A"), note("warning", "B")))
    assert "2\u00a0warnings limit" in two.sentence.headline
    none = of(with_notes(note("good", "A")))
    assert none.sentence.headline == "Read completely. No warning touches its figures."
    many = of(with_notes(*(note("warning", str(i)) for i in range(7))))
    assert "7\u00a0warnings limit" in many.sentence.headline


def test_what_is_lost_comes_first() -> None:
    answer = of(with_notes(note("good", "G"), note("warning", "W"), note("error", "E")))
    assert [one.title for one in answer.notes] == ["E", "W", "G"]
    assert answer.sentence.headline.startswith("Read in part: some of the file is lost.")


def test_the_detail_says_what_was_read() -> None:
    facts = with_notes(skipped=2, repaired=1)
    detail = of(facts).sentence.detail.replace("\u00a0", " ")
    assert "2 pieces skipped and 1 piece repaired" in detail
    assert "without device activity" in detail


def test_counts_sum_to_the_events_of_the_file() -> None:
    trace = draw(
        FULL,
        events=[
            memory(3, 64, 128),
            {"ph": "M", "name": "thread_name", "pid": 100, "tid": 1, "args": {"name": "main"}},
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 100, "tid": 1, "ts": 1},
        ],
    )
    facts = summarize(trace)
    rows = of(facts).counts
    assert sum(row.count for row in rows) == facts.health.events == 9
    assert {row.label: row.count for row in rows}["Kernels"] == 1


def test_the_recipe_marks_what_the_recording_did_without() -> None:
    bare = {line.text.strip() for line in of(summarize(draw("op |aaa|"))).snippet if line.added}
    assert "prof.step()" in bare
    assert any(text.startswith("profile_memory=True") for text in bare)
    assert any(text.startswith("with_stack=True") for text in bare)
    trace = draw(FULL, args={"a": {"Input Dims": [[2]]}}, events=[memory(3, 64, 128)])
    assert not any(line.added for line in of(summarize(trace)).snippet)


def test_the_recipe_marks_no_option_that_was_used() -> None:
    """Before torch 1.11 stacks were text: what is missing is a newer torch, and a note says so."""
    facts = summarize(drawn(x("aten::mm", 0, 5, **{"Call stack": "train.py(3): f"})))
    added = [line.text.strip() for line in of(facts).snippet if line.added]
    assert not any(text.startswith("with_stack=True") for text in added)
    (note,) = (one for one in of(facts).notes if one.kind == "stacks_as_text")
    assert note.remedy == "Record with torch 1.11 or newer."


def test_the_recipe_is_python() -> None:
    text = "\n".join(line.text for line in of(summarize(draw("op |aaa|"))).snippet)
    compile(text, "recipe", "exec")


def test_what_the_file_says_of_itself() -> None:
    trace = draw(
        "call |a |\n gpu | aa|",
        record_shapes=1,
        cuda_runtime_version=12080,
        cupti_version=26,
        distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8},
        host_name="node-a",
    )
    told = of(summarize(trace)).recording
    assert told["CUDA runtime"] == "12.8"
    assert told["CUPTI"] == "26"
    assert told["Rank"] == "3"
    assert told["Host"] == "node-a"
    assert told["Options"] == "shapes"


def test_tables_and_tab() -> None:
    facts = with_notes(note("warning", "A"), note("error", "B"), note("info", "C"))
    for table in tables(of(facts)):
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert VIEW.badge(facts) == 2
    assert VIEW.badge(with_notes()) is None
    assert VIEW.unavailable(facts) is None


def test_what_the_user_added_is_shown_and_what_is_cut_is_said() -> None:
    added: dict[str, Any] = {
        "run_name": "<b>exp</b>",
        "hparams": {"lr": 0.1, "layers": [1, 2]},
        "notes": "n" * 2_500,
        "with_stack": 1,  # a recorder's own
        "distributedInfo": {"rank": 0},
        **{f"key{at}": at for at in range(120)},
    }
    facts = summarize(draw("op |aaa|", **added))
    answer = of(facts)
    assert [(one.key, one.text, one.more) for one in answer.user[:3]] == [
        ("run_name", "<b>exp</b>", 0),
        ("hparams", '{"lr": 0.1, "layers": [1, 2]}', 0),
        ("notes", "n" * 2_000, 500),
    ]
    assert (len(answer.user), answer.user_more) == (100, 23)
    table = tables(answer)[-1]
    assert table.title == "Added by the user"
    assert str(table.rows[2][1]).endswith("n… (500\u00a0characters more)")
    assert table.rows[-1][0] == "23\u00a0keys more"
    assert len(tables(answer)) == len(tables(of(summarize(draw("op |aaa|"))))) + 1


def test_no_call_of_torch_is_advised_to_another_recorder(tmp_path: Path) -> None:
    """A browser or a tracer of functions can add neither `prof.step()` nor an activity."""
    calls = [
        {"ph": "X", "cat": "fee", "name": "f", "ts": 100 * at, "dur": 80, "pid": 1, "tid": 1}
        for at in range(50)
    ]
    file = tmp_path / "result.json"
    file.write_text(json.dumps({"traceEvents": calls, "viztracer_metadata": {"version": "1"}}))
    facts = summarize(read(file))
    answer = of(facts)
    assert answer.snippet == ()
    assert answer.sentence.detail.endswith("Another program than torch.profiler wrote this file.")
    said = {one.kind: one.remedy for one in answer.notes}
    assert "count as steps in the files of any recorder" in said["no_steps"]
    reasons = [view.unavailable(facts) for view in all_views()]
    reasons += [*facts.unavailable.values(), *missing(facts).values(), *said.values()]
    advice = re.compile(r"prof\.step|=True|ProfilerActivity|Record with|record with|torch \d")
    assert [one for one in reasons if one and advice.search(one)] == []
    ours = of(summarize(draw(FULL)))
    assert ours.snippet


ADVICE_ON_TORCH = re.compile(
    r"torch|prof(iler)?\b|=True|Activity|[Rr]ecord with|schedule|add_meta|record_func|export"
)


@pytest.mark.parametrize("kind", CATALOG)
def test_each_remedy_says_for_which_recorder_it_is(kind: str) -> None:
    """What is advised on the files of all recorders is nothing that torch alone can do."""
    told = CATALOG[kind].remedy_of("Other")
    assert not ADVICE_ON_TORCH.search(told)


@pytest.mark.parametrize(
    ("device", "activity"), [("GPU", "CUDA"), ("XPU", "XPU"), ("NPU", "NPU"), ("MTIA", "MTIA")]
)
def test_the_activity_to_record_is_that_of_the_device(device: str, activity: str) -> None:
    """A device without launches: on what else than CUDA it ran, its own activity is named."""
    trace = drawn(
        meta("process_labels", DEVICE, labels=f"{device} 0"),
        [kernel("gemm", at, 2) for at in range(0, 30, 3)],
    )
    remedies = {note.kind: note.remedy for note in of(summarize(trace)).notes}
    expected = f"Record with `activities=[ProfilerActivity.CPU, ProfilerActivity.{activity}]`."
    assert remedies["no_runtime"] == remedies["device_only"] == expected


def test_a_file_of_memory_alone_is_no_profile(tmp_path: Path) -> None:
    file = tmp_path / "now.pickle"
    taken = [event("alloc", at, 512, at, "train.py:7 forward") for at in range(1024, 4096, 512)]
    note = {"device": 0, "name": "forward", "stage": "START", "time_us": 1000}
    file.write_bytes(pickle.dumps(snapshot(*taken, external_annotations=[note])))
    answer = of(summarize(read(file)))
    detail = answer.sentence.detail
    assert "unpacked" not in detail
    assert detail.endswith(" PyTorch's record of memory alone, which is no profile.")
    assert (
        answer.recording["Recorded by"] == "PyTorch's record of memory alone, which is no profile"
    )
    assert "Options" not in answer.recording
    answered = {one.question: one.answer for one in answer.answers}
    assert answered.pop("What filled the memory?") == "yes"
    assert set(answered.values()) == {"no"}


def test_logs_of_a_hang_are_a_warning(tmp_path: Path) -> None:
    facts = summarize(draw("op |aa|"))
    beside = structs.replace(facts, path=str(tmp_path / "a.pt.trace.json"))
    assert "hang" not in {note.kind for note in build(beside, HealthQuery()).notes}
    (tmp_path / "nccl_trace_rank_0").write_bytes(b'{"version": "2.4", "entries": []}')
    found = build(beside, HealthQuery())
    (note,) = (note for note in found.notes if note.kind == "hang")
    assert (note.severity, note.count, note.example) == ("warning", 1, "nccl_trace_rank_0")
    assert found.sentence.headline.endswith("1\u00a0warning limits the answers.")
