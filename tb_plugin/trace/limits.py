"""What bounds the memory and the time of a scan: how much is read of a text, and until when."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..base.errors import TraceFormatError
from ..base.units import parse_size, size

MIB, GIB = 1 << 20, 1 << 30
TEXT_VARIABLE = "KINETOSCOPE_TEXT_LIMIT"
OTHER_TEXT_VARIABLE = "KINETOSCOPE_METADATA_LIMIT"
RATIO_VARIABLE = "KINETOSCOPE_RATIO_LIMIT"
CPU_VARIABLE = "KINETOSCOPE_CPU_LIMIT"


def _bytes_of(variable: str, default: int) -> Callable[[], int]:
    return lambda: parse_size(os.environ.get(variable, "")) or default


def _number_of(variable: str, default: float) -> Callable[[], float]:
    def number() -> float:
        try:
            given = float(os.environ.get(variable, ""))
        except ValueError:
            return default
        return given if given > 0 else default

    return number


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds memory and time. ``docs/files.md`` lists what a user may set."""

    block_bytes: int = 512 * 1024  # What a block becomes while it is decoded should fit a cache.
    value_bytes: int = 16 * MIB  # of one event or one top-level value
    metadata_bytes: int = 32 * MIB  # of all top-level values together
    events: int = 250_000_000
    # Beyond these the file is refused.
    text_bytes: int = field(default_factory=_bytes_of(TEXT_VARIABLE, 64 * GIB))
    other_bytes: int = field(default_factory=_bytes_of(OTHER_TEXT_VARIABLE, 128 * MIB))
    ratio: float = field(default_factory=_number_of(RATIO_VARIABLE, 200))
    ratio_free_bytes: int = 64 * MIB  # A text below that is read, whatever its ratio.
    cpu_seconds: float = 30.0
    cpu_seconds_per_mib: float = field(default_factory=_number_of(CPU_VARIABLE, 3.0))


# What events of recorders have at least, however well they compress: each has a time of its own,
# and the longest, with shapes and stacks as text, have some kilobytes.
LEAST_STORED_PER_EVENT = 1
MOST_TEXT_PER_EVENT = 16 * 1024
# Of a long recording, so large a part may be damaged, beside ``Limits.other_bytes``.
OTHER_SHARE = 4


class Guard:
    """Ends the reading of a file that is no trace but eats memory or time.

    A high ratio alone is no sign: recordings whose events repeat long arguments reach 150. What
    they do not have is text without events, or more events than stored bytes.
    """

    def __init__(self, name: str, limits: Limits, stored_bytes: int) -> None:
        self._name = name
        self._limits = limits
        self._stored = stored_bytes
        self._began = time.thread_time()

    def check(self, text: int, in_events: int, rows: int) -> None:
        """To be called now and then: ``text`` bytes were used, of which some made ``rows`` events.

        Raises:
            TraceFormatError: a limit is reached; the message names the file and the limit.
        """
        limits = self._limits
        if text > limits.text_bytes:
            raise self._refusal(
                "text_limit",
                f"has more than {size(limits.text_bytes)} of text",
                f"Record fewer steps, or set {TEXT_VARIABLE}.",
            )
        if text - in_events > limits.other_bytes + text // OTHER_SHARE:
            raise self._refusal(
                "metadata_limit",
                f"has more than {size(limits.other_bytes)} of text that belongs to no event",
                f"Leave large values out of its metadata, or set {OTHER_TEXT_VARIABLE}.",
            )
        if text > limits.ratio_free_bytes and text > limits.ratio * self._stored:
            many = rows * LEAST_STORED_PER_EVENT > self._stored
            if many or rows * MOST_TEXT_PER_EVENT < text - limits.ratio_free_bytes:
                raise self._refusal(
                    "ratio_limit",
                    f"inflates to more than {limits.ratio:g} times its size and does not hold"
                    " events as recorders write them",
                    f"Record again; if this is a recording, set {RATIO_VARIABLE}.",
                )
        self.check_time(text)

    def check_time(self, text: int) -> None:
        """The part of ``check`` that only looks at the processor's time.

        Raises:
            TraceFormatError: the limit is reached.
        """
        limits = self._limits
        allowed = limits.cpu_seconds + limits.cpu_seconds_per_mib * (text / MIB)
        if time.thread_time() - self._began > allowed:
            raise self._refusal(
                "cpu_limit",
                f"takes too long to read: {allowed:.0f} s of processor time were spent on"
                f" {size(text)} of text ({limits.cpu_seconds:g} s and"
                f" {limits.cpu_seconds_per_mib:g} s per MB are allowed)",
                f"It is damaged throughout: record again, or set {CPU_VARIABLE} (s per MB).",
            )

    def _refusal(self, kind: str, what: str, hint: str) -> TraceFormatError:
        return TraceFormatError(kind, f"{self._name} {what}: reading was ended.", hint=hint)


class Effort:
    """How much of a text may be looked at in vain: in proportion to what was read of it.

    Where text is damaged, a value may seem to begin at every byte and to go on to the end. Looking
    that far for each would take time that is quadratic in the size of the file.
    """

    FREE_BYTES = 24 * MIB  # More than the largest value, so that one is always looked at wholly.
    PER_BYTE = 4
    REPAIR_WEIGHT = 16
    """A byte that the repair looks at takes so much longer than one that the decoder looks at."""

    def __init__(self) -> None:
        self.wasted = 0

    def spare(self, place: int) -> int:
        """How many bytes may be looked at in vain, at this place of the text."""
        return max(0, self.FREE_BYTES + self.PER_BYTE * place - self.wasted)
