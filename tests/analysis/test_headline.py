"""The first sentence, for each thing that can hold a run up."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from kinetoscope.analysis import headline as headlines
from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.advice.unanswered import unanswered
from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.findings import Finding, Gain, RanksSaid, Sentence
from kinetoscope.analysis.headline import headline
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.units import NBSP
from kinetoscope.trace.read import read
from tests.drawing import LOADER, draw, draw_at
from tests.trace.drawn import annotation, drawn, kernel, x


def of(picture: str, **names: str) -> Sentence:
    sentence = headline(select(summarize(draw(picture, names=names))))
    return Sentence(*(text.replace("\u00a0", " ") for text in (
        sentence.headline, sentence.detail, sentence.agreement, sentence.cause)))  # fmt: skip


def test_waiting_for_the_data_loader() -> None:
    said = of(
        """
        step   |111111111222222222|
        note   |DDD      DDD      |
        call   |   a        b     |
        gpu    |    aaaaa    bbbbb|
        """,
        D=LOADER,
    )
    assert said.headline == "The GPU waits for the DataLoader for a third of every step."
    assert said.detail == (
        "Of a mean step of 9.00 µs it is busy for 5.00 µs, idle for 4.00 µs (44.4 %). "
        "For 3.00 µs it idles while "
        "`_SingleProcessDataLoaderIter.__next__` runs on a thread that launches kernels."
    )
    assert said.agreement == ""


def test_waiting_for_the_host() -> None:
    said = of(
        """
        step   |1111111111|
        op     |aaaaaaaa  |
        call   |      l   |
        gpu    |        ll|
        """
    )
    assert said.headline == "The GPU waits for the host to launch work for 80.0 % of the step."
    assert said.agreement == ""


def test_idle_under_blocking_calls() -> None:
    said = of(
        """
        step   |1111111111|
        call   |  sssss l |
        gpu    |         l|
        """,
        **{"call s": "cudaDeviceSynchronize"},
    )
    assert "blocking calls of the host for half of the step" in said.headline


def test_exposed_communication() -> None:
    said = of(
        """
        step   |1111111111|
        call   |nk        |
        gpu    | nnnnnn   |
        gpu.9  |      kkkk|
        """,
        n="ncclDevKernel_AllReduce(ncclArgs)",
    )
    assert said.headline == "The GPU waits for communication for half of the step."


def test_only_copies() -> None:
    said = of(
        """
        step   |1111111111|
        call   |c         |
        copy   | ccccccccc|
        """
    )
    assert said.headline == "The GPU only copies for 90.0 % of the step."


def test_idle_without_a_recorded_cause() -> None:
    said = of("gpu |aa    aa|")
    assert said.headline == "The GPU is idle without a recorded cause for half of the recording."


def test_one_cause_of_idle_time_is_not_all_of_it() -> None:
    """The page draws the whole idle time beside the sentence: it names both."""
    said = of(
        """
        step   |11111111111111111111|
        op     |aaaa                |
        call   |   l                |
        gpu    |    llll            |
        """
    )
    assert said.headline == "The GPU is idle without a recorded cause for 60.0 % of the step."
    assert "idle for 16.0 µs (80.0 %)" in said.detail.replace(NBSP, " ")


def test_compute_bound() -> None:
    said = of(
        """
        step   |11111111112222222222|
        call   |a         b         |
        gpu    | aaaaaaaaa bbbbbbbbb|
        """
    )
    assert said.headline == "GPU-bound: kernels run for 90.0 % of the step."
    assert said.agreement == ""


@pytest.mark.parametrize(
    ("forward", "said"),
    [
        (5, "The run waits for the DataLoader for 55.0 % of the mean step."),
        (
            6,
            "The steps differ: 70.0 % of step 1 is the DataLoader, 60.0 % of step 2 is forward.",
        ),
    ],
    ids=["4 to 5", "4 to 6"],
)
def test_two_steps_are_said_apart_where_they_differ(forward: int, said: str) -> None:
    """Four fifths of the largest part are about as much."""
    ops = "a" * forward
    pictured = of(
        f"""
        step   |11111111112222222222|
        note   |DDDDDDD   DDDD      |
        op     |       aaa    {ops:6}|
        """,
        D=LOADER,
    )
    assert pictured.headline == said


def test_the_range_that_hides_what_the_main_thread_runs_is_named() -> None:
    picture = "step |1111111111|\n note |nnnnn     |\n op |         a|"
    said = of(picture, n="exchange").headline
    assert said == (
        "The main thread runs no known operator for 90.0 % of the step, mostly in `exchange`."
    )
    said = of(picture.replace("nnnnn", "nnnn "), n="exchange").headline
    assert said == "For 90.0 % of the step the main thread runs no known operator."


def test_what_one_long_step_waits_for_is_not_said_of_all() -> None:
    """Half of the time of all four steps is the DataLoader's, and none of three of them."""
    said = of(
        """
        step   |1111111111222222222222222222222222222222222222222233333333334444444444|
        note   |          DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD                      |
        call   |a                                               b c         d         |
        gpu    | aaaaaaaaa                                       b ccccccccc ddddddddd|
        """,
        D=LOADER,
    )
    assert said.headline == "GPU-bound: kernels run for 90.0 % of the step."
    assert said.agreement == "in 3 of 4 steps"
    assert said.detail.replace(NBSP, " ").endswith("Step 2 alone takes 40.0 µs.")
    # What is drawn below is the mean of all four.
    assert said.detail.startswith("Of the mean of 3 of 4 steps, 10.0 µs it is busy for 9.00 µs")


@pytest.mark.parametrize(
    ("source", "noun"), [("profiler_step", "step"), ("iteration", "iteration")]
)
def test_what_most_steps_wait_for_is_said_of_those(source: str, noun: str) -> None:
    """Most of the time of all four is a blocking call's, which is in the last one alone."""
    facts = summarize(
        draw(
            """
            step   |1111111111222222222233333333334444444444444444444444444444444444444444444|
            note   |DDDDDDD   DDDDDDD   DDDDDDD                                              |
            call   |       a         b         c  sssssssssssssssssssssssssssssssssssssssssd |
            gpu    |       aaa       bbb       ccc                                         dd|
            """,
            names={"D": LOADER, "call s": "cudaDeviceSynchronize"},
        )
    )
    said = headline(select(replace(facts, step_source=source))).headline.replace("\u00a0", " ")
    assert said == f"The GPU waits for the DataLoader for 70.0 % of the {noun} in 3 of 4 steps."


def test_no_cause_is_said_of_steps_that_all_differ() -> None:
    said = of(
        """
        step   |111111111122222222223333333333|
        note   |          DDDDDDDD            |
        call   |a                 b ssssssssc |
        gpu    | aaaaaaaaa         b         c|
        """,
        D=LOADER,
        **{"call s": "cudaDeviceSynchronize"},
    )
    assert said.headline == "The steps differ: no single cause leads in most of them."


def test_input_bound_on_the_host() -> None:
    said = of(
        """
        step   |1111111111|
        note   |DDDDDD    |
        op     |      aaa |
        """,
        D=LOADER,
    )
    assert said.headline == "The run waits for the DataLoader for 60.0 % of the step."
    assert said.detail == (
        "Of a step of 10.0 µs: the DataLoader 6.00 µs, forward 3.00 µs. "
        "No device activity was recorded. "
        "For 1.00 µs, 10.0 % of the step, the main thread runs no known operator."
    )


def test_work_on_the_host() -> None:
    said = of(
        """
        step   |1111111111|
        op     |fffbbbbbb |
        """,
        b="autograd::engine::evaluate_function: MmBackward0",
    )
    assert said.headline == "The step runs on the host; backward takes 60.0 % of it."


def test_several_devices_are_named() -> None:
    said = of(
        """
        step   |1111111111|
        call   |ab        |
        gpu0   |  a       |
        gpu1   |   bb     |
        """
    )
    assert said.headline.startswith("GPU 1 is idle without a recorded cause for half of the step")


def test_nothing_recorded() -> None:
    said = of("")
    assert said.headline == "Nothing was recorded that takes time."
    assert said.detail.startswith("The file holds no op")


def test_what_was_recorded_lasts_nothing() -> None:
    facts = summarize(drawn(x("aten::mm", 5, 0)))
    assert headline(select(facts)).detail == "All events of the file last 0 ns."
    facts = summarize(drawn(annotation("ProfilerStep#1", 5, 0), annotation("ProfilerStep#2", 5, 9)))
    said = headline(select(facts, "1")).detail.replace(NBSP, " ")
    assert said == "The chosen step lasts 0 ns."


def test_the_capture_of_a_graph_is_no_idle_device() -> None:
    said = of(
        """
        step   |11111111111111111111|
        call   |bllllllllllllllei k |
        gpu    |                   k|
        """,
        **{
            "call b": "cudaStreamBeginCapture",
            "call e": "cudaStreamEndCapture",
            "call i": "cudaGraphInstantiate",
        },
    )
    assert said.headline == (
        "For 85.0 % of the step a graph is captured: launches are noted then, not run."
    )
    assert said.cause == "capture"


WHOLE = """
    step   |11111111112222222222|
    note   |DDDDDDD   DDDDDDD   |
    op     |       m         m  |
    call   |       a         b  |
    gpu    |        a         b |
    """


def cut_off(path: Path, *, compressed: bool) -> Facts:
    """The facts of the file of a training that lost its last part."""
    draw_at(path, WHOLE, names={"D": LOADER})
    text = path.read_bytes()
    if compressed:
        path = path.with_suffix(".json.gz")
        path.write_bytes(gzip.compress(text)[:-40])
    else:
        path.write_bytes(text[:-60])
    return summarize(read(path))


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_that_ends_early_says_so_first_and_gets_no_finding_on_times(
    tmp_path: Path, compressed: bool
) -> None:
    chosen = select(cut_off(tmp_path / "worker0.pt.trace.json", compressed=compressed))
    said = headline(chosen)
    assert re.match(
        r"The file is cut off after \S+\s\S+\. Findings are switched off\.$", said.headline
    )
    findings, unchecked = check_all(chosen)
    assert findings == ()
    assert "ends in the middle" in next(one.needs for one in unchecked if one.id == "IN1")
    why = unanswered(chosen, said, findings)
    assert why is not None
    assert "Rules on times were not checked" in why.text
    assert [one.id for one in check_all(select(summarize(draw(WHOLE, names={"D": LOADER}))))[0]]


def test_a_chosen_step_that_was_cut_off() -> None:
    trace = draw(
        """
        step   |11111122222233333333|
        op     |a b c a b c a       |
        """
    )
    facts = summarize(trace)
    assert facts.steps[-1].excluded == "incomplete"
    assert "within a chosen step" in headline(select(facts, "all")).headline
    assert "within a chosen step" not in headline(select(facts)).headline


def test_launches_without_kernels_are_no_run_on_the_host() -> None:
    said = of("op |aaaaaaaa|\n call | l l l l|")
    assert said.headline == (
        "On the host, forward takes 100 % of the recording; the device was not recorded."
    )


def test_the_events_of_another_recorder_are_not_said_to_be_missing(tmp_path: Path) -> None:
    """They are recorded; only no part of a step is made of them."""
    calls = [
        {"ph": "X", "cat": "fee", "name": "f", "ts": 100 * at, "dur": 80, "pid": 1, "tid": 1}
        for at in range(5)
    ]
    file = tmp_path / "result.json"
    file.write_text(json.dumps({"traceEvents": calls}))
    said = headline(select(summarize(read(file))))
    assert said.headline.replace("\u00a0", " ") == (
        "For 100 % of the recording the main thread has no op and no frame of torch.profiler."
    )
    assert said.detail.replace("\u00a0", " ") == (
        "The recording lasts 480 µs. None of its events is known to be work of a device."
    )


def test_a_thread_that_recorded_nothing_is_not_said_to_run_ops() -> None:
    """The parts keep that time apart from ops, and so does the sentence."""
    said = of("call |a         b  |\n gpu0 | aa         bb|")
    assert "the thread that launches runs no known operator" in said.detail
    assert "runs ops" not in said.detail


# --- what nothing explains, and what recording takes ----------------------------------------------


@pytest.mark.parametrize(("unknown", "is_said"), [(2, True), (1, False)], ids=["10 %", "5 %"])
def test_a_tenth_without_a_cause_is_said(unknown: int, is_said: bool) -> None:
    ops = "a" * (20 - unknown)
    said = of(f"step |{'1' * 20}|\n op |{ops}{' ' * unknown}|")
    assert said.headline.startswith("The step runs on the host")
    assert ("the main thread runs no known operator" in said.detail) is is_said


@pytest.mark.parametrize(("silent", "is_said"), [(2, True), (1, False)], ids=["10 %", "5 %"])
def test_idle_time_without_a_cause_is_said_of_the_device(silent: int, is_said: bool) -> None:
    host, work = " " * silent + "a" * (6 - silent), 14
    said = of(f"step |{'1' * 20}|\n op |{host}|\n call |     l|\n gpu |      {'l' * work}|")
    assert said.headline.startswith("The GPU waits for the host")
    unnamed = f"For {silent}.00 µs of that, 10.0 % of the step, the thread that launches runs"
    assert (unnamed in said.detail) is is_said


def test_what_recording_stacks_adds_is_said() -> None:
    dense = Finding("PR2", "", "medium", 0.8, "", "", (), None, "", (), "")
    chosen = select(summarize(draw(COMMUNICATES, names={"R": "gloo:all_reduce"})))
    said = headlines.verdict(chosen).sentence
    assert "Recording stacks" not in said.detail
    assert headlines._recorded([dense]) == "Recording stacks makes these times longer."


# --- a rank among others --------------------------------------------------------------------------

COMMUNICATES = """
    step   |1111111111111111111122222222222222222222|
    op     |aaaaa               aaaaa               |
    note   |     RRRRRRRRRRR         RRRRRRRRRRR    |
    """
"""Eleven of 20 µs in an all_reduce of gloo."""


def late(gain_ns: float | None) -> Finding:
    gain = None if gain_ns is None else Gain(gain_ns, gain_ns / 20_000, "", ("communication_ns",))
    return Finding("CO5", "Rank 1 makes the others wait", "high", 0.9, "", "", (), gain, "", (), "")


def communicating(ranks: RanksSaid | None) -> tuple[Sentence, dict[str, str]]:
    chosen = select(summarize(draw(COMMUNICATES, names={"R": "gloo:all_reduce"})))
    told = headlines.verdict(chosen, ranks)
    return told.sentence, {one.id: one.text for one in told.findings}


def test_a_late_rank_comes_before_the_part_of_this_one() -> None:
    alone, _ = communicating(None)
    said, found = communicating(RanksSaid("Rank 1 is late.", late(9_500), True, 9_500))
    assert alone.headline.startswith("Communication takes")
    assert said.headline == "Rank 1 is late."
    assert said.detail == (
        f"This rank alone: communication{alone.headline.removeprefix('Communication')}"
        f" {alone.detail}"
    )
    assert list(found) == ["CO5"]  # less than 10 % is left to transfers


def test_advice_on_communication_speaks_of_what_is_no_waiting() -> None:
    _, found = communicating(RanksSaid("Rank 1 is late.", late(8_500), True, 8_500))
    assert list(found) == ["CO5", "CO1"]
    assert "8.50\u00a0µs of that is waiting for other ranks." in found["CO1"]


@pytest.mark.parametrize(
    ("gain_ns", "leads"), [(3_000, True), (2_980, False), (None, False)], ids=str
)
def test_a_finding_of_15_percent_leads_on_the_host(gain_ns: float | None, leads: bool) -> None:
    """The first one with a gain, whatever comes before it."""
    chosen = select(summarize(draw(COMMUNICATES)))
    led = replace(late(gain_ns), id="PY1", headline="Python takes {part}.")
    said = headline(chosen, [late(None), led])
    assert said.headline.startswith("Python takes") is leads


@pytest.mark.parametrize(
    ("gain_ns", "said"),
    [
        (4_300, "Other Python takes 55.0 % of every step. `f` runs Python for 21.5 %."),
        (8_700, "Other Python takes 55.0 % of every step. `f` runs Python for 43.5 %."),
        (8_900, "`f` runs Python for 44.5 %."),
    ],
)
def test_one_place_does_not_outrank_the_part_that_it_lies_in(gain_ns: float, said: str) -> None:
    """Eleven of 20 µs are Python: a place in it that has four fifths of them stands for it."""
    names = {"R": "train.py(3): f"}
    chosen = select(summarize(draw(COMMUNICATES.replace("note  ", "frame "), names=names)))
    led = replace(late(gain_ns), id="PY1", headline="`f` runs Python for {part}.")
    assert headline(chosen, [led]).headline.replace("\u00a0", " ") == said
    led = replace(led, id="CO5", headline="Rank 1 is late for {part}.")
    assert headline(chosen, [led]).headline.startswith("Rank 1")  # no rule about Python


def test_what_does_not_lead_is_in_the_detail() -> None:
    alone, before = communicating(None)
    said, found = communicating(RanksSaid("4 ranks: none is slow."))
    assert said.headline == alone.headline
    assert said.detail == f"{alone.detail} 4 ranks: none is slow."
    assert found == before
    _, found = communicating(RanksSaid("Rank 1 is late in two.", late(1_000), False, 1_000))
    assert list(found) == ["CO1", "CO5"]


@pytest.mark.parametrize(
    ("third", "said"),
    [(12, "Of a mean step of 10.7 µs (median 10.0 µs) "), (11, "Of a mean step of 10.3 µs it is")],
)
def test_the_median_is_said_where_the_mean_is_another(third: int, said: str) -> None:
    def row(one: str, other: str, last: str) -> str:
        return f"{one.ljust(10)}{other.ljust(10)}{last.ljust(third)}"

    found = of(
        f"""
        step   |{row("1" * 10, "2" * 10, "3" * third)}|
        call   |{row("a", "b", "c")}|
        gpu    |{row("aaaaaaaaa", "bbbbbbbbb", "c" * (third - 1))}|
        """
    )
    assert found.detail.startswith(said)


@pytest.mark.parametrize(("before", "is_said"), [(5, True), (4, False)])
def test_whether_a_device_worked_before_its_first_work_is_unknown(
    before: int, is_said: bool
) -> None:
    calls, work = " " * (before - 1) + "l", " " * before + "l" * (20 - before)
    found = of(
        f"""
        step   |11111111111111111111|
        call   |{calls.ljust(20)}|
        gpu    |{work}|
        """
    )
    words = "Whether the GPU worked before its first recorded work is unknown: that is 25.0 %"
    assert (words in found.detail) == is_said


@pytest.mark.parametrize("launch", [900, None])
def test_work_from_before_the_recording_shows_what_a_device_did(launch: int | None) -> None:
    """Its first work has no launch, so earlier work would be there, too."""
    call = [x("cudaLaunchKernel", 900, 5, cat="cuda_runtime", correlation=1)] if launch else []
    trace = drawn(
        annotation("ProfilerStep#1", 0, 3000),
        *call,
        x("cudaLaunchKernel", 1500, 5, cat="cuda_runtime", correlation=2),
        kernel("older", 1000, 10, correlation=1),
        kernel("gemm", 1600, 1000, correlation=2),
    )
    said = headline(select(summarize(trace))).detail
    assert ("Whether the GPU worked" in said) == (launch is not None)


def test_silence_within_the_waiting_for_the_host_is_no_further_idle_time() -> None:
    """2 of the 6 µs before the launch are silent: they are part of what the sentence blames."""
    said = of(
        """
        step   |1111111111|
        op     |aaa  a    |
        call   |     l    |
        gpu    |      llll|
        """
    )
    assert said.headline == "The GPU waits for the host to launch work for 60.0 % of the step."
    assert "For 2.00 µs of that, 20.0 % of the step, the thread that launches runs" in (said.detail)


def test_a_recording_of_memory_alone_blames_no_step() -> None:
    event = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 1,
             "ts": 10, "s": "t", "args": {"Device Type": 0, "Device Id": -1, "Addr": 1,
             "Bytes": 64, "Total Allocated": 64}}  # fmt: skip
    later = {**event, "ts": 30}
    said = headline(select(summarize(drawn(event, later))))
    assert (said.headline, said.cause) == ("Only memory was recorded.", "nothing")
    with_op = drawn(event, later, x("aten::mm", 10, 20))
    assert "memory" not in headline(select(summarize(with_op))).headline
