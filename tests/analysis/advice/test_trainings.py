"""Rules on gradients, float64, workers, stacks and stalls: both sides of each precondition."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kinetoscope.trace.model import Trace
from tests.analysis.advice.checks import WORKERS, finding, plain
from tests.analysis.advice.trainings import (
    MODULE,
    START,
    VALIDATE,
    Part,
    accumulating,
    calling,
    embedding,
    epochs,
    event,
    function,
    operation,
    product,
    python_frame,
    run,
    searching,
    stalling,
)
from tests.drawing import Event, trace_of


def test_anomaly_detection_claims_its_searches_and_the_ops_beside_those_they_call() -> None:
    found = finding(run(searching(3)), "AG1")
    assert found is not None
    assert found.gain is not None
    # A search takes 6 + 4 + 3 µs. No op of the forward pass calls another.
    assert found.gain.ns_per_step == 3 * 13_000
    assert "3 times per step" in plain(found.text)


def test_anomaly_detection_claims_the_stacks_that_it_notes() -> None:
    def noting(at: float, _: int) -> Iterator[Event]:
        yield event("frame", "torch/fx/traceback.py(497): format_stack", at + 20, 70)
        yield event("frame", "traceback.py(29): format_list", at + 30, 20)

    found = finding(run(searching(3), noting), "AG1")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == 3 * 13_000 + 70_000


@pytest.mark.parametrize(
    ("added", "claimed_us"),
    [
        ((False, True, True), 60),
        ((False, False, True), None),  # 30 µs, 3 % of the step
        ((True, True, False), None),  # nothing runs after the last new one
        ((False, False, False), None),
        ((True, True, True), None),  # accumulated on purpose
    ],
)
def test_unused_gradients_are_added_to_while_others_are_new(
    added: tuple[bool, ...], claimed_us: int | None
) -> None:
    found = finding(run(accumulating(*added)), "AG2")
    claimed = None if found is None or found.gain is None else found.gain.ns_per_step / 1000
    assert claimed == claimed_us


def test_gradients_of_two_passes_in_a_step_are_accumulated_on_purpose() -> None:
    """The first pass makes new gradients, the second adds to them."""

    def twice(at: float, step: int) -> Iterator[Event]:
        number = {"Sequence number": step + 101}
        yield event("op", "torch::autograd::AccumulateGrad", at + 710, 20)
        yield event("op", "aten::mm", at + 740, 20, **number)
        yield event("op", "MmBackward0", at + 770, 20, **number, **{"Fwd thread id": 1})
        yield event("op", "torch::autograd::AccumulateGrad", at + 800, 80)
        yield event("op", "aten::add_", at + 805, 60)

    assert finding(run(twice), "AG2") is None


@pytest.mark.parametrize(
    ("rows", "read", "fires"),
    [(60_000, 15_000, True), (60_000, 15_001, False), (10_000, 100, True), (9_999, 100, False)],
)
def test_a_dense_gradient_counts_where_few_rows_of_many_are_read(
    rows: int, read: int, fires: bool
) -> None:
    assert (finding(run(embedding(rows, read)), "AG3") is not None) == fires


@pytest.mark.parametrize(
    ("rows", "read", "fires"),
    [(60_000, 15_000, True), (60_000, 15_001, False), (9_999, 100, False)],
)
def test_the_rows_of_a_bag_are_its_indices(rows: int, read: int, fires: bool) -> None:
    """Its gradient has a row for each bag, and the op names the rows of the table later."""
    assert (finding(run(embedding(rows, read, is_bag=True)), "AG3") is not None) == fires


def test_of_several_embeddings_the_one_that_reads_most_rows_is_named() -> None:
    """One that reads too many of its rows, or is small, is no part of it."""
    parts = embedding(60_000, 100), embedding(20_000, 300), embedding(60_000, 20_000)
    found = finding(run(*parts, embedding(9_000, 900)), "AG3")
    assert found is not None
    assert "300" in found.text
    assert "20,000" in found.text


def test_sparse_gradients_ask_for_an_optimizer_that_takes_them() -> None:
    by_sgd, by_adam = (
        finding(run(embedding(60_000, 100, name)), "AG3") for name in ("SGD", "AdamW")
    )
    assert by_sgd is not None
    assert by_adam is not None
    assert "SparseAdam" not in by_sgd.action
    assert "SparseAdam" in by_adam.action


def test_half_of_the_time_in_float64_is_the_ceiling() -> None:
    found = finding(run(product("double")), "DT5")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == 150_000


@pytest.mark.parametrize(
    ("trace", "fires"),
    [
        (lambda: run(function(VALIDATE, 210)), True),
        (lambda: run(function(VALIDATE, 190)), False),  # of 1,000 µs
        (lambda: run(function("net.py(3): forward", 400, inside=MODULE)), False),
        (lambda: run(operation(300), stacks=False), True),
        (lambda: run(operation(300, "aten::add"), stacks=False), False),  # makes a batch
    ],
)
def test_a_function_beside_the_training_holds_no_gradient(
    trace: Callable[[], Trace], fires: bool
) -> None:
    found = finding(trace(), "FN1")
    assert (found is not None) == fires


def test_a_function_around_the_gradient_is_the_training() -> None:
    """The frame of the training itself holds ops with a gradient: it is never beside it."""
    assert finding(run(), "FN1") is None


def test_workers_start_anew_where_frames_say_so_however_short_the_pause() -> None:
    def of(*inside: Event) -> Trace:
        return run(epochs(3000, *inside), length=10_000)

    assert finding(of(START), "IN6") is not None
    assert finding(of(), "IN6") is None
    # Nor does a long pause count, where frames say that nothing starts.
    assert finding(run(epochs(6000), length=10_000), "IN6") is None


def test_an_epoch_that_the_recording_begins_or_ends_in_counts_too() -> None:
    """Four epochs of a step: workers start for 6.2 ms before its work, and end for 1.5 behind."""

    def whole(at: float, _: int) -> Iterator[Event]:
        yield event("note", WORKERS, at + 6000, 200)
        yield event("op", "aten::mm", at + 7000, 1000)
        yield event("note", WORKERS, at + 8500, 100)

    events = [
        one
        for step in range(4)
        for at in [step * 10_000.0]
        for one in (event("note", f"ProfilerStep#{step}", at, 10_000), *whole(at, step))
    ]
    found = finding(trace_of(events), "IN6")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == (6200 + 1500) * 1000


def test_stalls_need_milliseconds_and_several_calls() -> None:
    found = finding(run(stalling(4000), length=20_000), "HS1")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == 8_000_000
    assert finding(run(stalling(3100, stalled=1), length=20_000), "HS1") is None  # four of one name


def test_stacks_cost_much_where_calls_of_python_are_dense() -> None:
    """300 calls a step of 1 ms, of 1 µs each: recording one takes 2 µs."""
    found = finding(run(calling(300, 1)), "PR2")
    assert found is not None
    assert "301 calls of Python per millisecond" in plain(found.text)  # with that of the step
    assert "60.2 % of the time or more" in plain(found.text)
    assert finding(run(calling(300, 0.05)), "PR2") is None  # 3 %


@pytest.mark.parametrize(("calls", "severity"), [(300, "high"), (700, "medium"), (800, None)])
def test_python_is_judged_without_what_recording_its_calls_takes(
    calls: int, severity: str | None
) -> None:
    """Recording a call takes 0.4 µs: of 40 % of the step 28, 12 and 8 % are left."""

    def decoding(at: float, _: int) -> Iterator[Event]:
        yield event("frame", "data.py(7): decode", at + 10, 400)
        for i in range(calls):
            yield event("frame", "<built-in function len>", at + 11 + i * 0.45, 0.2)

    found = finding(run(decoding), "PY1")
    assert (found and found.severity) == severity
    if found is not None:
        assert found.gain is not None
        assert found.gain.ns_per_step == 400_000  # of the step as it was recorded


def test_what_a_scripted_module_does_is_no_python() -> None:
    """Of 560 µs in which the frame is open and no op runs, 400."""

    def claimed(module: str) -> float:
        found = finding(run(python_frame(module, 5, 400)), "PY1")
        assert found is not None
        assert found.gain is not None
        return found.gain.ns_per_step

    own = claimed("nn.Module: Scripted_0")
    assert own - claimed("nn.Module: RecursiveScriptModule_0") == 400_000


@pytest.mark.parametrize("name", ["<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>", "inner"])
def test_a_comprehension_is_a_part_of_its_function(name: str) -> None:
    """Up to Python 3.11 it is a frame of its own, which says less than its function."""

    def part(at: float, _: int) -> Iterator[Event]:
        yield event("frame", "data.py(7): load", at + 10, 400)
        yield event("frame", f"data.py(9): {name}", at + 20, 350)

    found = finding(run(part, stacks=False), "PY1")
    assert found is not None
    assert found.frame == ("data.py(9): inner" if name == "inner" else "data.py(7): load")


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        ((python_frame("data.py(7): decode", 10, 300),), "worker of the DataLoader"),
        ((python_frame("log.py(7): write", 705, 190),), "less often"),
        (
            (python_frame("nn.Module: Net_0", 5, 400), python_frame("net.py(3): forward", 10, 300)),
            "with ops on whole tensors",
        ),
    ],
)
def test_only_what_precedes_the_model_can_go_to_a_worker(
    parts: tuple[Part, ...], word: str
) -> None:
    found = finding(run(*parts, stacks=False), "PY1")
    assert found is not None
    assert word in found.action
    assert ("worker" in found.action) == ("worker" in word)


@pytest.mark.parametrize(("pauses", "fires"), [(2, True), (5, False)])
def test_a_row_of_tiny_ops_is_rarely_interrupted_also_without_frames(
    pauses: int, fires: bool
) -> None:
    """One pause in fifty ops is an interruption; five break the row into parts below 100 ops."""

    def many(at: float, _: int) -> Iterator[Event]:
        ts = at + 1000
        for i in range(150):
            yield event("op", "aten::mul_", ts, 3)
            ts += 160 if i % 25 == 20 and i < 25 * pauses else 4

    found = finding(run(many, stacks=False, length=3000), "LA2")
    assert (found is not None) == fires
    assert found is None or "torch._foreach_" in found.action
