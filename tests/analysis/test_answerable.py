"""Which questions a recording answers."""

from __future__ import annotations

from kinetoscope.analysis.recording import Answerability, answerable
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.drawing import draw, memory


def of(trace: Trace) -> dict[str, Answerability]:
    return {row.question: row for row in answerable(summarize(trace))}


def test_a_bare_recording() -> None:
    rows = of(draw("op |aaa|"))
    assert rows["Where did the step go?"].answer == "in part"
    assert rows["Where did the step go?"].lacks == "device activity, marked steps"
    for question in ("Which line of code?", "Which module?", "What filled the memory?"):
        assert rows[question].answer == "no"
        assert rows[question].lacks


def test_a_full_recording() -> None:
    rows = of(
        draw(
            """
            step   |1111111111|
            frame  |ffffffffff|
            module | MMMMMMMM |
            op     |  aaaaa   |
            call   |   l      |
            gpu    |     lll  |
            """,
            args={"a": {"Input Dims": [[4, 4]]}},
            events=[memory(3, 64, 128)],
        )
    )
    for question in (
        "Where did the step go?",
        "What kept the device waiting?",
        "Which line of code?",
        "Which module?",
        "Which shapes?",
        "What filled the memory?",
    ):
        assert (rows[question].answer, rows[question].lacks) == ("yes", ""), question
    assert rows["Did ranks wait for each other?"].answer == "no"


def test_stacks_as_text_name_lines_in_part() -> None:
    row = of(draw("op |aaa|", args={"a": {"Call stack": "train.py(4): main"}}))[
        "Which line of code?"
    ]
    assert (row.has, row.lacks, row.answer) == (
        "stacks of ops as text",
        "Python frames",
        "in part",
    )
