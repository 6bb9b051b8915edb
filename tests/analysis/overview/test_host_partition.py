"""The step seen from the main thread, where no device was recorded; 1 µs per column."""

from __future__ import annotations

from kinetoscope.analysis.host_activity import hosts_of
from kinetoscope.analysis.overview.attribution import host_partitions
from kinetoscope.analysis.steps import step_windows
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
    assert of(trace) == [{"forward": 4, "communication": 4, "uninstrumented": 5, "overlap": 1}]


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
    assert of(trace) == [{"backward": 5, "communication": 5, "python": 6, "overlap": 5}]


def test_what_runs_elsewhere_counts_before_an_annotation() -> None:
    """The main thread waits inside a range that the user drew; nothing but the range is known."""
    trace = draw(
        """
        step   |11111111111111111111|
        note   | BBBBBBBBBBBBBBBBBB |
        op     |  bbb          cc   |
        note2  |   gggggggggggg     |
        """,
        names={**NAMES, "B": "## backward ##", "c": "aten::add_"},
    )
    assert of(trace) == [
        {"forward": 2, "backward": 3, "communication": 10, "uninstrumented": 5, "overlap": 2}
    ]


def test_an_annotation_alone_is_neither_work_nor_python() -> None:
    trace = draw(
        """
        step   |1111111111|
        note   | AAAAAAAA |
        op     |   aa     |
        """
    )
    assert of(trace) == [{"forward": 2, "uninstrumented": 8}]


def test_ranges_of_torch_say_what_is_done_where_nothing_else_runs() -> None:
    trace = draw(
        """
        step   |11111111111111111111|
        note   |DDDDDD    OOOOOOOO  |
        op     | aa        aa       |
        note2  |    gggg     gggg   |
        """,
        names=NAMES,
    )
    assert of(trace) == [{"dataloader": 4, "optimizer": 4, "communication": 8, "uninstrumented": 4}]


def test_the_range_of_a_collective_is_no_work_of_its_thread() -> None:
    """Some back ends keep it open while other ops run on the same thread."""
    trace = draw(
        """
        step   |111111111111|
        note   | hhhhhhhhhh |
        op     |  aaa  cc   |
        """,
        names={**NAMES, "h": "hccl:all_to_all"},
    )
    assert of(trace) == [{"forward": 3, "communication": 7, "uninstrumented": 2, "overlap": 3}]


def test_a_frame_that_merely_waits_is_no_python() -> None:
    trace = draw(
        """
        step   |11111111111111|
        frame  |ffffffffffffff|
        frame  |  WWWWWWWW    |
        note2  |   ggggggggg  |
        """,
        names={**NAMES, "W": "<built-in method wait of PyCapsule object at 0x7f>"},
    )
    assert of(trace) == [{"communication": 7, "python": 7, "overlap": 2}]


def test_hooks_in_python_belong_to_the_backward_that_calls_them() -> None:
    trace = draw(
        """
        step   |11111111111|
        frame  |fffffffffff|
        frame  | rrrrrrrrr |
        frame  |   kkk     |
        note2  |  ggggggg  |
        """,
        names=NAMES,
    )
    assert of(trace) == [{"backward": 5, "communication": 4, "python": 2, "overlap": 3}]


def test_runtime_calls_are_no_python() -> None:
    trace = draw(
        """
        step   |1111111111|
        op     | aaa      |
        call   |  b  sss  |
        """,
        names={"call s": "cudaDeviceSynchronize"},
    )
    assert of(trace) == [{"forward": 3, "runtime": 3, "uninstrumented": 4}]


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
