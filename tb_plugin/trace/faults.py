"""The kinds of damage that the scanner tolerates, and the log that counts them.

Strict JSON in whole and plain containers has no faults, save repeated keys and, under *fields*,
values of a type that the format does not have. What the columns show by themselves (no phase, no
ts, no name) is no fault of the scanner; the second stage counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .raw import Fault

EXAMPLE_CHARS = 200

KINDS: Mapping[str, str] = {
    # The container. Each counts occurrences.
    "gzip_truncated": "the compressed stream ends early; all that it holds was read",
    "gzip_unfinished": "the compressed stream ends early, but behind the end of the trace",
    "gzip_checksum": "checksum or length in the gzip trailer are wrong; the text was used as it is",
    "gzip_corrupt": "compressed data is damaged; the text before the damage was read",
    "gzip_trailing": "bytes after the last gzip member were ignored",
    "gzip_nested": "gzip inside gzip; both layers were opened",
    "encoding": "a byte order mark or UTF-16; read as the same text in UTF-8",
    "truncated": "the text ends before its JSON does; every complete event was read",
    # Syntax. Each counts events or top-level values that have it, not single characters.
    "bad_utf8": "bytes that are no UTF-8; read as U+FFFD",
    "lone_surrogate": "half of a surrogate pair (\\ud83d alone); read as U+FFFD",
    "control_char": "a raw control character (a newline, a tab) inside a string; kept",
    "bad_escape": "a backslash that begins no escape; all those of its string are characters",
    "unescaped_quote": "a quote inside a string, which goes on to the quote that ends its field",
    "missing_quote": "a key without its opening quote; read as if it were there",
    "not_a_number": "NaN, inf, N/A, another bare word or nothing instead of a value; read as null",
    "bad_number": "a number JSON does not have (01, +1, .5, 1.); read as meant",
    "stray_comma": "a comma without a value; ignored",
    "missing_comma": "no comma between two events; read as if it were there",
    "comment": "// or /* */; ignored",
    "skipped_event": "an event that could not be read; reading went on at the next one",
    "skipped_text": "text that belongs neither to an event nor to a key; ignored",
    "oversized": "an event or a top-level value beyond the limit of memory; left out",
    "too_many_events": "more events than the limit; reading stopped there",
    "bad_metadata": "a top-level value that is no JSON; left out, read on at the next key",
    "repeated_key": "a top-level key given twice; the last one counts",
    "repeated_events": "a second traceEvents; its events follow those of the first",
    "repeated_document": "another trace behind the end of the first; its events follow",
    "json_lines": "events line by line instead of a list; read as one",
    "trailing_text": "text after the end of the JSON; ignored",
    # Fields. Each counts values.
    "not_an_event": "a member of traceEvents that is no object; left out",
    "odd_field": "ph, cat, name, pid, tid or id of an unusual type; its JSON text, null as missing",
    "odd_args": "args that is no object; ignored",
    "odd_arg": "an argument that its column cannot hold; not in the column",
    "bad_ts": "a ts that is no number or beyond int64 ns; missing",
    "bad_dur": "a dur that is no number or beyond int64 ns; missing",
    "wide_int": "an integer beyond int64: below 2^64 the same 64 bits, else not in the column",
}


class FaultLog:
    """Counts per kind, and the example that comes first in the text."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._first: dict[str, tuple[int, str]] = {}

    def add(
        self,
        kind: str,
        example: str | bytes = "",
        offset: int | Callable[[], int] = -1,
        *,
        floor: int = -1,
        count: int = 1,
    ) -> None:
        """Note one fault of ``kind`` at ``offset`` of the inflated text.

        An offset that costs something is a function, with a ``floor`` that it is not below: then it
        is only asked for when it may be the first. What comes first does not depend on the order
        in which faults are noted; of two at one place the lesser text is the example.
        """
        if kind not in KINDS:
            raise KeyError(kind)
        self._count[kind] = self._count.get(kind, 0) + count
        first = self._first.get(kind)
        if isinstance(offset, int):
            floor = max(floor, offset)
        if first is not None and -1 < first[0] < floor:
            return
        found = (offset if isinstance(offset, int) else offset(), shorten(example))
        self._first[kind] = found if first is None else min(first, found)

    def rename(self, kind: str, better: str) -> None:
        """Count the faults noted as ``kind`` under another kind."""
        if kind in self._count:
            self._count[better] = self._count.pop(kind)
            self._first[better] = self._first.pop(kind)

    def merge(self, other: FaultLog) -> None:
        """Add the faults of another log."""
        if not other._count:
            return
        for fault in other.result():
            self.add(fault.kind, fault.example, fault.offset, count=fault.count)

    def take(self) -> FaultLog:
        """All faults noted so far; this log starts again empty."""
        taken = FaultLog()
        taken._count, self._count = self._count, taken._count
        taken._first, self._first = self._first, taken._first
        return taken

    def __contains__(self, kind: str) -> bool:
        return kind in self._count

    def result(self) -> tuple[Fault, ...]:
        """The faults, in the order of ``KINDS``."""
        return tuple(
            Fault(kind, self._count[kind], self._first[kind][1], self._first[kind][0])
            for kind in KINDS
            if kind in self._count
        )


def shorten(text: str | bytes) -> str:
    """``text`` fit to be shown: one line, printable, at most ``EXAMPLE_CHARS`` characters."""
    if isinstance(text, bytes):
        text = text[: 4 * EXAMPLE_CHARS].decode("utf-8", "replace")
    line = " ".join(text[: 2 * EXAMPLE_CHARS].split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= EXAMPLE_CHARS else line[: EXAMPLE_CHARS - 1] + "…"
