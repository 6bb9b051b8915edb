"""The reader's position in the text: the bytes in memory, JSON's grammar, and the limits of a scan.

``TextWindow`` holds the part of the text that is in memory. ``end_of_value`` and ``probe`` find the
value at the position and its end, reading on as far as that needs. ``Guard`` and ``Effort``
bound memory and time. Bytes are looked at as Latin-1, which keeps every character of the grammar in
its place.
"""

from __future__ import annotations

import enum
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct, field

from ...base.errors import TraceFormatError
from ...base.machine import thread_count
from ...base.regex import regex
from ...base.units import parse_size, size

if TYPE_CHECKING:  # the limits are asked for where no column is
    from ..raw import FaultLog

MIB, GIB = 1 << 20, 1 << 30
PIECE_BYTES = 1024 * 1024  # of text that is read at once
RUN_BLOCKS = 64  # scanned at once on several threads: where one run ends, some of them wait
LEAST_END_BYTES, MOST_END_BYTES = 4 * 1024, 512 * 1024
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


class ScanLimits(Struct, frozen=True):
    """Limits of memory and time. ``docs/files.md`` lists those that a user may set."""

    threads: int = 1  # The result is the same for any number.
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
    is_shared: bool = False  # Fewer threads, where this process may use fewer by then.

    @property
    def block_end_bytes(self) -> int:
        """So far behind a block its last event may end, with the white space behind it."""
        return min(MOST_END_BYTES, LEAST_END_BYTES + 64 * self.block_bytes)

    @property
    def event_bytes(self) -> int:
        """Larger events are decoded one by one, however much is in memory."""
        return min(self.value_bytes, self.block_end_bytes // 2)

    @property
    def threads_now(self) -> int:
        """On which the next run of events is read."""
        return min(self.threads, thread_count()) if self.is_shared else self.threads

    @property
    def run_bytes(self) -> int:
        """Text that is in memory when a run of events begins: a block for each thread."""
        return self.block_bytes * min(self.threads, RUN_BLOCKS) + self.block_end_bytes

    @property
    def most_run_bytes(self) -> int:
        """So much of it is read at most while the run before is scanned."""
        return self.block_bytes * RUN_BLOCKS + self.block_end_bytes


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

    def __init__(self, name: str, limits: ScanLimits, stored_bytes: int) -> None:
        self._name = name
        self._limits = limits
        self._stored = stored_bytes
        self._began = time.thread_time()

    def check(self, text: int, in_events: int, rows: int) -> None:
        """Check the limits after ``text`` bytes, of which some made ``rows`` events.

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
    """Budget for vain searches in a text: in proportion to the text read.

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
        """The number of bytes that may be looked at in vain at this place of the text."""
        return max(0, self.FREE_BYTES + self.PER_BYTE * place - self.wasted)


BLANK = regex(rb"[ \t\r\n]*")
_GAP = regex(r"[ \t\r\n,]*")

# Longest token that an error may point into the middle of: a pair of \uXXXX, -Infinity.
_TOKEN = 16


class NotJson(ValueError):
    """No text that follows could make a JSON value of this."""


class CutOff(ValueError):
    """The value goes on behind the end of the text."""


def _no_constant(_: str) -> None:
    raise NotJson


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_no_constant)


def end_of_value(text: str) -> int:
    """Index behind the JSON value at the start of ``text``.

    Raises:
        NotJson: what is there is no JSON, or is nested too deep.
        CutOff: ``text`` ends before the value does.
    """
    try:
        end = _DECODER.raw_decode(text)[1]
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string") or error.pos >= len(text) - _TOKEN:
            raise CutOff from None
        raise NotJson from None
    except RecursionError:
        raise NotJson from None
    if end == len(text) and text[end - 1] not in '}]"':
        raise CutOff  # A number may go on.
    return end


def starts_of_members(array: bytes) -> Iterator[int]:
    """Index of each member of a valid JSON array."""
    text = array.decode("latin-1")
    at = _after(text, 1)
    while at < len(text) - 1:
        yield at
        at = _after(text, _DECODER.raw_decode(text, at)[1])


def _after(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


_COMMENT_BYTES = 64 * 1024
_MAX_BLANKS = 1024 * 1024
_MAX_SEEN = 1000


class Readable(Protocol):
    """A source of the text."""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        ...


class TextWindow:
    """``data[pos:]`` is read but not used; ``offset`` is the place of ``data[0]`` in the text.

    Nothing that a reader decides may depend on how much is in memory: it asks for what it needs.
    Pieces behind ``data`` may be in memory, too: ``fill`` puts as many to it as are asked for. What
    reading ahead raises is raised where that text is asked for.
    """

    def __init__(
        self, text: Readable, block_bytes: int, watch: Callable[[], None] = lambda: None
    ) -> None:
        """``watch`` is called whenever more was read."""
        self._text = text
        self._block_bytes = block_bytes
        self._watch = watch
        self._no_comment_end = 0  # Up to this place of the text no comment ends.
        self._behind: deque[bytes] = deque()
        self._behind_bytes = 0
        self._error: BaseException | None = None
        self.data = b""
        self.pos = 0
        self.offset = 0
        self.all_read = False

    @property
    def place(self) -> int:
        """The place of ``pos`` in the text."""
        return self.offset + self.pos

    @property
    def end_place(self) -> int:
        """The place behind all text that is in memory."""
        return self.offset + len(self.data) + self._behind_bytes

    @property
    def left(self) -> int:
        """Bytes of ``data`` from ``pos``."""
        return len(self.data) - self.pos

    @property
    def eof(self) -> bool:
        """True if the text ends with ``data``."""
        return self.all_read and not self._behind

    def fill(self, want: int) -> None:
        """Make ``left >= want``, unless the text ends before. Drops used bytes."""
        if self.eof or self.left >= want:
            return
        self.hold(want)
        pieces = [self.data[self.pos :]]
        have = len(pieces[0])
        while have < want and self._behind:
            pieces.append(self._behind.popleft())
            have += len(pieces[-1])
        self._behind_bytes -= have - len(pieces[0])
        self.offset += self.pos
        self.pos = 0
        self.data = b"".join(pieces)

    def hold(self, want: int) -> list[bytes]:
        """The text in memory: ``data`` and the pieces behind it.

        From ``pos`` there are ``want`` bytes, unless the text ends before.
        """
        have = self.left + self._behind_bytes
        if have < want and not self.all_read:
            while have < want and not self.all_read:
                if self._error is not None:
                    raise self._error
                have += self._read_piece()
            self._watch()
        return [self.data, *self._behind]

    def read_ahead(self, most: int) -> int:
        """Reads a piece if less is in memory than ``most`` from ``data[0]`` on.

        How many bytes are missing then; 0 where the text ends, or cannot be read on.
        """
        missing = most - len(self.data) - self._behind_bytes
        try:
            if missing > 0 and not self.all_read and self._error is None:
                missing -= self._read_piece()
        except BaseException as error:  # noqa: BLE001  raised where this text is asked for
            self._error = error
        return 0 if self.all_read or self._error is not None else max(0, missing)

    def _read_piece(self) -> int:
        """Read a piece behind the bytes in memory; its size, 0 at the end of the text."""
        piece = self._text.read(PIECE_BYTES)
        if piece:
            self._behind.append(piece)
            self._behind_bytes += len(piece)
        else:
            self.all_read = True
        return len(piece)

    def move(self, pos: int) -> None:
        """Moves to an index of the text in memory; drops pieces before it."""
        self.pos = pos
        while self._behind and self.left <= 0:
            self.offset += len(self.data)
            self.pos -= len(self.data)
            self.data = self._behind.popleft()
            self._behind_bytes -= len(self.data)

    def grow(self) -> bool:
        """Read more behind the bytes in memory; False at the end of the text."""
        before = self.left
        self.fill(before + max(before, self._block_bytes))
        return self.left > before

    def peek(self) -> bytes:
        """Moves to the next byte that is no white space, and shows it; b"" at the end."""
        while True:
            blank = BLANK.match(self.data, self.pos)
            self.pos = blank.end() if blank else self.pos
            if self.pos < len(self.data) or self.eof:
                return self.data[self.pos : self.pos + 1]
            self.fill(self._block_bytes)

    def peek_behind(self, length: int) -> bytes:
        """The first byte that is no white space from ``length`` bytes further on; does not move.

        b"" at the end of the text, and behind more white space than anybody writes.
        """
        while True:
            blank = BLANK.match(self.data, self.pos + length)
            blanks = blank.end() - blank.start() if blank else 0
            if blanks > _MAX_BLANKS:
                return b""
            at = self.pos + length + blanks
            if at < len(self.data) or not self.grow():
                return self.data[at : at + 1]

    def gap(self, faults: FaultLog) -> bytes:
        """Moves over white space and comments; the next byte."""
        while self.peek() == b"/":
            place = self.place
            comment = self.take_comment()
            if not comment:
                break
            faults.add("comment", comment, place)
        return self.data[self.pos : self.pos + 1]

    def take_comment(self) -> bytes:
        """Moves behind the comment at the position, and returns it; b"" when there is none."""
        self.fill(_COMMENT_BYTES)
        start, most = self.pos, min(self.pos + _COMMENT_BYTES, len(self.data))
        if self.data.startswith(b"//", start):
            end = self.data.find(b"\n", start, most)
            self.pos = end if end >= 0 else most
        elif self.data.startswith(b"/*", start):
            end = self.data.find(b"*/", max(start + 2, self._no_comment_end - self.offset), most)
            if end >= 0:
                self.pos = end + 2
            else:
                self._no_comment_end = max(self._no_comment_end, self.offset + most - 1)
        return self.data[start : self.pos]

    def seen(self, length: int) -> str:
        """The next ``length`` bytes as an example of a fault, which are read where they are not."""
        length = min(length, _MAX_SEEN)
        self.fill(length)
        return self.data[self.pos : self.pos + length].decode("utf-8", "replace")


FIRST_BYTES = 2 * 1024
"""A look so far is always free."""


class Lookahead(enum.Enum):
    """Kinds of text at the position."""

    VALUE = "a whole value"
    DAMAGE = "text that is no JSON, whatever follows"
    OPEN = "a value that the end of the text cuts off"
    OVERSIZED = "a value larger than the limit"


class Probe(NamedTuple):
    """The text found at a position."""

    found: Lookahead
    length: int  # of a whole value, else −1
    seen: int  # bytes that were looked at


def probe(window: TextWindow, limit: int, spare: int) -> Probe:
    """The value that begins at ``window.pos``, or why there is none.

    A value larger than ``limit`` is oversized. ``spare`` is how far a look may be in vain: beyond
    it, a value that does not end counts as damage.
    """
    most = min(limit, max(FIRST_BYTES, spare))
    size = min(FIRST_BYTES, most)
    seen = 0
    while True:
        window.fill(size)
        text = window.data[window.pos : window.pos + size].decode("latin-1")
        whole = window.eof and len(text) == window.left
        seen += len(text)
        try:
            # At the end of the text a blank tells that a number does not go on.
            length = min(end_of_value(text + " " * whole), len(text))
        except NotJson:
            return Probe(Lookahead.DAMAGE, -1, seen)
        except CutOff:
            if whole:
                return Probe(Lookahead.OPEN, -1, seen)
            if size >= most:
                return Probe(Lookahead.OVERSIZED if most == limit else Lookahead.DAMAGE, -1, seen)
        else:
            return Probe(Lookahead.VALUE, length, length)
        size = min(size * 8, most)
