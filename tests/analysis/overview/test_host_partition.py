"""The step seen from the main thread, where no device was recorded; 1 µs per column."""

from __future__ import annotations

from kinetoscope.analysis.host_activity import hosts_of
from kinetoscope.analysis.overview.attribution import host_partitions
from kinetoscope.analysis.steps import step_windows
from kinetoscope.trace.model import Trace
from tests.analysis.invariants import microseconds
from tests.drawing import LOADER, draw
from tests.trace.drawn import annotation, drawn, x

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
    assert of(trace) == [{"backward": 5, "communication": 9, "python": 2, "overlap": 1}]


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
    assert of(trace) == [
        {"dataloader": 6, "optimizer": 4, "communication": 6, "uninstrumented": 4, "overlap": 2}
    ]


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
    assert of(trace) == [{"communication": 9, "python": 5}]


def test_python_hooks_hide_no_collective() -> None:
    """Without stacks nothing shows them."""
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
    assert of(trace) == [{"backward": 2, "communication": 7, "python": 2}]


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


# --- what holds first -----------------------------------------------------------------------------


def test_the_loader_has_all_that_runs_or_waits_in_it() -> None:
    trace = draw(
        """
        step   |1111111111111111111111111|
        frame  |fffffffffffffffffffffffff|
        note   |  DDDDDDDDDDDDDDD        |
        frame  |   kkkkkkkkkkkkk         |
        frame  |     WWWWW   b           |
        op     |    aa     tt   aa       |
        call   |           s             |
        note2  |        gggggggggggg     |
        """,
        names={
            **NAMES,
            "W": "<built-in method poll of select.poll object at 0x7f>",
            "call s": "cudaDeviceSynchronize",
        },
    )
    assert of(trace) == [
        {"dataloader": 15, "forward": 1, "communication": 2, "python": 7, "overlap": 10}
    ]


def closure(with_stacks: bool) -> list[dict[str, int]]:
    """A step whose optimizer calls a closure twice: 5 + 4 forward, 4 + 3 backward."""
    stacks = """
        frame  |ffffffffffffffffffffffffffffffffffffffff|
        frame  |  wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww |
    """
    trace = draw(
        f"""
        step   |1111111111111111111111111111111111111111|
        note   |  OOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOO  |
        {stacks if with_stacks else ""}
        op     |  u pppppzzbbbbuuuuuqqqqccc   uuuu      |
        op     |     xxx            yyy                 |
        """,
        names={
            **NAMES,
            "z": "Optimizer.zero_grad#SGD.zero_grad",
            "c": "autograd::engine::evaluate_function: MulBackward0",
            "w": "torch/optim/lbfgs.py(300): step",
        },
        args={
            "x": {"Sequence number": 1, "Fwd thread id": 0},
            "y": {"Sequence number": 2, "Fwd thread id": 0},
            "b": {"Sequence number": 1, "Fwd thread id": 1},
            "c": {"Sequence number": 2, "Fwd thread id": 1},
        },
    )
    return of(trace)


def test_an_optimizer_that_calls_its_closure_is_forward_and_backward() -> None:
    (step,) = closure(with_stacks=False)
    assert step == {"forward": 9, "backward": 7, "optimizer": 20, "uninstrumented": 4}


def test_stacks_change_no_part_of_a_closure() -> None:
    (without,), (stacked,) = closure(with_stacks=False), closure(with_stacks=True)
    assert stacked.pop("python") == without.pop("uninstrumented")
    assert stacked == without


def test_a_closure_without_links_begins_with_the_range() -> None:
    trace = draw(
        """
        step   |111111111111111111111|
        note   | OOOOOOOOOOOOOOOOOOO |
        op     |   aaaa  bbbb  uuu   |
        """,
        names=NAMES,
    )
    assert of(trace) == [{"forward": 4, "backward": 4, "optimizer": 7, "uninstrumented": 6}]


def test_a_step_that_begins_inside_a_closure_does_not_part_it() -> None:
    """Lightning's own profiler steps after the forward pass, inside ``Optimizer.step``."""
    trace = drawn(
        annotation("ProfilerStep#1", 0, 20),
        annotation(NAMES["O"], 10, 20),
        x("aten::mm", 12, 6, seq=1, fwd=0),
        annotation("ProfilerStep#2", 20, 20),
        annotation("Optimizer.zero_grad#SGD.zero_grad", 22, 1),
        x(NAMES["b"], 24, 4, seq=1, fwd=1),
        x("aten::add_", 28, 1),
    )
    assert of(trace) == [
        {"forward": 6, "optimizer": 2, "uninstrumented": 12},
        {"backward": 4, "optimizer": 3, "uninstrumented": 13},
    ]


def test_an_optimizer_called_by_a_backward_hook_stays_the_optimizer() -> None:
    trace = draw(
        """
        step   |111111111111111111111|
        op     |   aaaa bbbbbbbbbbb  |
        note   |          OOOOOO     |
        op     |           uuuu      |
        """,
        names=NAMES,
    )
    assert of(trace) == [{"forward": 4, "backward": 5, "optimizer": 6, "uninstrumented": 6}]


def test_an_op_of_backward_around_a_collective_waits_for_it() -> None:
    """As FSDP does: what works inside is backward, and so is what no collective covers."""
    trace = drawn(
        annotation("ProfilerStep#1", 0, 30),
        x(NAMES["b"], 0, 24),
        x("c10d::_allgather_base_", 2, 2),
        x("aten::mm", 16, 4),
        annotation("gloo:all_gather", 4, 17, tid=2),
    )
    assert of(trace) == [
        {"communication": 2 + 12 + 1, "backward": 2 + 4 + 3, "uninstrumented": 6, "overlap": 4}
    ]
    alone = drawn(
        annotation("ProfilerStep#1", 0, 30),
        x(NAMES["b"], 0, 24),
        annotation("gloo:all_gather", 4, 17, tid=2),
    )
    assert of(alone) == [{"backward": 24, "uninstrumented": 6, "overlap": 17}]
