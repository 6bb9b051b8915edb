"""The step seen from the main thread, where no device was recorded; 1 µs per column."""

from __future__ import annotations

from kinetoscope.analysis.host_partition import host_partitions
from kinetoscope.analysis.hosts import hosts_of
from kinetoscope.analysis.windows import step_windows
from kinetoscope.trace.model import Trace
from tests.analysis.invariants import microseconds
from tests.drawing import LOADER, draw

NAMES = {
    "D": LOADER,
    "O": "Optimizer.step#SGD.step",
    "b": "autograd::engine::evaluate_function: AddmmBackward0",
    "c": "c10d::allreduce_",
    "g": "gloo:all_reduce",
    "t": "_compile.compile_inner (dynamo_timed)",
    "r": "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
}


def of(trace: Trace) -> list[dict[str, int]]:
    """Per step, the parts that are not zero, in µs."""
    steps = host_partitions(trace, hosts_of(trace), step_windows(trace))
    return [microseconds(step) for step in steps]


def test_the_parts_of_a_training_step() -> None:
    trace = draw(
        """
        step   |1111111111111111111111111|
        note   |DDDD             OOOO    |
        op     | aa ffff bbbbcc   aa     |
        """,
        names=NAMES,
    )
    assert of(trace) == [
        {
            "dataloader": 4,
            "forward": 4,
            "backward": 4,
            "communication": 2,
            "optimizer": 4,
            "uninstrumented": 7,
        }
    ]


def test_python_frames_explain_what_ops_do_not() -> None:
    trace = draw(
        """
        step   |1111111111111111111111|
        frame  |ffffffffffffffffffffff|
        frame  |           rrrrrrrr   |
        module |  MMMMMMM             |
        op     |   aa aa    bb bb     |
        """,
        names=NAMES,
    )
    assert of(trace) == [{"forward": 7, "backward": 8, "python": 7}]


def test_backward_on_another_thread_while_the_main_thread_waits() -> None:
    trace = draw(
        """
        step   |1111111111111|
        op     | ffff        |
        op2    |    bbbbb    |
        """,
        names=NAMES,
    )
    assert of(trace) == [{"forward": 4, "backward": 4, "uninstrumented": 5}]


def test_collectives_of_another_thread_count_where_the_main_thread_records_nothing() -> None:
    trace = draw(
        """
        step   |1111111111111|
        op     | ffff        |
        note2  |    ggggg    |
        """,
        names=NAMES,
    )
    assert of(trace) == [{"forward": 4, "communication": 4, "uninstrumented": 5}]


def test_collectives_that_backward_waits_for() -> None:
    trace = draw(
        """
        step   |1111111111111111|
        frame  |ffffffffffffffff|
        frame  |  rrrrrrrrrr    |
        op     |   bbb          |
        note2  |     ggggg ggggg|
        """,
        names=NAMES,
    )
    assert of(trace) == [{"backward": 5, "communication": 5, "python": 6}]


def test_compilation_inside_the_step() -> None:
    trace = draw(
        """
        step   |1111111111|
        op     | tttt     |
        op     |  aa      |
        """,
        names=NAMES,
    )
    assert of(trace) == [{"compile": 4, "uninstrumented": 6}]


def test_ops_of_other_threads_are_not_the_main_threads() -> None:
    trace = draw(
        """
        step   |1111111111|
        op     | aa       |
        op9    |   aaaaaa |
        """
    )
    assert of(trace) == [{"forward": 2, "uninstrumented": 8}]


def test_without_steps_the_busiest_thread_is_the_main_one() -> None:
    trace = draw(
        """
        op     |aa        |
        op9    | bbbbbbbbb|
        """
    )
    assert of(trace) == [{"forward": 9, "uninstrumented": 1}]
