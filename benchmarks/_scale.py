"""Repeat a trace in time, so that it has any size and the structure of the original.

    python -m benchmarks._scale SOURCE TARGET MEGABYTES

Each copy is shifted past the one before it, and every identifier moves along, so that a copy is as
consistent as the source. The recorder's own text is kept: only the digits of times, identifiers
and step numbers change, so key order, white space and number formats are those of the source, and a
reader cannot tell a copy from a recording. Memory is bounded by the source, a few times its text.

What cannot be had by repeating: the sets of names, shapes and call stacks stay those of one copy,
and the text compresses better than a recording of that length would.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

GZIP_LEVEL = 6  # what the trace handler writes by default
GAP_US = 1000  # between two copies
_HUGE = 2**40  # identifiers beyond are no counters: they stay as they are

# The identifiers of one group are drawn from one sequence, so they move by one stride.
_GROUPS = {
    "correlation": "correlation",
    "wait_on_cuda_event_record_corr_id": "correlation",
    "External id": "external",
    "external id": "external",
    "Ev Idx": "external",
    "Python id": "python",
    "Python parent id": "python",
    "Sequence number": "sequence",
    "Seq": "collective",
    "id": "flow",
}
_ZERO_MEANS_NONE = {"correlation", "external"}
_STEP = "ProfilerStep#"
_NUMBERS = re.compile(
    r'"(?:(ts)|(' + "|".join(_GROUPS) + r'))"\s*:\s*(\d+)(?=\.\d|\s*[,}\n])|"' + _STEP + r"(\d+)"
)
_DURATION = re.compile(r'("dur"\s*:\s*)(\d+)')
_TIME = re.compile(r'("ts"\s*:\s*)(\d+)')


@dataclass(frozen=True, slots=True)
class Scaled:
    """What was written."""

    copies: int
    events: int
    text_bytes: int


@dataclass(frozen=True, slots=True)
class Template:
    """One copy, cut at the numbers that change from copy to copy."""

    head: str  # up to the events that are repeated, ends with a separator
    texts: list[str]  # between the numbers; one more than there are numbers
    values: NDArray[np.int64]
    strides: NDArray[np.int64]  # what each number grows by from one copy to the next
    closing: list[tuple[str, str]]  # role and text of the events after all copies
    tail: str  # from the end of the last event on
    separator: str
    period_us: int
    once: int  # events written once
    each: int  # events of one copy

    @property
    def copy_bytes(self) -> int:
        """Text of one copy, in characters; the numbers of later copies may be longer."""
        digits = np.char.str_len(self.values.astype(str)).sum() if len(self.values) else 0
        return sum(map(len, self.texts)) + int(digits)


def read_text(source: Path) -> str:
    """The text of a trace file, plain or gzip."""
    data = source.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data.decode("utf-8", "surrogateescape")


def template(text: str) -> Template:
    """Cuts the text of a trace.

    Raises:
        ValueError: it has no array ``traceEvents``, or times in a form that cannot be shifted.
    """
    spans, decoded = _events(text)
    separator = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else ",\n"
    opening: list[str] = []
    closing: list[tuple[str, str]] = []
    each: list[str] = []
    low, high = float("inf"), float("-inf")
    for (start, stop), (role, ts, dur) in zip(spans, decoded, strict=True):
        event = text[start:stop]
        if role == "each":
            each.append(event)
            low, high = min(low, ts), max(high, ts + dur)
        elif role == "once" and not each:
            opening.append(event)
        else:
            closing.append((role, event))
    if not each:
        raise ValueError("the trace has no events with a time")
    period_us = int(high - low) + 1 + GAP_US
    texts, values, strides = _cut(separator.join(each), period_us)
    return Template(
        head=text[: spans[0][0]] + "".join(event + separator for event in opening),
        texts=texts,
        values=values,
        strides=strides,
        closing=closing,
        tail=text[spans[-1][1] :],
        separator=separator,
        period_us=period_us,
        once=len(opening) + len(closing),
        each=len(each),
    )


def _events(text: str) -> tuple[list[tuple[int, int]], list[tuple[str, float, float]]]:
    """Where each event of the text begins and ends, and what matters of it: role, ts, dur."""
    found = re.search(r'"traceEvents"\s*:\s*\[\s*', text) or re.match(r"\s*\[\s*", text)
    if found is None:
        raise ValueError("the trace has no array traceEvents")
    decode = json.JSONDecoder(strict=False).raw_decode
    between = re.compile(r"\s*,\s*")
    spans, roles, at = [], [], found.end()
    while True:
        event, stop = decode(text, at)
        spans.append((at, stop))
        roles.append(_role(event))
        comma = between.match(text, stop)
        if comma is None:
            return spans, roles
        at = comma.end()


def _role(event: dict[str, Any]) -> tuple[str, float, float]:
    name = event.get("name")
    if event.get("ph") == "M" or "ts" not in event or str(name).startswith("Iteration Start"):
        return "once", 0.0, 0.0
    if isinstance(event["ts"], str) or event["ts"] < 0:
        raise ValueError(f"a time that cannot be shifted: {event['ts']!r}")
    ts, dur = float(event["ts"]), float(event.get("dur", 0))
    if name == "Record Window End":
        return "end", ts, dur
    return ("window" if event.get("cat") == "Trace" else "each"), ts, dur


def _cut(text: str, period_us: int) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """The text cut at the numbers that change, the numbers, and by how much they grow."""
    texts, numbers, groups, at = [], [], [], 0
    for match in _NUMBERS.finditer(text):
        number = 4 if match[4] else 3
        value = int(match[number])
        group = "ts" if match[1] else "step" if match[4] else _GROUPS[match[2]]
        if group != "ts" and (value > _HUGE or (value == 0 and group in _ZERO_MEANS_NONE)):
            continue
        texts.append(text[at : match.start(number)])
        numbers.append(value)
        groups.append(group)
        at = match.end(number)
    texts.append(text[at:])
    values = np.array(numbers, np.int64)
    names = np.array(groups, dtype=object)
    strides = np.zeros(len(values), np.int64)
    for group in set(groups):
        of_group = names == group
        own = values[of_group]
        strides[of_group] = period_us if group == "ts" else own.max() - own.min() + 1
    return texts, values, strides


def copies_for(cut: Template, text_bytes: float) -> int:
    """How many copies come nearest to a size of text; one at least."""
    fixed = len(cut.head) + len(cut.tail) + sum(len(event) for _, event in cut.closing)
    return max(1, round((text_bytes - fixed) / (cut.copy_bytes + len(cut.separator))))


def pieces(cut: Template, copies: int) -> Iterator[str]:
    """The text of the scaled trace, a copy at a time."""
    yield cut.head
    parts = [""] * (2 * len(cut.values) + 1)
    parts[0::2] = cut.texts
    for copy in range(copies):
        parts[1::2] = map(str, (cut.values + copy * cut.strides).tolist())
        yield ("" if copy == 0 else cut.separator) + "".join(parts)
    grown_us = (copies - 1) * cut.period_us
    for role, event in cut.closing:
        yield cut.separator + _grown(role, event, grown_us)
    yield cut.tail


def _grown(role: str, event: str, grown_us: int) -> str:
    """An event about the whole recording, which now lasts longer."""
    number = {"window": _DURATION, "end": _TIME}.get(role)
    if number is None:
        return event
    return number.sub(lambda m: f"{m[1]}{int(m[2]) + grown_us}", event, count=1)


def write(cut: Template, target: Path, copies: int) -> Scaled:
    """Writes ``copies`` copies, as gzip when the name says so; whole or not at all."""
    partial = target.with_name(target.name + ".partial")
    size = 0
    packed = target.suffix == ".gz"
    with gzip.open(partial, "wb", GZIP_LEVEL) if packed else partial.open("wb") as out:
        for piece in pieces(cut, copies):
            data = piece.encode("utf-8", "surrogateescape")
            size += len(data)
            out.write(data)
    partial.replace(target)
    return Scaled(copies, cut.once + copies * cut.each, size)


def scale(source: Path, target: Path, text_bytes: float) -> Scaled:
    """Writes ``target`` with about ``text_bytes`` of text: a whole number of copies."""
    cut = template(read_text(source))
    return write(cut, target, copies_for(cut, text_bytes))


if __name__ == "__main__":
    print(scale(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) * 1e6))
