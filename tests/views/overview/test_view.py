"""The first screen: what is chosen, what is shown, what is missing."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from msgspec import structs

from kinetoscope.analysis import steps as steps_module
from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.findings import Explanation
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import QueryError
from kinetoscope.session.session import TraceSession, choose
from kinetoscope.views.legend import BREAKDOWN, HOST, PARTITION
from kinetoscope.views.overview.idle import PathQuery, path
from kinetoscope.views.overview.view import VIEW, Overview, OverviewQuery, advice_on, build, tables
from tests.analysis.invariants import check_overview
from tests.conftest import ROOT
from tests.drawing import LOADER, V100, draw
from tests.trace.drawn import drawn, drawn_by_others, x

TRAINING = """
    step   |1111111111111111222222222233333333334 |
    note   |DDDD            DDD       DDD         |
    call   |    a               b         c       |
    gpu0   |     aaaaaaaaaaa     bbbbb     ccccc  |
    """


@pytest.fixture(name="facts", scope="module")
def training() -> Facts:
    return summarize(draw(TRAINING, names={"D": LOADER}, deviceProperties=[V100, {"id": 1}]))


def of(facts: Facts, steps: str = "") -> Overview:
    answer = build(facts, OverviewQuery(steps=steps))
    check_overview(answer)
    return answer


def test_warm_up_and_cut_off_steps_are_shown_but_not_chosen(facts: Facts) -> None:
    rows = of(facts).steps
    assert [(row.number, row.chosen, row.excluded) for row in rows] == [
        (1, False, "warm-up"),
        (2, True, None),
        (3, True, None),
        (4, False, "incomplete"),
    ]


def test_the_ruler_is_the_mean_of_the_chosen_steps(facts: Facts) -> None:
    ruler = of(facts).ruler
    assert ruler.title.replace("\u00a0", " ") == "Mean step on GPU 0"
    assert (ruler.total_ns, ruler.step_count, ruler.mean_ns) == (20_000, 2, 10_000.0)
    shares = {one.key: one.mean_ns for one in ruler.shares if one.mean_ns}
    assert shares == {
        "compute_ns": 5000.0,
        "idle_dataloader_ns": 3000.0,
        "idle_launch_ns": 1000.0,
        "idle_uninstrumented_ns": 1000.0,
    }
    assert (ruler.busy_ns, ruler.idle_ns) == (5000.0, 5000.0)


def test_another_choice_of_steps(facts: Facts) -> None:
    assert of(facts, "1").ruler.total_ns == 16_000
    assert of(facts, "1").ruler.title.startswith("The step")
    assert of(facts, "all").ruler.step_count == 4
    assert [row.chosen for row in of(facts, "1,3-4").steps] == [True, False, True, True]


def test_the_summary_begins_with_the_step(facts: Facts) -> None:
    rows = of(facts).summary
    assert [row.key for row in rows] == ["step", *(part.key for part in BREAKDOWN)]
    assert rows[0].ratio == 1.0


def test_devices_that_were_not_used_have_no_figures(facts: Facts) -> None:
    used, unused = of(facts).devices
    assert (used.used, len(used.gauges)) == (True, 4)
    assert (unused.used, unused.gauges) == (False, ())
    assert {row.label: row.value for row in of(facts).configuration}["Devices"].replace(
        "\u00a0", " "
    ) == "1 of 2 visible GPUs used"


def test_a_bad_choice_is_an_error_with_a_hint(facts: Facts) -> None:
    with pytest.raises(QueryError, match="no step"):
        build(facts, OverviewQuery(steps="9"))
    with pytest.raises(QueryError, match="no device"):
        build(facts, OverviewQuery(device="1"))


def test_a_run_on_the_host() -> None:
    answer = of(summarize(draw("step |11112222|\n op |aaa bbb |")))
    assert answer.device_type == "CPU"
    assert answer.device_row is None
    assert answer.ruler.title == "Mean step on the main thread"
    # What this recording cannot have is no zero: it holds no frames and no runtime calls.
    absent = {"runtime_ns", "python_ns"}
    assert [one.key for one in answer.ruler.shares] == [
        part.key for part in HOST if part.key not in absent
    ]
    assert (answer.ruler.busy_ns, answer.ruler.idle_ns) == (None, None)
    for row in answer.steps:
        unknown = {"kernel_ns", "memcpy_ns", "memset_ns", "runtime_ns"}
        assert {key for key, ns in row.breakdown.items() if ns is None} == unknown
        assert row.host is not None
        assert {key for key, ns in row.host.items() if ns is None} == absent
        assert sum(filter(None, row.breakdown.values())) == row.dur_ns
    assert "supported_activities()" in answer.missing["devices"]
    assert all(row.partition is None and row.host is not None for row in answer.steps)


def test_a_run_without_steps_says_so() -> None:
    answer = of(summarize(draw("op |aaa|")))
    assert "prof.step()" in answer.step_source
    assert answer.step_source == answer.missing["steps"]
    assert answer.ruler.title.startswith("The recording")
    assert answer.summary[0].label == "Recording"


def words_of(facts: Facts) -> str:
    """All that Overview, its tables and the advice say, but how steps are recorded."""
    answer = of(facts)
    shown = [
        (table.title, table.columns, table.rows)
        for table in tables(answer)
        if table.title not in ("Not available", "Not checked")
    ]
    advice = advice_on(facts, "", "", {})
    rules = [rule.title for one in answer.unchecked for rule in one.rules]
    help_ = [one.help for one in answer.summary]
    help_ += [one.help for one in answer.ruler.shares] + [one.help for one in answer.figures]
    gauges = [one.help for card in answer.devices for one in card.gauges]
    said = [answer.findings, rules, help_, gauges, shown, advice.findings]
    return msgspec.json.encode(said).decode()


@pytest.mark.parametrize("is_marked", [False, True])
def test_a_recording_without_steps_is_no_step(is_marked: bool) -> None:
    """Not in a title, a heading, a tooltip, a finding or a rule."""
    steps = "step   |111111111111111111111|" if is_marked else ""
    drawing = f"""
    {steps}
    op     |aaaaaaaaaaaaaaaaaaaaa|
    call   |k        m       n   |
    gpu    | k        mm      n  |
    """
    facts = summarize(draw(drawing))
    said = re.findall(r"\bthe step\b|\bper step\b|\bchosen step", words_of(facts), re.IGNORECASE)
    titles = {table.title for table in tables(of(facts))}
    assert bool(said) == is_marked
    assert ("Step time breakdown" in titles) == is_marked
    assert ("Recording time breakdown" in titles) != is_marked
    assert of(facts).noun == ("step" if is_marked else "recording")


def test_advice_chooses_its_steps_once(facts: Facts, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    parse = steps_module.parse_steps

    def parse_once(text: str, of: Facts) -> tuple[int, ...]:
        asked.append(text)
        return parse(text, of)

    monkeypatch.setattr(steps_module, "parse_steps", parse_once)
    assert advice_on(facts, "2", "", {}).scope.steps == (2,)
    assert asked == ["2"]


def test_steps_told_by_annotations_are_named() -> None:
    names = {letter: f"iteration {i}" for i, letter in enumerate("abcd")}
    answer = of(summarize(draw("note |aaabbbcccddd|", names=names)))
    assert answer.step_source == "Steps are the ranges named `iteration`."
    assert [row.name for row in answer.steps] == list(names.values())


def test_nothing_at_all() -> None:
    answer = of(summarize(draw("")))
    assert answer.sentence.headline == "Nothing was recorded that takes time."
    assert answer.steps == ()
    assert answer.ruler.mean_ns == 0
    assert answer.ruler.shares == ()
    assert [row.key for row in answer.summary] == ["step"]
    assert answer.missing["steps"]


def test_a_profile_of_nothing_says_so() -> None:
    """Ranges of the recorder last, and are no part of the run."""
    facts = structs.replace(summarize(draw("")), duration_ns=5_000)
    assert "did the code run inside" in of(facts).sentence.detail


def test_parts_have_labels_of_their_own_and_fields_in_the_facts(facts: Facts) -> None:
    step = facts.steps[0]
    for parts, struct in ((PARTITION, step.devices[0].partition), (BREAKDOWN, step.breakdown)):
        assert all(hasattr(struct, part.key) for part in parts)
        assert len({part.label for part in parts}) == len(parts)
    categories = {
        "compute",
        "comm",
        "memcpy",
        "memset",
        "runtime",
        "loader",
        "cpu",
        "idle",
        "other",
    }
    categories |= {"cpu-light", "cpu-deep", "cpu-deepest"}  # phases on the host
    assert {part.category for part in (*PARTITION, *HOST, *BREAKDOWN)} <= categories


def test_tables_carry_full_precision(facts: Facts) -> None:
    shown = {table.title: table for table in tables(of(facts))}
    steps = shown["Step time breakdown"]
    assert [column.key for column in steps.columns[:3]] == ["step", "dur_ns", "kernel_ns"]
    assert steps.rows[1][:3] == ("ProfilerStep#2", 10_000, 5_000)
    for table in shown.values():
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert shown["Findings"].rows[0][0] == "IN1"


def test_the_tab_counts_findings(facts: Facts) -> None:
    assert VIEW.badge(facts) == len(of(facts).findings)
    assert VIEW.badge(summarize(draw(""))) is None
    assert VIEW.unavailable(facts) is None


def test_the_tab_of_several_ranks_has_no_count_that_a_comparison_would_change() -> None:
    """The frame of the page asks for it first: it waits for no comparison."""
    session = choose(str(ROOT / "samples" / "traces" / "train_ddp_cpu")).session()
    assert VIEW.badge(session.facts()) is not None
    assert VIEW.badge(session.asked(VIEW)) is None


def test_without_a_device_there_are_no_zeros_for_kernels() -> None:
    answer = of(
        summarize(
            draw("""
    step   |1111111111222222222|
    op     | aaaaaa    aaaaa   |
    """)
        )
    )
    assert [row.label for row in answer.summary] == [
        "Step", "Communication anywhere", "DataLoader", "CPU exec", "Other",
    ]  # fmt: skip
    assert "device activity" in answer.missing["devices"]
    breakdown = next(one for one in tables(answer) if one.title == "Step time breakdown")
    assert [column.key for column in breakdown.columns] == [
        "step", "dur_ns", "communication_ns", "dataloader_ns", "cpu_exec_ns", "other_ns",
        "excluded",
    ]  # fmt: skip


def test_a_blamed_cause_without_a_finding_is_explained_in_a_table(facts: Facts) -> None:
    """The command line prints what the page says below the findings."""
    answer = msgspec.structs.replace(
        of(facts), unanswered=Explanation("No rule covers this cause.")
    )
    shown = {table.title: table for table in tables(answer)}
    assert shown["Without a finding"].rows == (("No rule covers this cause.",),)
    answered = msgspec.structs.replace(answer, unanswered=None)
    assert "Without a finding" not in {table.title for table in tables(answered)}


@pytest.mark.parametrize(
    "write", [drawn, drawn_by_others], ids=["among torch's keys", "by another recorder"]
)
def test_the_parts_of_a_step_and_its_critical_path_call_foreign_events_alike(write: Any) -> None:
    """Of what ran in them neither knows anything: it is no op."""
    trace = write(x("f", 0, 90, cat="fee"), x("g", 10, 20, cat="fee"))
    subject = TraceSession(trace).seen_by(VIEW)
    parts = [(one.label, one.mean_ns) for one in of(subject.facts).ruler.shares if one.mean_ns]
    shares = [(one.label, one.ns) for one in path(subject, PathQuery()).shares]
    rest = "No known operator" if write is drawn else "Of no known kind"
    assert shares == parts == [(rest, 90_000)]


def test_parts_that_another_recorder_cannot_tell_are_not_available_and_not_zero() -> None:
    """Among its events there may be anything: none of them is known to be a DataLoader."""
    answer = of(summarize(drawn_by_others(x("f", 0, 90, cat="fee"))))
    assert [one.label for one in answer.ruler.shares] == ["Of no known kind"]
    assert [one.label for one in answer.summary] == ["Recording", "Of no known kind"]
    assert answer.missing["parts"] == (
        "DataLoader, Forward, Backward, Optimizer, Communication, Compile and CPU exec are not "
        "available, because another program than torch.profiler wrote this file, and none of its "
        "events is known to be of such a kind."
    )
    (row,) = answer.steps
    assert {key: ns for key, ns in row.breakdown.items() if ns is not None} == {"other_ns": 90_000}
    assert row.host is not None
    assert {key for key, ns in row.host.items() if ns is not None} == {"uninstrumented_ns"}
    assert answer.ruler.overlap_ns is None
    assert {row.label: row.value for row in answer.configuration}["Device type"] == "not known"
    shown = {table.title: table for table in tables(answer)}
    assert [column.key for column in shown["Recording time breakdown"].columns] == [
        "step", "dur_ns", "other_ns", "excluded",
    ]  # fmt: skip
    assert ("Parts of the recording", answer.missing["parts"]) in shown["Not available"].rows


def test_what_another_recorder_tells_is_shown() -> None:
    """Ranges of the kind `user_annotation` are known in the files of any recorder."""
    own = x("f", 0, 90, cat="fee")
    answer = of(summarize(drawn_by_others(own, x("prepare", 10, 25, cat="user_annotation"))))
    assert {one.label: one.mean_ns for one in answer.summary}["CPU exec"] == 25_000
    assert "CPU exec" not in answer.missing["parts"]
    assert "DataLoader" in answer.missing["parts"]


def test_ranges_that_torch_1_7_did_not_write_are_no_zeros_in_a_legacy_file() -> None:
    facts = summarize(draw("op |aaaa|"))
    answer = of(structs.replace(facts, torch_era="A"))
    assert answer.missing["parts"] == (
        "DataLoader and Optimizer are not available, because torch 1.7 and earlier write no range"
        " of it, and the file does not tell its version."
    )
    (row,) = answer.steps
    assert row.host is not None
    assert (row.host["dataloader_ns"], row.host["optimizer_ns"]) == (None, None)
    assert "parts" not in of(facts).missing
    seen = structs.replace(summarize(draw("op |aDaa|", names={"D": LOADER})), torch_era="A")
    assert of(seen).missing["parts"].startswith("Optimizer is not available")


@pytest.mark.parametrize(
    ("era", "frames", "how"),
    [
        ("F", 0, " To see the Python that ran there: record with `with_stack=True`."),
        ("C", 0, " To see the Python that ran there: record with torch 1.11 or later and"),
        ("A", 0, " To see the Python that ran there: `torch.autograd.profiler` exports none"),
        ("Ascend", 0, " To see the Python that ran there: record with `torch_npu.profiler"),
        ("F", 5, ""),
    ],
)
def test_what_is_left_says_how_its_recorder_could_have_seen_more(
    facts: Facts, era: str, frames: int, how: str
) -> None:
    found = structs.replace(facts, torch_era=era, counts={**facts.counts, "python": frames})
    help_of = {one.key: one.help for one in of(found).ruler.shares}
    before, _, after = help_of["idle_uninstrumented_ns"].partition("another recorder wrote.")
    assert before
    assert after.startswith(how) if how else not after


def test_a_recording_of_devices_alone_has_no_zeros_for_the_host() -> None:
    answer = of(summarize(draw("call |a b |\n gpu0 | a b|")))
    assert [row.label for row in answer.summary] == [
        "Recording", "Kernel", "Memcpy", "Memset", "Communication anywhere", "Runtime", "Other",
    ]  # fmt: skip
    assert answer.missing["parts"] == (
        "DataLoader and CPU exec are not available, because no op and no annotation was recorded: "
        "record with `activities=[ProfilerActivity.CPU, …]`."
    )
    (row,) = answer.steps
    assert {key for key, ns in row.breakdown.items() if ns is None} == {
        "dataloader_ns", "cpu_exec_ns",
    }  # fmt: skip
    assert row.partition is not None
    assert {key for key, ns in row.partition.items() if ns is None} == {
        "idle_python_ns", "idle_dataloader_ns", "idle_compile_ns", "idle_optimizer_ns",
        "idle_dispatch_ns",
    }  # fmt: skip
