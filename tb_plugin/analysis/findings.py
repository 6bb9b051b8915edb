"""Patterns of a trace, findings made of them, and rules that could not run (contract).

A pattern is something that programs do and that has a known remedy: values read one by one, a
matrix product in an unfavourable shape. It names the events, so that a finding can be checked.

Text between backticks is code. The page and the terminal show these as they are.
"""

# Without `from __future__ import annotations`: msgspec would compile each annotation, a text then,
# before the first summary is read.
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

Severity = Literal["high", "medium", "low", "info"]


class PatternEvent(Struct, frozen=True, array_like=True, gc=False):
    """One event of a pattern, as evidence.

    ``event`` is its row in the file; ``slice`` its row among the slices of the Trace view, which
    are the host's rows and behind them the devices'.
    """

    event: int
    slice: int
    ts: int
    dur_ns: int
    step: int  # index of the step; −1 outside of all
    name: str


class PatternStep(Struct, frozen=True, array_like=True, gc=False):
    """Time of a pattern in one step. ``ns`` is the length of a union of intervals."""

    step: int
    count: int  # events that begin in it
    ns: int


class Pattern(Struct, frozen=True):
    """One pattern: the events of one place in the code, or of one name.

    ``device`` is the row of the device whose time it takes: the idle time during its events on the
    host, or the time of its kernels. −1: the time of the main thread, in a run without devices.
    """

    kind: str  # key of
    name: str  # what it is about: an op, an optimizer, a kernel
    device: int
    frame: str = ""  # innermost frame of the user's code around it; "" unknown
    steps: tuple[PatternStep, ...] = ()  # those it is seen in
    events: tuple[PatternEvent, ...] = ()  # the longest
    figures: Mapping[str, float] = {}
    kernels: bool = False  # its time is that of kernels, not idle time


class Claim(Struct, frozen=True, array_like=True, gc=False):
    """Time of one step that exactly the patterns of ``members`` claim together.

    Bit i of ``members`` is the i-th pattern of the same device. The claims of a step are disjoint,
    so the union of some patterns is the sum of the claims that have one of them.
    """

    device: int
    step: int
    members: int
    ns: int


class Patterns(Struct, frozen=True):
    """All patterns of a trace, and how they overlap."""

    found: tuple[Pattern, ...] = ()
    claims: tuple[Claim, ...] = ()


class Sentence(Struct, frozen=True):
    """The answer in one sentence. Text between backticks is code."""

    headline: str  # "The GPU waits for the DataLoader for a third of every step."
    detail: str
    agreement: str = ""  # "in 4 of 6 steps"
    # what it blames: a field of Partition or HostPartition, a rule's id, or a word of ``headline``
    cause: str = ""
    beyond: str = ""  # ``detail`` without the lengths that a drawing of the step shows


class Reference(Struct, frozen=True):
    """A link to a view of this page (``view`` + ``params``) or to a document (``url``)."""

    text: str
    view: str = ""
    params: dict[str, str] = {}
    url: str = ""


def at_time(text: str, ts: int, dur_ns: int, slice_number: int = -1) -> Reference:
    """A link to the Trace view at an event, with a margin of a quarter on each side.

    The event is selected there where its number is given.
    """
    margin = max(dur_ns // 4, 1000)
    to = {"at": f"{ts - margin}-{ts + dur_ns + margin}"}
    if slice_number >= 0:
        to["select"] = str(slice_number)
    return Reference(text, "timeline", to)


class Evidence(Struct, frozen=True):
    """A figure behind a finding, and the value it is compared with."""

    name: str
    value: float
    unit: str  # "ns" | "ratio" | "bytes" | "count"
    threshold: float | None = None


class SeenEvent(Struct, frozen=True):
    """An event behind a finding, so that the finding can be checked.

    ``slice`` is the event's number in the Trace view, and in ``kinetoscope advise --slice``;
    ``event`` its place among all events of the file, counted from 0. −1: a stretch of time.
    """

    name: str
    slice: int
    event: int
    ts: int
    dur_ns: int
    step: str  # "ProfilerStep#3"; "" outside of all
    link: Reference


class Gain(Struct, frozen=True):
    """The upper limit of a gain, not a promise.

    Ceilings of several findings must not be added: ``shared_ns_per_step`` is what findings above
    this one claim already.
    """

    ns_per_step: float
    ratio: float
    method: str  # how the ceiling was formed
    # What it claims: fields of Partition or HostPartition, or "pattern 3" for row 3 of Patterns.
    claims: tuple[str, ...]
    shared_ns_per_step: float = 0.0


class Finding(Struct, frozen=True):
    """One piece of advice. Text between backticks is code."""

    id: str  # "IN1"
    title: str
    severity: Severity
    confidence: float
    text: str  # evidence with number and scope, then cause, then one action
    snippet: str
    evidence: tuple[Evidence, ...]
    gain: Gain | None
    scope: str  # "6 of 6 steps, GPU 0"
    links: tuple[Reference, ...]
    verify: str  # how to see that it worked
    events: tuple[SeenEvent, ...] = ()  # the longest of what it saw
    action: str = ""  # the act alone, which ``text`` ends with; "" where there is none
    frame: str = ""  # the frame of the user's code that it blames, as the recorder names it
    # What the sentence on top says where this finding is the largest; {part} stands for the share.
    headline: str = ""
    agreeing: int = 0  # of the chosen steps, those in which it takes more than its threshold


class RanksSaid(Struct, frozen=True):
    """Lateness among all recorded ranks of a run, in the recording of one of them."""

    text: str  # who is late, that no rank is, or why that is unknown
    late: Finding | None = None  # the rank or node that makes the others wait
    leads: bool = False  # it does so in the typical step
    waited_ns: float = 0.0  # per step: what this rank waits for others in collectives


class Explanation(Struct, frozen=True):
    """Why the cause in the headline has no finding, and where to look instead."""

    text: str
    links: tuple[Reference, ...] = ()


class RuleName(Struct, frozen=True):
    """Id and title of a rule."""

    id: str
    title: str


class Unchecked(Struct, frozen=True):
    """A rule that could not run, and the data it needs."""

    id: str
    title: str
    needs: str


class Lacking(Struct, frozen=True):
    """Missing data, how to record it, and the rules that need it."""

    needs: str
    rules: tuple[RuleName, ...]


class Said(Struct, frozen=True):
    """Summary of the chosen steps: a sentence, and the findings behind it."""

    sentence: Sentence
    findings: tuple[Finding, ...]  # the most worthwhile first
    unchecked: tuple[Unchecked, ...]
    # Why what the sentence blames has no finding; None where it has one, or blames nothing.
    unanswered: Explanation | None
    together_ns: float  # all ceilings together, per step: no instant counts twice
    rule_count: int


def by_need(unchecked: Iterable[Unchecked]) -> tuple[Lacking, ...]:
    """Each need once, that of most rules first."""
    found: dict[str, list[RuleName]] = {}
    for one in unchecked:
        found.setdefault(one.needs, []).append(RuleName(one.id, one.title))
    ordered = sorted(found.items(), key=lambda each: -len(each[1]))
    return tuple(Lacking(needs, tuple(rules)) for needs, rules in ordered)
