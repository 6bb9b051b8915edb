"""What is no lock and no optimizer: joins, and passes that an optimizer's step calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.analysis.advice.checks import finding
from tests.analysis.advice.drawn import (
    STEP_US,
    Part,
    host,
    join,
    lock,
    many,
    matmul,
    optimizer,
    run,
)
from tests.drawing import LOADER, Event


@pytest.mark.parametrize(
    "around",
    [
        "threading.py(960): start",
        "threading.py(1119): _wait_for_tstate_lock",
        "/usr/lib/python3.11/concurrent/futures/_base.py(428): result",
        "queue.py(154): get",
    ],
)
def test_a_join_is_no_lock_that_another_thread_holds(around: str) -> None:
    trace = run(join(300, around), matmul)
    assert finding(trace, "PY2") is None
    assert finding(trace, "PY1") is None
    found = finding(trace, "PY3")
    assert found is not None
    assert found.frame == "train.py(9): main"
    assert found.gain is not None
    assert found.gain.ns_per_step == 310_000
    assert "waits for another thread or process" in found.text


def test_sleeping_is_no_python_and_no_thread() -> None:
    def throttle(at: float) -> Iterator[Event]:
        yield host("frame", "train.py(9): throttle", at + 5, 320)
        yield host("frame", "<built-in function sleep>", at + 10, 300)

    trace = run(throttle, matmul)
    found = finding(trace, "PY3")
    assert found is not None
    assert found.title == "The main thread sleeps at `train.py(9): throttle`"
    assert "time.sleep()" in found.action
    assert finding(trace, "PY1") is None


def test_a_loader_that_sleeps_waits_for_no_thread() -> None:
    def loading(at: float) -> Iterator[Event]:
        yield host("note", LOADER, at + 5, 320)
        yield host("frame", "data.py(9): __getitem__", at + 6, 318)
        yield host("frame", "<built-in function sleep>", at + 10, 300)

    assert finding(run(loading, matmul), "PY3") is None


def test_a_lock_of_a_users_own_class_is_one() -> None:
    assert finding(run(join(300, "pool.py(3): start"), matmul), "PY2") is not None


def test_passes_in_a_closure_are_not_the_optimizers() -> None:
    """An optimizer of 10 µs that calls a closure of 900 µs is not the step."""

    def closure(at: float) -> Iterator[Event]:
        numbered = {"Sequence number": int(at), "Fwd thread id": 0}
        backward = {"Sequence number": int(at), "Fwd thread id": 1}
        name = "autograd::engine::evaluate_function: AddmmBackward0"
        yield host("op", "aten::addmm", at + 20, 400, **numbered)
        yield host("op", name, at + 430, 500, **backward)
        for one in range(24):
            yield host("op", "aten::add_", at + 935 + 2 * one, 1)

    found = finding(run(optimizer("SGD", closure, dur=STEP_US - 10)), "OP1")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ratio == pytest.approx(0.08)
    alone = finding(run(optimizer("SGD", many("aten::add_", 40, 24), dur=990)), "OP1")
    assert alone is not None
    assert alone.gain is not None
    assert alone.gain.ratio == pytest.approx(0.99)


def forked(steps: float) -> Part:
    """The call that started this process: frames of the one before it stay open in the child."""

    def part(at: float) -> Iterator[Event]:
        if at == 0:
            yield host("frame", "launch.py(3): main", at, steps * STEP_US)
            yield host("frame", "multiprocessing/process.py(121): start", at, steps * STEP_US)

    return part


def test_a_process_that_was_forked_waits_for_nobody() -> None:
    assert finding(run(forked(4), matmul), "PY3") is None
    inside = finding(run(forked(4), join(300, "queue.py(154): get"), matmul), "PY3")
    assert inside is not None
    assert inside.frame == "train.py(9): main"
    assert inside.gain is not None
    assert inside.gain.ns_per_step == 310_000
    assert finding(run(forked(4), lock(300), matmul), "PY2") is not None


def test_a_start_of_less_than_a_step_is_waited_for() -> None:
    found = finding(run(forked(0.999), matmul), "PY3")
    assert found is not None
    assert found.frame == "launch.py(3): main"
