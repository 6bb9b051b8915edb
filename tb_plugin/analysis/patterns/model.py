"""Patterns of a trace: what rules of advice need beyond the times of the steps (contract).

A pattern is something that programs do and that has a known remedy: values read one by one, a
matrix product in an unfavourable shape. It names the events, so that a finding can be checked.
"""

# Without `from __future__ import annotations`: msgspec would compile each annotation, a text then,
# before the first summary is read.
from collections.abc import Mapping

from msgspec import Struct


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
    """What a pattern does in one step. ``ns`` is the length of a union of intervals."""

    step: int
    count: int  # events that begin in it
    ns: int


class Pattern(Struct, frozen=True):
    """One pattern: the events of one place in the code, or of one name.

    ``device`` is the row of the device whose time it takes: the idle time during its events on the
    host, or the time of its kernels. −1: the time of the main thread, in a run without devices.
    """

    kind: str  # key of ``recognize.RECOGNIZERS``: "read_back"
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
