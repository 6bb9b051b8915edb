"""Which questions can this recording answer, and what does it lack for the others?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from .facts import Facts

Answer = Literal["yes", "in part", "no"]


class Answerable(NamedTuple):
    """A question, what the recording has for it, what it lacks, and the verdict."""

    question: str
    has: str
    lacks: str
    answer: Answer


class _Input(NamedTuple):
    """One kind of data that a question needs. ``vital``: without it there is no answer at all."""

    text: str
    there: Callable[[Facts], bool]
    vital: bool = False


def _count(*names: str) -> Callable[[Facts], bool]:
    return lambda facts: any(facts.counts.get(name, 0) for name in names)


def _marked(facts: Facts) -> bool:
    return facts.step_source != "whole_trace"


def _linked(facts: Facts) -> bool:
    return facts.recording.linked > 0


_DEVICE = _Input("device activity", _count("kernel", "memcpy", "memset", "other_device"))
_SEVERAL_RANKS = _Input("more than one rank", lambda facts: (facts.world_size or 1) > 1, vital=True)

QUESTIONS: tuple[tuple[str, tuple[_Input, ...]], ...] = (
    (
        "Where did the step go?",
        (_Input("ops", _count("op", "annotation")), _DEVICE, _Input("marked steps", _marked)),
    ),
    (
        "Who kept the device waiting?",
        (
            _Input("device activity", _DEVICE.there, vital=True),
            _Input("launches", _linked),
            _Input("ops", _count("op")),
        ),
    ),
    (
        "Which line of code?",
        (
            _Input("Python frames", _count("python", "module")),
            _Input("stacks of ops as text", lambda facts: facts.recording.call_stacks),
        ),
    ),
    ("Which module?", (_Input("module calls", _count("module"), vital=True),)),
    ("Which shapes?", (_Input("input shapes", lambda facts: facts.recording.shapes, vital=True),)),
    (
        "What filled the memory?",
        (
            _Input("allocator events", _count("memory"), vital=True),
            _Input("addresses", lambda facts: facts.recording.addresses),
            _Input("totals", lambda facts: facts.recording.totals),
        ),
    ),
    (
        "Did ranks wait for each other?",
        (
            _SEVERAL_RANKS,
            _Input("collectives", lambda facts: facts.recording.collectives > 0, vital=True),
        ),
    ),
)

# Either of these answers the question; the other adds nothing that is missed.
_EITHER = "Which line of code?"


def answerable(facts: Facts) -> tuple[Answerable, ...]:
    """One row per question, in the order of ``QUESTIONS``."""
    return tuple(_judge(facts, question, inputs) for question, inputs in QUESTIONS)


def _judge(facts: Facts, question: str, inputs: tuple[_Input, ...]) -> Answerable:
    has = [one for one in inputs if one.there(facts)]
    lacks = [one for one in inputs if one not in has]
    if question == _EITHER and has and has[0] is inputs[0]:
        lacks = []
    answer: Answer = "yes" if not lacks else "in part"
    if not has or any(one.vital for one in lacks):
        answer = "no"
    return Answerable(
        question,
        ", ".join(one.text for one in has),
        ", ".join(one.text for one in lacks),
        answer,
    )
