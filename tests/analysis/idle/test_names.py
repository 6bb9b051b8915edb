"""What the main thread did in a recording without a device: names, parts, places, threads."""

from __future__ import annotations

from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.drawing import LOADER, draw
from tests.trace.drawn import drawn, launch


def test_names_by_exclusive_time_with_the_part_of_the_step_and_the_line() -> None:
    chosen = select(
        summarize(
            draw(
                """
                step   |11111111111111111111|
                frame  |tttttttttttttttttttt|
                frame  |dddddddddd          |
                op     |          mmmm      |
                note   |                LLLL|
                """,
                names={
                    "t": "train.py(9): main",
                    "d": "data.py(3): decode",
                    "L": LOADER,
                },
            )
        )
    )
    found = {one.name: (one.cause, one.idle_ns) for one in chosen.host_held}
    assert found == {
        "data.py(3): decode": ("python_ns", 10_000),
        "aten::m": ("forward_ns", 4_000),
        LOADER: ("dataloader_ns", 4_000),
        "train.py(9): main": ("python_ns", 2_000),
    }
    op = next(one for one in chosen.host_held if one.name == "aten::m")
    assert op.place is not None
    assert op.place.frame == "train.py(9): main"


def test_threads_that_work_at_once() -> None:
    facts = summarize(
        draw(
            """
            step   |1111111111|
            op     |aaaaaaaa  |
            op2    |  bbbbbb  |
            op3    |      cc  |
            """
        )
    )
    assert (facts.steps[0].parallel_ns, facts.steps[0].threads) == (16_000, 3)


def test_launches_whose_work_was_not_recorded() -> None:
    """Of a long call it is asked which kernel it launched first; here no kernel is known."""
    facts = summarize(drawn([launch(0, 2_000, 1), launch(3_000, 4_000, 2)]))
    (held,) = facts.steps[0].host_held
    assert facts.idle.names[held.name].name == "cudaLaunchKernel"
    assert (held.count, held.longest_ns, held.first) == (2, 4_000_000, "")
