"""Everything the scanner tolerates, in one table, and the log that counts it.

A file that json.load() reads without a word has no faults here, save what ``KINDS`` calls *fields*: values
of a type that the format does not have. What the columns themselves show (no phase, no ts, no name) is no
fault of the scanner; the second stage counts it.
"""

from __future__ import annotations

from collections.abc import Mapping

from .raw import Fault

EXAMPLE_CHARS = 200

KINDS: Mapping[str, str] = {
    # The container.
    "gzip_truncated": "the compressed stream ends early; all that it holds was read",
    "gzip_checksum": "the checksum or the length in the gzip trailer is wrong; the text was used as it is",
    "gzip_corrupt": "compressed data is damaged; the text before the damage was read",
    "gzip_trailing": "bytes after the last gzip member were ignored",
    "gzip_nested": "gzip inside gzip; both layers were opened",
    "encoding": "a byte order mark or UTF-16; read as the same text in UTF-8",
    "truncated": "the text ends before its JSON does; every complete event was read",
    # JSON syntax. Each counts events or top-level values, not single characters.
    "bad_utf8": "bytes that are no UTF-8; read as U+FFFD",
    "lone_surrogate": "half of a surrogate pair (\\ud83d alone); read as U+FFFD",
    "control_char": "a raw control character (a newline, a tab) inside a string; kept",
    "bad_escape": "a backslash that begins no JSON escape; every backslash of that string is a character",
    "unescaped_quote": "a quote inside a string; the string goes on to the quote that ends its field",
    "not_a_number": "NaN, Infinity, inf, N/A, another bare word or nothing in place of a value; read as null",
    "stray_comma": "a comma without a value; ignored",
    "missing_comma": "no comma between two events; read as if it were there",
    "missing_quote": "a key without its opening quote; read as if it were there",
    "comment": "// or /* */; ignored",
    "bad_number": "a number JSON does not have (01, +1, .5, 1., 0x1f); read as meant, else as null",
    "skipped_event": "no event could be read here; reading went on at the next one",
    "skipped_text": "text between events or keys that belongs to neither; ignored",
    "oversized": "one event or top-level value larger than the limit; left out",
    "bad_metadata": "a top-level value that is no JSON; left out, reading went on at the next key",
    "repeated_key": "a top-level key given twice; the last one counts",
    "repeated_events": "a second traceEvents; its events follow those of the first",
    "trailing_text": "text after the end of the JSON; ignored",
    # Fields.
    "not_an_event": "a member of traceEvents that is no object; left out",
    "odd_field": "ph, cat, name, pid, tid or id of an unusual type; read as its JSON text, null as missing",
    "odd_args": "args that is no object; ignored",
    "odd_arg": "an argument of a type that its column cannot hold; not in the column",
    "bad_ts": "a ts that is no number or beyond int64 ns; missing",
    "bad_dur": "a dur that is no number or beyond int64 ns; missing",
    "wide_int": "an integer beyond int64: below 2^64 the same 64 bits, else not in the column",
}


class FaultLog:
    """Counts per kind; keeps the example that is first in the text, whatever the order of discovery."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._first: dict[str, tuple[int, str]] = {}

    def add(self, kind: str, example: str | bytes = "", offset: int = -1, count: int = 1) -> None:
        """Note that ``kind`` was met ``count`` times, first at ``offset`` of the inflated text."""
        if kind not in KINDS:
            raise KeyError(kind)
        self._count[kind] = self._count.get(kind, 0) + count
        found = (offset, shorten(example))
        self._first[kind] = min(found, self._first.get(kind, found))

    def merge(self, other: FaultLog) -> None:
        """Add what another log holds."""
        for fault in other.result():
            self.add(fault.kind, fault.example, fault.offset, fault.count)

    def __bool__(self) -> bool:
        return bool(self._count)

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
